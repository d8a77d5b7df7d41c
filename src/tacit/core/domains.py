"""Domains: the values that a step may receive, and how Python values become them."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, float_down, float_up, positive, show
from tacit.calls import public
from tacit.errors import UsageError, shown_value

# Raw values into numeric arrays, totally: what a value is can never raise, nor drop a row.
#
# Each value is read alone: what is next to it never changes what it becomes.  (An array built
# from ``[2**63, -1, 2**53 + 1]`` at once would be one of floats, and the third number another one.)


_INT64 = np.iinfo(np.int64)
_FLOAT_LIMIT = 2.0**63


def floats(values: Any) -> NDArray[np.float64]:
    """Return a new float64 array of the same length; what is no number becomes NaN."""
    array = _array(values)
    if array is not None:
        return array.astype(np.float64)
    return _each(values, float, _as_float, np.float64)


def whole(values: Any) -> NDArray[np.int64]:
    """Return a new int64 array of the same length: rounded, clipped; zero for what is no number."""
    array = _array(values)
    if array is None:
        return _each(values, int, _as_whole, np.int64)
    if array.dtype.kind in "ib":
        return array.astype(np.int64)
    if array.dtype.kind == "u":
        return np.asarray(np.minimum(array, np.uint64(_INT64.max)).astype(np.int64))
    rounded = np.floor(np.nan_to_num(array.astype(np.float64), nan=0.0) + 0.5)
    safe = rounded.clip(-_FLOAT_LIMIT, np.nextafter(_FLOAT_LIMIT, 0)).astype(np.int64)
    safe[rounded >= _FLOAT_LIMIT] = _INT64.max
    return np.asarray(safe)


def _array(values: Any) -> NDArray[Any] | None:
    """Return a column that is numeric already, of one type for all its values."""
    if not isinstance(values, np.ndarray) and hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufb":
        return values
    return None


def _each(values: Any, kind: type, read: Callable[[Any], Any], dtype: Any) -> NDArray[Any]:
    flat: Sequence[Any] = list(values)
    if set(map(type, flat)) == {kind}:
        try:
            return np.array(flat, dtype=dtype)
        except OverflowError:  # a Python integer beyond int64: clip each
            pass
    return np.array([read(value) for value in flat], dtype=dtype)


def _as_float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # whatever a value does when it is asked for a number: it is none
        return math.nan


def _as_whole(value: Any) -> int:
    if isinstance(value, (int, np.integer)):
        return min(max(int(value), int(_INT64.min)), int(_INT64.max))
    number = _as_float(value)
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return int(_INT64.max if number > 0 else _INT64.min)
    return min(max(math.floor(number + 0.5), int(_INT64.min)), int(_INT64.max))


@public
class Domain(ABC):
    """A set of values, with a total way to read raw data into it."""

    @abstractmethod
    def contains(self, value: object) -> bool:
        """Return whether ``value`` is a member."""

    @abstractmethod
    def read(self, value: object) -> object:
        """Return the member that a raw value stands for; never raises on what a value is."""

    def present(self, value: object) -> object:
        """Turn an internal member into what a person reads (grid units into numbers)."""
        return value

    @abstractmethod
    def sample(self, source: random.Random) -> object:
        """Draw a random raw member, for tests of maps (never for noise)."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """Return the domain as plain JSON values."""


@public
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
            raise UsageError(f"a number is 'float' or 'int', not {shown_value(self.kind)}")
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

    def contains(self, value: object) -> bool:
        """Return whether ``value`` is a member (grid members are given in real units)."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (int, float, Fraction, np.integer, np.floating)
        ):
            return False
        if isinstance(value, (float, np.floating)) and not math.isfinite(value):
            free = self.lower is None if value < 0 else self.upper is None
            return self.nullable if math.isnan(value) else free and self.kind == "float"
        number = as_fraction(value)
        if self.kind == "int" and number.denominator != 1:
            return False
        if self.grid is not None and (number / self.grid).denominator != 1:
            return False
        above = self.lower is None or number >= self.lower
        return above and (self.upper is None or number <= self.upper)

    def read(self, value: object) -> object:
        """Return the member for a raw value; if not a number, it is missing or nearest to zero."""
        return self.read_many([value])[0].item()

    def read_many(self, values: object) -> NDArray[np.int64 | np.float64]:
        """Read a sequence of raw values into a float64 or int64 array of members.

        With a grid, the members are whole units of it, each number going to the nearest one.

        Args:
            values: a list or an array, as it comes.
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

    def _clip(self, array: NDArray[Any]) -> NDArray[np.int64 | np.float64]:
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

    def present(self, value: object) -> object:
        """Turn whole grid units into a number: an int where the grid is whole, else a float."""
        if self.grid is None:
            return value
        shown: Any = value
        scaled = int(shown) * self.grid
        return int(scaled) if scaled.denominator == 1 and self.kind == "int" else float(scaled)

    def sample(self, source: random.Random) -> object:
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

    def describe(self) -> dict[str, object]:
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


# Domains: which values a step may meet.
#
# A domain answers three questions: is this a member (:meth:`Domain.contains`), what member does
# this raw value represent (:meth:`Domain.read`, total: it never raises on a value), and how is an
# internal member shown to a person (:meth:`Domain.present`).
#
# Numbers that come from data travel as *integers in units of a public grid*: a :class:`Number` with
# ``grid=Fraction(1, 1024)`` holds the integer 1536 for 1.5.  Integer addition is associative, so an
# aggregate does not depend on the order of the rows, and its sensitivity is the one that was
# proven.


@public
@dataclass(frozen=True)
class Category(Domain):
    """Labels: text, booleans or integers, from a known list or from anywhere.

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
        """Return whether ``value`` is a known label (any hashable one where none are listed)."""
        try:
            hash(value)
            return self.categories is None or value in self.categories
        except Exception:  # whatever a value does when it is hashed or compared: it is not a label
            return False

    def read(self, value: object) -> object:
        """Return the label, or None for one that is not known (or cannot be hashed)."""
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and math.isnan(plain):
            plain = None
        return plain if self.contains(plain) else None

    def sample(self, source: random.Random) -> object:
        return source.choice(self.categories or ("a", "b", "c"))

    def describe(self) -> dict[str, object]:
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
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            return False
        values: Any = value
        fits = self.size is None or len(values) == self.size
        return fits and all(self.element.contains(v) for v in values)

    def read(self, value: object) -> object:
        """Read every element; refuses only a length that differs from a public size.

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
        if not isinstance(self.element, Number) or self.element.grid is None:
            return value
        if self.element.grid == 1 and self.element.kind == "int":
            return value
        values: Any = value
        return np.array([self.element.present(v) for v in values])

    def sample(self, source: random.Random) -> object:
        size = source.randint(0, 6) if self.size is None else self.size
        return [self.element.sample(source) for _ in range(size)]

    def describe(self) -> dict[str, object]:
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
        table: Any = value
        try:
            lengths = {len(table[name]) for name in self.names}
            return len(lengths) == 1 and all(self.column(n).contains(table[n]) for n in self.names)
        except (KeyError, TypeError, IndexError):
            return False

    def read(self, value: object) -> object:
        """Read each column; refuses only columns that are absent or of different lengths."""
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
        size = source.randint(0, 5) if self.size is None else self.size
        return {n: [d.sample(source) for _ in range(size)] for n, d in self.columns}

    def describe(self) -> dict[str, object]:
        columns = [[name, domain.describe()] for name, domain in self.columns]
        return {"domain": "frame", "columns": columns, "size": self.size}

    def __str__(self) -> str:
        return f"frame with columns {', '.join(self.names)}"


def element(
    spec: Any, bounds: tuple[NumberLike, NumberLike] | Sequence[NumberLike] | None = None
) -> Domain:
    """The element domain that ``float``, ``int``, ``str``, ``bool`` or a Domain stands for."""
    # Floats may be missing (NaN) unless a :class:`Number` says otherwise.
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
        raise UsageError(
            f"an element is float, int, str, bool or a Domain, not {shown_value(spec)}"
        )
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
