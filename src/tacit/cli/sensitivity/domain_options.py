"""The domain that flags describe: records, public values or an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import typer

from tacit.errors import UsageError, did_you_mean

__all__ = ["Population", "domain_of"]

_PANEL = "Which values a release may hold"


def _flag(name: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(name, help=help, metavar=metavar, rich_help_panel=_PANEL)


_NUMBERS = ("integer", "float", "decimal")
_TEXT = "text"


@dataclass(frozen=True)
class Population:
    """A known population, public values, or an interval; and how many the release holds."""

    records: Annotated[
        str | None,
        _flag("--records", "A known population: numbers, separated by commas.", "X,X,..."),
    ] = None
    values: Annotated[
        str | None,
        _flag("--values", "Public values, each of which may occur any number of times.", "X,X,..."),
    ] = None
    interval: Annotated[
        str | None, _flag("--interval", "All numbers in this range.", "LOW:HIGH")
    ] = None
    csv: Annotated[
        str | None,
        _flag("--csv", "A public CSV or Parquet file whose columns are the records.", "FILE"),
    ] = None
    column: Annotated[
        list[str] | None, _flag("--column", "A column of it; may be given several times.", "COL")
    ] = None
    size: Annotated[int | None, _flag("--size", "The number of records in a data set.")] = None


def domain_of(given: Population) -> Any:
    """Return the domain, or one for each column.

    Raises:
        UsageError: none or several of the kinds are given, or values that are no numbers.
    """
    from tacit.cli.shared.flag_values import numbers
    from tacit.statistics import Interval, Records, Values

    kinds = [given.records, given.values, given.interval, given.csv]
    if sum(kind is not None for kind in kinds) != 1:
        raise UsageError(
            "say which values a release may hold, in one way: --records 1,2,5, --values 1,2,3, "
            "--interval 0:100, or --csv file.csv --column name"
        )
    if given.column and given.csv is None:
        raise UsageError("--column names a column of --csv")
    if given.records is not None:
        return Records(numbers(given.records, "a record"), given.size)
    if given.values is not None:
        return Values(numbers(given.values, "a value"), given.size)
    if given.interval is not None:
        low, sign, high = given.interval.partition(":")
        if not sign:
            raise UsageError(f"an interval is LOW:HIGH, such as 0:100, not {given.interval!r}")
        return Interval(low, high, given.size)
    assert given.csv is not None
    columns = _columns(given.csv, given.column or ())
    if len(columns) == 1:
        return Records(next(iter(columns.values())), given.size)
    return Records(columns, given.size)


def _columns(path: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read columns of a public file; with none named, all that hold numbers.

    The population is public, so its cells may say what a column of a CSV file holds.
    """
    from tacit.tables import open_source

    with open_source(path) as source:
        for name in names:
            source.schema.column(name)
        readable = [n for n, c in source.schema.items() if c.kind in (*_NUMBERS, "undeclared")]
        quoted = ", ".join(source.engine.dialect.identifier(name) for name in readable)
        rows = source.engine.rows(f"select {quoted} from {source.relation}") if readable else []
        kinds = source.columns
    told = {
        name: [_number(row[place]) if kinds[name] == "undeclared" else row[place] for row in rows]
        for place, name in enumerate(readable)
    }
    numeric = [name for name, cells in told.items() if _TEXT not in cells]
    for name in names:
        if name not in numeric:
            kind = "text" if name in told else kinds[name]
            raise UsageError(f"{name!r} holds {kind}, not numbers; {did_you_mean(name, numeric)}")
    if not numeric:
        raise UsageError(f"{path} has no column of numbers")
    found = {name: told[name] for name in names or numeric}
    for name, values in found.items():
        if None in values:
            raise UsageError(
                f"{name!r} has missing values, and a population has none; leave those rows out"
            )
    return found


def _number(cell: str | None) -> Any:
    """Return the number that a cell says, exactly; text where it says none.

    >>> _number("6.5"), _number("a"), _number(None)
    (Fraction(13, 2), 'text', None)
    """
    from tacit.expressions.cell_grammar import read_cell

    if cell is None:
        return None
    return _TEXT if read_cell("read_number", cell) is None else Fraction(cell.strip(" "))
