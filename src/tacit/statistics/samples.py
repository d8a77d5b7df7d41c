"""Samples: sorted data with exact prefix sums, moments and counts of equal values."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.errors import UsageError

# The exact sum of an array of floats, at numpy's speed.
#
# Error-free extraction (Rump, Ogita and Oishi 2008, *Accurate floating-point summation, part I*):
# with ``sigma`` a power of two at least ``2 * n * max|x|``, ``q = (sigma + x) - sigma`` rounds
# every ``x`` to a multiple of ``u = ulp(sigma) / 2`` or coarser and ``x - q`` is exact.  The ``q``
# are multiples of ``u`` and any partial sum of them stays below ``sigma = 2**53 * u``, so that
# numpy adds them without any rounding, in whatever order it likes.  What remains, ``x - q``, is
# smaller by about ``53 - log2(2 n)`` bits and is extracted again until nothing remains.  Blocks
# stay small enough for the processor's cache.


_BLOCK = 1 << 14


def exact_float_sum(values: npt.NDArray[np.float64]) -> Fraction:
    """Return the sum of finite floats as an exact fraction.

    >>> exact_float_sum(np.array([1e16, 1.0, -1e16, 0.5]))
    Fraction(3, 2)
    """
    total = Fraction(0)
    high = np.empty(min(_BLOCK, len(values)))
    rest = np.empty_like(high)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        total += _block_sum(block, high[: len(block)], rest[: len(block)])
    return total


def _block_sum(
    values: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    rest: npt.NDArray[np.float64],
) -> Fraction:
    largest = max(float(values.max()), -float(values.min()))
    if largest > 1e290:  # sigma would overflow
        return Fraction(sum(map(Fraction, values.tolist())))
    room = (2 * len(values)).bit_length()
    total = Fraction(0)
    while largest > 0:
        sigma = math.ldexp(1.0, math.frexp(largest)[1] + room)
        np.add(values, sigma, out=high)
        np.subtract(high, sigma, out=high)
        total += Fraction(float(high.sum()))
        values = np.subtract(values, high, out=rest)
        largest = sigma * 2.0**-52 if values.any() else 0.0  # no rest is larger
    return total


# Sorted numbers, exact and fast in bulk.
#
# A :class:`Sample` keeps an array as it was given (64-bit floats, 64-bit integers, or Python
# integers on a common denominator), sorted once, and gives out exact values only where they are
# asked for.  A million floats are therefore sorted and searched at numpy's speed, and yet every
# number that leaves a sample is a :class:`fractions.Fraction`, equal to what was handed in.


Array: TypeAlias = npt.NDArray[Any]
# A number as people read it: an ``int`` where it is whole, else a ``Fraction``.
Plain: TypeAlias = int | Fraction

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
    """Value of one unit of ``raw``; 1 unless the values were fractions."""

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
        """``(integers, grid_step)`` with ``values == integers * grid_step`` exactly.

        ``int64`` with magnitudes below 2**62 where the values fit, else Python integers.
        """
        if self.raw.dtype == np.float64:
            integers, grid_step = _floats_to_grid(self.raw)
        else:
            integers, grid_step = self.raw, self.unit
        if len(integers) and max(abs(int(integers[0])), abs(int(integers[-1]))) >= _INT64_SAFE:
            return integers.astype(object), grid_step
        return integers.astype(np.int64), grid_step

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
        rescaled, piece = on_common_unit(self, part)
        if not len(piece.raw):
            return self
        # The j-th of several equal values of ``part`` takes the j-th of those here.
        ranks = np.searchsorted(rescaled.raw, piece.raw, side="left")
        ranks += _repeats(piece.raw)
        if ranks.max() >= len(rescaled) or bool((rescaled.raw[ranks] != piece.raw).any()):
            return None
        keep = np.ones(len(rescaled), dtype=bool)
        keep[ranks] = False
        return Sample.of_sorted(rescaled.raw[keep], rescaled.unit)


def _repeats(raw: Array) -> npt.NDArray[np.int64]:
    """Return the number of equal entries before each entry of a sorted array."""
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
    grid_step = Fraction(numerator, gx.denominator * gy.denominator)
    return _regrained(x, int(gx / grid_step), grid_step), _regrained(
        y, int(gy / grid_step), grid_step
    )


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


def _regrained(integers: Array, factor: int, grid_step: Fraction) -> Sample:
    if factor != 1:
        integers = integers.astype(object) * factor
    return Sample.of_sorted(integers.astype(object), grid_step)


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
            raise UsageError(f"{name} must be finite numbers; position {where} is {floats[where]}")
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
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    used = integers != 0
    if not used.any():
        return np.zeros(len(floats), dtype=np.int64), Fraction(1)
    lowest_bit = (integers & -integers)[used]
    trailing = np.frexp(lowest_bit.astype(np.float64))[1] - 1
    low = int((exponent[used] - 53 + trailing).min())
    high = int(exponent[used].max())
    grid_step = Fraction(2) ** low
    if high - low <= 62:
        return np.ldexp(floats, -low).astype(np.int64), grid_step
    shifts = (exponent.astype(np.int64) - 53 - low).tolist()
    big = [(w << s if s >= 0 else w >> -s) for w, s in zip(integers.tolist(), shifts, strict=True)]
    return np.array(big, dtype=object), grid_step


# Records of which many are equal: the values that occur, and how many records have each.
#
# What takes eight bytes a record when it is written out takes sixteen a value here, whatever the
# number of records.  Every answer is that of the records written out.


class CountedSample(Sample):
    """A sample of this many records of each value.

    >>> s = CountedSample(Sample([2, 5]), np.array([3, 1]))
    >>> len(s), s[2], s[-1], s.total(), s.raw.tolist()
    (4, Fraction(2, 1), Fraction(5, 1), Fraction(11, 1), [2, 2, 2, 5])
    """

    __slots__ = ("counts", "ends", "points")

    def __init__(self, points: Sample, counts: npt.NDArray[np.int64]) -> None:
        self.points, self.unit = points, points.unit
        self.counts = np.asarray(counts, dtype=np.int64)
        self.ends = np.cumsum(self.counts)

    @cached_property
    def raw(self) -> Array:  # type: ignore[override]
        """The records written out, for algorithms that know no counts."""
        written = np.repeat(self.points.raw, self.counts)
        written.flags.writeable = False
        return written

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, index: int) -> Fraction:
        rank = operator.index(index)
        if not -len(self) <= rank < len(self):
            raise IndexError(f"rank {rank} of {len(self)} records")
        return self.points[int(self.ends.searchsorted(rank % len(self), "right"))]

    def slice(self, start: int, stop: int) -> Sample:
        ends = np.clip(self.ends, start, max(start, stop)) - start
        counts = np.diff(ends, prepend=0)
        present = np.flatnonzero(counts)
        return CountedSample(self.points.take(present), counts[present])

    def total(self, start: int = 0, stop: int | None = None) -> Fraction:
        if (start, stop) != (0, None):
            low, high, _ = slice(start, stop).indices(len(self))
            return self.slice(low, high).total()
        return self._sums(1)

    def variance(self, ddof: int = 0) -> Fraction:
        """The exact variance."""
        n, total, square = len(self), self._sums(1), self._sums(2)
        return (square - total * total / n) / (n - ddof)

    def _sums(self, power: int) -> Fraction:
        integers, grid_step = self.points.on_grid
        pairs = zip(integers.tolist(), self.counts.tolist(), strict=True)
        return Fraction(sum(v**power * c for v, c in pairs)) * grid_step**power

    def distinct(self) -> tuple[Sample, npt.NDArray[np.int64]]:
        return self.points, self.counts

    def mirrored(self) -> CountedSample:
        turned = Sample.of_sorted(-self.points.raw[::-1], self.unit)
        return CountedSample(turned, self.counts[::-1])


class Ranks:
    """Counted records as an array of ascending records, to be examined by rank.

    >>> ranks = Ranks(np.array([0, 4]), np.array([2, 3]))
    >>> ranks[np.array([0, 1, 2])].tolist(), int(ranks[-1]), len(ranks), ranks[1:].tolist()
    ([0, 0, 4], 4, 3, [0, 4])
    """

    def __init__(self, values: Array, ends: npt.NDArray[np.int64]) -> None:
        self.values, self.ends = values, ends
        self.dtype = values.dtype

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        rank = np.asarray(index)
        rank = np.where(rank < 0, rank + len(self), rank)
        return self.values[self.ends.searchsorted(rank, "right")]

    def astype(self, kind: Any) -> Ranks:
        """The same with numbers of another kind."""
        return Ranks(self.values.astype(kind), self.ends)


# Data brought into public bounds, sorted, and padded with the bounds.
#
# What surrounds a data set at a distance is made of its own records and of the two bounds, so the
# algorithms for local sensitivity at a distance all start from this.


_ROOM = 2**60


class ClampedRecords:
    """The records of a data set, clamped to ``[lower, upper]``, exact.

    >>> c = ClampedRecords([3, -5, 40], 0, 10)
    >>> c.records.tolist(), c.lower, c.upper, c.grain
    ([0, 3, 10], 0, 10, Fraction(1, 1))
    """

    # A value below ``lower`` counts as ``lower`` and one above ``upper`` as ``upper``: clamping a
    # record never moves another one, so whatever is proven of the clamped records holds for a
    # release that clamps first.

    def __init__(self, data: Iterable[Any] | Sample, lower: Number, upper: Number) -> None:
        self.bounds = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
        if self.bounds[0] >= self.bounds[1]:
            raise UsageError(
                f"bounds must be (lower, upper) with lower below upper, not "
                f"({show(self.bounds[0])}, {show(self.bounds[1])})"
            )
        self.sample = data if isinstance(data, Sample) else Sample(data, "data")

    def __len__(self) -> int:
        return len(self.sample)

    @property
    def minimum(self) -> Fraction:
        """The smallest record."""
        return min(max(self.sample[0], self.bounds[0]), self.bounds[1])

    @property
    def maximum(self) -> Fraction:
        """The largest record."""
        return min(max(self.sample[-1], self.bounds[0]), self.bounds[1])

    @property
    def span(self) -> Fraction:
        """``upper - lower``."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def _grid(self) -> tuple[Array, int, int, Fraction]:
        data, ends = on_common_unit(self._points, Sample(self.bounds))
        low, high = int(ends.raw[0]), int(ends.raw[1])
        records = np.clip(data.raw, low, high)
        small = max(abs(low), abs(high)) < _ROOM
        return records.astype(np.int64 if small else object), low, high, data.unit

    @property
    def _points(self) -> Sample:
        return self.sample.points if isinstance(self.sample, CountedSample) else self.sample

    @property
    def runs(self) -> tuple[Array, npt.NDArray[np.int64] | None]:
        """Clamped records as ascending integers, and how many records stand up to each."""
        # None instead of those numbers where the records are not counted: one record each.
        sample = self.sample
        return self._grid[0], sample.ends if isinstance(sample, CountedSample) else None

    @cached_property
    def records(self) -> Array:
        """The clamped records as ascending integers: ``int64`` if they fit, else Python ints."""
        if isinstance(self.sample, CountedSample):
            return np.repeat(self._grid[0], self.sample.counts)
        return self._grid[0]

    @property
    def lower(self) -> int:
        """The lower bound on the grid."""
        return self._grid[1]

    @property
    def upper(self) -> int:
        """The upper bound on the grid."""
        return self._grid[2]

    @property
    def grain(self) -> Fraction:
        """Value of one step of the grid."""
        return self._grid[3]

    @cached_property
    def padded(self) -> Array | Ranks:
        """``lower, lower, x_1, ..., x_n, upper, upper`` on the grid: rank ``i`` is at ``i + 1``."""
        return self._pad(self._grid[0], self.lower, self.upper)

    @cached_property
    def quick(self) -> tuple[Array | Ranks, Fraction]:
        """``padded`` and its unit, for arithmetic in floats: floats stay as they are."""
        # Differences of two entries are then right to one rounding, whatever the offset.
        low, high = float(self.bounds[0]), float(self.bounds[1])
        exact = Fraction(low) == self.bounds[0] and Fraction(high) == self.bounds[1]
        raw = self._points.raw
        if raw.dtype != np.float64 or not exact:
            return self.padded, self.grain
        return self._pad(np.clip(raw, low, high), low, high), Fraction(1)

    def _pad(self, values: Array, low: Any, high: Any) -> Array | Ranks:
        if isinstance(self.sample, CountedSample):
            ends = self.sample.ends
            return Ranks(padded(values, low, high, 1), padded(ends + 2, 2, int(ends[-1]) + 4, 1))
        return padded(values, low, high, 2)

    def mirrored(self) -> ClampedRecords:
        """The data with every sign turned: what is low becomes high.

        >>> ClampedRecords([1, 2], 0, 5).mirrored().records.tolist()
        [-2, -1]
        """
        turned = object.__new__(ClampedRecords)
        turned.bounds = -self.bounds[1], -self.bounds[0]
        turned.sample = self.sample.mirrored()
        return turned


def padded(values: Array, low: Any, high: Any, times: int) -> Array:
    """Return values with another one before and after them, this many times each.

    >>> padded(np.array([3]), 0, 9, 2).tolist()
    [0, 0, 3, 9, 9]
    """
    extended = np.empty(len(values) + 2 * times, dtype=values.dtype)
    extended[:times], extended[times:-times], extended[-times:] = low, values, high
    return extended


# Exact sums of the first records of ascending data, at any rank, whether counted or listed.


_SAFE = 2**62
_LOW = 30


class Sums:
    """``P_k``, the sum of the ``k`` smallest of some integers, for every ``k``.

    >>> p = Sums(np.array([1, 5]), np.array([3, 5]))
    >>> [p(k) for k in range(6)]
    [0, 1, 2, 3, 8, 13]
    """

    # Running sums are stored at the ends of the runs of equal numbers, and in between ``P`` is
    # linear. They are 64-bit integers; where those would not do, the upper and the lower 30 bits of
    # the numbers are summed apart; and Python integers where even that would not.
    #
    # values: ascending, of at least zero: ``int64`` below 2**61, or Python integers.

    def __init__(self, values: Array, ends: npt.NDArray[np.int64] | None = None) -> None:
        self.values, self.ends = values, ends
        records = len(values) if ends is None else int(ends[-1]) if len(ends) else 0
        counts = None if ends is None else np.diff(ends, prepend=0)
        largest = int(values[-1]) if len(values) else 0
        self._low: Array | None = None
        if values.dtype == object or records >= 1 << 31:
            self._sums = _running(values.astype(object), counts)
        elif largest * records < _SAFE:
            self._sums = _running(values, counts)
        else:
            self._sums = _running(values >> _LOW, counts)
            self._low = _running(values & ((1 << _LOW) - 1), counts)

    def __call__(self, count: int) -> int:
        """Return the sum of the ``count`` smallest."""
        if self.ends is None:
            return self._at(count)
        run = int(self.ends.searchsorted(count, "right"))  # this many runs are whole
        if run == len(self.ends):
            return self._at(run)
        complete = int(self.ends[run - 1]) if run else 0
        return self._at(run) + (count - complete) * int(self.values[run])

    def _at(self, run: int) -> int:
        total = int(self._sums[run])
        return total if self._low is None else (total << _LOW) + int(self._low[run])


def _running(values: Array, counts: Any) -> Array:
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values if counts is None else values * counts, out=sums[1:])
    return sums
