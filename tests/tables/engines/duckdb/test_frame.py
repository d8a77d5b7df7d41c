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
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows
from tacit.tables.spec.privacy_unit import OneRowEach

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
    assert (present, own) in ((999, 0), (1000, GRID.offset("0.5")))


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
            Query(source, OneRowEach(), where=col("l").is_null())
        assert "Zaphod" not in str(caught.value)
