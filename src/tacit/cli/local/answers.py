"""The answers of a table, read as a local question takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tacit.errors import DataSourceError, UsageError, did_you_mean

if TYPE_CHECKING:
    from tacit.local import Oracle
    from tacit.tables.open_source import Source

__all__ = ["answers_of", "reader_of"]

Reader = Callable[[Any], Any]
_AT_ONCE = 1 << 16
BETWEEN = ";"
"""What stands between the items of a set in one field."""


def reader_of(oracle: Oracle) -> Reader:
    """Return how one field, or one line of a terminal, is read; an empty one is missing.

    Raises:
        UsageError: a question with several answers.
    """
    from tacit import local

    if isinstance(oracle, (local.AttributeSplitting, local.KeyValue)) or (
        type(oracle) is local.AttributeSampling
    ):
        raise UsageError("a person has several answers to this question, each in its own column")
    if isinstance(oracle, local.PaddedSets):
        return _members
    return _answer


def _answer(cell: Any) -> Any:
    return None if cell == "" else cell


def _members(cell: Any) -> list[str]:
    """Return the items of a set that is written in one field."""
    return [part.strip() for part in str(cell or "").split(BETWEEN) if part.strip()]


def answers_of(source: Source, column: str | None, oracle: Oracle) -> Iterator[Any]:
    """Return the answers in a table, one a person.

    A cell that cannot be read is a missing answer, as it is to every other command.

    Args:
        source: the table.
        column: its column; a question of several attributes or keys takes the columns of their
            names, and none here.
        oracle: the question.

    Raises:
        UsageError: a column is missing, or there is one too many.
        DataSourceError: a table that cannot be read, a column that is not there.
    """
    from tacit import local

    if isinstance(oracle, local.KeyValue):
        names, readers = [name for name, _ in oracle.parts], None
    elif type(oracle) in (local.AttributeSplitting, local.AttributeSampling):
        names = [name for name, _ in oracle.parts]  # type: ignore[attr-defined]
        readers = [reader_of(part) for _, part in oracle.parts]  # type: ignore[attr-defined]
    else:
        if column is None:
            raise UsageError("say which column holds the answers: --column COL")
        read = reader_of(oracle)
        return (read(fields[0]) for fields in _rows(source, [column]))
    if column is not None:
        raise UsageError(f"this question takes the columns {', '.join(names)}: leave out --column")
    rows = _rows(source, names)
    if readers is None:
        return (dict(zip(names, map(_answer, row), strict=True)) for row in rows)
    return ([read(cell) for read, cell in zip(readers, row, strict=True)] for row in rows)


def _rows(source: Source, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Return the cells of some columns, row by row, in the order of the table."""
    for column in columns:
        if column not in source.schema:
            raise DataSourceError(
                f"{source.name} has no column {column!r}: {did_you_mean(column, source.schema)}"
            )
    engine, named = source.engine, ", ".join(map(source.engine.dialect.identifier, columns))
    numbered = engine.materialise(
        f"select row_number() over () as tacit_row, {named} from {source.relation}"
    )
    try:
        count = engine.rows(f"select count(*) from {numbered}")[0][0]
        for start in range(0, count, _AT_ONCE):
            yield from (
                row[1:]
                for row in engine.rows(
                    f"select tacit_row, {named} from {numbered} where tacit_row > {start} "
                    f"and tacit_row <= {start + _AT_ONCE} order by tacit_row"
                )
            )
    finally:
        engine.drop(numbered)
