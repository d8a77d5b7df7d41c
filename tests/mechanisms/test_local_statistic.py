"""A statistic put to work: total on every data set, and never less sensitive than it is."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tacit.arithmetic.roots_and_bisection import Root
from tacit.core import (
    Category,
    HammingDistance,
    L1Distance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError, TacitError, UsageError
from tacit.mechanisms.local_statistic import (
    LocalStatistic,
    column_space,
    nearest_unit,
    read_statistic,
)

NUMBERS = column_space((0, 4), "unbounded", None)
FEW = column_space(None, "unbounded", [0, 1, 4])


@pytest.mark.parametrize("statistic", ["median", "mean", "var", "max"])
def test_what_is_claimed_at_no_distance_holds_for_every_neighbour(statistic):
    """A+(0) bounds the move to any neighbour, the empty data set included, on a small grid."""
    s = LocalStatistic(statistic, NUMBERS)
    for size in range(3):
        for records in itertools.combinations_with_replacement((0, 1, 4), size):
            reading = s.read(list(records))
            here = s.value(reading)
            others = [[*records, v] for v in (0, 1, 2, 4)]
            others += [[*records[:i], *records[i + 1 :]] for i in range(size)]
            moved = max(abs(float(s.value(s.read(o))) - float(here)) for o in others)
            assert moved <= float(s.full) + 1e-12
            beta = Fraction(1, 3)
            assert moved <= float(s.smooth(reading, beta)) + 1e-12


@pytest.mark.parametrize("statistic", ["median", "mean", "std"])
def test_the_smooth_bound_moves_by_its_rate_at_most(statistic):
    s, beta = LocalStatistic(statistic, NUMBERS), Fraction(1, 2)
    grown = [[], [1], [1, 1], [1, 1, 4], [0, 1, 1, 4], [0, 1, 1, 1, 4]]
    found = [float(s.smooth(s.read(records), beta)) for records in grown]
    for one, other in itertools.pairwise(found):
        assert max(one / other, other / one) <= np.exp(0.5) * (1 + 1e-12)


def test_records_that_are_none_have_the_public_default_and_full():
    s = LocalStatistic("median", NUMBERS)
    assert (s.value(s.read([])), s.full, s.range) == (2, 4, (0, 4))
    assert s.smooth(s.read([]), Fraction(1)) == s.full
    assert len(s.read([])) == 0
    assert repr(s.read([3])) == "<Reading of private records>"


def test_distances_to_bounds_fall_where_bounds_rise():
    s = LocalStatistic("median", NUMBERS)
    reading = s.read([1, 1, 1, 1, 1])
    bounds = [Fraction(0), Fraction(1, 2), Fraction(3), Fraction(4)]
    found = s.distances(reading, bounds)
    assert found == [s.distance(reading, b) for b in bounds]
    assert found[-1] is None  # no data set moves by more than all of the range
    assert found[0] <= found[1] <= found[2]


def test_a_function_over_few_values_is_clipped_and_total():
    def wild(x):
        if len(x) == 2:
            raise RuntimeError("secret")
        return float(x.sum()) * 100

    s = LocalStatistic(wild, FEW, bounds=(-1, 3))
    assert (s.full, s.range, s.default) == (4, (-1, 3), 1)
    assert s.value(s.read([0, 1])) == 1  # an exception stands in the middle
    assert s.value(s.read([4, 4, 4])) == 3
    assert s.value(s.read([None, 0, 0])) == s.value(s.read([0, 0, 0]))  # no value: the first
    assert s.limit(0) == 0
    assert s.limit(10**6) == 0  # too many records to search: full from the start
    assert s.smooth(s.read([1] * 10**4), Fraction(1)) == s.full


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (
            lambda: LocalStatistic("median", Space(Vector(float), SymmetricDistance())),
            TacitError,
            "bounds|bounded|clamp",
        ),
        (
            lambda: LocalStatistic(
                "median", Space(Vector(Number("float", 0, 1)), HammingDistance())
            ),
            MismatchError,
            "symmetric and the change-one",
        ),
        (
            lambda: LocalStatistic("median", Space(Vector(Number("float", 0, 1)), L1Distance())),
            MismatchError,
            "symmetric and the change-one",
        ),
        (
            lambda: LocalStatistic("median", NUMBERS, bounds=(0, 5)),
            UsageError,
            "do not give others",
        ),
        (lambda: LocalStatistic(len, NUMBERS), UsageError, "needs values"),
        (lambda: LocalStatistic(len, FEW), UsageError, "give bounds"),
        (lambda: LocalStatistic(len, FEW, bounds=(5, 0)), UsageError, "reversed"),
        (lambda: LocalStatistic("trimmed_mean", NUMBERS), UsageError, "relation='bounded'"),
        (
            lambda: LocalStatistic("mean", column_space((0, 10**121), "bounded", None)),
            UsageError,
            "another unit",
        ),
        (lambda: column_space((0, 1), "add", None), UsageError, "one direction"),
        (lambda: column_space(None, "bounded", None), UsageError, "give bounds"),
        (lambda: column_space(5, "bounded", None), UsageError, "pair"),
        (lambda: LocalStatistic("meen", NUMBERS), UsageError, "mean"),
    ],
)
def test_what_cannot_be_asked_is_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()
    assert isinstance(FEW.domain.element, Category)


@pytest.mark.parametrize("value", [Fraction(0), Fraction(5, 2), Fraction(-5, 2), Fraction(7, 3)])
def test_the_nearest_unit_shifts_with_its_value(value):
    grid = Fraction(1, 2)
    for k in (-3, 0, 5):
        assert nearest_unit(value + k * grid, grid) == nearest_unit(value, grid) + k
    assert abs(nearest_unit(value, grid) * grid - value) <= grid / 2


def test_roots_are_put_on_a_grid_without_rounding():
    near = Root(Fraction(1, 4) + Fraction(1, 10**60))
    below = Root(Fraction(1, 4) - Fraction(1, 10**60))
    assert (nearest_unit(near, Fraction(1)), nearest_unit(below, Fraction(1))) == (1, 0)


def test_a_trimmed_mean_is_asked_by_its_share():
    shares = ("trimmed_mean(1/4)", "trimmed_mean(0.25)", "trimmed_mean 0.25")
    assert len({read_statistic(name).name for name in shares}) == 1
    with pytest.raises(UsageError, match="share"):
        read_statistic("trimmed_mean(much)")
