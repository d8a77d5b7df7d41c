"""Open a declared table where it is, and hold it against its declaration."""

from __future__ import annotations

import os
from pathlib import Path

from tacit.errors import UsageError
from tacit.tables.dataset.column import ColumnDeclaration
from tacit.tables.dataset.table import TableDeclaration
from tacit.tables.open_source import Source, open_beside
from tacit.tables.release.opened_table import OpenedTable

__all__ = ["open_joined", "open_public", "open_table"]

_KINDS = {"timestamp": "date"}
"""What the schema calls a declared kind, where it has another word."""
NUMERIC = ("integer", "float", "decimal", "boolean", "undeclared", "missing")


def open_table(said: TableDeclaration, name: str, folder: Path) -> OpenedTable:
    """Open a declared table, and refuse it where it is not as declared; no row is read.

    Args:
        said: the declaration.
        name: its public name.
        folder: where its path begins.

    Raises:
        UsageError: a column that is not there, or of another kind.
        DataSourceError: the table does not exist.
    """
    # The label stands in messages and pictures; the ledger goes by the data set.
    opened = OpenedTable(said.within(folder), said.options(name, folder))
    try:
        _as_declared(opened.source, said, name, folder)
    except BaseException:
        opened.source.close()
        raise
    return opened


def open_public(said: TableDeclaration, name: str, folder: Path, beside: Source) -> Source:
    """Open a public table, to be brought beside another, wherever that is.

    Raises:
        UsageError: as :func:`open_table`.
        DataSourceError: the table does not exist.
    """
    return open_table(said, name, folder).source


def open_joined(
    said: TableDeclaration, name: str, folder: Path, first: TableDeclaration, beside: Source
) -> Source:
    """Open a protected table in the engine of another one, so that one statement reads both.

    Args:
        said: the declaration.
        name: its public name.
        folder: where its path begins.
        first: the declaration of the other.
        beside: the other, opened.

    Raises:
        UsageError: as :func:`open_table`; or the two cannot be read by one engine.
        DataSourceError: the table does not exist.
    """
    if said.place != first.place or (said.place == "url" and said.source != first.source):
        raise UsageError(
            f"{name!r} cannot be joined where it is: protected tables are joined within one "
            "engine: two files, two tables of one PostgreSQL database under the same url, or two "
            "tables of Spark. Copy one of them to where the other is"
        )
    source = open_beside(beside, said.within(folder), said.options(name, folder))
    _as_declared(source, said, name, folder)
    return source


def _as_declared(source: Source, said: TableDeclaration, name: str, folder: Path) -> None:
    if said.place == "spark":
        source.label = said.source
    source.reading = source.reading_from(os.path.realpath(folder))
    for key in said.key:
        source.schema.column(key)
    for column, one in said.columns.items():
        _fits(source.schema.column(column).kind, column, one, name)


def _fits(kind: str, column: str, said: ColumnDeclaration, table: str) -> None:
    """Refuse a column that holds another kind than is declared."""
    declared = _KINDS.get(str(said.kind), said.kind)
    if isinstance(declared, str) and kind not in (declared, "missing"):
        raise UsageError(f"{column!r} of {table!r} is declared {said.kind}, and holds {kind}")
    said.refuse_keys(kind, f"{column!r} of {table!r}")
    if said.bounds is not None and kind not in NUMERIC:
        raise UsageError(f"{column!r} of {table!r} has bounds, and holds {kind}")
