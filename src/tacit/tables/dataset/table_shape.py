"""What is public of a table, as one who may not open it learns it: enough to write a question.

A service says it of each table of a data set, as plain JSON values, and a client reads it back:
the kinds of the columns, whom the table protects, the declared bounds and keys.  All of it comes
from the declaration and from the types of the table; no row is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.expressions.schema import Schema
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.table_opening import open_table
from tacit.tables.plan.parse_question import schema_from
from tacit.tables.plan.query import Unit, plain_key
from tacit.tables.reading import DEFAULT_READING, Reading
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["TableShape", "shapes_of"]

_BROKEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class TableShape:
    """What is public of one table.

    Attributes:
        name: in the data set.
        schema: its columns and their kinds.
        unit: whom an answer about it protects; None of a public table.
        key: the columns that name a row of a public table; the person column of a protected one.
        size: about how many people it has, where that is public.
        bounds: the declared bounds of columns, by name.
        keys: the declared categories of columns, by name.
        told: the meaning and the unit of columns, by name.
        reading: how it is read, where that is not the default.

    >>> schema = schema_from([["person", "integer"]])
    >>> shape = TableShape("visits", schema, PersonUnit("person", 5, 5), ("person",))
    >>> TableShape.from_json("visits", shape.to_json()) == shape
    True
    """

    name: str
    schema: Schema
    unit: Unit | None
    key: tuple[str, ...] = ()
    size: int | None = None
    bounds: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reading: Reading = DEFAULT_READING

    @property
    def public(self) -> bool:
        """Whether everyone may know its rows."""
        return self.unit is None

    def to_json(self) -> dict[str, Any]:
        """Return the shape as plain JSON values; bounds are text, because they are exact."""
        reading = self.reading.describe(self.schema)
        return {
            **({"reading": reading} if reading else {}),
            "public": self.public,
            "unit": None if self.unit is None else self.unit.describe(),
            "key": list(self.key),
            "size": self.size,
            "columns": [self._column(name, kind) for name, kind in self.schema.kinds()],
        }

    def _column(self, name: str, kind: str) -> dict[str, Any]:
        bounds, keys, told = self.bounds.get(name), self.keys.get(name), self.told.get(name, {})
        return {
            "name": name,
            "kind": kind,
            "bounds": None if bounds is None else [str(end) for end in bounds],
            "keys": None if keys is None else [plain_key(key) for key in keys],
            "meaning": told.get("meaning"),
            "unit": told.get("unit"),
        }

    @classmethod
    def from_json(cls, name: str, said: Mapping[str, Any]) -> TableShape:
        """Return the shape that :meth:`to_json` described.

        Raises:
            UsageError: it is none.
        """
        try:
            return cls._read(name, said)
        except _BROKEN:
            raise UsageError(
                f"the description of the table {name!r} is not in the form that Tacit writes"
            ) from None

    @classmethod
    def _read(cls, name: str, said: Mapping[str, Any]) -> TableShape:
        columns, unit = said["columns"], said["unit"]
        read: Unit | None = None
        if unit is not None:
            whole = unit["rows"], unit["groups"]
            read = OneRowEach() if unit["column"] is None else PersonUnit(unit["column"], *whole)
        told = {c["name"]: {n: c[n] for n in ("meaning", "unit") if c.get(n)} for c in columns}
        return cls(
            name,
            schema_from([[column["name"], column["kind"]] for column in columns]),
            read,
            tuple(map(str, said["key"])),
            said.get("size"),
            {c["name"]: _ends(c["bounds"]) for c in columns if c.get("bounds") is not None},
            {c["name"]: tuple(c["keys"]) for c in columns if c.get("keys") is not None},
            {column: words for column, words in told.items() if words},
            Reading.read(said["reading"]) if "reading" in said else DEFAULT_READING,
        )


def _ends(bounds: Sequence[str]) -> tuple[Fraction, Fraction]:
    low, high = map(as_fraction, bounds)
    return low, high


def shapes_of(dataset: Dataset) -> dict[str, TableShape]:
    """Return what is public of each table of a data set: opens each of them, and reads no row.

    Raises:
        UsageError: the declaration is unfinished, or does not fit a table.
        DataSourceError: a table does not exist.
    """
    dataset.refuse_open()
    return {name: _shape(dataset, name) for name in dataset.tables}


def _shape(dataset: Dataset, name: str) -> TableShape:
    said = dataset.tables[name]
    with open_table(said, name, dataset.folder).source as source:
        schema, reading = Schema(list(source.schema.values())), source.reading
    unit = dataset.unit_of(name) if name in dataset.protected else None
    person = None if unit is None else unit.column
    columns = said.columns.items()
    return TableShape(
        name,
        schema,
        unit,
        tuple(said.key) if unit is None else (() if person is None else (person,)),
        said.size if isinstance(said.size, int) else None,
        {c: one.bounds for c, one in columns if isinstance(one.bounds, tuple)},
        {c: one.keys for c, one in columns if isinstance(one.keys, tuple)},
        {c: one.told for c, one in columns if one.told},
        reading,
    )
