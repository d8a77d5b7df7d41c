"""A plan answers each question as asking it alone does, whatever axes the questions share.

Questions of one column with as many bins, of one column by other keys, and columns whose names read
like those of axes: none of them may be taken for another.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

import tacit as tc
from tacit.errors import UsageError
from tacit.report.issued import digest

NAMES = ("x", "x in 2 bins", "y", "site", "site and y", "filter 1")
EDGES = ([0, 2, 10], [5, 8, 10], [0, 5, 10], [0, 1, 2, 10], [-3, 0, 10], [2, 10])
BUDGETS = [tc.epsilon(10**12), tc.rho(10**18)]
DETERMINED = {"mean": lambda n: n > 0, "median": lambda n: n % 2 == 1}
"""In which groups, by their number of values, there is one right answer; in all for the others."""


def price_of(budget: Any) -> dict[str, Any]:
    return {"rho": 10**15} if budget.kind == "concentrated" else {"epsilon": 10**9}


class Asked(NamedTuple):
    """A drawn question, and of each group the number of its values."""

    question: Any
    kind: str
    values: list[int]


def drawn(source: random.Random, session: tc.Session, rows: list[dict[str, Any]]) -> Asked:
    question: Any = session
    if source.random() < 0.3:
        name, least = source.choice(NAMES), source.choice([0, 3])
        question = question.filter(tc.col(name) >= least)
        rows = [row for row in rows if row[name] is not None and row[name] >= least]
    by, keys = [], [()]
    if source.random() < 0.6:
        by = source.sample(NAMES, source.choice([1, 1, 2]))
        keys = [tuple(source.choice(range(-1, 4)) for _ in by) for _ in range(3)]
        keys = sorted(set(keys))
        question = question.group_by(*by, keys=keys)
    column, edges = source.choice(NAMES[:3]), source.choice(EDGES)
    kind, aggregate = source.choice(
        [
            ("count", tc.count()),
            ("histogram", tc.histogram(column, edges)),
            ("ranges", tc.ranges(column, edges)),
            ("prefix_sums", tc.prefix_sums(column, edges)),
            ("sum", tc.sum(column, 0, source.choice([5, 9]))),
            ("mean", tc.mean(column, 0, source.choice([5, 9]))),
            ("median", tc.median(column, 0, 9)),
        ]
    )
    values = [
        sum(tuple(row[n] for n in by) == key and row[column] is not None for row in rows)
        for key in keys
    ]
    return Asked(question.agg(a=aggregate), kind, values)


def alone(session: tc.Session, question: Any, price: dict[str, Any]) -> Any:
    """Ask a question by itself; ranges and the like by groups are answered in a plan only."""
    try:
        return question.release(**price)
    except UsageError:
        return session.plan([question]).release(**price, tag="alone")[0]


@pytest.mark.full
@pytest.mark.parametrize("budget", BUDGETS, ids=["laplace", "gaussian"])
def test_a_plan_answers_each_question_as_asking_it_alone_does(budget: Any) -> None:
    for seed in range(max(4, settings.default.max_examples // 5)):
        source = random.Random(seed)
        rows = [{n: source.choice([*range(-2, 12), None]) for n in NAMES} for _ in range(80)]
        table = pa.table({n: pa.array([row[n] for row in rows], pa.int64()) for n in NAMES})
        with tc.Session(table, tc.one_row_each, budget) as session:
            several = [drawn(source, session, rows) for _ in range(source.choice([2, 3, 4]))]
            answers = session.plan([one.question for one in several]).release(**price_of(budget))
            verified = answers[0].certificate.verify(session.ledger)
            assert verified, (seed, verified.failures)
            for one, answer in zip(several, answers, strict=True):
                wanted = alone(session, one.question, price_of(budget))
                each = zip(*(a.column("a")["value"] for a in (answer, wanted)), strict=True)
                for number, (found, right) in enumerate(each):
                    if DETERMINED.get(one.kind, lambda _: True)(one.values[number]):
                        assert np.allclose(found, right, atol=0.01), (seed, one.question)


X = [0] * 10 + [3] * 27 + [5] * 37 + [6] * 13 + [9] * 2


@pytest.fixture(params=BUDGETS, ids=["laplace", "gaussian"])
def session(request):
    table = pa.table({"x": X, "x in 2 bins": [v % 2 for v in X], "site": [v % 4 for v in X]})
    with tc.Session(table, tc.one_row_each, request.param, name="t") as opened:
        yield opened


def plan_of(session, *questions, **options):
    return session.plan(questions).release(**price_of(session.budget), **options)


def test_two_histograms_of_one_column_with_as_many_bins_are_two(session):
    fine = [session.agg(a=tc.histogram("x", edges)) for edges in ([0, 2, 10], [5, 8, 10])]
    one, other = plan_of(session, *fine)
    assert np.allclose(one.column("a")["value"][0], [10, 79], atol=0.01)
    assert np.allclose(other.column("a")["value"][0], [50, 2], atol=0.01)
    steps = [chain["steps"][-2] for chain in one.certificate.body["chains"]]
    stated = {tuple(axis["edges"]) for step in steps for axis in step.get("axes", [])}
    assert stated == {("0", "2", "10"), ("5", "8", "10")}
    assert "with the edges 5, 8, 10" in one.certificate.to_html()
    for edges, right in (([0, 2, 10], [10, 79]), ([5, 8, 10], [50, 2])):
        free = session.agg(a=tc.histogram("x", edges)).free_answer()
        assert np.allclose(free.column("a")["value"][0], right, atol=0.01)


def test_one_statistic_by_other_keys_of_a_column_is_another(session):
    asked = [
        session.group_by("x", keys=keys).agg(a=tc.mean("x", 0, 9)) for keys in ([0, 3], [5, 6])
    ]
    values = [answer.column("a")["value"] for answer in plan_of(session, *asked)]
    assert np.allclose(values, [[0, 3], [5, 6]], atol=0.01)


def test_a_column_that_is_called_like_an_axis_is_another(session):
    by = session.group_by("x in 2 bins", keys=[0, 1]).agg(a=tc.count())
    bins = session.agg(a=tc.histogram("x", [0, 2, 10]))
    one, other = plan_of(session, by, bins)
    assert np.allclose(one.column("a")["value"], [23, 66], atol=0.01)
    assert np.allclose(other.column("a")["value"][0], [10, 79], atol=0.01)


def changed(certificate, change):
    body = {**certificate.body, "chains": [change(chain) for chain in certificate.body["chains"]]}
    return tc.Certificate({**body, "digest": digest(body)})


def without_axes(chain):
    return {**chain, "steps": [{k: s[k] for k in s if k != "axes"} for s in chain["steps"]]}


def other_edges(chain):
    return {
        **chain,
        "steps": [
            {**s, "axes": [{**a, "edges": ["0", "7", "10"]} for a in s["axes"]]}
            if s.get("axes")
            else s
            for s in chain["steps"]
        ],
    }


def test_verify_derives_the_edges_and_refuses_what_confused_two_axes(session):
    both = [session.agg(a=tc.histogram("x", edges)) for edges in ([0, 2, 10], [5, 8, 10])]
    one, two = plan_of(session, both[0])[0].certificate, plan_of(session, *both)[0].certificate
    for certificate in (one, two):
        assert certificate.verify()
        (*_, failure) = changed(certificate, other_edges).verify().failures
        assert "edges" in failure
    assert changed(one, without_axes).verify()  # as earlier versions wrote it
    failures = changed(two, without_axes).verify().failures
    assert any("two of its axes have one name" in failure for failure in failures)
