"""Domains: which values a step may meet.

A domain answers three questions: is this a member (:meth:`Domain.contains`), what member does this
raw value stand for (:meth:`Domain.read`, total: it never raises on a value), and how is an
internal member shown to a person (:meth:`Domain.present`).

Numbers that come from data travel as *integers in units of a public grid*: a :class:`Number` with
``grid=Fraction(1, 1024)`` holds the integer 1536 for 1.5.  Integer addition is associative, so an
aggregate does not depend on the order of the rows, and its sensitivity is the one that was proven.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.calls import public
from tacit.core.spaces.number import Domain, Number
from tacit.errors import UsageError, said

__all__ = ["Category", "Domain", "Frame", "Number", "Vector", "element"]


@public
@dataclass(frozen=True)
class Category(Domain):
    """Labels: text, booleans or whole numbers, from a known list or from anywhere.

    Args:
        categories: the known labels, each once; None when any label may come.

    Example:
        >>> Category(("north", "south")).contains("east")
        False
    """

    categories: tuple[object, ...] | None = None

    def __post_init__(self) -> None:
        if self.categories is None:
            return
        labels = tuple(self.categories)
        object.__setattr__(self, "categories", labels)
        try:
            unique = len(set(labels)) == len(labels)
        except TypeError:
            raise UsageError("categories must be hashable: text, numbers or booleans") from None
        if not labels or not unique:
            raise UsageError("categories must be at least one, each given once")

    def contains(self, value: object) -> bool:
        """Return whether ``value`` is a known label (any hashable one where none are listed).

        Args:
            value: what is asked about.
        """
        try:
            hash(value)
            return self.categories is None or value in self.categories
        except Exception:  # whatever a value does when it is hashed or compared: it is no label
            return False

    def read(self, value: object) -> object:
        """Return the label, or None for one that is not known (or cannot be hashed).

        Args:
            value: a label, as it comes.
        """
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and math.isnan(plain):
            plain = None
        return plain if self.contains(plain) else None

    def sample(self, source: random.Random) -> object:
        """Draw a label.

        Args:
            source: what draws it.
        """
        return source.choice(self.categories or ("a", "b", "c"))

    def describe(self) -> dict[str, object]:
        """Return the domain as plain JSON values."""
        known = None if self.categories is None else list(self.categories)
        return {"domain": "category", "categories": known}

    def __str__(self) -> str:
        return "labels" if self.categories is None else f"{len(self.categories)} known labels"


@public
@dataclass(frozen=True)
class Vector(Domain):
    """A sequence of members of one element domain: a column, or a vector of aggregates.

    Args:
        element: a :class:`Number` or :class:`Category`, or ``float``, ``int``, ``str``, ``bool``.
        bounds: ``(lower, upper)`` of the elements, for ``float`` and ``int``.
        size: the number of elements where it is public, else None.

    Example:
        >>> print(Vector(float, bounds=(0, 12)))
        vector of float in [0, 12] or missing
    """

    element: Domain
    bounds: tuple[NumberLike, NumberLike] | None = None
    size: int | None = None

    if TYPE_CHECKING:  # what it is made from is more than what it holds

        def __init__(
            self,
            element: Domain | type | str,
            bounds: tuple[NumberLike, NumberLike] | None = None,
            size: int | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "element", element(self.element, self.bounds))
        object.__setattr__(self, "bounds", getattr(self.element, "bounds", None))
        if self.size is not None:
            object.__setattr__(self, "size", as_integer(self.size, "size", minimum=0))

    def contains(self, value: object) -> bool:
        """Return whether every element is a member and the size is the public one.

        Args:
            value: what is asked about.
        """
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            return False
        values: Any = value
        fits = self.size is None or len(values) == self.size
        return fits and all(self.element.contains(v) for v in values)

    def read(self, value: object) -> object:
        """Read every element; refuses only a length that differs from a public size.

        Args:
            value: a list or an array, as it comes.

        Raises:
            UsageError: the data is not a sequence, or its length is not the public size.
        """
        named = not isinstance(value, np.ndarray) and isinstance(value, (str, bytes, Mapping))
        if named or not hasattr(value, "__len__"):
            raise UsageError("the data must be a sequence of values, such as a list or an array")
        if self.size is not None and len(value) != self.size:
            raise UsageError(f"the public size is {self.size}; the data has another length")
        if isinstance(self.element, Number):
            return self.element.read_many(value)
        values: Any = value
        return [self.element.read(v) for v in values]

    def present(self, value: object) -> object:
        """Turn whole grid units into an array of numbers.

        Args:
            value: the number of units.
        """
        if not isinstance(self.element, Number) or self.element.grid is None:
            return value
        if self.element.grid == 1 and self.element.kind == "int":
            return value
        values: Any = value
        return np.array([self.element.present(v) for v in values])

    def sample(self, source: random.Random) -> object:
        """Draw a short vector of members.

        Args:
            source: what draws it.
        """
        size = source.randint(0, 6) if self.size is None else self.size
        return [self.element.sample(source) for _ in range(size)]

    def describe(self) -> dict[str, object]:
        """Return the domain as plain JSON values."""
        return {"domain": "vector", "element": self.element.describe(), "size": self.size}

    def __str__(self) -> str:
        size = "" if self.size is None else f" of size {self.size}"
        return f"vector{size} of {self.element}"


@public
@dataclass(frozen=True)
class Frame(Domain):
    """A table in memory: named columns of one length; a record is a row.

    Args:
        columns: a mapping of column names to their element domains, each as for :class:`Vector`.
        size: the number of rows where it is public, else None.

    Example:
        >>> Frame({"age": float, "site": str}).names
        ('age', 'site')
    """

    columns: tuple[tuple[str, Domain], ...]
    size: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            columns: Mapping[str, Domain | type | str] | Iterable[tuple[str, Domain | type | str]],
            size: int | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        pairs = self.columns.items() if isinstance(self.columns, Mapping) else self.columns
        built = tuple((str(name), element(domain)) for name, domain in pairs)
        if not built or len({name for name, _ in built}) != len(built):
            raise UsageError("a frame needs at least one column, each name once")
        object.__setattr__(self, "columns", built)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(name for name, _ in self.columns)

    def column(self, name: str) -> Vector:
        """Return the domain of one column.

        Args:
            name: of the column.
        """
        return Vector(dict(self.columns)[name], size=self.size)

    def contains(self, value: object) -> bool:
        """Return whether ``value`` maps each column name to a member vector of one length.

        Args:
            value: what is asked about.
        """
        table: Any = value
        try:
            lengths = {len(table[name]) for name in self.names}
            return len(lengths) == 1 and all(self.column(n).contains(table[n]) for n in self.names)
        except (KeyError, TypeError, IndexError):
            return False

    def read(self, value: object) -> object:
        """Read each column; refuses only columns that are absent or of different lengths.

        Args:
            value: a mapping of names to columns, or a data frame.
        """
        table: Any = value
        try:
            raw = {name: table[name] for name in self.names}
        except (KeyError, TypeError, IndexError):
            raise UsageError(f"the data must have the columns {', '.join(self.names)}") from None
        columns: dict[str, Any] = {n: self.column(n).read(raw[n]) for n in self.names}
        if len({len(c) for c in columns.values()}) != 1:
            raise UsageError("the columns must all have the same length")
        return columns

    def sample(self, source: random.Random) -> object:
        """Draw a short table of members.

        Args:
            source: what draws it.
        """
        size = source.randint(0, 5) if self.size is None else self.size
        return {n: [d.sample(source) for _ in range(size)] for n, d in self.columns}

    def describe(self) -> dict[str, object]:
        """Return the domain as plain JSON values."""
        columns = [[name, domain.describe()] for name, domain in self.columns]
        return {"domain": "frame", "columns": columns, "size": self.size}

    def __str__(self) -> str:
        return f"frame with columns {', '.join(self.names)}"


def element(
    spec: Any, bounds: tuple[NumberLike, NumberLike] | Sequence[NumberLike] | None = None
) -> Domain:
    """Return the element domain that ``float``, ``int``, ``str``, ``bool`` or a Domain stands for.

    Floats may be missing (NaN) unless a :class:`Number` says otherwise.
    """
    if isinstance(spec, Domain):
        if bounds is not None and getattr(spec, "bounds", None) != _pair(bounds):
            raise UsageError(
                "give bounds either in the element domain or as a separate argument, not both"
            )
        return spec
    if spec in (bool, str):
        if bounds is not None:
            raise UsageError("labels have no bounds; bounds are for float and int")
        return Category((False, True)) if spec is bool else Category()
    if spec not in (float, int):
        raise UsageError(f"an element is float, int, str, bool or a Domain, not {said(spec)}")
    lower, upper = _pair(bounds)
    low = None if lower is None else as_fraction(lower, "lower bound")
    high = None if upper is None else as_fraction(upper, "upper bound")
    return Number(spec.__name__, low, high, nullable=spec is float)


def _pair(bounds: Any) -> tuple[Any, Any]:
    if bounds is None:
        return None, None
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise UsageError(f"bounds are a pair (lower, upper), such as (0, 12), not {bounds!r}")
    return bounds[0], bounds[1]
