"""Tables and columns of a declaration, read from TOML and written to it."""

from __future__ import annotations

import datetime
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tacit.arithmetic.exact import as_fraction, show
from tacit.errors import UsageError, did_you_mean
from tacit.tables.engines.csv import TYPES, CsvOptions, csv_format
from tacit.tables.engines.files import ConfinedPath, typed
from tacit.tables.missing_codes import Codes, missing_codes, refuse_as_keys
from tacit.tables.plan.query import LABELS
from tacit.tables.privacy_unit import Person, person_from, person_json
from tacit.tables.query.keys import fit_number, key_of_kind

# Fields of a declaration, read with care: unknown ones, wrong kinds, and open questions.


class _Open(Enum):
    """A question that a draft leaves to a person: written as a question mark."""

    OPEN = "?"

    @property
    def sign(self) -> str:
        """Its spelling in a file."""
        return self.value

    def __repr__(self) -> str:
        return "OPEN"


# What a file of TOML holds at a name, or a program says there.
Declared: TypeAlias = (
    "bool | int | float | str | Fraction | datetime.date | datetime.time | _Open"
    " | Sequence[Declared] | Mapping[str, Declared] | None"
)
Open: TypeAlias = Literal[_Open.OPEN]
OPEN: Open = _Open.OPEN
_LONGEST = 300


def known_fields(spec: Mapping[str, Any], fields: Iterable[str], where: str) -> None:
    """Raise for an unknown field, with the nearest known one."""
    known = tuple(fields)
    for name in spec:
        if name not in known:
            raise UsageError(f"{where} has {name!r}; {did_you_mean(name, known)}")


def mapping(spec: object, where: str) -> Mapping[str, Any]:
    """Return a table of fields, or refuse what is none."""
    if not isinstance(spec, Mapping):
        raise UsageError(f"{where} must be a table of fields")
    return spec


def text(spec: Mapping[str, Any], name: str, where: str) -> str | Open | None:
    """Return a text, the open question, or None where nothing is said."""
    value = spec.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f"{name} of {where} must be text in quotes")
    if value == OPEN.sign:
        return OPEN
    if not value:
        raise UsageError(f"{name} of {where} is empty: leave it out, or give it")
    if "\0" in value:
        raise UsageError(f"{name} of {where} holds the character NUL: remove it")
    return value


def person(spec: Mapping[str, Any], where: str) -> Person | Open | None:
    """Return the columns that name a person, the open question, or None where nothing is said."""
    if not isinstance(spec.get("person"), (list, tuple)):
        return text(spec, "person", where)
    try:
        return person_from(spec["person"])
    except UsageError as error:
        raise UsageError(f"person of {where}: {error}") from None


def line(spec: Mapping[str, Any], name: str, where: str) -> str | Open | None:
    """Return a line of text for readers, the open question, or None where nothing is said."""
    value = text(spec, name, where)
    if isinstance(value, str) and (len(value) > _LONGEST or not value.isprintable()):
        raise UsageError(f"{name} of {where} is one line of at most {_LONGEST} characters")
    return value


def flag(spec: Mapping[str, Any], name: str, where: str) -> bool | Open:
    """Return true or false, or the open question; false where nothing is said."""
    value = spec.get(name, False)
    if value == OPEN.sign:
        return OPEN
    if not isinstance(value, bool):
        raise UsageError(f"{name} of {where} must be true or false")
    return value


def whole(spec: Mapping[str, Any], name: str, where: str) -> int | Open | None:
    """Return an integer above zero, the open question, or None where nothing is said."""
    value = spec.get(name)
    if value is None:
        return None
    if value == OPEN.sign:
        return OPEN
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} of {where} must be a whole number of at least 1")
    return value


# Declarations as TOML: read exactly, written plainly.


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_MOST_BYTES = 10_000_000


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file; 0.1 in it is one tenth."""
    try:
        with path.expanduser().open("rb") as file:
            written = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror or error}") from None
    if len(written) > _MOST_BYTES:
        raise UsageError(f"{what} has more than ten megabytes")
    try:
        return tomllib.loads(written.decode("utf-8-sig"), parse_float=Decimal)
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text: save it with the encoding UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        hint = "; a path with \\ has single quotes, 'C:\\data'" if "\\" in str(error) else ""
        raise UsageError(f"{what} is not TOML: {error}{hint}") from None
    except (ValueError, RecursionError):
        raise UsageError(
            f"{what} holds a number of thousands of digits, or lists nested thousands deep"
        ) from None


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet."""
    try:
        with path.expanduser().open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists: remove it, or choose another name") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def toml_of(spec: Mapping[str, Any]) -> str:
    """Return fields as TOML: the tables below, one column a line.

    >>> print(toml_of({"name": "a b", "tables": {"t": {"columns": {"x": {"bounds": [0, 1]}}}}}))
    name = "a b"
    <BLANKLINE>
    [tables.t]
    <BLANKLINE>
    [tables.t.columns]
    x = { bounds = [0, 1] }
    <BLANKLINE>
    """
    lines = _lines({k: v for k, v in spec.items() if k != "tables"})
    for name, table in spec.get("tables", {}).items():
        head = f"tables.{_name(name)}"
        lines += ["", f"[{head}]", *_lines({k: v for k, v in table.items() if k != "columns"})]
        if table.get("columns"):
            lines += ["", f"[{head}.columns]", *_lines(table["columns"])]
    return "\n".join(lines) + "\n"


def _lines(fields: Mapping[str, Any]) -> list[str]:
    return [f"{_name(name)} = {_value(value)}" for name, value in fields.items()]


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if value is OPEN:
        return '"?"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON writes a text as TOML reads it, except for a lone surrogate and DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (Fraction, Decimal)):
        exact = Fraction(value)
        return str(exact.numerator) if exact.denominator == 1 else f'"{exact}"'
    if isinstance(value, Mapping):
        inside = ", ".join(_lines(value))
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(map(_value, value))}]"


# What is public of one column: kind, meaning, bounds, categories.


_FIELDS = ("kind", "meaning", "unit", "bounds", "keys", "public")
# Kinds that make groups, as the query of a release calls them.
_GROUPED = {
    **{kind: kind for kind in ("integer", "text", "boolean", "date")},
    "timestamp": "date",
}
_BOUNDED = ("integer", "float", "decimal", None)


@dataclass(frozen=True)
class ColumnDeclaration:
    """The declaration of a column."""

    # integer, float, text, boolean, date or timestamp; of a table that declares its own types,
    # decimal too; None leaves it to the table, or to each question of a CSV file
    kind: str | Open | None = None
    meaning: str | Open | None = None  # what the column says of a person, in words
    unit: str | Open | None = None  # the physical unit of its numbers, such as ``"euro"``
    # the smallest and the greatest number; questions without bounds of their own use them
    bounds: tuple[Fraction, Fraction] | Open | None = None
    # the categories; questions grouped by the column without keys use them
    # or ``"labels"``: the values that have a label in a file of SPSS, Stata or SAS
    keys: tuple[str | int, ...] | str | Open | None = None
    # whether its values are known to everyone; shown to readers, it changes no guarantee
    public: bool | Open = False

    @classmethod
    def from_fields(cls, spec: Mapping[str, object], where: str) -> ColumnDeclaration:
        """Read a column as a file declares it."""
        if "zone" in spec:
            raise UsageError(
                f"{where} has a zone: times are read in UTC, or as written where they have no "
                "zone; a question converts them, as in "
                "tc.col('at').dt.convert_time_zone('Europe/Berlin')"
            )
        known_fields(spec, _FIELDS, where)
        kind = text(spec, "kind", where)
        if isinstance(kind, str) and kind not in (*TYPES, "decimal"):
            raise UsageError(f"kind of {where} is one of {', '.join(TYPES)}, not {kind!r}")
        column = cls(
            kind,
            line(spec, "meaning", where),
            line(spec, "unit", where),
            _bounds(spec.get("bounds"), kind, where),
            _keys(spec.get("keys"), where),
            flag(spec, "public", where),
        )
        column._agrees(where)
        return column

    def _agrees(self, where: str) -> None:
        """Raise if keys are of another kind than is declared, or out of bounds."""
        if isinstance(self.kind, str):
            self.refuse_keys(self.kind, where)
        if isinstance(self.bounds, tuple) and isinstance(self.keys, tuple):
            low, high = self.bounds
            out = [key for key in self.keys if isinstance(key, int) and not low <= key <= high]
            if out:
                raise UsageError(
                    f"{where} has the key {out[0]} and the bounds [{show(low)}, {show(high)}], "
                    "which exclude it"
                )

    def refuse_keys(self, kind: str, where: str) -> None:
        """Raise if keys do not fit a column of a kind."""
        if not isinstance(self.keys, tuple) or kind in ("undeclared", "missing"):
            return
        if kind in ("float", "decimal"):
            for key in self.keys:
                fit_number(key, where, kind)
            return
        if kind not in _GROUPED:
            raise UsageError(
                f"{where} has keys, and holds {kind}, which cannot be grouped by: leave the keys "
                "out, and cut it into bins where a question groups by it"
            )
        for key in self.keys:
            key_of_kind(key, where, _GROUPED[kind])

    @property
    def description(self) -> dict[str, str]:
        """The description for readers: the meaning and the unit, where declared."""
        spec = {"meaning": self.meaning, "unit": self.unit}
        return {name: text for name, text in spec.items() if isinstance(text, str)}

    def to_fields(self) -> dict[str, Declared]:
        """Return what :meth:`from_fields` reads, without what is not said."""
        spec = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in spec.items() if value not in (None, False)}


def _bounds(given: Any, kind: Any, where: str) -> tuple[Fraction, Fraction] | Open | None:
    if given is None or given == OPEN.sign:
        return None if given is None else OPEN
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise UsageError(f"bounds of {where} are two numbers, such as bounds = [0, 100]")
    if kind is not OPEN and kind not in _BOUNDED:
        raise UsageError(f"{where} has bounds, and holds {kind}; only numbers have bounds")
    if any(isinstance(end, bool) for end in given):
        raise UsageError(f"bounds of {where} are two numbers, such as bounds = [0, 100]")
    lower, upper = (as_fraction(end, f"bounds of {where}") for end in given)
    if lower >= upper:
        raise UsageError(f"bounds of {where}: the lower must be below the upper")
    return lower, upper


def _keys(given: Any, where: str) -> tuple[str | int, ...] | str | Open | None:
    if given is None or given == OPEN.sign:
        return None if given is None else OPEN
    if given == LABELS:
        return LABELS
    if not isinstance(given, (list, tuple)) or not given:
        raise UsageError(f'keys of {where} are its categories, such as keys = ["a", "b"]')
    # TOML has days and times of its own; a day as a key is the text that a question would give.
    days = [key.isoformat() if type(key) is datetime.date else key for key in given]
    if len({(type(key), key) for key in days if isinstance(key, (str, int, bool))}) < len(days):
        raise UsageError(
            f"keys of {where} are texts, whole numbers, days or true and false, each once"
        )
    return tuple(days)


# What is public of one table of a data set: where it is, how it is read, its columns.


_SOURCE_KINDS = ("path", "url", "spark")
_READING = tuple(name for name in CsvOptions.__annotations__ if name != "types")
_LIMITS = ("memory_limit", "threads", "timeout")
_TABLE_FIELDS = (
    *_SOURCE_KINDS,
    "table",
    *_LIMITS,
    *_READING,
    "missing",
    "codebook",
    "public",
    "key",
    "person",
    "size",
    "columns",
)


@dataclass(frozen=True)
class TableDeclaration:
    """The declaration of a table."""

    source_kind: str  # ``"path"``, ``"url"`` or ``"spark"``: what ``source`` is
    # a file, folder or glob; the address of a PostgreSQL database; or the name of a table of the
    # running Spark
    source: str
    table: str | None = None  # the table's name within a database
    # how a CSV file is written, as :class:`tacit.Session` takes it, except for ``types``
    reading: Mapping[str, Declared] = field(default_factory=dict)
    # the codes of columns that are missing values, by name
    missing: Codes = field(default_factory=dict)
    codebook: str | None = None  # the path of a codebook of the table
    # ``memory_limit``, ``threads`` and ``timeout`` of the engine
    limits: Mapping[str, Declared] = field(default_factory=dict)
    # whether everyone may know its rows: it has no people, and costs nothing
    public: bool | Open = False
    key: tuple[str, ...] = ()  # the columns that name a row of a public table, each value once
    # the person column of a protected table, where it is not that of the unit
    person: Person | Open | None = None
    # about how many people a protected table has, where that is public
    size: int | Open | None = None
    # what is public of each column
    columns: Mapping[str, ColumnDeclaration] = field(default_factory=dict)
    # the folder that a path may not lead out of; of a declaration by someone who may only name
    # files there.  No field of a file says it.
    root: Path | None = field(default=None, compare=False)

    @classmethod
    def from_fields(cls, spec: object, where: str) -> TableDeclaration:
        """Read a table as a file declares it."""
        fields = mapping(spec, where)
        known_fields(fields, _TABLE_FIELDS, where)
        kinds = [name for name in _SOURCE_KINDS if name in fields]
        if len(kinds) != 1:
            raise UsageError(
                f"{where} must say where it is: path = 'visits.csv', or url = 'postgresql://...' "
                "with table = 'name', or spark = 'name'; one of the three"
            )
        source, table = (
            _said(fields, kinds[0], where),
            _said(fields, "table", where, optional=True),
        )
        if kinds == ["url"] and table is None:
            raise UsageError(f"{where} names a database: say its table, such as table = 'visits'")
        declared = cls(
            kinds[0],
            str(source),
            table,
            {name: fields[name] for name in _READING if name in fields},
            missing_codes(fields.get("missing")),
            _said(fields, "codebook", where, optional=True),
            _limits(fields, where),
            flag(fields, "public", where),
            _names(fields.get("key", ()), "key", where),
            person(fields, where),
            whole(fields, "size", where),
            _columns(fields.get("columns", {}), where),
        )
        declared._agrees(where)
        return declared

    def _agrees(self, where: str) -> None:
        """Raise if fields contradict each other."""
        reading: Any = self.reading
        csv_format(**reading)
        if self.public is True and self.person is not None:
            raise UsageError(f"{where} is public, and has a person: a table of people is protected")
        if self.public is True and self.size is not None:
            raise UsageError(
                f"{where} is public, and has a size, which is the number of people in a table"
            )
        for name, codes in self.missing.items():
            keys = self.columns[name].keys if name in self.columns else ()
            refuse_as_keys(keys if isinstance(keys, tuple) else (), codes, f"{name!r} of {where}")
        if self.key and self.public is not True:
            raise UsageError(f"{where} has a key, which only a public table has: public = true")

    def to_fields(self) -> dict[str, Declared]:
        """Return what :meth:`from_fields` reads, without what is not said."""
        spec = {
            self.source_kind: self.source,
            "table": self.table,
            **self.limits,
            **self.reading,
            "missing": self.missing,
            "codebook": self.codebook,
            "public": self.public,
            "key": list(self.key),
            "person": person_json(self.person) if self.person is not OPEN else OPEN,
            "size": self.size,
            "columns": {name: column.to_fields() for name, column in self.columns.items()},
        }
        # an integer 0 is said, as in version = 0, though it equals False
        return {
            name: value
            for name, value in spec.items()
            if value is not None and value is not False and value not in ([], {})
        }

    def options(self, name: str, folder: Path) -> dict[str, Declared | ConfinedPath]:
        """Options to open the table, as :func:`tacit.tables.open_source.open_source` takes them."""
        types = {
            column: spec.kind
            for column, spec in self.columns.items()
            if isinstance(spec.kind, str) and spec.kind != "decimal"
        }
        csv = {**self.reading, "types": types} if self._is_text(folder) else dict(self.reading)
        return {
            "name": name,
            "table": self.table,
            "missing": self.missing,
            "codebook": None if self.codebook is None else self._path(self.codebook, folder),
            **self.limits,
            **csv,
        }

    def _is_text(self, folder: Path) -> bool:
        """Return whether the place holds files that declare no types of their own."""
        from tacit.tables.engines.duckdb.source import text_kind

        is_path = self.source_kind == "path" and self.table is None
        return is_path and text_kind(self.located(folder)) != ""

    def within(self, folder: Path) -> object:
        """Return the source as it is opened, a path as seen from the folder of the declaration."""
        if self.source_kind == "spark":
            return _running_spark().table(self.source)
        return self.located(folder)

    def located(self, folder: Path) -> str | ConfinedPath:
        """Return the path or the address as it is opened, seen from the folder of the file."""
        if self.root is None and "://" in self.source:
            return self.source
        return self._path(self.source, folder)

    def _path(self, path: str, folder: Path) -> str | ConfinedPath:
        if self.root is not None:
            return ConfinedPath(os.path.join(folder, path), self.root)
        return os.path.join(folder, typed(path))


def _said(spec: Mapping[str, Any], name: str, where: str, optional: bool = False) -> str | None:
    value = text(spec, name, where)
    if value is OPEN or (value is None and not optional):
        raise UsageError(f"{where} must say its {name}")
    return value


def _limits(spec: Mapping[str, Any], where: str) -> dict[str, Any]:
    limits = {
        "memory_limit": text(spec, "memory_limit", where),
        "threads": whole(spec, "threads", where),
        "timeout": spec.get("timeout"),
    }
    return {name: value for name, value in limits.items() if value is not None}


def _names(given: Any, name: str, where: str) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)) or not all(
        isinstance(each, str) and each for each in listed
    ):
        raise UsageError(f"{name} of {where} is the name of a column, or a list of names")
    return tuple(listed)


def _columns(spec: Any, where: str) -> dict[str, ColumnDeclaration]:
    return {
        name: ColumnDeclaration.from_fields(
            mapping(one, f"the column {name!r} of {where}"), f"the column {name!r} of {where}"
        )
        for name, one in mapping(spec, f"columns of {where}").items()
    }


def _running_spark() -> Any:
    from tacit.errors import need

    return need("pyspark.sql", "spark").SparkSession.builder.getOrCreate()
