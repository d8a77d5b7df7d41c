"""The sum: its sensitivities against every pair of releases, and by formula."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.statistics import Interval, Records, Sample, sensitivity
from tacit.statistics.counts_and_sums import Sum

POPULATION = [-9, -2, 1, 1, 5]


def by_enumeration(n: int, relation: str, k: int) -> Fraction:
    people, best = range(len(POPULATION)), Fraction(0)
    for x in itertools.combinations(people, n):
        for size in range(1, len(POPULATION) + 1):
            for y in itertools.combinations(people, size):
                r, a = len({*x} - {*y}), len({*y} - {*x})
                fits = {"unbounded": r + a <= k, "add": r == 0 and a <= k,
                        "remove": a == 0 and r <= k, "bounded": r == a <= k}  # fmt: skip
                if fits[relation]:
                    gap = abs(sum(POPULATION[i] for i in x) - sum(POPULATION[i] for i in y))
                    best = max(best, Fraction(gap))
    return best


@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("n", [2, 3])
def test_the_sensitivity_is_that_of_the_worst_pair(n: int, relation: Any) -> None:
    for k in (1, 2, 3):
        if relation == "remove" and k >= n:
            continue
        found = sensitivity("sum", Records(POPULATION, size=n), None, k, relation)
        assert found.value == by_enumeration(n, relation, k)
        x, y = found.witness
        assert abs(sum(x) - sum(y)) == found.value


@pytest.mark.parametrize("k", [1, 4])
def test_values_in_any_number_move_by_the_bound_farther_from_zero(k: int) -> None:
    assert sensitivity("sum", Interval(-3, 2), None, k).value == 3 * k
    assert sensitivity("sum", Interval(-3, 2, size=9), None, k, "bounded").value == 5 * k
    assert sensitivity("sum", Interval(2, 7, size=9), None, k, "add").value == 7 * k


def test_a_fixed_release_loses_its_own_and_gains_what_is_left() -> None:
    at = [-2, 1]
    assert sensitivity("sum", Records(POPULATION), at).value == 9  # the -9 joins
    assert sensitivity("sum", Records(POPULATION), at, 1, "remove").value == 2
    assert sensitivity("sum", Records(POPULATION), at, 1, "bounded").value == 10  # 1 becomes -9


def test_values_are_exact_and_as_numpy_has_them() -> None:
    assert Sum().of(Sample([0.1] * 10)) == 10 * Fraction(0.1)
    assert Sum().batch(np.array([[1.0, 2.0], [3.0, -4.0]])).tolist() == [3, -1]
    assert Sum().exact([Fraction(1, 3)] * 3) == 1


def test_the_public_range_of_a_sum_has_no_ends() -> None:
    found = Sum().public_range(Fraction(-3), Fraction(2), "unbounded")
    assert found[:2] == (3, None)
    assert Sum().public_range(Fraction(-3), Fraction(2), "bounded")[0] == 5
