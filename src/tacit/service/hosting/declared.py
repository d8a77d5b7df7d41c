"""Declarations that curators made while the service ran, in its database: all of each data set.

They stand there, and not in a file of the folder, so that all machines of a service know them; a
declaration is never written over: a change is a row of its own, and the latest of a name counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacit.errors import UsageError
from tacit.service.settings import DatasetSettings, Settings
from tacit.service.store.database import Database, metadata
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.fields import known_fields

__all__ = ["DATA", "HOSTING", "Declared", "DeclaredStore", "confined"]

DATA = "data"
"""The folder below that of the service whose files curators may declare."""

HOSTING = ("latency", "approval", "people", "caps", "refresh")
"""What a curator may say of how a data set is hosted; ``collusion`` is the operator's to say."""

_declared = sa.Table(
    "declared_dataset",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(100), nullable=False, index=True),
    sa.Column("declaration", sa.Text, nullable=False),
    sa.Column("hosting", sa.Text, nullable=False),
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class Declared:
    """A declaration as a curator sent it.

    Attributes:
        name: of the data set.
        fields: those that a file would have, but for the name.
        hosting: of :data:`HOSTING` what is said.
        who: declared it.
        at: when, in seconds since 1970.
        number: its place in the order of all declarations; 0 before it is written.

    >>> fields = {"unit": "row", "budget": {"epsilon": 0.1}, "tables": {"t": {"path": "t.csv"}}}
    >>> Declared("visits", fields, {"latency": 3}, "cleo", 0.0).dataset(Path()).whole_budget
    epsilon(0.1)
    """

    name: str
    fields: Mapping[str, Any]
    hosting: Mapping[str, Any]
    who: str
    at: float
    number: int = 0

    def dataset(self, folder: Path) -> Dataset:
        """Return the data set; a number with a fraction is read as its decimal digits say.

        Its tables are read from :data:`DATA` only, whenever they are opened.

        Raises:
            UsageError: a field that is wrong.
        """
        fields = {**_exact(self.fields), "name": self.name}
        return confined(Dataset.from_fields(fields, folder), folder)

    def hosted(self, settings: Settings) -> DatasetSettings:
        """Return how the data set is hosted: what is not said is as for the others.

        Raises:
            UsageError: a field that is wrong, or not a curator's to say.
        """
        known_fields(self.hosting, HOSTING, "hosting")
        said = _exact(self.hosting)
        found = DatasetSettings.from_fields(said, "hosting", settings.default)
        if settings.default.approval and not found.approval:
            raise UsageError("each question of this service is approved: leave approval out")
        assert isinstance(found, DatasetSettings)
        return found


def confined(dataset: Dataset, folder: Path) -> Dataset:
    """Return a data set that reads no file outside :data:`DATA` below the folder."""
    root = folder / DATA
    tables = {name: replace(table, root=root) for name, table in dataset.tables.items()}
    return replace(dataset, tables=tables)


class DeclaredStore:
    """The declarations of curators.

    Args:
        database: of the service.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self) -> int:
        """Return the number of the latest declaration; 0 where there is none."""
        with self._database.read() as run:
            return _latest(run)

    def all(self, run: sa.Connection | None = None) -> dict[str, Declared]:
        """Return the declaration of each data set that counts, by its name."""
        if run is None:
            with self._database.read() as reading:
                return self.all(reading)
        rows = run.execute(sa.select(_declared).order_by(_declared.c.number)).all()
        return {row.name: _read(row) for row in rows}

    def begin(self) -> AbstractContextManager[sa.Connection]:
        """Begin a transaction that no other declaration is made beside."""
        return self._database.begin(lock="declarations")

    def add(self, run: sa.Connection, made: Declared) -> Declared:
        """Add a declaration, in a transaction of :meth:`begin`."""
        number = _latest(run) + 1
        row = {
            "number": number,
            "name": made.name,
            "declaration": json.dumps(made.fields),
            "hosting": json.dumps(made.hosting),
            "who": made.who,
            "at": made.at,
        }
        run.execute(_declared.insert(), row)
        return Declared(made.name, made.fields, made.hosting, made.who, made.at, number)


def _latest(run: sa.Connection) -> int:
    return run.execute(sa.select(sa.func.max(_declared.c.number))).scalar() or 0


def _read(row: Any) -> Declared:
    fields, hosting = json.loads(row.declaration), json.loads(row.hosting)
    return Declared(row.name, fields, hosting, row.who, row.at, row.number)


def _exact(value: Any) -> Any:
    """Return what JSON holds with its numbers as they were written."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, Mapping):
        return {str(name): _exact(one) for name, one in value.items()}
    return [_exact(one) for one in value] if isinstance(value, list) else value
