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
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.reading import floats, whole
from tacit.errors import UsageError
from tacit.exact import Number as NumberLike
from tacit.exact import as_fraction, as_integer, float_down, float_up, positive, show

__all__ = ["Category", "Domain", "Frame", "Number", "Vector", "element"]

_INT64 = np.iinfo(np.int64)


class Domain(ABC):
    """A set of values, with a total way to read raw data into it."""

    @abstractmethod
    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is a member."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """Return the member that a raw value stands for; never raises on what a value is."""

    def present(self, value: Any) -> Any:
        """Turn an internal member into what a person reads (grid units into numbers)."""
        return value

    @abstractmethod
    def sample(self, source: random.Random) -> Any:
        """Draw a random raw member, for tests of maps (never for noise)."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""


@dataclass(frozen=True)
class Number(Domain):
    """Numbers: floats, integers, or multiples of a grid.

    Args:
        kind: ``"float"`` or ``"int"``.
        lower, upper: bounds, or None for none.
        nullable: whether NaN (a missing value) is a member; only for floats.
        grid: the step of a public grid, for aggregates that are carried as whole grid units.

    Example:
        >>> Number("float", 0, 12).contains(3.5), Number("int").contains(2.5)
        (True, False)
    """

    kind: str = "float"
    lower: Fraction | None = None
    upper: Fraction | None = None
    nullable: bool = False
    grid: Fraction | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("float", "int"):
            raise UsageError(f"a number is 'float' or 'int', not {self.kind!r}")
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is not None:
                object.__setattr__(self, name, as_fraction(bound, f"{name} bound"))
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise UsageError(
                f"the bounds are reversed: lower {show(self.lower)} is above upper "
                f"{show(self.upper)}; swap them"
            )
        if self.nullable and (self.kind == "int" or self.grid is not None):
            raise UsageError("only floats can be missing (NaN); impute before counting in integers")

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """Both bounds, or None when one of them is absent."""
        if self.lower is None or self.upper is None:
            return None
        return self.lower, self.upper

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is a member (grid members are given in real units)."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (int, float, Fraction, np.integer, np.floating)
        ):
            return False
        if isinstance(value, (float, np.floating)) and not math.isfinite(value):
            free = self.lower is None if value < 0 else self.upper is None
            return self.nullable if math.isnan(value) else free and self.kind == "float"
        number = as_fraction(value)  # type: ignore[arg-type]
        if self.kind == "int" and number.denominator != 1:
            return False
        if self.grid is not None and (number / self.grid).denominator != 1:
            return False
        above = self.lower is None or number >= self.lower
        return above and (self.upper is None or number <= self.upper)

    def read(self, value: Any) -> Any:
        """Return the member for a raw value; what is no number is missing, or nearest to zero."""
        return self.read_many([value])[0].item()

    def read_many(self, values: Any) -> NDArray[Any]:
        """Read a sequence of raw values into a float64 or int64 array of members.

        With a grid, the members are whole units of it, each number going to the nearest one.
        """
        if self.grid is not None and self.grid != 1:
            return self._clip(whole(floats(values) / float(self.grid)))
        if self.kind == "int" or self.grid is not None:
            return self._clip(whole(values))
        clipped = self._clip(floats(values))
        if not self.nullable:
            clipped[np.isnan(clipped)] = float(self._nearest_zero())
        return clipped

    def _nearest_zero(self) -> Fraction:
        zero = Fraction(0)
        if self.lower is not None and self.lower > 0:
            return self.lower
        return self.upper if self.upper is not None and self.upper < 0 else zero

    def _clip(self, array: NDArray[Any]) -> NDArray[Any]:
        if self.lower is None and self.upper is None:
            return array
        low, high = self._ends
        np.maximum(array, low, out=array)  # in place: what is read is an array of our own
        return np.asarray(np.minimum(array, high, out=array))

    @cached_property
    def _ends(self) -> tuple[Any, ...]:
        """The bounds as members are held: whole units, or floats on the inner side."""
        if self.kind == "int" or self.grid is not None:
            unit = self.grid or 1
            low = _INT64.min if self.lower is None else math.ceil(self.lower / unit)
            high = _INT64.max if self.upper is None else math.floor(self.upper / unit)
            inside = (min(max(end, _INT64.min), _INT64.max) for end in (low, high))
            return tuple(map(np.int64, inside))
        low_f = -math.inf if self.lower is None else float_up(self.lower)
        return low_f, math.inf if self.upper is None else float_down(self.upper)

    def present(self, value: Any) -> Any:
        """Turn whole grid units into a number: an int where the grid is whole, else a float."""
        if self.grid is None:
            return value
        scaled = int(value) * self.grid
        return int(scaled) if scaled.denominator == 1 and self.kind == "int" else float(scaled)

    def sample(self, source: random.Random) -> Any:
        """Draw a member, often a bound, a tie or a special value."""
        low = self.lower if self.lower is not None else Fraction(-10)
        if self.lower is None and self.upper is not None:
            low = self.upper - 20
        high = low + 20 if self.upper is None else self.upper
        unit = self.grid or (Fraction(1) if self.kind == "int" else None)
        if unit is not None:
            whole_units = source.randint(math.ceil(low / unit), math.floor(high / unit))
            return self.present(whole_units) if self.grid else whole_units
        special = [float_up(Fraction(low)), float_down(Fraction(high))]
        special += [math.nan] if self.nullable else []
        special += [math.inf] if self.upper is None else []
        if source.random() < 0.3:
            return source.choice(special)
        return min(max(source.uniform(float(low), float(high)), special[0]), special[1])

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        text: dict[str, Any] = {"domain": "number", "kind": self.kind}
        for name in ("lower", "upper", "grid"):
            if getattr(self, name) is not None:
                text[name] = str(getattr(self, name))
        if self.nullable:
            text["nullable"] = True
        return text

    def __str__(self) -> str:
        bounds = ""
        if self.lower is not None or self.upper is not None:
            low = "-inf" if self.lower is None else show(self.lower)
            high = "inf" if self.upper is None else show(self.upper)
            bounds = f" in [{low}, {high}]"
        grid = f" on a grid of {show(self.grid)}" if self.grid not in (None, 1) else ""
        return f"{self.kind}{bounds}{grid}{' or missing' if self.nullable else ''}"


@dataclass(frozen=True)
class Category(Domain):
    """Labels: text, booleans or whole numbers, from a known list or from anywhere.

    Args:
        categories: the known labels, each once; None when any label may come.

    Example:
        >>> Category(("north", "south")).contains("east")
        False
    """

    categories: tuple[Any, ...] | None = None

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

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` is a known label (any hashable one where none are listed)."""
        try:
            hash(value)
            return self.categories is None or value in self.categories
        except Exception:  # whatever a value does when it is hashed or compared: it is no label
            return False

    def read(self, value: Any) -> Any:
        """Return the label, or None for one that is not known (or cannot be hashed)."""
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and math.isnan(plain):
            plain = None
        return plain if self.contains(plain) else None

    def sample(self, source: random.Random) -> Any:
        """Draw a label."""
        return source.choice(self.categories or ("a", "b", "c"))

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        known = None if self.categories is None else list(self.categories)
        return {"domain": "category", "categories": known}

    def __str__(self) -> str:
        return "labels" if self.categories is None else f"{len(self.categories)} known labels"


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

    element: Any
    bounds: tuple[NumberLike, NumberLike] | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "element", element(self.element, self.bounds))
        object.__setattr__(self, "bounds", getattr(self.element, "bounds", None))
        if self.size is not None:
            object.__setattr__(self, "size", as_integer(self.size, "size", minimum=0))

    def contains(self, value: Any) -> bool:
        """Tell whether every element is a member and the size is the public one."""
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            return False
        fits = self.size is None or len(value) == self.size
        return fits and all(self.element.contains(v) for v in value)

    def read(self, value: Any) -> Any:
        """Read every element; refuses only a length that differs from a public size.

        Raises:
            UsageError: the data is no sequence, or its length is not the public size.
        """
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__"):
            raise UsageError("the data must be a sequence of values, such as a list or an array")
        if self.size is not None and len(value) != self.size:
            raise UsageError(f"the public size is {self.size}; the data has another length")
        if isinstance(self.element, Number):
            return self.element.read_many(value)
        return [self.element.read(v) for v in value]

    def present(self, value: Any) -> Any:
        """Turn whole grid units into an array of numbers."""
        if not isinstance(self.element, Number) or self.element.grid is None:
            return value
        if self.element.grid == 1 and self.element.kind == "int":
            return value
        return np.array([self.element.present(v) for v in value])

    def sample(self, source: random.Random) -> Any:
        """Draw a short vector of members."""
        size = source.randint(0, 6) if self.size is None else self.size
        return [self.element.sample(source) for _ in range(size)]

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": "vector", "element": self.element.describe(), "size": self.size}

    def __str__(self) -> str:
        size = "" if self.size is None else f" of size {self.size}"
        return f"vector{size} of {self.element}"


@dataclass(frozen=True)
class Frame(Domain):
    """A table in memory: named columns of one length; a record is a row.

    Example:
        >>> Frame({"age": float, "site": str}).names
        ('age', 'site')
    """

    columns: Any
    size: int | None = None

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
        """Return the domain of one column."""
        return Vector(dict(self.columns)[name], size=self.size)

    def contains(self, value: Any) -> bool:
        """Tell whether ``value`` maps each column name to a member vector of one length."""
        try:
            lengths = {len(value[name]) for name in self.names}
            return len(lengths) == 1 and all(self.column(n).contains(value[n]) for n in self.names)
        except (KeyError, TypeError, IndexError):
            return False

    def read(self, value: Any) -> Any:
        """Read each column; refuses only columns that are absent or of different lengths."""
        try:
            raw = {name: value[name] for name in self.names}
        except (KeyError, TypeError, IndexError):
            raise UsageError(f"the data must have the columns {', '.join(self.names)}") from None
        columns = {name: self.column(name).read(raw[name]) for name in self.names}
        if len({len(c) for c in columns.values()}) != 1:
            raise UsageError("the columns must all have the same length")
        return columns

    def sample(self, source: random.Random) -> Any:
        """Draw a short table of members."""
        size = source.randint(0, 5) if self.size is None else self.size
        return {n: [d.sample(source) for _ in range(size)] for n, d in self.columns}

    def describe(self) -> dict[str, Any]:
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
            raise UsageError("give bounds either in the element domain or beside it, not both")
        return spec
    if spec in (bool, str):
        if bounds is not None:
            raise UsageError("labels have no bounds; bounds are for float and int")
        return Category((False, True)) if spec is bool else Category()
    if spec not in (float, int):
        raise UsageError(f"an element is float, int, str, bool or a Domain, not {spec!r}")
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
