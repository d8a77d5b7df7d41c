"""Aggregates in SQL: what each asks, the bounds in its text, and what has no translation."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from house.project import ROOT, script
from sql.tables_and_queries import NUMBERS, SCHEMA, TABLE, opened, queries, rows
from support.examples import examples
from tacit.errors import UnsupportedQueryError
from tacit.expressions.expression import Expression, col
from tacit.expressions.schema import Column, Schema
from tacit.sql import aggregates
from tacit.sql import conditions as row_functions
from tacit.sql import values as forms
from tacit.sql.aggregates import (
    AGGREGATES,
    Scope,
    SqlAggregate,
    aggregate_of,
    columns_of,
    find,
    has_aggregate,
    own_name,
    plain_name,
)
from tacit.sql.conditions import conjuncts
from tacit.sql.parse import parse
from tacit.sql.values import truth, value
from tacit.tables.engines.duckdb.engine import DUCKDB


def node(text: str) -> Any:
    return parse(f"select {text} from r").expressions[0]


def asked(text: str) -> SqlAggregate:
    scope: Any = rows()
    scope.question.unit = type("Unit", (), {"columns": ("a",)})
    return aggregate_of(node(text), scope)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("count(*)", "count", None),
        ("count(b)", "sum", "..."),
        ("count(distinct A)", "count_people", None),
        ("count(distinct t)", "count_distinct", "t"),
        ("sum(b)", "sum", "b"),
        ("avg(b)", "mean", "b"),
        ("((avg(b)))", "mean", "b"),
        ("median(b)", "median", "b"),
        ("mad(b)", "mad", "b"),
        ("geomean(b)", "geometric_mean", "b"),
        ("Geometric_Mean(b)", "geometric_mean", "b"),
        ("min(clamp(b, 0, 9))", "min", "b"),
        ("max(clamp(b, 0, 9))", "max", "b"),
    ],
)
def test_an_aggregate_is_a_kind_of_answer(text: str, kind: str, value: str | None) -> None:
    result = asked(text)
    assert result.kind == kind
    if value is None:
        assert result.value is None
    elif value != "...":
        assert str(result.value) == value


def test_a_clamp_around_the_whole_is_the_bounds_as_they_are_written() -> None:
    result = asked("sum(clamp(b, -0.1, 1e2))")
    assert result.bounds == (Fraction(-1, 10), Fraction(100))
    assert (str(result.value), result.called) == ("b", "b")
    around = asked("sum(clamp(b, 0, 9) + 1)")
    assert around.bounds is None
    assert around.called == ""
    assert asked("sum((b))").bounds is None


def test_aggregates_that_ask_the_same_have_one_key() -> None:
    assert asked("sum(b)").key == asked("SUM( (B) )").key
    different = ["sum(b)", "avg(b)", "sum(a)", "sum(clamp(b, 0, 9))", "sum(clamp(b, 0, 8))"]
    assert len({asked(text).key for text in different}) == len(different)


def test_where_an_aggregate_stands_is_found_at_any_depth() -> None:
    assert has_aggregate(node("1 + (case when sum(b) > 1 then 2 end)"))
    assert not has_aggregate(node("1 + abs(b)"))
    assert {"Count", "Sum", "Avg"} <= set(AGGREGATES)


def test_a_value_has_the_name_of_its_column_or_none() -> None:
    assert own_name(node("r.b")) == "b"
    assert own_name(node("b + 1")) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("b", "one aggregate"),
        ("sum(b) over (partition by a)", "windows"),
        ("sum(distinct b)", "DISTINCT is allowed only in count"),
    ],
)
def test_what_is_no_aggregate_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=said):
        asked(text)


# The pages say what the code accepts: the grammar, and a hundred queries.


KINDS = {
    **dict.fromkeys(("cost", "age", "site", "weight"), "integer"),
    **dict.fromkeys(("day", "first", "last", "at"), "date"),
    "name": "text",
    "smokes": "boolean",
}
DECLARED = {"at": "TIMESTAMP"}


def tool() -> Any:
    return script("tools/make_sql_grammar.py")


def test_the_page_has_the_grammar_of_the_code() -> None:
    text = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    assert tool().page(text) == text, "run tools/make_sql_grammar.py"
    assert {form.part for form in forms.FORMS} == set(tool()._PARTS)


class _Rows:
    """The rows of a table, where nothing is asked but what names stand for."""

    unit = tc.unit("person", rows=1)
    schema = Schema(
        [
            *(Column(name, kind, DECLARED.get(name, kind.upper())) for name, kind in KINDS.items()),
            *(Column(name, "integer", "BIGINT") for name in ("person", "Cost")),
        ]
    )


def scope() -> Scope:
    question: Any = _Rows()
    columns: dict[str, Expression] = {name: col(name) for name in question.schema}
    del columns["Cost"]
    return Scope(question, {"visits": columns})


@pytest.mark.parametrize("form", forms.FORMS, ids=lambda form: form.example)
def test_what_the_grammar_lists_is_accepted(form: forms.Form) -> None:
    if form.part not in ("values", "functions", "conditions", "aggregates"):
        return  # clauses, tables and subqueries are run by the tests of those
    example = form.example.replace('"Cost"', '"cost"')
    for node in parse(f"select {example} from visits").expressions:
        if form.part == "aggregates":
            assert aggregates.aggregate_of(node, scope())
        elif form.part == "conditions":
            assert forms.truth(node, scope())
        else:
            assert scope().kind(forms.value(node, scope()))


def test_the_forms_do_not_depend_on_which_module_is_imported_first() -> None:
    counted = "from tacit.sql.values import VALUES, CONDITIONS; print(len(VALUES), len(CONDITIONS))"
    alone = subprocess.run(
        [sys.executable, "-c", counted], check=True, capture_output=True, text=True
    )
    assert alone.stdout.split() == [str(len(forms.VALUES)), str(len(forms.CONDITIONS))]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tc.Session]:
    with opened(tmp_path_factory.mktemp("hundred")) as result:
        yield result


def test_there_are_a_hundred_queries() -> None:
    assert len(queries()) >= 100
    assert len({query for query, _, _ in queries()}) == len(queries())


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("query", "outcome", "said"), queries(), ids=[query[:70] for query, _, _ in queries()]
)
def test_each_query_of_the_page(session: tc.Session, query: str, outcome: str, said: str) -> None:
    if outcome == "refused":
        with pytest.raises(UnsupportedQueryError) as caught:
            session.sql(query)
        assert caught.value.reason == said
        return
    asked = session.sql(query)
    delta = "1e-7" if "it takes a delta" in said else None
    assert asked.preview(epsilon=1, delta=delta).affordable
    assert all(note in said for note in asked.notes)


# Names in a query: quotes, capital letters, tables that share a column, times of day.


class Question:
    """The rows of a table, of which nothing is asked but their columns."""

    def __init__(self, schema: Schema = SCHEMA) -> None:
        self.schema = schema
        self.made: list[tuple[str, Any]] = []

    def with_columns(self, **columns: Any) -> Question:
        self.made += columns.items()
        return self

    def filter(self, condition: Any) -> Question:
        return self


def own_scope(*tables: str, schema: Schema = SCHEMA) -> Scope:
    question: Any = Question(schema)
    return Scope(question, {name: columns_of(question) for name in tables or ("r",)})


def identifier(text: str) -> Any:
    return node(text).this


def test_names_without_quotes_are_compared_in_small_letters_of_a_to_z() -> None:
    assert plain_name("ÄBc") == "Äbc"
    known = {"Age": 1, "pay": 2}
    assert find(identifier("AGE"), known, "column") == "Age"
    assert find(identifier('"Age"'), known, "column") == "Age"
    for said in ('"age"', "agee"):
        with pytest.raises(UnsupportedQueryError, match=r"there is no column .*'Age'"):
            find(identifier(said), known, "column")


def test_a_name_that_several_columns_have_is_written_in_quotes() -> None:
    known = {"age": 1, "AGE": 2}
    with pytest.raises(UnsupportedQueryError, match="in quotes"):
        find(identifier("Age"), known, "column")
    assert find(identifier('"AGE"'), known, "column") == "AGE"
    with pytest.raises(UnsupportedQueryError, match="in quotes"):
        find(identifier("age"), known, "column")


def test_a_column_of_two_tables_is_named_with_its_table() -> None:
    both = own_scope("v", "w")
    with pytest.raises(UnsupportedQueryError, match=r"write table\.a"):
        both.column(node("a"))
    assert both.column(node("W.a")).to_json() == col("a").to_json()
    with pytest.raises(UnsupportedQueryError, match="no table 'x'"):
        both.column(node("x.a"))
    with pytest.raises(UnsupportedQueryError, match="no column of 'v' 'q'"):
        both.column(node("v.q"))


@pytest.mark.parametrize(("text", "said"), [("r.*", "count"), ("s.r.a", "its table and its name")])
def test_what_names_no_column_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=said):
        own_scope().column(node(text))


def test_a_column_with_times_is_not_taken_for_its_days() -> None:
    schema = Schema([Column("at", "date", "TIMESTAMP"), Column("day", "date", "DATE")])
    rows = own_scope(schema=schema)
    with pytest.raises(UnsupportedQueryError, match="read as its days"):
        rows.column(node("at"))
    assert rows.column(node("at"), times=True).parameters == ("at",)
    assert rows.column(node("day")).parameters == ("day",)
    joined = own_scope(schema=Schema([Column("at", "date", "date")]))  # a join knows the kind alone
    assert joined.has_times(col("at"))
    assert not joined.has_times(col("at").dt.year())
    assert not joined.has_times(col("other"))


def test_a_value_is_named_once_and_by_its_expression_where_the_name_is_taken() -> None:
    rows = own_scope()
    made: Any = rows.question
    twice = col("a") * 2
    assert rows.name_of(col("b"), "wanted", node("b")) == "b"
    assert rows.name_of(twice, "twice", node("a")) == "twice"
    assert rows.name_of(col("a") * 2, "other", node("a")) == "twice"  # the same value again
    assert rows.name_of(col("a") + 1, "B", node("a")) == "(a + 1)"
    assert [name for name, _ in made.made] == ["twice", "(a + 1)"]


def test_other_names_are_of_the_same_rows() -> None:
    rows = own_scope()
    rows.filter(col("a") > 1, node("a"))
    again = rows.renamed({"s": {"x": col("a")}})
    assert again.column(node("s.x")).parameters == ("a",)
    assert len(again.conditions) == 1
    again.filter(col("a") > 2, node("a"))
    assert len(rows.conditions) == 1


# WHERE keeps the rows that SQL keeps: DuckDB runs the same conditions on tables full of NULLs.


def where(text: str) -> Any:
    return truth(parse(f"select count(*) from r where {text}").args["where"].this, rows())


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


@examples(1)
@given(text=CONDITIONS)
def test_a_condition_is_true_and_false_where_sql_says_so(engine: Any, text: str) -> None:
    result = where(text)
    result.true.sql(SCHEMA, DUCKDB)
    asked = engine.execute(f"select ({text})::boolean from r order by place").fetchall()
    for row, (said,) in zip(TABLE, asked, strict=True):
        assert bool(result.true.evaluate(row)) is (said is True), (text, row)
        assert bool(result.false.evaluate(row)) is (said is False), (text, row)


def test_conjuncts_stand_in_their_order() -> None:
    tree = parse("select 1 from r where a = 1 and (b = 2 and (f or t = 'x')) and b = 3")
    result = [str(truth(each, rows()).true) for each in conjuncts(tree.args["where"].this)]
    assert result == ["(a == 1)", "(b == 2)", "(f | (t == 'x'))", "(b == 3)"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a in (1, null)", "NOT IN"),
        ("a in (b)", "constants"),
        ("t < 'x'", "needs a value of kind"),
        ("t like t", "fixed text"),
        ("t ilike 'x'", "lower"),
        ("a = 'x'", "mixes values of kind"),
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
        ("width_bucket(a, 5, 1, 3) = 1", "a lower bound below the upper"),
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


# Functions of a row in SQL compute what SQL computes.


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
    result = value(parse(f"select {text} from d").expressions[0], names)
    asked = engine.execute(f"select ({text})::bigint from d order by place").fetchall()
    for at, (said,) in zip(DAYS, asked, strict=True):
        assert result.evaluate({"w": at}) == said, (text, at)


# A value in SQL is what SQL computes of it.


@examples(1)
@given(text=NUMBERS)
def test_a_value_is_what_sql_computes(engine: Any, text: str) -> None:
    result = value(parse(f"select {text} from r").expressions[0], rows())
    asked = engine.execute(f"select ({text})::double from r order by place").fetchall()
    for row, (said,) in zip(TABLE, asked, strict=True):
        assert result.evaluate(row) == said, (text, row)


def test_buckets_are_those_of_postgresql() -> None:
    """width_bucket of PostgreSQL: 0 below, n + 1 from the upper bound on, NULL of NULL."""
    result = value(parse("select width_bucket(a, 0, 10, 5) from r").expressions[0], rows())
    given_, wanted = [-1, 0, 1.9, 2, 9.9, 10, 99, None], [0, 1, 1, 2, 5, 6, 6, None]
    assert [result.evaluate({"a": each}) for each in given_] == wanted
