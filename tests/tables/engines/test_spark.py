"""Opening tables of Spark: every way in which one can be wrong, and what is told of it."""

from __future__ import annotations

import contextlib
import datetime
import logging
import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

import tacit as tc
from support.servers.left_out import needs
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.spark import failure_of, in_spark, shown
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows

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
            found = Query(source, PersonUnit("person", rows=1)).run([AGE]).of(AGE)
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
        query = Query(source, OneRowEach())
        for name in others:
            with pytest.raises(UsageError, match="no place in a private statistic"):
                query.run([Moments(col(name), GRID)])
        numbers = ("tiny", "small", "int", "big", "single", "double", "d2", "d0", "flag", "none")
        for name in (*numbers, "dotted.name", "tick`ed"):
            found = query.run([Moments(col(name), GRID)]).of(Moments(col(name), GRID))
            assert found[0][0] == (name != "none")


def test_instants_are_read_in_utc_whatever_the_zone_of_the_session(spark):
    micros = [0, -1, 86_399_999_999, 86_400_000_000, -(1 << 63), (1 << 63) - 1, None]
    rows = spark.createDataFrame([(m,) for m in micros], "m bigint")
    frame = rows.selectExpr("timestamp_micros(m) as at", "m")
    keys = [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(1970, 1, 2), None]
    for zone in ("UTC", "Pacific/Kiritimati", "America/St_Johns"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            with open_source(frame) as source:
                query = Query(source, OneRowEach(), by={"day": col("at")}, keys=keys)
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
    monkeypatch.setattr("tacit.tables.engines.spark._PATIENCE", 0.01)
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
