"""What the lines of a CSV file say: the definition that the fast reader is held to.

A file is bytes.  A byte order mark of UTF-8 at its beginning is left out.  LF, CR LF and CR alone
end a line; what stands behind the last of them is a line too, unless it is empty.  Without
``multiline`` a line is a row, and

- an *empty* line is no row, unless the table has one column: then it is a row whose cell is
  missing;
- a line is *spoiled*, a row in which everything is missing, where it is longer than
  :data:`~tacit.tables.engines.csv.format.LINE_LIMIT` bytes, holds a NUL, is not text in the
  encoding, has a quote that is not closed, or goes on behind a closed quote with anything but a
  delimiter;
- a field that begins with a quote ends at the next quote that is not doubled; any other field ends
  at the next delimiter, and a quote within it is a character like others;
- where a line has *too few* fields the rest are missing; where it has *too many*, all are missing,
  since nobody can know which of them is too many;
- a cell is missing where it is empty, quoted or not, or one of the texts of ``null=``, spaces
  before and behind left out;
- nothing else has a meaning: no comments, no escapes, and spaces belong to the cell.

*Total:* every step is defined for all bytes.  *No row steers another:* where lines end depends on
no quote, and each line's cells are a function of that line, the declared format and the number of
names; so a line that is added, removed or changed leaves the rows of all others as they are.

With ``multiline=N`` a line in which a quote stays open goes on with the next, up to N lines
together; where none of these closes it, the first line alone is spoiled, and the next one begins
anew.  Then an unclosed quote can take up to N - 1 lines after it along, and the claim above holds
only for files whose writer closes every quote, as programs do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from tacit.tables.engines.csv.format import LINE_LIMIT, CsvFormat

__all__ = ["OPEN", "SPOILED", "cells_of", "file_lines", "parse", "records", "split"]

BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 22
SPOILED = "spoiled"
OPEN = "open"
Cells = list[str | None]


def parse(data: bytes, form: CsvFormat, width: int) -> list[Cells]:
    r"""Return the rows of a file without a line of names: the definition.

    >>> parse(b'1,"a, b"\r\n#\n\n1,2,3\n\0,x', CsvFormat(delimiter=","), 2)
    [['1', 'a, b'], ['#', None], [None, None], [None, None]]
    """
    if form.encoding == "utf-8" and data.startswith(BOM):
        data = data[len(BOM) :]
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [cells for _, _, cells in records(lines, form, width)]


def records(
    lines: Iterable[bytes], form: CsvFormat, width: int
) -> Iterator[tuple[int, str, Cells]]:
    """Yield, for each row, how many lines it has, what is wrong with it, and its cells.

    What is wrong is nothing, ``"spoiled"``, ``"short"`` or ``"long"``; a line that is no row is
    left out, and counts with the next one.
    """
    waiting: deque[bytes] = deque()
    source = iter(lines)
    skipped = 0
    while waiting or _fetch(source, waiting):
        if not waiting[0] and width > 1:
            waiting.popleft()
            skipped += 1
            continue
        fields = split(waiting[0], form)
        taken = 1
        while fields == OPEN and taken < form.multiline:
            if taken == len(waiting) and not _fetch(source, waiting):
                break
            taken += 1
            fields = split(b"\n".join(waiting[i] for i in range(taken)), form)
        if isinstance(fields, str):
            taken = 1
        for _ in range(taken):
            waiting.popleft()
        wrong, cells = cells_of(fields, form, width)
        yield taken + skipped, wrong, cells
        skipped = 0


def _fetch(source: Iterator[bytes], waiting: deque[bytes]) -> bool:
    line = next(source, None)
    if line is None:
        return False
    waiting.append(line)
    return True


def cells_of(fields: list[str] | str, form: CsvFormat, width: int) -> tuple[str, Cells]:
    """Return what is wrong with a row's fields, and its cells."""
    if isinstance(fields, str):
        return SPOILED, [None] * width
    if len(fields) > width:
        return "long", [None] * width
    null = {text.strip(" ") for text in form.null}
    cells: Cells = [None if f == "" or (null and f.strip(" ") in null) else f for f in fields]
    rest = width - len(cells)
    return ("short" if rest else ""), cells + [None] * rest


def split(line: bytes, form: CsvFormat) -> list[str] | str:
    """Return the fields of a line; ``SPOILED``, or ``OPEN`` where it ends within a quote."""
    if len(line) > LINE_LIMIT or b"\0" in line:
        return SPOILED
    try:
        text = line.decode(form.encoding)
    except UnicodeDecodeError:
        return SPOILED
    delimiter, quote = form.delimiter or ",", form.quote
    if not quote or quote not in text:
        return text.split(delimiter)
    fields, place = [], 0
    while True:
        if text.startswith(quote, place):
            end = _closing(text, place + 1, quote)
            if end < 0:
                return OPEN
            fields.append(text[place + 1 : end].replace(2 * quote, quote))
            place = end + 1
            if place < len(text) and text[place] != delimiter:
                return SPOILED
        else:
            end = text.find(delimiter, place)
            end = len(text) if end < 0 else end
            fields.append(text[place:end])
            place = end
        if place == len(text):
            return fields
        place += 1


def _closing(text: str, place: int, quote: str) -> int:
    """Return where the quote is that closes a field, or -1."""
    while True:
        end = text.find(quote, place)
        if end < 0 or not text.startswith(quote, end + 1):
            return end
        place = end + 2


def file_lines(file: BinaryIO, encoding: str = "utf-8", block: int = _BLOCK) -> Iterator[bytes]:
    """Yield the lines of a file in blocks: bytes in which every line ends with LF.

    Never more than a few blocks are held: of a line beyond the limit only so much is kept that it
    is seen to be too long.
    """
    rest = file.read(len(BOM))
    if encoding == "utf-8" and rest == BOM:
        rest = b""
    ended = False
    while not ended:
        more = file.read(block)
        ended = not more
        rest += more
        held = b"\r" if rest.endswith(b"\r") and not ended else b""
        rest = rest[: len(rest) - len(held)]
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if ended and rest and not rest.endswith(b"\n"):
            rest += b"\n"
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut]
        rest = rest[cut:][: LINE_LIMIT + 1] + held
