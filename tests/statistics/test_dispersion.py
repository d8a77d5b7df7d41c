"""Sensitivities of variances and deviations: known values, offsets, floats beside fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tacit as tc
from support.by_hand.at_distance import by_definition, cases
from support.by_hand.variance_enumeration import (
    over_values,
)
from support.by_hand.variance_questions import ask, check_witness, questions, statistic, variance
from support.examples import examples
from tacit.arithmetic.roots_and_bisection import Root, gap
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Interval, Records, Sample, Values, sensitivity
from tacit.statistics.smooth import at_distance
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


# Deviations at a distance are never below the definition.


@examples(1.5)
@given(case=cases(), ddof=st.integers(0, 1))
def test_variance_and_deviation_are_never_below_the_definition(
    case: tuple[list[int], list[int], str, int], ddof: int
) -> None:
    data, values, relation, farthest = case
    if len(data) <= ddof + (relation == "remove"):
        data = data * 3
    bounds = values[0], values[-1]
    squared = Variance(ddof=ddof)
    truth = by_definition(squared.exact, data, values, relation, farthest, 1 + ddof)
    found = at_distance(squared, data, bounds, relation)
    assert all(found.at(t) >= a for t, a in enumerate(truth))
    deviation = StandardDeviation(ddof=ddof)
    truth = by_definition(
        lambda r: math.sqrt(squared.exact(r)), data, values, relation, farthest, 1 + ddof
    )
    found = at_distance(deviation, data, bounds, relation)
    assert not found.exact
    assert all(found.at(t) >= a * (1 - 1e-14) for t, a in enumerate(truth))


def test_deviation_is_exact_once_all_records_may_change() -> None:
    found = at_distance("std", [1, 2, 4, 9], (0, 10), "bounded")
    assert found.at(4) == pytest.approx(10 * math.sqrt(3) / 4, rel=1e-15)


# Variances over an interval: the textbook's formulas.


@pytest.mark.parametrize("n", [2, 3, 10, 1001])
def test_textbook_formulas_over_an_interval(n):
    substituted = sensitivity("var", Interval(0, 10, size=n), None, 1, "bounded").value
    assert substituted == Fraction(100 * (n - 1), n * n)
    added = sensitivity("var", Interval(0, 10, size=n), None, 1, "add").value
    assert added == Fraction(100 * n, (n + 1) ** 2)
    assert sensitivity(
        Variance(ddof=1), Interval(0, 10, size=n), None, 1, "bounded"
    ).value == Fraction(100, n)


def test_values_and_an_interval_agree_without_a_degree_of_freedom_lost():
    for k in (1, 2, 5):
        for relation in ("unbounded", "add", "remove", "bounded"):
            over = [Values([0, 3, 7, 10], size=6), Interval(0, 10, size=6)]
            listed, all_reals = (sensitivity("var", d, None, k, relation) for d in over)
            assert listed.value == all_reals.value


@examples(1.5)
@given(questions, st.integers(1, 5), st.integers(1, 4), st.integers(3, 7))
def test_global_over_an_interval_is_attained_and_never_beaten_on_a_grid(question, n, k, steps):
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    assume(n > ddof)
    grid = [Fraction(i, steps - 1) for i in range(steps)]
    assume(steps ** (n + min(k, 3)) < 200_000)
    below = over_values(grid, n, relation, k, within, ddof, root)
    assume(below is not None)
    answer = ask(statistic(ddof, root), Interval(0, 1, size=n), None, k, relation, within)
    assert answer.value >= below
    if answer.exact:
        pair = check_witness(answer, answer.value, ddof, root)
        if pair is None:
            return
        x, y = pair
        assert min(x + y) >= 0
        assert max(x + y) <= 1
        assert len(x) == n


@examples(1.5)
@given(questions, st.data())
def test_local_over_an_interval_is_attained_and_never_beaten_on_a_grid(question, data):
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    grid = [Fraction(i, 4) for i in range(5)]
    at = sorted(data.draw(st.lists(st.sampled_from(grid), min_size=1 + ddof, max_size=5), "at"))
    k = data.draw(st.integers(1, 3), "distance")
    below = over_values(grid, len(at), relation, k, within, ddof, root, at=at)
    assume(below is not None)
    answer = ask(statistic(ddof, root), Interval(0, 1), at, k, relation, within)
    assert answer.value >= below
    pair = check_witness(answer, answer.value, ddof, root)
    if pair is None:
        return
    _, y = pair
    assert min(y) >= 0
    assert max(y) <= 1


# The variance with one degree of freedom lost.


def test_ddof_one_is_the_unbiased_variance() -> None:
    found = tc.sensitivity(tc.var(ddof=1), over=tc.Records([0, 1, 5], size=2), relation="bounded")
    x, y = (np.array(side, dtype=float) for side in found.witness)
    assert float(found) == abs(x.var(ddof=1) - y.var(ddof=1)) == 12


def test_numpy_agrees_on_the_values():
    rows = np.random.default_rng(2).normal(size=(5, 7))
    for ddof in (0, 1):
        assert np.allclose(Variance(ddof).batch(rows), rows.var(axis=1, ddof=ddof))
        assert np.allclose(StandardDeviation(ddof).batch(rows), rows.std(axis=1, ddof=ddof))
        exact = Variance(ddof).of(Sample(rows[0]))
        assert float(exact) == pytest.approx(rows[0].var(ddof=ddof), rel=1e-14)
    assert np.isnan(Variance(1).batch(rows[:, :1])).all()
