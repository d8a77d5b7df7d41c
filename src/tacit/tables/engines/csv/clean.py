"""Bring the lines of a CSV file into a form that an engine can only read in one way.

:func:`cleaned` yields the rows of :mod:`tacit.tables.engines.csv.lines` written anew in UTF-8:
every row on lines of its own, with as many fields as there are names.  Lines that are in that form
already, nearly all of them in most files, are found by counting bytes in arrays and pass as they
are.

*Clean lines are read alike.*  A line passes if it is not empty, no longer than the limit, without
NUL, text in the encoding, and every quote in it, counted from the line's start, either opens (an
even number before it, and it stands at the start or behind a delimiter or a quote) or closes (an
odd number before it, and a delimiter, a quote or the end follows); if their number is even; and if
the delimiters with an even number of quotes before them are one fewer than the names.  By
induction over the quotes such a line is a list of fields each of which is quoted as a whole, with
quotes doubled within, or holds no quote: what every reader of CSV agrees on.  In UTF-8 and in
encodings of one byte a character that hold ASCII no byte of another character is a delimiter, a
quote or the end of a line.  All other lines go through the definition itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.tables.engines.csv.format import LINE_LIMIT, CsvFormat
from tacit.tables.engines.csv.lines import Cells, cells_of, records, split

__all__ = ["Notice", "cleaned", "written"]

Notice = Callable[[int, str], None]
"""Called with the number of a line, the first being 0, and what is wrong with it."""
_LF, _HIGH = 10, 128


def cleaned(
    blocks: Iterable[bytes], form: CsvFormat, width: int, notice: Notice | None = None
) -> Iterator[bytes]:
    """Yield the rows in blocks, written anew.

    Args:
        blocks: whole lines, each ending with LF.
        form: how they are written.
        width: how many names there are.
        notice: called for every line with which something is wrong.
    """
    number = 0
    if form.multiline > 1:
        lines = (line for block in blocks for line in block[:-1].split(b"\n"))
        for taken, wrong, cells in records(lines, form, width):
            if wrong and notice is not None:
                notice(number + (taken - 1), wrong)
            number += taken
            yield written(cells, form)
        return
    for block in blocks:
        ends, dirty = _dirty(block, form, width)
        yield from _rewritten(block, ends, dirty, form, width, number, notice)
        number += len(ends)


def written(cells: Cells, form: CsvFormat) -> bytes:
    """Return a row in UTF-8, with quotes where they are needed."""
    delimiter, quote = form.delimiter or ",", form.quote
    shown = []
    for cell in cells:
        text = cell or ""
        if quote and (delimiter in text or quote in text or "\n" in text):
            text = quote + text.replace(quote, 2 * quote) + quote
        shown.append(text)
    return (delimiter.join(shown) + "\n").encode()


def _rewritten(
    block: bytes,
    ends: NDArray[np.int64],
    dirty: NDArray[np.bool_],
    form: CsvFormat,
    width: int,
    number: int,
    notice: Notice | None,
) -> Iterator[bytes]:
    begun = 0
    for place in np.flatnonzero(dirty).tolist():
        start = int(ends[place - 1]) + 1 if place else 0
        end = int(ends[place])
        if start > begun:
            yield _in_utf8(block[begun:start], form)
        begun = end + 1
        if start == end and width > 1:
            continue
        wrong, cells = cells_of(split(block[start:end], form), form, width)
        if wrong and notice is not None:
            notice(number + place, wrong)
        yield written(cells, form)
    if begun < len(block):
        yield _in_utf8(block[begun:], form)


def _in_utf8(block: bytes, form: CsvFormat) -> bytes:
    if form.encoding == "utf-8" or block.isascii():
        return block
    return block.decode(form.encoding).encode()


def _dirty(
    block: bytes, form: CsvFormat, width: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where lines end, and which of them are not as the engine may have them."""
    array = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(array == _LF)
    lengths = np.diff(ends, prepend=-1) - 1
    dirty = (lengths == 0) | (lengths > LINE_LIMIT)
    if b"\0" in block:
        dirty[_lines_of(array == 0, ends)] = True
    if not _is_text(block, form.encoding):
        dirty[_lines_of(array >= _HIGH, ends)] = True
    delimiters = np.flatnonzero(array == ord(form.delimiter or ","))
    if form.quote and form.quote.encode() in block:
        quotes = np.flatnonzero(array == ord(form.quote))
        before = np.searchsorted(quotes, ends - lengths)  # before each line
        _mark_quotes(array, quotes, before, ends, form, dirty)
        line = np.searchsorted(ends, delimiters)
        inside = (np.searchsorted(quotes, delimiters) - before[line]) & 1
        found = np.bincount(line[inside == 0], minlength=len(ends))
    else:
        found = np.diff(np.searchsorted(delimiters, ends), prepend=0)
    return ends, dirty | (found != width - 1)


def _mark_quotes(
    array: NDArray[np.uint8],
    quotes: NDArray[np.int64],
    before: NDArray[Any],
    ends: NDArray[np.int64],
    form: CsvFormat,
    dirty: NDArray[np.bool_],
) -> None:
    """Mark the lines in which a quote neither opens nor closes a field, or none closes it."""
    dirty |= ((np.searchsorted(quotes, ends) - before) & 1) == 1
    line = np.searchsorted(ends, quotes)
    opens = ((np.arange(len(quotes)) - before[line]) & 1) == 0
    beside = np.where(opens, array[quotes - 1], array[quotes + 1])
    if quotes[0] == 0:
        beside[0] = _LF
    fits = (beside == _LF) | (beside == ord(form.delimiter or ",")) | (beside == ord(form.quote))
    dirty[line[~fits]] = True


def _lines_of(marks: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[Any]:
    return np.searchsorted(ends, np.flatnonzero(marks))


def _is_text(block: bytes, encoding: str) -> bool:
    if block.isascii():
        return True
    try:
        block.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
