"""Exact sensitivities of a variance over each kind of domain."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import float_up
from tacit.arithmetic.roots_and_bisection import Root
from tacit.errors import InfeasibleError, UsageError, shown_value
from tacit.statistics.dispersion_candidates import (
    CandidateMaximum,
    Contest,
    SpreadMeasure,
    Walk,
    bisect,
    bound_of_move,
    max_change,
    widen,
)
from tacit.statistics.domains import Domain, Interval, Records, Values
from tacit.statistics.prefix_moments import UNIT, PrefixMoments, Range, frame_around
from tacit.statistics.question import Question, Relation
from tacit.statistics.result import Method, Sensitivity
from tacit.statistics.samples import Array, CountedSample, Sample, merge
from tacit.statistics.statistic import Exact, PublicRange, Statistic

# The worst move for a variance where any value from ``L`` to ``U`` may be repeated without limit.
#
# Notation as in :mod:`~tacit.statistics.dispersion_candidates`; values are written in units of
# ``U - L``, from 0 to 1.
#
# **A window of no spread.**  With ``C`` and ``A`` all at one end, ``j`` of ``B`` at the other and
# the rest of ``B`` with ``C``, the variance changes by ``J(m, b) = alpha j (m - j)/m``, largest at
# ``j = min(b, floor(m/2))``.
#
# **Nothing is worse when b >= a.**  Adding ``A`` never lowers ``SS``, so ``f <= alpha SS(C + B) -
# beta SS(C)``, which is ``(alpha - beta) SS(C) + alpha SS(B) + (alpha c b/m)(x - y)**2`` with
# ``x``, ``y`` the means of ``C`` and ``B``.  As ``alpha <= beta`` here, leave out the first term:
# the rest is convex in ``x``, so at most its value at ``x`` = 0 or 1, which is ``alpha SS`` of
# ``c`` records at one end together with ``B``, and convex in each of ``B``.  That is ``J(m, b)``.
#
# **When b < a** the spread of ``C`` counts.  ``SS(C) <= c x (1 - x)`` and ``SS(B) <= b y (1 - y)``
# give
#
#     f <= H = alpha m w (1 - w) - beta c x (1 - x),      w = (c x + b y)/m.
#
# Mirror so that ``x <= 1/2``.  For given ``x`` the ``w`` nearest to 1/2 is worst: ``y = 1`` while
# ``c x + b <= m/2``; and where that is exceeded, ``w = 1/2`` and ``H`` falls in ``x``.  So ``x =
# 0`` (no more than the largest variance of ``c`` equal and ``b`` other records, ``J(m, b)``), or
# ``b < m/2``, ``y = 1`` and, with ``p = alpha b/m``, ``q = alpha c/m - beta``, ``p + q = alpha -
# beta``,
#
#     H = c (1 - x)(p + q x).
#
# * ``q <= p``: ``H`` falls from ``x = 0`` on, where it is ``alpha b c/m = J(m, b)``.
# * ``q > p`` and ``a < s/2``: ``H <= c (alpha - beta)**2/(4 q)``, below ``c (alpha - beta)/2`` as
#   ``q > (alpha - beta)/2``.  That is at most ``beta a c/s = J(s, a)``, the opposite direction of
#   the same move, if ``(a - b) s <= 2 a (m - ddof)``; and so it is, as ``c > s/2``, except for
#   ``ddof = 1``, ``b = 0``, where the maximum is ``c (alpha - beta)/4`` and ``s <= 4 (m - 1)`` is
#   enough.
# * ``q > p``, ``a >= s/2``, ``ddof = 0``: ``J(s, a) >= 1/4 - 1/(4 s**2)``.  With ``e = c - b >= 1``
#   and ``z = 2 c x``, ``H <= 1/4 - (e - z)**2/(4 m**2) - z/(4 s)``.  That is below if ``z >= 1/s``,
#   and else because ``(1 - 1/s)/m >= 1/s``.
#
# So for ``ddof = 0``, **the largest change by a move is the larger of J(m, b) in its two
# directions**, whatever values there are between ``L`` and ``U``.  For ``ddof = 1`` that holds but
# in one case: ``q > p``, ``b < m/2`` and ``a >= s/2``.  There ``alpha SS(C + B) - beta SS(C)`` is
# convex in every record (``1/m >= (c - 1)/(c (s - 1))``), so that all of ``C`` and ``B`` are 0 or
# 1, and by the same reasoning ``y`` of ``C`` are 1 with all of ``B``, ``y`` next to the vertex of
# the parabola ``H``.  It is attained with ``A`` at the mean of ``C``, if that is a value.
#
# **Standard deviation.**  ``sd(T) - sd(W) <= sqrt(V(T) - V(W))``, with equality where ``V(W) = 0``:
# the roots of the same numbers.


class Extreme(NamedTuple):
    """A pair at 0 and 1: its change of variance, and how many of each release are at 1."""

    # ``wide_ones`` of the ``wide`` records are 1, the others 0; of the narrow release the shared
    # ``narrow_ones`` are 1, and what only it has is at the mean of what it shares.

    change: Fraction
    retained: int
    gained: int
    lost: int
    wide_ones: int
    narrow_ones: int


def flat(retained: int, gained: int, lost: int, ddof: int) -> Extreme:
    """``J(m, b)``: the narrow release has no spread.

    >>> flat(2, 1, 0, 0).change
    Fraction(2, 9)
    """
    m = retained + gained
    ones = min(gained, m // 2)
    change = Fraction(ones * (m - ones), m * (m - ddof)) if m > ddof else Fraction(0)
    return Extreme(change, retained, gained, lost, ones, 0)


def spread_inside(retained: int, gained: int, lost: int, ddof: int) -> Extreme | None:
    """The largest ``H`` where it may exceed both ``J``: only for ``ddof = 1`` and ``a >= s/2``.

    >>> spread_inside(2, 0, 8, 1).change
    Fraction(4, 9)
    """
    c, b, a = retained, gained, lost
    m, s = c + b, c + a
    if ddof == 0 or b >= a or 2 * a < s or 2 * b >= m or m < 2:
        return None
    alpha, beta = Fraction(1, m - ddof), Fraction(1, s - ddof)
    p, q = alpha * b / m, alpha * c / m - beta
    if q <= p:
        return None
    vertex = c * (1 - p / q) / 2
    options = [
        (alpha * (y + b) * (c - y) / m - beta * y * (c - y) / c, y)
        for y in (math.floor(vertex), math.ceil(vertex))
    ]
    change, ones = max(options)
    return Extreme(change, c, b, a, ones + b, ones)


# Every choice of the shared records, where nothing is known about their shape.
#
# For a standard deviation that rises while the release gets smaller, ``0 < b < a``, there is a
# range of ``theta`` for which :mod:`~tacit.statistics.dispersion_candidates` shows the shapes of
# ``A`` and ``B`` only.  With ``A`` a window and ``B`` the ``p`` lowest and ``b - p`` highest of the
# others (where ``C`` lies between the two parts of ``B``; elsewhere it is a block, which
# :func:`~tacit.statistics.dispersion_candidates.tails` has seen), every choice of ``C``
# among the rest is listed: ``(N - a + 1)(b + 1)`` times ``N - a - b`` over ``c`` pairs.  (Where
# ``tails`` or ``blocks`` were too many to be examined, so are these, unless ``C`` is empty and
# there is no elsewhere.)


MAX_CHOICES = 1 << 18
MAX_PAIRS = 1 << 23


@dataclass(frozen=True)
class Scattered:
    """A pair given by the ranks of ``C`` and of ``B``, and the window ``A``."""

    core: tuple[int, ...]
    gained: tuple[int, ...]
    window: Range

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """``C`` with ``B``, and ``C`` with ``A``."""
        core, gained = ([(i, i + 1) for i in part] for part in (self.core, self.gained))
        return core + gained, [*core, self.window]


def choices(population: int, retained: int, gained: int, lost: int) -> bool:
    """True if there are few enough pairs to list them all."""
    of_core = math.comb(population - gained - lost, retained)
    pairs = of_core * (population - lost + 1) * (gained + 1)
    return of_core <= MAX_CHOICES and pairs <= MAX_PAIRS


def scattered(contest: Contest, retained: int, gained: int, lost: int) -> None:
    """Offer every pair with ``C`` between the two parts of ``B``."""
    moments, total = contest.moments, contest.moments.size
    middle = total - gained - lost
    listed = list(combinations(range(middle), retained))
    cores = np.array(listed, dtype=np.int64).reshape(len(listed), retained)
    squared = moments.values * moments.values
    for j in range(total - lost + 1):
        window = np.arange(j, j + lost)
        others = np.concatenate((np.arange(j), np.arange(j + lost, total)))
        for p in range(gained + 1):
            shared = others[p : p + middle][cores]
            ends = np.concatenate((others[:p], others[p + middle :]))

            def make(index: int, shared: object = shared, ends: object = ends, j: int = j) -> Walk:
                core = tuple(shared[index].tolist())  # type: ignore[index]
                gain = tuple(ends.tolist())  # type: ignore[attr-defined]
                return Walk(Scattered(core, gain, (j, j + lost)))

            s, q = (v[shared].sum(axis=1) for v in (moments.values, squared))
            wide = (s + moments.values[ends].sum(), q + squared[ends].sum(), retained + gained)
            narrow = (s + moments.values[window].sum(), q + squared[window].sum(), retained + lost)
            contest.offer(wide, narrow, make)


# The largest and the smallest variance among the neighbours of one release.
#
# A neighbour ``y`` of ``x`` by the move ``(r, a)`` keeps ``n - r`` records of ``x`` (``K``) and
# gains ``a`` others (``A``); ``m = n - r + a``.  Both the variance and the standard deviation
# change most where the variance of ``y`` is the largest or the smallest.
#
# **Largest.**  The sum of squared deviations of ``y`` is strictly convex in every record (second
# derivative ``2 (1 - 1/m)``), so no record of ``K`` lies between two that were removed, and none of
# ``A`` between two that were left over: ``K`` is missing one block of ``x``, and ``A`` is the ``j``
# lowest and ``a - j`` highest of what is left over.  For each ``j`` the block is found by bisection
# (:mod:`~tacit.statistics.dispersion_candidates` shows that the value along it rises and
# then falls): ``O(a log n)``.
#
# **Smallest.**  Write the sum of squared deviations as ``sum y**2 - (sum y)**2/m``.  It is at most
# its linearisation in ``sum y`` at the optimum, and equal there, so that the optimum minimises that
# linearisation, which is ``sum (y - mean)**2`` up to a constant: ``K`` and ``A`` are the records
# nearest to one number, windows of ``x`` and of what is left over.  All ``r + 1`` windows ``K``
# with all windows ``A`` are compared: ``O(r N)``.
#
# Where values repeat without limit, the extremes of what is left over are copies of the smallest
# and of the greatest value, and ``a`` copies of the nearest value are nearest.  For copies of ``v``
# the sum of squared deviations is ``SS(K) + (v - mean of K)**2 a |K|/m``: the nearest values below
# and above the mean of ``K``, or, in an interval, the mean itself.


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_SHORT = 16


@dataclass(frozen=True)
class NeighbourSample:
    """A neighbour: what it keeps, and what it gains from the pool, or copies of one value."""

    retained: list[Range]
    gained: list[Range] = field(default_factory=list)
    copies: tuple[Fraction, int] = (Fraction(0), 0)


class _Local:
    """The release, the pool of what may be gained, and the exact variance of a neighbour."""

    def __init__(self, x: Sample, pool: Sample, ddof: int) -> None:
        bounds = [s[i] for s in (x, pool) if len(s) for i in (0, -1)]
        frame = frame_around(x[len(x) // 2], min(bounds), max(bounds))
        self.x, self.pool = PrefixMoments(x, frame), PrefixMoments(pool, frame)
        self.ddof = ddof
        self.evaluations = 0

    def variance(self, y: NeighbourSample) -> Fraction:
        """The exact variance of a neighbour."""
        value, copies = y.copies
        count, total, square = copies, copies * value, copies * value * value
        for moments, ranges in ((self.x, y.retained), (self.pool, y.gained)):
            if ranges:
                n, s, q = moments.exact(ranges)
                grid_step = moments.grain
                count, total, square = (
                    count + n,
                    total + s * grid_step,
                    square + q * grid_step * grid_step,
                )
        return Fraction(square - total * total / count) / (count - self.ddof)

    def sample(self, y: NeighbourSample) -> Sample:
        """The records of a neighbour."""
        value, copies = y.copies
        result = self.x.take(y.retained)
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


class _ExtremeVariance:
    """The running extreme of the variance: the largest (sign 1) or the smallest (sign -1)."""

    def __init__(self, local: _Local, sign: int) -> None:
        self.local, self.sign = local, sign
        self.floor = -np.inf
        self.staying: list[tuple[float, Callable[[], tuple[NeighbourSample, Fraction]]]] = []
        self.certain: list[NeighbourSample] = []

    def offer(
        self,
        estimate: Floats,
        error: float,
        make: Callable[[int], tuple[NeighbourSample, Fraction]],
        loss: float = 0.0,
    ) -> None:
        """Offer many neighbours by their float variances."""
        value = self.sign * estimate
        self.local.evaluations += len(value)
        self.floor = max(self.floor, float(value.max()) - error - 8 * UNIT)
        for index in np.flatnonzero(value + (error + loss + 8 * UNIT) >= self.floor).tolist():
            high = float(value[index]) + error + loss + 8 * UNIT
            self.staying.append((high, partial(make, index)))

    def winner(self) -> tuple[NeighbourSample, Fraction]:
        """The exact extreme."""
        candidates = [make() for high, make in self.staying if high >= self.floor]
        candidates += [(y, self.local.variance(y)) for y in self.certain]
        self.local.evaluations += len(self.certain)
        return max(candidates, key=lambda pair: self.sign * pair[1])


def extreme_neighbours(
    question: Question, moves: Iterable[tuple[int, int]], ddof: int
) -> tuple[Fraction, list[tuple[Callable[[], Sample], Fraction]], int]:
    """The neighbours of ``question.at`` with the largest and with the smallest variance."""
    # moves: the moves to look at, at least one; the neighbours have more than ``ddof`` records.
    #
    # Returns: the exact variance of the release; the two neighbours (made into samples when asked
    # for) with their exact variances; and how many candidates were compared.
    x = question.at
    assert x is not None
    moves = list(moves)
    maximum = max(a for _, a in moves)
    local = _Local(x, _pool(question, maximum), ddof)
    largest, smallest = _ExtremeVariance(local, 1), _ExtremeVariance(local, -1)
    for removed, added in moves:
        _offer_largest(largest, removed, added)
        if isinstance(question.domain, Records) or not added:
            _offer_smallest(smallest, removed, added)
        else:
            smallest.certain += _nearest_copies(local, question.domain, removed, added)
    winners = [extreme.winner() for extreme in (largest, smallest)]
    here = local.variance(NeighbourSample([(0, len(x))]))
    return here, [(partial(local.sample, y), value) for y, value in winners], local.evaluations


def _pool(question: Question, maximum: int) -> Sample:
    if isinstance(question.domain, Records):
        return question.rest
    ends = question.domain.sample
    return ends.take(np.repeat([0, len(ends) - 1], maximum))


def _offer_largest(extreme: _ExtremeVariance, removed: int, added: int) -> None:
    local = extreme.local
    x, pool, n, left = local.x, local.pool, local.x.size, local.pool.size
    m = n - removed + added
    gained, gained_square = (_ends(pool.values, added, power) for power in (1, 2))
    gained, rough = gained + x.sums[n], _rough(added)

    def gains(i: Integers) -> npt.NDArray[np.bool_]:
        l, h = x.values[i], x.values[i + removed]  # noqa: E741
        totals = gained - (x.sums[i + removed] - x.sums[i])
        return np.asarray(m * (l + h) - (l - h) < 2 * totals)

    steps = n - removed if removed else 0
    start = np.zeros(added + 1, dtype=np.int64)
    i = bisect(start, start + steps, gains)
    total = gained - (x.sums[i + removed] - x.sums[i])
    square = gained_square + x.squares[n] - (x.squares[i + removed] - x.squares[i])

    def neighbour(j: int, i: int) -> NeighbourSample:
        retained = [(0, i), (i + removed, n)]
        return NeighbourSample(retained, [(0, j), (left - added + j, left)] if added else [])

    def make(index: int) -> tuple[NeighbourSample, Fraction]:
        position = int(i[index])
        best = neighbour(index, position)
        value = local.variance(best)
        for step in (1, -1):  # uphill: the floats may have misjudged the last steps
            other = position + step
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


def _offer_smallest(extreme: _ExtremeVariance, removed: int, added: int) -> None:
    """Every window of ``x`` with every window of the pool that may be the best for it."""
    # For one window ``K``, what differs is ``g = sum a**2 - (2 S_K + S_A) S_A/m``, small numbers
    # that floats tell apart well even where the whole variance is too flat for them.
    local = extreme.local
    x, pool, retained = local.x, local.pool, local.x.size - removed
    m = retained + added
    for i in range(removed + 1):
        s, q = (float(p[i + retained] - p[i]) for p in (x.sums, x.squares))
        if not added:
            starts = np.zeros(1, dtype=np.int64)
        elif added == 1:
            starts = _nearest(
                pool, s / max(retained, 1), 2 * x.sum_error / max(retained, 1) + 8 * UNIT
            )
        else:
            starts = _windows(pool, added)
        total, square, rough = _window_sums(pool, starts, added)
        g = square - (2 * s + total) * (total / m)
        slack = rough * (3 + 2 * abs(s) / m) + 4 * added * x.sum_error / m + 32 * UNIT * added
        close = np.flatnonzero(g <= g.min() + 2 * slack)

        def make(
            index: int, i: int = i, starts: Integers = starts[close]
        ) -> tuple[NeighbourSample, Fraction]:
            start = int(starts[index])
            y = NeighbourSample([(i, i + retained)], [(start, start + added)] if added else [])
            return y, local.variance(y)

        local.evaluations += len(g) - len(close)
        extreme.offer(*local.estimate(total[close] + s, square[close] + q, m, rough), make)


def _windows(pool: PrefixMoments, length: int) -> Integers:
    """Where windows of the pool start, without those equal to the one before."""
    raw, last = pool.sample.raw, pool.size - length
    return np.flatnonzero(np.concatenate(([True], raw[:last] != raw[length : length + last])))


def _nearest(pool: PrefixMoments, target: float, slack: float) -> Integers:
    """The records nearest to a target: ``SS(K + v) = SS(K) + (v - mean of K)**2 |K|/(|K| + 1)``."""
    values = pool.values
    index = int(np.searchsorted(values, target))
    adjacent = values[max(index - 1, 0) : index + 1]
    radius = float(np.abs(adjacent - target).min()) + 2 * slack
    first, last = np.searchsorted(values, [target - radius, target + radius], "left")
    ranks = np.arange(first, max(int(last), int(first)) + 1)[: pool.size - first]
    raw = pool.sample.raw[ranks]
    return ranks[np.concatenate(([True], raw[1:] != raw[:-1]))]


def _window_sums(
    pool: PrefixMoments, starts: Integers, length: int
) -> tuple[Floats, Floats, float]:
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


def _nearest_copies(
    local: _Local, domain: Domain, removed: int, added: int
) -> Iterable[NeighbourSample]:
    retained = local.x.size - removed
    for i in range(removed + 1):
        count, total, _ = local.x.exact([(i, i + retained)])
        mean = total * local.x.grain / count if count else domain.lower
        for value in [mean] if isinstance(domain, Interval) else _around(domain.sample, mean):
            yield NeighbourSample([(i, i + retained)] if retained else [], [], (value, added))


def _around(values: Sample, target: Fraction) -> set[Fraction]:
    """The nearest values on either side of a target."""
    low = bisect_right(values, target)
    return {values[max(low - 1, 0)], values[min(low, len(values) - 1)]}


# What variance and standard deviation share: values, and which algorithm answers a question.


Move = tuple[int, int]
Sizes = tuple[int, int, int]


@dataclass(frozen=True)
class Dispersion(Statistic):
    """Variance or standard deviation, over ``n - ddof``."""

    kind: ClassVar[str]  # what its name starts with
    ddof: int = 0  # 0 (numpy's default) or 1 (the unbiased variance, undefined for a single record)

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1):
            raise UsageError(f"ddof must be 0 or 1, not {shown_value(self.ddof)}")

    @property
    def name(self) -> str:
        return f"{self.kind}(ddof={self.ddof})" if self.ddof else self.kind

    @property
    def min_size(self) -> int:
        return self.ddof + 1

    def public_range(
        self, lower: Fraction, upper: Fraction, relation: Relation
    ) -> PublicRange | None:
        """Up to half the span, or its square (Popoviciu); 0 for no records; with ddof 0 only."""
        if self.ddof:
            return None  # of a single record it has no value
        half = (upper - lower) / 2
        maximum = half if self.spread.root else half**2
        return PublicRange(maximum, (Fraction(0), maximum), Fraction(0))

    @property
    def spread(self) -> SpreadMeasure:
        """Which measure of spread this is."""
        raise NotImplementedError

    def variance(self, values: Sequence[Fraction]) -> Fraction:
        """The exact variance of some values, with this ``ddof``."""
        n, total = len(values), Fraction(sum(values))
        self._defined(n)
        return (sum((v * v for v in values), Fraction(0)) - total * total / n) / (n - self.ddof)

    def exact(self, values: Sequence[Fraction]) -> Exact:
        return self.spread.value(self.variance(values))

    def of(self, sample: Sample) -> Exact:
        self._defined(len(sample))
        if isinstance(sample, CountedSample):
            return self.spread.value(sample.variance(self.ddof))
        return self.spread.value(PrefixMoments(sample).variance([(0, len(sample))], self.ddof))

    def answer(self, question: Question) -> Sensitivity:
        if question.size is not None:
            self._defined(question.size)
        if question.at is not None:
            return self._local(question)
        if isinstance(question.domain, Records):
            return self._over_records(question, question.domain.sample, self._moves(question))
        return self._over_range(question)

    def _defined(self, size: int) -> None:
        if size <= self.ddof:
            raise InfeasibleError(
                f"{self.name} with ddof={self.ddof} of {size} record(s) is undefined; "
                f"it needs at least {self.ddof + 1}"
            )

    def _moves(self, question: Question) -> Iterator[tuple[int, list[Move]]]:
        """Every size of the release with its moves between releases that have a value."""
        if question.size is not None:
            yield question.size, self._moves_from(question, question.size)
            return
        largest = question.population
        size = self.ddof + 1
        while largest is None or size <= largest:
            yield size, self._moves_from(question, size)
            size += 1

    def _moves_from(self, question: Question, size: int) -> list[Move]:
        return [(r, a) for r, a in question.moves(size) if size - r + a > self.ddof]

    def _notes(self, question: Question) -> tuple[str, ...]:
        notes = []
        if question.size is None:
            notes.append("the worst over releases of every size")
        elif question.relation in ("unbounded", "remove"):
            smallest = question.size - question.distance
            if smallest <= self.ddof:
                minimum = self.ddof + 1
                notes.append(
                    f"neighbours of fewer than {minimum} record(s) were left out: "
                    f"{self.name} has no value there"
                )
        return tuple(notes)

    def _local(self, question: Question) -> Sensitivity:
        x = question.at
        assert x is not None
        moves = self._moves_from(question, len(x))
        if not moves:
            return self._alone(question, (x, x))
        here, winners, count = extreme_neighbours(question, moves, self.ddof)
        gaps = [self.spread.gap(variance, here) for _, variance in winners]
        best = max((0, 1), key=gaps.__getitem__)
        return Sensitivity(
            gaps[best],
            "polynomial",
            statistic=self,
            question=question,
            witness=lambda: (x, winners[best][0]()),
            evaluations=count + 1,
            notes=self._notes(question),
        )

    def _alone(self, question: Question, pair: tuple[Sample, Sample]) -> Sensitivity:
        n = question.size
        if n is not None and any(r != a for r, a in question.moves(n)):
            raise InfeasibleError(
                f"every neighbour at this distance has fewer than {self.ddof + 1} record(s), "
                f"where {self.name} is undefined; ask for a smaller distance or another relation"
            )
        return Sensitivity(
            Fraction(0),
            "closed form",
            statistic=self,
            question=question,
            witness=lambda: pair,
            notes=("no record can be exchanged, so a release has no neighbour but itself",),
        )

    def _over_records(
        self, question: Question, population: Sample, sizes: Iterator[tuple[int, list[Move]]]
    ) -> Sensitivity:
        moments = PrefixMoments(population)
        contest = Contest(moments, self.spread)
        unproven: list[tuple[float, Sizes]] = []
        first: tuple[int, Move] | None = None
        for size, moves in sizes:
            if moves and first is None:
                first = (size, moves[0])
            if not moments.constant:
                unproven += self._offer(contest, question, size, moves)
        if first is None:
            lone = population.slice(0, question.size or self.ddof + 1)
            return self._alone(question, (lone, lone))
        method, bound = self._settle(contest, unproven)
        winner = contest.winner()
        if winner is not None and bound > -math.inf:
            return self._bound(question, bound, contest, winner)
        size, (removed, added) = first
        value: Fraction | float = Fraction(0)
        pair = [(0, size)], [(removed, size + added)]
        if winner is not None:
            value, pair = winner.value, winner.candidate.ranges()
            if question.size is not None and sum(j - i for i, j in pair[0]) != question.size:
                pair = pair[1], pair[0]
        return Sensitivity(
            value,
            method,
            statistic=self,
            question=question,
            witness=lambda: (moments.take(pair[0]), moments.take(pair[1])),
            evaluations=max(contest.evaluations, 1),
            notes=self._notes(question),
        )

    def _offer(
        self, contest: Contest, question: Question, size: int, moves: list[Move]
    ) -> list[tuple[float, Sizes]]:
        """Offer both directions of every move; return bounds on what no proof covers."""
        directions = {(size - r, *d) for r, a in moves for d in ((r, a), (a, r))}
        unproven = []
        for shape in sorted(directions, key=lambda d: (d[1] < d[2], -d[1], d[2])):
            if bound_of_move(contest, *shape) >= contest.floor:
                bound = widen(contest, *shape, question.within)
                if bound > -math.inf:
                    unproven.append((bound, shape))
        return unproven

    def _settle(
        self, contest: Contest, unproven: list[tuple[float, Sizes]]
    ) -> tuple[Method, float]:
        """List all pairs of what is not proven, where they are few; else return its bound."""
        method: Method = "polynomial"
        left = -math.inf
        for bound, shape in sorted(unproven):
            if bound < contest.floor:
                continue
            if choices(contest.moments.size, *shape):
                scattered(contest, *shape)
                method = "exhaustive"
            else:
                left = max(left, bound)
        return method, left if left >= contest.floor else -math.inf

    def _bound(
        self, question: Question, bound: float, contest: Contest, winner: CandidateMaximum
    ) -> Sensitivity:
        """An upper bound, where the largest pair found may not be the worst."""
        return Sensitivity(
            max(float_up(Fraction(bound) * contest.scale), float_up(Fraction(winner.value))),
            "upper bound",
            statistic=self,
            question=question,
            evaluations=contest.evaluations,
            notes=(
                *self._notes(question),
                "some moves are only bounded, as no quick exact method is known for them; "
                f"a pair with {float(winner.value):.6g} exists",
            ),
        )

    def _over_range(self, question: Question) -> Sensitivity:
        domain = question.domain
        assert isinstance(domain, (Values, Interval))
        width = domain.upper - domain.lower
        best: Extreme | None = None
        inner: Extreme | None = None
        seen: list[tuple[int, list[Move]]] = []
        for size, moves in self._moves(question):
            both = [(size - r, *d) for r, a in moves for d in ((r, a), (a, r))]
            maximum = max((max_change(*shape, self.ddof) for shape in both), default=0.0)
            if best is not None and size > 2 * question.distance + 4 and maximum < best.change:
                break  # no larger size can change more
            seen.append((size, moves))
            for shape in both:
                flat_pair = flat(*shape, self.ddof)
                best = max(best or flat_pair, flat_pair)
                inside = spread_inside(*shape, self.ddof)
                if inside is not None:
                    inner = max(inner or inside, inside)
            if self.ddof == 0 and best is not None and best.change == Fraction(1, 4):
                break
        if best is None:
            lone = domain.sample.take([0] * (question.size or 1))
            return self._alone(question, (lone, lone))
        if inner is not None and inner.change > best.change and width:
            return self._spread_inside(question, inner, best, seen)
        return self._range_answer(question, best)

    def _range_answer(self, question: Question, pair: Extreme) -> Sensitivity:
        lower, upper = question.domain.lower, question.domain.upper
        change = pair.change * (upper - lower) ** 2

        def witness() -> tuple[Sample, Sample]:
            wide = [lower] * (pair.retained + pair.gained - pair.wide_ones) + [
                upper
            ] * pair.wide_ones
            core = [lower] * (pair.retained - pair.narrow_ones) + [upper] * pair.narrow_ones
            mean = Fraction(sum(core)) / len(core) if core else lower
            releases = Sample(wide), Sample(core + [mean] * pair.lost)
            swap = question.size is not None and len(wide) != question.size
            return (releases[1], releases[0]) if swap else releases

        return Sensitivity(
            self.spread.gap(change, Fraction(0)),
            "closed form",
            statistic=self,
            question=question,
            witness=witness,
            notes=self._notes(question),
        )

    def _spread_inside(
        self,
        question: Question,
        inner: Extreme,
        best: Extreme,
        sizes: list[tuple[int, list[Move]]],
    ) -> Sensitivity:
        """Only for ``ddof=1``, where most of the release can be removed."""
        domain = question.domain
        if isinstance(domain, Values):
            maximum = max(size + max(a for _, a in moves) for size, moves in sizes if moves)
            ranks = np.repeat(np.arange(len(domain.sample)), maximum)
            return self._over_records(question, domain.sample.take(ranks), iter(sizes))
        if not self.spread.root:
            return self._range_answer(question, inner)
        width = domain.upper - domain.lower
        bound = self.spread.gap(inner.change * width * width, Fraction(0))
        return Sensitivity(
            bound,
            "upper bound",
            statistic=self,
            question=question,
            notes=(
                *self._notes(question),
                "removing most of the release is only bounded; "
                f"a pair with {float(Root(best.change * width * width)):.6g} exists",
            ),
        )

    def rows(self, rows: Array) -> npt.NDArray[np.float64]:
        """The variance of every row, as numpy computes it."""
        values = np.asarray(rows)
        if values.shape[1] <= self.ddof:
            return np.full(len(values), np.nan)
        return np.asarray(np.var(values, axis=1, ddof=self.ddof), dtype=np.float64)
