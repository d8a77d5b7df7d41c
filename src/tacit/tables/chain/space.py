"""The space of a table: its columns, its distance in people, and what comes out of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from tacit.core import (
    Category,
    Domain,
    Frame,
    Metric,
    Space,
    Step,
    SymmetricDistance,
    register_space,
)

__all__ = ["Answers", "CountedGroups", "Table", "UnitDistance", "table_space"]

KINDS: dict[str, Any] = {"integer": int, "float": float, "decimal": float, "boolean": bool}


class Answers:
    """Exact integer vectors, by the step that asked for them.  Never shown, never pickled."""

    def __init__(self, found: Mapping[Step, Any]) -> None:
        self._found = dict(found)

    def of(self, step: Step) -> Any:
        """Return the exact vector for a step."""
        return self._found[step]

    def __repr__(self) -> str:
        return f"<exact aggregates of {len(self._found)} parts, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact aggregates cannot be pickled: they are not private")


class CountedGroups(Domain):
    """For each group a counted histogram: a pair (cells that occur, how many of each).

    Attributes:
        groups: how many groups.
        cells: how many steps the grid has: one less than it has points.
    """

    groups: int
    cells: int

    def contains(self, value: Any) -> bool:
        """Return whether there is one histogram a group."""
        return isinstance(value, Sequence) and len(value) == self.groups

    def read(self, value: Any) -> Any:
        """Return the histograms as they are."""
        return value

    def sample(self, source: random.Random) -> Any:
        """Draw histograms of a few records."""
        drawn = []
        for _ in range(self.groups):
            cells = sorted(source.sample(range(self.cells + 1), min(3, self.cells + 1)))
            drawn.append((np.array(cells), np.array([source.randint(1, 4) for _ in cells])))
        return drawn


@dataclass(frozen=True)
class Table(Frame):
    """A table that stays in its engine: the names and kinds of its columns.

    Example:
        >>> Table.of({"age": "integer", "site": "text"}).names
        ('age', 'site')
    """

    @classmethod
    def of(cls, columns: Mapping[str, str]) -> Table:
        """Return the domain of a table from its column names and kinds."""
        pairs = [(name, KINDS.get(kind, Category())) for name, kind in columns.items()]
        return cls(tuple(pairs))

    def read(self, value: Any) -> Any:
        """Return the aggregates that the engine computed, as they are."""
        return value if isinstance(value, Answers) else super().read(value)

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": "table", "columns": list(self.names)}


@dataclass(frozen=True)
class UnitDistance(Metric):
    """People added or removed, each with all their rows: symmetric distance in units of privacy.

    A person whose rows differ counts as one removed and one added.  Without a person column every
    row is a person.

    Example:
        >>> u = {"person": [1, 1, 2], "visits": [3, 4, 5]}
        >>> v = {"person": [1, 1], "visits": [3, 4]}
        >>> UnitDistance("person").distance(u, v)
        Fraction(1, 1)
    """

    column: str | None = None

    carries = (Frame,)

    def distance(self, u: Any, v: Any) -> Fraction | float:
        """Count the people to add and to remove."""
        if self.column is None:
            return SymmetricDistance().distance(u, v)
        left, right = self._people(u), self._people(v)
        total = 0
        for person in left.keys() | right.keys():
            if left.get(person) != right.get(person):
                total += (person in left) + (person in right)
        return Fraction(total)

    def _people(self, data: Any) -> dict[Any, Counter[Any]]:
        found: dict[Any, Counter[Any]] = {}
        names = list(data)
        for row in zip(*(np.asarray(data[n]).tolist() for n in names), strict=True):
            record = dict(zip(names, map(str, row), strict=True))
            found.setdefault(record[str(self.column)], Counter())[tuple(record.items())] += 1
        return found

    def describe(self) -> dict[str, Any]:
        """Return the metric as plain JSON values."""
        return {"metric": "UnitDistance", "column": self.column}

    def __str__(self) -> str:
        unit = (
            "rows" if self.column is None else f"people ({self.column}), each with all their rows,"
        )
        return f"{unit} added or removed"


def table_space(columns: Mapping[str, str], person: str | None) -> Space:
    """Return the space that every chain from a table starts in."""
    return _table_space(tuple(columns.items()), person)


@lru_cache(maxsize=64)
def _table_space(columns: tuple[tuple[str, str], ...], person: str | None) -> Space:
    """Return the space of a table, of which many questions ask the same."""
    return Space(Table.of(dict(columns)), UnitDistance(person))


@register_space("table")
def _described_space(description: Mapping[str, Any]) -> Space:
    """Build the space of a table from its description: names are enough for every map here."""
    columns = {str(name): "other" for name in description["domain"]["columns"]}
    return table_space(columns, description["metric"].get("column"))
