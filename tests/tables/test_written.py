"""The conditions of ``--where``: what is read means what it says, and nothing else is read."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.expressions.expression import col, literal, when
from tacit.report.text import condition_words
from tacit.tables.written import columns_of, computed, condition

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
        ("days_until(came, left) > 3", col("came").days_until(col("left")) > 3),
        ("substring(code, 2, 3) in ('a')", col("code").substring(2, 3).is_in(["a"])),
        ("clamp(cost, -1, 100) is missing", col("cost").clamp(-1, 100).is_null()),
        ("name like 'A%'", col("name").like("A%")),
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
