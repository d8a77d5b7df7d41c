"""Local sensitivity of the variance at a distance, by substitution: exact.

Replacing ``b`` by ``e`` beside ``C`` (``n - 1`` records with sum ``S``) changes ``n`` squared
times the variance by

    ``J = (e - b) ((n - 1)(e + b) - 2 S)``,

because the squares inside ``C`` cancel.  Say ``e > b`` and ``J > 0`` (the mirror image serves the
rest): ``S`` should be as small as it can, and ``J`` is convex in ``e``, so ``e`` is as large as
it can be. One of the two data sets ``C + b`` and ``C + e`` is at distance ``t`` from ``x``:

1. ``b`` is a record of ``x``, ``e = U``: ``C`` is ``x`` without ``b`` and its ``t`` largest, with
   ``t`` times ``L``.  With ``Y = S + b`` fixed, ``J`` is concave in ``b`` with its top at ``(U +
   Y) / (n + 1)``: one of the two kept records around it.  (A ``b`` among the ``t`` largest leaves
   the same ``C`` as ``b = x_(n-t)``, which is nearer to the top ``S / (n - 1)`` for that ``C``, a
   mean of smaller records.)
2. ``b`` is new, ``e = U``: ``C`` is ``x`` without its ``t`` largest, with ``t - 1`` times ``L``,
   and ``b`` at the top ``S / (n - 1)`` of a concave function.
3. ``e`` is a record of ``x``, so the largest, and ``b`` is new: ``C`` is ``x`` without its ``t +
   1`` largest, with ``t`` times ``L``.

One more step never hurts: ``S`` does not rise, and a ``b`` or ``e`` that would have to be given
up is covered by case 2, where both are free.  At ``t = n`` all is at ``L``: ``A(n) = (n - 1)(U -
L)**2 / n**2``. With ``ddof = 1`` everything is larger by ``n / (n - 1)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.errors import InfeasibleError
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array
from tacit.statistics.variances.variance_bound_by_size import VarianceBySize

__all__ = ["VarianceAtDistance", "variance_at_distance"]


def variance_at_distance(
    data: Clamped, relation: Relation, ddof: int = 0
) -> VarianceAtDistance | VarianceBySize:
    """``A(t)`` of the variance: exact by substitution, else a proven upper bound.

    Raises:
        InfeasibleError: too few records for this ``ddof``.

    >>> a = variance_at_distance(Clamped([1, 2, 4], 0, 10), "bounded")
    >>> str(a.at(0)), str(a.at(3))
    ('44/3', '200/9')
    """
    if len(data) <= ddof:
        raise InfeasibleError(f"a variance with ddof={ddof} needs at least {ddof + 1} records")
    if relation == "bounded":
        return VarianceAtDistance(data, ddof)
    return VarianceBySize(data, relation, ddof)


class VarianceAtDistance(AtDistance):
    """``A(t)`` of the variance under ``bounded``."""

    def __init__(self, data: Clamped, ddof: int) -> None:
        n = self.last = len(data)
        self._unit = data.grain**2 / (n * (n - ddof))
        self._sides = _Rise(data), _Rise(data.mirrored())

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        return max(side.best(t) for side in self._sides) * self._unit

    rational = at


class _Rise:
    """The largest ``J``, in units of the squared grid."""

    def __init__(self, data: Clamped) -> None:
        self.n = len(data)
        self.data = data

    @cached_property
    def sums(self) -> Array:
        records = self.data.records
        largest = max(abs(self.data.lower), abs(self.data.upper))
        if largest * self.n >= 2**62:
            records = records.astype(object)
        return np.cumsum(records)

    def best(self, t: int) -> Fraction:
        return max((self._change(s, b, e) for s, b, e in self._cases(t)), default=Fraction(0))

    def _cases(self, t: int) -> Iterator[tuple[int, Fraction | int, int]]:
        n, low, high = self.n, self.data.lower, self.data.upper
        records = self.data.records
        if t < n:
            total = self._sum(n - t) + t * low
            top = Fraction(high + total, n + 1)
            at = int(np.searchsorted(records[: n - t], -(-top.numerator // top.denominator)))
            for b in {int(records[k]) for k in (at - 1, at) if 0 <= k < n - t}:
                yield total - b, b, high
            rest = self._sum(n - t - 1) + t * low
            yield rest, self._top(rest), int(records[-1])
        if t >= 1:
            rest = self._sum(n - t) + (t - 1) * low
            yield rest, self._top(rest), high

    def _sum(self, count: int) -> int:
        return int(self.sums[count - 1]) if count else 0

    def _top(self, rest: int) -> Fraction:
        """The best ``b``: the mean of ``C``, inside the bounds (any, for an empty ``C``)."""
        return Fraction(rest, self.n - 1) if self.n > 1 else Fraction(self.data.lower)

    def _change(self, rest: int, b: Fraction | int, e: int) -> Fraction:
        return Fraction((e - b) * ((self.n - 1) * (e + b) - 2 * rest))
