"""Neighbouring tables of hostile values meet the same fate: a short hunt; the slow tests go on."""

from __future__ import annotations

import pytest

from support.tables.neighbour_fuzz import try_questions


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", [11, 12, 10])  # most of their questions can be asked
def test_neighbours_meet_the_same_fate(request, seed):
    assert try_questions("duckdb", request, seed, questions=2) > 2
