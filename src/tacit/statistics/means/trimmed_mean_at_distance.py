"""Local sensitivity of the trimmed mean at a distance, by substitution: exact.

With ``m`` records left out at either end, ``w = n - 2 m`` remain.  Replacing ``b`` by ``e`` beside
``C`` (of ``n - 1`` records) is worst with ``b`` low and ``e`` high, and then the records kept are
``c_m .. c_(n-1-m)`` before and ``c_(m+1) .. c_(n-m)`` after: the mean rises by ``(c_(n-m) - c_m)
/ w``.  Of the records between these two, ``w - 1`` belong to ``C``, and at most ``t`` more records
of ``x`` are lacking (the argument of :mod:`tacit.statistics.quantiles.quantile_at_distance`), so
both lie in some ``[x_i, x_(i+w+t)]``, and

    ``A(t) = max (x_(i+w+t) - x_i) / w`` over ``m + 1 - (t + 1) <= i <= m + 1``,

with ``x_i = L`` below and ``U`` above (Bun and Steinke 2019, *Average-case averages*, NeurIPS).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.arithmetic.exact import float_up
from tacit.statistics.base.at_distance import AtDistance, decayed
from tacit.statistics.quantiles.rank_pair_search import Indices, Staircase
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.counted_sample import Ranks
from tacit.statistics.samples.sample import Array

__all__ = ["TrimmedAtDistance"]


class TrimmedAtDistance(AtDistance):
    """``A(t)`` of the trimmed mean under ``bounded``.

    Args:
        data: the records in bounds.
        left_out: how many records are left out at either end, fewer than half of all.

    >>> a = TrimmedAtDistance(Clamped([1, 2, 4, 7, 9], 0, 10), 1)
    >>> [str(a.at(t)) for t in range(3)]
    ['7/3', '8/3', '3']
    """

    def __init__(self, data: Clamped, left_out: int) -> None:
        self.data, self.left_out = data, left_out
        self.last = len(data)
        self.kept = len(data) - 2 * left_out

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact."""
        t = min(distance, self.last)
        return int(self._search(exact=True).within(t)) * self.data.grain / self.kept

    def instability(self, bound: Fraction) -> int | None:
        """The least ``t`` with ``A(t) > bound``: the cheapest pair of ranks with such a value."""
        return self._search(exact=True).nearest(int(bound * self.kept / self.data.grain))

    def instabilities(self, bounds: Sequence[Fraction]) -> list[int | None]:
        """:meth:`instability` of each bound: it is found at once, and needs no search."""
        return [self.instability(bound) for bound in bounds]

    def smooth(self, beta: Fraction) -> float:
        """``max_t exp(-beta t) A(t)``, over all pairs of ranks at once."""
        search = self._search(exact=False)
        start = search.nearest(0)
        if start is None:
            return 0.0
        found = Fraction(search.decayed(beta, start)) * self.data.quick[1] / self.kept
        return decayed(float_up(found), beta, start)

    def _search(self, *, exact: bool) -> Staircase:
        return self._exact if exact else self._quick

    @cached_property
    def _exact(self) -> Staircase:
        return self._pairs(self.data.padded)

    @cached_property
    def _quick(self) -> Staircase:
        return self._pairs(self.data.quick[0])

    def _pairs(self, ranks: Array | Ranks) -> Staircase:
        """The pair ``(i, r)`` stands for ``x_(r-1) - x_i``; indices are ranks plus one."""
        one, none = np.array([1]), np.array([0])
        m, n = self.left_out, len(self.data)
        steps = _Wider(self.kept)
        return Staircase(ranks, one, none, steps, (0, m + 2), (n - m + 2, n + 3))


class _Wider:
    """``t`` more records than the ``w - 1`` between ``i`` and ``r - 1``."""

    def __init__(self, kept: int) -> None:
        self.kept = kept

    def exact(self, kind: Indices, low: Indices, high: Indices) -> Indices:
        return np.asarray(np.maximum(high - low - 1 - self.kept, 0))

    def least(self, kind: Indices, i1: Indices, i2: Indices, r1: Indices, r2: Indices) -> Indices:
        return np.asarray(np.maximum(r1 - i2 - 1 - self.kept, 0))
