"""Local sensitivity of the variance at a distance, where records join or leave.

``T = S + e``, ``s = |S|``, with mean ``m`` and sum of squared deviations ``D`` of ``S``:

    ``V(T) - V(S) = alpha (e - m)**2 - gamma D``,

``alpha = s / (s+1)**2, gamma = 1 / (s (s+1))`` for ``ddof = 0``, and ``alpha = 1 / (s+1), gamma = 1 / (s (s-1))``
for ``ddof = 1``.

**Rises** (exact up to the rounding of floats).  The record ``e`` is ``U`` and joins ``S``, or is the largest
of ``x`` and leaves ``T`` (or the mirror image): the rise is convex in ``e``.  As ``D = Q - s m**2`` with
``Q`` the sum of squares, the rise is a convex function of the mean of ``S`` minus ``gamma Q``.  A convex
function is the supremum of its tangents, so the best ``S`` is also best for the tangent at its own
mean, that is for ``-gamma sum (v - z)**2`` with one ``z``: the records kept are those nearest to ``z``,
consecutive in ``x``, and all the others stand at one place in ``[L, U]``.  In that place the rise is a
quadratic: its top where it is concave, or a bound.

**Falls** (an upper bound).  A fall is at most ``gamma D``, reached by ``e = m``, and ``D`` is at most the
squared distances from any centre: those of the records of ``x`` without the nearest ones, and the largest
possible one for each that joined.  Mostly the rise is larger and then ``A(t)`` is the truth.

Beyond 128 steps a bound that needs no data but ``n`` serves: ``alpha (U - L)**2`` for the least ``s``.
It bounds rises because ``gamma D >= 0``, and falls because ``gamma D <= gamma s (U - L)**2 / 4``.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.exact import float_up
from tacit.statistics.at_distance import AtDistance
from tacit.statistics.clamped import Clamped
from tacit.statistics.question import Relation

__all__ = ["VarianceBySize"]

Floats = npt.NDArray[np.float64]
_STEPS = 128


class VarianceBySize(AtDistance):
    """A proven upper bound on ``A(t)`` under ``unbounded``, ``add`` or ``remove``."""

    exact = False

    def __init__(self, data: Clamped, relation: Relation, ddof: int) -> None:
        self.n = len(data)
        self.relation, self.ddof = relation, ddof
        self.span = float_up(data.span)
        self.last = {"add": _STEPS + 1, "remove": max(self.n - 2 - ddof, 0)}.get(
            relation, self.n + 1
        )
        self._sides = tuple(self._shifted(d) for d in (data, data.mirrored()))

    @staticmethod
    def _shifted(data: Clamped) -> Floats:
        ranks, unit = data.quick
        return np.asarray((ranks[2:-2] - ranks[0]).astype(np.float64) * float(unit))

    def at(self, distance: int) -> float:
        """An upper bound on ``A(distance)``, in floats, rounded up."""
        t = min(distance, self.last)
        if self.relation == "remove" and self.n < 2 + self.ddof:
            return 0.0
        far = self._from_size(t)
        return far if t > _STEPS else min(far, float(self._table[t]))

    def _from_size(self, t: int) -> float:
        fewest = 1 + self.ddof
        s = max(fewest, self.n - t - 1) if self.relation != "add" else self.n
        return float(self._alpha(np.float64(s))) * self.span**2 * (1 + 2.0**-48)

    def _alpha(self, s: Floats | np.float64) -> Floats:
        return np.asarray(1 / (s + 1) if self.ddof else s / (s + 1) ** 2)

    def _gamma(self, s: Floats | np.float64) -> Floats:
        return np.asarray(1 / (s * (s - 1)) if self.ddof else 1 / (s * (s + 1)))

    @cached_property
    def _table(self) -> Floats:
        """The bound for every distance up to 128, or to the last.

        Prefix sums of ``n`` squares err by at most ``2**-52 n`` of ``n span**2``, which enters the
        result times ``gamma``: the allowance is added.
        """
        steps = min(_STEPS, self.last)
        table = np.zeros(steps + 2)
        for records in self._sides:
            self._rises(records, steps, table)
            self._falls(records, steps, table)
        s = np.maximum(1.0 + self.ddof, self.n - np.arange(steps + 2) - 1.0)
        error = 2.0**-48 * (self.n + steps) * self.span**2 * (self._alpha(s) + self._gamma(s) * s)
        return np.asarray(np.maximum.accumulate(table) + error)

    def _rises(self, records: Floats, steps: int, table: Floats) -> None:
        sums = np.concatenate(([0.0], np.cumsum(records)))
        squares = np.concatenate(([0.0], np.cumsum(records**2)))
        for e, fewest in ((self.span, 0), (float(records[-1]), 1)):
            if fewest == (1 if self.relation == "add" else 2):
                continue
            if self.relation == "remove" and not fewest:
                continue
            for taken in range(fewest, min(self.n, steps + fewest) + 1):
                if self.relation == "add" and taken:
                    break
                first = np.arange(taken - fewest + 1)[:, None]
                last = first + self.n - taken
                others = np.arange(1 if self.relation == "remove" else steps + fewest - taken + 1)
                rise = self._rise(e, sums[last] - sums[first], squares[last] - squares[first], others, self.n - taken)
                at = taken + others - fewest
                np.maximum.at(table, at, rise.max(axis=0, initial=0.0))

    def _rise(self, e: float, p: Floats, q: Floats, others: npt.NDArray[np.int64], kept: int) -> Floats:
        """The best rise for windows (rows) and numbers of other records (columns)."""
        a = others.astype(np.float64)
        s = np.where(kept + a > self.ddof, kept + a, np.nan)
        alpha, gamma = self._alpha(s), self._gamma(s)
        square = a * (alpha * a / s**2 - gamma + gamma * a / s)
        slope = -2 * alpha * a * (e - p / s) / s + 2 * gamma * p * a / s
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(square < 0, -slope / (2 * square), 0.0)
        best = np.zeros(np.broadcast_shapes(p.shape, a.shape))
        for z in (np.zeros_like(top), np.clip(top, 0, self.span), np.full_like(top, self.span)):
            total = p + a * z
            spread = q + a * z**2 - total**2 / s
            best = np.fmax(best, alpha * (e - total / s) ** 2 - gamma * spread)
        return best

    def _falls(self, records: Floats, steps: int, table: Floats) -> None:
        centre = float(records.mean())
        away = (records - centre) ** 2
        middle = int(np.searchsorted(records, centre))
        near = np.sort(away[max(0, middle - steps - 2) : middle + steps + 2])
        left_out = np.concatenate(([0.0], np.cumsum(near)))
        spread, farthest = float(away.sum()), max(centre, self.span - centre) ** 2
        most = steps + 1
        taken = np.arange(min(most, self.n, len(near)) + 1)[:, None]
        others = np.arange(most + 1)[None, :]
        if self.relation == "add":
            taken = taken[:1]
        elif self.relation == "remove":
            others = others[:, :1]
        s = (self.n - taken + others).astype(np.float64)
        s = np.where(s > self.ddof, s, np.nan)
        fall = self._gamma(s) * np.maximum(spread - left_out[taken] + others * farthest, 0.0)
        at = taken + others - (taken > 0)  # one of those that left may be the one that leaves
        reached = (at <= steps) & np.isfinite(fall)
        np.maximum.at(table, at[reached], fall[reached])
