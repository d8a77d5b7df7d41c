"""Data that comes in disjoint parts already: a mapping of public names to data sets."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.core.spaces.domain import Domain, Frame
from tacit.core.spaces.metric import Distance, Metric
from tacit.errors import UsageError

__all__ = ["Parts", "PartsDistance"]


@dataclass(frozen=True)
class Parts(Domain):
    """A mapping of public names to members of a domain; each record is in one part.

    Args:
        names: the names, each once.
        part: the domain of each.

    Example:
        >>> from tacit.core import Vector
        >>> Parts(("north", "south"), Vector(int)).read({"north": [1, 2], "east": [3]})["south"]
        array([], dtype=int64)
    """

    names: tuple[Hashable, ...]
    part: Domain

    def contains(self, value: Any) -> bool:
        """Return whether each name, and no other, has a member."""
        return (
            isinstance(value, Mapping)
            and set(value) == set(self.names)
            and all(self.part.contains(value[name]) for name in self.names)
        )

    def read(self, value: Any) -> Any:
        """Read each part; one that is absent is empty, and other names are in no part.

        Raises:
            UsageError: the data is no mapping, or a part is no data set.
        """
        if not isinstance(value, Mapping):
            raise UsageError("the data must be a mapping of the name of each part to its records")
        nothing = {n: [] for n in self.part.names} if isinstance(self.part, Frame) else []
        return {name: self.part.read(value.get(name, nothing)) for name in self.names}

    def sample(self, source: random.Random) -> Any:
        """Draw a member for each name."""
        return {name: self.part.sample(source) for name in self.names}

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        names = [str(name) for name in self.names]
        return {"domain": "parts", "names": names, "part": self.part.describe()}

    def __str__(self) -> str:
        return f"{len(self.names)} disjoint parts, each a {self.part}"


@dataclass(frozen=True)
class PartsDistance(Metric):
    """The distances of the parts, added up: a record that comes or goes is in one part.

    >>> from tacit.core import SymmetricDistance
    >>> PartsDistance(SymmetricDistance()).distance({"a": [1], "b": [2]}, {"a": [1, 1], "b": []})
    Fraction(2, 1)
    """

    part: Metric

    carries = (Parts,)

    @property
    def counts_records(self) -> bool:
        """Whether a distance is a whole number of records, as in each part."""
        return self.part.counts_records

    def supports(self, domain: Domain) -> bool:
        """Return whether each part can be compared."""
        return isinstance(domain, Parts) and self.part.supports(domain.part)

    def distance(self, u: Any, v: Any) -> Distance:
        """Add the distances of the parts, by name; one that is absent is empty."""
        names = [*u, *(name for name in v if name not in u)]
        return sum(
            (self.part.distance(u.get(name, ()), v.get(name, ())) for name in names), Fraction(0)
        )

    def describe(self) -> dict[str, Any]:
        """Return the metric as plain JSON values."""
        return {"metric": "PartsDistance", "part": self.part.describe()}

    def __str__(self) -> str:
        return f"{self.part}, added over the parts"
