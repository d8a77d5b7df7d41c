"""Releases of any size: the worst of all sizes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.by_hand.variance_enumeration import (
    RELATIONS,
    over_records,
    over_values,
)
from support.by_hand.variance_questions import ask, check_witness, questions, statistic, whole
from support.examples import examples
from tacit.statistics import Records, Values, sensitivity


@examples(1.2)
@given(st.lists(whole, min_size=2, max_size=6), questions, st.integers(1, 6))
def test_of_any_size_is_the_worst_of_all_sizes(population, question, k):
    population = sorted(population)
    ddof, root = question["ddof"], question["root"]
    relation, within = question["relation"], question["within"]
    truths = [
        over_records(population, n, relation, k, within, ddof, root)
        for n in range(1 + ddof, len(population) + 1)
    ]
    truths = [t for t in truths if t is not None]
    assume(truths)
    answer = ask(statistic(ddof, root), Records(population), None, k, relation, within)
    check_witness(answer, max(truths), ddof, root)


@pytest.mark.few(4)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("root", [False, True])
def test_values_of_any_size_are_the_worst_of_many_sizes(ddof, root):
    for relation in RELATIONS:
        for k in (1, 2, 3):
            for within in (True, False):
                question = (relation, k, within, ddof, root)
                answer = sensitivity(
                    statistic(ddof, root), Values([0, 1]), None, k, relation, within
                )
                truths = [over_values([0, 1], n, *question) for n in range(1 + ddof, 10)]
                assert answer.value == max(t for t in truths if t is not None), question
