"""How declared columns of a CSV file are read: as the question would read them, only once."""

from __future__ import annotations

from tacit.expressions.cell_grammar import reading_sql
from tacit.expressions.dialect import Dialect
from tacit.tables.engines.csv.format import CsvFormat

__all__ = ["declared_sql"]

_READINGS = {
    "integer": "read_integer",
    "float": "read_number",
    "boolean": "read_boolean",
    "date": "read_date",
}


def declared_sql(cell: str, kind: str | None, form: CsvFormat, d: Dialect) -> str:
    """Return the SQL of a cell's value in a column of a declared kind; NULL where it does not fit.

    With a format of its own a date is read by DuckDB's ``try_strptime``, which is missing where the
    text does not fit it.

    Args:
        cell: SQL of text.
        kind: what ``types=`` declares, or None.
        form: how dates and times are written.
        d: DuckDB's dialect.
    """
    own = {"date": form.date_format, "timestamp": form.time_format}.get(kind or "")
    if own is not None:
        parsed = f"try_strptime(trim(left({cell}, 100)), {d.literal(own)})"
        low, high = "timestamp '0001-01-01'", "timestamp '9999-12-31 23:59:59'"
        held = f"[case when tacit_t between {low} and {high} then tacit_t end for tacit_t in "
        value = f"{held}[{parsed}]][1]"
        return f"cast({value} as date)" if kind == "date" else value
    if kind == "timestamp":
        seconds = reading_sql("read_seconds", cell, d)
        return f"make_timestamp({seconds} * 1000000)"
    return reading_sql(_READINGS[kind], cell, d) if kind in _READINGS else cell
