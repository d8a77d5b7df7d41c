"""Global sensitivities of variances against exhaustive enumeration in exact rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.by_hand.variance_enumeration import (
    asked_moves,
    over_records,
    over_values,
)
from support.by_hand.variance_questions import (
    ask,
    check_witness,
    counted,
    populations,
    questions,
    ratio,
    statistic,
    whole,
)
from support.examples import examples
from tacit.statistics import Records, Values


def distance_of(x, y):
    """How many records must go and come, at least."""
    shared = list(y)
    gone = 0
    for v in x:
        if v in shared:
            shared.remove(v)
        else:
            gone += 1
    return gone, len(shared)


@pytest.mark.full
@examples(7)
@given(populations, questions, st.data())
def test_global_over_records(population, question, data):
    population = sorted(Fraction(v) for v in population)
    ddof, root = question["ddof"], question["root"]
    n = data.draw(st.integers(1 + ddof, len(population)), "size")
    k = data.draw(st.integers(1, len(population)), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_records(population, n, relation, k, within, ddof, root)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Records(population, size=n), None, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert len(x) == n
    counted(population, x)
    r, a = distance_of(x, y)
    moves = asked_moves(relation, k, within, n)
    assert any(r <= p and a <= q and p - r == q - a for p, q in moves)


value_sets = st.lists(st.one_of(whole, ratio), min_size=1, max_size=3, unique=True)


@examples(2.5)
@given(value_sets, questions, st.integers(1, 5), st.integers(1, 4))
def test_global_over_values(values, question, n, k):
    values = sorted(Fraction(v) for v in values)
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    assume(n > ddof)
    truth = over_values(values, n, relation, k, within, ddof, root)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Values(values, size=n), None, k, relation, within)
    if answer.method == "upper bound":
        assert answer.value >= truth
        return
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert len(x) == n
    assert set(x) | set(y) <= set(values)
