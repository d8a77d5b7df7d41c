"""Local sensitivity of the variance at a distance, where records join or leave.

``T = S + e``, ``s = |S|``, with mean ``m`` and sum of squared deviations ``D`` of ``S``:

    ``V(T) - V(S) = alpha (e - m)**2 - gamma D``,

``alpha = s / (s+1)**2, gamma = 1 / (s (s+1))`` for ``ddof = 0``, and ``alpha = 1 / (s+1), gamma =
1 / (s (s-1))`` for ``ddof = 1``.

**Rises** (exact up to the rounding of floats).  The record ``e`` is ``U`` and joins ``S``, or is
the largest of ``x`` and leaves ``T`` (or the mirror image): the rise is convex in ``e``.  As ``D =
Q - s m**2`` with ``Q`` the sum of squares, the rise is a convex function of the mean of ``S``
minus ``gamma Q``.  A convex function is the supremum of its tangents, so the best ``S`` is also
best for the tangent at its own mean, that is for ``-gamma sum (v - z)**2`` with one ``z``: the
records kept are those nearest to ``z``, consecutive in ``x``, and all the others stand at one
place in ``[L, U]``.  In that place the rise is a quadratic: its top where it is concave, or a
bound.

**Falls** (an upper bound).  A fall is at most ``gamma D``, reached by ``e = m``, and ``D`` is at
most the squared distances from any centre: those of the records of ``x`` without the nearest
ones, and the largest possible one for each that joined.  The least such bound over 33 public
centres is taken: for each centre it is a maximum over all ``S`` in reach, so a neighbour's bound
one step further is never smaller, which smooth sensitivity rests on.  Mostly the rise is larger:
then ``A(t)`` is the truth.

Beyond 128 steps a bound that needs no data but ``n`` serves: ``alpha (U - L)**2`` for the least
``s``.  It bounds rises because ``gamma D >= 0``, and falls because ``gamma D <= gamma s (U - L)**2
/ 4``. It is rational, so it also decides :meth:`VarianceBySize.exceeds`, where no rounding is
allowed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import float_up
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.samples.clamped_sample import Clamped

__all__ = ["VarianceBySize"]

Floats = npt.NDArray[np.float64]
_STEPS = 128
_CENTRES = 33
_MOST_RECORDS = 2 * 10**6


class VarianceBySize(AtDistance):
    """A proven upper bound on ``A(t)`` under ``unbounded``, ``add`` or ``remove``."""

    exact = False

    def __init__(self, data: Clamped, relation: Relation, ddof: int) -> None:
        self.n = len(data)
        self.relation, self.ddof = relation, ddof
        self.span = float_up(data.span)
        self._square = data.span**2
        self.last = {"add": _STEPS + 1, "remove": max(self.n - 2 - ddof, 0)}.get(
            relation, self.n + 1
        )
        self._data = data

    @cached_property
    def _sides(self) -> tuple[Floats, Floats]:
        """The records, and those of the mirror image, in floats above the lower bound."""
        return self._shifted(self._data), self._shifted(self._data.mirrored())

    @staticmethod
    def _shifted(data: Clamped) -> Floats:
        ranks, unit = data.quick
        return np.asarray((ranks[2:-2] - ranks[0]).astype(np.float64) * float(unit))

    def at(self, distance: int) -> float:
        """An upper bound on ``A(distance)``, in floats, rounded up."""
        t = min(distance, self.last)
        far = float_up(self.rational(t))
        tabled = t <= _STEPS and self.n <= _MOST_RECORDS
        return min(far, float(self._table[t])) if tabled else far

    def exceeds(self, distance: int, bound: Fraction) -> bool:
        """Whether the bound from the size alone exceeds ``bound``, exactly."""
        return self.rational(distance) > bound

    def rational(self, distance: int) -> Fraction:
        """An exact upper bound on ``A(distance)``, from the size alone."""
        t, fewest = min(distance, self.last), 1 + self.ddof
        if self.relation == "remove" and self.n <= fewest:
            return Fraction(0)
        s = self.n if self.relation == "add" else max(fewest, self.n - t - 1)
        return self._square * (Fraction(1, s + 1) if self.ddof else Fraction(s, (s + 1) ** 2))

    def _alpha(self, s: Floats | np.float64) -> Floats:
        return np.asarray(1 / (s + 1) if self.ddof else s / (s + 1) ** 2)

    def _gamma(self, s: Floats | np.float64) -> Floats:
        return np.asarray(1 / (s * (s - 1)) if self.ddof else 1 / (s * (s + 1)))

    @cached_property
    def _table(self) -> Floats:
        """The bound for every distance up to 128, or to the last.

        Prefix sums of ``n`` squares err by at most ``2**-52 n`` of ``n span**2``, which enters the
        result times ``gamma``: the allowance is added.  If ``D`` is small the rise to the farther
        bound is large, else the fall: under ``unbounded`` their mean is never below
        ``span**2 / (16 (s + 1))``.  So the allowance stays below a relative 1e-6 up to two million
        records; above, the bound from the size serves.
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
                total, square = sums[last] - sums[first], squares[last] - squares[first]
                rise = self._rise(e, total, square, others, self.n - taken)
                at = taken + others - fewest
                np.maximum.at(table, at, rise.max(axis=0, initial=0.0))

    def _rise(
        self, e: float, p: Floats, q: Floats, others: npt.NDArray[np.int64], kept: int
    ) -> Floats:
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
        """For every public centre the worst ``S``; of these bounds, the least."""
        count = min(steps + 1, self.n)
        taken = np.arange(1 if self.relation == "add" else count + 1)[:, None]
        others = np.arange(1 if self.relation == "remove" else steps + 2)[None, :]
        at = taken + others - (taken > 0)  # one of those that left may be the one that leaves
        s = (self.n - taken + others).astype(np.float64)
        reached = (at <= steps) & (s > self.ddof)
        gamma = self._gamma(np.where(reached, s, np.nan))
        least = np.full(steps + 2, np.inf)
        for centre in np.linspace(0, self.span, _CENTRES).tolist():
            spread = self._around(records, centre, count)[taken]
            fall = gamma * (spread + others * max(centre, self.span - centre) ** 2)
            worst = np.zeros(steps + 2)
            np.maximum.at(worst, at[reached], fall[reached])
            least = np.minimum(least, np.maximum.accumulate(worst))
        np.maximum(table, least, out=table)

    def _around(self, records: Floats, centre: float, count: int) -> Floats:
        """The squared distances from a centre, without the 0, 1, ..., ``count`` nearest records."""
        middle = int(np.searchsorted(records, centre))
        near = records[max(0, middle - count) : middle + count]
        squares = np.sort((near - centre) ** 2)[:count]
        whole = float(((records - centre) ** 2).sum())
        return np.maximum(whole - np.concatenate(([0.0], np.cumsum(squares))), 0.0)
