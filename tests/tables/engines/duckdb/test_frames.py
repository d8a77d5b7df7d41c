"""Data frames are opened by the types of their columns, and no cell decides how another is read."""

from __future__ import annotations

import datetime
import math
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)


class Hostile:
    """An object whose every method raises."""

    def __str__(self):
        raise RuntimeError

    __repr__ = __eq__ = __hash__ = __float__ = __bool__ = __str__


ODD = [
    *(Decimal("NaN"), Decimal("sNaN"), "thirty", b"31", [1], {"a": 1}, None, pd.NA, pd.NaT),
    *(math.nan, math.inf, 1j, "\ud800", "\0", 1 << 9999, Decimal("1e999999"), Hostile()),
    *(datetime.date(1, 1, 1), pd.Timestamp("2024-01-01", tz="Asia/Tokyo"), np.float32(0.5)),
    *(np.datetime64("NaT", "ns"), np.str_("x"), datetime.timedelta(1), uuid.UUID(int=1), True),
]


@pytest.mark.few(15)
@pytest.mark.parametrize("odd", ODD, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("place", [0, 999])
def test_one_odd_cell_moves_no_other(odd, place):
    cells = [31] * 999
    cells.insert(place, odd)
    column = pd.Series(cells, dtype=object)
    with open_source(pd.DataFrame({"age": column})) as source:
        assert source.columns == {"age": "undeclared"}
        found = Query(source, OneRowEach()).run([Rows(), AGE])
    assert found.of(Rows()).tolist() == [1000]
    present, missing, total, _ = found.of(AGE)[0].tolist()
    assert present + missing == 1000
    own = total - 999 * GRID.offset(31)
    read = ((1000, GRID.offset(1)),) if odd is True else ((999, 0), (1000, GRID.offset("0.5")))
    assert (present, own) in read


FRAME = pd.DataFrame(
    {
        "age": pd.array([31, None], dtype="Int64"),
        "half": np.array([0.5, np.nan], dtype="float16"),
        "site": pd.Categorical(["a", None]),
        "year": pd.Categorical([2020, 2021]),
        "text": pd.array(["x", None], dtype="string"),
        "at": pd.to_datetime(["2024-01-01 00:30", None]).tz_localize("Asia/Tokyo"),
        "day": pd.to_datetime(["2024-01-01", None]),
        "odd": [object(), 3],
        "period": pd.period_range("2020", periods=2),
        "complex": [1j, 2j],
        "span": pd.to_timedelta([1, 2]),
        "between": pd.interval_range(0, 2),
        "sparse": pd.arrays.SparseArray([0, 1]),
        "long": np.array([1, 2], dtype=np.longdouble),
    }
)


def test_the_types_of_columns_decide_and_an_unknown_one_hinders_no_other():
    kinds = {
        "age": "integer",
        "half": "float",
        "site": "undeclared",
        "year": "undeclared",
        "text": "text",
        "at": "date",
        "day": "date",
        "odd": "undeclared",
        **dict.fromkeys(("period", "complex", "span", "between", "sparse", "long"), "other"),
    }
    for frame in (FRAME, FRAME.iloc[:0], FRAME.iloc[::-1]):
        with open_source(frame) as source:
            assert source.columns == kinds
            found = Query(source, OneRowEach(), where=col("year") > 2000).run([Rows(), AGE])
            assert found.of(Rows()).tolist() == [len(frame)]
            for name in ("period", "complex", "sparse"):
                with pytest.raises(UsageError, match="no place in a private statistic"):
                    Query(source, OneRowEach(), where=col(name) == 1)
    with open_source(FRAME) as source:
        first = Query(source, OneRowEach(), where=col("at") == "2023-12-31").run([Rows()])
        assert first.of(Rows()).tolist() == [1]  # in UTC


def test_polars_objects_are_undeclared_and_a_lazy_frame_waits():
    frame = pl.DataFrame({"age": pl.Series([31, "x", None], dtype=pl.Object), "n": [1, 2, 3]})
    with open_source(frame) as source:
        assert source.columns == {"age": "undeclared", "n": "integer"}
        assert Query(source, OneRowEach()).run([AGE]).of(AGE)[0][:2].tolist() == [1, 2]
    asked = []

    def noted(part):
        asked.append(len(part))
        return part

    lazy = pl.DataFrame({"age": [31, 45]}).lazy().map_batches(noted, schema={"age": pl.Int64})
    with open_source(lazy) as source:
        assert (source.columns, asked) == ({"age": "integer"}, [])
        assert Query(source, OneRowEach()).run([AGE]).of(AGE)[0][:2].tolist() == [2, 0]
        assert asked == [2]


def test_a_column_that_is_not_named_by_text_is_refused_with_its_place_and_the_remedy():
    for name, kind in ((0, "int"), (("a", "b"), "tuple"), (None, "NoneType")):
        table = pd.DataFrame([[1, 2]], columns=pd.Index(["a", name], dtype=object))
        said = f"column 2 of the pandas table is named by {kind}, not by text: .*columns=str"
        with pytest.raises(DataSourceError, match=said):
            open_source(table)


def test_a_frame_whose_columns_cannot_be_told_apart_is_refused():
    for names in (["a", "a"], ["a", "A"]):
        with pytest.raises(DataSourceError, match="capital letters"):
            open_source(pd.DataFrame([[1, 2]], columns=names))


def test_the_values_of_an_enumeration_stand_in_no_type_and_steer_nothing():
    connection = duckdb.connect()
    connection.execute("create table t as select 'Zaphod'::enum('Zaphod', 'b') as e, 1 as n")
    connection.execute("alter table t add column l enum('Zaphod')[]")
    connection.execute("alter table t add column \"at\" timestamptz default timestamptz 'infinity'")
    frames = (
        connection.sql("from t"),
        pl.DataFrame({"e": ["Zaphod"], "n": [1]}, schema_overrides={"e": pl.Categorical}),
        pl.DataFrame({"e": ["Zaphod"], "n": [1]}, schema_overrides={"e": pl.Enum(["Zaphod"])}),
        pd.DataFrame({"e": pd.Categorical(["Zaphod"]), "n": [1]}),
    )
    for frame in frames:
        with open_source(frame) as source:
            for key, count in (("Zaphod", 1), ("nobody", 0)):
                query = Query(source, OneRowEach(), by={"e": col("e")}, keys=[key])
                assert query.run([Rows()]).of(Rows()).tolist() == [count]
            assert "Zaphod" not in repr([*source.schema.values()])
    with open_source(connection, "t") as source:
        assert source.columns == {"e": "text", "n": "integer", "l": "other", "at": "date"}
        for where, count in ((col("at").is_null(), 1), (col("at") > "2024-01-01", 0)):
            found = Query(source, OneRowEach(), where=where).run([Rows()])
            assert found.of(Rows()).tolist() == [count]
        with pytest.raises(UsageError) as caught:
            Query(source, OneRowEach(), where=col("l") == 1)
        assert "Zaphod" not in str(caught.value)


def _asked(source, test):
    return int(Query(source, OneRowEach(), where=test).run([Rows()]).of(Rows())[0])


@pytest.mark.parametrize("way", ["pandas", "polars", "lazy", "arrow", "stream"])
def test_a_column_without_a_name_is_named_by_its_place(way):
    """R's write.csv gives the column of row names no name, and so does the index of pandas."""
    columns = {"": ["1", "2"], "age": [30, 40]}
    if way == "pandas":
        source = open_source(pd.DataFrame(columns))
    elif way in ("polars", "lazy"):
        frame = pl.DataFrame(columns)
        source = open_source(frame if way == "polars" else frame.lazy())
    else:
        table = pa.table(columns)
        source = open_source(table if way == "arrow" else table.to_reader())
    with source:
        assert list(source.columns) == ["column1", "age"]
        assert _asked(source, col("column1") == "2") == _asked(source, col("age") > 35) == 1


def test_every_type_of_polars_is_read_or_hinders_no_other_column():
    new = {  # types that older releases of polars do not have
        "wide": ("Int128", [(1 << 127) - 1, 5, None]),
        "unsigned": ("UInt128", [(1 << 128) - 1, 5, None]),
        "half": ("Float16", [0.5, float("nan"), None]),
    }
    rows = {
        name: pl.Series(cells, dtype=getattr(pl, kind))
        for name, (kind, cells) in new.items()
        if hasattr(pl, kind)
    } | {
        "list": pl.Series([[1], [], None], dtype=pl.List(pl.Int64)),
        "struct": pl.Series([{"a": 1}, {"a": None}, None]),
        "bytes": pl.Series([b"a", b"", None]),
        "clock": pl.Series([datetime.time(1), datetime.time(2), None]),
        "span": pl.Series([datetime.timedelta(1), datetime.timedelta(2), None]),
        "kind": pl.Series(["a", "b", None], dtype=pl.Categorical),
        "n": pl.Series([1, 2, 3]),
    }
    for frame in (pl.DataFrame(rows), pl.DataFrame(rows).lazy()):
        with open_source(frame) as source:
            for name in rows:
                gaps = 2 if name == "half" else name != "n"
                assert _asked(source, col(name).is_null()) == gaps, name
            for name in {"wide", "unsigned"} & set(rows):
                assert _asked(source, col(name) > 5) == _asked(source, col(name) <= 5) == 1
            if "half" in rows:
                assert _asked(source, col("half") == 0.5) == 1
            with pytest.raises(UsageError, match="list"):
                _asked(source, col("list") == 1)


def test_a_union_of_arrow_hinders_no_other_column():
    kinds = pa.array([0, 1, 0], pa.int8())
    union = pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, None]), pa.array(["a", "b", "c"])])
    dense = pa.UnionArray.from_dense(
        kinds, pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["b"])]
    )
    table = pa.table({"u": union, "v": dense, "n": [1, 2, 3]})
    for given in (table, table.to_reader(), table.to_batches()[0]):
        with open_source(given) as source:
            assert _asked(source, col("n") > 1) == 2
            _asked(source, col("u").is_null())
            with pytest.raises(UsageError, match="'u'"):
                _asked(source, col("u") == 1)
