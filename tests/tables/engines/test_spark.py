"""Opening tables of Spark: every way in which one can be wrong, and what is told of it."""

from __future__ import annotations

import contextlib
import datetime
import logging
import random
import re
import subprocess
import sys
import threading
import traceback
import types
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

import tacit as tc
from support.servers.left_out import needs
from support.servers.spark_session import tasks_of
from support.tables.column_questions import BY_PERSON, BY_ROW, answers, in_duckdb
from support.tables.engine_tables import ENGINES
from support.tables.hostile_tables import (
    BY,
    COLUMNS,
    KEYS,
    SALT,
    UNITS,
    WHERE,
    compare,
    compare_expressions,
    many_rows,
    requests,
)
from support.tables.parquet_writers import VALUES, WRITERS, random_table
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines import spark as spark_progress
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK, SparkEngine, failure_of, in_spark, shown
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import RowCells
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total

needs_pyspark = needs("pyspark", "make setup-engines")
"""Of tests that put something else in the place of a session, and need no Java."""


SECRET = "Zaphod"
GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)


def told(error):
    return "".join(traceback.format_exception(error, chain=True)) + repr(error.__context__)


@pytest.fixture
def visits(spark):
    """A DataFrame, and the view ``visits`` of it."""
    rows = [(1, 31.0, "f"), (1, float("nan"), "m"), (2, None, None), (None, 45.0, "f")]
    frame = spark.createDataFrame(rows, "person bigint, age double, sex string")
    frame.createOrReplaceTempView("visits")
    yield frame
    spark.catalog.dropTempView("visits")


def test_a_frame_and_a_named_table_answer_alike_and_leave_nothing(spark, visits):
    before = {table.name for table in spark.catalog.listTables()}
    for place in ((visits,), (spark, "visits"), (spark, "`visits`")):
        with open_source(*place) as source:
            assert source.columns == {"person": "integer", "age": "float", "sex": "text"}
            found = IntegerQuery(source, PersonUnit("person", rows=1)).run([AGE]).of(AGE)
            assert found[0][:3].tolist() == [1 << 19, 3 << 19, GRID.offset(31) << 19]
    assert {table.name for table in spark.catalog.listTables()} == before
    with pytest.raises(DataSourceError, match="was closed"):
        source.engine.rows("select 1")


def test_a_session_releases_and_replays(visits):
    unit = tc.unit("person", rows=2)
    with tc.Session(visits, unit=unit, budget=tc.epsilon(1), name="visits") as session:
        question = session.group_by("sex", keys=["f", "m"]).agg(n=tc.count())
        answer = question.release(epsilon=1)
        assert answer.to_dict() == question.release(epsilon=1).to_dict()
        with pytest.raises(BudgetError):
            session.agg(n=tc.count()).release(epsilon=1)


@pytest.mark.full
def test_without_spark_nothing_is_taken_for_it():
    command = (
        "import sys, tacit.tables.open_source; "
        "from tacit.tables.engines.spark import in_spark; "
        "assert not in_spark('a.csv') and not in_spark(3); "
        "assert not any(name.startswith('pyspark') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", command], check=True)
    assert not in_spark(SimpleNamespace(sparkSession=None))


def test_types_have_kinds_and_what_has_no_grid_is_refused(spark):
    types = {
        "tiny": "cast(1 as tinyint)", "small": "cast(1 as smallint)", "int": "1", "big": "1L",
        "single": "cast('1.5' as float)", "double": "1.5D", "d2": "cast(1.25 as decimal(20,2))",
        "d0": "cast(7 as decimal(38,0))", "flag": "true", "day": "date'1500-01-01'",
        "at": "timestamp'1969-12-31 23:59:59.5 UTC'", "ntz": "timestamp_ntz'1969-12-31 23:59:59'",
        "none": "null", "text": "'a'", "dotted.name": "1", "tick`ed": "2",
        "bytes": "X'00'", "list": "array(1)", "map": "map(1, 2)", "struct": "struct(1 as a)",
        "variant": "parse_json('1')", "span": "interval '1' day",
        "folded": "'a' collate UTF8_LCASE",
    }  # fmt: skip
    columns = [f"{sql} as `{name.replace('`', '``')}`" for name, sql in types.items()]
    with open_source(spark.sql(f"select {', '.join(columns)}")) as source:
        others = {"bytes", "list", "map", "struct", "variant", "span"}
        assert {n for n, kind in source.columns.items() if kind == "other"} == others
        assert source.columns["d0"] == "integer"
        assert source.columns["none"] == "missing"
        assert source.columns["folded"] == "text"  # read by its bytes
        query = IntegerQuery(source, OneRowEach())
        for name in others:
            with pytest.raises(UsageError, match="no place in a private statistic"):
                query.run([Moments(col(name), GRID)])
        numbers = ("tiny", "small", "int", "big", "single", "double", "d2", "d0", "flag", "none")
        for name in (*numbers, "dotted.name", "tick`ed"):
            found = query.run([Moments(col(name), GRID)]).of(Moments(col(name), GRID))
            assert found[0][0] == (name != "none")


@pytest.mark.parametrize("setting", [{}, {"spark.sql.readSideCharPadding": "false"}])
def test_a_text_of_fixed_length_has_no_blanks_at_its_end(spark, setting):
    """It was counted as 0 by the key that Spark and PostgreSQL compare it with."""
    spark.sql("drop table if exists fixed")
    spark.sql("create table fixed (c char(5), v varchar(5)) using parquet")
    for name, value in setting.items():
        spark.conf.set(name, value)
    try:
        spark.sql("insert into fixed values ('a', 'a'), ('b ', 'b '), (' a', ''), (null, null)")
        for given in ((spark, "fixed"), (spark.table("fixed").where("true"),)):
            with open_source(*given) as source:
                for name, keys in (("c", ["a", "b", " a", "b ", None]), ("v", ["a", "b ", "b"])):
                    query = IntegerQuery(source, OneRowEach(), by={"k": col(name)}, keys=keys)
                    found = query.run([Rows()]).of(Rows()).tolist()
                    assert found == ([1, 1, 1, 0, 1] if name == "c" else [1, 1, 0])
                equal = IntegerQuery(source, OneRowEach(), where=col("c") == "a")
                assert equal.run([Rows()]).of(Rows()).tolist() == [1]
    finally:
        for name in setting:
            spark.conf.unset(name)
        spark.sql("drop table fixed")


def test_instants_are_read_in_utc_whatever_the_zone_of_the_session(spark):
    micros = [0, -1, 86_399_999_999, 86_400_000_000, -(1 << 63), (1 << 63) - 1, None]
    rows = spark.createDataFrame([(m,) for m in micros], "m bigint")
    frame = rows.selectExpr("timestamp_micros(m) as at", "m")
    keys = [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(1970, 1, 2), None]
    for zone in ("UTC", "Pacific/Kiritimati", "America/St_Johns"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            with open_source(frame) as source:
                query = IntegerQuery(source, OneRowEach(), by={"day": col("at")}, keys=keys)
                assert query.run([Rows()]).of(Rows()).tolist() == [2, 1, 1, 3]
                seconds = source.engine.dialect.seconds.format(x="at")
                found = source.engine.rows(f"select {seconds} from {source.relation} order by m")
                days = [None, -(1 << 63) // 10**6, -1, 0, 86_399, 86_400, ((1 << 63) - 1) // 10**6]
                assert [row[0] for row in found] == days
        finally:
            spark.conf.unset("spark.sql.session.timeZone")


WRONG = [
    (lambda s: (s, "visit"), "has no table 'visit'; did you mean 'visits'"),
    (lambda s: (s, "nowhere.visits"), "has no table"),
    (lambda s: (s, "no.such.visits"), "knows no such catalog or database: name the table"),
    (lambda s: (s, None), "name the table"),
    (lambda s: (s.range(1), "visits"), "single table"),
    (lambda s: (s.sql("select 1 as a, 2 as a"),), "both named 'a'"),
    (lambda s: (s.sql("select 1 as a, 2 as A"),), "capital letters"),
    (lambda s: (s.readStream.format("rate").load(),), "never ends"),
    (lambda s: (s, ""), "name of a table"),
]


@pytest.mark.usefixtures("visits")
@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_places_say_what_to_do(spark, case):
    place, message = WRONG[case]
    with pytest.raises(UsageError, match=message) as caught:
        open_source(*place(spark))
    assert caught.value.__context__ is None
    assert not [t for t in spark.catalog.listTables() if t.name.startswith("tacit_")]


@pytest.mark.parametrize(
    "given", [{"types": {"a": "text"}}, {"threads": 1}, {"memory_limit": "1GB"}]
)
def test_settings_of_other_engines_are_refused(spark, given):
    with pytest.raises(UsageError):
        open_source(spark.range(1), **given)


@pytest.mark.full
@needs_pyspark
def test_a_spark_that_is_too_old_is_refused():
    session = SimpleNamespace(version="3.5.1", addTag=print, removeTag=print)
    old = type("SparkSession", (), {"__module__": "pyspark.sql.session", **vars(session)})()
    with pytest.raises(DataSourceError, match=r"Spark 3\.5\.1; Tacit needs Spark 4\.0"):
        open_source(old, "visits")


def test_what_fails_in_the_data_is_told_without_quoting_it(spark, capfd, caplog):
    frame = spark.createDataFrame([(SECRET,)], "name string")
    broken = frame.selectExpr("cast(assert_true(name <> name, name) as int) as age")
    with tc.Session(broken, unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        with pytest.raises(DataSourceError, match="withheld") as caught:
            session.agg(m=tc.sum("age", 0, 100)).release(epsilon=1)
        assert [entry.state for entry in session.history()] == ["open"]  # charged before it read
    assert SECRET not in told(caught.value)
    assert caught.value.__context__ is None
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err + caplog.text
    assert not logging.getLogger("SQLQueryContextLogger").filters


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        (f"{SECRET}: No space left on device", "disk of Spark is full"),
        (f"java.lang.OutOfMemoryError: {SECRET}", "ran out of memory"),
        (f"Job 3 cancelled because SparkContext was shut down {SECRET}", "has ended"),
        (f"AccessControlException: Permission denied: user={SECRET}", "no right to read"),
        (f"ExecutorLostFailure (executor 1) {SECRET}", "lost executors"),
        (f"[OPERATION_CANCELED] {SECRET}", "cancelled"),
        (SECRET, "withheld"),
    ],
)
def test_each_failure_has_words_of_our_own(message, meaning):
    error = failure_of(RuntimeError(message))
    assert meaning in str(error)
    assert SECRET not in str(error)


def test_a_session_that_was_stopped_says_so_and_nothing_is_spent(spark):
    frame = spark.range(100).selectExpr("id as person", "id % 2 = 0 as even")
    with tc.Session(frame, unit=tc.unit("person", rows=1), budget=tc.epsilon(1)) as session:
        question = session.filter(tc.col("even")).agg(n=tc.count())
        spark.stop()
        for ask in (lambda: question.release(epsilon="1/2"), session.refresh):
            with pytest.raises(DataSourceError, match="session has ended") as caught:
                ask()
            assert caught.value.__context__ is None
        assert repr(session.remaining) == "epsilon(1)"


def test_progress_is_shown_on_a_terminal_alone(spark, monkeypatch, capsys):
    with shown(spark):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("tacit.tables.engines.spark._POLL_INTERVAL", 0.01)
    seen = []
    monkeypatch.setattr(
        "tacit.tables.engines.spark._line",
        lambda: contextlib.nullcontext(lambda done, total: seen.append((done, total))),
    )
    with shown(spark):
        spark.range(0, 4_000_000, 1, 8).selectExpr("sum(hash(id) * 1L)").collect()
    assert any(total for _, total in seen)
    assert all(0 <= done <= total for done, total in seen)


def test_the_example_of_the_page_runs(spark, capsys):
    page = (Path(__file__).parents[3] / "docs" / "spark.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python no-run\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(example, "docs/spark.md", "exec"), {"spark": spark, "__name__": "__main__"})
    assert "north" in capsys.readouterr().out
    spark.catalog.dropTempView("visits")


# Spark against the definition in pure Python, bit by bit, under settings that change meanings.


ROWS = many_rows(400)
HOSTILE = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "Pacific/Kiritimati",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.integerGroupingId": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.groupByAliases": "false",
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
}
STRICT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}


@pytest.fixture
def load(request, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    return ENGINES["spark"](request)


@contextlib.contextmanager
def settings(spark, changed):
    """The session with some settings changed, and as it was before at the end."""
    for name, value in changed.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in changed:
            spark.conf.unset(name)


@pytest.mark.full
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "unit", [*(pytest.param(u, marks=pytest.mark.slow) for u in UNITS[:-1]), UNITS[-1]], ids=str
)
def test_the_engine_agrees_with_the_definition_by_group(load, unit):
    with load(ROWS, COLUMNS) as source:
        query = {"unit": unit, "where": WHERE, "by": BY, "keys": KEYS}
        compare(ROWS, source, query, [requests()])


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_the_engine_agrees_with_the_definition_without_groups(load):
    alone = [r for r in requests() if isinstance(r, (Rows, Moments))]
    totals = [r for r in requests() if isinstance(r, Total)]
    with load(ROWS, COLUMNS) as source:
        query = {"unit": UNITS[2], "where": WHERE, "by": {}, "keys": [()]}
        compare(ROWS, source, query, [alone, totals, requests()[-3:]])


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_a_bound_beyond_64_bits_is_exact_too(load):
    unit = PersonUnit("person id", rows=1500)
    alone = [r for r in requests() if isinstance(r, (Rows, Moments))]
    totals = [r for r in requests() if isinstance(r, Total)]
    crowd = [{**row, "person id": 1} for row in ROWS for _ in range(4)] + ROWS
    with load(crowd, COLUMNS) as source:
        query = {"unit": unit, "where": None, "by": {}, "keys": [()]}
        compare(crowd, source, query, [alone, totals])
        query |= {"by": {"flag": col("flag")}, "keys": [(True,), (None,)]}
        compare(crowd, source, query, [[*alone, *totals]])


@pytest.mark.full
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("ansi", ["false", "true"])
@pytest.mark.parametrize(
    ("rows", "each", "found"),
    [
        (3, (1 << 41) - 1, 3 * ((1 << 41) - 1)),
        (3, 1 - (1 << 41), 3 - (3 << 41)),
        (1 << 20, 1 << 41, 1 << 61),
        (1 << 22, 1 << 41, (1 << 62) - (1 << 21)),
        (1 << 22, (1 << 41) - 1, None),
        (1 << 22, -(1 << 41), -(1 << 62)),
        (0, 1, 0),
    ],
)
def test_a_near_sum_is_exact_or_beyond(spark, ansi, rows, each, found):
    near = SPARK.near_sum("x", 1 << 61)
    sql = f"select {near} from (select {each} + 0 * id as x from range({rows})) as r"
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        (value,) = spark.sql(sql).first()
    assert value == found if found is not None else 1 << 61 < value < 1 << 63


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_a_near_sum_leaves_missing_numbers_out(spark):
    near = SPARK.near_sum("x", 1 << 61)
    rows = "(values (1, null), (2, 5L), (2, null), (2, -9L), (3, -1L)) as r(g, x)"
    found = spark.sql(f"select g, {near} from {rows} group by g order by g").collect()
    assert [tuple(row) for row in found] == [(1, 0), (2, -4), (3, -1)]


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_people_told_apart_by_doubles_are_drawn_alike(load):
    crowd = [{**row, "year": year} for row in ROWS[:60] for year in (-1, 0, 1, 2)]
    unit = PersonUnit("select", rows=9, most_groups=2)
    by, keys = {"y": col("year")}, [(-1,), (0,), (1,), (2,)]
    with load(crowd, COLUMNS) as source:
        query = {"unit": unit, "where": None, "by": by, "keys": keys}
        compare(crowd, source, query, [[People()]])


@pytest.mark.full
@pytest.mark.xdist_group("spark")
@pytest.mark.slow
@pytest.mark.parametrize("changed", [HOSTILE, STRICT], ids=["hostile", "strict"])
def test_no_setting_of_the_session_changes_a_bit_nor_is_it_changed(load, spark, changed):
    query = {"unit": UNITS[2], "where": WHERE, "by": BY, "keys": KEYS}
    with settings(spark, changed), load(ROWS, COLUMNS) as source:
        compare(ROWS, source, query, [requests()])
        compare_expressions(ROWS, source)
        assert {name: spark.conf.get(name) for name in changed} == changed


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_no_rows_at_all(load):
    with load([], COLUMNS) as source:
        keys = [("a",), ("b",)]
        query = {"unit": UNITS[1], "where": None, "by": {"group": col("group")}, "keys": keys}
        compare([], source, query, [requests()[:6]])


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_decimals_of_every_width_are_exact(load):
    widest = {"d": "decimal(38,3)", "e": "decimal(38,38)", "f": "decimal(38,12)"}
    rows = [
        {
            "d": Decimal("9" * 26 + ".123"),
            "e": Decimal("0." + "9" * 38),
            "f": Decimal("-0." + "9" * 12),
        },
        {"d": Decimal("7.5"), "e": Decimal("-0.5"), "f": Decimal("9" * 26 + "." + "9" * 12)},
        {"d": None, "e": None, "f": None},
    ]
    with load(rows, widest) as source:
        for name in widest:
            request = Moments(col(name), Grid.for_bounds(-1, 10))
            query = {"unit": OneRowEach(), "where": None, "by": {}, "keys": [()]}
            compare_one(rows, source, query, request)


def compare_one(rows, source, query, request):
    from support.tables import tables_reference as reference

    found = IntegerQuery(source, query["unit"]).run([request]).of(request)
    assert reference.plain(found) == reference.answer(rows, {**query, "salt": SALT}, request)


@pytest.mark.full
@pytest.mark.xdist_group("spark")
def test_many_keys_are_kept_beside_the_query(load):
    rows = [{"p": i % 7, "g": f"k{i % 300}"} for i in range(900)]
    with load(rows, {"p": "bigint", "g": "varchar"}) as source:
        query = IntegerQuery(
            source,
            PersonUnit("p", rows=200),
            by={"g": col("g")},
            keys=[f"k{i}" for i in range(300)],
        )
        assert set(query.run([Rows()]).of(Rows())) == {3 * query.unit.one}
        assert source.engine.session.catalog.listTables()
        query.forget()
    assert not source.engine.session.catalog.listTables()


# Questions on Spark: exact sums, tasks of a giant, and ends of what runs.


engine_needs_pyspark = needs("pyspark", "make setup-engines")
"""Of tests that put something else in the place of a session, and need no Java."""


ENGINE_GRID = Grid.for_bounds(0, 100)


def test_sums_beyond_64_bits_are_exact(spark):
    grid = Grid.for_bounds(0, 1 << 62, whole=True)
    with open_source(spark.range(9).selectExpr("4611686018427387904L as x", "id as p")) as source:
        for unit, one in ((OneRowEach(), 1), (PersonUnit("p", rows=1), 1 << 20)):
            moments, total = Moments(col("x"), grid), Total(col("x"), grid)
            found = IntegerQuery(source, unit).run([moments, total])
            assert found.of(moments)[0][2] == 9 * grid.cells * one
            assert found.of(total)[0] == 9 * (grid.first + grid.cells) * one


ROUND = Grid.for_bounds(0, 100, bits=6)
ASKED = {
    "rows": [Rows()],
    "moments": [Rows(), Moments(col("age"), ENGINE_GRID)],
    "sums": [Total(col("age"), ENGINE_GRID)],
    "cells": [Cells(col("age"), ROUND)],
    "bins": [Bins(col("age"), ROUND, (0, 32, ROUND.cells))],
    "people": [People()],
    "whole rows": [RowCells(col("age"), ROUND)],
    "bins of people": [RowCells(col("age"), ROUND, parts=3, groups=1)],
}


@pytest.mark.parametrize("grouped", [True, False], ids=["by group", "without groups"])
def test_the_tasks_of_a_giant_hold_few_of_their_rows_each(spark, grouped):
    """Nobody's rows gather: whatever is asked, what a task gets of others is far below them.

    One person has 80,000 rows in 8 parts of the table, 100 others have one each.  A task hands on
    a line for each place that it has rows of a person in: at most 2 x 65 cells; the tasks that
    follow get those of 8.  And no row of the table is read twice.
    """
    giant, others, parts, places = 80_000, 100, 8, 2 * (ROUND.cells + 1)
    rows = spark.range(0, giant + others, 1, parts).selectExpr(
        f"case when id < {giant} then -1 else id end as p",
        "id % 2 = 0 as even",
        "cast(id % 1000 as double) / 10 as age",
    )
    grouping = {"by": {"a": col("even")}, "keys": [True, False]} if grouped else {}
    asked = [(name, 3) for name in ASKED] if grouped else [("moments", 3), ("cells", 3)]
    asked += [("whole rows", 2000), ("bins of people", 2000)]  # more than Spark sorts out by itself
    with open_source(rows) as source:
        for name, most in asked:
            query = IntegerQuery(source, PersonUnit("p", rows=most, most_groups=2), **grouping)
            last = max((task.stage for task in tasks_of(spark)), default=-1)
            found = query.run(ASKED[name])
            if name == "rows":
                share = query.unit.one * most // giant
                assert sum(found.of(Rows())) == giant * share + others * query.unit.one
            done = tasks_of(spark, last)
            assert sum(task.read for task in done) == giant + others, name
            assert max(task.handed_on for task in done) <= places + others, name
            assert max(task.received for task in done) <= parts * places + others, name


@pytest.mark.full
@engine_needs_pyspark
def test_an_interrupt_cancels_the_jobs_of_the_question_and_no_others():
    done = []
    session = SimpleNamespace(
        addTag=lambda tag: done.append(("add", tag)),
        removeTag=lambda tag: done.append(("remove", tag)),
        interruptTag=lambda tag: done.append(("interrupt", tag)),
    )

    def ask():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SparkEngine(session).attempt(ask)
    assert [what for what, _ in done] == ["add", "interrupt", "remove"]
    assert len({tag for _, tag in done}) == 1


def test_a_query_ends_when_its_time_is_over(spark):
    frame = spark.range(2).selectExpr("id", "reflect('java.lang.Thread', 'sleep', 60000L) as nap")
    late = frame.where("nap is null")
    with tc.Session(
        late, unit=tc.one_row_each, budget=tc.epsilon(1), name="naps", timeout=1
    ) as session:
        with pytest.raises(DataSourceError, match=r"within timeout=.*charged.*stays open"):
            session.agg(n=tc.count()).release(epsilon="1/2")
        assert session.remaining == tc.epsilon("1/2")
        assert [entry.state for entry in session.history()] == ["open"]
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    with open_source(spark.range(3), timeout=60) as source:  # and one in time is not disturbed
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [3]
    for wrong in (0, True, "1", -3):
        with pytest.raises(UsageError, match="number of seconds"):
            open_source(spark.range(3), timeout=wrong)


# That no executor takes the work is told, once, and only where it is so.


LOOKS = 12
APART = 10.0


def stage(active, done):
    """A stage of four tasks."""
    return types.SimpleNamespace(numTasks=4, numActiveTasks=active, numCompletedTasks=done)


class Status:
    """A context whose only job has, at each look, the next stages; looks are ten seconds apart."""

    def __init__(self, *stages):
        self._stages, self.looks, self.over = stages, 0, threading.Event()

    def statusTracker(self):
        self.looks += 1
        if self.looks >= LOOKS:
            self.over.set()
        return self

    def getActiveJobsIds(self):
        return [1] if self._now() is not None else []

    def getJobInfo(self, job):
        return types.SimpleNamespace(stageIds=[7, 8])

    def getStageInfo(self, number):
        return self._now() if number == 7 else None

    def seconds(self):
        return self.looks * APART

    def _now(self):
        return self._stages[min(self.looks, len(self._stages)) - 1]


def progress_told(status, monkeypatch, caplog):
    """The warnings while a block runs."""
    monkeypatch.setattr(spark_progress, "_POLL_INTERVAL", 0.001)
    monkeypatch.setattr(spark_progress, "_now", status.seconds)
    session = types.SimpleNamespace(sparkContext=status)
    with caplog.at_level(logging.WARNING), spark_progress.shown(session):
        assert status.over.wait(60)
    return [record.getMessage() for record in caplog.records]


def test_tasks_that_nobody_takes_are_told_once(monkeypatch, caplog):
    (said,) = progress_told(Status(stage(active=0, done=1)), monkeypatch, caplog)
    for word in ("none for 30 seconds", "no executor", "workers", "Ctrl-C", "timeout="):
        assert word in said


def test_and_once_more_when_they_were_lost_anew(monkeypatch, caplog):
    lost, runs = stage(active=0, done=1), stage(active=1, done=1)
    assert len(progress_told(Status(*[lost] * 5, runs, lost), monkeypatch, caplog)) == 2


@pytest.mark.parametrize(
    "stages",
    [
        [None],
        [stage(active=1, done=0)],
        [stage(active=0, done=4)],
        [stage(active=0, done=1), stage(active=0, done=1), stage(active=1, done=1)] * LOOKS,
        [*[stage(active=0, done=1), None] * LOOKS],
    ],
    ids=["no-job", "runs", "all-done", "runs-now-and-then", "between-jobs"],
)
def test_nothing_is_told_where_work_goes_on(monkeypatch, caplog, stages):
    assert progress_told(Status(*stages), monkeypatch, caplog) == []


def test_connect_is_not_asked():
    session = type("Session", (), {"__module__": "pyspark.sql.connect.session"})()
    with spark_progress.shown(session):  # it has no sparkContext, and no handler is registered
        pass


# What Spark reads of a Parquet file follows from its rows, whatever the footer says.


TYPES = {n: VALUES[n] for n in ("double", "float")}


@pytest.mark.full
@pytest.mark.parametrize("writer", ["pyarrow", "polars"])
def test_a_row_counts_for_what_it_is(tmp_path, spark, writer, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    draw = random.Random(3)
    table = random_table(draw, TYPES, 12)
    with in_duckdb(table) as source:
        kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
        expected = answers(source, kinds)
    path = tmp_path / "table.parquet"
    WRITERS[writer](table, path, draw)
    found = answers(open_source(spark.read.parquet(str(path))), kinds)
    assert {w: found[w] for w in expected if found[w] != expected[w]} == {}


# Spark writes no whole number without a sign, and no time in nanoseconds.
WRITTEN = {n: VALUES[n] for n in VALUES if not n.startswith("uint") and n != "ns"}


# Half of the time that all tests of Spark take: with a Spark of their own, beside the others.
@pytest.mark.full
@pytest.mark.xdist_group("spark-written")
@pytest.mark.parametrize(
    ("stored", "dictionary"),
    [("INT96", "true"), ("TIMESTAMP_MICROS", "false"), ("TIMESTAMP_MILLIS", "true")],
)
def test_what_spark_writes_is_read_alike(tmp_path, spark, stored, dictionary, monkeypatch):
    """Of a folder of Parquet files by Spark: times of each form, pages with and without codes."""
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    draw = random.Random(stored)
    written = WRITTEN
    if stored == "TIMESTAMP_MILLIS":
        # Of times with a zone alone; all else is stored as beside INT96.  The rest is not written.
        kind, times = WRITTEN["zoned"]
        written = {"zoned": (kind, [time - time % 1000 for time in times])}
    table = random_table(draw, written, 16)
    # How many rows a person has follows from "p" alone, which is stored in one way.
    for number, (some, units) in enumerate(
        ((table, (BY_ROW, BY_PERSON)), (table.slice(1), (BY_ROW,)))
    ):
        with in_duckdb(some) as source:
            kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
            expected = answers(source, kinds, units, number)
        folder = str(tmp_path / f"spark{number}")
        WRITERS["pyarrow"](some, tmp_path / "given.parquet", draw)
        settings = {"outputTimestampType": stored}
        settings |= dict.fromkeys(
            ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite"), "CORRECTED"
        )
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.parquet.{name}", value)
        try:
            frame = spark.read.parquet(str(tmp_path / "given.parquet"))
            frame.repartition(2).write.option("parquet.enable.dictionary", dictionary).parquet(
                folder
            )
        finally:
            for name in settings:
                spark.conf.unset(f"spark.sql.parquet.{name}")
        files = sorted(map(str, Path(folder).glob("*.parquet")))
        with duckdb.connect() as connection:
            for opens in (
                lambda folder=folder: open_source(folder),
                lambda c=connection, files=files: open_source(c.read_parquet(files)),
                lambda folder=folder: open_source(spark.read.parquet(folder)),
            ):
                with opens() as source:
                    found = answers(source, kinds, units, number)
                assert {w: found[w] for w in expected if found[w] != expected[w]} == {}


# Each engine's dialect names every type that keys and plans are cast to.


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("kind", ["integer", "wide", "double", "text", "date", "boolean", "small"])
def test_a_value_is_cast_to_every_kind(dialect, kind):
    assert f" as {getattr(dialect, kind)})" in dialect.cast("x", kind)
