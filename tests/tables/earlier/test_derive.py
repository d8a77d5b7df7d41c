"""Answers from earlier releases: their values, their errors, and when there are none."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.tables.earlier.derive import follows
from tacit.tables.earlier.released import release_of
from tacit.tables.noise import NoiseLaw
from tacit.tables.question import held_by

KEYS = ["f", "m"]
EDGES = [0, 20, 40, 80]


def table():
    return pa.table({"sex": KEYS * 20, "site": [1, 2, 3, 9] * 10, "age": [5, 31, 45, 80] * 10})


def opened(budget, unit=tc.one_row_each):
    return tc.Session(table(), unit, budget, name="p")


def price(kind):
    return {kind: "1/8"}


def released(session, kind):
    """A release of groups and bins, and a plan of several questions."""
    by = session.group_by("sex", keys=KEYS)
    alone = by.agg(n=tc.count(), ages=tc.histogram("age", EDGES)).release(**price(kind))
    plan = session.plan(
        [
            session.agg(n=tc.count()),
            session.group_by("sex", "site", keys={"sex": KEYS, "site": [1, 2, 3]}).agg(
                cells=tc.count()
            ),
            session.filter(tc.col("age") >= 65).agg(old=tc.count()),
            session.group_by("sex", keys=KEYS).agg(r=tc.ranges("age", EDGES)),
        ]
    )
    return alone, plan.release(**price(kind))[0]


def questions(session):
    by = session.group_by
    return {
        "total": session.agg(n=tc.count()),
        "one key": by("sex", keys=["m"]).agg(n=tc.count()),
        "marginal": by("site", keys=[2, 1]).agg(n=tc.count()),
        "some sites": session.filter(tc.col("site").is_in([1, 3])).agg(n=tc.count()),
        "filter": session.filter(tc.col("age") >= 65).agg(n=tc.count()),
        "coarse": by("sex", keys=KEYS).agg(h=tc.histogram("age", [0, 40, 80])),
        "sums": by("sex", keys=["f"]).agg(h=tc.prefix_sums("age", EDGES)),
        "range": session.filter(tc.col("age").between(20, 80)).agg(n=tc.count()),
        "of one": session.filter(tc.col("sex") == "f").agg(h=tc.ranges("age", [20, 40, 80])),
    }


@pytest.mark.full
@pytest.mark.parametrize("kind", ["rho", "epsilon"])
def test_errors_are_those_of_the_weights_that_noisy_numbers_have(kind) -> None:
    """Each noisy number is moved by one; so its weight in every answer is seen."""
    session = opened(tc.rho(1) if kind == "rho" else tc.epsilon(1))
    bodies = [answer.certificate.body for answer in released(session, kind)]
    for name, question in questions(session).items():
        query = held_by(question).query
        places = [0, 1] if name == "one key" else [1]
        places = [0] if name in ("coarse", "sums") else places
        for place in places:
            body = bodies[place]
            found = follows(query, [release_of(body)])
            assert found is not None, name
            (column,) = found.answer["columns"]
            value = np.ravel(column["value"])
            variance = np.zeros_like(value)
            ends = [chain["steps"][-1] for chain in body["chains"]]
            for chain, (numbers, end) in enumerate(
                zip(body["answer"]["released"], ends, strict=True)
            ):
                law = NoiseLaw(
                    "gaussian" if end["step"] == "gaussian" else "laplace",
                    float(Fraction(end["scale"])),
                    1.0,
                )
                for at in range(len(numbers)):
                    moved = copy.deepcopy(body)
                    moved["answer"]["released"][chain][at] += 1
                    again = follows(query, [release_of(moved)])
                    assert again is not None
                    weight = np.ravel(again.answer["columns"][0]["value"]) - value
                    variance += law.variance * weight**2
            error = np.ravel(column["standard_error"])
            np.testing.assert_allclose(error**2, variance, rtol=1e-8, err_msg=name)


def test_a_question_of_the_plan_has_the_answer_that_the_plan_gave() -> None:
    session = opened(tc.rho(1))
    _, planned = released(session, "rho")
    again = session.agg(n=tc.count()).free_answer()
    assert again is not None
    for part in ("value", "standard_error", "low", "high"):
        np.testing.assert_allclose(again.column("n")[part], planned.column("n")[part])


@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=2)])
@pytest.mark.parametrize("kind", ["rho", "epsilon"])
def test_values_are_those_of_the_table_but_for_the_noise(kind, unit) -> None:
    people = pa.table({"person": list(range(40)), **{n: table()[n] for n in table().column_names}})
    large = {kind: 10**8}
    session = tc.Session(people, unit, tc.rho(10**9) if kind == "rho" else tc.epsilon(10**9))
    by = session.group_by("sex", keys=KEYS)
    by.agg(n=tc.count(), ages=tc.histogram("age", EDGES)).release(**large)
    session.plan([session.agg(n=tc.count()), session.agg(r=tc.ranges("age", EDGES))]).release(
        **large
    )
    coarse = by.agg(h=tc.histogram("age", [0, 40, 80])).free_answer()
    assert coarse is not None
    np.testing.assert_allclose(coarse.column("h")["value"], [[10, 10], [10, 10]], atol=0.01)
    sums = session.agg(h=tc.prefix_sums("age", EDGES)).free_answer()
    assert sums is not None
    np.testing.assert_allclose(sums.column("h")["value"], [[10, 20, 40]], atol=0.01)


def refused(session):
    """Questions that do not follow from the releases above."""
    by, col = session.group_by, tc.col
    return {
        "another key": by("sex", keys=["x"]).agg(n=tc.count()),
        "another filter": session.filter(col("age") >= 64).agg(n=tc.count()),
        "a filter more": session.filter(col("age") >= 65, col("site") > 1).agg(n=tc.count()),
        "open upper end": session.filter(col("age") >= 20).agg(n=tc.count()),
        "closed within": session.filter(col("age").between(0, 40)).agg(n=tc.count()),
        "edge between": session.agg(h=tc.histogram("age", [0, 30, 80])),
        "ends within": session.agg(h=tc.histogram("age", [0, 40])),
        "pairs not counted": session.filter(col("age") >= 65)
        .group_by("sex", keys=KEYS)
        .agg(n=tc.count()),
        "unknown keys": by("sex").agg(n=tc.count()),
        "a mean": session.agg(age=tc.mean("age", 0, 100)),
        "people": session.agg(n=tc.count_people()),
        "another column": session.with_column("twice", col("age") * 2).agg(
            h=tc.histogram("twice", EDGES)
        ),
        "part of it": session.agg(n=tc.count(), age=tc.mean("age", 0, 100)),
        "true is not one": session.filter(col("site") == 7).agg(n=tc.count()),
    }


def test_what_does_not_follow_is_not_free() -> None:
    session = opened(tc.rho(1))
    released(session, "rho")
    for name, question in refused(session).items():
        assert question.free_answer() is None, name


def test_a_filter_before_the_release_stays_one() -> None:
    session = opened(tc.rho(1))
    part = session.filter(tc.col("age") > 6)
    part.group_by("sex", keys=KEYS).agg(n=tc.count()).release(rho="1/8")
    assert session.group_by("sex", keys=KEYS).agg(n=tc.count()).free_answer() is None
    assert part.group_by("sex", keys=["f"]).agg(n=tc.count()).free_answer() is not None
    both = part.filter(tc.col("sex").is_in(KEYS)).agg(n=tc.count()).free_answer()
    assert both is not None


def test_limits_on_people_make_other_rows_of_every_filter_and_group() -> None:
    people = pa.table({"person": [1, 1, 1, 2], "sex": ["f", "m", "f", "m"], "age": [1, 2, 3, 4]})
    session = tc.Session(people, tc.unit("person", rows=2), tc.rho(1))
    by = session.group_by("sex", keys=KEYS)
    by.agg(n=tc.count()).release(rho="1/8")
    assert session.filter(tc.col("sex").is_in(KEYS)).agg(n=tc.count()).free_answer() is None
    assert session.group_by("sex", keys=["f"]).agg(n=tc.count()).free_answer() is None
    assert by.agg(m=tc.count()).free_answer() is not None
    other = tc.Session(people, tc.unit("person", rows=3), tc.rho(1), ledger=tc.in_memory)
    assert other.group_by("sex", keys=KEYS).agg(n=tc.count()).free_answer() is None


def test_the_answers_do_not_depend_on_rows() -> None:
    """Two tables without a row in common have free answers to the same questions."""
    found = []
    for people in (table(), table().slice(0, 0)):
        session = tc.Session(people, tc.one_row_each, tc.rho(1), name="p")
        released(session, "rho")
        asked = {**questions(session), **refused(session)}
        found.append([question.free_answer() is None for question in asked.values()])
    assert found[0] == found[1]
    assert any(found[0])
    assert not all(found[0])
