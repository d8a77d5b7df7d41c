"""Sheets of Excel workbooks (.xlsx) for DuckDB."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tacit.errors import DataSourceError, UsageError, did_you_mean, need
from tacit.expressions.dialect import is_unicode
from tacit.expressions.schema import Schema
from tacit.report.text import listed
from tacit.tables.engines.csv import CsvFormat
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.text_rows import Cells, open_rows
from tacit.tables.engines.files import without_details

# A cell of a sheet has a type of its own: a number, a text, a truth value or an error.  So it
# becomes text by itself, and its column is read as that of a CSV file is.  openpyxl reads row by
# row, and returns an error for a number that its format calls a date and that is none.


_ROWS = 1024  # read at once without warnings, which name cells
_LAST = 1_048_576  # the last row of a sheet


def open_workbooks(files: Sequence[str], form: CsvFormat, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that a sheet of each file will be, and its columns; no row is read."""
    each = [form.names or _names(path, form) for path in files]
    for path, names in zip(files, each, strict=True):
        if names != each[0]:
            raise DataSourceError(
                f"{Path(files[0]).name} and {Path(path).name} have other columns: open them one by "
                "one"
            )
    return open_rows(files, each[0], partial(_rows, names=each[0], form=form), form, engine)


@contextmanager
def _sheet(path: str, form: CsvFormat) -> Iterator[Any]:
    """Open the sheet that is asked for."""
    name = Path(path).name
    with _quiet():
        book = need("openpyxl", "excel").load_workbook(
            path, read_only=True, data_only=True, keep_links=False
        )
    try:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if form.sheet is None and len(sheets) != 1:
            raise UsageError(
                f"{name} has the sheets {listed(list(map(repr, sheets)))}: name one, as in "
                f"sheet={next(iter(sheets), 'visits')!r}"
            )
        wanted = next(iter(sheets)) if form.sheet is None else form.sheet
        if wanted not in sheets:
            raise UsageError(f"{name} has no sheet {wanted!r}; {did_you_mean(wanted, [*sheets])}")
        sheets[wanted].reset_dimensions()  # what the file says of its size may be wrong
        yield sheets[wanted]
    finally:
        book.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back warnings, which name cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _names(path: str, form: CsvFormat) -> tuple[str, ...]:
    """Return the names of the columns, which are in the first row that is not skipped."""

    def read() -> Cells:
        with _sheet(path, form) as sheet:
            return _header(sheet, form)

    cells = without_details(path, read)
    if not cells or None in cells:
        where = "no names" if not cells else f"no name for column {cells.index(None) + 1}"
        raise DataSourceError(
            f"row {form.skip + 1} of the sheet in {Path(path).name} has {where}: say how many rows "
            "come before the names, as in skip=2, or name the columns, as in header=['id', 'age']"
        )
    return tuple(map(str, cells))


def _header(sheet: Any, form: CsvFormat) -> Cells:
    """Return the cells of the first row that is not skipped, up to the last that is filled."""
    with _quiet():
        row = next(sheet.iter_rows(min_row=form.skip + 1, max_row=_LAST), ())
        cells = [_text(cell) for cell in row]
    while cells and cells[-1] is None:
        cells.pop()
    return cells


def _rows(path: str, names: tuple[str, ...], form: CsvFormat) -> Iterator[Cells]:
    """Yield the rows in which a cell is filled."""
    first = form.skip + 1 + (form.names is None)
    with _sheet(path, form) as sheet:
        if form.names is None and _header(sheet, form) != list(names):
            raise DataSourceError("the sheet has other names than when it was opened")
        rows = sheet.iter_rows(min_row=first, max_row=_LAST, max_col=len(names))
        while True:
            with _quiet():
                part = [[_text(cell) for cell in row] for row in islice(rows, _ROWS)]
            if not part:
                return
            yield from (cells for cells in part if any(cell is not None for cell in cells))


def _text(cell: Any) -> str | None:
    """Return what a cell holds; nothing of an error, an infinity, or what is no Unicode."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):  # a date has the format of a time at midnight
        day = value.time() == datetime.time.min
        return value.date().isoformat() if day else value.isoformat(" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):  # stored as days, shown as hours
        value = value / datetime.timedelta(days=1)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    text = str(value)
    return text if text and is_unicode(text) else None
