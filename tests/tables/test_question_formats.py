"""The conditions of ``--where``: what is read means what it says, and nothing else is read."""

from __future__ import annotations

import contextlib
import datetime
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.cli import run
from tacit.errors import UsageError
from tacit.expressions.expression import col, literal, when
from tacit.report.text import condition_words
from tacit.tables.question_formats import (
    JoinText,
    columns_of,
    computed,
    condition,
    join_text,
    read_question,
    statistic,
)

ROWS: list[dict[str, Any]] = [
    {"age": age, "sex": sex, "ok": ok, "odd name": age}
    for age in (None, -1, 0, 17, 18, 64, 65)
    for sex in (None, "f", "m", "it's")
    for ok in (True, False)
]


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("age >= 18", lambda r: r["age"] is not None and r["age"] >= 18),
        ("18 <= age", lambda r: r["age"] is not None and r["age"] >= 18),
        ("age = -1", lambda r: r["age"] == -1),
        ("age == 1.8e1", lambda r: r["age"] == 18),
        ("age <> 18", lambda r: r["age"] is not None and r["age"] != 18),
        ("not age < 18", lambda r: not (r["age"] is not None and r["age"] < 18)),
        ("not not ok", lambda r: r["ok"]),
        ("sex = 'it''s'", lambda r: r["sex"] == "it's"),
        ('sex = "it\'s"', lambda r: r["sex"] == "it's"),
        ("sex in ('f', 'm')", lambda r: r["sex"] in ("f", "m")),
        ("sex not in ('f', 'm')", lambda r: r["sex"] not in ("f", "m")),
        ("age is missing", lambda r: r["age"] is None),
        ("age is not null", lambda r: r["age"] is not None),
        ("age between 18 and 64", lambda r: r["age"] is not None and 18 <= r["age"] <= 64),
        ("`odd name` > 64", lambda r: r["age"] is not None and r["age"] > 64),
        ("ok = true", lambda r: r["ok"]),
        ("age + 1 > 18 - -1", lambda r: r["age"] is not None and r["age"] + 1 > 19),
        ("(age + 1) * 2 = 38", lambda r: r["age"] == 18),
        ("age - 1 - 1 = 16", lambda r: r["age"] == 18),
        ("age-1=17", lambda r: r["age"] == 18),
        ("18 / age / 2 = .5", lambda r: r["age"] == 18),
        ("-age = -18", lambda r: r["age"] == 18),
        ("sex like '_''%'", lambda r: False),
        ("sex not like '%s'", lambda r: r["sex"] != "it's"),
        ("length(sex) = 1", lambda r: r["sex"] in ("f", "m")),
        ("fill(age, -1) < 0", lambda r: r["age"] is None or r["age"] < 0),
        ("when(ok, age, missing) > 17", lambda r: r["ok"] and (r["age"] or 0) > 17),
        ("cut(age, 0, 18, 65) = '[18, 65]'", lambda r: 18 <= (r["age"] or 0) <= 65),
        ("clamp(age, 0, 17.5) = 17.5", lambda r: (r["age"] or 0) > 17),
        (
            "ok or age > 64 and sex = 'f'",
            lambda r: r["ok"] or ((r["age"] or 0) > 64 and r["sex"] == "f"),
        ),
        (
            "(ok or age > 64) AND sex = 'f'",
            lambda r: (r["ok"] or (r["age"] or 0) > 64) and r["sex"] == "f",
        ),
    ],
)
def test_meaning(text: str, means: Any) -> None:
    read = condition(text)
    for row in ROWS:
        assert bool(read.evaluate(row)) == means(row), row


@pytest.mark.parametrize(
    "text", ["age > {}", "{} <= age", "age between {} and {}", "sex = 'x' and age<{}"]
)
def test_a_day_without_quotes_is_no_subtraction(text: str) -> None:
    """The rows after 2021 were counted: 0, and charged."""
    with pytest.raises(UsageError, match="write a day as '2024-02-01'"):
        condition(text.format(*["2024-02-01"] * 2))
    assert condition(text.format(*["'2024-02-01'"] * 2)).columns()
    assert condition(text.format(*["2024 - 02 - 01"] * 2)).columns()


@pytest.mark.parametrize(
    "text",
    [
        "", "age", "age >", ">= 18", "age >= 18 and", "age >= 18 18", "(age > 1", "age > 1)",
        "age in 1", "age in ()", "age between 1", "age is 3", "age ! 3", "1 < age < 3",
        "__import__('os').system('true')", "age; drop table people", "age > 1 -- x",
        "age > 'x", "not", "and", "age > lambda: 1", "age + > 2", "(" * 60 + "age > 1" + ")" * 60,
        "age = 1" + " or age = 1" * 2000, "age = missing", "system(age)", "clamp(age, 0) > 1",
        "clamp(age, age, 9) > 1", "like(sex, 1)", "sex like age", "age ** 2 > 1", "age(1) > 1",
        "hour(age", "hour() = 1", "cut(age) = 'x'", "-" * 200 + "age > 1",
        "abs(" * 60 + "age" + ")" * 60 + " > 1", "1" + " + age" * 400 + " > 1", "age /* x */ > 1",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text: str) -> None:
    if text == "age":  # a column alone may be true or false: its kind is checked at the table
        assert condition(text).columns() == {"age"}
        return
    with pytest.raises(UsageError):
        condition(text)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("age = -1", col("age") == -1),
        ("age = 1 - -2", col("age") == literal(1) - -2),
        ("-cost > 0", -col("cost") > 0),
        ("(cost * 2 - 50) / 4 < 1e2", (col("cost") * 2 - 50) / 4 < 100.0),
        ("days_until(came, left) > 3", col("came").dt.days_until(col("left")) > 3),
        ("substring(code, 2, 3) in ('a')", col("code").str.slice(1, 3).is_in(["a"])),
        ("clamp(cost, -1, 100) is missing", col("cost").clip(-1, 100).is_null()),
        ("name like 'A%'", col("name").str.like("A%")),
        ("name like `x`", None),
    ],
)
def test_what_is_read_is_what_python_writes(text: str, python: Any) -> None:
    if python is None:
        with pytest.raises(UsageError, match="a text in quotes is expected"):
            condition(text)
        return
    assert condition(text).to_json() == python.to_json()


def test_a_column_has_a_name_and_an_expression() -> None:
    texts = ["`odd name` = cost*2", "young = age < 18", "pay = when(age >= 18, cost, missing)"]
    found = columns_of(texts)
    assert list(found) == ["odd name", "young", "pay"]
    assert found["young"].to_json() == computed("age < 18").to_json() == (col("age") < 18).to_json()
    chosen = when(col("age") >= 18).then(col("cost")).otherwise(None)
    assert found["pay"].to_json() == chosen.to_json()
    for text in ("", "x", "x =", "= 3", "x == 3", "3 = x", "x = 1; y = 2", "x = y = missing"):
        with pytest.raises(UsageError, match="the column"):
            columns_of([text])
    with pytest.raises(UsageError, match="'x' is given twice"):
        columns_of(["x = 1", "x = 2"])


@given(st.text(alphabet="age sx'\"<>=!()`,.0123-+eandornotis", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (condition, computed):
        with contextlib.suppress(UsageError):
            read(text)


@pytest.mark.parametrize(
    "text",
    [
        "age >= 18 and not sex is missing",
        "(ok or age > 64) and sex == 'f'",
        "not (ok and age > 3)",
        "sex in ('f', 'm') or age != 3",
    ],
)
def test_the_page_writes_what_was_read(text: str) -> None:
    assert condition_words(condition(text)) == text
    again = condition(condition_words(condition(text)))
    assert again.to_json() == condition(text).to_json()


def test_a_day_is_written_as_in_sql() -> None:
    since = condition("day >= date '2024-06-01' and not day = DATE '2024-06-03'")
    days = [datetime.date(2024, 6, day) for day in (1, 2, 3)]
    assert [since.evaluate({"day": day}) for day in days] == [True, True, False]
    assert str(condition("date >= 3")) == "(date >= 3)"  # a column of that name
    with pytest.raises(UsageError, match="at character 13, which is not a day"):
        condition("day >= date '2024-06'")


# The fields of a question: what they say, and what they refuse.


N = {"n": {"statistic": "count"}}
MEAN = {"age": {"statistic": "mean", "column": "age"}}


def test_all_that_a_question_can_say() -> None:
    asked = read_question(
        {
            "join": "sites on site",
            "with": {"double": "age * 2"},
            "where": "age >= 18",
            "cut": {"band": {"column": "age", "edges": [0, 18, 65]}},
            "by": ["band", "site"],
            "keys": {"site": [1, 2]},
            "answers": {**N, **MEAN},
            "epsilon": {"n": 1, "age": 3},
            "total": "1/2",
            "tag": "may",
        },
        declared=True,
    )
    assert list(asked.aggregates) == ["n", "age"]
    assert [join.table for join in asked.joins] == ["sites"]
    assert (list(asked.derived), list(asked.cuts), asked.by) == (
        ["double"],
        ["band"],
        ("band", "site"),
    )
    assert asked.keys == {"site": [1, 2]}
    assert asked.price == {
        "epsilon": {"n": 1, "age": 3},
        "delta": None,
        "rho": None,
        "total": "1/2",
        "tag": "may",
    }
    assert asked.tag == "may"
    loss = asked.loss()
    assert loss is not None
    assert loss.amount == Fraction(1, 2)


def test_a_table_of_people() -> None:
    asked = read_question(
        {
            "per_person": {"total": {"statistic": "sum", "column": "cost"}},
            "where_person": "total > 10",
            "answers": N,
        },
        declared=False,
    )
    assert list(asked.per_person) == ["total"]
    assert len(asked.where_person) == 1


def test_keys_that_stand_elsewhere_are_read_for_the_columns() -> None:
    asked = read_question({"by": "site", "answers": N}, True, lambda by: [*by, "read"])
    assert asked.keys == ["site", "read"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"sql": 3}, "sql in .* must be text"),
        ({"sql": "select 1", "answers": N}, "leave answers out"),
        ({"answers": []}, "answers"),
        ({"answers": N, "where": ["a"]}, "where in .* must be text"),
        ({"answers": N, "by": 3}, "by must be a text or a list"),
        ({"answers": N, "keys": [1]}, "keys are the values of a grouping column"),
        ({"answers": N, "cut": {"band": {"column": "age"}}}, "the cut 'band' must be like"),
        ({"answers": N, "total": "1/2"}, "weights with a total: epsilon = { n = 1,"),
        ({"answers": {"n": {"statistic": "mean"}}}, "lacks column$"),
        ({"answers": {"n": {"statistic": "histogram", "column": "a", "edges": 3}}}, "edges"),
        ({"answers": {"n": {"statistic": "hist"}}}, "asks 'hist'; did you mean 'histogram'"),
        ({"answers": {"n": {"statistic": "average"}}}, "asks 'average'; did you mean 'mean'"),
        ({"answers": {"n": {"statistic": "count", "colum": "a"}}}, "has a field 'colum'"),
    ],
)
def test_what_is_no_question(fields: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_question(fields, declared=True)


def test_keys_twice_and_sql_with_keys_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        read_question({"by": "a", "keys": [1], "answers": N}, True, lambda by: [])
    with pytest.raises(UsageError, match="leave keys_file out"):
        read_question({"sql": "select 1"}, True, lambda by: [])


def test_bounds_are_left_out_only_where_they_may_be_declared() -> None:
    assert statistic(MEAN["age"], "age", declared=True).lacks_bounds
    with pytest.raises(UsageError, match="lacks lower, upper"):
        statistic(MEAN["age"], "age")


# Joins on the command line and in plans are those of Python: the same question, paid for once.


DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 1 }
[tables.visits]
path = "visits.csv"
columns.person = { kind = "integer" }
columns.home = { kind = "integer" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.age = { kind = "integer", bounds = [0, 120] }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""
PLAN = """
source.path = "visits.toml"
[[question]]
join = ["left patients", "sites on home"]
by = ["region"]
epsilon = 0.5
answers.count = { statistic = "count" }
answers.mean_age = { statistic = "mean", column = "age" }
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("person,home\n1,1\n2,2\n2,3\n")
    (tmp_path / "patients.csv").write_text("id,age\n1,20\n2,35\n")
    (tmp_path / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (tmp_path / "visits.toml").write_text(DECLARED)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def printed(capsys: Any, *words: object) -> Any:
    assert run(list(map(str, words))) == 0
    return json.loads(capsys.readouterr().out)


def test_a_join_is_one_question_wherever_it_is_asked(clinic: Path, capsys: Any) -> None:
    joins = ("--join", "left patients", "--join", "sites on home")
    asked = ("--count", "--mean", "age", "--by", "region", "--epsilon", "0.5", "--json")
    first = printed(capsys, "release", clinic / "visits.toml", *joins, *asked)
    again = printed(capsys, "release", "--plan", clinic / "plan.toml", "--json")
    assert again["remaining"] == first["remaining"]
    with tc.open(clinic / "visits.toml") as session:
        rows = session.join("patients", how="left").join("sites", on="home")
        question = rows.group_by("region").agg(count=tc.count(), mean_age=tc.mean("age"))
        assert question.release(epsilon="1/2").replayed
        assert session.remaining == tc.epsilon("1/2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("patients", JoinText("patients")),
        ("  left patients ", JoinText("patients", None, "left")),
        ("inner my sites on home,year", JoinText("my sites", ("home", "year"), "inner")),
        ("left", JoinText("left")),
    ],
)
def test_a_join_is_read_as_sql_writes_it(text: str, said: JoinText) -> None:
    assert join_text(text) == said


@pytest.mark.parametrize("text", ["", "  ", "sites on a,,b"])
def test_what_is_no_join_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a join is the name of a table"):
        join_text(text)


# A written question becomes a question to a session.


@pytest.fixture
def session() -> tc.Session:
    rows = pa.table({"person": [1, 2, 3], "age": [20, 30, 40], "site": ["a", "b", "a"]})
    return tc.Session(rows, tc.unit("person", rows=2), tc.epsilon(1), tc.in_memory)


def question(session: tc.Session, **fields: object) -> tc.tables.Question:
    fields = {"answers": {"n": {"statistic": "count"}}, **fields}
    return read_question(fields, declared=True).question(session)


def test_it_is_the_question_of_the_methods(session: tc.Session) -> None:
    written = question(session, where="age >= 18", by="site", keys=["a", "b"])
    spoken = session.filter(tc.col("age") >= 18).agg(n=tc.count()).group_by("site", keys=["a", "b"])
    assert written.preview(epsilon=1) == spoken.preview(epsilon=1)
    assert written.release(epsilon=1).keys == spoken.release(epsilon=1).keys
    assert session.remaining.is_nothing


def test_people_are_made_before_they_are_filtered(session: tc.Session) -> None:
    most = {"statistic": "max", "column": "age", "lower": 0, "upper": 99}
    asked = question(session, per_person={"most": most}, where="age > 1", where_person="most > 3")
    spoken = session.filter(tc.col("age") > 1).per_person(most=tc.max("age", 0, 99))
    spoken = spoken.filter(tc.col("most") > 3).agg(n=tc.count())
    assert asked.release(epsilon=1).value("n") == spoken.release(epsilon=1).value("n")
    assert session.remaining.is_nothing


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answers": {}}, "nothing is asked"),
        ({"by": "site"}, "not known to be public"),
        ({"where_person": "age > 3"}, "one row per person"),
        ({"by": "agee", "keys": [1]}, "agee"),
    ],
)
def test_what_does_not_fit_is_refused(session: tc.Session, fields: object, told: str) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        question(session, **fields)  # type: ignore[arg-type]
    assert "--" not in str(raised.value)  # what is written in fields has no options


def test_numbers_with_fractions_are_no_groups() -> None:
    rows = pa.table({"pay": [1.5, 2.5]})
    session = tc.Session(rows, tc.one_row_each, tc.epsilon(1), tc.in_memory)
    with pytest.raises(UsageError, match="too many values to be groups"):
        question(session, by="pay")
    with pytest.raises(UsageError, match="group other numbers in bins"):
        question(session, by="pay", keys=[1.5])
    assert question(session, by="pay", keys=[1, 2])
