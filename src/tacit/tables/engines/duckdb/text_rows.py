"""Files whose cells have no declared types, for DuckDB: rows of text, and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from weakref import proxy

from tacit.errors import UsageError, did_you_mean
from tacit.expressions.dialect import is_unicode
from tacit.expressions.schema import Column, Schema, kind_of
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.csv import (
    LINE_LIMIT,
    TYPES,
    CsvFormat,
    declared_sql,
    file_lines,
    numbers_sql,
)
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.frames import batches_of, import_batches

# Each cell becomes text by its own value, as a cell of a CSV file is text, and is then read as the
# column is declared, or as each question needs it.  No row decides how another is read.  Rows are
# read once, at the first query.
#
# Of JSON lines a line is a row.  Numbers are the text that they are written as; true and false are
# these words; null, a list and an object are missing.  Of a name that occurs twice the last counts.
# A line that is not one object in UTF-8, is nested too deeply or is longer than :data:`LINE_LIMIT`
# is a row in which everything is missing; an empty line is not a row.


_CELLS, _ROWS = 65_536, 2_048  # of a batch, whose rows are of a MiB at most
Cells = list[Any]  # text, or what :func:`_cell_text` makes text of


def text_columns(names: Sequence[str], form: CsvFormat, engine: DuckEngine) -> Schema:
    """Return columns of text, or of the kinds that are declared."""
    refuse_like_names(names, public=False)
    for column in form.types:
        if column not in names:
            raise UsageError(
                f"a kind is declared for {column!r}, and there is no such column; "
                f"{did_you_mean(column, names)}"
            )
    columns = []
    for name in names:
        declared = TYPES[form.types[name]].upper() if name in form.types else "VARCHAR"
        kind = kind_of(declared) if name in form.types else "undeclared"
        numbers = numbers_sql(form, engine.dialect) if kind == "undeclared" else ""
        columns.append(Column(name, kind, declared, numbers=numbers))
    return Schema(columns)


def filled(cell: str, form: CsvFormat, d: Any) -> str:
    """Return a cell with the texts of ``null=`` missing."""
    null = ", ".join(d.literal(text.strip(" ")) for text in form.null)
    return f"(case when trim({cell}, ' ') not in ({null}) then {cell} end)" if null else cell


def open_json_lines(
    files: Sequence[str], form: CsvFormat, engine: DuckEngine
) -> tuple[str, Schema]:
    """Return the relation that the files will be, and its columns; no row is read."""
    if form.header is True and not form.types:
        raise UsageError(
            f"{Path(files[0]).name} has no schema, and its lines are rows: name its columns, "
            "as in header=['id', 'age'], or types={'id': 'text', 'age': 'integer'}"
        )
    names = form.names or tuple(form.types)
    return open_rows(files, names, partial(_json_rows, names=names), form, engine)


def open_rows(
    files: Sequence[str],
    names: Sequence[str],
    rows: Callable[[str], Iterator[Cells]],
    form: CsvFormat,
    engine: DuckEngine,
) -> tuple[str, Schema]:
    """Return the relation that the rows of files will be, and its columns; no row is read."""
    schema = text_columns(names, form, engine)
    table = engine.empty_table({c.name: c.declared for c in schema.values()})
    engine.before_reading(partial(_import, list(files), names, rows, form, table, proxy(engine)))
    return table, schema


def _import(
    files: Sequence[str],
    names: Sequence[str],
    rows: Callable[[str], Iterator[Cells]],
    form: CsvFormat,
    table: str,
    engine: DuckEngine,
) -> None:
    import pyarrow as pa

    d = engine.dialect
    cells = [f"c{index}" for index in range(len(names))]
    schema = pa.schema([(cell, pa.string()) for cell in cells])

    def batches(failed: list[str]) -> Iterator[Any]:
        for path in files:
            try:
                source = rows(path)
                while arrays := _arrays(source, len(names)):
                    yield from batches_of(arrays, schema)
            except Exception:
                failed.append(path)

    picked = [
        declared_sql(filled(cell, form, d), form.types.get(name), form, d)
        for cell, name in zip(cells, names, strict=True)
    ]
    import_batches(table, schema, batches, engine, picked)


def _arrays(rows: Iterator[Cells], n_columns: int) -> list[Any]:
    """Return the columns of the next rows as arrays of text; none at the end."""
    # One list of all cells: as many lists as rows would keep the collector busy.
    part = list(chain.from_iterable(islice(rows, min(max(_CELLS // n_columns, 1), _ROWS))))
    return [_array(part[index::n_columns]) for index in range(n_columns)] if part else []


def _array(cells: Cells) -> Any:
    """Return cells as an array of text; what is empty or no text is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:  # a column of text alone, which takes a third of the time
        array = pa.array(cells, pa.string())
    except (pa.ArrowException, UnicodeError):
        array = pa.array(map(_cell_text, cells), pa.string())
    return pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)


def _json_rows(path: str, names: Sequence[str]) -> Iterator[Cells]:
    read = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_nothing).decode
    empty: Cells = [None] * len(names)
    with open(path, "rb") as file:
        for block in file_lines(file):
            for line in block.split(b"\n"):
                if not line:
                    continue
                row = _object(line, read)
                yield empty if row is None else [*map(row.get, names)]


def _object(line: bytes, read: Callable[[str], Any]) -> dict[str, Any] | None:
    if len(line) > LINE_LIMIT:
        return None
    try:
        row = read(line.decode())
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _nothing(_: str) -> None:
    """Return None for NaN and the infinities, which JSON does not have."""


def _cell_text(cell: Any) -> str | None:
    if cell is True or cell is False:
        return "true" if cell else "false"
    return cell if isinstance(cell, str) and is_unicode(cell) else None
