"""Parquet files that Spark reads: no cell decides how others are read, or whether they are."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.tables.column_questions import count
from support.tables.parquet_writers import FAR_MILLIS
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Distinct, Moments, Rows

BY_COLUMN = "spark.sql.parquet.enableVectorizedReader"
NEAR = [0, 86_400_000, -1, 1_700_000_000_123]


def write(path, far, unit="ms", zone=None, within=False):
    """Write a file with times, of which some are far; return its path."""
    cells = [None, *NEAR, *far]
    times = pa.array(cells, pa.timestamp(unit, zone))
    table = {"t": times, "n": range(len(cells)), "x": [1.0] * len(cells)}
    if within:
        held = [None if cell is None else {"t": cell} for cell in cells]
        table["s"] = pa.array(held, pa.struct([("t", times.type)]))
    pq.write_table(pa.table(table), path)
    return str(path)


def numbers(source, few=False):
    """Counts of the near and the far times of a file."""
    t = col("t")
    asked = [t.is_null(), t.dt.year() == 1970, t > "9999-12-31", col("n") >= 1]
    if not few:
        asked += [
            ~t.is_null(),
            t.dt.year() == 2023,
            t.dt.hour() == 22,
            t.dt.month().is_null(),
            t < "0001-01-01",
            (t >= "1969-12-31") & (t < "1970-01-03"),
        ]
    return [count(source, where) for where in asked]


@pytest.mark.parametrize(
    ("shape", "zone"),
    [
        *(("file", zone) for zone in (None, "UTC", "Asia/Tokyo")),
        *(("folder", "UTC"), ("columns", "Asia/Tokyo"), ("view", None)),
        *(("table", "UTC"), ("schema", "Asia/Tokyo"), ("parts", None)),
    ],
)
def test_a_far_time_is_one_cell_as_it_is_on_duckdb(tmp_path, spark, zone, shape):
    for number, far in enumerate(([], FAR_MILLIS)):
        folder = tmp_path / f"{number}{'/year=2023' if shape == 'parts' else ''}"
        folder.mkdir(parents=True)
        path = write(folder / "1.parquet", far, zone=zone)
        write(folder / "2.parquet", [], zone=zone)
        place = path if shape in ("file", "schema") else str(tmp_path / str(number))
        reader = spark.read
        if shape == "schema":
            reader = reader.schema("n bigint, T timestamp, y int")
        frame = reader.parquet(place)
        opened = (frame,)
        if shape == "columns":
            opened = (frame.select("n", "t"),)
        elif shape == "view":
            frame.createOrReplaceTempView("far")
            opened = (spark, "far")
        elif shape == "table":
            spark.sql("drop table if exists far_table")
            spark.sql(f"create table far_table using parquet location '{place}'")
            opened = (spark, "far_table")
        with open_source(*opened) as source, open_source(place) as ours:
            if shape == "schema":
                assert count(source, col("T").dt.year() == 1970) == 2
                assert count(source, col("T") > "9999-12-31") == sum(t > 0 for t in far)
                continue
            few = shape != "file"  # what is asked is compiled anew for each shape
            assert numbers(source, few) == numbers(ours, few)
    if shape == "table":
        spark.sql("drop table far_table")


@pytest.mark.parametrize("far", [[], FAR_MILLIS], ids=["near", "far"])
def test_what_is_computed_of_such_times_is_refused_by_its_type(tmp_path, spark, far):
    frame = spark.read.parquet(write(tmp_path / "a.parquet", far, within=True))
    frame.createOrReplaceTempView("visits")
    frames = [
        frame.selectExpr("t", "year(t) as y", "n", "s.t is null as s", "t as u"),
        spark.sql("select t, year(t) as y, n, s.t as s, t as u from visits where n > 0"),
        frame.join(frame.selectExpr("n", "t as u"), "n").selectExpr("*", "day(u) as y"),
    ]
    for computed in frames:
        with open_source(computed) as source:
            for name in ("t", "y", "u", "s"):
                with pytest.raises(UsageError, match="milliseconds in Parquet files"):
                    count(source, col(name).is_null())
            assert count(source, col("n") >= 1) == 4 + len(far)
    with open_source(frame) as source:
        with pytest.raises(UsageError, match="write microseconds"):
            count(source, col("s").is_null())
        assert count(source, col("t").is_null()) == 1


@pytest.mark.parametrize("far", [[], FAR_MILLIS], ids=["near", "far"])
def test_rows_that_depend_on_such_times_are_refused(tmp_path, spark, far):
    from pyspark.sql.functions import col as col_

    frame = spark.read.parquet(write(tmp_path / "a.parquet", far))
    frame.createOrReplaceTempView("held")
    stored = frame.selectExpr("t", "n", "x + 1 as x").cache()
    try:
        for computed in (
            frame.where("t > timestamp '2000-01-01'"),
            frame.where("year(t) > 2000").select("n"),
            frame.orderBy("t").limit(3).select("n"),
            frame.join(frame.selectExpr("t as u", "n as m"), col_("t") == col_("u")).select("m"),
            frame.groupBy("t").count(),
            stored,
        ):
            with pytest.raises(DataSourceError, match="for each of its rows"):
                open_source(computed).close()
    finally:
        stored.unpersist()


@pytest.mark.parametrize("far", [[], FAR_MILLIS], ids=["near", "far"])
def test_a_column_of_two_units_is_refused(tmp_path, spark, far):
    write(tmp_path / "1.parquet", far)
    write(tmp_path / "2.parquet", [], unit="us")
    with open_source(spark.read.parquet(str(tmp_path))) as source:
        with pytest.raises(UsageError, match="write microseconds"):
            count(source, col("t").is_null())
        assert count(source, col("n") >= 1) == 8 + len(far)


def test_options_of_the_reader_stay(tmp_path, spark):
    for name in ("1.parquet", "2.parquet", "3.skip"):
        write(tmp_path / name, FAR_MILLIS)
    frame = spark.read.option("pathGlobFilter", "*.parquet").parquet(str(tmp_path))
    with open_source(frame) as source:
        assert count(source, col("t").is_null()) == 2
        assert count(source, col("t").dt.year() == 2023) == 2


@pytest.mark.parametrize("far", [[], FAR_MILLIS], ids=["near", "far"])
def test_a_frame_that_is_cached_is_read_from_its_files(tmp_path, spark, far):
    path = write(tmp_path / "a.parquet", far)
    frame = spark.read.parquet(path).cache()
    try:
        with open_source(frame) as source, open_source(path) as ours:
            assert numbers(source) == numbers(ours)
    finally:
        frame.unpersist()


def decimals(path, digits, far, within=False, **options):
    """Write a file of decimals with two places, some of them beyond their digits; return its path.

    The writer, pyarrow, does not count their digits.
    """
    cells = [500, *far, 100, -100]
    stored = b"".join(cell.to_bytes(16, "little", signed=True) for cell in cells)
    x = pa.Array.from_buffers(pa.decimal128(digits, 2), len(cells), [None, pa.py_buffer(stored)])
    table = {"x": x, "n": range(len(cells))}
    if within:
        table["s"] = pa.StructArray.from_arrays([x], ["d"])
    pq.write_table(pa.table(table), path, **options)
    return str(path)


def beyond(digits):
    return [10**digits, -(10**digits), *([(1 << 127) - 1, -(1 << 127)] if digits > 35 else [])]


def decimal_answers(source):
    def ask(request, unit=None):
        found = IntegerQuery(source, unit or OneRowEach()).run([request]).of(request)
        return np.asarray(found).tolist()

    x = col("x")
    return [
        *(count(source, where) for where in (x.is_null(), x == 5, x > 0, x < 0, x > 10**15)),
        *map(ask, (Moments(x, Grid.for_bounds(0, 5)), Distinct(x))),
        ask(Rows(), PersonUnit("x", 1)),
    ]


@pytest.mark.parametrize("vectorised", ["true", "false"])
@pytest.mark.parametrize(
    ("digits", "shape"),
    [
        *((digits, "plain") for digits in (19, 20, 35, 36, 38)),
        *((20, "dictionary"), (38, "dictionary"), (38, "parts"), (30, "schema")),
    ],
)
def test_a_decimal_beyond_its_digits_is_one_cell_as_it_is_on_duckdb(
    tmp_path, spark, digits, shape, vectorised, request
):
    """One such cell, which pyarrow writes without a word, ended every question of its column."""
    request.addfinalizer(lambda: spark.conf.unset(BY_COLUMN))
    spark.conf.set(BY_COLUMN, vectorised)
    folder = tmp_path / ("year=2023" if shape == "parts" else "")
    folder.mkdir(exist_ok=True)
    path = decimals(folder / "a.parquet", digits, beyond(digits), use_dictionary=shape != "plain")
    reader = spark.read
    if shape == "schema":
        reader = reader.schema(f"n bigint, X decimal({digits},2)")
    frame = reader.parquet(str(tmp_path))
    with open_source(frame) as source, open_source(path) as ours:
        if shape == "schema":
            assert count(source, col("X").is_null()) == 2
        else:
            assert decimal_answers(source) == decimal_answers(ours)


@pytest.mark.parametrize("digits", [5, 18])
def test_narrow_decimals_are_read_as_they_are_on_duckdb_or_refused(
    tmp_path, spark, digits, request
):
    """Read row by row, one beyond its digits ended every question of its column too."""
    request.addfinalizer(lambda: spark.conf.unset(BY_COLUMN))
    for far in ([], [10**digits, -(10**digits)]):
        for number, as_integer in enumerate((True, False)):
            path = decimals(
                tmp_path / f"{number}.parquet", digits, far, store_decimal_as_integer=as_integer
            )
            with open_source(spark.read.parquet(path)) as source, open_source(path) as ours:
                assert decimal_answers(source) == decimal_answers(ours)
            spark.conf.set(BY_COLUMN, "false")
            with open_source(spark.read.parquet(path)) as source:
                with pytest.raises(UsageError, match="enableVectorizedReader to true"):
                    count(source, col("x").is_null())
                assert count(source, col("n") >= 0) == 3 + len(far)
            spark.conf.unset(BY_COLUMN)


@pytest.mark.parametrize("far", [[], beyond(38)], ids=["within", "beyond"])
def test_what_is_computed_of_unchecked_decimals_is_refused_by_its_type(tmp_path, spark, far):
    frame = spark.read.parquet(decimals(tmp_path / "a.parquet", 38, far, within=True))
    stored = frame.selectExpr("x", "n + 1 as n").cache()
    for computed in (
        frame.selectExpr("x", "x + 1 as y", "s.d as s", "n"),
        frame.where("n >= 0").selectExpr("x", "cast(x as string) as y", "s is null as s", "n"),
    ):
        with open_source(computed) as source:
            for name in ("x", "y", "s"):
                with pytest.raises(UsageError, match="whose writer does not count their digits"):
                    count(source, col(name).is_null())
            assert count(source, col("n") >= 0) == 3 + len(far)
    for computed in (frame.where("x > 5"), frame.orderBy("x").limit(2).select("n"), stored):
        with pytest.raises(DataSourceError, match="for each of its rows, decimals"):
            open_source(computed).close()
    stored.unpersist()
    with open_source(frame) as source:
        with pytest.raises(UsageError, match="write the files with Spark"):
            count(source, col("s").is_null())
        assert count(source, col("x").is_null()) == len(far)


def test_decimals_of_files_that_spark_wrote_may_be_computed(tmp_path, spark):
    path = str(tmp_path / "ours")
    spark.sql("select cast(id as decimal(38,2)) as x from range(9)").write.parquet(path)
    with open_source(spark.read.parquet(path).where("x > 5").selectExpr("x + 1 as x")) as source:
        assert count(source, col("x") > 7) == 2
    decimals(f"{path}/one.parquet", 38, beyond(38))
    with open_source(spark.read.parquet(path)) as source:
        assert count(source, col("x") > 5) == 3
    with pytest.raises(DataSourceError, match="for each of its rows, decimals"):
        open_source(spark.read.parquet(path).where("x > 5")).close()


@pytest.mark.parametrize("far", [[], beyond(20)], ids=["within", "beyond"])
def test_decimals_of_two_types_are_refused(tmp_path, spark, far):
    """Their bytes alone do not show where the point is."""
    path = decimals(tmp_path / "1.parquet", 20, far)
    pq.write_table(pa.table({"x": pa.array([1], pa.decimal128(10, 2))}), tmp_path / "2.parquet")
    for frame in (
        spark.read.schema("x decimal(20,2), n bigint").parquet(str(tmp_path)),
        spark.read.schema("x decimal(30,4), n bigint").parquet(path),
    ):
        with open_source(frame) as source:
            with pytest.raises(UsageError, match="write the files with Spark"):
                count(source, col("x").is_null())
            assert count(source, col("n") >= 0) == 3 + len(far)


SELECTED = {
    "x > 5": None,
    "f >= 5": None,
    "x != 1": None,
    "x in (double('NaN'), 1)": None,
    "x > 5 or n < 0": None,
    "s.v > 5": None,
    "n in (select n from people where x > 5)": None,
    "n < (select count(*) from people where x > 5) - 5": None,
    "x < 5": 1,
    "x between 1 and 100": 2,
    "x > 5 and not isnan(x)": 1,
    "x in (1, 9)": 2,
    "x is not null": 7,
    "not isnan(x)": 2,
    "n > 0": 6,
    "isnan(x)": 5,
}


@pytest.mark.parametrize("kind", ["files", "view", "cached", "cached later", "second reader"])
def test_no_statistic_decides_which_rows_a_frame_has(tmp_path, spark, kind, request):
    """NaN, which is in no statistic, is above all numbers, whatever the other numbers are."""
    first = "spark.sql.sources.useV1SourceList"
    if kind == "second reader":
        request.addfinalizer(lambda: spark.conf.unset(first))
        spark.conf.set(first, "")
    for others in ([1.0], [1.0, 9.0]):
        x = [float("nan")] * 5 + others
        table = {"x": x, "f": pa.array(x, pa.float32()), "n": range(len(x))}
        path = tmp_path / f"{len(x)}.parquet"
        pq.write_table(pa.table(table | {"s": [{"v": v} for v in x]}), path)
        frame = spark.read.parquet(str(path))
        frame = frame.cache() if kind == "cached" else frame
        frame.createOrReplaceTempView("people")
        for condition, rows in SELECTED.items():
            selected = frame.filter(condition)
            given = (selected,)
            if kind == "view":
                selected.createOrReplaceTempView("chosen")
                given = (spark, "chosen")
            elif kind == "cached later":
                given = (selected.cache(),)
            if rows is None:
                with pytest.raises(DataSourceError, match="statistics of that column"):
                    open_source(*given)
            else:
                without = len(others) == 1 and condition not in ("x < 5", "isnan(x)")
                assert count(open_source(*given), col("n") >= 0) == rows - without, condition
            selected.unpersist()
        frame.unpersist()


ZEROS = {
    "x = 0": None,
    "n < 9 and x <=> 0.0D": None,
    "x in (0, 3)": None,
    "s.v = -0.0D": None,
    "x >= 0 and x <= 0": None,
    "x between 0 and 100": None,
    "0.0D <= x and x < 9": None,
    "x <= -0.0D": None,
    "x >= -0.0D and x <= 0.0D": 5,
    "x between -0.0D and 0": 5,
    "x = 7": 1,
    "x in (7, 10.0D)": 1,
}


def test_no_dictionary_decides_which_zeros_a_frame_has(tmp_path, spark):
    """Of `x = 0` five rows of -0.0 were there if another row was 0.0, and else none of them.

    Of `x >= 0` too, where all other rows were below it or -0.0.
    """
    for kind, others in (
        *(("parquet", others) for others in ([], [0.0], [7.0, 0.0])),
        *(("orc", others) for others in ([], [0.0])),
    ):
        x = [-0.0] * 5 + others
        path = str(tmp_path / f"{len(x)}.parquet")
        table = {"x": x, "n": range(len(x)), "s": [{"v": v} for v in x]}
        pq.write_table(pa.table(table), path)
        frame = spark.read.parquet(path)
        if kind == "orc":
            frame.write.orc(f"{path}.orc")
            frame = spark.read.orc(f"{path}.orc")
        with open_source(frame) as source:  # a filter of a question compares each cell
            assert count(source, col("x") == 0) == 5 + (0.0 in others)
            assert count(source, col("x").is_in([0, 3])) == 5 + (0.0 in others)
        for condition, rows in ZEROS.items():
            selected = frame.filter(condition)
            if rows is None:
                with pytest.raises(DataSourceError, match="column is zero"):
                    open_source(selected)
            else:
                expected = 5 + (0.0 in others) if rows == 5 else int(7.0 in others)
                assert count(open_source(selected), col("n") >= 0) == expected, condition


@pytest.mark.parametrize("others", [[], [1.0], [math.inf]], ids=["alone", "one", "infinite"])
def test_no_statistic_of_a_cache_decides_what_is_missing(spark, others):
    """In a column without NULL `x is missing` was read as `x > Infinity`: 0 of five rows of NaN."""
    from pyspark.sql.types import FloatType, StructField, StructType

    frame = spark.createDataFrame(
        [(x,) for x in [math.nan] * 5 + others],
        StructType([StructField("x", FloatType(), nullable=False)]),
    ).cache()
    try:
        with open_source(frame) as source:
            assert count(source, col("x").is_null()) == 5
            assert count(source, ~col("x").is_null()) == len(others)
    finally:
        frame.unpersist()


MANY = ", ".join(f"date '1582-10-{day:02}'" for day in range(1, 31))
OLD_TIMES = {  # by which kinds of files it is refused, and how many rows there are else
    "t >= timestamp '0001-01-01 00:00:00'": (("orc",), 2),
    "t in (timestamp '1500-01-01 00:00:00', timestamp '2000-01-01 00:00:00')": (("orc",), 1),
    "t < timestamp '1582-10-14 00:00:00'": (("orc", "parquet"), 1),
    "d > date '1582-10-10'": (("orc", "parquet"), 1),
    "d in (date '1582-10-10')": (("orc", "parquet"), 0),
    f"d in ({MANY})": (("orc", "parquet"), 1),
    "d > date '0001-01-01'": ((), 2),
    "t >= timestamp '1600-01-01 00:00:00'": ((), 0),
}


@pytest.mark.parametrize("kind", ["orc", "parquet"])
def test_no_statistic_of_another_calendar_decides_which_rows_a_frame_has(tmp_path, spark, kind):
    """Of ORC `t >= '1500-01-01'` left out a row of that time, unless another one was later."""
    days = "values ('1582-10-15'), ('1500-01-01') as v(w)"
    path = str(tmp_path / kind)
    columns = "cast(w as date) as d", "cast(w as timestamp) as t", "1 as n"
    spark.sql(f"select {', '.join(columns)} from {days}").coalesce(1).write.format(kind).save(path)
    frame = spark.read.format(kind).load(path)
    for condition, (refused, rows) in OLD_TIMES.items():
        if kind in refused:
            with pytest.raises(DataSourceError, match="before 15 October 1582"):
                open_source(frame.filter(condition))
        else:
            with open_source(frame.filter(condition)) as source:
                assert count(source, col("n") >= 0) == rows


def test_filters_of_a_source_that_prunes_by_itself_are_refused_alike(spark):
    """What a table of Iceberg leaves out by its statistics is not in the plan of Spark."""
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Pruning(DataSource):
        @classmethod
        def name(cls):
            return "pruning"

        def schema(self):
            return "n bigint, x double"

        def reader(self, schema):
            return DataSourceReader()

    spark.dataSource.register(Pruning)
    frame = spark.read.format("pruning").load()
    for condition in ("x > 5", "n > 0 and x > 5"):
        with pytest.raises(DataSourceError, match="statistics of that column"):
            open_source(frame.filter(condition))
    with pytest.raises(DataSourceError, match="column is zero"):
        open_source(frame.filter("x = 0"))
    open_source(frame.filter("x > 5 and not isnan(x)")).close()
    open_source(frame).close()


REBASE = "datetimeRebaseMode"


@pytest.mark.parametrize("v1", ["parquet,orc", ""], ids=["first reader", "second reader"])
def test_settings_by_which_one_value_ends_or_hides_others_are_refused(tmp_path, spark, v1):
    """One day of the year 1500 ended every question; one unreadable value hid the rows behind."""
    days = [datetime.date(2000, 1, 1), datetime.date(1500, 1, 1)]
    pq.write_table(pa.table({"d": days, "n": [1, 2]}), tmp_path / "days.parquet")
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "numbers.parquet")
    rebase, ignore = f"spark.sql.parquet.{REBASE}InRead", "spark.sql.files.ignoreCorruptFiles"

    def fate(name, changed, **options):
        for setting, value in changed.items():
            spark.conf.set(setting, value)
        try:
            frame = spark.read.options(**options).parquet(str(tmp_path / name))
            with open_source(frame) as source:
                return count(source, col("n") >= 0)
        except DataSourceError as refused:
            return str(refused).partition(":")[0]
        finally:
            for setting in changed:
                spark.conf.unset(setting)

    first = {"spark.sql.sources.useV1SourceList": v1}
    old, unreadable = "one day before 15 October 1582", "one unreadable value"
    assert old in fate("days.parquet", first | {rebase: "EXCEPTION"})
    assert old in fate("days.parquet", first, **{REBASE: "exception"})
    assert fate("days.parquet", first | {rebase: "EXCEPTION"}, **{REBASE: "CORRECTED"}) == 2
    assert fate("days.parquet", first | {rebase: "LEGACY"}) == 2
    assert fate("numbers.parquet", first | {rebase: "EXCEPTION"}) == 2
    assert unreadable in fate("numbers.parquet", first | {ignore: "true"})
    assert unreadable in fate("numbers.parquet", first, ignoreCorruptFiles="true")
    assert fate("numbers.parquet", first | {ignore: "true"}, ignoreCorruptFiles="false") == 2


def test_names_that_are_patterns_are_refused_with_the_setting(spark):
    frame = spark.createDataFrame([(1, 2.0, 3.0)], "n bigint, `a.c` double, abc double")
    spark.conf.set("spark.sql.parser.quotedRegexColumnNames", "true")
    try:
        with pytest.raises(DataSourceError, match="quotedRegexColumnNames to false"):
            open_source(frame)
    finally:
        spark.conf.unset("spark.sql.parser.quotedRegexColumnNames")
