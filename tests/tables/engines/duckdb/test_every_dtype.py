"""Whatever holds the values of a column, they are read as those of a column declared of their kind.

A holder is a column of pandas, polars or Arrow, one of categories or of objects, or a CSV file.  A
question of its column is answered as that of a table of DuckDB whose column is declared, or it is
refused by the types alone.
"""

from __future__ import annotations

import csv
import datetime
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.expressions.timeline import Timeline
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Cells, Moments, Rows

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
        "month": X.month() == 2,
        "hour": X.hour() == 23,
        "text": X == "a",
    }
    found = {}
    for name, request in asked.items():
        found[name] = _fate(lambda r=request: Query(source, OneRowEach()).run([r]).of(r))
    for name, where in conditions.items():
        found[name] = _fate(
            lambda w=where: Query(source, OneRowEach(), where=w).run([Rows()]).of(Rows())
        )
    found["groups"] = _fate(
        lambda: Query(source, OneRowEach(), by={"x": X}, keys=keys).run([Rows()]).of(Rows())
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
    with in_duckdb(values, declared, arrow) as source:
        expected, typed = answers(source, kind, keys), source.columns["x"]
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


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", CELLS)
def test_a_csv_file_answers_as_a_declared_column(kind, tmp_path):
    values, declared, arrow, keys = VALUES[kind]
    with in_duckdb(values, declared, arrow) as source:
        expected = answers(source, kind, keys)
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
        assert Query(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [4]
        with pytest.raises(UsageError, match=r"the column 'x' (has a type|holds intervals)"):
            Query(source, OneRowEach(), by={"x": X}, keys=["(-1, 1]"])
