"""What is public of one table of a data set: where it is, how it is read, its columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.errors import UsageError
from tacit.tables.dataset.column import ColumnDeclaration
from tacit.tables.dataset.fields import (
    OPEN,
    Declared,
    Open,
    flag,
    known_fields,
    mapping,
    text,
    whole,
)
from tacit.tables.engines.csv.format import CsvOptions, csv_format
from tacit.tables.engines.files import ConfinedPath, typed

__all__ = ["TableDeclaration"]

_PLACES = ("path", "url", "spark")
_READING = tuple(name for name in CsvOptions.__annotations__ if name != "types")
_LIMITS = ("memory_limit", "threads", "timeout")
_FIELDS = (*_PLACES, "table", *_LIMITS, *_READING, "public", "key", "person", "size", "columns")


@dataclass(frozen=True)
class TableDeclaration:
    """What is public of a table.

    Attributes:
        place: ``"path"``, ``"url"`` or ``"spark"``: what ``source`` is.
        source: a file, folder or glob; the address of a PostgreSQL database; or the name of a
            table of the running Spark.
        table: the table's name within a database.
        reading: how a CSV file is written, as :class:`tacit.Session` takes it, but for ``types``.
        limits: ``memory_limit``, ``threads`` and ``timeout`` of the engine.
        public: whether everyone may know its rows: it has no people, and costs nothing.
        key: the columns that name a row of a public table, each value once.
        person: the person column of a protected table, where it is not that of the unit.
        size: about how many people a protected table has, where that is public.
        columns: what is public of each column.
        root: the folder that a path may not lead out of; of a declaration by someone who may only
            name files there.  No field of a file says it.
    """

    place: str
    source: str
    table: str | None = None
    reading: Mapping[str, Declared] = field(default_factory=dict)
    limits: Mapping[str, Declared] = field(default_factory=dict)
    public: bool | Open = False
    key: tuple[str, ...] = ()
    person: str | Open | None = None
    size: int | Open | None = None
    columns: Mapping[str, ColumnDeclaration] = field(default_factory=dict)
    root: Path | None = field(default=None, compare=False)

    @classmethod
    def from_fields(cls, said: object, where: str) -> TableDeclaration:
        """Read a table as a file declares it.

        Raises:
            UsageError: a field that is unknown, of another kind, missing, or against another.
        """
        fields = mapping(said, where)
        known_fields(fields, _FIELDS, where)
        places = [name for name in _PLACES if name in fields]
        if len(places) != 1:
            raise UsageError(
                f"{where} must say where it is: path = 'visits.csv', or url = 'postgresql://...' "
                "with table = 'name', or spark = 'name'; one of the three"
            )
        source, table = (
            _said(fields, places[0], where),
            _said(fields, "table", where, optional=True),
        )
        if places == ["url"] and table is None:
            raise UsageError(f"{where} names a database: say its table, such as table = 'visits'")
        found = cls(
            places[0],
            str(source),
            table,
            {name: fields[name] for name in _READING if name in fields},
            _limits(fields, where),
            flag(fields, "public", where),
            _names(fields.get("key", ()), "key", where),
            text(fields, "person", where),
            whole(fields, "size", where),
            _columns(fields.get("columns", {}), where),
        )
        found._agrees(where)
        return found

    def _agrees(self, where: str) -> None:
        """Refuse fields that contradict each other."""
        reading: Any = self.reading
        csv_format(**reading)
        if self.public is True and self.person is not None:
            raise UsageError(f"{where} is public, and has a person: a table of people is protected")
        if self.public is True and self.size is not None:
            raise UsageError(
                f"{where} is public, and has a size, which is the number of people in a table"
            )
        if self.key and self.public is not True:
            raise UsageError(f"{where} has a key, which only a public table has: public = true")

    def to_fields(self) -> dict[str, Declared]:
        """Return what :meth:`from_fields` reads, without what is not said."""
        said = {
            self.place: self.source,
            "table": self.table,
            **self.limits,
            **self.reading,
            "public": self.public,
            "key": list(self.key),
            "person": self.person,
            "size": self.size,
            "columns": {name: column.to_fields() for name, column in self.columns.items()},
        }
        return {name: value for name, value in said.items() if value not in (None, False, [], {})}

    def options(self, name: str, folder: Path) -> dict[str, Declared]:
        """Return how the table is opened, as :func:`tacit.tables.open_source.open_source` takes it.

        Args:
            name: the public name of the table.
            folder: where a path begins.
        """
        types = {
            column: said.kind
            for column, said in self.columns.items()
            if isinstance(said.kind, str) and said.kind != "decimal"
        }
        csv = {**self.reading, "types": types} if self._is_text(folder) else dict(self.reading)
        return {"name": name, "table": self.table, **self.limits, **csv}

    def _is_text(self, folder: Path) -> bool:
        """Return whether the place holds CSV files, which declare no types of their own."""
        from tacit.tables.engines.duckdb.source import holds_csv

        return self.place == "path" and self.table is None and holds_csv(self.located(folder))

    def within(self, folder: Path) -> object:
        """Return the source as it is opened, a path as seen from the folder of the declaration."""
        if self.place == "spark":
            return _running_spark().table(self.source)
        return self.located(folder)

    def located(self, folder: Path) -> str | ConfinedPath:
        """Return the path or the address as it is opened, seen from the folder of the file."""
        if self.root is not None:
            return ConfinedPath(os.path.join(folder, self.source), self.root)
        return self.source if "://" in self.source else os.path.join(folder, typed(self.source))


def _said(said: Mapping[str, Any], name: str, where: str, optional: bool = False) -> str | None:
    value = text(said, name, where)
    if value is OPEN or (value is None and not optional):
        raise UsageError(f"{where} must say its {name}")
    return value


def _limits(said: Mapping[str, Any], where: str) -> dict[str, Any]:
    found = {
        "memory_limit": text(said, "memory_limit", where),
        "threads": whole(said, "threads", where),
        "timeout": said.get("timeout"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _names(given: Any, name: str, where: str) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)) or not all(
        isinstance(each, str) and each for each in listed
    ):
        raise UsageError(f"{name} of {where} is the name of a column, or a list of names")
    return tuple(listed)


def _columns(said: Any, where: str) -> dict[str, ColumnDeclaration]:
    return {
        name: ColumnDeclaration.from_fields(
            mapping(one, f"the column {name!r} of {where}"), f"the column {name!r} of {where}"
        )
        for name, one in mapping(said, f"columns of {where}").items()
    }


def _running_spark() -> Any:
    from tacit.errors import need

    return need("pyspark.sql", "spark").SparkSession.builder.getOrCreate()
