"""Neighbouring tables of hostile values meet the same fate on every engine: a long hunt."""

from __future__ import annotations

import random

import pytest

from support.tables.engine_tables import ENGINES
from support.tables.neighbour_fuzz import try_questions

pytestmark = pytest.mark.slow

PAIRS = {"duckdb": 400, "postgresql": 120, "spark": 20}


@pytest.mark.parametrize("engine", list(ENGINES))
def test_neighbours_meet_the_same_fate(engine, request):
    first = random.randrange(1 << 30)  # told by the failure, in the case that is shown
    pairs = PAIRS[engine]
    seeds = range(first, first + pairs)
    assert sum(try_questions(engine, request, seed, questions=4) for seed in seeds) > 2 * pairs
