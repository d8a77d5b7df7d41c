"""Local sensitivity of quantiles (median, percentiles, min, max) at a distance, exact.

Write ``q (n - 1) = j - 1 + g`` with ``0 <= g < 1``: the quantile is ``(1 - g) x_j + g x_(j+1)``,
ranks from 1, and ``x_i`` is the lower bound ``L`` for ``i < 1``, the upper bound ``U`` for
``i > n``.

**Substitution.**  Let ``y = C + b`` and ``y' = C + e`` with ``b <= e`` and ``y`` or ``y'`` at
distance ``t`` from ``x``.  The quantile rises in every record, so ``b`` low and ``e`` high is
worst, and then ``f(y') - f(y) = (1 - g)(c_j - c_(j-1)) + g (c_(j+1) - c_j)``: one record of ``C``
between two others.  ``C`` lacks ``t`` records of ``x``, or ``t + 1`` with ``b`` or ``e`` among
them, which do not stand inside the gap (if ``b`` did, it would take the place of ``c_(j-1)``).  So
at most ``t`` lacking records and one that is kept stand between the two sides, which are
therefore inside ``[x_i, x_(i+t+2)]`` for some ``i``; the lacking records below the gap shift
``i`` above ``j - 1`` by one each, and each leaves one fewer for the gap, so that ``i <= j``, and
by symmetry ``i + t + 2 >= j + 1``. Taking ``t`` of the ranks ``i+1 .. i+t+1`` away, and putting
the records at ``L`` and ``U`` as the rank demands, attains it; the one kept is the last of them
if ``g <= 1/2``, else the first.  For ``g = 0`` this is Nissim, Raskhodnikova and Smith (2007),
``max_i x_(j+i) - x_(j+i-t-1)``.

**Add or remove.**  A pair is ``S`` and ``T = S + e``, of ``m = |T|`` records; say ``e`` is low,
so that ``f(S) >= f(T)`` (the mirror image serves the rest).  With ``q (m - 1) = p - 1 + g'`` and
``q (m - 2) = (its own rank) + g`` the difference is ``c1 (mid - low) + c3 (high - mid)`` for
three consecutive records ``low, mid, high`` of ``T``, of ranks ``p, p + 1, p + 2``, with ``c1 = 1
- g', c3 = g`` where the position moved less than to the next rank, and ``c1 = g - g', c3 = 0``
where it did.  ``T`` is ``x`` without ``d`` records and with ``m - n + d`` others.  Taking the ``d``
out of the gap and putting the others at ``L`` (``a`` of them) and ``U`` is best: then ``low =
x_i, high = x_(i+d+2)`` with ``i = p - a``. If ``a >= 1`` then ``e`` is one of the added, and
``S`` is nearer to ``x`` than ``T``, by one.  Hence a pair of ranks ``(i, r)`` costs ``2 d + m - n
- [a >= 1]`` steps, ``d = r - i - 2``, for the least ``m`` that allows ``0 <= a <= m - n + d``;
both limits are one-sided in ``m``, because ``p`` and ``m - p`` never fall in ``m``.  The weights
depend on ``m`` only modulo the denominator of ``q``: one kind of pair for each remainder, each
with its least ``m``.

``A(t)`` stops at ``t = n`` (substitution) or ``n + 1`` (add or remove): all records are at a
bound by then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tacit.arithmetic.exact import float_up
from tacit.statistics.base.at_distance import AtDistance, decayed
from tacit.statistics.base.question import Relation
from tacit.statistics.quantiles.quantile_add_or_remove import quantile_one_way
from tacit.statistics.quantiles.rank_pair_search import FAR, Indices, Staircase, Steps
from tacit.statistics.quantiles.rank_weights import weights, whole
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.counted_sample import Ranks
from tacit.statistics.samples.sample import Array

__all__ = ["QuantileAtDistance", "quantile_at_distance"]


def quantile_at_distance(q: Fraction, data: Clamped, relation: Relation) -> AtDistance:
    """``A(t)`` of the ``q``-quantile.

    >>> a = quantile_at_distance(Fraction(1, 2), Clamped([1, 2, 4, 7, 9], 0, 10), "bounded")
    >>> [int(a.at(t)) for t in range(4)]
    [3, 5, 7, 8]
    """
    if relation == "add" or relation == "remove":
        return quantile_one_way(q, data, relation)
    return QuantileAtDistance(q, data, relation)


class QuantileAtDistance(AtDistance):
    """``A(t)`` of a quantile under ``bounded`` or ``unbounded``."""

    def __init__(self, q: Fraction, data: Clamped, relation: Relation) -> None:
        self.data = data
        self.q = q
        n = len(data)
        if relation == "bounded":
            self.last = n
            place = q * (n - 1)
            self._sides = [_Side(data, *_substitution(int(place) + 1, place % 1, n))]
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
        return _least(s.exact.nearest(limit) for s, limit in zip(self._sides, limits, strict=True))

    def instabilities(self, bounds: Sequence[Fraction]) -> list[int | None]:
        """:meth:`instability` of each bound: it is found at once, and needs no search."""
        return [self.instability(bound) for bound in bounds]

    def smooth(self, beta: Fraction) -> float:
        """``max_t exp(-beta t) A(t)``, over all pairs of ranks at once."""
        start = _least(side.quick.nearest(0) for side in self._sides)
        if start is None:
            return 0.0
        best = Fraction(0)
        for side in self._sides:
            scale = side.unit * side.data.quick[1]
            found = side.quick.decayed(beta, start, float(best / scale))
            best = max(best, Fraction(found) * scale)
        return decayed(float_up(best), beta, start)


def _least(found: Iterable[int | None]) -> int | None:
    return min((steps for steps in found if steps is not None), default=None)


@dataclass
class _Side:
    """One direction of change: the data (mirrored or not), the weights and the steps."""

    data: Clamped
    c1: Indices
    c3: Indices
    unit: Fraction
    steps: Steps
    lows: tuple[int, int]
    highs: tuple[int, int]
    _made: dict[bool, Staircase] = field(default_factory=dict)

    @property
    def exact(self) -> Staircase:
        return self._staircase(self.data.padded, exact=True)

    @property
    def quick(self) -> Staircase:
        return self._staircase(self.data.quick[0], exact=False)

    def _staircase(self, ranks: Array | Ranks, exact: bool) -> Staircase:
        if exact not in self._made:
            weight = int(max(self.c1.max(), self.c3.max()))
            if ranks.dtype == np.int64 and weight * (int(ranks[-1]) - int(ranks[0])) >= 2**62:
                ranks = ranks.astype(object)
            self._made[exact] = Staircase(
                ranks, self.c1, self.c3, self.steps, self.lows, self.highs
            )
        return self._made[exact]


class _Substitution:
    """The gap of ``t`` records between ``i`` and ``r = i + t + 2``."""

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        return np.asarray(high - low - 2)

    def least(self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices) -> Indices:
        return np.asarray(np.maximum(r1 - i2 - 2, 0))


def _substitution(
    j: int, g: Fraction, n: int
) -> tuple[Indices, Indices, Fraction, Steps, tuple[int, int], tuple[int, int]]:
    c1, c3, unit = whole([1 - g], [g])
    return c1, c3, unit, _Substitution(), (0, j + 1), (j + 2, n + 3)


class _AddOrRemove:
    """The least size ``m`` of the larger data set for each pair of ranks.

    ``a >= 0`` says ``p(m) >= i``, that is ``m - 1 >= (i - 1) / q``.  That ``a`` is at most the
    number of records added says ``m - p(m) >= n + 2 - r``, that is ``(1 - q)(m - 1) > n + 1 - r``.
    """

    def __init__(self, q: Fraction, n: int, period: int) -> None:
        self.n, self.period = n, period
        self.top, self.bottom = q.numerator, q.denominator
        self.wide = self.bottom * (2 * n + 4) >= 2**62  # too wide for int64

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        taken = high - low - 2
        m = np.maximum(np.maximum(self._by_low(low), self._by_high(high)), self.n - taken)
        m += (kind - m) % self.period
        is_added = self.rank(m) > low - 1
        return np.where(m <= 2 * self.n + 4, 2 * taken + m - self.n - is_added, FAR)

    def least(self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices) -> Indices:
        """No more than the steps of any pair in each square.

        ``m - [a >= 1]`` is at least the limit of ``i``: an ``a >= 1`` asks for the limit of ``i +
        1``, which is larger but for the first indices, where all are 2.  With ``2 d`` that limit is
        convex in ``i`` and rounded up, with a kink at the second or third index, so it is least at
        an end or there; that of ``r`` is linear and rounded down.  Where records tie, long rows of
        pairs take equal steps, and no looser bound passes over them.
        """
        taken = np.maximum(r1 - i2 - 2, 0)
        lows = (np.clip(i, i1, i2) for i in (i1, i2, 2, 3))
        by_low = np.minimum.reduce([2 * (r1 - i - 2) + self._by_low(i) for i in lows]) - (i1 < 3)
        by_high = np.minimum.reduce([2 * (r - i2 - 2) + self._by_high(r) for r in (r1, r2)])
        found = np.maximum(taken - 1, np.maximum(by_low, by_high - 1) - self.n)
        return np.asarray(np.maximum(found, 0))

    def rank(self, size: Indices) -> Indices:
        """``p(m) = floor(q (m - 1)) + 1``."""
        return np.asarray(self._int64(self._wide(size - 1) * self.top // self.bottom) + 1)

    def _by_low(self, low: Indices) -> Indices:
        before = np.maximum(low - 2, 0)  # i - 1, where the index is i + 1
        if not self.top:
            return np.where(before > 0, FAR // 4, 2)
        return np.maximum(2, self._int64(-(-self._wide(before) * self.bottom // self.top)) + 1)

    def _by_high(self, high: Indices) -> Indices:
        after = self._wide(self.n + 2 - high)
        return np.asarray(self._int64(after * self.bottom // (self.bottom - self.top)) + 2)

    def _wide(self, numbers: Indices) -> Array:
        return numbers.astype(object) if self.wide else numbers

    @staticmethod
    def _int64(numbers: Array) -> Indices:
        return np.asarray(np.minimum(numbers, FAR // 4).astype(np.int64))


def _add_or_remove(
    q: Fraction, n: int
) -> tuple[Indices, Indices, Fraction, Steps, tuple[int, int], tuple[int, int]]:
    # Distances end at n + 1, so m ends at 2 n + 2, and no more kinds than sizes are needed.
    period = 1 if q in (0, Fraction(1, 2)) else min(q.denominator, 2 * n + 5)
    return *weights(q, period), _AddOrRemove(q, n, period), (0, n + 1), (2, n + 3)
