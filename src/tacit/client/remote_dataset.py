"""What a service says of a data set: enough to write questions to it here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import quote

from tacit.accounting.budgets.budget import Budget
from tacit.client.transport import Transport
from tacit.errors import ServiceError, UsageError, did_you_mean
from tacit.tables.dataset.table_shape import TableShape
from tacit.tables.open_source import Source
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Query
from tacit.tables.release.other_table import OtherTable

__all__ = ["RemoteDataset", "pages"]


class RemoteDataset:
    """A data set of a service: what is public of it is read once, the budget each time.

    Attributes:
        transport: asks the service.
        name: of the data set.
        said: what the service says of it.
        shapes: what is public of its tables, by name.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.transport, self.name = transport, name
        self.path = f"/v1/datasets/{quote(name, safe='')}"
        self.said: dict[str, Any] = transport.get(self.path)
        try:
            tables = self.said["tables"].items()
            self.budget = Budget.from_json(self.said["budget"])
        except (LookupError, TypeError, AttributeError, ValueError):
            raise ServiceError(
                f"{transport.url} describes {name!r} in a form that this version of Tacit cannot "
                "read"
            ) from None
        self.shapes = {name: TableShape.from_json(name, one) for name, one in tables}

    @property
    def people(self) -> list[tuple[str, str | None]]:
        """The protected tables, each with its person column."""
        return [(n, s.unit.column) for n, s in self.shapes.items() if s.unit is not None]

    def amount(self, which: str) -> Budget:
        """Return what is spent or remaining now: one of ``spent`` and ``remaining``."""
        return Budget.from_json(self.transport.get(self.path)[which])

    def table(self, name: str | None) -> str:
        """Return the name of a protected table: by default the first.

        Raises:
            UsageError: there is none of that name.
        """
        known = [table for table, _ in self.people]
        if name is None:
            return str(self.said.get("table") or known[0])
        if name not in known:
            raise UsageError(f"there is no table {name!r}; {did_you_mean(name, known)}")
        return name

    def others(self, table: str | None) -> dict[str, OtherTable]:
        """Return the tables that one may be joined with."""
        return {
            name: OtherTable(
                name, shape.key, shape.public, _never, shape.bounds, shape.keys, shape.told
            )
            for name, shape in self.shapes.items()
            if name != table
        }

    def question(self, table: str) -> tuple[Query, Declared]:
        """Return a question about all rows of a table, and what is declared of it."""
        shape, people = self.shapes[table], tuple(self.people)
        assert shape.unit is not None
        declared = Declared(
            dataset=str(self.said["identity"]),
            table=table,
            tables=people,
            bounds=shape.bounds,
            keys=shape.keys,
            told=shape.told,
            size=shape.size,
        )
        query = Query(shape.schema, shape.unit, table=table, tables=people, reading=shape.reading)
        return query, declared


def pages(transport: Transport, path: str, dataset: str | None = None) -> list[Mapping[str, Any]]:
    """Return all items of a list that a service sends in pages."""
    found: list[Mapping[str, Any]] = []
    cursor = None
    while True:
        page = transport.get(path, dataset=dataset, cursor=cursor)
        found += page["items"]
        cursor = page.get("next")
        if not cursor:
            return found


def _never(_beside: Source) -> NoReturn:
    raise UsageError("the tables of a service cannot be opened on this machine")
