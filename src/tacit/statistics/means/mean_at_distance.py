"""Local sensitivity of the mean at a distance, exact.

Below, ``L = 0`` (shift the data), ``P_k`` is the sum of the ``k`` smallest records (0 for ``k <=
0``), and only rises of the mean are spelled out: the mirror image serves the falls.

**Substitution.**  The sum's, over ``n``.

**Add or remove.**  A record ``e`` that joins a set ``S`` of ``s`` records moves the mean by ``(e
- mean(S)) / (s + 1)``.  ``S`` is ``x`` without ``d`` records and with ``a`` others: a rise is
largest if the ``d`` largest left and the others are ``0``, with ``k = n - d`` and ``s = k + a``:

    ``rise = (e s - P_k) / (s (s + 1))``.

Either ``e = U`` joins ``S``, which is at distance ``d + a``; or ``e`` is a record of ``x``, the
largest, and leaves ``S + e``, which is at distance ``d + a - 1`` and has ``d >= 1`` (any other
record gives a smaller rise).  Within ``r`` steps ``d + a = n + s - 2 k <= r``, and ``P`` never
falls in ``k``: for a given ``s`` the least ``k`` is best, ``(s + n - r) / 2`` rounded up, and ``s``
runs from ``n - r`` to ``n + r - 2 d``, ``d`` being the fewest that may have left.

Among the ``s`` of one parity ``k`` is linear in ``s``, and ``P`` is convex, because records
ascend: ``e s - P_k`` is concave, and never negative.  So wherever it is at least ``c s (s + 1)``,
for a ``c >= 0``, is one stretch of ``s``: the rise has one top, towards which it never falls.  (Two
neighbours that are level are the top, or both 0 behind it: a concave function meets a strictly
convex one twice.)  Hence halving finds it, and ``A(t)`` takes the logarithm of ``n`` looks at
running sums.  It ends at half the range, for ``s = 1``, at ``t = n + 1``.

**Add.**  ``d = 0`` and ``e = U``.  **Remove.**  ``a = 0``, ``e`` is the largest record, and ``t = d
- 1``.  Here ``k`` is ``n`` or ``s``, and the same argument holds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.prefix_sums import Sums

__all__ = ["MeanAtDistance", "mean_at_distance"]


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


class _Rises:
    """How far the mean can rise, in units of the grid."""

    def __init__(self, data: Clamped) -> None:
        self.data = data
        self.n = len(data)
        self.span = data.upper - data.lower

    @cached_property
    def largest(self) -> int:
        return int(self.data.runs[0][-1]) - self.data.lower

    @cached_property
    def sums(self) -> Sums:
        values, ends = self.data.runs
        return Sums(values - self.data.lower, ends)

    def best(self, t: int, relation: Relation) -> Fraction:
        return max((line.top() for line in self._lines(t, relation)), default=Fraction(0))

    def _lines(self, t: int, relation: Relation) -> Iterator[_Line]:
        """The sets that can be reached, by the record that joins or leaves them."""
        n = self.n
        if relation == "add":
            yield _Line(self.sums, self.span, n, n + t, 1, lambda s: n)
        elif relation == "remove":
            yield _Line(self.sums, self.largest, max(1, n - t - 1), n - 1, 1, lambda s: s)
        else:
            yield from self._freely(self.span, 0, t)
            yield from self._freely(self.largest, 1, t + 1)

    def _freely(self, e: int, fewest: int, steps: int) -> Iterator[_Line]:
        less = self.n - steps
        first, last = max(1, less), self.n + steps - 2 * fewest
        for start in (first, first + 1):
            yield _Line(self.sums, e, start, last, 2, lambda s: max(0, (s + less + 1) // 2))


@dataclass(frozen=True)
class _Line:
    """The sizes ``first, first + stride, .. last`` of ``S``, and how many records it keeps."""

    sums: Sums
    e: int
    first: int
    last: int
    stride: int
    kept: Callable[[int], int]

    def top(self) -> Fraction:
        """The largest ``(e s - P) / (s (s + 1))``, which rises to one top and falls behind it."""
        most = (self.last - self.first) // self.stride
        if most < 0:
            return Fraction(0)
        return Fraction(*self._rise(bisect_left(range(most), True, key=self._falls)))

    def _falls(self, place: int) -> bool:
        (a, below), (b, above) = self._rise(place), self._rise(place + 1)
        return a * above >= b * below

    def _rise(self, place: int) -> tuple[int, int]:
        s = self.first + place * self.stride
        return self.e * s - self.sums(self.kept(s)), s * (s + 1)
