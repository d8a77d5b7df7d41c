"""Distances to instability of many bounds at once are those found one distance after another."""

import random
from fractions import Fraction

import numpy as np
import pytest

from tacit.mechanisms.local_statistic import read_statistic
from tacit.statistics.smooth import at_distance

STATISTICS = ["median", "percentile(30)", "max", "mean", "sum", "var", "std", "interquartile_range"]


@pytest.mark.few(24)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("statistic", [*STATISTICS, "trimmed_mean(1/4)"])
def test_bounds_together_are_bounds_one_by_one(statistic: str, relation: str) -> None:
    if statistic.startswith("trimmed") and relation == "unbounded":
        pytest.skip("no algorithm where records join and leave")
    random_source = random.Random(5)
    for size in (1, 2, 3, 6, 9):
        data = [random_source.choice([0, 1, 2.5, 3.25, 7, 9, 10]) for _ in range(size)]
        a = at_distance(read_statistic(statistic), data, (0, 10), relation)
        bounds = sorted({Fraction(random_source.randint(1, 400), 40) for _ in range(9)})
        slow = [
            next((t for t in range(a.last + 1) if a.exceeds(t, bound)), None) for bound in bounds
        ]
        assert a.instabilities(bounds) == slow
        assert [a.instability(bound) for bound in bounds] == slow


def test_floats_decide_only_where_they_are_sure() -> None:
    """Bounds that equal ``A(t)``, or miss it by less than a float can tell, of 5,000 records."""
    data = np.random.default_rng(3).normal(50, 10, 5000).clip(0, 100)
    a = at_distance("mean", data, (0, 100), "unbounded")
    for t in (0, 1, 300, 4999):
        exact = a.at(t)
        assert not a.exceeds(t, Fraction(exact))
        assert a.exceeds(t, Fraction(exact) - Fraction(1, 10**40))
        assert not a.exceeds(t, Fraction(exact) + Fraction(1, 10**40))
