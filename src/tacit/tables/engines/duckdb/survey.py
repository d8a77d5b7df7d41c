"""Files of SPSS, Stata and SAS for DuckDB, read by their dictionaries."""

from __future__ import annotations

import codecs
import io
import math
import os
import re
import struct
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from weakref import proxy

import numpy as np

from tacit.calls import calls_inside
from tacit.errors import DataSourceError, DataSourceWarning, need
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.engine import DuckEngine, schema_of
from tacit.tables.engines.duckdb.frames import batches_of, hold_batches
from tacit.tables.reading import Code

# Opening reads the dictionary of a file and no row: the names, types and formats of its columns,
# their codes for missing values, and the labels of their values.  The type of a column follows
# from its storage type and its format alone; pyreadstat itself decides some by the rows, so that
# only plain numbers and bytes are taken from it.
#
# *Total:* each cell becomes a value by its own bytes.  Numbers are read as they are stored, before
# any conversion to dates, which raises in pyreadstat for far ones; text is read as bytes, of which
# those that are no text of the file's encoding are missing, where pyreadstat ends the whole read.
#
# Rows are read once, at the first query, in parts of bounded size, from which the engine fills a
# table of its own: nothing of them is on the disk but what the engine spills, in its own folder.


_WHOLE = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER"}
_FLOATS = {"float": "FLOAT", "double": "DOUBLE"}
# Rows of a part at least, and parts at most: each of them reads the rows before it again.
_LEAST_ROWS, _PARTS = 20_000, 5
# Cells of a part of a Stata file, which is read from any row on, and parts: each reads its labels.
_CELLS, _STATA_PARTS = 200_000, 32
_CELL = 8  # characters of a cell of a portable file, about
_PART_BYTES = 1 << 20  # of a part of a transport file, which need not skip
_TOO_LONG = "Unable to allocate memory"  # what ReadStat says of 16 MiB in one piece
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999
_LARGEST = float(np.finfo(np.float64).max)
_MOST_LABELS = 100_000

# Formats of days and of moments by their first letters; durations stay numbers.
_SPSS = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "SDATE", "JDATE", "QYR", "MOYR", "WKYR"), "date"),
    **dict.fromkeys(("DATETIME", "YMDHMS"), "timestamp"),
}
# Those of SAS that show a part of a day (YEAR4., MONTH., QTR.) are of numbers that are days, too.
_SAS = {
    **dict.fromkeys(
        (
            *("DATE", "DAY", "DDMMYY", "MMDDYY", "YYMMDD", "WEEKDATE", "WEEKDATX", "WORDDATE"),
            *("WORDDATX", "JULIAN", "MONYY", "YYMON", "MMYY", "YYMM", "YYQ", "E8601DA", "B8601DA"),
            *("IS8601DA", "MINGUO", "NENGO", "YEAR", "MONTH", "MONNAME", "QTR", "QTRR", "YYQR"),
            *("YYQZ", "DOWNAME", "WEEKDAY", "WEEKU", "WEEKV", "WEEKW", "JULDAY", "PDJULG"),
            *("PDJULI", "HDATE", "HEBDATE"),
        ),
        "date",
    ),
    **dict.fromkeys(
        (
            *("DATETIME", "E8601DT", "B8601DT", "IS8601DT", "DATEAMPM", "MDYAMPM", "DTDATE"),
            *("DTMONYY", "DTYEAR", "DTWKDATX", "DTYYQC", "B8601DN", "E8601DN", "IS8601DN"),
            *("B8601DX", "E8601DX", "B8601DZ", "E8601DZ", "IS8601DZ", "B8601LX", "E8601LX"),
        ),
        "timestamp",
    ),
}
_SAS_LOCAL = {"NLDATE": "date", "NLDATM": "timestamp"}  # and some twenty that begin so


@dataclass(frozen=True)
class SurveyColumn:
    """A column as the dictionary of a file declares it."""

    name: str
    stored: str  # the storage type: string, int8, int16, int32, float or double
    kind: str  # of DuckDB
    # days, seconds or milliseconds of the numbers of a day or a moment, and where they start
    ticks: float = 1
    origin: int = 0  # in days from 1970-01-01
    period: str = ""  # of Stata: w, m, q, h
    missing: tuple[Code, ...] = ()
    # of a column of times, its missing codes as it stores them: numbers, from and to
    missing_ticks: tuple[tuple[float, float], ...] = ()
    labels: Mapping[str | int | float, str] = field(default_factory=dict)


class SurveyFile(NamedTuple):
    """A file with its dictionary."""

    path: str
    kind: str
    columns: tuple[SurveyColumn, ...]
    rows: int | None  # as the file declares them
    encoding: str
    label: str = ""


class SurveyTable(NamedTuple):
    """What the dictionaries of the files of a table declare."""

    relation: str
    schema: Schema
    missing: dict[str, list[Code]]
    labels: dict[str, dict[str | int | float, str]]


def open_survey(
    files: Sequence[str], kind: str, engine: DuckEngine, encoding: str | None = None
) -> SurveyTable:
    """Return the relation that the files will be, and what their dictionaries declare."""
    opened = [_dictionary(path, kind, encoding) for path in files]
    first = opened[0]
    for other in opened[1:]:
        if [replace(c, labels={}) for c in other.columns] != [
            replace(c, labels={}) for c in first.columns
        ]:
            raise DataSourceError(
                f"{Path(first.path).name} and {Path(other.path).name} declare other columns, types "
                "or codes for missing values: open them one by one"
            )
    types = {column.name: column.kind for column in first.columns}
    refuse_like_names(types)
    table = engine.empty_table(types)
    relation = engine.view(f"select * from {table}")
    engine.before_reading(partial(_import, opened, table, relation, proxy(engine)))
    missing = {c.name: list(c.missing) for c in first.columns if c.missing}
    return SurveyTable(relation, schema_of(types), missing, _common_labels(opened))


def _common_labels(opened: Sequence[SurveyFile]) -> dict[str, dict[str | int | float, str]]:
    """Return the labels of all files; a column has none where two files label a code otherwise."""
    common: dict[str, dict[str | int | float, str]] = {}
    for columns in zip(*(file.columns for file in opened), strict=True):
        name, labels = columns[0].name, dict[str | int | float, str]()
        for file, column in zip(opened, columns, strict=True):
            if any(labels.get(code, label) != label for code, label in column.labels.items()):
                first, other = Path(opened[0].path).name, Path(file.path).name
                warnings.warn(
                    f"{other} labels a value of {name!r} otherwise than {first} does, or a file "
                    "between them: it is shown without labels. If a code means something else in "
                    "each file, open them one by one",
                    DataSourceWarning,
                    stacklevel=calls_inside(),
                )
                labels = {}
                break
            labels |= column.labels
        if labels:
            common[name] = labels
    return common


# ---- the dictionary


def _dictionary(path: str, kind: str, encoding: str | None) -> SurveyFile:
    reader = _reader(kind)
    with _refused(path):
        _, meta = reader(path, metadataonly=True, **_as_stored(kind))
    columns = tuple(_column(name, meta, kind) for name in meta.column_names)
    if not columns:
        raise DataSourceError(f"{path} has no columns")
    if kind == "sas_transport":
        _transport(path, columns, meta)
    return SurveyFile(path, kind, columns, meta.number_rows, _encoding(path, meta, kind, encoding))


def _reader(kind: str) -> Callable[..., Any]:
    library = need("pyreadstat", "files")
    name = {
        "spss": "read_sav",
        "spss_portable": "read_por",
        "stata": "read_dta",
        "sas": "read_sas7bdat",
        "sas_transport": "read_xport",
    }[kind]
    reader: Callable[..., Any] = getattr(library, name)
    return reader


def _as_stored(kind: str) -> dict[str, bool]:
    """Return the options that leave numbers and the codes for missing values as they are."""
    # Those of Stata and SAS (.a to .z) are no numbers, and always missing.
    return {
        "disable_datetime_conversion": True,
        **({"user_missing": True} if kind == "spss" else {}),
    }


@contextmanager
def _refused(path: str) -> Iterator[None]:
    """Return a block in which the dictionary is read: an error names the file, and no cell."""
    try:
        yield
        return
    except MemoryError:
        raise
    except Exception as error:
        failure = type(error).__name__
        too_long = str(error) == _TOO_LONG
    if too_long:  # in a file that it may have written itself
        raise DataSourceError(
            f"{path} has a dictionary that ReadStat does not read: a list in it, such as the value "
            "labels of a column, takes more than 16 MiB (some 233,000 labels); leave these out"
        )
    raise DataSourceError(
        f"{path} cannot be read ({failure}): it is damaged or cut short, protected by a password, "
        "or not what its name says; open it in the program that wrote it, and save it again"
    )


def _encoding(path: str, meta: Any, kind: str, given: str | None) -> str:
    """Return the encoding of the text of a file, as given or as its dictionary declares it."""
    if kind == "spss_portable":
        return ""  # read by the table of characters in the file
    if given or meta.file_encoding:
        return _known_encoding(path, given or str(meta.file_encoding))
    with open(path, "rb") as file:
        head = file.read(40)
    release = re.match(rb"<stata_dta><header><release>(\d+)", head)
    old = head[:1] in (b"\x69", b"\x6c", b"\x6e", b"\x6f", b"\x71", b"\x72", b"\x73")
    if (release and int(release[1]) < 118) or (not release and old):
        return "cp1252"
    return "utf-8"


def _known_encoding(path: str, name: str) -> str:
    """Return the codec of an encoding by the name that pyreadstat gives it."""
    # Where there is none every cell beyond ASCII would be missing without a word.
    plain = re.sub(r"(?i)^windows-(\d+)$", r"cp\1", "big5" if name.upper() == "BIG-5" else name)
    try:
        return codecs.lookup(plain).name
    except LookupError:
        pass
    raise DataSourceError(
        f"the text of {path} is in the encoding {name!r}, which Python does not know: save the "
        "file again in Unicode (UTF-8) in the program that wrote it"
    )


def _column(name: str, meta: Any, kind: str) -> SurveyColumn:
    stored = meta.readstat_variable_types[name]
    written = meta.original_variable_types.get(name) or ""
    labels = _labels(meta.variable_value_labels.get(name, {}), stored)
    missing = _codes(meta.missing_ranges.get(name, ()))
    column = SurveyColumn(name, stored, "VARCHAR", missing=missing, labels=labels)
    if stored == "string":
        return column
    column = replace(column, kind=(_WHOLE | _FLOATS)[stored])
    if kind == "stata":
        return _stata_time(column, written)
    spss = kind.startswith("spss")
    letters = re.match(r"[A-Z0-9]*?[A-Z]+(?=[0-9.]*$)|", written.upper())
    time = _time_of(letters[0] if letters else "", _SPSS if spss else _SAS)
    if not time:
        return column
    # SPSS counts seconds from 1582-10-14; SAS days and seconds from 1960-01-01.
    ticks = _DAY if spss or time == "timestamp" else 1
    made = replace(column, kind=time.upper(), ticks=ticks, origin=-141_428 if spss else -3_653)
    ranges = [
        (c[0], c[1]) if isinstance(c, list) else (c, c) for c in missing if not isinstance(c, str)
    ]
    told = tuple(day for low, high in ranges if low == high and (day := _day_of(low, made)))
    shown = told if time == "date" else ()
    return replace(made, labels={}, missing=shown, missing_ticks=tuple(ranges))


def _day_of(number: float, column: SurveyColumn) -> str:
    """Return a number of a column of days as a day; empty where it is none."""
    day = math.floor(number / column.ticks) + column.origin
    return str(np.datetime64(day, "D")) if _FIRST_DAY <= day <= _LAST_DAY else ""


def _time_of(letters: str, known: Mapping[str, str]) -> str:
    if letters in known:
        return known[letters]
    if known is not _SAS:
        return ""
    plain = letters[:-1] if letters[-1:] and letters[-1] in "BCDNPSR" else ""
    return known.get(plain, "") or _SAS_LOCAL.get(letters[:6], "")


def _stata_time(column: SurveyColumn, written: str) -> SurveyColumn:
    match = re.match(r"%-?(?:t([a-zA-Z])|(d))", written)
    unit = (match[1] or match[2]) if match else ""
    if unit == "d":
        return replace(column, kind="DATE", origin=-3_653)
    if unit == "c":
        return replace(column, kind="TIMESTAMP", ticks=_DAY * 1000, origin=-3_653)
    return replace(column, kind="DATE", period=unit) if unit in ("w", "m", "q", "h") else column


def _codes(ranges: Sequence[Mapping[str, Any]]) -> tuple[Code, ...]:
    """Return missing codes in the form of declared ones."""
    codes: list[Code] = []
    for each in ranges:
        low, high = each["lo"], each["hi"]
        if isinstance(low, str):
            codes.append(low.rstrip(" "))
            continue
        ends = [_plain(max(min(end, _LARGEST), -_LARGEST)) for end in (low, high)]
        codes.append(ends[0] if ends[0] == ends[1] else ends)
    return tuple(codes)


def _plain(number: float) -> int | float:
    return int(number) if abs(number) < 2**53 and number == int(number) else float(number)


def _labels(given: Mapping[Any, str], stored: str) -> dict[str | int | float, str]:
    """Return the labels of plain values; those of Stata's ``.a`` to ``.z`` are not values."""
    if len(given) > _MOST_LABELS:
        return {}
    labels: dict[str | int | float, str] = {}
    for value, label in given.items():
        if stored == "string" and isinstance(value, str):
            labels[value.rstrip(" ")] = str(label)
        elif stored != "string" and isinstance(value, (int, float)) and math.isfinite(value):
            labels[_plain(value)] = str(label)
    return labels


# ---- the rows


def _import(files: Sequence[SurveyFile], table: str, relation: str, engine: DuckEngine) -> None:
    """Fill the table with the rows of all files, or with none."""
    import pyarrow as pa

    schema = pa.schema([(c.name, _arrow_type(c)) for c in files[0].columns])
    hold_batches(table, relation, schema, partial(_batches, files, schema), engine)


def _arrow_type(column: SurveyColumn) -> Any:
    import pyarrow as pa

    return {
        "VARCHAR": pa.string(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
    }[column.kind]


def _batches(files: Sequence[SurveyFile], schema: Any, failed: list[str]) -> Iterator[Any]:
    """Yield the rows as batches of Arrow; a file that fails is noted."""
    for file in files:
        try:
            again = _dictionary(file.path, file.kind, file.encoding)
            if again.columns != file.columns:
                raise DataSourceError("the file has another dictionary than when it was opened")
            read = 0
            for cells in _parts(again):
                arrays = [_array(cells.pop(0), column, file) for column in file.columns]
                read += len(arrays[0])
                yield from batches_of(arrays, schema)
            if again.rows is not None and read != again.rows:
                raise DataSourceError("the file has other rows than it declares")
        except Exception:
            failed.append(file.path)


def _parts(file: SurveyFile) -> Iterator[list[Any]]:
    """Yield the columns of the file as lists, part by part."""
    # Nothing here refers to a part: who takes a column from it frees its cells.
    reader = _reader(file.kind)
    options: dict[str, Any] = {
        **_as_stored(file.kind),
        "output_format": "dict",
    }
    if file.kind != "spss_portable":  # it has a table of its characters
        options["encoding"] = "ISO-8859-1"  # each byte is a character of it: no cell ends the read
    if file.kind == "sas_transport":
        for records in _transport_parts(file):
            yield list(reader(records, **options)[0].values())
        return
    least, parts, rows = _LEAST_ROWS, _PARTS, file.rows
    if file.kind == "stata":
        least, parts = _CELLS // len(file.columns), _STATA_PARTS
    if rows is None:  # it does not say: a guess, from which only the size of a part follows
        rows = os.path.getsize(file.path) // (_CELL * len(file.columns))
    step = max(least, -(-rows // parts))
    with open(file.path, "rb") as opened:
        long = _with_long_texts(opened) if file.kind == "stata" else None
        for start in count(0, step):
            if long is not None:
                long.seek(0)
            source = long or file.path
            part = list(reader(source, row_offset=start, row_limit=step, **options)[0].values())
            last = len(part[0]) < step
            yield part
            if last or start + step == file.rows:
                return


def _array(values: list[Any], column: SurveyColumn, file: SurveyFile) -> Any:
    import pyarrow as pa

    kind = _arrow_type(column)
    if column.stored == "string":
        return pa.array(_texts(values, file), kind)
    numbers = np.array(values, dtype=np.float64)
    known = np.isfinite(numbers)
    if column.kind in _WHOLE.values():  # of 32 bits at most, which doubles hold exactly
        whole = np.where(known, numbers, 0).astype(np.int64)
        return pa.array(whole, mask=~known).cast(kind)
    if column.kind in _FLOATS.values():
        return pa.array(numbers, mask=np.isnan(numbers)).cast(kind, safe=False)
    if column.period:
        days, known = _days_of_periods(np.where(known, numbers, 0), column.period, known)
        return pa.array(days.astype(np.int32), mask=~known).cast(kind)
    for low, high in column.missing_ticks:
        known &= ~((numbers >= low) & (numbers <= high))
    known &= np.abs(numbers) < 2.0**53  # beyond every calendar, where what follows would overflow
    # in days and the rest of a day: a product of seconds and 10^6 would be rounded
    numbers = np.where(known, numbers, 0)
    days = np.floor(numbers / column.ticks)
    rest = numbers - days * column.ticks
    days += column.origin
    known &= (days >= _FIRST_DAY) & (days <= _LAST_DAY)
    days = np.where(known, days, 0).astype(np.int64)
    if column.kind == "DATE":
        return pa.array(days.astype(np.int32), mask=~known).cast(kind)
    micros = np.rint(rest * (_DAY * 1e6 / column.ticks)).astype(np.int64)
    return pa.array(days * (_DAY * 10**6) + micros, mask=~known).cast(kind)


def _days_of_periods(numbers: Any, period: str, known: Any) -> tuple[Any, Any]:
    """Return the first days of Stata's weeks, months, quarters and half-years since 1960."""
    known = known & (np.abs(numbers) < 1e6)
    whole = np.floor(np.where(known, numbers, 0)).astype(np.int64)
    each = {"w": 52, "m": 12, "q": 4, "h": 2}[period]
    years, part = whole // each, whole % each
    known &= (years >= 1 - 1960) & (years <= 9999 - 1960)
    years = np.where(known, years, 0)
    if period == "w":  # week 1 starts on January 1, the last has eight or nine days
        return _day(years * 12) + part * 7, known
    return _day(years * 12 + part * (12 // each)), known


def _day(months: Any) -> Any:
    """Return the days from 1970-01-01 to the first days of months since January 1960."""
    return (months - 120).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _texts(values: list[Any], file: SurveyFile) -> list[str | None]:
    """Return cells that were read as bytes; what is no text of the file's encoding is missing."""
    # The empty text is missing in Stata and SAS, and a value in SPSS.
    known: dict[Any, str | None] = {}
    empty_is_missing = not file.kind.startswith("spss")
    for value in set(values):
        known[value] = _decoded(value, file.encoding)
        if value == "" and empty_is_missing:
            known[value] = None
    return [known[value] for value in values]


def _decoded(cell: Any, encoding: str) -> str | None:
    if not isinstance(cell, str):
        return None
    if cell.isascii() or not encoding:
        return cell
    try:
        return cell.encode("latin-1").decode(encoding)
    except (UnicodeError, LookupError):
        return None


# ---- long texts of Stata (strL)
#
# They are stored behind the rows, and ReadStat does not convert them: pyreadstat takes them for
# UTF-8, and one that is not ends the read of the file.  So they are handed over with each byte as a
# character in UTF-8, as which all other texts are read; the map of the file follows what is moved.


_MAP = re.compile(
    rb"<stata_dta><header><release>(11[789])</release><byteorder>(LSF|MSF)</byteorder>.*?<map>",
    re.DOTALL,
)
_SECTIONS, _STRLS = 14, 10  # of a file, whose offsets are in its map; and that of the long texts
_OPENING, _CLOSING = b"<strls>", b"</strls>"
_TEXT_OF_STRL = 130  # all others are binary


class _Pieces:
    """A file for ReadStat that is made of bytes and of parts of a file, one after the other."""

    def __init__(self, file: BinaryIO, pieces: Sequence[bytes | tuple[int, int]]) -> None:
        self._file, self._pieces = file, pieces
        sizes = [len(p) if isinstance(p, bytes) else p[1] - p[0] for p in pieces]
        self._ends = list(accumulate(sizes))
        self._at = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._ends[-1]}
        self._at = starts[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        found = b""
        while len(found) < size and self._at < self._ends[-1]:
            index = bisect_right(self._ends, self._at)
            piece, most = self._pieces[index], min(size - len(found), self._ends[index] - self._at)
            before = self._ends[index - 1] if index else 0
            start = self._at - before
            if isinstance(piece, bytes):
                part = piece[start : start + most]
            else:
                self._file.seek(piece[0] + start)
                part = self._file.read(most)
            if not part:
                break  # the file was cut short meanwhile
            self._at += len(part)
            found += part
        return found


def _with_long_texts(file: BinaryIO) -> _Pieces | None:
    """Return a Stata file whose long texts ReadStat can read; None where it has none."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    head = _MAP.match(file.read(1 << 16))
    if not head:  # an older one, which has none
        return None
    order = "<" if head[2] == b"LSF" else ">"
    offsets = struct.Struct(f"{order}{_SECTIONS}Q")
    file.seek(head.end())
    places = list(offsets.unpack(file.read(offsets.size)))
    start, end = places[_STRLS : _STRLS + 2]
    if end == start + len(_OPENING + _CLOSING):
        return None
    if not start < end <= size:
        raise DataSourceError("the map of the file is not that of its sections")
    file.seek(start)
    texts = _each_byte_a_character(file.read(end - start), order, int(head[1]))
    moved = start + len(texts) - end
    places[_STRLS + 1 :] = [place + moved for place in places[_STRLS + 1 :]]
    behind_map = head.end() + offsets.size
    return _Pieces(
        file, [(0, head.end()), offsets.pack(*places), (behind_map, start), texts, (end, size)]
    )


def _each_byte_a_character(section: bytes, order: str, release: int) -> bytes:
    """Return the section of the long texts with each byte as a character in UTF-8."""
    header = struct.Struct(f"{order}3sI{'I' if release == 117 else 'Q'}BI")
    texts, place = [_OPENING], len(_OPENING)
    while section.startswith(b"GSO", place):
        *name, kind, length = header.unpack_from(section, place)
        place += header.size
        text = section[place : place + length] if kind == _TEXT_OF_STRL else b""
        place += length
        text = text.partition(b"\0")[0].decode("latin-1").encode() + b"\0"
        texts += [header.pack(*name, _TEXT_OF_STRL, len(text)), text]
    return b"".join([*texts, _CLOSING])


# ---- transport files of SAS, whose rows have one length
#
# Blanks fill the last record of a file, and may be rows without a value as well.  Version 8 counts
# its rows, if its writer does (haven 2.5.1 does not).  Elsewhere a row of blanks is no row,
# wherever it is: ReadStat leaves out those at the end alone, so that one row more would bring
# others back.


_OBS = re.compile(rb"HEADER RECORD\*{7}OBS(V8)? {1,5}HEADER RECORD!{7}(.{15})", re.DOTALL)
_TABLE = re.compile(rb"HEADER RECORD\*{7}MEMB(?:ER|V8)  HEADER RECORD!{7}")
_RECORD = 80
_BLANK = 0x20


class _Transport(NamedTuple):
    """Where the rows of a transport file are."""

    start: int
    width: int  # of a row, in bytes
    rows: int | None  # None where the file does not say


def tables_in(path: str) -> int:
    """Return how many tables a transport file seems to have; a row may look like the start of one.

    Only the first is read, and one that does not count its rows is read beyond its end.
    """
    found = 0
    with open(path, "rb") as file:
        while block := file.read(_RECORD << 14):
            found += sum(head.start() % _RECORD == 0 for head in _TABLE.finditer(block))
    return found


def _transport(path: str, columns: Sequence[SurveyColumn], meta: Any) -> _Transport:
    """Return where the rows of a transport file start, and how long each of them is."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        while not (header := _OBS.match(line := file.read(_RECORD))):
            if len(line) < _RECORD:
                raise DataSourceError(f"{path} is cut short: it has no rows")
        start = file.tell()
    width = sum(int(meta.variable_storage_width[c.name]) for c in columns)
    counted = header[2].strip() if header[1] else b""
    rows = int(counted) if counted.isdigit() and int(counted) else None
    if size % _RECORD:
        raise DataSourceError(
            f"{path} is cut short: a transport file consists of records of {_RECORD} bytes, and "
            "its last one has fewer"
        )
    if rows is not None:
        end = start + -(-rows * width // _RECORD) * _RECORD
        if size < end:
            raise DataSourceError(f"{path} is cut short: it declares more rows than it has")
        if size > end:
            raise DataSourceError(
                f"{path} has something behind the rows of its first table: write each table to a "
                "file of its own"
            )
    return _Transport(start, width, rows)


def _transport_parts(file: SurveyFile) -> Iterator[io.BytesIO]:
    """Yield transport files of some of the rows each: skipping rows takes as long as reading."""
    _, meta = _reader(file.kind)(file.path, metadataonly=True)
    start, width, rows = _transport(file.path, file.columns, meta)
    step = width * max(1, _PART_BYTES // width)
    with open(file.path, "rb") as whole:
        head = whole.read(start)
        left = os.path.getsize(file.path) - start if rows is None else rows * width
        while part := whole.read(min(step, left)):
            left -= len(part)
            yield io.BytesIO(head + (_filled(part, width) if rows is None else part))


def _filled(rows: bytes, width: int) -> bytes:
    """Return rows without those of blanks, and without the rest of a row."""
    each = np.frombuffer(rows, np.uint8)[: len(rows) // width * width].reshape(-1, width)
    return bytes(each[(each != _BLANK).any(axis=1)].data)
