"""CSV files: their format, lines, the rows that fit it, and how they are written."""

from __future__ import annotations

import codecs
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, BinaryIO, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.expressions.dialect import NUMBER, POWER, Dialect, fits_sql, is_unicode, reading_sql
from tacit.tables.engines.files import pack_of
from tacit.tables.engines.fixed_width import PART, POSITIONS, FixedColumn, layout_of
from tacit.tables.reading import Reading

# How a CSV file is written: declared, never guessed.


# The most bytes of a line; a longer one counts as a row in which everything is missing.
LINE_LIMIT = 1 << 20
MULTILINE_LIMIT = 1000  # the most lines that one field may be declared to run over
SKIP_LIMIT = 1000  # the most lines before the names
_THOUSANDS = ".,'_ \u2019\u00a0\u202f"  # an apostrophe, and spaces that do not break, among them
# The kinds that ``types=`` can declare, and the engine's types for them.
TYPES = {
    "integer": "bigint",
    "float": "double",
    "text": "varchar",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
_ONE_BYTE = re.compile(r"utf-8|ascii|iso8859-\d+|cp125\d|cp437|cp850|koi8-[ru]|mac-\w+")
_DATE_PARTS = set("YmdyjbB")
_TIME_PARTS = _DATE_PARTS | set("HMSfIp")


class CsvOptions(TypedDict, total=False):
    """Options of a CSV file; :class:`CsvFormat` defines each."""

    types: Mapping[str, str] | None
    header: bool | Sequence[str]
    delimiter: str | None
    quote: str
    encoding: str
    null: str | Sequence[str]
    date_format: str | None
    time_format: str | None
    multiline: int
    decimal: str
    thousands: str
    skip: int
    comment: str
    layout: Sequence[Mapping[str, str | int]]
    positions: str
    version: int | None
    snapshot: int | str | None
    instant: int | str | None
    sheet: str | None


@dataclass(frozen=True)
class CsvFormat:
    """The dialect of a CSV file."""

    # kinds of columns, by name: integer, float, text, boolean, date or timestamp
    types: Mapping[str, str] = field(default_factory=dict)
    # whether the first line has the names; else their list, or False, where ``types`` names every
    # column in its order
    header: bool | tuple[str, ...] = True
    # what parts the fields; None is a comma, or a tab in a file named ``.tsv`` or ``.tab``
    delimiter: str | None = None
    quote: str = '"'  # the sign around a field, doubled within; none where it is empty
    # how the text is written: UTF-8, UTF-16, or an encoding of one byte a character
    encoding: str = "utf-8"
    # texts that are missing values, like the empty one; spaces around them do not count
    null: tuple[str, ...] = ()
    # how declared dates are written, such as ``"%d.%m.%Y"``; None is ISO 8601
    date_format: str | None = None
    time_format: str | None = None  # how declared timestamps are, such as ``"%d.%m.%Y %H:%M"``
    multiline: int = 1  # how many lines a quoted field may run over
    decimal: str = "."  # the decimal sign of numbers: a point or a comma
    thousands: str = ""  # the sign between groups of three digits of a number; none where empty
    skip: int = 0  # how many lines of the file come before its names, or its first row
    comment: str = ""  # the sign at the start of a line that is not a row; none where empty
    # of a file without delimiters, where each column is in a line
    layout: tuple[FixedColumn, ...] = ()
    positions: str = "characters"  # what the layout counts: characters, or bytes
    version: int | None = None  # of a table of Delta; None is the latest
    snapshot: str | None = None  # of a table of Iceberg, the digits of its id; None is the latest
    instant: str | None = None  # of a table of Hudi, its digits; None is the latest
    sheet: str | None = None  # of a workbook; None is its only one

    @property
    def text_encoding(self) -> str:
        """The encoding of lines, as they are read: that of a file in UTF-16 is UTF-8."""
        return "utf-8" if self.encoding in _UTF_16 else self.encoding

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names that were given; None if they are in the first line."""
        if self.layout:
            return tuple(column.name for column in self.layout)
        if self.header is True:
            return None
        return tuple(self.types) if self.header is False else self.header

    def for_file(self, path: str) -> CsvFormat:
        """Return the format with the delimiter by the name of a file."""
        if self.delimiter is not None:
            return self
        tab = path.casefold().removesuffix(pack_of(path)).endswith((".tsv", ".tab"))
        return replace(self, delimiter="\t" if tab else ",")

    @property
    def fields(self) -> int | None:
        """The number of fields of a line, where it is not that of the columns."""
        return 1 if self.layout else None

    def reading(self, path: str) -> Reading:
        """Return the options that are not the default of a file, as a question describes them.

        >>> csv_format(null=["99"], delimiter=",").reading("visits.csv").options
        {'null': ['99']}
        """
        given, default = self.for_file(path), CsvFormat().for_file(path)
        options: dict[str, Any] = {
            "header": [] if self.layout else list(given.names or ()),
            **({"delimiter": default.delimiter, "quote": default.quote} if self.layout else {}),
            "null": sorted({*given.null} - {""}),
        }
        for option in fields(self):
            value = options.get(option.name, getattr(given, option.name))
            options[option.name] = value
            if option.name in _OF_COLUMNS or value in (getattr(default, option.name), []):
                del options[option.name]
        formats = {"date": self.date_format, "timestamp": self.time_format}
        columns = {
            name: kind if formats.get(kind) is None else f"{kind} {formats[kind]}"
            for name, kind in self.types.items()
        }
        return Reading(options, columns, layout={c.name: c.describe() for c in self.layout})


_OF_COLUMNS = ("types", "date_format", "time_format", "layout")


def csv_format(**given: Unpack[CsvOptions]) -> CsvFormat:
    """Check the options of a CSV file.

    >>> csv_format(delimiter=";", null="NA").null
    ('NA',)
    """
    for name in given:
        if name not in CsvOptions.__annotations__:
            raise UsageError(f"there is no option {name}=; {did_you_mean(name, _OPTIONS)}")
    options: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    null = options.get("null", ())
    layout = layout_of(options["layout"], tuple(TYPES)) if "layout" in options else ()
    if layout:
        options = _of_layout(options, layout)
    form = CsvFormat(
        types=_types(options.get("types", {})),
        header=_header(options.get("header", True)),
        delimiter=_sign(options.get("delimiter"), "delimiter"),
        quote=_sign(options.get("quote", '"'), "quote") or "",
        encoding=_encoding(options.get("encoding", "utf-8")),
        null=_texts((null,) if isinstance(null, str) else null, "null"),
        date_format=_moments(options.get("date_format"), "date_format", _DATE_PARTS),
        time_format=_moments(options.get("time_format"), "time_format", _TIME_PARTS),
        multiline=as_integer(options.get("multiline", 1), "multiline", minimum=1),
        decimal=_of_numbers(options.get("decimal", "."), "decimal", ".,"),
        thousands=_of_numbers(options.get("thousands", ""), "thousands", _THOUSANDS),
        skip=as_integer(options.get("skip", 0), "skip", minimum=0),
        comment=_sign(options.get("comment", ""), "comment") or "",
        layout=layout,
        positions=options.get("positions", "characters"),
        version=_version(options.get("version")),
        snapshot=_digits(options.get("snapshot"), "snapshot"),
        instant=_digits(options.get("instant"), "instant"),
        sheet=_sheet(options.get("sheet")),
    )
    if form.positions not in POSITIONS or (form.positions != "characters" and not layout):
        raise UsageError("positions= is what a layout= counts: 'characters' or 'bytes'")
    if form.positions == "bytes" and form.encoding in _UTF_16:
        raise UsageError("a layout of a file in UTF-16 counts characters, not bytes")
    if form.header is False and not form.types:
        raise UsageError(
            "a file without a line of column names needs the names from you: header=['id', "
            "'age'], or header=False with types={'id': 'text', 'age': 'integer'} for every "
            "column in order"
        )
    if form.decimal == form.thousands:
        raise UsageError("decimal= and thousands= are the same character")
    if form.skip > SKIP_LIMIT:
        raise UsageError(f"at most {SKIP_LIMIT} lines come before the names; skip= is more")
    if form.comment and form.comment in (form.delimiter, form.quote):
        raise UsageError("comment= is the same character as delimiter= or quote=")
    if form.delimiter and form.delimiter == form.quote:
        raise UsageError("delimiter= and quote= are the same character")
    if form.multiline > MULTILINE_LIMIT:
        raise UsageError(f"a field runs over at most {MULTILINE_LIMIT} lines; multiline= is more")
    if form.multiline > 1 and not form.quote:
        raise UsageError("multiline= is for quoted fields, and quote='' says that there are none")
    return form


def _of_layout(options: dict[str, Any], layout: tuple[FixedColumn, ...]) -> dict[str, Any]:
    """Return the options of a file of fixed width: its kinds are those of the layout."""
    for name in ("header", "delimiter", "quote", "multiline"):
        if name in options:
            raise UsageError(f"{name}= is for files with delimiters; layout= says where fields are")
    types = {column.name: column.kind for column in layout if column.kind is not None}
    for column in layout:
        if (
            column.decimals
            and _types(options.get("types", {})).get(column.name, "float") != "float"
        ):
            raise UsageError(f"{column.name!r} has decimals in layout=: its kind is float")
    types |= _types(options.get("types", {}))
    return {**options, "types": types, "delimiter": PART, "quote": ""}


_OPTIONS = tuple(CsvOptions.__annotations__)


def _types(types: Any) -> dict[str, str]:
    if not isinstance(types, Mapping):
        raise UsageError("types= names the kind of columns, as in types={'age': 'integer'}")
    for column, kind in types.items():
        if not isinstance(kind, str) or kind not in TYPES:
            raise UsageError(
                f"{kind!r} of {column!r} is not a kind; {did_you_mean(str(kind), TYPES)}"
            )
    return dict(types)


def _header(header: Any) -> bool | tuple[str, ...]:
    if isinstance(header, bool):
        return header
    names = _texts(header, "header")
    if not names or not all(names) or len({n.casefold() for n in names}) < len(names):
        raise UsageError("header= is True, False, or a list of different names")
    return names


def _texts(given: Any, name: str) -> tuple[str, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise UsageError(f"{name}= is a list of texts, not {given!r}")
    if not all(isinstance(t, str) and "\0" not in t and is_unicode(t) for t in given):
        raise UsageError(f"{name}= is a list of texts of Unicode, without the character NUL")
    return tuple(given)


def _of_numbers(sign: Any, name: str, known: str) -> str:
    choices = [*known, *([""] if name == "thousands" else [])]
    if not isinstance(sign, str) or sign not in choices:
        raise UsageError(f"{name}= is one of {' '.join(map(repr, choices))}, not {sign!r}")
    return sign


def _sign(sign: Any, name: str) -> str | None:
    """Return a delimiter, a quote or the sign of a comment: one character of ASCII."""
    if sign is None or (sign == "" and name in ("quote", "comment")):
        return sign  # type: ignore[no-any-return]
    fits = isinstance(sign, str) and len(sign) == 1 and sign.isascii()
    if not fits or sign.isalnum() or sign in "\r\n\0+-. ":
        raise UsageError(
            f"{name}= is one character such as ',' ';' '|' or a tab, and no letter, digit, sign, "
            f"point, space or end of a line, not {sign!r}"
        )
    return str(sign)


def _encoding(encoding: Any) -> str:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        name = ""
    name = "utf-8" if name == "utf-8-sig" else name
    if not _ONE_BYTE.fullmatch(name) and name not in _UTF_16:
        raise UsageError(
            f"encoding={encoding!r} is not supported: it is 'utf-8', 'utf-16', or one of one byte "
            "a character such as 'latin-1' or 'cp1252'; turn another into UTF-8 first, as iconv "
            "does"
        )
    return name


_UTF_16 = ("utf-16", "utf-16-le", "utf-16-be")


def _moments(given: Any, name: str, known: set[str]) -> str | None:
    if given is None:
        return None
    parts = re.findall(r"%(.)", given) if isinstance(given, str) else []
    if not parts or not set(parts) <= known or not {"d", "j"} & set(parts):
        like = "'%d.%m.%Y'" if name == "date_format" else "'%d.%m.%Y %H:%M:%S'"
        raise UsageError(f"{name}= is written like {like}, not {given!r}")
    return str(given)


def _version(version: Any) -> int | None:
    return None if version is None else as_integer(version, "version", minimum=0)


_OF_DIGITS = {
    "snapshot": ("[0-9]{1,19}", "the id of a snapshot, such as 314112803198979651"),
    "instant": ("[0-9]{14,17}", "the instant of a commit, such as 20261130143000000"),
}


def _digits(given: Any, name: str) -> str | None:
    if given is None:
        return None
    digits = str(given) if type(given) in (int, str) else ""
    form, meaning = _OF_DIGITS[name]
    if not re.fullmatch(form, digits):
        raise UsageError(f"{name}= is {meaning}, not {given!r}")
    return digits


def _sheet(sheet: Any) -> str | None:
    if sheet is not None and not (isinstance(sheet, str) and sheet and is_unicode(sheet)):
        raise UsageError(f"sheet= is the name of a sheet of a workbook, not {sheet!r}")
    return sheet


_OF_OTHERS = {
    "version": "tables of Delta",
    "snapshot": "tables of Iceberg",
    "instant": "tables of Hudi",
    "sheet": "workbooks",
}


def refuse_csv(csv: CsvOptions, why: str, *, but: Sequence[str] = ()) -> None:
    """Raise if options of files are given, except some."""
    names = [name for name, value in csv.items() if value is not None and name not in but]
    if names:
        raise UsageError(f"{names[0]}= is for {_OF_OTHERS.get(names[0], 'CSV files')}; {why}")


# The meaning of the lines of a CSV file: the definition that the fast reader must agree with.
#
# A file is bytes.  A byte order mark of UTF-8 at its beginning is left out.  LF, CR LF and CR alone
# end a line; text behind the last of them is a line too, unless it is empty.  Without
# ``multiline`` a line is a row, and
#
# - an *empty* line is not a row, unless the table has one column: then it is a row whose cell is
#   missing;
# - a line is *spoiled*, a row in which everything is missing, where it is longer than
#   :data:`~tacit.tables.engines.csv.LINE_LIMIT` bytes, holds a NUL, is not text in the
#   encoding, has a quote that is not closed, or continues behind a closed quote with anything but a
#   delimiter;
# - a field that starts with a quote ends at the next quote that is not doubled; any other field
#   ends at the next delimiter, and a quote within it is a character like others;
# - where a line has *too few* fields the rest are missing; where it has *too many*, all are
#   missing, since no one can know which of them is too many;
# - a cell is missing where it is empty, quoted or not, or one of the texts of ``null=``, spaces
#   before and behind left out;
# - a line that starts with the sign of ``comment=`` is not a row;
# - nothing else has a meaning: no escapes, and spaces belong to the cell.
#
# The first ``skip=`` lines of a file are left out, and then, where the names are in the file, the
# comments before them.  UTF-16 is a sequence of units of two bytes, which :class:`Utf8Stream` turns
# into UTF-8 before anything else: half of a surrogate pair is no text in UTF-8, and spoils its
# line.
#
# *Total:* every step is defined for all bytes.  *No row steers another:* where lines end depends on
# no quote, and each line's cells are a function of that line, the declared format and the number of
# names; so a line that is added, removed or changed leaves the rows of all others as they are.
#
# With ``multiline=N`` a line in which a quote stays open continues with the next, up to N lines
# together; where none of these closes it, the first line alone is spoiled, and the next one starts
# again.  Then an unclosed quote can take up to N - 1 lines after it along, and the claim above
# holds only for files whose writer closes every quote, as programs do.


BOM = b"\xef\xbb\xbf"
BLOCK = 1 << 18
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
    """Yield, for each row, how many lines it has, what is wrong with it, and its cells."""
    # What is wrong is nothing, ``"spoiled"``, ``"short"`` or ``"long"``; a line that is not a row
    # is left out, and counts with the next one.
    waiting: deque[bytes] = deque()
    source = iter(lines)
    skipped = 0
    while waiting or _fetch(source, waiting):
        if (not waiting[0] and width > 1) or is_comment(waiting[0], form):
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


def is_comment(line: bytes, form: CsvFormat) -> bool:
    """Return whether a line is a comment."""
    return bool(form.comment) and line.startswith(form.comment.encode())


def body_of(blocks: Iterable[bytes], form: CsvFormat) -> tuple[int, bytes, Iterator[bytes]]:
    """Return how many lines come before the rows, the line of names, and the blocks of the rows."""
    source = iter(blocks)
    rest, passed = b"", 0
    while rest or (rest := next(source, b"")):
        if passed >= form.skip and form.names is not None:
            return passed, b"", itertools.chain([rest], source)
        line, _, rest = rest.partition(b"\n")
        passed += 1
        if passed > form.skip and not is_comment(line, form):
            return passed, line, itertools.chain([rest] if rest else [], source)
    return passed, b"", source


class Utf8Stream:
    """The bytes of a file in UTF-8: of one in UTF-16, in which a byte order mark says the order."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file, self._ready = file, b""
        start = file.read(2) if encoding == "utf-16" else b""
        known = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
        if encoding == "utf-16" and start not in known:
            raise DataSourceError(
                "the file does not start with the byte order mark of UTF-16: declare its "
                "encoding='utf-16-le' or 'utf-16-be', or another one"
            )
        name = known.get(start, encoding)
        self._decoder = codecs.getincrementaldecoder(name)("surrogatepass")

    def read(self, size: int) -> bytes:
        """Return as many bytes, or fewer at the end."""
        while len(self._ready) < size:
            more = self._file.read(size)
            if not more:
                left = self._decoder.getstate()[0]
                self._decoder.reset()
                self._ready += b"\xff" if left else b""  # half a unit: the last line is spoiled
                break
            self._ready += self._decoder.decode(more).encode("utf-8", "surrogatepass")
        given, self._ready = self._ready[:size], self._ready[size:]
        return given


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
        text = line.decode(form.text_encoding)
    except UnicodeDecodeError:
        return SPOILED
    delimiter, quote = form.delimiter or ",", form.quote
    if not quote or quote not in text:
        return text.split(delimiter)
    fields, position = [], 0
    while True:
        if text.startswith(quote, position):
            end = _closing(text, position + 1, quote)
            if end < 0:
                return OPEN
            fields.append(text[position + 1 : end].replace(2 * quote, quote))
            position = end + 1
            if position < len(text) and text[position] != delimiter:
                return SPOILED
        else:
            end = text.find(delimiter, position)
            end = len(text) if end < 0 else end
            fields.append(text[position:end])
            position = end
        if position == len(text):
            return fields
        position += 1


def _closing(text: str, position: int, quote: str) -> int:
    """Return where the quote is that closes a field, or -1."""
    while True:
        end = text.find(quote, position)
        if end < 0 or not text.startswith(quote, end + 1):
            return end
        position = end + 2


def file_lines(file: BinaryIO, encoding: str = "utf-8", block: int = BLOCK) -> Iterator[bytes]:
    """Yield the lines of a file in blocks: bytes in which every line ends with LF."""
    # Only a few blocks are in memory: a line beyond the limit is cut where it is seen to be too
    # long.
    rest = file.read(len(BOM))
    if encoding == "utf-8" and rest == BOM:
        rest = b""
    ended = False
    while not ended:
        more = file.read(block)
        ended = not more
        rest += more
        pending = b"\r" if rest.endswith(b"\r") and not ended else b""
        rest = rest[: len(rest) - len(pending)]
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if ended and rest and not rest.endswith(b"\n"):
            rest += b"\n"
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut]
        rest = rest[cut:][: LINE_LIMIT + 1] + pending


# Bring the lines of a CSV file into a form that an engine can only read in one way.
#
# :func:`cleaned` yields the rows of :mod:`tacit.tables.engines.csv` written again in UTF-8:
# every row on lines of its own, with as many fields as there are names.  Lines that are in that
# form already, nearly all of them in most files, are recognised by counting bytes in arrays and
# pass as they are.
#
# *Clean lines are read alike.*  A line passes if it is not empty, no longer than the limit, without
# NUL, text in the encoding, and every quote in it, counted from the line's start, either opens (an
# even number before it, and it is at the start or behind a delimiter or a quote) or closes (an
# odd number before it, and a delimiter, a quote or the end follows); if their number is even; and
# if the delimiters with an even number of quotes before them are one fewer than the names.  By
# induction over the quotes such a line is a list of fields each of which is quoted as a whole, with
# quotes doubled within, or has no quote: what every reader of CSV agrees on.  In UTF-8 and in
# encodings of one byte a character that include ASCII no byte of another character is a delimiter,
# a quote or the end of a line.  All other lines go through the definition itself.


# Called with the number of a line, the first being 0, and what is wrong with it.
Notice = Callable[[int, str], None]
_LF, _HIGH = 10, 128


def cleaned(
    blocks: Iterable[bytes], form: CsvFormat, width: int, notice: Notice | None = None
) -> Iterator[bytes]:
    """Yield the rows in blocks, rewritten."""
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
    copied = 0
    for index in np.flatnonzero(dirty).tolist():
        start = int(ends[index - 1]) + 1 if index else 0
        end = int(ends[index])
        if start > copied:
            yield _in_utf8(block[copied:start], form)
        copied = end + 1
        if (start == end and (width > 1 or form.layout)) or is_comment(block[start:end], form):
            continue
        wrong, cells = cells_of(split(block[start:end], form), form, width)
        if wrong and notice is not None:
            notice(number + index, wrong)
        yield written(cells, form)
    if copied < len(block):
        yield _in_utf8(block[copied:], form)


def _in_utf8(block: bytes, form: CsvFormat) -> bytes:
    if form.text_encoding == "utf-8" or block.isascii():
        return block
    return block.decode(form.text_encoding).encode()


def _dirty(
    block: bytes, form: CsvFormat, width: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where lines end, and which of them are not as the engine may have them."""
    array = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(array == _LF)
    lengths = np.diff(ends, prepend=-1) - 1
    dirty = (lengths == 0) | (lengths > LINE_LIMIT)
    if form.comment:
        dirty |= array[ends - lengths] == ord(form.comment)
    if b"\0" in block:
        dirty[_lines_of(array == 0, ends)] = True
    if not _is_text(block, form.text_encoding):
        dirty[_lines_of(array >= _HIGH, ends)] = True
    delimiters = np.flatnonzero(array == ord(form.delimiter or ","))
    if form.quote and form.quote.encode() in block:
        quotes = np.flatnonzero(array == ord(form.quote))
        before = np.searchsorted(quotes, ends - lengths)  # before each line
        _mark_quotes(array, quotes, before, ends, form, dirty)
        line = np.searchsorted(ends, delimiters)
        inside = (np.searchsorted(quotes, delimiters) - before[line]) & 1
        counts = np.bincount(line[inside == 0], minlength=len(ends))
    else:
        counts = np.diff(np.searchsorted(delimiters, ends), prepend=0)
    return ends, dirty | (counts != width - 1)


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
    neighbours = np.where(opens, array[quotes - 1], array[quotes + 1])
    if quotes[0] == 0:
        neighbours[0] = _LF
    fits = (
        (neighbours == _LF)
        | (neighbours == ord(form.delimiter or ","))
        | (neighbours == ord(form.quote))
    )
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


# How declared columns of a CSV file are read: as the question would read them, only once.


_READINGS = {
    "integer": "read_integer",
    "float": "read_number",
    "boolean": "read_boolean",
    "date": "read_date",
}


def declared_sql(cell: str, kind: str | None, form: CsvFormat, d: Dialect) -> str:
    """The SQL of a cell's value in a column of a declared kind; NULL where it does not fit."""
    # With a format of its own a date is read by DuckDB's ``try_strptime``, which is missing where
    # the text does not fit it.
    own = {"date": form.date_format, "timestamp": form.time_format}.get(kind or "")
    if own is not None:
        parsed = f"try_strptime(trim(left({cell}, 100)), {d.literal(own)})"
        low, high = "timestamp '0001-01-01'", "timestamp '9999-12-31 23:59:59'"
        bounded = f"[case when tacit_t between {low} and {high} then tacit_t end for tacit_t in "
        value = f"{bounded}[{parsed}]][1]"
        return f"cast({value} as date)" if kind == "date" else value
    if kind == "timestamp":
        seconds = reading_sql("read_seconds", cell, d)
        return f"make_timestamp({seconds} * 1000000)"
    if kind in ("integer", "float"):
        cell = (numbers_sql(form, d) or "{x}").replace("{x}", cell)
    return reading_sql(_READINGS[kind], cell, d) if kind in _READINGS else cell


def numbers_sql(form: CsvFormat, d: Dialect) -> str:
    """Return the SQL of the text ``{x}`` of a cell with the number in it written with a point."""
    # Total, as the readings are: a cell that fits the declared signs is written again, one that is
    # a number with other signs is missing, and any other text stays what it is.
    if form.decimal == "." and not form.thousands:
        return ""
    point, whole = f"[{form.decimal}]", "[0-9]{1,30}"
    if form.thousands:
        whole += f"|[0-9]{{1,3}}([{form.thousands}][0-9]{{3}}){{1,9}}"
    own = f"[+-]?(({whole})({point}[0-9]{{0,30}})?|{point}[0-9]{{1,30}}){POWER}"
    plain = f"replace({{x}}, {d.literal(form.thousands)}, '')" if form.thousands else "{x}"
    written = f"replace({plain}, {d.literal(form.decimal)}, '.')"
    fits, other = fits_sql("{x}", own, d), fits_sql("{x}", NUMBER, d)
    return f"(case when {fits} then {written} when {other} then null else {{x}} end)"


# The kind of a column of text that loses nothing: how its cells are written, counted.
#
# A kind is suggested where every cell is the canonical writing of its value, so that no two cells
# that differ become one value: then declaring the kind loses nothing.  Numbers with leading zeros
# (``01001``), with more digits than a double has, in two writings (``250`` and ``250.0``, ``250.0``
# and ``250.00``), with a power of ten (``12E3``), and words that may be codes (a column of only
# ``NO``) stay text.
#
# *Why nothing is lost.*  Within each of the styles below, the text of a cell, without spaces around
# it, is a function of the value that is read, hence no two texts have one value: integers of
# at most 18 digits without leading zeros; decimals that are what a double is written as (in one
# style ``1.0``, in the other ``1``, never both in a column); decimals of at most 15 digits, all
# with the same number of places; days; times down to the second, all in one writing; and for truth
# values one writing each for true and for false.  Where this does not follow from the writing, of
# times with offsets and of dates and times in a format of their own, it is counted: as many texts
# as values.  Cells such as ``NA``, for an unknown value, are missing in every kind.


KINDS = ("integer", "float", "date", "timestamp", "boolean")
_UNKNOWN = ("", "na", "n/a", "nan", "null", "none", ".", "-", "?")
_INTEGER = "(0|-?[1-9][0-9]{0,17})"
_FIXED = "-?(0|[1-9][0-9]{0,14})[.][0-9]{1,15}"
_SECONDS = "[^.]*([.]0+([^0-9].*)?)?"
_OFFSET = ".{11}.*[+-].*"


@dataclass(frozen=True)
class Writing:
    """Numbers of cells of a column in each style; exact counts: not private."""

    unknown: int  # those such as ``NA``
    integers: int
    shortest: int  # decimals as a double is written, ``1.0``
    general: int  # the same, integers without a point, ``1``
    fixed: int  # decimals with any number of places
    # of these, the smallest and the greatest number of places
    min_places: int
    max_places: int
    days: int  # days without a time
    merged_days: int  # how many texts of them are the day of another one
    seconds: int  # days and times without fractions of a second
    merged_seconds: int  # how many texts of them are the second of another one
    # in how many writings these are: with and without seconds, with a space or a ``T``, with and
    # without an offset
    clocks: int
    true: int
    false: int
    writings: int  # how many texts are written for them

    def restored(self, kind: str) -> int:
        """Return the number of cells that a kind reads and can write again as they were."""
        fixed = self.fixed if self.min_places == self.max_places else 0
        return {
            "integer": self.integers,
            "float": max(self.shortest, self.general, fixed),
            "date": 0 if self.merged_days else self.days,
            "timestamp": self.seconds if self.clocks == 1 and not self.merged_seconds else 0,
            "boolean": self.true + self.false if self.true and self.false else 0,
        }[kind]

    def suggestion(self, filled: int) -> str | None:
        """Return the first kind that restores every known cell, else text."""
        known = filled - self.unknown
        if not filled:
            return None
        kinds = [kind for kind in KINDS if known and self.restored(kind) == known]
        if kinds[:1] == ["boolean"] and self.writings > 2:
            return "text"
        return kinds[0] if kinds else "text"


def writing_sql(form: CsvFormat, d: Dialect) -> list[str]:
    """Return the SQL of the counts of :class:`Writing`, in their order."""
    # They are of rows with a ``cell``, its ``text`` without spaces around it, and its value as each
    # kind: ``as_integer``, ``as_float`` ...
    day = "true" if form.date_format else "length(text) = 10"
    second = "true" if form.time_format else _like(_SECONDS, d)
    timed = f"{second} and as_timestamp is not null"
    shape = "translate(substr(text, 11), '123456789-', '000000000+')"
    form_of_time = "0" if form.time_format else shape
    own_day = "as_date is not null" if form.date_format else "false"
    own_time = timed if form.time_format else f"{timed} and {_like(_OFFSET, d)}"
    again, known = d.cast("as_float", "text"), "count(cell) filter"
    unknown = ", ".join(map(d.literal, _UNKNOWN))
    signed = "not (as_float = 0 and left(text, 1) = '-')"  # there is one zero
    fixed = f"{signed} and {_like(_FIXED, d)} and length(replace(text, '-', '')) <= 16"
    places = f"case when {fixed} then length(split_part(text, '.', 2)) end"
    return [
        f"{known} (where lower(text) in ({unknown}))",
        f"{known} (where as_integer is not null and {_like(_INTEGER, d)})",
        f"{known} (where {signed} and {again} = text)",
        f"{known} (where {signed} and replace({again} || ' ', '.0 ', ' ') = text || ' ')",
        f"{known} (where {fixed})",
        f"coalesce(min({places}), 0)",
        f"coalesce(max({places}), 0)",
        f"{known} (where {day} and as_date is not null)",
        _merged(own_day, "as_date"),
        f"{known} (where {timed})",
        _merged(own_time, "as_timestamp"),
        f"count(distinct case when {timed} then {form_of_time} end)",
        f"{known} (where as_boolean)",
        f"{known} (where not as_boolean)",
        "count(distinct case when as_boolean is not null then text end)",
    ]


def _merged(which: str, value: str) -> str:
    texts, values = (f"count(distinct case when {which} then {x} end)" for x in ("text", value))
    return f"{texts} - {values}"


def _like(pattern: str, d: Dialect) -> str:
    return d.matches.format(x="text", p=d.literal(d.whole.format(p=pattern)))
