"""Neighbouring tables of hostile values meet the same fate: a short hunt; the slow tests go on."""

from __future__ import annotations

from support.tables.neighbour_fuzz import try_questions

SEEDS = (2, 4, 5, 6)
"""Of the first ones those of which most questions can be asked, rather than be refused."""


def test_neighbours_meet_the_same_fate(request):
    assert sum(try_questions("duckdb", request, seed, questions=2) for seed in SEEDS) > 8
