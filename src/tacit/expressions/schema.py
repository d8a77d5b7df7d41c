"""The public shape of a table: names and kinds of its columns."""

# Names and kinds are *public facts*: questions are refused on them alone, before anything is spent
# (unknown column, text where numbers must be).  A Parquet file, a database or a data frame declares
# its types.  A CSV file does not: its columns are *undeclared* unless ``types=`` declares them, and
# so are the columns of Python objects of a data frame.  No value decides the kind of a column.

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tacit.errors import UsageError, did_you_mean

# What a column can hold.  ``undeclared`` is text that the question says how to read; ``missing``
# is a column of the type of NULL, which fits every use.
KINDS = ("integer", "float", "decimal", "text", "boolean", "date", "undeclared", "missing", "other")

_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
}
_TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}


def kind_of(declared: str) -> str:
    """Return the kind of an SQL type.

    >>> kind_of("DECIMAL(18,3)"), kind_of("UBIGINT"), kind_of("STRUCT(a INTEGER)")
    ('decimal', 'integer', 'other')
    """
    name = declared.upper()
    if name in _INTEGERS:
        return "integer"
    if name in {"FLOAT", "DOUBLE", "REAL"}:
        return "float"
    if name.startswith("DECIMAL(") and "[" not in name:
        return "decimal"
    if name in {"VARCHAR", "UUID"} or (name.startswith("ENUM(") and not name.endswith("]")):
        return "text"
    if name == "BOOLEAN":
        return "boolean"
    if name == "DATE" or name in _TIMES:
        return "date"
    return "missing" if name in {'"NULL"', "NULL"} else "other"


UUID = re.compile(r"\{?[0-9a-fA-F]{4}(?:-?[0-9a-fA-F]{4}){7}\}?")


def uuid_text(text: str) -> str:
    """Return a UUID as engines write it, however it is written; other text as it is.

    >>> uuid_text("{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}"), uuid_text("Ann")
    ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'Ann')
    """
    if UUID.fullmatch(text) is None:
        return text
    digits, ends = re.sub("[{}-]", "", text).lower(), (0, 8, 12, 16, 20, 32)
    return "-".join(digits[a:b] for a, b in pairwise(ends))


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: of the column.
        kind: one of :data:`KINDS`.
        declared: the engine's own type.
        problem: why it cannot be used, where that is not its type.
        reads: SQL of its value, as the plan computes with it, of the column ``{x}`` itself; empty
            where not even whether it is missing can be read.
        identity: SQL of what distinguishes its values, two of which are equal if and only if they
            are one value; empty where that is what the plan reads.
        written: SQL of the text of such a value, the same for equal ones; empty for a plain cast.
        numbers: SQL of the text ``{x}`` of an undeclared column as a number is read from it; empty
            where that is the text itself.
    """

    name: str
    kind: str
    declared: str
    problem: str = ""
    reads: str = "{x}"
    identity: str = ""
    written: str = ""
    numbers: str = ""

    @property
    def is_uuid(self) -> bool:
        """True if its values are UUIDs, whose text is in small letters and has hyphens."""
        return self.declared.upper() == "UUID"

    def value(self, quoted: str) -> str:
        """Return the SQL of its value, as the plan computes with it."""
        return self.reads.format(x=quoted)

    def number_text(self, text: str) -> str:
        """Return the SQL of the text of a cell as a number is read from it."""
        return self.numbers.replace("{x}", text) or text

    def itself(self, quoted: str) -> str:
        """Return the SQL of what distinguishes its values."""
        return (self.identity or self.reads).format(x=quoted)


class Schema(Mapping[str, Column]):
    """The columns by name, in order.

    >>> Schema([Column("age", "integer", "BIGINT"), Column("sex", "text", "VARCHAR")])
    Schema(age: integer, sex: text)
    >>> Schema([Column("age", "integer", "BIGINT")]).column("Age")
    Traceback (most recent call last):
    tacit.errors.UsageError: there is no column 'Age'; did you mean 'age'?
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = {c.name: c for c in columns}

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {column.kind}" for name, column in self.items())
        return f"Schema({kinds})"

    def column(self, name: str) -> Column:
        """Return a column, or refuse with the nearest name that exists."""
        if name not in self._columns:
            raise UsageError(f"there is no column {name!r}; {did_you_mean(name, self._columns)}")
        return self._columns[name]

    def with_derived(self, derived: Iterable[tuple[str, Callable[[Schema], str]]]) -> Schema:
        """Return these columns and others that are computed from them, in a time that is linear.

        Args:
            derived: of each its name and what returns its kind from the columns before it.

        >>> ages = Schema([Column("age", "integer", "BIGINT")])
        >>> list(ages.with_derived([("old", lambda columns: columns["age"].kind)]).values())[1]
        Column(name='old', kind='integer', declared='integer', problem='', reads='{x}', ...)
        """
        grown = Schema(list(self.values()))
        for name, kind_in in derived:
            kind = kind_in(grown)
            grown._columns[name] = Column(name, kind, kind)
        return grown

    def kinds(self) -> list[list[str]]:
        """Return names and kinds as plain JSON: all that a plan reads of a table."""
        return [[name, column.kind] for name, column in self.items()]
