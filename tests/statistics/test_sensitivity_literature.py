"""Formulas that are in print or in libraries and are wrong, each beside the truth."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples


@examples(3)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=30), st.integers(30, 60))
def test_local_mean_counts_removals_and_both_bounds(x: list[int], upper: int) -> None:
    n, mu = len(x), Fraction(sum(x), len(x))
    right = max(
        max(upper - mu, mu) / (n + 1),
        max(mu - min(x), max(x) - mu) / (n - 1),
    )
    assert ts.sensitivity("mean", ts.Interval(0, upper), at=x).value == right


def test_local_mean_is_not_the_bound_over_n_plus_one() -> None:
    x, upper = [0] * 9 + [100], 100
    found = ts.sensitivity("mean", ts.Interval(0, upper), at=x)
    wrong = Fraction(upper, len(x) + 1)
    assert wrong < found.value == 10  # removing the outlier moves the mean by 10
    assert found.witness == ((0,) * 9 + (100,), (0,) * 9)


def test_exactly_k_is_not_monotone() -> None:
    x = [0, 10, 10]
    over = ts.Records([0, 0, 0, 10, 10, 10], size=3)
    steps = [ts.sensitivity("min", over, x, k, "bounded", within=False).value for k in (1, 2, 3)]
    within = [ts.sensitivity("min", over, x, k, "bounded").value for k in (1, 2, 3)]
    assert steps == [10, 0, 0]
    assert within == [10, 10, 10]


def test_exactly_k_in_one_direction_misses_mixed_neighbours() -> None:
    over = ts.Records([0, 1, 2, 3, 4, 5, 100], size=4)
    x = [0, 1, 2, 3]
    exactly = ts.sensitivity("mean", over, x, 2, within=False)
    mixed = ts.sensitivity("mean", over, x, 2)
    assert exactly.value < mixed.value
    assert mixed.witness == ((0, 1, 2, 3), (1, 2, 3, 100))
    assert not exactly.is_guarantee
    assert ts.sensitivity("mean", over, distance=2).is_guarantee


@examples(1.5)
@given(st.lists(st.integers(-5, 5), min_size=3, max_size=6), st.integers(1, 5))
def test_bounded_local_compares_with_the_data_and_not_among_neighbours(
    population: list[int], n: int
) -> None:
    """Comparing neighbours with each other overstates, by up to a factor of two."""
    assume(n < len(population))
    x = frozenset(range(n))
    exact = [Fraction(v) for v in population]
    truth = ts.sensitivity("mean", ts.Records(population), population[:n], relation="bounded").value
    among = Fraction(0)
    for lost in x:
        core = x - {lost}
        near = [core | {i} for i in range(len(population)) if i not in core]
        values = [oracle.mean(tuple(exact[i] for i in y)) for y in near]
        among = max(among, *(abs(a - b) for a, b in itertools.combinations(values, 2)), 0)
    assert truth <= among <= 2 * truth


def test_comparing_neighbours_with_each_other_can_double() -> None:
    over = ts.Records([-10, 0, 0, 10])
    assert ts.sensitivity("mean", over, at=[0, 0], relation="bounded").value == 5
    # {0, 10} and {-10, 0} share {0}: their means are 10 apart.
    assert (
        oracle.mean((Fraction(0), Fraction(10))) - oracle.mean((Fraction(-10), Fraction(0))) == 10
    )


@pytest.mark.parametrize("k", [1, 2])
def test_n_copies_of_each_value_are_too_few(k: int) -> None:
    """A value set is often written as n copies of each value; additions then run out."""
    n, values = 2, [0, 10]
    copies = ts.Records(values * n, size=n)
    enough = ts.Records(values * (n + k), size=n)
    free = ts.Values(values, size=n)
    name = "percentile(90)"
    kept = ts.sensitivity(name, free, at=[0, 0], distance=k, relation="add").value
    assert ts.sensitivity(name, enough, [0, 0], k, "add").value == kept
    all_ten = {"at": [10, 10], "distance": k + n, "relation": "add", "within": False}
    assert ts.sensitivity("sum", free, **all_ten).value == 10 * (n + k)
    with pytest.raises(ValueError, match="greatest distance is 2"):
        ts.sensitivity("sum", copies, **{**all_ten, "distance": n + k})


def test_within_two_a_third_copy_matters() -> None:
    """Two copies cannot show a release of three tens."""
    free = ts.sensitivity(
        "sum", ts.Values([0, 10], size=2), at=[10, 10], distance=1, relation="add"
    )
    copies = ts.sensitivity("sum", ts.Records([0, 10] * 2, size=2), [10, 10], 1, "add")
    assert (copies.value, free.value) == (0, 10)
