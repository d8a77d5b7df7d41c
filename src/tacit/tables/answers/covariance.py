"""Covariance and correlation of two columns: the kinds ``covariance`` and ``correlation``.

**Mechanism.**  The sums of :class:`~tacit.tables.chain.products.ProductsByGroup`; all else is
post-processing of them.  Let the columns be rescaled to s and t in [-1, 1], let n, p, q, r, a, b be
``sum 1, s, t, s t, s^2, t^2`` over the rows that have both, with hats where they are noisy, and
let m and l be the true means of s and t.

**Interval of the covariance.**  Let c be the true sample covariance, so ``r - m q - l p + m l n =
(n - 1) c``.  Then the noise alone makes up

    ``N = r^ - m q^ - l p^ + m l n^ - c (n^ - 1)``,

a weighted sum of independent noises with weights that do not depend on them.  With ``d = p^ / n^
- m`` and ``e = q^ / n^ - l``, and the plain estimate ``c^ = (r^ - p^ q^ / n^) / (n^ - 1)``, the
same N is ``(n^ - 1) (c^ - c) + n^ d e`` (multiply out ``p^ - m n^ = n^ d`` and ``q^ - l n^ = n^
e``).  So

    ``|c^ - c| <= (|N| + n^ |d| |e|) / (n^ - 1)``   for every n^ > 1.

Bands of all sums hold but for a chance of 0.005, which bounds ``d``, ``e`` and the weights of N;
and given weights, N is within its quantile but for a chance of 0.045, which is taken at the largest
weights in their bands.  Both hold with probability 0.95, and then so does the interval.  Where the
band of n reaches below two rows, the interval is the whole range of what can be; the covariance of
fewer rows is taken as 0.  Rows that are down-weighted count with their weights, in n too.

**Interval of the correlation.**  Let v, w be the true variances and ``R = c (n - 1) / (n sqrt(v
w))``.  The weighted sum ``N = r' / sqrt(v w) - R/2 (a' / v + b' / w)``, where ``r' = r^ - m q^ - l
p^ + m l n^``, ``a' = a^ - 2 m p^ + m^2 n^`` and ``b'`` likewise, is of noise alone, for its true
value is ``n R - n R = 0``.  As before ``r' = n^ (c^ + d e)``, ``a' = n^ (v^ + d^2)``, ``b' = n^
(w^ + e^2)`` with plain estimates of the covariance and variances (all divided by n^).  Write ``A =
v^ / v``, ``B = w^ / w`` and ``R^ = c^ / sqrt(v^ w^)``; then ``c^ / sqrt(v w) = R^ sqrt(A B)`` and

    ``(R^ - R) sqrt(A B) = N / n^ - d e / sqrt(v w) + R/2 (d^2 / v + e^2 / w)
    + R/2 (sqrt A - sqrt B)^2``.

Every term is bounded as above.  Where a true variance may be zero, the interval is [-1, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.calls import public
from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate, Setting, register_kind
from tacit.tables.answers.several_columns import (
    APART,
    Bounds,
    NoisySums,
    ProductsPart,
    SeveralColumns,
    of_columns,
)
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.noise_forms import Band
from tacit.tables.chain.part import LEVEL, Noise, Part

__all__ = ["CovariancePart", "correlation", "covariance"]

_REST = 1 - LEVEL - APART
_LEAST = 1e-12
"""A variance of a rescaled column below this is taken as zero."""


@public
def covariance(x: str, y: str, bounds: Bounds | None = None) -> Aggregate:
    """Return the sample covariance of two columns (divided by n - 1), each clamped to its bounds.

    Rows in which one of the two is missing are left out.

    Args:
        x: a column of numbers.
        y: another.
        bounds: of the columns, by name; those of a data set where it declares them.

    Raises:
        UsageError: the same column twice, or bounds that do not rise or are of another column.

    >>> print(covariance("age", "pay", bounds={"age": (0, 100), "pay": (0, 1000)}))
    covariance(age, 0, 100, pay, 0, 1000)
    """
    return of_columns("covariance", [x, y], bounds)


@public
def correlation(x: str, y: str, bounds: Bounds | None = None) -> Aggregate:
    """Return Pearson's correlation of two columns, each clamped to its bounds.

    Rows in which one of the two is missing are left out.

    Args:
        x: a column of numbers.
        y: another.
        bounds: of the columns, by name; those of a data set where it declares them.

    Raises:
        UsageError: the same column twice, or bounds that do not rise or are of another column.

    >>> print(correlation("age", "pay", bounds={"age": (0, 100), "pay": (0, 1000)}))
    correlation(age, 0, 100, pay, 0, 1000)
    """
    return of_columns("correlation", [x, y], bounds)


@dataclass(frozen=True)
class CovariancePart(ProductsPart):
    """Covariance and correlation of two columns, from one vector."""

    kinds: frozenset[str]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{', '.join(sorted(self.kinds))} of {' and '.join(self.columns)}"

    @property
    def squares(self) -> tuple[int, ...]:
        """Both columns, where a correlation is asked."""
        return (0, 1) if "correlation" in self.kinds else ()

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return every kind that was asked."""
        pair = _Pair(self.sums(released[0], noise))
        found = {}
        if "covariance" in self.kinds:
            rescaled, scale = pair.covariance(), float(np.prod(self.halves))
            found["covariance"] = Estimate(
                rescaled.value * scale,
                rescaled.standard_error * scale,
                rescaled.lower * scale,
                rescaled.upper * scale,
            )
        if "correlation" in self.kinds:
            found["correlation"] = pair.correlation()
        return found

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for independent values spread evenly over the bounds."""
        even = self.basis(noise).even(rows)
        return float(self.estimates([even], noise)[kind].standard_error[0])


class _Pair:
    """What noisy sums say of two columns that are rescaled to [-1, 1]; see the module."""

    def __init__(self, sums: NoisySums) -> None:
        self._sums = sums
        self._found, self._off = sums.band(APART)
        place = {factors: i for i, factors in enumerate(sums.basis.monomials)}
        self._n, self._p, self._q, self._r, self._a, self._b = (
            place.get(f, -1) for f in ((), (0,), (1,), (0, 1), (0, 0), (1, 1))
        )
        n = self._found[:, self._n]
        self.known = n > 2.0 + self._off[self._n]
        """Whether there are two rows at least, within the bands; else anything is possible."""
        self.size = np.maximum(n, 2.0)
        self._mean_p, self._gap_p = self._mean(self._p)
        self._mean_q, self._gap_q = self._mean(self._q)

    def _mean(self, place: int) -> tuple[Band, Array]:
        """Return where a true mean is, and how far the plain estimate is from it at most.

        ``p^ - m n^`` is the noise on p less m times that on n, and m is in [-1, 1].
        """
        plain = self._found[:, place] / self.size
        gap = (self._off[place] + self._off[self._n]) / self.size
        least = np.minimum(np.abs(plain) + gap, 1.0)
        gap = (self._off[place] + least * self._off[self._n]) / self.size
        return Band(plain, gap).within(-1.0, 1.0), gap

    def _centred(self) -> tuple[Array, Array]:
        """Return the plain ``sum (s - m^) (t - l^)``, and how far off the true one's noise is."""
        found, off, m, k = self._found, self._off, self._mean_p.most, self._mean_q.most
        plain = found[:, self._r] - found[:, self._p] * found[:, self._q] / self.size
        moved = off[self._r] + m * off[self._q] + k * off[self._p] + m * k * off[self._n]
        return plain, moved + self.size * self._gap_p * self._gap_q

    def _weights(self, given: dict[int, Band]) -> Band:
        centre, radius = np.zeros_like(self._found), np.zeros_like(self._found)
        for place, band in given.items():
            centre[:, place], radius[:, place] = band.centre, band.radius
        return Band(centre, radius)

    def covariance(self) -> Estimate:
        """Return the sample covariance with its interval."""
        plain, moved = self._centred()
        # of n rows within [-1, 1] it is at most n / (n - 1)
        least = np.maximum(self._found[:, self._n] - self._off[self._n], 2.0)
        cap = least / (least - 1)
        rows = self.size - 1
        guess, most = plain / rows, cap
        for _ in range(2):
            radius = (moved + most * self._off[self._n]) / rows
            most = np.minimum(cap, np.abs(guess) + radius)
        near = Band.between(np.clip(guess - radius, -cap, cap), np.clip(guess + radius, -cap, cap))
        one = Band.exactly(np.ones_like(plain))
        weights = self._weights(
            {
                self._n: self._mean_p * self._mean_q - near,
                self._p: -self._mean_q,
                self._q: -self._mean_p,
                self._r: one,
            }
        )
        off = self._sums.quantile(weights.centre, weights.radius, _REST)
        half = (off + self.size * self._gap_p * self._gap_q) / rows
        half = np.where(self.known, half, np.inf)
        error = np.minimum(self._sums.deviation(weights.centre) / rows, cap)
        value = np.clip(guess, -cap, cap)
        low, high = np.clip(guess - half, -cap, cap), np.clip(guess + half, -cap, cap)
        return Estimate(value, error, low, high)

    def _variance(self, place: int, mean: Band, gap: Array, sums: int) -> tuple[Array, Band]:
        """Return the plain variance, and where the true one is.

        ``n^ (v^ + d^2) - n^ v`` is the noise on ``a - 2 m p + (m^2 - v) n``.
        """
        plain = self._found[:, sums] / self.size - (self._found[:, place] / self.size) ** 2
        off, m = self._off, mean.most
        moved = off[sums] + 2 * m * off[place] + np.maximum(m**2, 1.0) * off[self._n]
        low, high = plain - moved / self.size, plain + gap**2 + moved / self.size
        return plain, Band.between(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))

    def correlation(self) -> Estimate:
        """Return the correlation with its interval."""
        m, k, d, e = self._mean_p, self._mean_q, self._gap_p, self._gap_q
        plain_v, v = self._variance(self._p, m, d, self._a)
        plain_w, w = self._variance(self._q, k, e, self._b)
        positive = self.known & (plain_v > 0) & (plain_w > 0)
        known = positive & (v.low > _LEAST) & (w.low > _LEAST)
        plain_v, plain_w = np.where(positive, plain_v, 1.0), np.where(positive, plain_w, 1.0)
        v_low, v_high, w_low, w_high = (
            np.where(known, x, 1.0) for x in (v.low, v.high, w.low, w.high)
        )
        centred, moved = self._centred()
        plain = np.where(positive, centred / self.size / np.sqrt(plain_v * plain_w), 0.0)
        over = Band.between(1 / np.sqrt(v_high * w_high), 1 / np.sqrt(v_low * w_low))
        over_v, over_w = Band.between(1 / v_high, 1 / v_low), Band.between(1 / w_high, 1 / w_low)
        near = Band(centred / self.size, (moved + self._off[self._n]) / self.size) * over
        half_r = near.within(-1.0, 1.0).scaled(0.5)
        by_v, by_w = half_r * over_v, half_r * over_w
        weights = self._weights(
            {
                self._n: m * k * over - m * m * by_v - k * k * by_w,
                self._p: (m * by_v).scaled(2.0) - k * over,
                self._q: (k * by_w).scaled(2.0) - m * over,
                self._r: over,
                self._a: -by_v,
                self._b: -by_w,
            }
        )
        off = self._sums.quantile(weights.centre, weights.radius, _REST) / self.size
        a_low, a_high = np.sqrt(plain_v / v_high), np.sqrt(plain_v / v_low)
        b_low, b_high = np.sqrt(plain_w / w_high), np.sqrt(plain_w / w_low)
        apart = np.maximum(a_high - b_low, b_high - a_low)
        curved = half_r.most * (apart**2 + d**2 / v_low + e**2 / w_low) + d * e * over.high
        half = np.where(known, (off + curved) / (a_low * b_low), np.inf)
        error = np.minimum(self._sums.deviation(weights.centre) / self.size, 1.0)
        return Estimate(
            np.clip(plain, -1.0, 1.0),
            np.where(known, error, 1.0),
            np.clip(plain - half, -1.0, 1.0),
            np.clip(plain + half, -1.0, 1.0),
        )


class _OfPair(SeveralColumns):
    def shared(self, asked: Aggregate) -> Any:
        return (_OfPair, frozenset(asked.clamped))  # of x and y as of y and x

    def ask(self, columns: Sequence[str], bounds: Bounds) -> Aggregate:
        if len(columns) != 2:
            raise UsageError(f"{self.name} takes two columns, not {len(columns)}")
        made: Aggregate = self.make(*columns, bounds)
        return made

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        beside = before.kinds if isinstance(before, CovariancePart) else frozenset()
        columns = tuple(one.column for one in asked.clamped)
        return CovariancePart(columns, self.grids(asked, setting), beside | {self.name})


register_kind(
    _OfPair(
        name="covariance",
        order=112,
        make=covariance,
        help="The covariance of two columns.",
        noun="the covariance of {column} and {others}",
        fields=("x", "y", "bounds"),
    )
)
register_kind(
    _OfPair(
        name="correlation",
        order=114,
        make=correlation,
        help="The correlation of two columns.",
        noun="the correlation of {column} and {others}",
        fields=("x", "y", "bounds"),
    )
)
