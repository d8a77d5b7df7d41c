"""Covariances, correlations and linear regression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar, cast

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core import Step
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.grid import Grid
from tacit.report.text import listed
from tacit.tables.noise import (
    FIRST_RULES,
    Array,
    Band,
    Estimate,
)
from tacit.tables.query.requests import Products, Request
from tacit.tables.statistics.base import (
    SQUARE_BITS,
    Aggregate,
    Clamped,
    Setting,
    TableStatistic,
    bounded,
    register_statistic,
)
from tacit.tables.statistics.noisy_sums import (
    Flags,
    Line,
    NoisySums,
    last_of,
    last_possible,
    nearer,
)
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part
from tacit.tables.steps import MOST_COLUMNS, MOST_CORNERS, Basis, ProductsByGroup

# What the statistics of two or more columns share: how they are asked, and their noisy sums.


Bounds: TypeAlias = Mapping[str, tuple[Number, Number]]  # the public bounds of columns, by name

# The probability that the sums are outside the bands that an interval rests on: part of the
# five in 100 that an interval may miss.
APART = 0.005

# Offsets of all columns together have at most so many bits where they are all multiplied: with a
# weight of 20 bits and 2^40 rows that is 2^126, within 10^38.
_PRODUCT_BITS = 66


@dataclass(frozen=True)
class OfColumns(TableStatistic):
    """A statistic of several columns."""

    others: tuple[Clamped, ...] = ()  # the columns after the first

    @property
    def clamped(self) -> tuple[Clamped, ...]:
        return (*super().clamped, *self.others)

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        first, *others = bounded
        return replace(super().with_bounds([first]), others=tuple(others))

    def label(self) -> str:
        return "_".join([self.kind, *(one.column for one in self.clamped)])

    def _shown(self) -> tuple[list[str], list[str]]:
        shown = []
        for name, *ends in self.others:
            shown += [name, *(show(end) for end in ends if end is not None)]
        return [], shown

    def _fields_to_json(self) -> dict[str, object]:
        others = [[one.column, str(one.lower), str(one.upper)] for one in self.others]
        return {"others": others} if others else {}

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> TableStatistic:
        bounds = {name: (low, high) for name, low, high in _described(described)}
        return cls.of([name for name, _, _ in _described(described)], bounds)

    @classmethod
    @abstractmethod
    def of(cls, columns: Sequence[str], bounds: Bounds | None) -> TableStatistic:
        """Return the question about columns, in the order of its flag."""

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        columns = _described(described)
        first, *others = [name for name, _, _ in columns]
        words = cls.noun.format(column=first, others=listed(others))
        ends = ", ".join(f"{name} to [{show(low)}, {show(high)}]" for name, low, high in columns)
        return f"{words} (values clamped: {ends})"

    @property
    def statistic(self) -> Any:
        """Raise: the statistics of :mod:`tacit.statistics` are of one column."""
        raise UsageError(
            f"{self.kind} takes several columns, and sensitivities are computed for one"
        )

    def grids(self, setting: Setting) -> tuple[Grid, ...]:
        """Return the grid of each column."""
        bits = SQUARE_BITS
        if len(self.clamped) <= MOST_CORNERS:
            bits = min(bits, _PRODUCT_BITS // len(self.clamped))
        return tuple(setting.grid(type(self)(*one), bits) for one in self.clamped)


_Of = TypeVar("_Of", bound=OfColumns)


def of_columns(of: type[_Of], columns: Sequence[str], bounds: Bounds | None) -> _Of:
    """Return a statistic of several columns, each clamped to its public bounds.

    >>> print(of_columns(Covariance, ["age", "pay"], {"age": (0, 100)}))
    covariance(age, 0, 100, pay)
    """
    kind = of.kind
    if len(columns) < 2 or not all(isinstance(name, str) and name for name in columns):
        raise UsageError(f"{kind} takes two columns or more, each named by text")
    twice = [name for name in columns if list(columns).count(name) > 1]
    if twice:
        raise UsageError(f"{kind} needs different columns, and {twice[0]!r} is given twice")
    if bounds is not None and not isinstance(bounds, Mapping):
        raise UsageError(
            f"the bounds of {kind} are by column: bounds={{{columns[0]!r}: (0, 100), ...}}"
        )
    known = dict(bounds or {})
    for name in known:
        if name not in columns:
            raise UsageError(
                f"{kind} has bounds for {name!r}, which is not one of its columns; "
                f"{did_you_mean(name, columns)}"
            )
    first, *others = [_clamped(of, name, known.get(name)) for name in columns]
    return of(*first, others=tuple(others))


def _clamped(of: type[OfColumns], name: str, ends: Any) -> Clamped:
    if ends is None:
        return Clamped(name)
    if isinstance(ends, (str, bytes)) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise UsageError(f"the bounds of {name!r} are a lower and an upper one, such as (0, 100)")
    made = bounded(of, name, *ends)
    return Clamped(name, made.lower, made.upper)


def _described(described: Mapping[str, Any]) -> list[tuple[str, Fraction, Fraction]]:
    """Return each column with its bounds, as :meth:`TableStatistic.to_json` described them."""
    columns = [(described["column"], described["lower"], described["upper"]), *described["others"]]
    return [(str(name), as_fraction(low), as_fraction(high)) for name, low, high in columns]


@dataclass(frozen=True)
class ProductsPart(Part):
    """Sums of products of some columns, of which a statistic is worked out."""

    columns: tuple[str, ...]
    grids: tuple[Grid, ...]

    @property
    @abstractmethod
    def squares(self) -> tuple[int, ...]:
        """The places of the columns whose squares are needed."""

    def basis(self, noise: Noise) -> Basis:
        """Return the coordinates that are released."""
        return Basis.smallest(tuple(grid.cells for grid in self.grids), self.squares, noise.norm)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the sums of products, and additive noise."""
        basis = self.basis(noise)
        ends = [(grid.value(0), grid.value(grid.cells)) for grid in self.grids]
        step = ProductsByGroup(
            size=size * basis.width,
            norm=noise.norm,
            columns=self.columns,
            bounds=tuple((str(low), str(high)) for low, high in ends),
            cells=basis.cells,
            squares=basis.squares,
            corners=basis.corners,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(basis.sensitivity(noise.norm) * noise.rows))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the rows that have every value, and the products of these."""
        assert isinstance(step, ProductsByGroup)
        values = tuple(map(columns.value, self.columns))
        return Products(tuple(zip(values, self.grids, strict=True)), step.basis.products)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the coordinates."""
        assert isinstance(step, ProductsByGroup)
        return step.basis.vector(exact)

    def sums(self, released: Any, noise: Noise) -> NoisySums:
        """Return what the released numbers say of the sums."""
        basis = self.basis(noise)
        noisy = np.asarray(released, dtype=np.float64).reshape(-1, basis.width)
        scale = basis.sensitivity(noise.norm) * noise.rows
        return NoisySums(
            noisy, basis, noise.distribution(scale, Fraction(1, noise.one * basis.unit))
        )

    @property
    def middles(self) -> Array:
        """The middle between the bounds of each column."""
        return np.array([float(grid.value(Fraction(grid.cells, 2))) for grid in self.grids])

    @property
    def halves(self) -> Array:
        """Half of the width between the bounds of each column."""
        return np.array([float(grid.step * grid.cells / 2) for grid in self.grids])


# Covariance and correlation of two columns: the kinds ``covariance`` and ``correlation``.
#
# **Mechanism.**  The sums of :class:`~tacit.tables.steps.ProductsByGroup`; all else is
# post-processing of them.  Let the columns be rescaled to s and t in [-1, 1], let n, p, q, r, a, b
# be ``sum 1, s, t, s t, s^2, t^2`` over the rows that have both, with hats where they are noisy,
# and let m and l be the true means of s and t.
#
# **Interval of the covariance.**  Let c be the true sample covariance, so ``r - m q - l p + m l n =
# (n - 1) c``.  Then the noise alone makes up
#
#     ``N = r^ - m q^ - l p^ + m l n^ - c (n^ - 1)``,
#
# a weighted sum of independent noises with weights that do not depend on them.  With ``d = p^ / n^
# - m`` and ``e = q^ / n^ - l``, and the plain estimate ``c^ = (r^ - p^ q^ / n^) / (n^ - 1)``, the
# same N is ``(n^ - 1) (c^ - c) + n^ d e`` (multiply out ``p^ - m n^ = n^ d`` and ``q^ - l n^ = n^
# e``).  So
#
#     ``|c^ - c| <= (|N| + n^ |d| |e|) / (n^ - 1)``   for every n^ > 1.
#
# Bands of all sums hold but for a chance of 0.005, which bounds ``d``, ``e`` and the weights of N;
# and given weights, N is within its quantile but for a chance of 0.045, which is taken at the
# largest weights in their bands.  Both hold with probability 0.95, and then so does the interval.
# Where the band of n reaches below two rows, the interval is the whole range of what can be; the
# covariance of fewer rows is taken as 0.  Rows that are down-weighted count with their weights, in
# n too.
#
# **Interval of the correlation.**  Let v, w be the true variances and ``R = c (n - 1) / (n sqrt(v
# w))``.  The weighted sum ``N = r' / sqrt(v w) - R/2 (a' / v + b' / w)``, where ``r' = r^ - m q^ -
# l p^ + m l n^``, ``a' = a^ - 2 m p^ + m^2 n^`` and ``b'`` likewise, is of noise alone, for its
# true value is ``n R - n R = 0``.  As before ``r' = n^ (c^ + d e)``, ``a' = n^ (v^ + d^2)``, ``b' =
# n^ (w^ + e^2)`` with plain estimates of the covariance and variances (all divided by n^).  Write
# ``A = v^ / v``, ``B = w^ / w`` and ``R^ = c^ / sqrt(v^ w^)``; then ``c^ / sqrt(v w) = R^ sqrt(A
# B)`` and
#
#     ``(R^ - R) sqrt(A B) = N / n^ - d e / sqrt(v w) + R/2 (d^2 / v + e^2 / w)
#     + R/2 (sqrt A - sqrt B)^2``.
#
# Every term is bounded as above.  Where a true variance may be zero, the interval is [-1, 1].
#
# **By the second rules** variances need no bands.  Let ``k = sqrt(v / w)``, and let N be the sum
# above times ``sqrt(v w)``: ``N = r' - R/2 (a' / k + k b')``, the noise alone, with weights that
# depend on m, l, k and R.  With ``d n^ = p^ - m n^`` and ``e n^ = q^ - l n^`` it is
#
#     ``N = n^ (c^ - R g(k)) + n^ (d e - R/2 (d^2 / k + k e^2))``,   ``g(k) = (v^ / k + k w^) / 2``.
#
# So R is possible if some possible k makes ``|c^ - R g(k)| n^`` at most the quantile of N and the
# second order; g hardly changes near ``k^ = sqrt(v^ / w^)``, where it is least.  Which k are
# possible is said by ``a' - k^2 b'``, which is noise alone too (:class:`Line`), and m and l are
# within bands (:meth:`NoisySums.ratio`): but for a chance of 0.005 each.  N has the other 0.04.
# All R of [-1, 1] are gone through in cells, with the largest weights that a cell leaves.
# Where every k is possible, the interval is [-1, 1].
#
# Where a covariance is asked with it, both intervals are widened to zero where one of them holds
# it: so neither says of the sign what the other denies.


_REST = 1 - LEVEL - APART
_SHAPE = 0.005  # the chance that the ratio of the variances is outside of its interval
_SHAPES = 3  # the cells of that ratio
_POWERS = 40  # of a half, of what lies between an estimate and the end of a range
_LEAST = 1e-12  # a variance of a rescaled column below this is taken as zero


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
    return of_columns(Covariance, [x, y], bounds)


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
    return of_columns(Correlation, [x, y], bounds)


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
        pair, answers = _Pair(self.sums(released[0], noise)), {}
        first = noise.rules == FIRST_RULES
        if "correlation" in self.kinds:
            answers["correlation"] = pair.correlation() if first else pair.closer_correlation()
        if "covariance" in self.kinds:
            rescaled, scale = pair.covariance(), float(np.prod(self.halves))
            if "correlation" in self.kinds and not first:
                rescaled, answers["correlation"] = agreeing(rescaled, answers["correlation"])
            answers["covariance"] = Estimate(
                rescaled.value * scale,
                rescaled.standard_error * scale,
                rescaled.lower * scale,
                rescaled.upper * scale,
            )
        return answers

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for independent values spread evenly over the bounds."""
        even = self.basis(noise).even(rows)
        return float(self.estimates([even], noise)[kind].standard_error[0])


def agreeing(covariance: Estimate, correlation: Estimate) -> tuple[Estimate, Estimate]:
    """Return both with intervals of which both hold zero or neither does."""
    each_holds = [(each.lower <= 0) & (each.upper >= 0) for each in (covariance, correlation)]
    zero = np.logical_or(*each_holds)
    pair = [
        replace(
            each,
            lower=np.where(zero, np.minimum(each.lower, 0.0), each.lower),
            upper=np.where(zero, np.maximum(each.upper, 0.0), each.upper),
        )
        for each in (covariance, correlation)
    ]
    return pair[0], pair[1]


class _Pair:
    """What noisy sums say of two columns that are rescaled to [-1, 1]; see the module."""

    def __init__(self, sums: NoisySums) -> None:
        self.sums = sums
        self._noisy, self._off = sums.band(APART)
        index_of = {factors: i for i, factors in enumerate(sums.basis.monomials)}
        self.n, self.p, self.q, self.r, self.a, self.b = (
            index_of.get(f, -1) for f in ((), (0,), (1,), (0, 1), (0, 0), (1, 1))
        )
        n = self._noisy[:, self.n]
        self.known = n > 2.0 + self._off[self.n]
        """Whether there are two rows at least, within the bands; else anything is possible."""
        self.size = np.maximum(n, 2.0)
        self._mean_p, self._gap_p = self._mean(self.p)
        self._mean_q, self._gap_q = self._mean(self.q)

    def _mean(self, index: int) -> tuple[Band, Array]:
        """Return where a true mean is, and how far the plain estimate is from it at most."""
        # ``p^ - m n^`` is the noise on p less m times that on n, and m is in [-1, 1].
        plain = self._noisy[:, index] / self.size
        gap = (self._off[index] + self._off[self.n]) / self.size
        largest_mean = np.minimum(np.abs(plain) + gap, 1.0)
        gap = (self._off[index] + largest_mean * self._off[self.n]) / self.size
        return Band(plain, gap).within(-1.0, 1.0), gap

    def _centred(self) -> tuple[Array, Array]:
        """Return the plain ``sum (s - m^) (t - l^)``, and how far off the true one's noise is."""
        sums, off, m, k = self._noisy, self._off, self._mean_p.most, self._mean_q.most
        plain = sums[:, self.r] - sums[:, self.p] * sums[:, self.q] / self.size
        moved = off[self.r] + m * off[self.q] + k * off[self.p] + m * k * off[self.n]
        return plain, moved + self.size * self._gap_p * self._gap_q

    def _weights(self, given: dict[int, Band]) -> Band:
        centre, radius = np.zeros_like(self._noisy), np.zeros_like(self._noisy)
        for index, band in given.items():
            centre[:, index], radius[:, index] = band.centre, band.radius
        return Band(centre, radius)

    def covariance(self) -> Estimate:
        """Return the sample covariance with its interval."""
        plain, moved = self._centred()
        # of n rows within [-1, 1] it is at most n / (n - 1)
        fewest = np.maximum(self._noisy[:, self.n] - self._off[self.n], 2.0)
        cap = fewest / (fewest - 1)
        rows = self.size - 1
        guess, most = plain / rows, cap
        for _ in range(2):
            radius = (moved + most * self._off[self.n]) / rows
            most = np.minimum(cap, np.abs(guess) + radius)
        near = Band.between(np.clip(guess - radius, -cap, cap), np.clip(guess + radius, -cap, cap))
        one = Band.exactly(np.ones_like(plain))
        weights = self._weights(
            {
                self.n: self._mean_p * self._mean_q - near,
                self.p: -self._mean_q,
                self.q: -self._mean_p,
                self.r: one,
            }
        )
        off = self.sums.quantile(weights.centre, weights.radius, _REST)
        half = (off + self.size * self._gap_p * self._gap_q) / rows
        half = np.where(self.known, half, np.inf)
        error = np.minimum(self.sums.deviation(weights.centre) / rows, cap)
        value = np.clip(guess, -cap, cap)
        low, high = np.clip(guess - half, -cap, cap), np.clip(guess + half, -cap, cap)
        return Estimate(value, error, low, high)

    def _variance(self, index: int, mean: Band, gap: Array, sums: int) -> tuple[Array, Band]:
        """Return the plain variance, and where the true one is."""
        # ``n^ (v^ + d^2) - n^ v`` is the noise on ``a - 2 m p + (m^2 - v) n``.
        plain = self._noisy[:, sums] / self.size - (self._noisy[:, index] / self.size) ** 2
        off, m = self._off, mean.most
        moved = off[sums] + 2 * m * off[index] + np.maximum(m**2, 1.0) * off[self.n]
        low, high = plain - moved / self.size, plain + gap**2 + moved / self.size
        return plain, Band.between(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))

    def correlation(self) -> Estimate:
        """Return the correlation with its interval."""
        m, k, d, e = self._mean_p, self._mean_q, self._gap_p, self._gap_q
        plain_v, v = self._variance(self.p, m, d, self.a)
        plain_w, w = self._variance(self.q, k, e, self.b)
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
        near = Band(centred / self.size, (moved + self._off[self.n]) / self.size) * over
        half_r = near.within(-1.0, 1.0).scaled(0.5)
        by_v, by_w = half_r * over_v, half_r * over_w
        weights = self._weights(
            {
                self.n: m * k * over - m * m * by_v - k * k * by_w,
                self.p: (m * by_v).scaled(2.0) - k * over,
                self.q: (k * by_w).scaled(2.0) - m * over,
                self.r: over,
                self.a: -by_v,
                self.b: -by_w,
            }
        )
        off = self.sums.quantile(weights.centre, weights.radius, _REST) / self.size
        a_low, a_high = np.sqrt(plain_v / v_high), np.sqrt(plain_v / v_low)
        b_low, b_high = np.sqrt(plain_w / w_high), np.sqrt(plain_w / w_low)
        apart = np.maximum(a_high - b_low, b_high - a_low)
        curved = half_r.most * (apart**2 + d**2 / v_low + e**2 / w_low) + d * e * over.high
        half = np.where(known, (off + curved) / (a_low * b_low), np.inf)
        error = np.minimum(self.sums.deviation(weights.centre) / self.size, 1.0)
        return Estimate(
            np.clip(plain, -1.0, 1.0),
            np.where(known, error, 1.0),
            np.clip(plain - half, -1.0, 1.0),
            np.clip(plain + half, -1.0, 1.0),
        )

    def closer_correlation(self) -> Estimate:
        """Return the correlation with its interval by the second rules."""
        sums, noisy, first = self.sums, self._noisy, self.correlation()
        unit = np.eye(noisy.shape[1])
        n, p, q, r, a, b = unit[[self.n, self.p, self.q, self.r, self.a, self.b]]
        by_p, by_q = (sums.ratio(each, n, APART / 2) for each in (p, q))
        size, m, k = by_p.under, by_p.band.within(-1.0, 1.0), by_q.band.within(-1.0, 1.0)
        c, v, w = (
            noisy @ each - (noisy @ one) * (noisy @ two) / size
            for each, one, two in ((r, p, q), (a, p, p), (b, q, q))
        )
        # the square of k, as v is the square times w
        one = Band.exactly(np.ones_like(size))
        at = self._weights({self.a: one, self.p: m.scaled(-2.0), self.n: m * m})
        by = self._weights({self.b: -one, self.q: k.scaled(2.0), self.n: -(k * k)})
        second = by_p.noise**2 / size, by_q.noise**2 / size
        low, high, known = Line(sums, v, w, at, by, second, _SHAPE).interval(exact=False)
        known = known & by_p.known & (low > 0) & (v > 0)
        low, high, v, w = (np.where(known, each, 1.0) for each in (low, high, v, w))
        value = np.where(known, np.clip(c / np.sqrt(v * w), -1.0, 1.0), 0.0)
        shape = np.sqrt(v / w)
        share = np.linspace(0.0, 1.0, _SHAPES + 1)
        edges = np.sqrt(low[:, None] ** (1 - share) * high[:, None] ** share)
        possible = _PossibleCorrelations(
            self, c, v, w, size, (m, k), (by_p.noise, by_q.noise), edges[:, :-1], edges[:, 1:]
        )
        ends = []
        by_norm = partial(possible.among, exact=False)
        for last in (-1.0, 1.0):
            # by the norm alone, first, in cells that halve towards the estimate
            shares = np.append(0.0, 0.5 ** np.arange(_POWERS, -1.0, -1.0))
            near, end = last_of(value[:, None] + (last - value)[:, None] * shares, by_norm)
            for _ in range(2):
                near, end = last_possible(near, end, _SHAPES, by_norm)
            ends.append(np.where(known, nearer(value, end, possible.among), last))
        plain = (value / 2, shape, 1 / shape, m.centre, k.centre)
        weights, _ = possible.weights(*map(Band.exactly, plain))
        error = np.minimum(sums.deviation(weights) / np.sqrt(v * w), 1.0)
        error = np.where(known, error, 1.0)
        return replace(first, standard_error=error, lower=ends[0], upper=ends[1])


@dataclass(frozen=True, eq=False)
class _PossibleCorrelations:
    """Which correlations the noisy sums do not contradict; see the module."""

    pair: _Pair
    # the plain covariance and variances times the rows, and the rows
    c: Array
    v: Array
    w: Array
    size: Array
    means: tuple[Band, Band]
    noises: tuple[Array, Array]  # of ``p - m n`` and ``q - l n``
    low: Array  # of the cells of k, shape (groups, cells)
    high: Array

    def weights(self, half: Band, k: Band, per: Band, m: Band, o: Band) -> tuple[Array, Array]:
        """Return the weights of N for half of R, k and 1 / k, and how far they can be off."""
        by_v, by_w = half * per, half * k
        given = {
            self.pair.n: m * o - m * m * by_v - o * o * by_w,
            self.pair.p: (m * by_v).scaled(2.0) - o,
            self.pair.q: (o * by_w).scaled(2.0) - m,
            self.pair.r: Band.exactly(np.ones_like(by_v.centre)),
            self.pair.a: -by_v,
            self.pair.b: -by_w,
        }
        order = [given[index] for index in range(len(given))]
        return np.stack([x.centre for x in order], -1), np.stack([x.radius for x in order], -1)

    def among(self, near: Array, beyond: Array, exact: bool = True) -> Flags:
        """Return whether cells of correlations, shape (groups, cells), hold a possible one."""
        c, v, w, size = (x[:, None, None] for x in (self.c, self.v, self.w, self.size))
        off_p, off_q = (x[:, None, None] for x in self.noises)
        m, o = (Band(x.centre[:, None, None], x.radius[:, None, None]) for x in self.means)
        low, high = self.low[:, None], self.high[:, None]

        def over(k: Array) -> Array:
            return np.asarray((v / k + w * k) / 2)

        least, most = over(np.clip(np.sqrt(v / w), low, high)), np.maximum(over(low), over(high))
        edges = near[..., None], beyond[..., None]
        products = np.stack([edge * each for edge in edges for each in (least, most)])
        apart = np.maximum(c - products.max(axis=0), products.min(axis=0) - c)
        half = Band.between(*edges).scaled(0.5)
        k, per = Band.between(low, high), Band.between(1 / high, 1 / low)
        centre, radius = self.weights(half, k, per, m, o)
        bound = self.pair.sums.shorter if exact else self.pair.sums.bound
        second = off_p * off_q + half.most * (per.most * off_p**2 + k.most * off_q**2)
        reach = bound(centre, radius, _REST - _SHAPE) + second / size
        return np.asarray((apart <= reach).any(axis=-1))


@dataclass(frozen=True)
class _OfPair(OfColumns):
    fields = ("x", "y", "bounds")

    @classmethod
    def of(cls, columns: Sequence[str], bounds: Bounds | None) -> TableStatistic:
        """Return the question about two columns."""
        if len(columns) != 2:
            raise UsageError(f"{cls.kind} takes two columns, not {len(columns)}")
        return of_columns(cls, columns, bounds)

    def shared(self) -> Any:
        return _OfPair, frozenset(self.clamped)  # of x and y as of y and x

    def part(self, setting: Setting, before: Part | None) -> Part:
        beside = before.kinds if isinstance(before, CovariancePart) else frozenset()
        columns = tuple(one.column for one in self.clamped)
        return CovariancePart(columns, self.grids(setting), beside | {self.kind})


@register_statistic
@dataclass(frozen=True)
class Covariance(_OfPair):
    """The statistic ``covariance``."""

    kind = "covariance"
    elsewhere = ("cov",)
    order = 112
    make = staticmethod(covariance)
    help = "The covariance of two columns."
    noun = "the covariance of {column} and {others}"


@register_statistic
@dataclass(frozen=True)
class Correlation(_OfPair):
    """The statistic ``correlation``."""

    kind = "correlation"
    elsewhere = ("corr", "cor")
    order = 114
    make = staticmethod(correlation)
    help = "The correlation of two columns."
    noun = "the correlation of {column} and {others}"


# Linear regression by least squares: the kind ``linear_regression``.
#
# **Mechanism.**  The sums of :class:`~tacit.tables.steps.ProductsByGroup` of the outcome
# and the predictors, with the squares of the predictors; all else is post-processing of them.
#
# **Estimate.**  With every column rescaled to [-1, 1], let A be the matrix of the sums of products
# of ``1, s_1, .., s_k``, g the vector of their products with the outcome, and ``A b = g`` the
# normal equations.  The released sums give ``A^ = A + E`` and ``g^ = g + f`` with noise E and f,
# and the plain estimate ``b^ = A^^-1 g^``.
#
# **Interval.**  Bands of all sums hold but for a chance of 0.005: ``|E| <= H`` and ``|f| <= h``,
# entry by entry.  Let ``C = A^^-1`` and ``K = |C| H``.  If the spectral radius of K is below one,
# every matrix within H of A^ has an inverse (Neumann series of ``I - C E``); so the truth has one,
# and with ``S = (I - K)^-1``
#
#     ``|A^-1 - C| <= S K |C|``   and   ``|b^ - b| <= S |C| (h + H |b^|)  =:  D``.
#
# The second follows from ``A b = g``: ``b^ - b = C (f - E b) = C (f - E b^) + C E (b^ - b)``.  That
# is a valid interval, and wider than need be, for the terms of all sums are added up at their
# worst. But also
#
#     ``b^ - b = A^-1 (f - E b) - A^-1 E (b^ - b)``,
#
# where each entry of the first term is a weighted sum of independent noises with weights that do
# not depend on them: it is within its quantile but for a chance of 0.045, which is taken at the
# largest weights that the bands of ``A^-1`` and b leave.  The second term is at most ``|A^-1| H
# D``, which is of second order.  The sum of the two is the interval, with probability 0.95 for each
# coefficient.
#
# **By the second rules** intercept and slope of one predictor need no bands of all sums.  Write
# ``<x, z>`` for the sum of products, x for the term of the coefficient b and o for the other one (1
# and the predictor less its zero, so that the intercept is the coefficient of 1), ``u = <x, o> /
# <o, o>`` and ``z = <y, o> / <o, o>``.  As ``b (<x, x> - u <x, o>) = <y, x> - u <y, o>``, the sum
#
#     ``<y, x> - u <y, o> - z <x, o> + u z <o, o> - b (<x, x> - 2 u <x, o> + u^2 <o, o>)``
#
# is zero in truth, and of the noisy sums noise alone.  With ``d = <x, o>^ - u <o, o>^`` and ``e =
# <y, o>^ - z <o, o>^`` it is ``T - b S + d (e - b d) / <o, o>^`` for the plain ``T = <y, x>^ - <x,
# o>^ <y, o>^ / <o, o>^`` and S likewise.  So b is a number that T less b S does not contradict,
# with a second order that bands of d and e give (:class:`Line`, :meth:`NoisySums.ratio`).
#
# Coefficients in the units of the columns are linear in b.  Where the spectral radius is one or
# more, the noise cannot be distinguished from a design in which the predictors lie on a plane: any
# coefficient is possible, and the answer has no error and no interval.  Its value is then that of
# the equations with eigenvalues of A^ raised to the size of the noise (a ridge).


_MOST = MOST_COLUMNS - 1  # the most predictors


@public
def linear_regression(y: str, x: str | Sequence[str], bounds: Bounds | None = None) -> Aggregate:
    """Return the coefficients of y on the columns x by least squares: ``intercept``, and each x.

    Every column is clamped to its bounds.  Rows in which one of them is missing are left out.  A
    coefficient that is lost in the noise has no standard error and no interval.

    Args:
        y: the outcome, a column of numbers.
        x: the predictors: 1 to 12 other columns.
        bounds: of all these columns, by name; those of a data set where it declares them.

    Raises:
        UsageError: a column twice, too many, or bounds that do not rise or are of another column.

    Source: sufficient statistics with noise, Dwork and Smith 2010 and Wang 2018 (AdaSSP); the
    module derives the interval.

    >>> bounds = {"pay": (0, 1000), "age": (0, 100), "years": (0, 40)}
    >>> print(linear_regression("pay", ["age", "years"], bounds))
    linear_regression(pay, 0, 1000, age, 0, 100, years, 0, 40)
    """
    predictors: list[Any] = list(x) if isinstance(x, (list, tuple)) else [x]
    if not 1 <= len(predictors) <= _MOST:
        raise UsageError(f"a linear regression has 1 to {_MOST} predictors: x=['age', 'years']")
    return of_columns(LinearRegression, [y, *predictors], bounds)


@dataclass(frozen=True)
class LinearRegressionPart(ProductsPart):
    """The coefficients of the first column on the others."""

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"linear regression of {self.columns[0]} on {', '.join(self.columns[1:])}"

    error_unit = "largest standard error of a coefficient"

    @property
    def squares(self) -> tuple[int, ...]:
        """The predictors."""
        return tuple(range(1, len(self.columns)))

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the coefficients, shape (groups, coefficients)."""
        fit = self._fit(released[0], noise)
        if noise.rules == FIRST_RULES or len(self.columns) > 2:
            return {"linear_regression": fit.estimate()}
        middle, half = self.middles, self.halves
        return {"linear_regression": fit.of_two(float(half[1]), -float(middle[1] / half[1]))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the largest error of a coefficient."""
        # It is that for independent values spread evenly over the bounds.
        fit = self._fit(self.basis(noise).even(rows), noise)
        return float(fit.standard_error.max())

    def _fit(self, released: Any, noise: Noise) -> _Fit:
        return _Fit(self.sums(released, noise), *self._rescaling)

    @property
    def _rescaling(self) -> tuple[Array, float]:
        """Return the matrix from rescaled coefficients to those of the columns, and the shift."""
        # ``(y - m_0) / h_0 = b_0 + sum b_i (x_i - m_i) / h_i`` gives the slopes ``h_0 b_i / h_i``
        # and the intercept ``m_0 + h_0 (b_0 - sum b_i m_i / h_i)``.
        middle, half = self.middles, self.halves
        matrix = np.diag(half[0] / np.concatenate([[1.0], half[1:]]))
        matrix[0, 1:] = -half[0] * middle[1:] / half[1:]
        return matrix, float(middle[0])


class _Solved(NamedTuple):
    """The inverse of the matrix and the coefficients, each with how far off it can be."""

    inverse: Array
    inverse_off: Array
    solution: Array
    solution_off: Array
    known: Array


class _Fit:
    """Least squares from noisy sums, for each group; see the module."""

    def __init__(self, sums: NoisySums, matrix: Array, shift: float) -> None:
        self._sums, self._matrix, self._shift = sums, matrix, shift
        self._noisy, self._off = sums.band(APART)
        index_of = {factors: i for i, factors in enumerate(sums.basis.monomials)}
        terms = [(), *((i,) for i in range(1, len(matrix)))]
        left = [[index_of[tuple(sorted((*a, *b)))] for b in terms] for a in terms]
        right = [index_of[tuple(sorted((0, *a)))] for a in terms]
        every = np.eye(len(index_of))
        self._left: Array = every[left]
        """Which sum stands where in the matrix: shape (terms, terms, monomials)."""
        self._right: Array = every[right]

    @cached_property
    def _solved(self) -> _Solved:
        a, g = np.einsum("gk,ijk->gij", self._noisy, self._left), self._noisy @ self._right.T
        off_a, off_g = self._left @ self._off, self._right @ self._off
        values, vectors = np.linalg.eigh(a)
        raised = np.maximum(np.abs(values), off_a.sum(axis=1).max())
        usual = np.where(np.abs(values) > 1e-9 * np.abs(values).max(initial=1.0), values, 1.0)

        def inverted(eigenvalues: Array) -> Array:
            return np.asarray((vectors / eigenvalues[:, None, :]) @ vectors.swapaxes(1, 2))

        plain = inverted(usual)
        growth = np.abs(plain) @ off_a
        radius = np.abs(np.linalg.eigvals(growth)).max(axis=1)
        known = (radius < 1 - 1e-6) & (usual == values).all(axis=1) & (values > 0).all(axis=1)
        inverse = np.where(known[:, None, None], plain, inverted(raised))
        solution = (inverse @ g[:, :, None])[:, :, 0]
        growth = np.where(known[:, None, None], growth, 0.0)
        series = np.linalg.inv(np.eye(len(off_a)) - growth)
        inverse_off = series @ growth @ np.abs(inverse)
        moved = off_g + np.abs(solution) @ off_a.T
        solution_off = (series @ np.abs(inverse) @ moved[:, :, None])[:, :, 0]
        return _Solved(inverse, inverse_off, solution, solution_off, known)

    @cached_property
    def _weights(self) -> tuple[Array, Array]:
        """Return the weights of each coefficient's noise, and how far the true ones can be off."""
        # They are those of ``T A^-1 (f - E b)``: shape (groups, coefficients, monomials).
        solved, matrix = self._solved, self._matrix
        inverse, off = matrix @ solved.inverse, np.abs(matrix) @ solved.inverse_off
        residual = self._right - np.einsum("gl,ilk->gik", solved.solution, self._left)
        wide = np.einsum("gl,ilk->gik", solved.solution_off, self._left)
        return inverse @ residual, (np.abs(inverse) + off) @ wide + off @ np.abs(residual)

    @property
    def standard_error(self) -> Array:
        """The standard error of each coefficient, to the first order."""
        return self._sums.deviation(self._weights[0])

    def estimate(self) -> Estimate:
        """Return the coefficients with their intervals."""
        solved, (weights, spread) = self._solved, self._weights
        value = solved.solution @ self._matrix.T
        value[:, 0] += self._shift
        chance = 1 - LEVEL - APART
        first = self._sums.quantile(weights, spread, chance)
        inverse = np.abs(self._matrix @ solved.inverse)
        inverse = inverse + np.abs(self._matrix) @ solved.inverse_off
        second = (inverse @ (self._left @ self._off) @ solved.solution_off[:, :, None])[:, :, 0]
        half = (first + second) * (1 + 1e-9)
        parts = (self.standard_error, value - half, value + half)
        unknown = np.logical_not(solved.known)[:, None]
        error, low, high = (np.where(unknown, np.nan, part) for part in parts)
        return Estimate(value, error, low, high)

    def of_two(self, half: float, zero: float) -> Estimate:
        """Return intercept and slope by the second rules; see the module."""
        # half: of the width of the predictor; zero: where its value is zero, rescaled.
        sums, first = self._sums, self.estimate()
        # of ``1`` and of the predictor less its zero: their products, and those with the outcome
        (n, p), (_, a) = self._left
        g, r = self._right
        p, a, r = p - zero * n, a - 2 * zero * p + zero**2 * n, r - zero * g
        scale = self._matrix[1, 1] * half
        columns = []
        for i, (top, own, under, other) in enumerate(((g, n, a, r), (r, a, n, g))):
            by, with_y = (sums.ratio(each, under, APART / 2) for each in (p, other))
            noisy, size = self._noisy, by.under
            x, y = by.band, with_y.band
            plain = noisy @ top - (noisy @ p) * (noisy @ other) / size
            rest = noisy @ own - (noisy @ p) ** 2 / size
            at = _combined((top, None), (other, -x), (p, -y), (under, x * y))
            more = _combined((own, None), (p, x.scaled(-2.0)), (under, x * x))
            by_one = Band(-more.centre, more.radius)
            second = by.noise * with_y.noise / size, by.noise**2 / size
            line = Line(sums, plain, rest, at, by_one, second, 1 - LEVEL - APART)
            low, high, known = line.interval()
            known = known & by.known & with_y.known
            value = plain / np.where(known, rest, 1.0)
            error = sums.deviation(at.centre + value[:, None] * by_one.centre)
            error = error / np.where(known, rest, 1.0)
            unit, shift = (scale, self._shift) if i == 0 else (scale / half, 0.0)
            made = (unit * value + shift, unit * error, unit * low + shift, unit * high + shift)
            none = (first.value[:, i], *[np.full_like(value, np.nan)] * 3)
            columns.append([np.where(known, x, y) for x, y in zip(made, none, strict=True)])
        return Estimate(*(np.stack(each, axis=1) for each in zip(*columns, strict=True)))


def _combined(*terms: tuple[Array, Band | None]) -> Band:
    """Return weights of the monomials: each vector times its number, one where there is none."""
    centre = sum(x if band is None else band.centre[:, None] * x for x, band in terms)
    radius = sum(band.radius[:, None] * np.abs(x) for x, band in terms if band is not None)
    return Band(np.asarray(centre), np.asarray(radius))


@register_statistic
@dataclass(frozen=True)
class LinearRegression(OfColumns):
    """The statistic ``linear_regression``."""

    kind = "linear_regression"
    order = 116
    make = staticmethod(linear_regression)
    help = "The coefficients of the first column on the others."
    noun = "the coefficients of {column} on {others} by least squares"
    fields = ("y", "x", "bounds")
    each = ("coefficient", "value")

    @classmethod
    def of(cls, columns: Sequence[str], bounds: Bounds | None) -> TableStatistic:
        """Return the question about the outcome and its predictors."""
        return cast("TableStatistic", linear_regression(columns[0], columns[1:], bounds))

    def answer_names(self) -> list[str] | None:
        """Return the names of its numbers."""
        return ["intercept", *(one.column for one in self.others)]

    def part(self, setting: Setting, before: Part | None) -> Part:
        columns = tuple(one.column for one in self.clamped)
        return LinearRegressionPart(columns, self.grids(setting))
