"""Quantiles, the median, the least and largest value, and the interquartile range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_percent, as_share, float_up
from tacit.arithmetic.roots_and_bisection import smallest_integer_until
from tacit.statistics.domains import Joined, Ranked
from tacit.statistics.question import Relation
from tacit.statistics.rank_pairs import (
    UNREACHABLE,
    Indices,
    RankStaircase,
    Steps,
    between,
    weights,
    whole,
)
from tacit.statistics.samples import Array, ClampedRecords, Ranks, Sample
from tacit.statistics.statistic import (
    AtDistance,
    Monotone,
    PointsAtDistance,
    PublicRange,
    Statistic,
    decayed,
)

# Local sensitivity of quantiles at a distance, where records only join or only leave.
#
# The notation is that of :mod:`tacit.statistics.quantiles`: ``T = S + e``
# holds ``m`` records, ``e`` is low, and the difference is made by three consecutive ranks of ``T``.
#
# **Leaving.**  ``T`` is ``x`` without ``d`` records, in ``d`` steps, and then loses its lowest.
# The lowest of the three is at least ``x_p``, because only records below it can have left, and
# ``d`` more ranks separate the outer two at most: taking ranks ``p + 1 .. p + d`` away attains
# that.
#
# **Joining.**  ``S`` is ``x`` with ``m - n - 1`` others, so ``d = 0`` and ``r = i + 2``, and ``e``
# joins too: ``1 <= a <= m - n``.  Both limits are one-sided in ``m``: ``m - 1 >= i / q`` and ``m -
# 1 > (n - i - 1) / (1 - q)``.


_MANY = 10**7


def quantile_one_way(
    q: Fraction, data: ClampedRecords, relation: Literal["add", "remove"]
) -> PointsAtDistance:
    """``A(t)`` of the ``q``-quantile under ``add`` or ``remove``."""
    # Joining, one kind of pair for each remainder of ``m`` modulo the denominator of ``q`` is kept
    # at every rank.  Where that is above ten million pairs, all weights are taken as ``1 - q``, the
    # largest there is (``c1`` is at most ``1 - q`` by its formula, and ``c3 = g`` is too, since
    # ``c3 > 0`` only where ``g' = g + q < 1``): an upper bound.
    steps: list[Indices] = []
    values: list[Array] = []
    exact = True
    unit = Fraction(1, 2 * q.denominator**2)  # every weight is a multiple of it
    for side, p in ((data, q), (data.mirrored(), 1 - q)):
        if p == 1:
            continue  # a low record never moves the maximum
        n = len(side)
        period = min(p.denominator, 2 * n + 4) if relation == "remove" else p.denominator
        kinds = period
        if relation == "add" and period * (n + 1) > _MANY:
            exact, kinds = False, 1
        made = weights(p, period) if kinds == period else whole([1 - p], [1 - p])
        kind, low, high, cost = (
            _leaving(p, n, period) if relation == "remove" else _joining(p, n, kinds)
        )
        gaps = between(side.padded.astype(object), made[0][kind], made[1][kind], low, high)
        steps.append(cost)
        values.append(gaps.astype(object) * int(made[2] / unit))
    return PointsAtDistance(np.concatenate(steps), np.concatenate(values), unit * data.grain, exact)


def _leaving(p: Fraction, n: int, period: int) -> tuple[Indices, Indices, Indices, Indices]:
    taken = np.arange(max(n - 1, 0), dtype=np.int64)
    m = n - taken
    low = ((m - 1).astype(object) * p.numerator // p.denominator + 1).astype(np.int64)
    return m % period, low + 1, low + taken + 3, taken  # indices are ranks plus one


def _joining(p: Fraction, n: int, kinds: int) -> tuple[Indices, Indices, Indices, Indices]:
    low = np.arange(-1, n + 1 if p > 0 else 1).astype(object)
    c, d = p.numerator, p.denominator
    minimum = np.maximum(n, (n - low - 1) * d // (d - c) + 1)
    if c:
        minimum = np.maximum(minimum, -(-low * d // c))
    m = (minimum + 1)[:, None] + (np.arange(kinds) - minimum[:, None] - 1) % kinds
    kind = np.broadcast_to(np.arange(kinds), m.shape).ravel()
    ranks = np.repeat(low.astype(np.int64), kinds)
    return kind, ranks + 1, ranks + 3, (m.ravel() - n - 1).astype(np.int64)


# Local sensitivity of quantiles (median, percentiles, min, max) at a distance, exact.
#
# Write ``q (n - 1) = j - 1 + g`` with ``0 <= g < 1``: the quantile is ``(1 - g) x_j + g x_(j+1)``,
# ranks from 1, and ``x_i`` is the lower bound ``L`` for ``i < 1``, the upper bound ``U`` for
# ``i > n``.
#
# **Substitution.**  Let ``y = C + b`` and ``y' = C + e`` with ``b <= e`` and ``y`` or ``y'`` at
# distance ``t`` from ``x``.  The quantile rises in every record, so ``b`` low and ``e`` high is
# worst, and then ``f(y') - f(y) = (1 - g)(c_j - c_(j-1)) + g (c_(j+1) - c_j)``: one record of ``C``
# between two others.  ``C`` is missing ``t`` records of ``x``, or ``t + 1`` with ``b`` or ``e``
# among them, which do not stand inside the gap (if ``b`` did, it would take the position of
# ``c_(j-1)``). So at most ``t`` lacking records and one that is kept stand between the two sides,
# which are therefore inside ``[x_i, x_(i+t+2)]`` for some ``i``; the lacking records below the gap
# shift ``i`` above ``j - 1`` by one each, and each leaves one fewer for the gap, so that
# ``i <= j``, and by symmetry ``i + t + 2 >= j + 1``. Taking ``t`` of the ranks ``i+1 .. i+t+1``
# away, and putting the records at ``L`` and ``U`` as the rank demands, attains it; the one kept is
# the last of them if ``g <= 1/2``, else the first.  For ``g = 0`` this is Nissim, Raskhodnikova and
# Smith (2007), ``max_i x_(j+i) - x_(j+i-t-1)``.
#
# **Add or remove.**  A pair is ``S`` and ``T = S + e``, of ``m = |T|`` records; say ``e`` is low,
# so that ``f(S) >= f(T)`` (the mirror image serves the rest).  With ``q (m - 1) = p - 1 + g'`` and
# ``q (m - 2) = (its own rank) + g`` the difference is ``c1 (mid - low) + c3 (high - mid)`` for
# three consecutive records ``low, mid, high`` of ``T``, of ranks ``p, p + 1, p + 2``, with ``c1 = 1
# - g', c3 = g`` where the position moved less than to the next rank, and ``c1 = g - g', c3 = 0``
# where it did.  ``T`` is ``x`` without ``d`` records and with ``m - n + d`` others.  Taking the
# ``d`` out of the gap and putting the others at ``L`` (``a`` of them) and ``U`` is best: then
# ``low = x_i, high = x_(i+d+2)`` with ``i = p - a``. If ``a >= 1`` then ``e`` is one of the added,
# and ``S`` is nearer to ``x`` than ``T``, by one.  Hence a pair of ranks ``(i, r)`` costs
# ``2 d + m - n - [a >= 1]`` steps, ``d = r - i - 2``, for the least ``m`` that allows
# ``0 <= a <= m - n + d``; both limits are one-sided in ``m``, because ``p`` and ``m - p`` never
# fall in ``m``.  The weights depend on ``m`` only modulo the denominator of ``q``: one kind of pair
# for each remainder, each with its least ``m``.
#
# ``A(t)`` stops at ``t = n`` (substitution) or ``n + 1`` (add or remove): all records are at a
# bound by then.


def quantile_at_distance(q: Fraction, data: ClampedRecords, relation: Relation) -> AtDistance:
    """``A(t)`` of the ``q``-quantile.

    >>> a = quantile_at_distance(Fraction(1, 2), ClampedRecords([1, 2, 4, 7, 9], 0, 10), "bounded")
    >>> [int(a.at(t)) for t in range(4)]
    [3, 5, 7, 8]
    """
    if relation == "add" or relation == "remove":
        return quantile_one_way(q, data, relation)
    return QuantileAtDistance(q, data, relation)


class QuantileAtDistance(AtDistance):
    """``A(t)`` of a quantile under ``bounded`` or ``unbounded``."""

    def __init__(self, q: Fraction, data: ClampedRecords, relation: Relation) -> None:
        self.data = data
        self.q = q
        n = len(data)
        if relation == "bounded":
            self.last = n
            position = q * (n - 1)
            self._sides = [_Side(data, *_substitution(int(position) + 1, position % 1, n))]
        else:
            self.last = n + 1
            self._sides = [
                _Side(side, *_add_or_remove(p, n))
                for side, p in ((data, q), (data.mirrored(), 1 - q))
                if p < 1  # a low record never moves the maximum
            ]

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        return max(int(s.exact.within(t)) * s.unit for s in self._sides) * self.data.grain

    def instability(self, bound: Fraction) -> int | None:
        """The least ``t`` with ``A(t) > bound``: the cheapest pair of ranks with such a value."""
        limits = (math.floor(bound / (s.unit * self.data.grain)) for s in self._sides)
        return _smallest(
            s.exact.nearest(limit) for s, limit in zip(self._sides, limits, strict=True)
        )

    def instabilities(self, bounds: Sequence[Fraction]) -> list[int | None]:
        """:meth:`instability` of each bound: it is found at once, and needs no search."""
        return [self.instability(bound) for bound in bounds]

    def smooth(self, beta: Fraction) -> float:
        """``max_t exp(-beta t) A(t)``, over all pairs of ranks at once."""
        start = _smallest(side.quick.nearest(0) for side in self._sides)
        if start is None:
            return 0.0
        best = Fraction(0)
        for side in self._sides:
            scale = side.unit * side.data.quick[1]
            bound = side.quick.decayed(beta, start, float(best / scale))
            best = max(best, Fraction(bound) * scale)
        return decayed(float_up(best), beta, start)


def _smallest(distances: Iterable[int | None]) -> int | None:
    return min((steps for steps in distances if steps is not None), default=None)


@dataclass
class _Side:
    """One direction of change: the data (mirrored or not), the weights and the steps."""

    data: ClampedRecords
    c1: Indices
    c3: Indices
    unit: Fraction
    steps: Steps
    lows: tuple[int, int]
    highs: tuple[int, int]
    _made: dict[bool, RankStaircase] = field(default_factory=dict)

    @property
    def exact(self) -> RankStaircase:
        return self._staircase(self.data.padded, exact=True)

    @property
    def quick(self) -> RankStaircase:
        return self._staircase(self.data.quick[0], exact=False)

    def _staircase(self, ranks: Array | Ranks, exact: bool) -> RankStaircase:
        if exact not in self._made:
            weight = int(max(self.c1.max(), self.c3.max()))
            if ranks.dtype == np.int64 and weight * (int(ranks[-1]) - int(ranks[0])) >= 2**62:
                ranks = ranks.astype(object)
            self._made[exact] = RankStaircase(
                ranks, self.c1, self.c3, self.steps, self.lows, self.highs
            )
        return self._made[exact]


class _Substitution:
    """The gap of ``t`` records between ``i`` and ``r = i + t + 2``."""

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        return np.asarray(high - low - 2)

    def lower_bound(
        self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices
    ) -> Indices:
        return np.asarray(np.maximum(r1 - i2 - 2, 0))


def _substitution(
    j: int, g: Fraction, n: int
) -> tuple[Indices, Indices, Fraction, Steps, tuple[int, int], tuple[int, int]]:
    c1, c3, unit = whole([1 - g], [g])
    return c1, c3, unit, _Substitution(), (0, j + 1), (j + 2, n + 3)


class _AddOrRemove:
    """The least size ``m`` of the larger data set for each pair of ranks."""

    # ``a >= 0`` says ``p(m) >= i``, that is ``m - 1 >= (i - 1) / q``.  That ``a`` is at most the
    # number of records added says ``m - p(m) >= n + 2 - r``, that is
    # ``(1 - q)(m - 1) > n + 1 - r``.

    def __init__(self, q: Fraction, n: int, period: int) -> None:
        self.n, self.period = n, period
        self.top, self.bottom = q.numerator, q.denominator
        self.wide = self.bottom * (2 * n + 4) >= 2**62  # too wide for int64

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        taken = high - low - 2
        m = np.maximum(np.maximum(self._by_low(low), self._by_high(high)), self.n - taken)
        m += (kind - m) % self.period
        is_added = self.rank(m) > low - 1
        return np.where(m <= 2 * self.n + 4, 2 * taken + m - self.n - is_added, UNREACHABLE)

    def lower_bound(
        self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices
    ) -> Indices:
        """No more than the steps of any pair in each square."""
        # ``m - [a >= 1]`` is at least the limit of ``i``: an ``a >= 1`` asks for the limit of
        # ``i + 1``, which is larger except for the first indices, where all are 2.  With ``2 d``
        # that limit is convex in ``i`` and rounded up, with a kink at the second or third index, so
        # it is least at an end or there; that of ``r`` is linear and rounded down.  Where records
        # tie, long rows of pairs take equal steps, and no looser bound passes over them.
        taken = np.maximum(r1 - i2 - 2, 0)
        lows = (np.clip(i, i1, i2) for i in (i1, i2, 2, 3))
        by_low = np.minimum.reduce([2 * (r1 - i - 2) + self._by_low(i) for i in lows]) - (i1 < 3)
        by_high = np.minimum.reduce([2 * (r - i2 - 2) + self._by_high(r) for r in (r1, r2)])
        distances = np.maximum(taken - 1, np.maximum(by_low, by_high - 1) - self.n)
        return np.asarray(np.maximum(distances, 0))

    def rank(self, size: Indices) -> Indices:
        """``p(m) = floor(q (m - 1)) + 1``."""
        return np.asarray(self._int64(self._wide(size - 1) * self.top // self.bottom) + 1)

    def _by_low(self, low: Indices) -> Indices:
        before = np.maximum(low - 2, 0)  # i - 1, where the index is i + 1
        if not self.top:
            return np.where(before > 0, UNREACHABLE // 4, 2)
        return np.maximum(2, self._int64(-(-self._wide(before) * self.bottom // self.top)) + 1)

    def _by_high(self, high: Indices) -> Indices:
        after = self._wide(self.n + 2 - high)
        return np.asarray(self._int64(after * self.bottom // (self.bottom - self.top)) + 2)

    def _wide(self, numbers: Indices) -> Array:
        return numbers.astype(object) if self.wide else numbers

    @staticmethod
    def _int64(numbers: Array) -> Indices:
        return np.asarray(np.minimum(numbers, UNREACHABLE // 4).astype(np.int64))


def _add_or_remove(
    q: Fraction, n: int
) -> tuple[Indices, Indices, Fraction, Steps, tuple[int, int], tuple[int, int]]:
    # Distances end at n + 1, so m ends at 2 n + 2, and no more kinds than sizes are needed.
    period = 1 if q in (0, Fraction(1, 2)) else min(q.denominator, 2 * n + 5)
    return *weights(q, period), _AddOrRemove(q, n, period), (0, n + 1), (2, n + 3)


@dataclass(frozen=True)
class Quantile(Monotone, proven=True):
    """The value at position ``q (n - 1)`` of the sorted records, interpolated linearly.

    That is numpy's default and Hyndman and Fan's definition 7 (1996, *The American Statistician*).

    The argument of :mod:`tacit.statistics.statistic` applies: at a fixed size two
    neighbouring ranks weigh ``1 - g`` and ``g``.  Dropping the smallest of ``n`` records moves the
    position, counted in the old ranks, from ``q (n - 1)`` to ``1 + q (n - 2)``, which is
    ``1 - q >= 0`` further up; dropping the largest moves it down by ``q``.

    In ``g(T)`` the lower release sits at position ``p = q (low - 1)`` of ``T`` and the upper one
    at ``m - high + q (high - 1) >= p``.  If both lie between the same two ranks, those weigh ``g -
    g'`` and ``g' - g`` with ``g' >= g``: negative before positive.  If the upper one lies one step
    up, the three ranks weigh ``-(1 - g)``, then ``1 - g' - g`` of either sign, then ``g'``.
    Further up nothing overlaps. Always, the negative weights stand below the positive ones, and
    the number of ranks up to the last negative one is the ``c`` of that argument: four order
    statistics answer every move.

    **Any size**, nested, the smaller release of one record ``v``: say ``f(S) > f(T)``, ``|T| = s +
    k``. Then ``T`` sits ``d`` lower, ``d = k (1 - q)``, and its position is at least ``q k``.  If
    ``d >= 1``, a single record gives ``u_N`` minus the value at position ``q k`` of the smallest
    records; no ``f(S)`` is larger than ``u_N`` and no position or rank value of ``T`` is smaller.
    If ``d < 1``, the weights that do not cancel are at most ``d``, the upper ones meet values at
    most ``u_N``, and the lower ones are at rank ``k - 1`` or above; a single record gives
    exactly ``d (u_N - u_k)``.

    Args:
        q: from 0 (the minimum) to 1 (the maximum).

    >>> Quantile(Fraction(1, 4)).name
    'percentile(25)'
    """

    q: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_share(self.q))

    @property
    def name(self) -> str:
        return f"percentile({float(100 * self.q):.12g})"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Within the bounds, the middle for no records; it can move by all of the span."""
        return PublicRange(upper - lower, (lower, upper), (lower + upper) / 2)

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        return quantile_at_distance(self.q, data, relation)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The quantile of every row: what ``np.quantile`` says, bit by bit, in less time.

        NaN sorts to the end of its row.
        """
        ordered = np.sort(rows, axis=1).astype(np.float64)
        last = ordered.shape[1] - 1
        position = last * float(self.q)
        rank = math.floor(position)
        part = position - rank
        low, high = ordered[:, rank], ordered[:, min(rank + 1, last)]
        interpolated = low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
        return np.where(np.isnan(ordered[:, last]), np.nan, interpolated)

    def position(self, size: int) -> tuple[int, Fraction]:
        """The lower rank (from 0) and the weight of the rank above it.

        >>> Quantile(Fraction(1, 2)).position(4)
        (1, Fraction(1, 2))
        """
        exact_position = self.q * (size - 1)
        rank = math.floor(exact_position)
        return rank, exact_position - rank

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        rank, weight = self.position(len(values))
        if not weight:
            return values[rank]
        return (1 - weight) * values[rank] + weight * values[rank + 1]

    def of(self, sample: Sample) -> Fraction:
        """The exact quantile of a sample; only two of its values are read."""
        return self.on(Joined.alone(sample), 0, len(sample))

    def split(self, low: int, high: int, total: int) -> int:
        """The number of ranks up to the last that weighs negative in ``g(T)``."""
        below, g = self.position(low)
        above, h = self.position(high)
        above += total - high
        weights = {below: g - 1, below + 1: -g}
        for rank, weight in ((above, 1 - h), (above + 1, h)):
            weights[rank] = weights.get(rank, Fraction(0)) + weight
        return max((rank + 1 for rank, weight in weights.items() if weight < 0), default=0)

    def on(self, data: Ranked, start: int, size: int) -> Fraction:
        rank, weight = self.position(size)
        lower = data.rank(start + rank)
        return lower + weight * (data.rank(start + rank + 1) - lower) if weight else lower


@dataclass(frozen=True)
class Median(Quantile):
    """The middle record, or the mean of the two in the middle.

    >>> from tacit.statistics import Records, sensitivity
    >>> sensitivity("median", over=Records([1, 2, 3, 10, 11], size=3), relation="bounded").value
    Fraction(8, 1)
    """

    q: Fraction = Fraction(1, 2)

    name = "median"


def percentile(q: Number) -> Quantile:
    """Return the ``q``-th percentile as a statistic, ``q`` from 0 to 100.

    Raises:
        UsageError: a number outside 0 to 100.

    >>> percentile(90).q
    Fraction(9, 10)
    """
    return Quantile(as_percent(q) / 100)


# Minimum and maximum and their sensitivities.
#
# They are the quantiles 0 and 1, and over a known population
# :mod:`tacit.statistics.statistic` comes down to closed forms.  For the maximum:
# ``k`` removed from ``n`` (``s = n - k``) or added to it (``s = n``) gives ``u_N - u_s``, ``k``
# substituted gives ``u_N - u_n``, in each case because the lower release can be the smallest
# records there are and the upper one holds the largest.


@dataclass(frozen=True)
class Minimum(Quantile):
    """The smallest record.

    >>> Minimum()([3, 1, 2])
    1.0
    """

    q: Fraction = Fraction(0)

    name = "min"


@dataclass(frozen=True)
class Maximum(Quantile):
    """The largest record.

    >>> Maximum()([3, 1, 2])
    3.0
    """

    q: Fraction = Fraction(1)

    name = "max"


# The interquartile range: the 75th percentile less the 25th.


_QUARTERS = Fraction(1, 4), Fraction(3, 4)


@dataclass(frozen=True)
class InterquartileRange(Statistic):
    """The interquartile range, each quartile interpolated linearly.

    >>> InterquartileRange()([1, 2, 4, 8, 16])
    6.0
    """

    name = "interquartile_range"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Between 0 and the span, and 0 for no records."""
        return PublicRange(upper - lower, (Fraction(0), upper - lower), Fraction(0))

    def at_distance(self, data: ClampedRecords, relation: Relation) -> AtDistance:
        """``A(t)`` is at most the sum of those of the two quartiles, and the span."""
        # A difference of two statistics moves by no more than the two together, and each moves by
        # no more than its own ``A(t)``.  The range is between 0 and the span, so no two values of
        # it are farther apart.  The lesser of two bounds, of which one is constant, still grows by
        # no more than that of a neighbour one step on.
        low, high = data.bounds
        parts = [quantile_at_distance(q, data, relation) for q in _QUARTERS]
        return SumAtDistance(parts, high - low)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        low, high = (Quantile(q).batch(rows) for q in _QUARTERS)
        return high - low

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        low, high = (Quantile(q).exact(values) for q in _QUARTERS)
        return high - low


class SumAtDistance(AtDistance):
    """The sum of several, within a span: a bound on the difference of the statistics."""

    exact = False

    def __init__(self, parts: list[AtDistance], span: Fraction) -> None:
        self._parts, self._span = parts, span
        self.last = max(part.last for part in parts)

    def at(self, distance: int) -> Fraction:
        total = sum((Fraction(part.at(distance)) for part in self._parts), Fraction(0))
        return min(total, self._span)

    def _broken(self, bound: Fraction, last: int, minimum: int) -> int | None:
        """Not before a part breaks its equal share of the bound, nor after one breaks it all."""
        # Each part finds its own distances at once.
        if bound >= self._span:
            return None
        shares = [part.instability(bound / len(self._parts)) for part in self._parts]
        near = min((t for t in shares if t is not None), default=None)
        if near is None:
            return None
        instabilities = [part.instability(bound) for part in self._parts]
        far = min((t for t in instabilities if t is not None), default=last)
        return smallest_integer_until(
            lambda t: self.exceeds(t, bound), min(last, far), max(minimum, near)
        )
