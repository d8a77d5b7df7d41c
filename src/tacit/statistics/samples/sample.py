"""Sorted numbers, exact and fast in bulk.

A :class:`Sample` keeps an array as it was given (64-bit floats, 64-bit integers, or Python
integers on a common denominator), sorted once, and gives out exact values only where they are
asked for.  A million floats are therefore sorted and searched at numpy's speed, and yet every
number that leaves a sample is a :class:`fractions.Fraction`, equal to what was handed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.statistics.samples.exact_sum import exact_float_sum

__all__ = ["Array", "Plain", "Sample"]

Array: TypeAlias = npt.NDArray[Any]
Plain: TypeAlias = int | Fraction
"""A number as people read it: an ``int`` where it is whole, else a ``Fraction``."""

_INT64_SAFE = 2**62


class Sample:
    """A sorted sequence of exact numbers: ``values = raw * unit``.

    Args:
        values: a 1-D array, series or iterable of finite numbers (anything that
            :func:`tacit.arithmetic.exact.as_fraction` reads); at least one unless ``allow_empty``.
        name: how error messages call the values.
        allow_empty: accept no values at all.

    Raises:
        UsageError: text, a bool, NaN, an infinity, more than one axis, or no values.

    >>> s = Sample([2.5, 1, "1/3"])
    >>> s[0], s[-1], len(s)
    (Fraction(1, 3), Fraction(5, 2), 3)
    """

    __slots__ = ("__dict__", "raw", "unit")

    raw: Array
    """The sorted numbers over ``unit``: ``int64``, ``float64``, or Python ints (``object``)."""
    unit: Fraction
    """What one of ``raw`` stands for; 1 unless the values were fractions."""

    def __init__(
        self, values: Iterable[Any], name: str = "values", *, allow_empty: bool = False
    ) -> None:
        raw, self.unit = _read(values, name)
        if not len(raw) and not allow_empty:
            raise UsageError(f"{name} is empty; give at least one number")
        self.raw = np.sort(raw)
        self.raw.flags.writeable = False

    @classmethod
    def of_sorted(cls, raw: Array, unit: Fraction = Fraction(1)) -> Sample:
        """Wrap an array that is sorted and of one of the three kinds already."""
        sample = object.__new__(cls)
        sample.raw, sample.unit = raw, unit
        return sample

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, index: int) -> Fraction:
        """The exact value of rank ``index`` (0 is the smallest)."""
        return _exact(self.raw[index]) * self.unit

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sample):
            return NotImplemented
        if len(self) != len(other):
            return False
        if self.unit == other.unit and self.raw.dtype == other.raw.dtype:
            return bool(np.array_equal(self.raw, other.raw))
        return self.values() == other.values()

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]) if len(self) else 0)

    def __repr__(self) -> str:
        return f"Sample of {len(self)} numbers"

    def slice(self, start: int, stop: int) -> Sample:
        """The sample of the ranks ``start <= rank < stop``."""
        return Sample.of_sorted(self.raw[start:stop], self.unit)

    def take(self, ranks: Sequence[int] | Array) -> Sample:
        """The sample of the given ranks, which must be ascending."""
        return Sample.of_sorted(self.raw[np.asarray(ranks, dtype=np.int64)], self.unit)

    def values(self) -> tuple[Plain, ...]:
        """All values, ascending, ``int`` where whole and ``Fraction`` elsewhere."""
        if self.unit == 1 and self.raw.dtype != np.float64:
            return tuple(self.raw.tolist())
        return tuple(plain(_exact(v) * self.unit) for v in self.raw.tolist())

    def fractions(self) -> list[Fraction]:
        """All values as fractions, ascending."""
        return [Fraction(v) for v in self.values()]

    def total(self, start: int = 0, stop: int | None = None) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``."""
        part = self.raw[start:stop]
        if part.dtype == np.float64:
            return exact_float_sum(part)
        if part.dtype == np.int64 and len(part):
            largest = max(abs(int(part[0])), abs(int(part[-1])))
            if largest * len(part) >= _INT64_SAFE:
                return Fraction(sum(part.tolist())) * self.unit
        return Fraction(int(part.sum())) * self.unit

    @cached_property
    def floats(self) -> npt.NDArray[np.float64]:
        """The values as the nearest 64-bit floats (exact when they were given as floats)."""
        if self.raw.dtype == np.float64:
            return self.raw
        if self.unit == 1 and self.raw.dtype == np.int64:
            return self.raw.astype(np.float64)
        return np.array([_nearest(v * self.unit) for v in self.raw.tolist()], dtype=np.float64)

    @cached_property
    def on_grid(self) -> tuple[Array, Fraction]:
        """``(integers, grain)`` with ``values == integers * grain`` exactly.

        ``int64`` with magnitudes below 2**62 where the values fit, else Python integers.
        """
        if self.raw.dtype == np.float64:
            integers, grain = _floats_to_grid(self.raw)
        else:
            integers, grain = self.raw, self.unit
        if len(integers) and max(abs(int(integers[0])), abs(int(integers[-1]))) >= _INT64_SAFE:
            return integers.astype(object), grain
        return integers.astype(np.int64), grain

    def distinct(self) -> tuple[Sample, npt.NDArray[np.int64]]:
        """The distinct values and how often each occurs."""
        if not len(self):
            return self, np.zeros(0, dtype=np.int64)
        new = np.concatenate(([True], self.raw[1:] != self.raw[:-1]))
        starts = np.flatnonzero(new)
        counts = np.diff(np.append(starts, len(self)))
        return Sample.of_sorted(self.raw[starts], self.unit), counts

    def mirrored(self) -> Sample:
        """The sample with every sign turned."""
        return Sample.of_sorted(-self.raw[::-1], self.unit)

    def without(self, part: Sample) -> Sample | None:
        """The multiset difference, or None when ``part`` is not contained in this sample."""
        whole, piece = on_common_unit(self, part)
        if not len(piece.raw):
            return self
        # The j-th of several equal values of ``part`` takes the j-th of those here.
        ranks = np.searchsorted(whole.raw, piece.raw, side="left")
        ranks += _repeats(piece.raw)
        if ranks.max() >= len(whole) or bool((whole.raw[ranks] != piece.raw).any()):
            return None
        keep = np.ones(len(whole), dtype=bool)
        keep[ranks] = False
        return Sample.of_sorted(whole.raw[keep], whole.unit)


def _repeats(raw: Array) -> npt.NDArray[np.int64]:
    """How many equal numbers stand before each of a sorted array."""
    ranks = np.arange(len(raw))
    starts = np.flatnonzero(np.concatenate(([True], raw[1:] != raw[:-1])))
    if len(starts) == len(raw):
        return np.zeros(len(raw), dtype=np.int64)
    return ranks - np.repeat(starts, np.diff(np.append(starts, len(raw))))


def on_common_unit(a: Sample, b: Sample) -> tuple[Sample, Sample]:
    """Both samples with the same unit and the same kind of array, so that they compare."""
    if a.unit == b.unit and a.raw.dtype == b.raw.dtype:
        return a, b
    (x, gx), (y, gy) = a.on_grid, b.on_grid
    numerator = math.gcd(gx.numerator * gy.denominator, gy.numerator * gx.denominator)
    grain = Fraction(numerator, gx.denominator * gy.denominator)
    return _regrained(x, int(gx / grain), grain), _regrained(y, int(gy / grain), grain)


def merge(a: Sample, b: Sample) -> Sample:
    """The multiset sum of two samples."""
    x, y = on_common_unit(a, b)
    kind = object if object in (x.raw.dtype, y.raw.dtype) else x.raw.dtype
    both = np.concatenate((x.raw.astype(kind), y.raw.astype(kind)))
    return Sample.of_sorted(np.sort(both, kind="stable"), x.unit)


def plain(value: Fraction | int) -> Plain:
    """An ``int`` where the value is whole, else the ``Fraction``.

    >>> plain(Fraction(4, 2)), plain(Fraction(1, 2))
    (2, Fraction(1, 2))
    """
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else number


def _regrained(integers: Array, factor: int, grain: Fraction) -> Sample:
    if factor != 1:
        integers = integers.astype(object) * factor
    return Sample.of_sorted(integers.astype(object), grain)


def _exact(value: Any) -> Fraction:
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _read(values: Iterable[Any], name: str) -> tuple[Array, Fraction]:
    if isinstance(values, (str, bytes, dict)):
        raise UsageError(f"{name} must be a sequence of numbers, not {type(values).__name__}")
    if not hasattr(values, "__array__"):
        try:
            listed = list(values)
        except TypeError:
            raise UsageError(f"{name} must be a sequence of numbers, not {values!r}") from None
        kinds = set(map(type, listed))
        if kinds == {float}:
            return _read_array(np.array(listed, dtype=np.float64), name)
        return _read_objects(listed, name)
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"{name} must have one axis, not {array.ndim}")
    return _read_array(array, name)


def _read_array(array: Array, name: str) -> tuple[Array, Fraction]:
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        floats = array.astype(np.float64, copy=False)
        if not np.isfinite(floats).all():
            where = int(np.flatnonzero(~np.isfinite(floats))[0])
            raise UsageError(
                f"{name} must be finite numbers; position {where} holds {floats[where]}"
            )
        return floats, Fraction(1)
    if array.dtype.kind in "iu" and not (
        array.dtype == np.uint64 and len(array) and int(array.max()) >= _INT64_SAFE
    ):
        return array.astype(np.int64, copy=False), Fraction(1)
    if array.dtype.kind in "mMSV":
        raise UsageError(f"{name} must be numbers, not {array.dtype.name}")
    return _read_objects(array.tolist(), name)


def _read_objects(listed: list[Any], name: str) -> tuple[Array, Fraction]:
    exact = [as_fraction(v, f"{name}, position {i},") for i, v in enumerate(listed)]
    common = math.lcm(*(v.denominator for v in exact)) if exact else 1
    integers = [v.numerator * (common // v.denominator) for v in exact]
    small = all(-_INT64_SAFE < v < _INT64_SAFE for v in integers)
    return np.array(integers, dtype=np.int64 if small else object), Fraction(1, common)


def _floats_to_grid(floats: npt.NDArray[np.float64]) -> tuple[Array, Fraction]:
    """Write every float as an integer times one power of two, the largest that serves all."""
    mantissa, exponent = np.frexp(floats)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    used = whole != 0
    if not used.any():
        return np.zeros(len(floats), dtype=np.int64), Fraction(1)
    lowest_bit = (whole & -whole)[used]
    trailing = np.frexp(lowest_bit.astype(np.float64))[1] - 1
    low = int((exponent[used] - 53 + trailing).min())
    high = int(exponent[used].max())
    grain = Fraction(2) ** low
    if high - low <= 62:
        return np.ldexp(floats, -low).astype(np.int64), grain
    shifts = (exponent.astype(np.int64) - 53 - low).tolist()
    big = [(w << s if s >= 0 else w >> -s) for w, s in zip(whole.tolist(), shifts, strict=True)]
    return np.array(big, dtype=object), grain
