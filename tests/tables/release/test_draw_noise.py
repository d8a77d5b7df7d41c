"""Exact integers in, a published answer out: what is recorded is what the answer follows from."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import Collector, answer_of, in_order, release_answer

FRAME = pd.DataFrame({"g": ["a", "b"] * 40, "x": range(80), "p": [i // 4 for i in range(80)]})
MUCH = 10**6


def made(*, keys: Any = ("a", "b", "nobody"), price: Any = None, **asked: Any) -> Any:
    """A plan, and the exact answers to it."""
    session = tc.Session(FRAME, unit=tc.unit("p", rows=4), budget=tc.epsilon_delta(10**9, "1e-6"))
    question = session.group_by("g", keys=list(keys)) if keys else session.group_by("g")
    plan = Plan(question.agg(**asked)._query, price or tc.epsilon(MUCH))
    return plan, Collector(session.source).collect(plan)


def test_with_much_budget_the_numbers_are_those_of_the_table() -> None:
    plan, exact = made(n=tc.count(), m=tc.mean("x", 0, 79), q=tc.median("x", 0, 79))
    answer = release_answer(plan, exact)
    assert answer["keys"] == [["a"], ["b"], ["nobody"]]
    count, mean, median = answer["columns"]
    assert [c["label"] for c in answer["columns"]] == ["n", "m", "q"]
    assert count["value"] == [40, 40, 0]
    assert mean["value"][:2] == pytest.approx([39, 40], abs=0.01)
    assert median["value"][:2] == pytest.approx([39, 40], abs=1.1)
    assert json.loads(json.dumps(answer)) == answer  # plain JSON values and nothing else


def test_the_answer_follows_from_what_was_released_and_nothing_else() -> None:
    plan, exact = made(n=tc.count(), v=tc.var("x", 0, 79), h=tc.histogram("x", [0, 40, 79]))
    answer = release_answer(plan, exact)
    again = answer_of(plan, answer["keys"], answer["released"])
    assert {name: again[name] for name in again} == {name: answer[name] for name in again}
    assert set(again) == {"keys", "columns", "released"}


def test_each_release_draws_its_own_noise() -> None:
    plan, exact = made(n=tc.count(), price=tc.epsilon("1/100"))
    drawn = {json.dumps(release_answer(plan, exact)["released"]) for _ in range(4)}
    assert len(drawn) == 4


def test_whole_counts_have_whole_ends_that_hold_them() -> None:
    plan, exact = made(n=tc.count(), price=tc.epsilon("1/10"))
    (column,) = release_answer(plan, exact)["columns"]
    for value, low, high in zip(column["value"], column["low"], column["high"], strict=True):
        assert all(type(number) is int for number in (value, low, high))
        assert low <= value <= high


def test_groups_that_are_found_come_in_the_order_of_what_is_shown() -> None:
    plan, exact = made(keys=None, n=tc.count(), price=tc.epsilon_delta(1000, "1e-9"))
    assert release_answer(plan, exact)["keys"] == [["a"], ["b"]]


KEYS = [(None,), ("a",), ("b",), (2,), (10,), (True,)]


def test_released_keys_have_one_order_however_they_were_found() -> None:
    orders = {tuple(in_order(chosen)) for chosen in itertools.permutations(KEYS)}
    (order,) = orders
    assert order[-1] == (None,)
    numbers = [key for key in order if type(key[0]) is int]
    assert numbers == [(2,), (10,)]
