"""Local sensitivities of variances against exhaustive enumeration in exact rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.by_hand.variance_enumeration import (
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


@pytest.mark.full
@examples(7)
@given(populations, questions, st.data())
def test_local_over_records(population, question, data):
    population = sorted(Fraction(v) for v in population)
    ddof, root = question["ddof"], question["root"]
    assume(len(population) > ddof)
    mask = data.draw(st.integers(1, (1 << len(population)) - 1), "at")
    at = [v for i, v in enumerate(population) if mask >> i & 1]
    assume(len(at) > ddof)
    k = data.draw(st.integers(1, len(population)), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_records(population, len(at), relation, k, within, ddof, root, at=mask)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Records(population), at, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert x == at
    counted(population, y)


value_sets = st.lists(st.one_of(whole, ratio), min_size=1, max_size=3, unique=True)


@examples(2.5)
@given(value_sets, questions, st.data())
def test_local_over_values(values, question, data):
    values = sorted(Fraction(v) for v in values)
    ddof, root = question["ddof"], question["root"]
    at = sorted(data.draw(st.lists(st.sampled_from(values), min_size=1 + ddof, max_size=5), "at"))
    k = data.draw(st.integers(1, 4), "distance")
    relation, within = question["relation"], question["within"]
    truth = over_values(values, len(at), relation, k, within, ddof, root, at=at)
    assume(truth is not None)
    answer = ask(statistic(ddof, root), Values(values), at, k, relation, within)
    pair = check_witness(answer, truth, ddof, root)
    if pair is None:
        return
    x, y = pair
    assert x == at
    assert set(y) <= set(values)
