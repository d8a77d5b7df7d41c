"""Tables as files of other tools: CSV, Excel, Arrow and Parquet."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import UsageError, need
from tacit.tables.export.columns import Column

__all__ = ["arrow_table", "csv_text", "excel_bytes", "parquet_bytes", "write_file"]

_FORMULA = re.compile(r"[\s'\"]*[=+\-@＝＋－＠]|[\t\r\n]")
_BREAKS = re.compile(r'[",\r\n]')
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767
"""What a sheet of Excel holds: rows with the header, columns, characters of a cell."""
_EXACT = 10**15
"""Excel holds fifteen digits of a number."""


def csv_text(columns: Sequence[Column], *, escape_formulas: bool = True) -> str:
    r"""Return a table as CSV: UTF-8, commas, a line of names, nothing for what is missing.

    Args:
        columns: the table.
        escape_formulas: whether text that a spreadsheet would run as a formula (it begins with
            ``=``, ``+``, ``-`` or ``@`` and is no number) gets an apostrophe before it.

    Source: OWASP, *CSV injection*.

    >>> csv_text([Column("site", ["=1+1", "-5"], False), Column("n", [2, None], True)])
    "site,n\n'=1+1,2\n-5,\n"
    """
    cell = _harmless if escape_formulas else _same
    cells = [c.values if c.number else [cell(value) for value in c.values] for c in columns]
    lines = [[cell(column.name) for column in columns], *zip(*cells, strict=True)]
    return "".join(",".join(map(_field, line)) + "\n" for line in lines)


def _same(value: Any) -> Any:
    return value


def _harmless(value: Any) -> Any:
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def _field(value: Any) -> str:
    """Return a cell; text that is empty, or would end a cell or a line, stands in quotes.

    The writer of the standard library leaves a lone carriage return bare, which others read as the
    end of a line.
    """
    if value is None:
        return ""
    text = str(value)
    if not text or _BREAKS.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def arrow_table(columns: Sequence[Column]) -> Any:
    """Return a table of pyarrow; what is missing is null, in columns that have a type all the same.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    pa = need("pyarrow", "arrow")
    arrays = []
    for column in columns:
        cells = column.plain
        empty = all(cell is None for cell in cells)
        plain = pa.float64() if column.number else pa.string()
        arrays.append(pa.array(cells, plain if empty else None))
    return pa.table(arrays, names=[column.name for column in columns])


def parquet_bytes(columns: Sequence[Column]) -> bytes:
    """Return a table as a Parquet file.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    table = arrow_table(columns)
    out = io.BytesIO()
    need("pyarrow.parquet", "arrow").write_table(table, out)
    return out.getvalue()


def excel_bytes(columns: Sequence[Column], about: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return a table as a workbook of Excel, in which no text is a formula.

    Args:
        columns: the table, on the first sheet.
        about: what a reader should know of it, on the second: names and texts.

    Raises:
        MissingExtraError: XlsxWriter is not installed.
        UsageError: more rows, columns or characters than a sheet holds.
    """
    rows = len(columns[0].values) if columns else 0
    if rows >= _MOST_ROWS or len(columns) > _MOST_COLUMNS:
        raise UsageError(
            f"a sheet of Excel holds {_MOST_ROWS - 1:,} rows and {_MOST_COLUMNS:,} columns, and "
            f"this table has {rows:,} and {len(columns):,}; use to_csv or to_parquet"
        )
    made = need("xlsxwriter", "excel")
    out = io.BytesIO()
    book = made.Workbook(out, {"in_memory": True})
    head = book.add_format({"bold": True, "bottom": 1, "align": "left"})
    fill = book.add_format({"text_wrap": True, "valign": "top"})
    sheet = book.add_worksheet("answer")
    for place, column in enumerate(columns):
        _write(sheet, 0, place, column.name, head)
        for row, value in enumerate(column.values, start=1):
            _write(sheet, row, place, value)
        longest = max([len(str(v)) for v in (column.name, *column.values[:200])])
        sheet.set_column(place, place, min(max(longest + 2, 8), 40))
    sheet.freeze_panes(1, 0)
    if rows and columns:
        sheet.autofilter(0, 0, rows, len(columns) - 1)
    told = book.add_worksheet("about")
    told.set_column(0, 0, 18)
    told.set_column(1, 1, 90)
    for row, (name, text) in enumerate(about):
        _write(told, row, 0, name, head)
        _write(told, row, 1, text, fill)
    book.close()
    return out.getvalue()


def _write(sheet: Any, row: int, column: int, value: Any, form: Any = None) -> None:
    """Write a cell as what it is: a number, true or false, or text that stays text."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, form)
    elif isinstance(value, (int, float)) and abs(value) < _EXACT:
        sheet.write_number(row, column, value, form)
    else:
        text = str(value)
        if len(text) > _LONGEST:
            raise UsageError(
                f"a cell of Excel holds {_LONGEST:,} characters, and a text of this table has "
                f"{len(text):,}; use to_csv or to_parquet"
            )
        sheet.write_string(row, column, text, form)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        Path(os.path.expanduser(path)).write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
