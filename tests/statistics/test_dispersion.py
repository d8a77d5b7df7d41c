"""Sensitivities of variances and deviations: known values, offsets, floats beside fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from support.by_hand.variance_families import variance
from tacit.arithmetic.roots_and_bisection import Root, gap
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Interval, Records, sensitivity
from tacit.statistics.variances import StandardDeviation, Variance

SCHOOL = [1, 2, 2, 2, 5, 5, 7, 8, 9, 9]
ABSENCE = [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]


def test_removing_a_record_that_hides_the_spread_can_be_worst():
    """The release with fewer records can be the one with the larger spread."""
    population = [0, 5, 5, 5, 5, 5, 5, 10]
    found = sensitivity("var", over=Records(population, size=8), distance=6, relation="remove")
    assert found.value == Fraction(25) - Fraction(50, 8)
    assert found.witness == (tuple(population), (0, 10))


@pytest.mark.few(4)
@pytest.mark.parametrize("offset", [10**9, -(10**15)])
@pytest.mark.parametrize("statistic", ["var", "std"])
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_an_offset_changes_nothing(statistic, relation, offset):
    rng = np.random.default_rng(3)
    small = rng.integers(0, 1000, 300)
    plain = sensitivity(statistic, Records(small, size=150), None, 2, relation)
    moved = sensitivity(statistic, Records(small + offset, size=150), None, 2, relation)
    assert plain.exact
    assert moved.exact
    assert plain.value == moved.value


def test_a_million_times_smaller_differences_survive_an_offset_in_floats():
    data = 1e9 + np.arange(200) / 1024
    found = sensitivity("var", Records(data, size=100))
    whole = sensitivity("var", Records(np.arange(200), size=100))
    assert found.value == whole.value / 1024**2


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("statistic", [Variance(0), Variance(1), StandardDeviation(0)])
def test_large_floats_and_their_fractions_agree(statistic, relation):
    data = np.random.default_rng(9).lognormal(size=400)
    quick = sensitivity(statistic, Records(data, size=200), None, 1, relation)
    slow = sensitivity(
        statistic, Records([Fraction(v) for v in data.tolist()], size=200), None, 1, relation
    )
    assert quick.value == slow.value
    x, y = (variance([Fraction(v) for v in side], statistic.ddof) for side in quick.witness)
    reached = gap(Root(x), Root(y)) if statistic.spread.root else abs(x - y)
    assert reached == quick.value


def test_known_values():
    unbounded = sensitivity("var", Records(SCHOOL, size=6))
    assert unbounded.value == Fraction(1723, 300)
    assert sensitivity("var", Records(SCHOOL, size=6), None, 2, within=False).value == Fraction(
        1673, 144
    )
    deviation = sensitivity("std", Records(SCHOOL, size=6))
    assert float(deviation) >= math.sqrt(1) * 1.3973192770179974 - 1e-15
    assert float(deviation) == pytest.approx(1.3973192770179974, rel=1e-14)
    assert sensitivity("std", Records(ABSENCE, size=6)).witness is not None


def test_a_std_is_not_below_the_truth_where_floats_are():
    """A window without spread computes as 1e-17 in floats, a root of 4e-9."""
    data = [0.1] * 10 + [0.3]
    found = sensitivity("std", Records(data, size=10))
    x, y = (variance([Fraction(v) for v in side]) for side in found.witness)
    assert min(x, y) == 0
    assert Fraction(float(found)) ** 2 >= max(x, y)


def test_neighbours_without_a_value_are_left_out_and_said():
    found = sensitivity("var", Records([1, 2, 3], size=2), None, 2, "unbounded")
    assert any("fewer than 1 record" in note for note in found.notes)
    found = sensitivity(Variance(ddof=1), Records([1, 2, 3, 9], size=2))
    assert any("fewer than 2 record" in note for note in found.notes)
    assert min(map(len, found.witness)) == 2


def test_what_has_no_value_is_refused():
    with pytest.raises(UsageError, match="ddof must be 0 or 1"):
        Variance(ddof=2)
    with pytest.raises(InfeasibleError, match="needs at least 2"):
        sensitivity(Variance(ddof=1), Records([1, 2, 3], size=1))
    with pytest.raises(InfeasibleError, match="undefined"):
        sensitivity(StandardDeviation(ddof=1), Records([1, 2], size=2), None, 1, "remove")


def test_equal_records_have_no_sensitivity():
    for relation in ("unbounded", "bounded"):
        found = sensitivity("var", Records([4, 4, 4, 4], size=2), None, 1, relation)
        assert found.value == 0
        # nobody's value can change where the size is public
        assert found.witness == (None if relation == "bounded" else ((4, 4), (4, 4, 4)))
    assert sensitivity("std", Interval(2, 2, size=3)).value == 0
    assert sensitivity("var", Records([4, 5], size=2), None, 1, "bounded").value == 0
