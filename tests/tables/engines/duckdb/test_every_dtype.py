"""Whatever holds the values of a column, they are read as those of a column declared of their kind.

A holder is a column of pandas, polars or Arrow, one of categories or of objects, or a CSV file.  A
question of its column is answered as that of a table of DuckDB whose column is declared, or it is
refused by the types alone."""

from __future__ import annotations

import csv
import datetime
import functools
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.expressions.timeline import Timeline
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Query as Asked
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Distinct, Moments, Rows
from tacit.tables.streaming.periods import CountsOverTime, counts_of_periods

X, GRID = col("x"), Grid.for_bounds(0, 10)
DAY, UTC = datetime.date(2024, 1, 1), datetime.UTC
TIMES = [
    datetime.datetime(2024, 1, 1, 0, 30, tzinfo=UTC),
    datetime.datetime(2024, 1, 2, 23, 30, 5, tzinfo=UTC),
    None,
    datetime.datetime(2024, 1, 1, tzinfo=UTC),
]
PLAIN_TIMES = [t and t.replace(tzinfo=None) for t in TIMES]
VALUES = {
    "integer": ([1, 2, None, 1], "bigint", pa.int64(), [1, 2, 7, None]),
    "small": ([1, 2, None, 1], "tinyint", pa.int8(), [1, 2, 7, None]),
    "double": ([1.0, 2.5, None, 3.0], "double", pa.float64(), [1, 2, 3]),
    "whole double": ([1.0, 2.0, None, 3.0], "double", pa.float64(), [1, 2, 3, None]),
    "decimal": (
        [Decimal("1.00"), Decimal("2.50"), None, Decimal("3.00")],
        *("decimal(5, 2)", pa.decimal128(5, 2), [1, 2, 3]),
    ),
    "boolean": ([True, False, None, True], "boolean", pa.bool_(), [True, False, None]),
    "text": (["a", "b", None, "2024-01-01"], "varchar", pa.string(), ["a", "2024-01-01", None]),
    "date": ([DAY, datetime.date(1960, 2, 29), None, DAY], "date", pa.date32(), [DAY, None]),
    "written date": ([DAY, datetime.date(1960, 2, 29), None, DAY], "date", pa.date32(), [str(DAY)]),
    "time": (PLAIN_TIMES, "timestamp", pa.timestamp("us"), [str(DAY), "2024-01-02"]),
    "far time": (PLAIN_TIMES, "timestamp", pa.timestamp("ns"), [DAY]),
    "moment": (TIMES, "timestamptz", pa.timestamp("us", "UTC"), [DAY, None]),
}
"""By kind: values, the declared types of DuckDB and Arrow, and keys of groups."""


def in_duckdb(values, declared, arrow):
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    connection.execute(f"create table t (n int, x {declared})")
    connection.executemany("insert into t values (?, ?)", list(enumerate(values)))
    return open_source(connection, "t")


@functools.cache
def declared_answers(kind):
    """What a table of DuckDB answers whose column is declared, and that column."""
    values, declared, arrow, keys = VALUES[kind]
    with in_duckdb(values, declared, arrow) as source:
        return answers(source, kind, keys), source.columns["x"]


def frame(make):
    return lambda values, declared, arrow: open_source(make(values, arrow))


def pandas_plain(values, arrow):
    return pd.DataFrame({"x": pa.array(values, arrow).to_pandas()})


def pandas_categories(values, arrow):
    return pd.DataFrame({"x": pandas_plain(values, arrow)["x"].astype("category")})


def pandas_object_categories(values, arrow):
    known = list(dict.fromkeys(v for v in values if v is not None))
    dtype = pd.CategoricalDtype(pd.Index(known, dtype=object))
    return pd.DataFrame({"x": pd.Series(values, dtype=object).astype(dtype)})


def pandas_objects(values, arrow):
    return pd.DataFrame({"x": pd.Series(values, dtype=object)})


def pandas_arrow(values, arrow):
    return pd.DataFrame({"x": pd.Series(pa.array(values, arrow), dtype=pd.ArrowDtype(arrow))})


def pandas_arrow_categories(values, arrow):
    return pd.DataFrame({"x": pandas_arrow(values, arrow)["x"].astype("category")})


def polars_objects(values, arrow):
    return pl.DataFrame({"x": pl.Series(values, dtype=pl.Object)})


HOLDERS = {
    "pandas": frame(pandas_plain),
    "pandas categories": frame(pandas_categories),
    "pandas categories of objects": frame(pandas_object_categories),
    "pandas objects": frame(pandas_objects),
    "pandas arrow": frame(pandas_arrow),
    "pandas categories of arrow": frame(pandas_arrow_categories),
    "polars": frame(lambda values, arrow: pl.DataFrame(pa.table({"x": pa.array(values, arrow)}))),
    "polars objects": frame(polars_objects),
    "arrow": frame(lambda values, arrow: pa.table({"x": pa.array(values, arrow)})),
    "arrow dictionary": frame(
        lambda values, arrow: pa.table({"x": pa.array(values, arrow).dictionary_encode()})
    ),
}


def answers(source, kind, keys):
    """Return what each question finds, before noise; None where it is refused."""
    asked = {
        "sum": Moments(X, GRID),
        "histogram": Bins(X, GRID, (0, GRID.cells // 2, GRID.cells)),
        "median": Cells(X, GRID),
    }
    conditions = {
        "is_null": X.is_null(),
        "above": X > 1,
        "equal": keys[0] == X,
        "among": X.is_in([key for key in keys if key is not None]),
        "true": X,
        "after": X > "2023-12-31",
        "month": X.dt.month() == 2,
        "hour": X.dt.hour() == 23,
        "text": X == "a",
    }
    found = {}
    for name, request in asked.items():
        found[name] = _fate(lambda r=request: IntegerQuery(source, OneRowEach()).run([r]).of(r))
    for name, where in conditions.items():
        found[name] = _fate(
            lambda w=where: IntegerQuery(source, OneRowEach(), where=w).run([Rows()]).of(Rows())
        )
    found["groups"] = _fate(
        lambda: IntegerQuery(source, OneRowEach(), by={"x": X}, keys=keys).run([Rows()]).of(Rows())
    )
    found["periods"] = _fate(lambda: _periods(source, kind))
    return found


def _fate(question):
    try:
        return repr([part.tolist() if hasattr(part, "tolist") else part for part in question()])
    except UsageError:
        return None


def _periods(source, kind):
    start, every = (1, 1) if kind in ("integer", "small") else ("2024-01-01", "1d")
    line = Timeline.of(source.schema, "x", start, every, 2)
    place, inside = line.sql(source.schema, source.engine.dialect, 2)
    sql = f"select {place} from {source.relation} as tacit_rows where {inside}"
    return sorted(source.engine.rows(sql))


@pytest.mark.few(12)
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("holder", HOLDERS)
def test_every_holder_answers_as_a_declared_column_or_refuses(holder, kind):
    values, declared, arrow, keys = VALUES[kind]
    expected, typed = declared_answers(kind)
    with HOLDERS[holder](values, declared, arrow) as source:
        found, own = answers(source, kind, keys), source.columns["x"]
        declares_it = own == typed
    for name, wanted in expected.items():
        if wanted is None:  # where no type refuses it, what does not fit is missing
            assert found[name] is None or own == "undeclared", name
        elif declares_it or own == "undeclared" or found[name] is not None:
            assert found[name] == wanted, name
    assert sum(each is not None for each in found.values()) >= 3


CELLS = {
    **dict.fromkeys(("integer", "double", "whole double", "decimal", "text", "date"), str),
    "boolean": str,
    "time": str,
    "moment": lambda value: value.astimezone(datetime.timezone(datetime.timedelta(hours=2))),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", CELLS)
def test_a_csv_file_answers_as_a_declared_column(kind, tmp_path):
    values, _, _, keys = VALUES[kind]
    expected, _ = declared_answers(kind)
    with (tmp_path / "x.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [["" if v is None else CELLS[kind](v), i] for i, v in enumerate(values)]
        csv.writer(file).writerows([["x", "n"], *rows])
    with open_source(tmp_path / "x.csv") as source:
        found = answers(source, kind, keys)
    for name, wanted in expected.items():
        if wanted is not None:
            assert found[name] == wanted, name


@pytest.mark.parametrize(
    "cells",
    [
        pd.cut(range(4), [-1, 1, 9]),
        pd.qcut(range(4), 2),
        pd.Categorical(pd.to_timedelta([1, 2, 1, 2], unit="s")),
        pd.Categorical(pd.period_range("2024", periods=4)),
        pd.Categorical(pd.Series([b"a", b"b"] * 2, dtype=pd.ArrowDtype(pa.binary()))),
        pd.Categorical(pd.Series([datetime.time(1)] * 4, dtype=pd.ArrowDtype(pa.time64("us")))),
    ],
    ids=lambda cells: str(cells.categories.dtype),
)
def test_categories_that_say_nothing_are_refused_by_their_type(cells):
    with open_source(pd.DataFrame({"x": cells, "n": range(4)})) as source:
        assert source.columns == {"x": "other", "n": "integer"}
        found = answers(source, "text", ["a"])
        assert found.pop("is_null") == "[0]"  # whether a cell is there is known of every type
        assert not any(found.values())
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [4]
        with pytest.raises(UsageError, match=r"the column 'x' (has a type|holds intervals)"):
            IntegerQuery(source, OneRowEach(), by={"x": X}, keys=["(-1, 1]"])


@pytest.mark.parametrize("categories", [True, False], ids=["categories", "objects"])
@pytest.mark.parametrize(
    "cell",
    [(1, 2), frozenset([1]), b"a", 1j, pd.Period("2024"), pd.Timedelta(1), pd.Interval(0, 1)],
    ids=lambda cell: type(cell).__name__,
)
def test_no_cell_decides_what_becomes_of_objects(cell, categories):
    """Categories may be those of the rows: a refusal by them would show that a row has another."""
    for others in ([], ["a"], ["a", 5]):
        cells = pd.Series([cell] * 3 + others, dtype=object)
        if categories:
            cells = cells.astype(
                pd.CategoricalDtype(pd.Index([cell, *others], dtype=object, tupleize_cols=False))
            )
        with open_source(pd.DataFrame({"x": cells})) as source:
            assert source.columns == {"x": "undeclared"}
            assert ask(source, Rows(), where=X.is_null()) == [3]
            assert ask(source, Rows(), by={"x": X}, keys=["a"]) == [len(others) > 0]


# Every type of the DuckDB that is installed, met on purpose: a new one fails here first.


KINDS = {
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "hugeint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uint", "ubigint"), "integer"),
    **dict.fromkeys(("uhugeint", "bignum"), "decimal"),
    **dict.fromkeys(("dec_4_1", "dec_9_4", "dec_18_6", "dec38_10"), "decimal"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "date"),
    **dict.fromkeys(("timestamp_tz", "timestamp_tz_ns"), "date"),
    **dict.fromkeys(("uuid", "varchar", "small_enum", "medium_enum", "large_enum"), "text"),
    **dict.fromkeys(("time", "time_ns", "time_tz", "interval", "blob", "bit"), "other"),
    **dict.fromkeys(("int_array", "double_array", "date_array", "timestamp_array"), "other"),
    **dict.fromkeys(("timestamptz_array", "varchar_array", "nested_int_array"), "other"),
    **dict.fromkeys(("struct", "empty_struct", "struct_of_arrays", "array_of_structs"), "other"),
    **dict.fromkeys(("map", "union", "tuple", "geometry", "variant"), "other"),
    **dict.fromkeys(("fixed_int_array", "fixed_varchar_array"), "other"),
    **dict.fromkeys(("fixed_nested_int_array", "fixed_nested_varchar_array"), "other"),
    **dict.fromkeys(("fixed_struct_array", "struct_of_fixed_array"), "other"),
    **dict.fromkeys(("fixed_array_of_int_list", "list_of_fixed_int_array"), "other"),
}
ALL_TYPES_GRID = Grid.for_bounds(0, 100)


@pytest.fixture(scope="module", params=["table", "view", "relation"])
def all_types(request):
    """Two rows of the extremes of each type, and one of gaps."""
    connection = duckdb.connect()
    connection.execute("create table every as select * from test_all_types()")
    connection.execute("create view view_of_every as select * from every")
    if request.param == "relation":
        yield open_source(connection.table("every"))
    else:
        yield open_source(connection, "every" if request.param == "table" else "view_of_every")


def ask(source, request, unit=None, **way):
    found = IntegerQuery(source, unit or OneRowEach(), **way).run([request]).of(request)
    return np.asarray(found).tolist()


def test_every_type_has_a_kind(all_types):
    assert {name: KINDS.get(name, "NEW") for name in all_types.columns} == dict(all_types.columns)


def test_a_gap_is_a_gap_in_a_column_of_any_type(all_types):
    for name in all_types.columns:
        assert ask(all_types, Rows(), by={"gap": col(name).is_null()}, keys=[True, False]) == [
            *(1, 2)
        ], name


@pytest.mark.few(3)
def test_every_type_is_read_for_what_it_is(all_types):
    for name, kind in all_types.columns.items():
        x = col(name)
        if kind == "other":
            with pytest.raises(UsageError, match=name):
                ask(all_types, Distinct(x))
            continue
        far = kind == "date" or name == "hugeint"  # beyond the keys that Python can write
        assert far or ask(all_types, Distinct(x)) == [2], name
        assert ask(all_types, Rows(), PersonUnit(name, 1)) == [2 * PersonUnit(name, 1).one], name
        if kind in ("integer", "float", "decimal"):
            present, missing, total, _ = ask(all_types, Moments(x, ALL_TYPES_GRID))[0]
            assert (present, missing) == (2, 1)
            high = 42 if name == "dec_4_1" else ALL_TYPES_GRID.cells
            assert total in (high, ALL_TYPES_GRID.cells) or name == "dec_4_1", name
            below, above = (ask(all_types, Rows(), where=w) for w in (x <= 0, x > 0))
            assert below == above == [1], name
        elif kind == "date":
            for part in (x.dt.year(), x.dt.month()):
                ask(all_types, Rows(), where=part == 1)
            ask(all_types, Rows(), by={"t": x}, keys=["1970-01-01", None])
            line = Timeline.of(all_types.schema, name, "1970-01-01", "1d", 9)
            step = CountsOverTime(**line.to_json(), branching=2, rows=1, norm="L1")
            counts_of_periods(all_types, Asked(all_types.schema, OneRowEach()), step, 0, 8)


TIME_WAYS, TIME_UNITS = ("arrow", "stream", "polars", "pandas", "parquet"), ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Paris")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("way", "unit", "zone"),
    [
        (way, unit, ZONES[(i + j) % 3])
        for i, way in enumerate(TIME_WAYS)
        for j, unit in enumerate(TIME_UNITS)
    ],
)
def test_a_time_with_a_zone_is_read_in_utc(tmp_path, unit, zone, way):
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    moments = [0, 1_700_000_000 * scale, 1_704_067_199 * scale, None]
    table = pa.table({"t": pa.array(moments, pa.timestamp(unit, zone)), "n": [1, 2, 3, 4]})
    if way == "polars":
        source = open_source(pytest.importorskip("polars").from_arrow(table))
    elif way == "pandas":
        source = open_source(table.to_pandas())
    elif way == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        source = open_source(tmp_path / "t.parquet")
    else:
        source = open_source(table if way == "arrow" else table.to_reader())
    t, days = col("t"), ["1970-01-01", "2023-11-14", "2023-12-31", "2024-01-01", None]
    with source:
        assert ask(source, Rows(), by={"t": t}, keys=days) == [1, 1, 1, 0, 1]
        assert ask(source, Rows(), where=t > "2023-11-14") == [1]
        assert ask(source, Rows(), where=t.dt.year() == 2023) == [2]
        assert ask(source, Rows(), where=t.dt.hour() == 22) == [1]
        line = Timeline.of(source.schema, "t", "2023-11-01", "30d", 3)
        step = CountsOverTime(**line.to_json(), branching=2, rows=1, norm="L1")
        counts = counts_of_periods(source, Asked(source.schema, OneRowEach()), step, 0, 2)
        assert list(counts)[:2] == [1, 0]


FAR = [(1 << 63) - 1, -(1 << 63) + 1, 10**17]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("way", ["arrow", "stream", "polars", "lazy", "pandas"])
def test_a_far_time_of_a_frame_moves_no_other_cell(way, zone):
    kind = pa.timestamp("ms", zone)
    table = pa.table({"t": pa.array([0, *FAR, None], kind), "n": [1, 2, 3, 4, 5]})
    if way in ("polars", "lazy"):
        frame = pytest.importorskip("polars").from_arrow(table)
        source = open_source(frame if way == "polars" else frame.lazy())
    elif way == "pandas":
        source = open_source(table.to_pandas())
    else:
        source = open_source(table if way == "arrow" else table.to_reader())
    with source:
        t = col("t")
        tests = [t.is_null(), t <= "1970-01-01", t > "2000-01-01", t.dt.year() == 1970]
        assert [ask(source, Rows(), where=w)[0] for w in tests] == [1, 2, 2, 1]
        assert ask(source, Rows(), where=col("n") > 3) == [2]


def decimals(cells, digits, places):
    """Return cells that pyarrow does not check, as it does not check its sums and products."""
    stored = b"".join(cell.to_bytes(16, "little", signed=True) for cell in cells)
    return pa.Array.from_buffers(
        pa.decimal128(digits, places), len(cells), [None, pa.py_buffer(stored)]
    )


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("way", "digits"),
    [
        *(("parquet", 38), ("arrow", 5), ("stream", 30), ("feather", 38), ("arrow", 38)),
        *(("parquet", 30), ("stream", 18), ("feather", 5), ("polars", 38)),
    ],
)
def test_a_decimal_of_more_digits_than_its_type_is_missing(tmp_path, digits, way):
    """The least number of 128 bits failed each question of it, and ended the instance of all."""
    far = 1 << 127 if way != "parquet" or digits == 38 else 10**digits
    table = pa.table(
        {"x": decimals([500, far - (far == 1 << 127), -far, 100], digits, 2), "n": range(4)}
    )
    if way in ("parquet", "feather"):
        path = tmp_path / f"t.{way}"
        (pq.write_table if way == "parquet" else feather.write_feather)(table, path)
        source = open_source(path)
    elif way == "polars":
        source = open_source(pytest.importorskip("polars").from_arrow(table))
    else:
        source = open_source(table if way == "arrow" else table.to_reader())
    x = col("x")
    with source:
        assert ask(source, Rows(), where=x == 5) == [1]
        assert ask(source, Moments(x, Grid.for_bounds(0, 5)))[0][:2] == [2, 2]
        assert ask(source, Distinct(x)) == [2]
        assert ask(source, Rows(), PersonUnit("x", 1)) == [2 * PersonUnit("x", 1).one]
