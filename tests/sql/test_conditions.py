"""WHERE keeps the rows that SQL keeps: DuckDB runs the same conditions on tables full of NULLs."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UnsupportedQueryError
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.sql import row_functions
from tacit.sql.conditions import conjuncts
from tacit.sql.forms import truth, value
from tacit.sql.parse import parse
from tacit.sql.scope import Scope
from tacit.tables.engines.duckdb.dialect import DUCKDB

KINDS = {"a": "BIGINT", "b": "DOUBLE", "t": "VARCHAR", "f": "BOOLEAN"}
SCHEMA = Schema(
    [
        Column("a", "integer", "BIGINT"),
        Column("b", "float", "DOUBLE"),
        Column("t", "text", "VARCHAR"),
        Column("f", "boolean", "BOOLEAN"),
    ]
)


class _Rows:
    """The rows of a table, where nothing is asked but what names stand for."""

    schema = SCHEMA


def rows() -> Scope:
    question: Any = _Rows()
    return Scope(question, {"r": {name: col(name) for name in SCHEMA}})


def where(text: str) -> Any:
    return truth(parse(f"select count(*) from r where {text}").args["where"].this, rows())


NUMBERS = st.sampled_from(
    [
        *("a", "b", "0", "1", "2.5", "-1", "null", "a + b", "a - 1", "b * 2", "-a", "abs(b)"),
        *("coalesce(a, b)", "nullif(a, 1)", "greatest(a, 1)", "least(b, a)"),
        *("least(greatest(b, 0), 2)", "if(f, a, b)", "case when a > 1 then b else a end"),
        *("case a when 1 then 5 end", "length(t)", "cast(f as integer)", "cast(a as double)"),
        *("case when f then 1 end", "a % 3", "mod(a, 2)", "floor(b)", "ceil(b)", "round(b)"),
        *("cast(round(b) as integer)", "case when contains(t, 'y') then 1 else 0 end"),
        *("length(substring(t, 2, 1))", "length(trim(t))"),
    ]
)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
LEAVES = st.one_of(
    st.builds("({} {} {})".format, NUMBERS, SIGNS, NUMBERS),
    st.builds("({} is {})".format, NUMBERS, st.sampled_from(["null", "not null"])),
    st.builds("({} {}between {} and {})".format, NUMBERS, st.sampled_from(["", "not "]), NUMBERS,
              NUMBERS),
    st.builds("({} {}in ({}))".format, NUMBERS, st.sampled_from(["", "not "]),
              st.sampled_from(["1", "0, 2.5", "-1, 1, 3"])),
    st.builds("({} is {}distinct from {})".format, NUMBERS, st.sampled_from(["", "not "]), NUMBERS),
    st.builds("(t {}like {})".format, st.sampled_from(["", "not "]),
              st.sampled_from(["'x%'", "'%'", "'xy'", "''", "'X%'", "'%y'", "'_'", "'x_%'"])),
    st.sampled_from(["f", "(f = true)", "(t = 'x')", "(t <> 'x')", "(t in ('x', ''))", "true",
                     "(lower(t) = 'x')", "(starts_with(t, 'x'))", "(coalesce(f, true))",
                     "(f is true)", "(f is not true)", "(f is null)", "(t is not null)",
                     "((a > 1) is null)", "((a > 1) = (b > 1))", "(ends_with(t, 'y'))",
                     "(upper(t) = 'X')", "(left(t, 1) = 'x')",
                     "(cast(a as text) = '1')", "(nullif(t, 'x') = 'xy')"]),
)  # fmt: skip
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("(not {})".format, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("({} is {})".format, inner, st.sampled_from(["true", "not true", "false"])),
        st.builds("(case when {} then 1 else 0 end = 1)".format, inner),
    ),
    max_leaves=6,
)
A = [None, -1, 0, 1, 2, 7]
B = [None, -1.0, 0.0, 1.0, 2.5]
T = [None, "", "x", "xy", "X", "yx"]
F = [None, True, False]
TABLE = [
    {"a": a, "b": b, "t": T[(i * 5 + j) % 6], "f": F[(i + 2 * j) % 3]}
    for i, a in enumerate(A)
    for j, b in enumerate(B)
]


@pytest.fixture(scope="module")
def engine() -> Any:
    connection = duckdb.connect()
    listed = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
    connection.execute(f"create table r (place BIGINT, {listed})")
    for place, row in enumerate(TABLE):
        connection.execute("insert into r values (?, ?, ?, ?, ?)", [place, *row.values()])
    return connection


@examples(1)
@given(text=CONDITIONS)
def test_a_condition_is_true_and_false_where_sql_says_so(engine: Any, text: str) -> None:
    found = where(text)
    found.true.sql(SCHEMA, DUCKDB)
    asked = engine.execute(f"select ({text})::boolean from r order by place").fetchall()
    for row, (said,) in zip(TABLE, asked, strict=True):
        assert bool(found.true.evaluate(row)) is (said is True), (text, row)
        assert bool(found.false.evaluate(row)) is (said is False), (text, row)


DAYS = [None, *(datetime.datetime(2023, 12, 30, 7) + datetime.timedelta(i, 5000 * i)
                for i in range(0, 800, 37))]  # fmt: skip
PARTS = [
    *(f"{part}(w)" for part in ("year", "quarter", "month", "day", "dayofyear", "hour")),
    *(f"{part}(w)" for part in ("minute", "second", "isodow", "dayofweek", "weekday")),
    *(f"extract({part} from w)" for part in row_functions.PARTS),
    *("date_part('dow', w)", "date_diff('day', date '2024-02-29', w)"),
    "cast(w as date) - date '2024-02-29'",
]


@pytest.mark.parametrize("text", PARTS)
def test_a_part_of_a_date_is_what_sql_computes(engine: Any, text: str) -> None:
    engine.execute("create or replace table d (place BIGINT, w TIMESTAMP)")
    engine.executemany("insert into d values (?, ?)", [list(each) for each in enumerate(DAYS)])
    names = rows()
    names.question.schema = Schema([Column("w", "date", "TIMESTAMP")])
    names.tables = {"d": {"w": col("w")}}
    found = value(parse(f"select {text} from d").expressions[0], names)
    asked = engine.execute(f"select ({text})::bigint from d order by place").fetchall()
    for at, (said,) in zip(DAYS, asked, strict=True):
        assert found.evaluate({"w": at}) == said, (text, at)


@examples(1)
@given(text=NUMBERS)
def test_a_value_is_what_sql_computes(engine: Any, text: str) -> None:
    found = value(parse(f"select {text} from r").expressions[0], rows())
    asked = engine.execute(f"select ({text})::double from r order by place").fetchall()
    for row, (said,) in zip(TABLE, asked, strict=True):
        assert found.evaluate(row) == said, (text, row)


def test_conjuncts_stand_in_their_order() -> None:
    tree = parse("select 1 from r where a = 1 and (b = 2 and (f or t = 'x')) and b = 3")
    found = [str(truth(each, rows()).true) for each in conjuncts(tree.args["where"].this)]
    assert found == ["(a == 1)", "(b == 2)", "(f | (t == 'x'))", "(b == 3)"]


def test_buckets_are_those_of_postgresql() -> None:
    """width_bucket of PostgreSQL: 0 below, n + 1 from the upper bound on, NULL of NULL."""
    found = value(parse("select width_bucket(a, 0, 10, 5) from r").expressions[0], rows())
    given_, wanted = [-1, 0, 1.9, 2, 9.9, 10, 99, None], [0, 1, 1, 2, 5, 6, 6, None]
    assert [found.evaluate({"a": each}) for each in given_] == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a in (1, null)", "NOT IN"),
        ("a in (b)", "constants"),
        ("t < 'x'", "needs a value of kind"),
        ("t like t", "fixed text"),
        ("t ilike 'x'", "lower"),
        ("a = 'x'", "side by side"),
        ("a", "neither"),
        ("a // 2 = 1", "divides"),
        ("t || 'x' = 'y'", "joined"),
        ("random() < 1", "noise"),
        ("now() > '2024-01-01'", "no function 'now'"),
        ("current_date = '2024-01-01'", "present"),
        ("a = any(select 1)", "ANY"),
        ("exists (select 1)", "EXISTS"),
        ("a in (select 1)", "query"),
        ("count(*) > 1", "HAVING"),
        ("cast(b as integer) = 1", "rounded"),
        ("cast(b as float) = 1", "cast"),
        ("a = $1", "placeholders"),
        ("a = ?", "placeholders"),
        ("a[1] = 1", "BRACKET"),
        ("regexp_matches(t, 'x')", "expressions"),
        ("width_bucket(a, 5, 1, 3) = 1", "rise"),
        ("clamp(a, b, 3) = 1", "numbers"),
        ("a = 1e400", "too large"),
        ("nothing = 1", "no column 'nothing'"),
        ("q.a = 1", "no table 'q'"),
        ('"A" = 1', "no column 'A'"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=reason) as caught:
        where(text)
    assert caught.value.position[0] == 1
    assert caught.value.position[1] >= len("select count(*) from r where ")
