"""Measures: how losses are read, compared, added up and converted."""

import math
from fractions import Fraction

import pytest

from tacit.core import ApproximateDP, PureDP, RenyiDP, ZeroConcentratedDP, measure_from
from tacit.core.divergences import distribution
from tacit.core.measures import Measure, pure_to_concentrated, pure_to_renyi
from tacit.errors import MismatchError, UsageError


def test_what_is_missing_from_one_side_is_infinite():
    u, v = {0: 1}, {0: "1/2", 1: "1/2"}
    assert PureDP().divergence(u, v) == math.inf
    assert ZeroConcentratedDP().divergence(u, v) == math.inf
    assert RenyiDP(2).divergence(u, v) == math.inf
    assert ApproximateDP().divergence(u, v)(0).upper == Fraction(1, 2)
    assert ApproximateDP().divergence(u, v).epsilon("1/1000000") == math.inf


def test_bad_distributions_orders_and_losses_are_refused():
    for wrong in ({0: "1/2"}, {0: 2, 1: -1}, {0: math.nan}, {0: "x"}):
        with pytest.raises(UsageError):
            distribution(wrong)
    for alpha in (1, "1/2", 0, -3):
        with pytest.raises(UsageError, match="above one"):
            RenyiDP(alpha)
    with pytest.raises(UsageError, match="not negative"):
        PureDP().read(-1)
    for wrong in (1, (1,), (1, 2, 3), (-1, 0), (1, 2), (1, -1)):
        with pytest.raises(UsageError):
            ApproximateDP().read(wrong)
    with pytest.raises(UsageError, match="no measure"):
        measure_from({"measure": "Renyi"})


def test_conversions_and_composition_of_losses():
    assert ApproximateDP().compose([(1, Fraction(1, 2)), (2, Fraction(3, 4))]) == (3, 1)
    assert ApproximateDP().from_pure(Fraction(1)) == (1, 0)
    assert RenyiDP(4).from_pure(Fraction(1)) == pure_to_renyi(Fraction(1), Fraction(4))
    assert ZeroConcentratedDP().from_pure(Fraction(1)) == pure_to_concentrated(Fraction(1))
    for measure in (PureDP(), ApproximateDP(), ZeroConcentratedDP(), RenyiDP("5/2")):
        assert measure_from(measure.describe()) == measure
    with pytest.raises(MismatchError, match="no conversion"):
        Measure.from_pure(PureDP(), Fraction(1))
