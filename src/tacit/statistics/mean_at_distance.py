"""Local sensitivity of the mean at a distance, exact.

Below, ``L = 0`` (shift the data), ``P_k`` is the sum of the ``k`` smallest records, and only
rises of the mean are spelled out: the mirror image serves the falls.

**Substitution.**  The sum's, over ``n``.

**Add or remove.**  A record ``e`` that joins a set ``S`` of ``s`` records moves the mean by ``(e
- mean(S)) / (s + 1)``.  ``S`` is ``x`` without ``d`` records and with ``a`` others: a rise is
largest if the ``d`` largest left and the others are ``0``, with ``s = n - d + a``:

    ``rise(s) = (e s - P_(n-d)) / (s (s + 1))``.

Either ``e = U`` joins ``S``, which is at distance ``d + a``; or ``e`` is a record of ``x``, the
largest, and leaves ``S + e``, which is at distance ``d + a - 1`` (any other record gives a
smaller rise).  For fixed ``d`` the rise grows from ``s`` to ``s + 1`` exactly if ``e s <= 2
P_(n-d)``: cross-multiplied, ``(e(s+1) - P) s >= (e s - P)(s + 2)``.  So the best ``s`` is
``floor(2 P / e) + 1``, or as near as the distance allows, and ``A(t)`` takes one look at each ``d
<= t``.  It ends at half the range, for ``s = 1``, at ``t = n + 1``.

**Add.**  ``d = 0``, ``e = U``; the rise falls once ``s > 2 n``, because ``P_n <= n U``.
**Remove.**  ``a = 0``, ``e`` is the largest record, and ``t = d - 1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.exact import float_up
from tacit.statistics.at_distance import AtDistance
from tacit.statistics.clamped import Clamped
from tacit.statistics.question import Relation
from tacit.statistics.sample import Array

__all__ = ["MeanAtDistance", "mean_at_distance"]

_MANY = 4096


def mean_at_distance(data: Clamped, relation: Relation) -> AtDistance:
    """``A(t)`` of the mean.

    >>> a = mean_at_distance(Clamped([2, 4], 0, 8), "unbounded")
    >>> [str(a.at(t)) for t in range(4)]
    ['5/3', '3', '3', '4']
    """
    return MeanAtDistance(data, relation)


class MeanAtDistance(AtDistance):
    """``A(t)`` of the mean under any relation."""

    def __init__(self, data: Clamped, relation: Relation) -> None:
        n = len(data)
        self.relation = relation
        self.last = {"bounded": 1, "unbounded": n + 1, "add": n, "remove": max(n - 2, 0)}[relation]
        self.data = data
        self._sides = _Rises(data), _Rises(data.mirrored())

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        if self.relation == "bounded":
            low, high = self.data.bounds
            near = max(high - self.data.least, self.data.most - low)
            return (high - low if t else near) / len(self.data)
        return max(s.best(t, self.relation) for s in self._sides) * self.data.grain

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        """Whether ``A(distance) > bound``: floats decide where they are sure, else fractions."""
        if self._by_floats:
            most = self._float_at(distance)
            if most <= bound:
                return False
            if Fraction(most) * (1 - Fraction(len(self.data) + 8, 1 << 50)) > bound:
                return True
        return self.at(distance) > bound

    def _float_at(self, distance: int) -> float:
        """The same in floats, which is quicker for many records."""
        if not self._by_floats:
            return super()._float_at(distance)
        t = min(distance, self.last)
        return max(s.rough(t, self.relation) for s in self._sides)

    @cached_property
    def _by_floats(self) -> bool:
        """Whether many records make it worth it, and no float gets near the ends of its range."""
        if self.relation == "bounded" or len(self.data) < _MANY:
            return False
        return Fraction(1, 1 << 400) < self.data.span < 1 << 400

    @property
    def _ceiling(self) -> float:
        return float_up(self.data.span)


class _Rises:
    """How far the mean can rise, in units of the grid."""

    def __init__(self, data: Clamped) -> None:
        self.data = data
        self.n = len(data)

    @cached_property
    def span(self) -> int:
        return self.data.upper - self.data.lower

    @cached_property
    def largest(self) -> int:
        return int(self.data.records[-1]) - self.data.lower

    @cached_property
    def sums(self) -> Array:
        """``P_0 .. P_n``: ``int64`` if even ``e s`` fits, else Python integers."""
        small = self.span * 4 * (self.n + 2) < 2**62
        shifted = self.data.records.astype(np.int64 if small else object) - self.data.lower
        return np.concatenate((np.zeros(1, dtype=shifted.dtype), np.cumsum(shifted)))

    def best(self, t: int, relation: Relation) -> Fraction:
        return max((self._largest(*c) for c in self._candidates(t, relation)), default=Fraction(0))

    def _candidates(self, t: int, relation: Relation) -> Iterator[tuple[int, Array, Array]]:
        """``e``, the sizes ``s`` and the sums ``P`` of what can be reached."""
        if relation == "add":
            s = np.arange(self.n, self.n + t + 1)
            yield self.span, s, np.broadcast_to(self.sums[-1], s.shape)
        elif relation == "remove":
            s = np.arange(max(1, self.n - t - 1), self.n)
            yield self.largest, s, self.sums[s]
        else:
            yield self._freely(self.span, 0, t)
            yield self._freely(self.largest, 1, t + 1)

    def _freely(self, e: int, fewest: int, steps: int) -> tuple[int, Array, Array]:
        taken = np.arange(fewest, min(self.n, steps) + 1)
        kept = self.n - taken
        sums = self.sums[kept]
        turn = 2 * sums // max(e, 1) + 1
        size = np.clip(turn, kept, kept + steps - taken).astype(np.int64)
        return e, size[size > 0], sums[size > 0]

    @staticmethod
    def _largest(e: int, sizes: Array, sums: Array) -> Fraction:
        """The largest ``(e s - P) / (s (s + 1))``: floats find the candidates, integers decide."""
        if not len(sizes):
            return Fraction(0)
        whole = sizes.astype(sums.dtype)
        tops = e * whole - sums
        rough = tops.astype(np.float64) / sizes / (sizes + 1.0)
        most = float(rough.max())
        near = np.flatnonzero(rough >= most - abs(most) * 2.0**-48)
        pairs = {(int(tops[k]), int(sizes[k])) for k in near.tolist()}
        return max(Fraction(top, s * (s + 1)) for top, s in pairs)

    def rough(self, t: int, relation: Relation) -> float:
        """The best rise in floats, rounded up.

        ``e s - P`` is written as ``sum (e - v) + e a`` over the records kept: no term is negative,
        so sums of ``n`` terms err by less than ``n 2**-52``, relatively, which is added.  So the
        result is above the truth by less than a relative ``(n + 8) 2**-50``.
        """
        best = 0.0
        if relation != "remove":
            best = self._rough_rise(float(self.data.span), self._below_span, 0, t, relation)
        if relation != "add":
            e, below = self._below_largest
            best = max(best, self._rough_rise(e, below, 1, t + 1, relation))
        return best * (1 + (self.n + 8) * 2.0**-51)

    def _rough_rise(
        self, e: float, below: Array, fewest: int, steps: int, relation: Relation
    ) -> float:
        most = 0 if relation == "add" else min(self.n, steps)
        kept = self.n - np.arange(fewest, most + 1, dtype=np.int64)
        room = 0 if relation == "remove" else steps - (self.n - kept)
        turn = (2 * (kept - below[kept] / e) + 1).astype(np.int64) if e else kept
        best = 0.0
        for near in (-1, 0, 1):  # the turn itself was rounded
            s = np.maximum(np.clip(turn + near, kept, kept + room), 1)
            rise = (below[kept] + e * (s - kept)) / s / (s + 1.0)
            best = max(best, float(rise[s - kept <= room].max(initial=0.0)))
        return best

    @cached_property
    def _below_span(self) -> Array:
        ranks, unit = self.data.quick
        return _running((ranks[-1] - ranks[2:-2]).astype(np.float64) * float(unit))

    @cached_property
    def _below_largest(self) -> tuple[float, Array]:
        ranks, unit = self.data.quick
        gaps = (ranks[-3] - ranks[2:-2]).astype(np.float64) * float(unit)
        return float(ranks[-3] - ranks[0]) * float(unit), _running(gaps)


def _running(terms: Array) -> Array:
    return np.concatenate(([0.0], np.cumsum(terms)))
