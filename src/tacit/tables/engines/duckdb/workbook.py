"""Sheets of workbooks for DuckDB: of Excel (.xlsx) and of OpenDocument (.ods)."""

from __future__ import annotations

import datetime
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

from tacit.errors import DataSourceError, UsageError, did_you_mean, need
from tacit.expressions.dialect import is_unicode
from tacit.expressions.schema import Schema
from tacit.report.text import listed
from tacit.tables.engines.csv import LINE_LIMIT, CsvFormat
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.text_rows import Cells, open_rows
from tacit.tables.engines.files import without_details

# A cell of a sheet has a type of its own: a number, a text, a truth value or an error.  So it
# becomes text by itself, and its column is read as that of a CSV file is.  openpyxl reads row by
# row, and returns an error for a number that its format calls a date and that is none.  The readers
# of .ods end the read of a sheet at one long duration (pandas with odfpy) or leave out a tab
# (python-calamine), so its XML is read here.

_ROWS = 1024  # read at once without warnings, which name cells
_LAST = 1_048_576  # the last row of a sheet
_WIDTH = 16_384  # of a sheet, in columns

Rows = Iterator[Cells]  # from the first that is not skipped


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


def _names(path: str, form: CsvFormat) -> tuple[str, ...]:
    """Return the names of the columns, which are in the first row that is not skipped."""

    def read() -> Cells:
        with _book(path) as (sheets, rows):
            _check_sheet(path, form, sheets())
            return _filled(next(rows(form.sheet, form.skip, _WIDTH), []))

    cells = without_details(path, read)
    if not cells or None in cells:
        where = "no names" if not cells else f"no name for column {cells.index(None) + 1}"
        raise DataSourceError(
            f"row {form.skip + 1} of the sheet in {Path(path).name} has {where}: say how many rows "
            "come before the names, as in skip=2, or name the columns, as in header=['id', 'age']"
        )
    return tuple(map(str, cells))


def _check_sheet(path: str, form: CsvFormat, sheets: list[str]) -> None:
    """Raise if there is no sheet of the name, or without one if there are several."""
    name = Path(path).name
    if form.sheet is None and len(sheets) != 1:
        raise UsageError(
            f"{name} has the sheets {listed(list(map(repr, sheets)))}: name one, as in "
            f"sheet={next(iter(sheets), 'visits')!r}"
        )
    if form.sheet is not None and form.sheet not in sheets:
        raise UsageError(f"{name} has no sheet {form.sheet!r}; {did_you_mean(form.sheet, sheets)}")


def _rows(path: str, names: tuple[str, ...], form: CsvFormat) -> Rows:
    """Yield the rows in which a cell is filled."""
    with _book(path) as (_, rows):
        each = rows(form.sheet, form.skip, len(names))
        if form.names is None and next(each, []) != list(names):
            raise DataSourceError("the sheet has other names than when it was opened")
        for cells in each:
            if any(cell is not None for cell in cells):
                yield cells + [None] * (len(names) - len(cells))


def _filled(cells: Cells) -> Cells:
    """Return the cells up to the last that is filled."""
    return cells[: max((n for n, cell in enumerate(cells, 1) if cell is not None), default=0)]


# The names of the sheets, and the rows of the sheet of a name, or the first: after how many rows,
# and how many cells of each at most.
_Book = tuple[Callable[[], list[str]], Callable[[str | None, int, int], Rows]]


def _book(path: str) -> AbstractContextManager[_Book]:
    return (_ods if path.casefold().endswith(".ods") else _xlsx)(path)


@contextmanager
def _xlsx(path: str) -> Iterator[_Book]:
    with _quiet():
        book = need("openpyxl", "excel").load_workbook(
            path, read_only=True, data_only=True, keep_links=False
        )

    def rows(name: str | None, skip: int, width: int) -> Rows:
        sheet = next(sheet for sheet in book.worksheets if name in (None, sheet.title))
        sheet.reset_dimensions()  # what the file says of its size may be wrong
        read = sheet.iter_rows(min_row=skip + 1, max_row=_LAST, max_col=width)
        for size in chain([1], repeat(_ROWS)):  # the first may be the names
            with _quiet():
                part = [
                    [None if cell.data_type == "e" else _text(cell.value) for cell in row]
                    for row in islice(read, size)
                ]
            if not part:
                return
            yield from part

    try:
        yield lambda: [sheet.title for sheet in book.worksheets], rows
    finally:
        book.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back warnings, which name cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _text(value: Any) -> str | None:
    """Return a value as text; nothing of an infinity, or of what is no Unicode."""
    if value is None:
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


@contextmanager
def _ods(path: str) -> Iterator[_Book]:
    with ZipFile(path) as file:
        if _is_locked(file):
            raise DataSourceError(
                f"{Path(path).name} has a password: save it without one, in a place that is safe"
            )

        def sheets() -> list[str]:
            return [name for name, row in _sheets_and_rows(file) if row is None]

        def rows(name: str | None, skip: int, width: int) -> Rows:
            def each() -> Iterator[Iterator[Cells]]:
                wanted = name
                for sheet, row in _sheets_and_rows(file):
                    if row is None:
                        wanted = sheet if wanted is None else wanted
                    elif sheet == wanted:
                        yield repeat(_cells(row, width), _count(row, "number-rows-repeated"))

            return islice(chain.from_iterable(each()), skip, _LAST)

        yield sheets, rows


def _is_locked(file: ZipFile) -> bool:
    """Return whether the parts of a file of OpenDocument, or all of them as one, are encrypted."""
    if "META-INF/manifest.xml" not in file.namelist():
        return False
    with file.open("META-INF/manifest.xml") as manifest:
        return any(element.tag.endswith("}encryption-data") for _, element in iterparse(manifest))


_OASIS = "{urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TABLE, _TEXT = (f"{_OASIS}{part}:1.0}}" for part in ("office", "table", "text"))
_CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_ROW = _TABLE + "table-row"
_GROUPS = {_TABLE + group for group in ("table-row-group", "table-header-rows", "table-rows")}
_CELLS = (_TABLE + "table-cell", _TABLE + "covered-table-cell")
_NOTES = (_OFFICE + "annotation", _TEXT + "note")
# Spaces, tabs and ends of lines are elements; all others are one space.  So the elements are
# characters that XML does not have, until the others are one.
_BLANKS = {_TEXT + "s": "\1", _TEXT + "tab": "\2", _TEXT + "line-break": "\3"}
_BLANK = str.maketrans("\1\2\3", " \t\n")
_DURATION = re.compile(r"(-?)PT?([0-9]{1,9})H([0-9]{1,2})M([0-9]{1,2})(?:[.,]([0-9]+))?S")


def _sheets_and_rows(file: ZipFile) -> Iterator[tuple[str, Element | None]]:
    """Yield each sheet, and each of its rows after it; a row is gone when the next is read."""
    path: list[Element] = []
    sheet = ""
    with file.open("content.xml") as content:
        for event, element in iterparse(content, ("start", "end")):
            if event == "start":
                path.append(element)
                if len(path) == 4 and element.tag == _TABLE + "table":
                    yield (sheet := element.get(_TABLE + "name", "")), None
                continue
            path.pop()
            if any(outer.tag == _ROW for outer in path):
                continue
            if element.tag == _ROW and _GROUPS.issuperset(outer.tag for outer in path[4:]):
                yield sheet, element
            if path:
                path[-1].remove(element)


def _cells(row: Element, width: int) -> Cells:
    cells: Cells = []
    for cell in row:
        if cell.tag in _CELLS and len(cells) < width:
            n = min(_count(cell, "number-columns-repeated"), width - len(cells))
            cells += [_value(cell)] * n
    return cells


def _count(element: Element, name: str) -> int:
    """Return how often a row or a cell is repeated."""
    text = element.get(_TABLE + name, "1")
    return int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else 1


def _value(cell: Element) -> str | None:
    """Return a cell as text; nothing of an error, or of what is not of its type."""
    if cell.get(_CALC + "value-type") == "error":
        return None
    kind = cell.get(_OFFICE + "value-type", "string")
    if kind == "string":
        return _text(cell.get(_OFFICE + "string-value") or _paragraphs(cell))
    if kind == "boolean":
        value = cell.get(_OFFICE + "boolean-value")
        return value if value in ("true", "false") else None
    with suppress(ValueError):
        if kind == "date":
            return _text(datetime.datetime.fromisoformat(cell.get(_OFFICE + "date-value", "")))
        if kind == "time":
            return _clock(cell.get(_OFFICE + "time-value", ""))
        return _text(float(cell.get(_OFFICE + "value", "")))
    return None


def _clock(duration: str) -> str | None:
    """Return hours, minutes and seconds: a time of day and a duration are one type."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups("")
    rest = fraction.rstrip("0")
    return f"{sign}{hours:0>2}:{minutes:0>2}:{seconds:0>2}" + (f".{rest}" if rest else "")


def _paragraphs(cell: Element) -> str:
    """Return the text that a cell shows; none of one that is too long."""
    texts, left = [], LINE_LIMIT
    for paragraph in cell.iterfind(_TEXT + "p"):
        for element in paragraph.iter():
            if element.tag in _NOTES:
                tail = element.tail
                element.clear()
                element.tail = tail
            elif element.tag in _BLANKS:
                times = element.get(_TEXT + "c", "1")
                n = min(int(times) if re.fullmatch("[0-9]{1,9}", times) else 1, left)
                element.text, left = _BLANKS[element.tag] * n, left - n
        text = re.sub("[ \\t\\r\\n]+", " ", "".join(paragraph.itertext()))
        texts.append(text.translate(_BLANK))
        left -= len(text)
    return "\n".join(texts) if left > 0 else ""
