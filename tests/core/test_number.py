"""Numbers: members, bounds, grids, and how any raw value is read."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tacit.core import Number


def test_unsigned_and_bool_columns_are_whole_numbers():
    assert Number("int").read_many(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**63 - 1]
    assert Number("int").read_many(np.array([True, False])).tolist() == [1, 0]
    assert Number("int").read_many([0.5, 1.5, -0.5, 2.0**70]).tolist() == [1, 2, 0, 2**63 - 1]


@pytest.mark.parametrize(
    ("domain", "value", "member"),
    [
        (Number("float", 0, 12), 12, True),
        (Number("float", 0, 12), Fraction(121, 10), False),
        (Number("float", 0), math.inf, True),  # no upper bound: infinity is a float like others
        (Number("float", 0), -math.inf, False),
        (Number("float", nullable=True), math.nan, True),
        (Number("float"), math.nan, False),
        (Number("int"), math.inf, False),
        (Number("int"), 2.0, True),
        (Number("int"), True, False),
        (Number("int"), "2", False),
        (Number("float", grid="1/4"), 0.75, True),
        (Number("float", grid="1/4"), 0.7, False),
        (Number("float", grid="1/4"), np.float32(0.5), True),
    ],
    ids=str,
)
def test_members(domain, value, member):
    assert domain.contains(value) == member


def test_what_is_missing_is_the_bound_nearest_to_zero_where_nothing_may_be_missing():
    read = [Number("float", *ends).read(math.nan) for ends in ((2, 7), (-7, -2), (-1, 1), ())]
    assert read == [2.0, -2.0, 0.0, 0.0]
    assert math.isnan(Number("float", 2, 7, nullable=True).read("no number"))


def test_bounds_that_are_no_floats_are_held_from_inside():
    """0.1 as a fraction of ten lies between two doubles: what is read is never beyond it."""
    domain = Number("float", Fraction(1, 10), Fraction(3, 10))
    low, high = domain.read(-5), domain.read(5)
    assert low >= Fraction(1, 10) > np.nextafter(low, -1)
    assert high <= Fraction(3, 10) < np.nextafter(high, 1)
    assert domain.contains(low)
    assert domain.contains(high)


def test_numbers_of_a_grid_are_carried_in_whole_units_and_shown_as_numbers():
    quarter = Number("float", 0, 1, grid="1/4")
    assert quarter.read_many([0.3, 0.9, 7, -7]).tolist() == [1, 4, 4, 0]
    assert [quarter.present(units) for units in (0, 1, 4)] == [0.0, 0.25, 1.0]
    fives = Number("int", -10, 10, grid=5)
    assert fives.read_many([12, -8]).tolist() == [2, -2]
    assert (fives.present(-2), type(fives.present(-2))) == (-10, int)
    third = Number("float", "1/10", "9/10", grid="1/4")  # bounds between two units
    assert third.read_many([0, 1]).tolist() == [1, 3]


DOMAINS = [
    Number("float", -3, 5),
    Number("float", upper=-2, nullable=True),
    Number("int", 4),
    Number("int", None, -4),
    Number("float", "1/3", "9/2", grid="1/2"),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_samples_are_members_and_a_description_builds_the_domain_again(domain):
    source = random.Random(5)
    assert all(domain.contains(domain.sample(source)) for _ in range(200))
    told = domain.describe()
    assert told.pop("domain") == "number"
    assert Number(**told) == domain


def test_a_domain_says_its_bounds_its_grid_and_what_may_be_missing():
    shown = [str(Number("int", 0, 5)), str(DOMAINS[1]), str(DOMAINS[4])]
    assert shown == ["int in [0, 5]", "float in [-inf, -2] or missing", shown[2]]
    assert shown[2].endswith("on a grid of 1/2") or shown[2].endswith("on a grid of 0.5")
    assert Number("int", 0).bounds is None
    assert Number("int", 0, 5).bounds == (0, 5)
