"""The largest and the smallest variance among the neighbours of one release.

A neighbour ``y`` of ``x`` by the move ``(r, a)`` keeps ``n - r`` records of ``x`` (``K``) and
gains ``a`` others (``A``); ``m = n - r + a``.  Both the variance and the standard deviation change
most where the variance of ``y`` is the largest or the smallest.

**Largest.**  The sum of squared deviations of ``y`` is strictly convex in every record (second
derivative ``2 (1 - 1/m)``), so no record of ``K`` lies between two that were removed, and none of
``A`` between two that were
left over: ``K`` lacks one block of ``x``, and ``A`` is the ``j`` lowest and ``a - j`` highest of
what is left over.  For each ``j`` the block is found by bisection
(:mod:`~tacit.statistics.variances.candidate_families` shows that the value along it rises and then
falls): ``O(a log n)``.

**Smallest.**  Write the sum of squared deviations as ``sum y**2 - (sum y)**2/m``.  It is at most
its linearisation in ``sum y`` at the optimum, and equal there, so that the optimum minimises that
linearisation, which is ``sum (y - mean)**2`` up to a constant: ``K`` and ``A`` are the records
nearest to one number, windows of ``x`` and of what is left over.  All ``r + 1`` windows ``K`` with
all windows ``A`` are compared: ``O(r N)``.

Where values repeat without limit, the extremes of what is left over are copies of the least and of
the greatest value, and ``a`` copies of the nearest value are nearest.  For copies of ``v`` the sum
of squared deviations is ``SS(K) + (v - mean of K)**2 a |K|/m``: the nearest values below and above
the mean of ``K``, or, in an interval, the mean itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.domain import Domain, Interval, Records
from tacit.statistics.base.question import Question
from tacit.statistics.samples.prefix_moments import UNIT, Moments, Range, frame_around
from tacit.statistics.samples.sample import Sample, merge
from tacit.statistics.variances.candidate_shapes import bisect

__all__ = ["Neighbour", "extreme_neighbours"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_SHORT = 16


@dataclass(frozen=True)
class Neighbour:
    """A neighbour: what it keeps, and what it gains from the pool, or copies of one value."""

    kept: list[Range]
    gained: list[Range] = field(default_factory=list)
    copies: tuple[Fraction, int] = (Fraction(0), 0)


class _Local:
    """The release, the pool of what may be gained, and the exact variance of a neighbour."""

    def __init__(self, x: Sample, pool: Sample, ddof: int) -> None:
        bounds = [s[i] for s in (x, pool) if len(s) for i in (0, -1)]
        frame = frame_around(x[len(x) // 2], min(bounds), max(bounds))
        self.x, self.pool = Moments(x, frame), Moments(pool, frame)
        self.ddof = ddof
        self.evaluations = 0

    def variance(self, y: Neighbour) -> Fraction:
        """The exact variance of a neighbour."""
        value, copies = y.copies
        count, total, square = copies, copies * value, copies * value * value
        for moments, ranges in ((self.x, y.kept), (self.pool, y.gained)):
            if ranges:
                n, s, q = moments.exact(ranges)
                grain = moments.grain
                count, total, square = count + n, total + s * grain, square + q * grain * grain
        return Fraction(square - total * total / count) / (count - self.ddof)

    def sample(self, y: Neighbour) -> Sample:
        """The records of a neighbour."""
        value, copies = y.copies
        result = self.x.take(y.kept)
        if y.gained:
            result = merge(result, self.pool.take(y.gained))
        return merge(result, Sample([value] * copies)) if copies else result

    def estimate(
        self, total: Floats, square: Floats, size: int, rough: float
    ) -> tuple[Floats, float]:
        """Variances in floats, and a bound on their error; ``rough`` is that of the gained sums."""
        sums, squares = self.x.sum_error + rough, self.x.square_error + rough
        mean = float(np.abs(total).max()) / size
        error = squares + 2 * (mean + sums / size) * sums + 16 * UNIT * float(square.max())
        variance = (square - total * total / size) / (size - self.ddof)
        return variance, 1.01 * error / (size - self.ddof)


class _Extreme:
    """The running extreme of the variance: the largest (sign 1) or the smallest (sign -1)."""

    def __init__(self, local: _Local, sign: int) -> None:
        self.local, self.sign = local, sign
        self.floor = -np.inf
        self.staying: list[tuple[float, Callable[[], tuple[Neighbour, Fraction]]]] = []
        self.certain: list[Neighbour] = []

    def offer(
        self,
        estimate: Floats,
        error: float,
        make: Callable[[int], tuple[Neighbour, Fraction]],
        loss: float = 0.0,
    ) -> None:
        """Offer many neighbours by their float variances."""
        value = self.sign * estimate
        self.local.evaluations += len(value)
        self.floor = max(self.floor, float(value.max()) - error - 8 * UNIT)
        for index in np.flatnonzero(value + (error + loss + 8 * UNIT) >= self.floor).tolist():
            high = float(value[index]) + error + loss + 8 * UNIT
            self.staying.append((high, partial(make, index)))

    def winner(self) -> tuple[Neighbour, Fraction]:
        """The exact extreme."""
        found = [make() for high, make in self.staying if high >= self.floor]
        found += [(y, self.local.variance(y)) for y in self.certain]
        self.local.evaluations += len(self.certain)
        return max(found, key=lambda pair: self.sign * pair[1])


def extreme_neighbours(
    question: Question, moves: Iterable[tuple[int, int]], ddof: int
) -> tuple[Fraction, list[tuple[Callable[[], Sample], Fraction]], int]:
    """The neighbours of ``question.at`` with the largest and with the smallest variance.

    Args:
        question: a local question.
        moves: the moves to look at, at least one; the neighbours have more than ``ddof`` records.
        ddof: 0 or 1, the variance being over ``n - ddof``.

    Returns:
        The exact variance of the release; the two neighbours (made into samples when asked for)
        with their exact variances; and how many candidates were compared.
    """
    x = question.at
    assert x is not None
    moves = list(moves)
    most = max(a for _, a in moves)
    local = _Local(x, _pool(question, most), ddof)
    largest, smallest = _Extreme(local, 1), _Extreme(local, -1)
    for removed, added in moves:
        _offer_largest(largest, removed, added)
        if isinstance(question.domain, Records) or not added:
            _offer_smallest(smallest, removed, added)
        else:
            smallest.certain += _nearest_copies(local, question.domain, removed, added)
    found = [extreme.winner() for extreme in (largest, smallest)]
    here = local.variance(Neighbour([(0, len(x))]))
    return here, [(partial(local.sample, y), value) for y, value in found], local.evaluations


def _pool(question: Question, most: int) -> Sample:
    if isinstance(question.domain, Records):
        return question.rest
    ends = question.domain.sample
    return ends.take(np.repeat([0, len(ends) - 1], most))


def _offer_largest(extreme: _Extreme, removed: int, added: int) -> None:
    local = extreme.local
    x, pool, n, left = local.x, local.pool, local.x.size, local.pool.size
    m = n - removed + added
    gained, gained_square = (_ends(pool.values, added, power) for power in (1, 2))
    gained, rough = gained + x.sums[n], _rough(added)

    def gains(i: Integers) -> npt.NDArray[np.bool_]:
        l, h = x.values[i], x.values[i + removed]  # noqa: E741
        held = gained - (x.sums[i + removed] - x.sums[i])
        return np.asarray(m * (l + h) - (l - h) < 2 * held)

    steps = n - removed if removed else 0
    start = np.zeros(added + 1, dtype=np.int64)
    i = bisect(start, start + steps, gains)
    total = gained - (x.sums[i + removed] - x.sums[i])
    square = gained_square + x.squares[n] - (x.squares[i + removed] - x.squares[i])

    def neighbour(j: int, i: int) -> Neighbour:
        kept = [(0, i), (i + removed, n)]
        return Neighbour(kept, [(0, j), (left - added + j, left)] if added else [])

    def make(index: int) -> tuple[Neighbour, Fraction]:
        place = int(i[index])
        best = neighbour(index, place)
        value = local.variance(best)
        for step in (1, -1):  # uphill: the floats may have misjudged the last steps
            other = place + step
            while 0 <= other <= steps:
                y = neighbour(index, other)
                reached = local.variance(y)
                if reached <= value:
                    break
                best, value, other = y, reached, other + step
        return best, value

    error = 2 * (x.sum_error + rough) / m + 32 * UNIT
    loss = 2 * min(steps, removed) * error / (m - local.ddof)  # h - l telescopes
    extreme.offer(*local.estimate(total, square, m, rough), make, loss)


def _ends(values: Floats, count: int, power: int) -> Floats:
    """For ``j`` from 0 to ``count`` the sum of the ``j`` lowest and ``count - j`` highest."""
    lowest = np.cumsum(values[:count] ** power, dtype=np.longdouble)
    highest = np.cumsum(values[len(values) - count :][::-1] ** power, dtype=np.longdouble)
    low, high = (np.concatenate(([0.0], part)) for part in (lowest, highest))
    return np.asarray(low + high[::-1], dtype=np.float64)


def _rough(count: int) -> float:
    """A bound on the error of a sum of ``count`` values, or of their squares, added one by one."""
    return count * (16 * UNIT + 2 * count * float(np.finfo(np.longdouble).eps))


def _offer_smallest(extreme: _Extreme, removed: int, added: int) -> None:
    """Every window of ``x`` with every window of the pool that may be the best for it.

    For one window ``K``, what differs is ``g = sum a**2 - (2 S_K + S_A) S_A/m``, small numbers
    that floats tell apart well even where the whole variance is too flat for them.
    """
    local = extreme.local
    x, pool, kept = local.x, local.pool, local.x.size - removed
    m = kept + added
    for i in range(removed + 1):
        s, q = (float(p[i + kept] - p[i]) for p in (x.sums, x.squares))
        if not added:
            starts = np.zeros(1, dtype=np.int64)
        elif added == 1:
            starts = _nearest(pool, s / max(kept, 1), 2 * x.sum_error / max(kept, 1) + 8 * UNIT)
        else:
            starts = _windows(pool, added)
        total, square, rough = _window_sums(pool, starts, added)
        g = square - (2 * s + total) * (total / m)
        slack = rough * (3 + 2 * abs(s) / m) + 4 * added * x.sum_error / m + 32 * UNIT * added
        close = np.flatnonzero(g <= g.min() + 2 * slack)

        def make(
            index: int, i: int = i, starts: Integers = starts[close]
        ) -> tuple[Neighbour, Fraction]:
            start = int(starts[index])
            y = Neighbour([(i, i + kept)], [(start, start + added)] if added else [])
            return y, local.variance(y)

        local.evaluations += len(g) - len(close)
        extreme.offer(*local.estimate(total[close] + s, square[close] + q, m, rough), make)


def _windows(pool: Moments, length: int) -> Integers:
    """Where windows of the pool start, without those equal to the one before."""
    raw, last = pool.sample.raw, pool.size - length
    return np.flatnonzero(np.concatenate(([True], raw[:last] != raw[length : length + last])))


def _nearest(pool: Moments, target: float, slack: float) -> Integers:
    """The records nearest to a target: ``SS(K + v) = SS(K) + (v - mean of K)**2 |K|/(|K| + 1)``."""
    values = pool.values
    place = int(np.searchsorted(values, target))
    beside = values[max(place - 1, 0) : place + 1]
    reach = float(np.abs(beside - target).min()) + 2 * slack
    first, last = np.searchsorted(values, [target - reach, target + reach], "left")
    ranks = np.arange(first, max(int(last), int(first)) + 1)[: pool.size - first]
    raw = pool.sample.raw[ranks]
    return ranks[np.concatenate(([True], raw[1:] != raw[:-1]))]


def _window_sums(pool: Moments, starts: Integers, length: int) -> tuple[Floats, Floats, float]:
    """Sums and sums of squares of windows, and a bound on their errors."""
    if length > _SHORT:
        total, square = (p[starts + length] - p[starts] for p in (pool.sums, pool.squares))
        return total, square, max(pool.sum_error, pool.square_error)
    total, square = np.zeros(len(starts)), np.zeros(len(starts))
    for offset in range(length):
        value = pool.values[starts + offset]
        total += value
        square += value * value
    return total, square, (length + 12) * length * UNIT


def _nearest_copies(local: _Local, domain: Domain, removed: int, added: int) -> Iterable[Neighbour]:
    kept = local.x.size - removed
    for i in range(removed + 1):
        count, total, _ = local.x.exact([(i, i + kept)])
        mean = total * local.x.grain / count if count else domain.lower
        for value in [mean] if isinstance(domain, Interval) else _around(domain.sample, mean):
            yield Neighbour([(i, i + kept)] if kept else [], [], (value, added))


def _around(values: Sample, target: Fraction) -> set[Fraction]:
    """The nearest values on either side of a target."""
    low = bisect_right(values, target)
    return {values[max(low - 1, 0)], values[min(low, len(values) - 1)]}
