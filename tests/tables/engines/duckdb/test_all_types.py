"""Every type of the DuckDB that is installed, met on purpose: a new one fails here first."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.expressions.timeline import Timeline
from tacit.tables.live.periods import CountsOverTime, counts_of_periods
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Query as Asked
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Distinct, Moments, Rows

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
GRID = Grid.for_bounds(0, 100)


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
    found = Query(source, unit or OneRowEach(), **way).run([request]).of(request)
    return np.asarray(found).tolist()


def test_every_type_has_a_kind(all_types):
    assert {name: KINDS.get(name, "NEW") for name in all_types.columns} == dict(all_types.columns)


def test_a_gap_is_a_gap_in_a_column_of_any_type(all_types):
    for name in all_types.columns:
        for test, number in ((col(name).is_null(), 1), (~col(name).is_null(), 2)):
            assert ask(all_types, Rows(), where=test) == [number], name


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
            present, missing, total, _ = ask(all_types, Moments(x, GRID))[0]
            assert (present, missing) == (2, 1)
            high = 42 if name == "dec_4_1" else GRID.cells
            assert total in (high, GRID.cells) or name == "dec_4_1", name
            below, above = (ask(all_types, Rows(), where=w) for w in (x <= 0, x > 0))
            assert below == above == [1], name
        elif kind == "date":
            for part in (x.year(), x.month()):
                ask(all_types, Rows(), where=part == 1)
            ask(all_types, Rows(), by={"t": x}, keys=["1970-01-01", None])
            line = Timeline.of(all_types.schema, name, "1970-01-01", "1d", 9)
            step = CountsOverTime(**line.to_json(), branching=2, rows=1, norm="L1")
            counts_of_periods(all_types, Asked(all_types.schema, OneRowEach()), step, 0, 8)


@pytest.mark.few(7)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("way", ["arrow", "stream", "polars", "pandas", "parquet"])
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
        assert ask(source, Rows(), where=t.year() == 2023) == [2]
        assert ask(source, Rows(), where=t.hour() == 22) == [1]
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
        tests = [t.is_null(), t <= "1970-01-01", t > "2000-01-01", t.year() == 1970]
        assert [ask(source, Rows(), where=w)[0] for w in tests] == [1, 2, 2, 1]
        assert ask(source, Rows(), where=col("n") > 3) == [2]
