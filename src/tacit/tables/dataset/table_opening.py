"""Open a declared table where it is, and hold it against its declaration."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import UsageError
from tacit.tables.dataset.column import ColumnDeclaration
from tacit.tables.dataset.table import TableDeclaration
from tacit.tables.release.opened_table import OpenedTable

__all__ = ["open_table"]

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
        DataSourceError: the table is not there.
    """
    # The label stands in messages and pictures; the ledger goes by the data set.
    opened = OpenedTable(said.within(folder), said.options(name, folder))
    try:
        for key in said.key:
            opened.source.schema.column(key)
        for column, one in said.columns.items():
            _fits(opened.source.schema.column(column).kind, column, one, name)
    except BaseException:
        opened.source.close()
        raise
    return opened


def _fits(kind: str, column: str, said: ColumnDeclaration, table: str) -> None:
    """Refuse a column that holds another kind than is declared."""
    declared = _KINDS.get(str(said.kind), said.kind)
    if isinstance(declared, str) and kind not in (declared, "missing"):
        raise UsageError(f"{column!r} of {table!r} is declared {said.kind}, and holds {kind}")
    if said.bounds is not None and kind not in NUMERIC:
        raise UsageError(f"{column!r} of {table!r} has bounds, and holds {kind}")
