"""How a CSV file is written: declared, never guessed."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict, Unpack

from tacit.arithmetic.exact import as_integer
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.dialect import is_unicode
from tacit.tables.reading import Reading

__all__ = ["LINE_LIMIT", "MULTILINE_LIMIT", "CsvFormat", "CsvOptions", "csv_format", "refuse_csv"]

LINE_LIMIT = 1 << 20
"""The most bytes of a line; a longer one counts as a row in which everything is missing."""
MULTILINE_LIMIT = 1000
"""The most lines that one field may be declared to run over."""
TYPES = {
    "integer": "bigint",
    "float": "double",
    "text": "varchar",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
"""The kinds that ``types=`` can declare, and the engine's types for them."""
_ONE_BYTE = re.compile(r"utf-8|ascii|iso8859-\d+|cp125\d|cp437|cp850|koi8-[ru]|mac-\w+")
_DATE_PARTS = set("YmdyjbB")
_TIME_PARTS = _DATE_PARTS | set("HMSfIp")


class CsvOptions(TypedDict, total=False):
    """What can be said of a CSV file; :class:`CsvFormat` says what each means."""

    types: Mapping[str, str] | None
    header: bool | Sequence[str]
    delimiter: str | None
    quote: str
    encoding: str
    null: str | Sequence[str]
    date_format: str | None
    time_format: str | None
    multiline: int


@dataclass(frozen=True)
class CsvFormat:
    """The dialect of a CSV file.

    Attributes:
        types: kinds of columns, by name: integer, float, text, boolean, date or timestamp.
        header: whether the first line holds the names; else their list, or False, where
            ``types`` names every column in its order.
        delimiter: what parts the fields; None is a comma, or a tab in a file named ``.tsv``.
        quote: what stands around a field, doubled within; none where it is empty.
        encoding: how the text is written: UTF-8, or an encoding of one byte a character.
        null: texts that are missing values, besides the empty one; spaces around them do not count.
        date_format: how declared dates are written, such as ``"%d.%m.%Y"``; None is ISO 8601.
        time_format: how declared timestamps are, such as ``"%d.%m.%Y %H:%M"``.
        multiline: how many lines a quoted field may run over.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    header: bool | tuple[str, ...] = True
    delimiter: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    null: tuple[str, ...] = ()
    date_format: str | None = None
    time_format: str | None = None
    multiline: int = 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names that were given; None where the first line holds them."""
        if self.header is True:
            return None
        return tuple(self.types) if self.header is False else self.header

    def for_file(self, path: str) -> CsvFormat:
        """Return the format with the delimiter that the name of a file says."""
        if self.delimiter is not None:
            return self
        tab = path.casefold().removesuffix(".gz").endswith(".tsv")
        return replace(self, delimiter="\t" if tab else ",")

    def reading(self, path: str) -> Reading:
        """Return what of the format is not the default of a file, as a question describes it.

        >>> csv_format(null=["99"], delimiter=",").reading("visits.csv").options
        {'null': ['99']}
        """
        said, default = self.for_file(path), CsvFormat().for_file(path)
        options: dict[str, Any] = {
            "header": list(said.names or ()),
            "null": sorted({*said.null} - {""}),
        }
        for option in fields(self):
            value = options.get(option.name, getattr(said, option.name))
            options[option.name] = value
            if option.name in _OF_COLUMNS or value in (getattr(default, option.name), []):
                del options[option.name]
        formats = {"date": self.date_format, "timestamp": self.time_format}
        columns = {
            name: kind if formats.get(kind) is None else f"{kind} {formats[kind]}"
            for name, kind in self.types.items()
        }
        return Reading(options, columns)


_OF_COLUMNS = ("types", "date_format", "time_format")


def csv_format(**given: Unpack[CsvOptions]) -> CsvFormat:
    """Check what was said of a CSV file.

    Raises:
        UsageError: an option that does not exist or does not fit.

    >>> csv_format(delimiter=";", null="NA").null
    ('NA',)
    """
    for name in given:
        if name not in CsvOptions.__annotations__:
            raise UsageError(f"there is no option {name}=; {did_you_mean(name, _OPTIONS)}")
    said: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    null = said.get("null", ())
    found = CsvFormat(
        types=_types(said.get("types", {})),
        header=_header(said.get("header", True)),
        delimiter=_sign(said.get("delimiter"), "delimiter"),
        quote=_sign(said.get("quote", '"'), "quote") or "",
        encoding=_encoding(said.get("encoding", "utf-8")),
        null=_texts((null,) if isinstance(null, str) else null, "null"),
        date_format=_moments(said.get("date_format"), "date_format", _DATE_PARTS),
        time_format=_moments(said.get("time_format"), "time_format", _TIME_PARTS),
        multiline=as_integer(said.get("multiline", 1), "multiline", minimum=1),
    )
    if found.header is False and not found.types:
        raise UsageError(
            "a file without a line of column names needs the names from you: header=['id', "
            "'age'], or header=False with types={'id': 'text', 'age': 'integer'} for every "
            "column in order"
        )
    if found.delimiter and found.delimiter == found.quote:
        raise UsageError("delimiter= and quote= are the same character")
    if found.multiline > MULTILINE_LIMIT:
        raise UsageError(f"a field runs over at most {MULTILINE_LIMIT} lines; multiline= is more")
    if found.multiline > 1 and not found.quote:
        raise UsageError("multiline= is for quoted fields, and quote='' says that there are none")
    return found


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


def _sign(sign: Any, name: str) -> str | None:
    """Return a delimiter or a quote: one character of ASCII."""
    if sign is None or (sign == "" and name == "quote"):
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
    if not _ONE_BYTE.fullmatch(name):
        raise UsageError(
            f"encoding={encoding!r} is not supported: it is 'utf-8', or one of one byte a "
            "character such as 'latin-1' or 'cp1252'; turn another into UTF-8 first, as iconv "
            "does"
        )
    return name


def _moments(given: Any, name: str, known: set[str]) -> str | None:
    if given is None:
        return None
    parts = re.findall(r"%(.)", given) if isinstance(given, str) else []
    if not parts or not set(parts) <= known or not {"d", "j"} & set(parts):
        like = "'%d.%m.%Y'" if name == "date_format" else "'%d.%m.%Y %H:%M:%S'"
        raise UsageError(f"{name}= is written like {like}, not {given!r}")
    return str(given)


def refuse_csv(csv: CsvOptions, why: str) -> None:
    """Refuse what can be said of CSV files only."""
    said = [name for name, value in csv.items() if value is not None]
    if said:
        raise UsageError(f"{said[0]}= is for CSV files; {why}")
