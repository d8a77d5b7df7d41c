"""Variances over an interval: the textbook's formulas."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.by_hand.variance_enumeration import (
    over_values,
)
from support.by_hand.variance_questions import ask, check_witness, questions, statistic
from support.examples import examples
from tacit.statistics import Interval, Values, sensitivity
from tacit.statistics.variances import Variance


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
