"""Where extreme records come from: a population, or values without limit.

The worst neighbours of mean, sums and order statistics are made of the smallest and the largest
records there are.  A :class:`Pool` hands those out; :class:`Ends` is the multiset of its ``c``
smallest and ``m - c`` largest; :class:`Joined` is what a release keeps together with what it gains.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.domain import Domain, Records
from tacit.statistics.samples.sample import Sample, merge

__all__ = [
    "Endless",
    "Ends",
    "Joined",
    "Pool",
    "Population",
    "Ranked",
    "blocked_sum",
    "pool_of",
]

_BLOCK = 1024
_NEAR = 4096


class Ranked(Protocol):
    """A multiset in ascending order, asked for single ranks and for sums of ranks."""

    def __len__(self) -> int: ...

    def rank(self, index: int) -> Fraction:
        """The exact value of rank ``index``, from 0."""
        ...

    def sum(self, start: int, stop: int) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``."""
        ...


class Pool(Protocol):
    """Where the smallest and the largest records come from."""

    def low(self, index: int) -> Fraction:
        """The value of rank ``index`` from below."""
        ...

    def high(self, index: int) -> Fraction:
        """The value of rank ``index`` from above."""
        ...

    def bottom(self, count: int) -> Sample:
        """The ``count`` smallest records."""
        ...

    def top(self, count: int) -> Sample:
        """The ``count`` largest records."""
        ...

    def sum_of(self, start: int, stop: int, from_top: bool) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``, counted from either end."""
        ...

    def rough_sum_of(self, start: int, stop: int, from_top: bool) -> float:
        """The same in floats."""
        ...


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

    def _between(self, known: tuple[int, int], asked: tuple[int, int]) -> Fraction:
        """What the sum of the asked ranks has more than that of the known ones."""
        changed = Fraction(0)
        for i, j, sign in ((known[0], asked[0], -1), (known[1], asked[1], 1)):
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
    """A float sum whose error is at most ``(2048 + n / 1024) * 2**-53`` of the sum of magnitudes.

    Blocks are summed first and their sums then: in whatever order numpy adds, no value takes
    part in more than ``1024 + n / 1024`` additions, nor the remainder in more than 1024 more.
    """
    whole = len(values) // _BLOCK * _BLOCK
    blocks = values[:whole].reshape(-1, _BLOCK).sum(axis=1)
    return float(blocks.sum()) + float(values[whole:].sum())


def pool_of(domain: Domain, rest: Sample | None = None) -> Pool:
    """The pool of a domain; ``rest`` replaces the population where a release is fixed."""
    if isinstance(domain, Records):
        return Population(domain.sample if rest is None else rest)
    return Endless(domain.lower, domain.upper)


class Ends:
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

    def __init__(self, kept: Sample, gained: Sample, total: Callable[[], Fraction]) -> None:
        self.kept, self.gained, self._total = kept, gained, total

    @classmethod
    def alone(cls, sample: Sample) -> Joined:
        """A sample as it is."""
        return cls(sample, sample.slice(0, 0), sample.total)

    @classmethod
    def exchange(cls, leaving: Population, coming: Pool, move: tuple[int, int], up: bool) -> Joined:
        """What a release becomes when its smallest leave and the largest come, or mirrored."""
        removed, added = move
        left = len(leaving.sample) - removed
        return cls(
            leaving.top(left) if up else leaving.bottom(left),
            coming.top(added) if up else coming.bottom(added),
            lambda: leaving.sum_of(0, left, from_top=up) + coming.sum_of(0, added, from_top=up),
        )

    def __len__(self) -> int:
        return len(self.kept) + len(self.gained)

    def rank(self, index: int) -> Fraction:
        """The exact value of rank ``index``, by bisection over how many come from ``kept``."""
        kept, gained = self.kept, self.gained
        low, high = max(0, index + 1 - len(gained)), min(index + 1, len(kept))
        # the least j with gained[index - j] <= kept[j], or the whole range
        low += bisect_left(range(low, high), True, key=lambda j: gained[index - j] <= kept[j])
        from_gained = index + 1 - low
        best = [kept[low - 1]] if low else []
        if from_gained:
            best.append(gained[from_gained - 1])
        return max(best)

    def sum(self, start: int, stop: int) -> Fraction:
        """The exact sum of all ranks (only the whole is ever asked for)."""
        assert (start, stop) == (0, len(self))
        return self._total()

    def sample(self) -> Sample:
        """The merged sample."""
        return merge(self.kept, self.gained)
