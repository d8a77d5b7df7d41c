"""What every domain answers, and the domain of numbers."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_fraction, float_down, float_up, positive, show
from tacit.calls import public
from tacit.core.spaces.coercion import floats, whole
from tacit.errors import UsageError, said

__all__ = ["Domain", "Number"]

_INT64 = np.iinfo(np.int64)


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
            raise UsageError(f"a number is 'float' or 'int', not {said(self.kind)}")
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
        """Return whether ``value`` is a member (grid members are given in real units).

        Args:
            value: what is asked about.
        """
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
        """Return the member for a raw value; if not a number, it is missing or nearest to zero.

        Args:
            value: whatever stands for the number.
        """
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
        """Turn whole grid units into a number: an int where the grid is whole, else a float.

        Args:
            value: the number of units.
        """
        if self.grid is None:
            return value
        whole: Any = value
        scaled = int(whole) * self.grid
        return int(scaled) if scaled.denominator == 1 and self.kind == "int" else float(scaled)

    def sample(self, source: random.Random) -> object:
        """Draw a member, often a bound, a tie or a special value.

        Args:
            source: what draws it.
        """
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
