"""A release planned again from its certificate: the same, and nothing that it claims is run."""

from __future__ import annotations

import copy
import json
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.errors import TacitError, UsageError
from tacit.tables.replan import of_certificate

FRAME = pd.DataFrame({"g": ["a", "b"] * 40, "x": range(80), "p": [i // 4 for i in range(80)]})


@pytest.fixture(scope="module")
def body() -> dict[str, Any]:
    session = tc.Session(FRAME, unit=tc.unit("p", rows=4), budget=tc.epsilon(3))
    question = session.group_by("g", keys=["a", "b"]).agg(
        n=tc.count(), m=tc.mean("x", 0, 79), q=tc.median("x", 0, 79)
    )
    return dict(question.release(epsilon=1).certificate.body)


def test_all_that_follows_from_a_certificate_is_what_it_says(body: dict[str, Any]) -> None:
    found = of_certificate(body)
    answer = body["answer"]
    assert found.cost.to_json() == body["spent"]["cost"]
    again = found.answer(answer["keys"], answer["released"])
    assert json.loads(json.dumps(again["columns"])) == answer["columns"]
    described = found.describe()
    for name, value in described.items():
        assert json.loads(json.dumps(value)) == body[name]
    assert not found.grows
    assert not found.unknown_keys
    assert not found.chooses
    assert not found.joins_public
    assert found.steps > 0


def test_without_the_numbers_what_is_known_of_the_columns_is_theirs(body: dict[str, Any]) -> None:
    answer = body["answer"]
    known = of_certificate(body).columns(answer["keys"])
    for column, whole in zip(known, answer["columns"], strict=True):
        assert column["label"] == whole["label"]
        for name, value in column.items():
            if value is not None and name != "standard_error":
                assert json.loads(json.dumps(value)) == whole[name]


@pytest.mark.parametrize(
    "change",
    [
        lambda keys, released: keys.append(["c"]),
        lambda keys, released: keys.reverse(),
        lambda keys, released: released.pop(),
        lambda keys, released: released[0].append(5),
        lambda keys, released: released[0].__setitem__(0, "5"),
        lambda keys, released: released[0].__setitem__(0, True),
        lambda keys, released: released[0].__setitem__(0, [1, 2, 3]),
    ],
)
def test_keys_and_numbers_that_do_not_fit_are_refused(body: dict[str, Any], change: Any) -> None:
    answer = copy.deepcopy(body["answer"])
    change(answer["keys"], answer["released"])
    with pytest.raises(UsageError):
        of_certificate(body).answer(answer["keys"], answer["released"])


@pytest.mark.parametrize(
    "change",
    [
        lambda q: q.update(more=1),
        lambda q: q.pop("tag"),
        lambda q: q.update(tag=5),
        lambda q: q["request"].update(epsilon="1.0"),
        lambda q: q["query"]["aggregates"][1][1].update(column="y"),
        lambda q: q["query"]["aggregates"][1][1].update(kind="mode"),
        lambda q: q["query"]["aggregates"][1][1].update(lower="99"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(body: dict[str, Any], change: Any) -> None:
    changed = copy.deepcopy(body)
    change(changed["question"])
    with pytest.raises((TacitError, KeyError)):
        of_certificate(changed)


def test_another_price_makes_another_plan(body: dict[str, Any]) -> None:
    changed = copy.deepcopy(body)
    changed["question"]["request"]["epsilon"] = "2"
    assert of_certificate(changed).cost.to_json() != body["spent"]["cost"]


def test_a_request_that_was_lowered_to_what_was_left_is_planned_so() -> None:
    session = tc.Session(FRAME, unit=tc.unit("p", rows=4), budget=tc.epsilon(1))
    session.agg(n=tc.count()).release(epsilon="0.9999999999999")
    last = session.agg(s=tc.sum("x", 0, 79)).release(epsilon="1/10000000000000")
    found = of_certificate(last.certificate.body)
    assert found.cost.to_json() == last.certificate.body["spent"]["cost"]


def test_groups_that_were_found_must_be_in_their_order() -> None:
    session = tc.Session(FRAME, unit=tc.unit("p", rows=4), budget=tc.epsilon_delta(999, "1e-6"))
    answer = session.group_by("g").agg(n=tc.count()).release(epsilon=900, delta="1e-9")
    body = answer.certificate.body
    found, told = of_certificate(body), body["answer"]
    assert found.unknown_keys
    assert found.answer(told["keys"], told["released"])["keys"] == [["a"], ["b"]]
    for wrong in ([["b"], ["a"]], [["a"], ["a"]], [["a"], [0.5]], [["a"], ["b", "c"]]):
        with pytest.raises(UsageError, match="key"):
            found.answer(wrong, told["released"])
