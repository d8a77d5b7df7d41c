"""Pairs that are too many to list leave a bound."""

from __future__ import annotations

from support.by_hand.variance_families import best_of
from tacit.statistics import Records, sensitivity
from tacit.statistics.dispersion_candidates import blocks


def test_too_many_pairs_leave_a_bound_that_is_labelled(monkeypatch):
    monkeypatch.setattr("tacit.statistics.dispersion_candidates._MOST_PAIRS", 0)
    monkeypatch.setattr("tacit.statistics.dispersion.MOST_PAIRS", 0)
    population = [1, 1, 15, 16, 24, 27, 27, 205] * 4
    truth = best_of(population, 4, 3, blocks)
    found = sensitivity("var", Records(population, size=4), None, 3, "bounded")
    assert found.method == "upper bound"
    assert found.value >= truth
    assert found.witness is None
