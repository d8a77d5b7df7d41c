"""Whom a session protects, as it is said."""

from __future__ import annotations

import copy
import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from tacit.accounting.ledger import on_account_of
from tacit.cli import run
from tacit.errors import BudgetError, DataSourceError, TacitError, UsageError
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.question import charge_of, check_release, recorded_answer
from tacit.tables.release.release import PlanRunner, ValidatedPlans
from tacit.tables.replan import of_certificate
from tacit.tables.session import PaidSession
from tacit.tables.statistics.moments import Estimate
from tacit.tables.steps import Basis, ProductsByGroup


def test_units_are_checked():
    assert tc.unit("p", rows=1).rows == 1
    assert tc.unit("p", rows=3).groups == 3
    assert tc.unit("p", rows=3, groups=9).groups == 9
    for wrong in ({"rows": 0}, {"rows": -1}, {"rows": 1.5}, {"groups": 0}, {"rows": 2**41}):
        with pytest.raises(TacitError):
            tc.unit("p", **wrong)
    with pytest.raises(UsageError, match="is named by text"):
        tc.unit(3)
    assert isinstance(tc.unit("p", rows=1), PersonUnit)


def test_a_person_column_alone_is_refused():
    with pytest.raises(UsageError, match=r"tc\.unit\('person', rows=5\), or rows=1 if each person"):
        tc.unit("person")
    assert tc.unit("person", rows=1).rows == 1
    assert tc.unit("person", 3).groups == 3


@pytest.mark.parametrize("column", ["", None, 3])
def test_a_person_column_has_a_name(column):
    for make in (tc.unit, PersonUnit):
        with pytest.raises(UsageError, match="text that is not empty"):
            make(column, 1)
    with pytest.raises(UsageError, match="text that is not empty"):
        tc.unit(column)


# An estimate lies within its own interval, also where the noise is large.


def rows(number: int) -> pd.DataFrame:
    place = np.arange(number)
    return pd.DataFrame({"person": place // 2, "x": place % 50, "g": place % 2, "hour": place % 9})


def assert_coherent(answer: Any) -> None:
    for label in answer.labels:
        column = answer.column(label)
        parts = (np.ravel(np.array(column[name], float)) for name in ("low", "value", "high"))
        for low, value, high in zip(*parts, strict=True):
            outside = low > value or value > high  # what is unknown is neither
            assert not outside, (label, low, value, high)


@pytest.mark.few(6)
@pytest.mark.parametrize("epsilon", ["1/1000", 1, 100])
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=3)])
def test_every_estimate_is_in_its_interval(epsilon: Any, unit: Any) -> None:
    """A count of 976 stood beside 976.084 to 976.683, and one of -18,790 beside 0 to 11,168."""
    asked = {
        "n": tc.count(),
        "p": tc.count_people(),
        "s": tc.sum("x", -5, 50),
        "m": tc.mean("x", 0, 50),
        "v": tc.var("x", 0, 50),
        "d": tc.std("x", 0, 50),
        "q": tc.median("x", 0, 50),
        "h": tc.histogram("x", [0, 20, 50]),
    }
    with tc.Session(rows(31), unit=unit, budget=tc.epsilon(10**4)) as session:
        question = session.group_by("g", keys=[0, 1, 2]).agg(**asked)
        for tag in range(6):
            answer = question.release(epsilon=epsilon, tag=str(tag))
            assert_coherent(answer)
        whole = [answer.column(label) for label in ("n", "p", "h")]
        for column in whole:
            ends = [column[name] for name in ("low", "value", "high")]
            assert all(type(end) is int for end in np.ravel(np.array(ends, object)).tolist())


def test_counts_over_time_are_in_their_intervals() -> None:
    with tc.Session(rows(9), unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        counter = session.count_over_time("hour", start=0, every=1, periods=60, epsilon="1/50")
        assert_coherent(counter.update(now=60))


def test_an_interval_only_grows_and_what_is_unknown_stays_so() -> None:
    """Hence coverage does not fall."""
    nan = np.nan
    value, low, high = [-3.0, 5.0, 2.0, nan], [0, 4, nan, nan], [0, 6, nan, nan]
    made = Estimate(*map(np.array, (value, [1.0] * 4, low, high)))
    found = made.coherent()
    assert found.value.tolist()[:3] == [-3.0, 5.0, 2.0]
    assert found.lower.tolist()[:2] == [-3.0, 4.0]
    assert found.upper.tolist()[:2] == [0.0, 6.0]
    assert np.isnan(found.lower[2:]).all()
    assert np.isnan(found.upper[2:]).all()


# Previews, answers and certificates say in their first line whom they protect.


UNITS = [
    (tc.one_row_each, "protects: each row, which stands for one person"),
    (tc.unit("who", rows=1), "protects: each person (column who), at most 1 row"),
    (
        tc.unit("who", rows=5, groups=2),
        "protects: each person (column who), at most 5 rows, present in at most 2 groups",
    ),
]
TABLE = pa.table({"who": [1, 1, 2], "x": [1, 2, 3]})


@pytest.mark.parametrize(("unit", "line"), UNITS, ids=str)
def test_in_python(unit, line):
    with tc.Session(TABLE, unit=unit, budget=tc.epsilon(3), name="three") as session:
        question = session.agg(n=tc.count())
        preview, answer = question.preview(epsilon=1), question.release(epsilon=1)
        counter = session.count_over_time("x", start=0, every=1, periods=3, epsilon=1)
        shown = [preview, answer, answer.certificate, counter.preview(), counter.update(now=3)]
        assert [str(each).splitlines()[0] for each in shown] == [line] * len(shown)
        assert line in repr(answer)


def test_a_frame_without_a_name_is_told():
    for name in ("three", None):
        with tc.Session(TABLE, unit=tc.one_row_each, budget=tc.epsilon(1), name=name) as session:
            shown = str(session.agg(n=tc.count()).preview(epsilon=1))
            assert ("has no name of its own" in shown) is (name is None)
            assert ("a table without a name" in repr(session)) is (name is None)


@pytest.mark.full
def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("who,age\n1,31\n2,45\n")
    table = "people.csv --types age=integer --who".replace("--who", "--person who --rows 2")
    line = "protects: each person (column who), at most 2 rows"
    over = f"{table} --time age --start 0 --every 50 --periods 2 --now 50 --ledger t.ledger"
    for words in (
        f"preview {table} --count --epsilon 1",
        f"release {table} --count --epsilon 1",
        f"count-over-time {over} --epsilon 1 --preview",
        f"count-over-time {over} --epsilon 1",
    ):
        assert run(words.split()) == 0
        assert capsys.readouterr().out.splitlines()[0] == line
    assert run(f"release {table} --count --epsilon 1 --json".split()) == 0
    told = json.loads(capsys.readouterr().out)["releases"][0]["protects"]
    assert told == {"column": "who", "rows": 2, "groups": 2}


# A question to a session: tried, paid, released, looked up.


@pytest.fixture
def session() -> tc.Session:
    rows = pa.table({"person": [1, 2, 3], "age": [20, 30, 40]})
    return tc.Session(rows, tc.unit("person", rows=2), tc.epsilon(1), tc.in_memory)


def test_what_is_tried_on_no_rows_is_refused_and_costs_nothing(
    session: tc.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = session.agg(n=tc.count())
    check_release(question, charge_of(question, epsilon="1/2"))
    with pytest.raises(BudgetError):
        check_release(question, charge_of(question, epsilon=2))
    with pytest.raises(UsageError):
        check_release(question, charge_of(question))

    def refuse(*_: object) -> None:
        raise DataSourceError("no such column")

    monkeypatch.setattr(ValidatedPlans, "check", refuse)
    for ask in (
        lambda **price: check_release(question, charge_of(question, **price)),
        question.release,
    ):
        with pytest.raises(DataSourceError, match="no such column; nothing was spent"):
            ask(epsilon="1/2")
    assert session.spent.is_nothing


def test_what_is_paid_is_released_later_under_that_charge(session: tc.Session) -> None:
    question = session.agg(n=tc.count())
    charge_of(question, epsilon="1/2").pay()
    charge_of(question, epsilon="1/2").pay()
    assert session.spent == tc.epsilon("1/2")
    assert (
        charge_of(question, epsilon="1/2").look().is_charged,
        question.is_answered(epsilon="1/2"),
    ) == (
        True,
        False,
    )
    check_release(question, charge_of(question, epsilon="1/2"))
    assert recorded_answer(question, charge_of(question, epsilon="1/2")) is None
    answer = question.release(epsilon="1/2")
    assert session.spent == tc.epsilon("1/2")
    with pytest.raises(BudgetError):
        charge_of(question, epsilon=1).pay()
    found = recorded_answer(question, charge_of(question, epsilon="1/2"))
    assert found is not None
    assert (found.to_dict(), found.replayed) == (answer.to_dict(), True)
    assert recorded_answer(question, charge_of(question, epsilon="1/2", tag="other")) is None


def test_what_is_recorded_is_looked_up_without_the_table(
    session: tc.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = session.agg(n=tc.count())
    answer = question.release(epsilon="1/2")

    def read(*_: Any) -> None:
        raise AssertionError("the table was read")

    monkeypatch.setattr(PlanRunner, "collect", read)
    monkeypatch.setattr(ValidatedPlans, "check", read)
    found = recorded_answer(question, charge_of(question, epsilon="1/2"))
    assert found is not None
    assert found.value("n") == answer.value("n")


def test_a_key_is_of_the_question_and_its_price(session: tc.Session) -> None:
    count, ages = session.agg(n=tc.count()), session.agg(age=tc.mean("age", 0, 99))
    keys = {
        charge_of(count, epsilon=1).key,
        charge_of(count, epsilon="1/2").key,
        charge_of(count, epsilon=1, tag="may").key,
        charge_of(ages, epsilon=1).key,
    }
    assert len(keys) == 4
    assert charge_of(session.agg(n=tc.count()), epsilon="2/2").key in keys


def test_on_account_of_somebody_the_balance_is_that_of_the_charge(session: tc.Session) -> None:
    ada = PaidSession(session, on_account_of(session.ledger, "analyst:ada"), {})
    question = ada.agg(n=tc.count())
    charge_of(question, epsilon="1/2").pay()
    session.agg(n=tc.count()).release(epsilon="1/4")
    certificate = question.release(epsilon="1/2").certificate
    assert certificate.body["spent"]["remaining"] == tc.epsilon("1/2").to_json()
    assert certificate.verify(session.ledger)
    own = session.agg(n=tc.count_people()).release(epsilon="1/8").certificate
    assert own.body["spent"]["remaining"] == session.remaining.to_json()


# A release planned again from its certificate: the same, and nothing that it claims is run.


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


# The coordinates of sums of products: their exact sensitivity, and what they decode to.


CASES = [
    ((1, 1), (), True),
    ((1, 1), (0, 1), True),
    ((2, 3), (0, 1), True),
    ((4, 2), (1,), True),
    ((2, 2), (0, 1), False),
    ((3, 2), (1,), False),
    ((2, 1, 2), (1, 2), True),
    ((1, 2, 2), (1, 2), False),
    ((1, 1, 1, 1), (1, 2, 3), True),
    ((1, 1, 1, 1, 1), (1, 2, 3, 4), False),
]


def rows_of(cells):
    return list(itertools.product(*(range(n + 1) for n in cells)))


def offsets(basis, rows):
    """What the engine adds up, by its definition."""
    sums = [len(rows)]
    for factors in basis.products:
        sums.append(sum(int(np.prod([row[i] for i in factors], dtype=object)) for row in rows))
    return [sums]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_sensitivity_is_the_largest_that_any_row_adds(case):
    """Every neighbour: a row that comes or goes, of all rows that there can be."""
    basis = Basis(*case)
    moved = [basis.vector(offsets(basis, [row])) for row in rows_of(basis.cells)]
    in_l1 = max(sum(abs(Fraction(x, basis.unit)) for x in vector) for vector in moved)
    in_l2 = max(sum(Fraction(x, basis.unit) ** 2 for x in vector) for vector in moved)
    assert in_l1 == basis.sensitivity("L1")
    assert in_l2 <= basis.sensitivity("L2") ** 2 <= in_l2 * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_rows_move_the_vector_by_no_more_than_twice_that(case):
    basis = Basis(*case)
    rows = rows_of(basis.cells)[::3]
    for two in itertools.combinations_with_replacement(rows, 2):
        moved = basis.vector(offsets(basis, list(two)))
        assert sum(abs(x) for x in moved) <= 2 * basis.sensitivity("L1") * basis.unit
        assert sum(x * x for x in moved) <= (2 * basis.sensitivity("L2") * basis.unit) ** 2


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_coordinates_decode_to_the_sums_of_products(case):
    basis = Basis(*case)
    rows = rows_of(basis.cells)[1:]
    s = 2 * np.array(rows) / np.array(basis.cells) - 1
    found = basis.decoding @ (np.array(basis.vector(offsets(basis, rows))) / basis.unit)
    expected = [np.prod(s[:, list(factors)], axis=1).sum() for factors in basis.monomials]
    assert found == pytest.approx(expected, abs=1e-12)


def test_corners_have_less_noise_under_l1_for_a_few_columns():
    for m in range(2, 9):
        cells, squares = (2,) * m, tuple(range(1, m))
        errors = {}
        for corners in [False, *([True] if m <= 4 else [])]:
            basis = Basis(cells, squares, corners)
            product = basis.decoding[basis.monomials.index((0, 1))]
            errors[corners] = float(basis.sensitivity("L1")) * np.sqrt((product**2).sum())
        chosen = Basis.smallest(cells, squares, "L1").corners
        assert errors[chosen] == min(errors.values())


def test_rows_that_are_spread_evenly_have_the_sums_of_a_fine_grid():
    basis = Basis((400, 400), (0, 1), corners=True)
    s = (np.arange(400) + 0.5) / 200 - 1
    x, y = (each.ravel() for each in np.meshgrid(s, s))
    sums = basis.decoding @ basis.even(160_000.0)
    expected = [160_000, 0, 0, 0, (x**2).sum(), (y**2).sum()]
    assert sums == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": ("x",), "bounds": (("0", "1"),), "cells": (4,)},
        {"cells": (4, 0)},
        {"squares": (2,)},
        {"squares": (0, 0)},
        {"columns": tuple("abcde"), "bounds": (("0", "1"),) * 5, "cells": (1,) * 5},
        {
            "columns": tuple("abcdefghijklmn"),
            "bounds": (("0", "1"),) * 14,
            "cells": (1,) * 14,
            "corners": False,
        },
    ],
    ids=str,
)
def test_a_step_that_fits_no_columns_is_refused(wrong):
    right = {
        "columns": ("x", "y"),
        "bounds": (("0", "1"), ("0", "1")),
        "cells": (4, 4),
        "squares": (),
        "corners": True,
    }
    with pytest.raises(UsageError):
        ProductsByGroup(size=4, norm="L1", **{**right, **wrong}).basis  # noqa: B018
