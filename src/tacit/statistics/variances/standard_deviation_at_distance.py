"""Local sensitivity of the standard deviation at a distance: a proven upper bound.

If two neighbours have variances ``v <= w`` with ``w - v <= A`` and ``v >= v0``, their deviations
differ by

    ``sqrt(w) - sqrt(v) <= sqrt(v + A) - sqrt(v) <= sqrt(v0 + A) - sqrt(v0)``,

because the middle falls in ``v``.  ``A`` is the variance's own local sensitivity at distance
``t``, and ``v0`` the least variance within ``t + 1`` steps.  Of any data set there, at least ``n -
t - 1`` records are records of ``x``; their squared deviations from its mean are at least those
from their own mean, and the least of these belongs to consecutive records: the window in ``x``
with the least squared deviations.

By substitution also: ``sqrt(n) std`` is the length of the centred data, and moving one coordinate
by ``d`` moves the centred data by ``d sqrt((n-1)/n)``; hence never more than ``(U - L)
sqrt((n-1)/(n (n - ddof)))``, and at ``t = 0`` with ``max(U - x_1, x_n - L)`` for ``U - L``.  At
``t >= n`` that is the truth.
"""

from __future__ import annotations

import bisect
from fractions import Fraction
from functools import cached_property
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.square_root import Root, gap
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array
from tacit.statistics.variances.variance_at_distance import variance_at_distance

__all__ = ["DeviationAtDistance"]

Runs = tuple[npt.NDArray[np.int64], Array, Array, Array]


class DeviationAtDistance(AtDistance):
    """A proven upper bound on ``A(t)`` of the standard deviation.

    >>> a = DeviationAtDistance(Clamped([1, 2, 4], 0, 10), "bounded", 0)
    >>> round(a.at(3), 6)
    4.714045
    """

    exact = False

    def __init__(self, data: Clamped, relation: Relation, ddof: int) -> None:
        self.data, self.ddof = data, ddof
        self.relation = relation
        self.n = len(data)
        self._known: list[tuple[int, Fraction]] = []  # steps and the least variance, in order
        self._variance = variance_at_distance(data, relation, ddof)
        self.last = max(self._variance.last, self.n + 1)
        if relation == "remove":
            self.last = self._variance.last

    def at(self, distance: int) -> float:
        """An upper bound on ``A(distance)``, rounded up."""
        t = min(distance, self.last)
        least = self._least_variance(t + 1)
        wide = least + Fraction(self._variance.at(t))
        found = float(gap(Root(wide), Root(least)))
        return min(found, float(self._by_length(t))) if self.relation == "bounded" else found

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        """Whether the bound exceeds ``bound``, without a root.

        ``sqrt(v0 + A) - sqrt(v0) > b`` says ``A - b**2 > 2 b sqrt(v0)``.
        """
        t = min(distance, self.last)
        if self.relation == "bounded" and not self._by_length(t) > bound:
            return False
        room = self._variance.rational(t) - bound**2
        if room <= 0 or bound == 0:
            return room > 0
        return self._least_variance_is_below(t + 1, (room / (2 * bound)) ** 2)

    def _least_variance_is_below(self, steps: int, limit: Fraction) -> bool:
        """Whether :meth:`_least_variance` is below a limit, from what is known where that says it.

        It falls as the steps grow: fewer records are kept, and more are divided by.
        """
        at = bisect.bisect_left(self._known, steps, key=itemgetter(0))
        if at and self._known[at - 1][1] < limit:
            return True
        if at < len(self._known) and self._known[at][1] >= limit:
            return False
        least = self._least_variance(steps)
        self._known.insert(at, (steps, least))
        return least < limit

    def _by_length(self, t: int) -> Root:
        low, high = self.data.records[0], self.data.records[-1]
        span = self.data.upper - self.data.lower
        move = span if t else max(self.data.upper - int(low), int(high) - self.data.lower)
        square = (move * self.data.grain) ** 2 * (self.n - 1)
        return Root(square / (self.n * (self.n - self.ddof)))

    def _least_variance(self, steps: int) -> Fraction:
        """No more than the least variance of a data set within so many steps, exact.

        While both ends of the window move within runs of equal records, its sum and its sum of
        squares change by the same at every step, so that the squared deviations are concave: the
        least are where an end of the window meets the edge of a run.
        """
        kept = self.n - steps
        if kept < 2:
            return Fraction(0)
        edges = self._runs[0]
        first = np.concatenate((edges, edges - kept, [0, steps]))
        first = self._likely(first[(first >= 0) & (first <= steps)], kept)
        runs = self._runs
        (low, low_squares), (high, high_squares) = _up_to(runs, first), _up_to(runs, first + kept)
        p, q = high - low, high_squares - low_squares
        most_records = self.n if self.relation in ("bounded", "remove") else self.n + steps
        least = int((kept * q - p * p).min())
        return Fraction(least, kept * (most_records - self.ddof)) * self.data.grain**2

    def _likely(self, first: npt.NDArray[np.int64], kept: int) -> npt.NDArray[np.int64]:
        """Those of the windows whose ``kept q - p**2`` can be the least, judged in floats.

        With S and Q the sum and the sum of squares of all records and u = 2**-53, the floats give p
        within 8 u S and q within 8 u Q, so that ``kept q - p**2`` is within 32 u n Q, as
        ``S**2 <= n Q`` by Cauchy and Schwarz.  The least is among those that come within twice
        that of the least float.
        """
        (low, low_squares), (high, high_squares) = (
            _up_to(self._floats, count) for count in (first, first + kept)
        )
        rough = kept * (high_squares - low_squares) - (high - low) ** 2
        near = 2.0**-47 * self.n * self._floats[3][-1]
        likely: npt.NDArray[np.int64] = first[rough <= rough.min() + near]
        return likely

    @cached_property
    def _runs(self) -> Runs:
        """Where runs of equal records begin, their values, and sums and squares before them.

        In integers above the lower bound; and the end of all records, as a run of zeros.
        """
        values, ends = self.data.runs
        if ends is None:
            ends = np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, self.n)
            values = values[ends - 1]
        edges = np.concatenate(([0], ends))
        small = (self.n * (self.data.upper - self.data.lower)) ** 2 < 2**62
        above = np.append(values.astype(np.int64 if small else object) - self.data.lower, 0)
        counts = np.diff(edges).astype(above.dtype)
        sums, squares = np.zeros_like(above), np.zeros_like(above)
        np.cumsum(above[:-1] * counts, out=sums[1:])
        np.cumsum(above[:-1] ** 2 * counts, out=squares[1:])
        return edges, above, sums, squares

    @cached_property
    def _floats(self) -> Runs:
        edges, *exact = self._runs
        values, sums, squares = (each.astype(np.float64) for each in exact)
        return edges, values, sums, squares


def _up_to(runs: Runs, count: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """The sums and the sums of squares of so many of the smallest records."""
    edges, values, sums, squares = runs
    run = edges.searchsorted(count, "right") - 1
    more = (count - edges[run]).astype(values.dtype) * values[run]
    return sums[run] + more, squares[run] + more * values[run]
