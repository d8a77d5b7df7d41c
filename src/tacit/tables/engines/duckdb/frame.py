"""Open a pandas or polars frame for DuckDB: by the names and types of its columns alone.

What has one type for all its cells is read in place, or by the type that Arrow declares.  A column
of Python objects is undeclared: at the first query each of its cells becomes text by the rule of
its own type (:mod:`tacit.tables.engines.duckdb.frame_cells`).  So is a column of categories that
are text, numbers, truth values or objects; one of dates or times is read as these.  A column of a
type that has no reading (periods, intervals, complex numbers), and one of categories of such a
type, is refused where a question names it, and hinders no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tacit.errors import DataSourceError
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.arrow import as_shown, names_of, shown_schema, without_zone
from tacit.tables.engines.duckdb.columns import column_of
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.frame_cells import texts

__all__ = ["open_pandas", "open_polars"]

_NULLABLE = {
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "boolean"),
}
_ARROW_CATEGORIES = (
    *("string", "large_string", "string_view", "bool", "int", "uint", "float", "double"),
    *("halffloat", "decimal"),
)


def open_pandas(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of a pandas frame and its columns; no cell is read.

    Raises:
        DataSourceError: columns that are not named by text, or twice by one.
    """
    for place, name in enumerate(table.columns, start=1):
        if not isinstance(name, str):
            raise DataSourceError(
                f"column {place} of the pandas table is named by {type(name).__name__}, not by "
                "text: give names, as in table.rename(columns=str) or table.columns = ['id', 'age']"
            )
    names = names_of(table.columns)
    refuse_like_names(names)
    if names != list(table.columns):
        table = table.set_axis(names, axis=1)
    types = {name: _type_read(dtype) for name, dtype in table.dtypes.items()}
    how = {name: _reading(dtype) for name, dtype in types.items()}
    plain = [name for name in names if how[name] == "plain"]
    declared = {name: _sql_type(types[name]) for name in plain}
    declared |= _arrow_columns(types, how, engine)
    for name, dtype in types.items():
        if how[name] == "zoned":
            declared[name] = _sql_type(f"datetime64[{dtype.unit}]")
        elif how[name] == "other":
            declared[name] = "BOOLEAN"
    columns = [_column(name, how[name], declared, types[name]) for name in names]
    numpy = all(type(dtype).__module__.startswith("numpy") for dtype in table.dtypes)
    if names and numpy and len(plain) == len(names):
        return engine.register(table), Schema(columns)

    def made() -> Any:
        cells = {name: _cells(_as_read(table[name], types[name]), how[name]) for name in names}
        return _as_arrow(cells) if "arrow" in how.values() else cells

    return _later(made, columns, engine, declared), Schema(columns)


def _arrow_columns(
    types: Mapping[str, Any], how: dict[str, str], engine: DuckEngine
) -> dict[str, str]:
    """Return the types of columns that are held in Arrow; those without a reading become others."""
    names = [name for name, reading in how.items() if reading == "arrow"]
    if not names:
        return {}
    import pyarrow as pa

    shape = pa.schema([(name, types[name].pyarrow_dtype) for name in names])
    _, columns, found = shown_schema(shape, engine)
    how.update({c.name: "other" for c in columns if c.kind == "other"})
    return found


def _as_arrow(cells: dict[str, Any]) -> Any:
    import pyarrow as pa

    text = {n: pa.string() for n, c in cells.items() if isinstance(c, np.ndarray)}
    whole = pa.table({n: pa.array(column, text.get(n)) for n, column in cells.items()})
    bare = [field.with_type(without_zone(field.type)) for field in whole.schema]
    return as_shown(whole, pa.schema(bare))


def open_polars(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of a polars frame or lazy frame and its columns; no row is read."""
    import polars as pl

    lazy = isinstance(table, pl.LazyFrame)
    schema = table.collect_schema() if lazy else table.schema
    names = names_of(schema)
    refuse_like_names(names)
    kinds = dict(zip(names, schema.dtypes(), strict=True))
    how = {name: _polars_reading(kind) for name, kind in kinds.items()}
    plain = {n: kind for n, kind in kinds.items() if how[n] == "plain"}
    declared: dict[str, str] = {}
    if plain:
        shape = pl.DataFrame(schema=plain).to_arrow().schema
        shown, found, declared = shown_schema(shape, engine)
        how.update({n: "zoned" for n in plain if shape.field(n).type != shown.field(n).type})
        how.update({c.name: "other" for c in found if c.kind == "other"})
    declared |= {n: _WIDE[str(kinds[n])] for n in names if how[n] == "wide"}
    declared |= {n: "BOOLEAN" for n in names if how[n] == "other"}
    columns = [_column(name, how[name], declared, kinds[name]) for name in names]
    if not lazy and set(how.values()) <= {"plain"} and names == list(schema):
        return engine.register(table), Schema(columns)

    def made() -> Any:
        whole = table.collect() if lazy else table
        return pl.DataFrame(
            [_polars_cells(whole.to_series(i), name, how[name]) for i, name in enumerate(names)]
        )

    return _later(made, columns, engine, declared), Schema(columns)


_WIDE = {"Int128": "HUGEINT", "UInt128": "UHUGEINT"}
"""Types of polars that the engine does not take from it, but from text."""


def _polars_reading(kind: Any) -> str:
    name = str(kind)
    if name == "Object":
        return "undeclared"
    return "wide" if name in _WIDE else "half" if name == "Float16" else "plain"


def _polars_cells(cells: Any, name: str, how: str) -> Any:
    """Return the cells of a series as the engine reads them."""
    import polars as pl

    if how == "undeclared":
        return pl.Series(name, list(texts(cells.to_list())), dtype=pl.String)
    if how == "other":
        there = cells.is_not_null().to_list()
        return pl.Series(name, [mark or None for mark in there], dtype=pl.Boolean)
    if how == "zoned":
        whole = cells.to_physical()
        return whole.cast(pl.Datetime(cells.dtype.time_unit)).alias(name)
    return cells.cast({"wide": pl.String, "half": pl.Float32}.get(how, cells.dtype)).alias(name)


def _type_read(dtype: Any) -> Any:
    """Return the type that a column is read by: of categories of dates or times theirs."""
    if type(dtype).__name__ != "CategoricalDtype":
        return dtype
    own = dtype.categories.dtype
    return own if _reading(own) == "zoned" or getattr(own, "kind", "") == "M" else dtype


def _reading(dtype: Any) -> str:
    """Return how a column is read, by its type alone."""
    name, family = str(dtype), type(dtype).__name__
    if family == "ArrowDtype":
        return "arrow"
    if family == "CategoricalDtype":
        return "undeclared" if _says_something(dtype.categories.dtype) else "other"
    if name == "object":
        return "undeclared"
    if family == "StringDtype":
        return "text"
    if family == "DatetimeTZDtype":
        return "zoned"
    kind = getattr(dtype, "kind", "")
    numpy = type(dtype).__module__.startswith("numpy")
    if name in _NULLABLE or (numpy and kind in "biuM"):
        return "plain"
    if numpy and kind == "f":
        return {2: "half", 4: "plain", 8: "plain"}.get(dtype.itemsize, "other")
    return "other"


def _says_something(dtype: Any) -> bool:
    """Whether categories of a type are text, numbers, truth values or objects, each as text."""
    how = _reading(dtype)
    if how != "arrow":
        return how in ("plain", "half", "text", "undeclared")
    return str(dtype.pyarrow_dtype).startswith(_ARROW_CATEGORIES)


def _column(name: str, how: str, declared: dict[str, str], dtype: Any) -> Column:
    if how == "other":
        kind = getattr(getattr(dtype, "categories", None), "dtype", dtype)
        problem = (
            "has a type that has no place in a private statistic; turn it into numbers, text, "
            "dates or truth values"
        )
        if type(kind).__name__ == "IntervalDtype":
            problem = (
                "holds intervals, as pandas.cut makes them; turn them into text with .astype(str), "
                f"or cut the numbers in the question: tc.col({name!r}).cut([0, 10, 20])"
            )
        return Column(name, "other", "VARCHAR", problem)
    fixed = {"undeclared": "VARCHAR", "text": "VARCHAR", "half": "FLOAT"}
    column = column_of(name, fixed.get(how) or declared[name])
    return replace(column, kind="undeclared") if how == "undeclared" else column


def _sql_type(dtype: Any) -> str:
    """Return the engine's type of a column that is read as it is.

    >>> _sql_type("Int64"), _sql_type("uint8"), _sql_type("datetime64[ns]")
    ('BIGINT', 'UTINYINT', 'TIMESTAMP_NS')
    """
    name = str(dtype).lower()
    if name.startswith("datetime64"):
        unit = name[11:-1].upper()
        return "TIMESTAMP" if unit == "US" else f"TIMESTAMP_{unit}"
    if name.startswith("bool"):
        return "BOOLEAN"
    sign = "U" if name.startswith("u") else ""
    whole = {"8": "TINYINT", "16": "SMALLINT", "32": "INTEGER", "64": "BIGINT"}
    fixed = {"float32": "FLOAT", "float64": "DOUBLE"}
    return fixed.get(name) or sign + whole[name.lstrip("uint")]


def _as_read(column: Any, dtype: Any) -> Any:
    """Return a column of categories that are read by their own type as that type."""
    return column if column.dtype == dtype else column.astype(dtype)


def _cells(column: Any, how: str) -> Any:
    if how in ("undeclared", "text"):
        return texts(column.tolist())
    if how == "zoned":
        return column.dt.tz_convert("UTC").dt.tz_localize(None)
    if how == "other":
        return column.notna().astype("boolean").replace(False, None)
    # a copy in order: DuckDB cannot take every view of an array
    return column.astype("float32") if how == "half" else column.copy()


def _later(
    made: Callable[[], Any], columns: list[Column], engine: DuckEngine, declared: dict[str, str]
) -> str:
    """Return a table that the first query fills; ``declared`` are types that the engine stated."""
    table = engine.empty_table({c.name: declared.get(c.name, c.declared) for c in columns})
    engine.before_reading(partial(_fill, made, columns, table, engine))
    return table


def _fill(made: Callable[[], Any], columns: list[Column], table: str, engine: DuckEngine) -> None:
    found = made()
    if isinstance(found, dict):
        import pandas

        found = pandas.DataFrame(found)
    names = [engine.dialect.identifier(c.name) for c in columns]
    listed = ", ".join(names)
    relation = engine.register(found)
    with engine.all_or_nothing():
        engine.rows(f"insert into {table} ({listed}) select {listed} from {relation}")
