"""Domains of statistics, and the records that a neighbour can add, remove or change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction, as_integer, show
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.samples import Sample, merge

# Which values a release may hold: a known population, a public value set, or an interval.
#
# * :class:`Records`: a known population.  A record is in the release or it is not; two records
#   with equal values are still two people.
# * :class:`Values`: public values, each of which any number of people may have.
# * :class:`Interval`: every real number between two bounds.
#
# ``size`` is the public size of the release.  Without it every size is possible, from one record
# on, and from none on where the statistic has a value on no records (a count, a sum, a histogram).
#
# Several columns at once: :class:`Records` and :class:`Values` also take a mapping or a data frame,
# and :func:`tacit.sensitivity` then answers for every column.


@public
class _Listed:
    """Base class of Records and Values: listed values, perhaps column by column."""

    _sample: Sample | None
    columns: Mapping[str, object] | None
    size: int | None

    def __init__(self, values: Iterable[object], size: int | None = None) -> None:
        table = columns_of(values)
        self.size = None if size is None else as_integer(size, "size", minimum=1)
        self.columns = None
        self._sample = None
        if table is None:
            self._sample = self._read(values, "values")
        else:
            if not table:
                raise UsageError("the table has no column")
            self.columns = {name: self._column(table[name], name) for name in table}

    def _column(self, values: Iterable[Any], name: str) -> Self:
        made = object.__new__(type(self))
        made.size, made.columns = self.size, None
        made._sample = made._read(values, f"column {name!r}")
        return made

    def _read(self, values: Iterable[Any], name: str) -> Sample:
        return Sample(values, name)

    @property
    def sample(self) -> Sample:
        """The values, sorted and exact."""
        if self._sample is None:
            names = ", ".join(repr(name) for name in self.columns or ())
            raise UsageError(f"this domain has several columns ({names}); ask for each of them")
        return self._sample

    @property
    def lower(self) -> Fraction:
        """The smallest value."""
        return self.sample[0]

    @property
    def upper(self) -> Fraction:
        """The largest value."""
        return self.sample[-1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self.size, self.columns, self._sample) == (
            other.size,
            other.columns,
            other._sample,
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.size, self._sample))

    def __repr__(self) -> str:
        if self.columns is not None:
            listed = f"columns {', '.join(self.columns)}"
        elif len(self.sample) <= 12:
            listed = "[" + ", ".join(str(v) for v in self.sample.values()) + "]"
        else:
            listed = f"{len(self.sample)} values, {show(self.lower)} to {show(self.upper)}"
        sized = "" if self.size is None else f", size={self.size}"
        return f"{type(self).__name__}({listed}{sized})"


@public
class Records(_Listed):
    """A known population, of which the release holds ``size`` records.

    Args:
        values: the population, one number per record (equal values are different people), or a
            table of several columns.
        size: how many records the release holds; None for any number.

    Raises:
        UsageError: no values, text, NaN, an infinity, a size that is not an integer.
        InfeasibleError: a size larger than the population.

    >>> Records([1, 2, 2, 5], size=3)
    Records([1, 2, 2, 5], size=3)
    """

    def _read(self, values: Iterable[Any], name: str) -> Sample:
        sample = Sample(values, name)
        if self.size is not None and self.size > len(sample):
            raise InfeasibleError(
                f"size={self.size} is larger than the population of {len(sample)} records; "
                f"give a size from 1 to {len(sample)}"
            )
        return sample


@public
class Values(_Listed):
    """Public values, each of which may occur any number of times in a release.

    Args:
        values: the values (given twice is the same as given once), or a table of columns.
        size: how many records the release holds; None for any number.

    Raises:
        UsageError: no values, text, NaN, an infinity, a size that is not an integer.

    >>> Values([3, 1, 2, 2], size=4)
    Values([1, 2, 3], size=4)
    """

    def _read(self, values: Iterable[Any], name: str) -> Sample:
        return super()._read(values, name).distinct()[0]


@public
class Interval:
    """Every real number from ``lower`` to ``upper``.

    Args:
        lower: the smallest possible value.
        upper: the largest possible value.
        size: how many records the release holds; None for any number.

    Raises:
        UsageError: bounds that are not finite numbers or out of order, a bad size.

    >>> Interval(0, "99.5", size=10)
    Interval(0, 99.5, size=10)
    """

    columns: None = None

    def __init__(self, lower: Number, upper: Number, size: int | None = None) -> None:
        self.lower = as_fraction(lower, "lower")
        self.upper = as_fraction(upper, "upper")
        if self.lower > self.upper:
            raise UsageError(
                f"lower must not be above upper, but {show(self.lower)} > {show(self.upper)}"
            )
        self.size = None if size is None else as_integer(size, "size", minimum=1)

    @cached_property
    def sample(self) -> Sample:
        """The two bounds."""
        bounds = [self.lower, self.upper]
        return Sample(bounds if self.lower < self.upper else bounds[:1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interval):
            return NotImplemented
        return (self.lower, self.upper, self.size) == (other.lower, other.upper, other.size)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper, self.size))

    def __repr__(self) -> str:
        sized = "" if self.size is None else f", size={self.size}"
        return f"Interval({show(self.lower)}, {show(self.upper)}{sized})"


Domain: TypeAlias = Records | Values | Interval  # any of the three domains


def columns_of(values: Any) -> dict[str, Any] | None:
    """Return the columns of a mapping or data frame by name, or None for anything else."""
    if isinstance(values, Mapping):
        return {str(name): values[name] for name in values}
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is None or not hasattr(values, "__getitem__"):
        return None
    return {str(name): values[name] for name in list(names)}


# Where extreme records come from: a population, or values without limit.
#
# The worst neighbours of mean, sums and order statistics are made of the smallest and the largest
# records there are.  A :class:`Pool` hands those out; :class:`ExtremeRecords` is the multiset of
# its ``c`` smallest and ``m - c`` largest; :class:`Joined` is what a release keeps together with
# what it gains.


_BLOCK = 1024
_NEAR = 4096


class Ranked(Protocol):
    """A multiset in ascending order, asked for single ranks and for sums of ranks."""

    def __len__(self) -> int: ...

    def rank(self, index: int) -> Fraction:
        """The exact value of rank ``index``, from 0."""

    def sum(self, start: int, stop: int) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``."""


class Pool(Protocol):
    """Where the smallest and the largest records come from."""

    def low(self, index: int) -> Fraction:
        """The value of rank ``index`` from below."""

    def high(self, index: int) -> Fraction:
        """The value of rank ``index`` from above."""

    def bottom(self, count: int) -> Sample:
        """The ``count`` smallest records."""

    def top(self, count: int) -> Sample:
        """The ``count`` largest records."""

    def sum_of(self, start: int, stop: int, from_top: bool) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``, counted from either end."""

    def rough_sum_of(self, start: int, stop: int, from_top: bool) -> float:
        """The same in floats."""


class Population:
    """The records of a known population."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._size = len(sample)
        self._sums: dict[tuple[int, int], Fraction] = {}  # long sums, for those that differ little

    def low(self, index: int) -> Fraction:
        """The value of rank ``index`` from below."""
        return self.sample[index]

    def high(self, index: int) -> Fraction:
        """The value of rank ``index`` from above."""
        return self.sample[self._size - 1 - index]

    def bottom(self, count: int) -> Sample:
        """The ``count`` smallest records."""
        return self.sample.slice(0, count)

    def top(self, count: int) -> Sample:
        """The ``count`` largest records."""
        return self.sample.slice(self._size - count, self._size)

    def sum_of(self, start: int, stop: int, from_top: bool) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``, counted from either end."""
        if start >= stop:
            return Fraction(0)
        if from_top:
            start, stop = self._size - stop, self._size - start
        for known in self._sums:
            if abs(known[0] - start) + abs(known[1] - stop) < _NEAR:
                return self._sums[known] + self._between(known, (start, stop))
        total = self.sample.total(start, stop)
        if stop - start >= _NEAR:
            self._sums[start, stop] = total
        return total

    def _between(self, known: tuple[int, int], wanted: tuple[int, int]) -> Fraction:
        """Return the sum of the wanted ranks minus that of the known ones."""
        changed = Fraction(0)
        for i, j, sign in ((known[0], wanted[0], -1), (known[1], wanted[1], 1)):
            if i != j:
                part = self.sample.total(min(i, j), max(i, j))
                changed += part if (j > i) == (sign > 0) else -part
        return changed

    def rough_sum_of(self, start: int, stop: int, from_top: bool) -> float:
        """The same in floats."""
        if from_top:
            start, stop = self._size - stop, self._size - start
        return blocked_sum(self.sample.floats[start:stop])


class Endless:
    """Two values (the least and the greatest there are), each as often as one likes."""

    def __init__(self, lower: Fraction, upper: Fraction) -> None:
        self.lower, self.upper = lower, upper
        self._bounds = Sample([lower, upper])

    def low(self, index: int) -> Fraction:
        """The lower bound, whatever the rank."""
        return self.lower

    def high(self, index: int) -> Fraction:
        """The upper bound, whatever the rank."""
        return self.upper

    def bottom(self, count: int) -> Sample:
        """``count`` copies of the lower bound."""
        return self._bounds.take(np.zeros(count, dtype=np.int64))

    def top(self, count: int) -> Sample:
        """``count`` copies of the upper bound."""
        return self._bounds.take(np.ones(count, dtype=np.int64))

    def sum_of(self, start: int, stop: int, from_top: bool) -> Fraction:
        """The sum of so many copies."""
        return max(stop - start, 0) * (self.upper if from_top else self.lower)

    def rough_sum_of(self, start: int, stop: int, from_top: bool) -> float:
        """The same in floats."""
        return float(self.sum_of(start, stop, from_top))


def blocked_sum(values: npt.NDArray[np.float64]) -> float:
    """A float sum with an error of at most ``(2048 + n / 1024) * 2**-53`` of all magnitudes."""
    # Blocks are summed first and their sums then: in whatever order numpy adds, no value takes
    # part in more than ``1024 + n / 1024`` additions, nor the remainder in more than 1024 more.
    complete = len(values) // _BLOCK * _BLOCK
    blocks = values[:complete].reshape(-1, _BLOCK).sum(axis=1)
    return float(blocks.sum()) + float(values[complete:].sum())


def pool_of(domain: Domain, rest: Sample | None = None) -> Pool:
    """The pool of a domain; ``rest`` replaces the population where a release is fixed."""
    if isinstance(domain, Records):
        return Population(domain.sample if rest is None else rest)
    return Endless(domain.lower, domain.upper)


class ExtremeRecords:
    """The ``count`` smallest and the ``size - count`` largest records of a pool, ascending."""

    def __init__(self, pool: Pool, count: int, size: int) -> None:
        self.pool, self.count, self.size = pool, count, size

    def __len__(self) -> int:
        return self.size

    def rank(self, index: int) -> Fraction:
        """The exact value of rank ``index``."""
        if index < self.count:
            return self.pool.low(index)
        return self.pool.high(self.size - 1 - index)

    def sum(self, start: int, stop: int) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``."""
        cut = min(max(self.count, start), stop)
        return self.pool.sum_of(start, cut, from_top=False) + self.pool.sum_of(
            self.size - stop, self.size - cut, from_top=True
        )

    def rough_sum(self, start: int, stop: int) -> float:
        """The same in floats."""
        cut = min(max(self.count, start), stop)
        return self.pool.rough_sum_of(start, cut, from_top=False) + self.pool.rough_sum_of(
            self.size - stop, self.size - cut, from_top=True
        )

    def sample(self, start: int, stop: int) -> Sample:
        """The records of the ranks ``start <= rank < stop``."""
        cut = min(max(self.count, start), stop)
        low = self.pool.bottom(cut)
        high = self.pool.top(self.size - cut)
        return merge(low.slice(start, cut), high.slice(0, stop - cut))


class Joined:
    """Two ascending samples as one, without merging them."""

    def __init__(self, retained: Sample, gained: Sample, total: Callable[[], Fraction]) -> None:
        self.retained, self.gained, self._total = retained, gained, total

    @classmethod
    def alone(cls, sample: Sample) -> Joined:
        """A sample as it is."""
        return cls(sample, sample.slice(0, 0), sample.total)

    @classmethod
    def exchange(cls, leaving: Population, coming: Pool, move: tuple[int, int], up: bool) -> Joined:
        """A release whose smallest records leave and the largest join, or mirrored."""
        removed, added = move
        left = len(leaving.sample) - removed
        return cls(
            leaving.top(left) if up else leaving.bottom(left),
            coming.top(added) if up else coming.bottom(added),
            lambda: leaving.sum_of(0, left, from_top=up) + coming.sum_of(0, added, from_top=up),
        )

    def __len__(self) -> int:
        return len(self.retained) + len(self.gained)

    def rank(self, index: int) -> Fraction:
        """The exact value of rank ``index``, by bisection over how many come from ``retained``."""
        retained, gained = self.retained, self.gained
        low, high = max(0, index + 1 - len(gained)), min(index + 1, len(retained))
        # the smallest j with gained[index - j] <= retained[j], or the whole range
        low += bisect_left(range(low, high), True, key=lambda j: gained[index - j] <= retained[j])
        from_gained = index + 1 - low
        best = [retained[low - 1]] if low else []
        if from_gained:
            best.append(gained[from_gained - 1])
        return max(best)

    def sum(self, start: int, stop: int) -> Fraction:
        """The exact sum of all ranks (only the whole is ever asked for)."""
        assert (start, stop) == (0, len(self))
        return self._total()

    def sample(self) -> Sample:
        """The merged sample."""
        return merge(self.retained, self.gained)
