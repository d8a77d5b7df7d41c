"""Answers from earlier releases: their values, their errors, and when there are none."""

from __future__ import annotations

import copy
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.accounting.ledger import Ledger, on_account_of
from tacit.errors import UsageError, VerificationError
from tacit.expressions.schema import Column, Schema
from tacit.report.issued import digest
from tacit.tables.cell_axis import Axis
from tacit.tables.derived.derive import follows
from tacit.tables.derived.released import (
    AloneCells,
    Between,
    Listed,
    OpaqueCondition,
    column_name,
    conditions_of,
    release_of,
    typed,
    weights_of,
)
from tacit.tables.noise import GridNoise
from tacit.tables.plan.preview import Preview
from tacit.tables.plan.query import Query
from tacit.tables.question import question_parts
from tacit.tables.session import PaidSession

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
        "range": session.filter(tc.col("age").is_between(20, 80)).agg(n=tc.count()),
        "of one": session.filter(tc.col("sex") == "f").agg(h=tc.ranges("age", [20, 40, 80])),
    }


@pytest.mark.full
@pytest.mark.parametrize("kind", ["rho", "epsilon"])
def test_errors_are_those_of_the_weights_that_noisy_numbers_have(kind) -> None:
    """Each noisy number is moved by one; so its weight in every answer is seen."""
    session = opened(tc.rho(1) if kind == "rho" else tc.epsilon(1))
    bodies = [answer.certificate.body for answer in released(session, kind)]
    for name, question in questions(session).items():
        query = question_parts(question).query
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
                law = GridNoise(
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
        "closed within": session.filter(col("age").is_between(0, 40)).agg(n=tc.count()),
        "edge between": session.agg(h=tc.histogram("age", [0, 30, 80])),
        "ends within": session.agg(h=tc.histogram("age", [0, 40])),
        "pairs not counted": session.filter(col("age") >= 65)
        .group_by("sex", keys=KEYS)
        .agg(n=tc.count()),
        "unknown keys": by("sex").agg(n=tc.count()),
        "a mean": session.agg(age=tc.mean("age", 0, 100)),
        "people": session.agg(n=tc.count_people()),
        "another column": session.with_columns(twice=col("age") * 2).agg(
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


# Which cells a count adds up.


SEX = Axis(("sex",), (("f",), ("m",)))
AGE = Axis(("age",), edges=(Fraction(0), Fraction(18), Fraction(65), Fraction(99)))
PAIR = Axis(("sex", "site"), (("f", 1), ("f", 2), ("m", 1)))
LAW = GridNoise("laplace", 1.0, 1.0)


def weights(axes, asked, *, complete=False):
    shape = [axis.listed + complete for axis in axes]
    table = AloneCells(tuple(axes), (complete,) * len(axes), np.zeros(shape), LAW)
    names = [list(axis.columns) for axis in axes]
    found = weights_of(table, names, [{} for _ in axes], dict(enumerate(asked)), None)
    return found if found is None else [each.tolist() for each in found]


def among(column, *values):
    return Listed(column, frozenset(map(typed, values)))


@pytest.mark.parametrize(
    ("axes", "asked", "marked"),
    [
        ([SEX], [among("sex", "m")], [[[0, 1]]]),
        ([SEX], [among("sex", "m", "f"), among("sex", "f")], [[[1, 0]]]),
        ([SEX], [among("sex", "x")], None),
        ([SEX], [among("site", 1)], None),
        ([SEX], [], None),
        ([AGE], [Between("age", Fraction(18), Fraction(99), True)], [[[0, 1, 1]]]),
        ([AGE], [Between("age", Fraction(18), Fraction(65), True)], None),
        ([AGE], [Between("age", Fraction(18), Fraction(65), False)], [[[0, 1, 0]]]),
        ([AGE], [Between("age", Fraction(18), Fraction(60), False)], None),
        ([PAIR], [among("sex", "f"), among("site", 1, 2)], [[[1, 1, 0]]]),
        ([PAIR], [among("sex", "m"), among("site", 1, 2)], None),
        ([PAIR], [among("sex", "f")], None),
    ],
)
def test_cells_that_hold_just_what_is_asked(axes, asked, marked) -> None:
    assert weights(axes, asked) == marked


def test_all_cells_where_they_hold_every_row() -> None:
    assert weights([SEX, AGE], [among("sex", "f")], complete=True) == [[[1, 0, 0]], [[1] * 4]]


# What filters ask of columns.


COLUMNS = Schema([Column("age", "integer", "integer"), Column("sex", "text", "text")])


def read(*where, derived=()):
    query = Query(COLUMNS, tc.one_row_each, where=where, derived=derived)
    return list(conditions_of(query).values())


REGION_AGE, REGION_SEX = tc.col("age"), tc.col("sex")


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        ([REGION_SEX == "f"], [Listed("sex", frozenset([typed("f")]))]),
        ([REGION_SEX.is_in(["f", "m"])], [Listed("sex", frozenset([typed("f"), typed("m")]))]),
        ([REGION_AGE.is_null()], [Listed("age", frozenset([typed(None)]))]),
        ([REGION_AGE.is_between(0, 9)], [Between("age", Fraction(0), Fraction(9), closed=True)]),
        (
            [REGION_AGE >= 0, REGION_AGE < 9],
            [Between("age", Fraction(0), Fraction(9), closed=False)],
        ),
        (
            [(REGION_AGE >= 0) & (REGION_AGE < 9)],
            [Between("age", Fraction(0), Fraction(9), closed=False)],
        ),
    ],
)
def test_filters_that_are_values_or_bounds_of_a_column(where, asked) -> None:
    assert read(*where) == asked


@pytest.mark.parametrize(
    "where",
    [
        [REGION_AGE >= 3],
        [REGION_AGE > 3, REGION_AGE < 9],
        [REGION_AGE >= 1, REGION_AGE >= 2, REGION_AGE < 9],
        [~(REGION_SEX == "f")],
        [REGION_SEX.is_null()],  # the group of None has texts that are too long as well
    ],
)
def test_other_filters_are_whole(where) -> None:
    assert all(isinstance(one, OpaqueCondition) for one in read(*where))


def test_a_derived_column_is_its_expression() -> None:
    derived = (("twice", REGION_AGE * 2),)
    query = Query(COLUMNS, tc.one_row_each, derived=derived)
    assert column_name(query, "twice") != "twice"
    assert column_name(query, "age") == "age"
    (bounds,) = read(tc.col("twice").is_between(0, 9), derived=derived)
    assert bounds.column == column_name(query, "twice")


def test_true_is_not_one() -> None:
    assert typed(True) != typed(1)


# The noise on sums of released cells, against the quantiles of its distribution.


COUNTED_KEYS = Axis(("g",), tuple((place,) for place in range(6)))
COUNTED_EDGES = Axis(("x",), edges=tuple(map(Fraction, range(5))))


def cells(kind):
    values = np.arange(24.0).reshape(6, 4)
    return AloneCells(
        (COUNTED_KEYS, COUNTED_EDGES), (False, False), values, GridNoise(kind, 3.0, 1.0)
    )


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_sums_of_cells(kind) -> None:
    rows, bins = np.array([[1.0, 0, 1, 0, 0, 0]]), np.tril(np.ones((4, 4)))
    table = cells(kind)
    value, error, half = table.sums([rows, bins])
    np.testing.assert_allclose(value, (rows @ table.values @ bins.T)[0])
    np.testing.assert_allclose(error**2, table.distribution.variance * 2 * np.arange(1, 5))
    for number, width in zip(range(1, 5), half, strict=True):
        needed = table.distribution.half_width((1.0,) * 2 * number, 0.95)
        assert 0.97 * needed - 2 * number <= width <= 1.03 * needed


def test_several_axes_at_once() -> None:
    table = cells("gaussian")
    one, two = np.eye(6)[:3], np.eye(4)[:3]
    value, error, _ = table.sums([one, two])
    np.testing.assert_allclose(value, np.diag(table.values)[:3])
    np.testing.assert_allclose(error, 3.0)


# Free answers, written down: the ledger, the certificate, and what makes them fail.


@pytest.fixture(name="session")
def _session():
    people = pa.table({"sex": ["f", "m", "f"], "age": [31, 45, 67]})
    session = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p")
    question = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count())
    question.release(epsilon="1/4")
    session.agg(ages=tc.histogram("age", [0, 40, 80])).release(epsilon="1/4")
    return session


def both(session):
    return session.filter(tc.col("sex").is_in(["f", "m"])).agg(n=tc.count())


def test_it_spends_nothing_and_the_ledger_says_from_which_releases(session) -> None:
    before = session.spent, len(session.history())
    answer = both(session).free_answer()
    assert (session.spent, len(session.history())) == before
    assert answer.cost.is_nothing
    (part,) = [event for event in session.ledger.events() if event.event == "part"]
    source = session.history()[0]
    assert part.body["part"]["from"] == [source.hash]
    assert part.body["charge"] == source.sequence
    assert part.body["part"]["digest"] == answer.certificate.body["digest"]
    session.ledger.verify_chain()


def test_asked_again_it_is_the_same_and_is_written_once(session) -> None:
    one, two = both(session).free_answer(), both(session).free_answer()
    assert one.certificate == two.certificate
    assert sum(event.event == "part" for event in session.ledger.events()) == 1


def test_it_is_verified_with_and_without_the_ledger(session, tmp_path) -> None:
    found = both(session).free_answer().certificate
    assert found.verify()
    assert found.verify(session.ledger)
    found.save(tmp_path / "free.json")
    assert tc.Certificate.load(tmp_path / "free.json") == found
    other = tc.Session(pa.table({"sex": ["f"]}), tc.one_row_each, tc.epsilon(1), name="p")
    assert not found.verify(other.ledger)


def test_a_tag_is_another_version_of_the_table(session) -> None:
    assert both(session).free_answer(tag="later") is None
    session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4", tag="later")
    assert both(session).free_answer(tag="later") is not None


def test_certificates_of_another_ledger(session, tmp_path) -> None:
    source = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    people = pa.table({"sex": ["f"], "age": [3]})
    other = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p")
    assert both(other).free_answer() is None
    free = both(other).free_answer([source.certificate])
    assert free.value("n") == both(session).free_answer().value("n")
    assert other.spent.is_nothing
    body = copy.deepcopy(source.certificate.body)
    body["answer"]["released"][0][0] += 1
    with pytest.raises(UsageError, match="does not hold"):
        both(other).free_answer([tc.Certificate(body)])
    with pytest.raises(UsageError, match="adds nothing"):
        both(other).free_answer([free.certificate])
    third = tc.Session(people, tc.one_row_each, tc.epsilon(1), name="q")
    with pytest.raises(UsageError, match="another data set"):
        both(third).free_answer([source.certificate])
    with pytest.raises(UsageError, match="certificates"):
        both(other).free_answer([source])  # an answer, not its certificate


def test_what_was_answered_on_another_account_is_left_alone(session) -> None:
    ada = PaidSession(session, on_account_of(session.ledger, "analyst:ada"), {})
    assert both(ada).free_answer() is None
    ada.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/8")
    assert both(ada).free_answer() is not None
    bob = PaidSession(session, on_account_of(session.ledger, "analyst:bob"), {})
    assert both(bob).free_answer() is None


def test_pages_and_cards(session) -> None:
    certificate = both(session).free_answer().certificate
    page = certificate.to_html()
    assert "nothing was spent" in page
    assert "earlier releases" in page
    assert certificate.body["sources"][0]["digest"][:16] in str(certificate)
    with pytest.raises(UsageError, match="register these"):
        certificate.registry_entry()


def test_a_certificate_that_claims_to_stand_in_this_ledger_must_stand_there(session) -> None:
    """Sealed anew it agrees with itself, with any numbers; the ledger knows better."""
    made_up = pa.table({"sex": ["f"] * 500, "age": [3] * 500})
    other = tc.Session(made_up, tc.one_row_each, tc.epsilon(1), name="p")
    counted = other.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon=1)
    body = copy.deepcopy(counted.certificate.body)
    ours = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    body["ledger"] = ours.certificate.body["ledger"]
    body["digest"] = digest(body)
    forged = tc.Certificate(body)
    assert forged.verify()
    before = len(session.ledger.events())
    with pytest.raises(UsageError, match="stands in this ledger, and it does not"):
        both(session).free_answer([forged])
    assert len(session.ledger.events()) == before
    assert both(session).free_answer().value("n") < 100


def test_one_of_another_ledger_is_no_proof_and_the_ledger_says_so(session) -> None:
    """A certificate alone shows that it agrees with itself; the answer is worth what it is."""
    made_up = pa.table({"sex": ["f"] * 500, "age": [3] * 500})
    other = tc.Session(made_up, tc.one_row_each, tc.epsilon(1), name="p")
    counted = other.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon=1)
    found = both(session).free_answer([counted.certificate])
    assert found.value("n") > 400  # of the least error, whoever made it
    assert not found.certificate.verify(session.ledger)
    assert all(event.event != "part" for event in session.ledger.events())


def test_whether_there_is_an_answer_and_its_error_do_not_depend_on_rows() -> None:
    """Neither a row more, nor a hostile one, nor none at all: what is free is decided publicly."""
    told = []
    hostile = {"sex": ["f", None, "x" * 70000], "age": [None, 2**62, -(2**62)]}
    for rows in ({"sex": ["f"], "age": [31]}, {"sex": [], "age": []}, hostile):
        typed = pa.table({"sex": pa.array(rows["sex"], "string"), "age": pa.array(rows["age"])})
        typed = typed.cast(pa.schema([("sex", pa.string()), ("age", pa.int64())]))
        session = tc.Session(typed, tc.one_row_each, tc.epsilon(1), name="p")
        assert both(session).free_answer() is None
        session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
        assert session.filter(tc.col("sex") == "x").agg(n=tc.count()).free_answer() is None
        found = both(session).free_answer()
        told.append(
            (found.column("n")["standard_error"], len(session.ledger.events()), session.spent)
        )
    assert told[0] == told[1] == told[2]


def test_an_edited_ledger_is_found_by_whoever_verifies_the_answer(tmp_path) -> None:
    """Who may write to a ledger is trusted; what they change is seen by whoever verifies."""
    people = pa.table({"sex": ["f", "m", "f"]})

    def opened():
        place = tmp_path / "p.ledger"
        return tc.Session(people, tc.one_row_each, tc.epsilon(1), name="p", ledger=place)

    with opened() as session:
        session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/4")
    with closing(sqlite3.connect(tmp_path / "p.ledger")) as file, file:
        where = "where body like '%\"answer\",%'"
        ((sequence, text),) = file.execute(f"select sequence, body from event {where}").fetchall()
        event = json.loads(text)
        event["body"]["answer"]["released"][0][0] += 1000
        changed = json.dumps(event, separators=(",", ":"))
        file.execute("update event set body = ? where sequence = ?", (changed, sequence))
    with opened() as session:
        certificate = both(session).free_answer().certificate
        assert not certificate.verify(session.ledger)
        assert not certificate.verify()
        with pytest.raises(VerificationError, match="was changed after it was written"):
            session.ledger.verify_chain()


def test_a_preview_says_that_the_answer_is_free(session) -> None:
    question = both(session)
    found = question.preview(epsilon="1/4")
    assert found.free == question.free_errors()
    assert "n: follows from earlier releases at no cost" in str(found)
    assert Preview.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert not session.filter(tc.col("age") > 50).agg(n=tc.count()).preview(epsilon="1/4").free
    written = found.to_json()
    del written["free"]  # as versions before wrote it
    assert Preview.from_json(written) == replace(found, free={})


def test_a_preview_of_means_does_not_read_the_history(session, monkeypatch) -> None:
    def read(self: object) -> list[object]:
        raise AssertionError("the whole ledger was read")

    monkeypatch.setattr(Ledger, "history", read)
    session.agg(a=tc.mean("age", 0, 99)).preview(epsilon=1)
    with pytest.raises(AssertionError, match="whole ledger"):
        both(session).preview(epsilon=1)


def test_a_preview_of_a_shared_table_neither_tells_nor_looks(session, monkeypatch) -> None:
    ada = PaidSession(session, on_account_of(session.ledger, "analyst:ada"), {})
    bob = PaidSession(session, on_account_of(session.ledger, "analyst:bob"), {})
    ada.group_by("sex", keys=["f", "m"]).agg(n=tc.count()).release(epsilon="1/8")
    assert both(ada).free_errors() is not None
    assert both(bob).free_errors() is None
    monkeypatch.setattr(Ledger, "history", None)  # it takes the longer, the more others asked
    for own in (ada, bob):
        assert both(own).preview(epsilon="1/4").free == {}
        assert own.plan([both(own)]).preview(epsilon="1/4").free == {}
