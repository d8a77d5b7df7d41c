"""The search for a bound: its claim, its errors, and that it always answers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.audit import verify
from tacit.mechanisms.local_statistic import column_space
from tacit.mechanisms.propose_test_release import BoundedAnswer, propose_test_release
from tacit.noise import DiscreteLaplace

WHOLE = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
"""On data sets of a few records, and in the full run on those of one or two more."""


def data_sets(values: list[Any], relation: str, most: int) -> list[list[Any]]:
    """Every multiset of the values: of each size up to ``most``, or of that size alone."""
    sizes = range(most + 1) if relation == "unbounded" else [most]
    return [
        list(m) for size in sizes for m in itertools.combinations_with_replacement(values, size)
    ]


@pytest.mark.full
@pytest.mark.few(2)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@WHOLE
def test_the_search_keeps_its_claim(relation: str, whole: bool) -> None:
    from tacit.mechanisms.propose_test_release import BoundSearch

    space = column_space((0, 8), relation, None)
    m: Any = space >> BoundSearch("median", 4, "1/5", ratio=2, rungs=2)
    m._noise = DiscreteLaplace(Fraction(2, 2))  # two grid units a bound: few enough to list
    import tacit.mechanisms.propose_test_release as room

    units, room._UNITS = room._UNITS, 2
    try:
        verdict = verify(m, data_sets([0, 3, 8], relation, 3 if whole else 2))
    finally:
        room._UNITS = units
    assert verdict, str(verdict)


@pytest.mark.full
def test_expected_errors_of_the_search_are_those_of_its_law() -> None:
    data = np.linspace(40, 60, 300)
    for statistic in ("median", "mean"):
        m: Any = propose_test_release(statistic, (0, 100), "search", 1, "1e-6")
        reading = m.local.read(data)
        chances = m._ladder.chances(reading, m.threshold)
        law = m._ladder.law(reading, m._test)
        listed = [float(law.probability(k).middle) for k in [*range(len(chances) - 1), None]]
        assert chances == pytest.approx(listed, abs=1e-12)


@pytest.mark.full
def test_the_search_finds_a_bound_and_answers_always() -> None:
    m = propose_test_release("median", (0, 100), "search", 2, "1e-6")
    data = np.linspace(40, 60, 2001)
    answer = m(data)
    assert isinstance(answer, BoundedAnswer)
    assert answer.bound <= 10
    assert abs(answer.value - 50) < 60
    assert m.expected_error(data) < 5
    assert m([]).bound == 100
    assert m.map(1) == (2, Fraction(1, 10**6))
