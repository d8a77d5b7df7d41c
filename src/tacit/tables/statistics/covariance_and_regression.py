"""Covariances, correlations and linear regression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar, cast

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core import Step
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.grid import Grid
from tacit.report.text import listed
from tacit.tables.noise import Array, Band, Estimate, GridNoise, half_widths
from tacit.tables.query.requests import Products, Request
from tacit.tables.statistics.base import (
    LEVEL,
    SQUARE_BITS,
    Aggregate,
    Clamped,
    Columns,
    Noise,
    Part,
    Setting,
    TableStatistic,
    bounded,
    register_statistic,
)
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
        """The columns with their bounds."""
        return (*super().clamped, *self.others)

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        """Return the statistic with other bounds of its columns."""
        first, *others = bounded
        return replace(super().with_bounds([first]), others=tuple(others))

    def label(self) -> str:
        """Return the label of the answer where none is given."""
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
        """Return the statistic that :meth:`to_json` described."""
        bounds = {name: (low, high) for name, low, high in _described(described)}
        return cls.of([name for name, _, _ in _described(described)], bounds)

    @classmethod
    @abstractmethod
    def of(cls, columns: Sequence[str], bounds: Bounds | None) -> TableStatistic:
        """Return the question about columns, in the order of its flag."""

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        """Describe in a certificate what :meth:`to_json` described."""
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


@dataclass(frozen=True)
class NoisySums:
    """The released coordinates of each group, and what the noise can have done to them."""

    noisy: Array  # shape (groups, coordinates)
    basis: Basis
    distribution: GridNoise

    def band(self, chance: float) -> tuple[Array, Array]:
        """Return the sums of the monomials, shape (groups, monomials), and how far each is off."""
        # With a probability of at least ``1 - chance`` all are within that (the union bound).
        decoding = self.basis.decoding
        level = 1 - chance / len(decoding)
        return self.noisy @ decoding.T, half_widths(self.distribution, decoding, level)

    def quantile(self, weights: Array, spread: Array, chance: float) -> Array:
        """Return how far a weighted sum of the noises of the monomials is off, but for a chance."""
        # A quantile rises with the absolute value of every weight, so the largest are taken.
        decoding = self.basis.decoding
        most = np.abs(weights @ decoding) + spread @ np.abs(decoding)
        return half_widths(self.distribution, most, 1 - chance)

    def deviation(self, weights: Array) -> Array:
        """Return the standard deviation of a weighted sum of the noises of the monomials."""
        each = weights @ self.basis.decoding
        return np.asarray(np.sqrt((each**2).sum(axis=-1) * self.distribution.variance))


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


_REST = 1 - LEVEL - APART
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
        pair = _Pair(self.sums(released[0], noise))
        answers = {}
        if "covariance" in self.kinds:
            rescaled, scale = pair.covariance(), float(np.prod(self.halves))
            answers["covariance"] = Estimate(
                rescaled.value * scale,
                rescaled.standard_error * scale,
                rescaled.lower * scale,
                rescaled.upper * scale,
            )
        if "correlation" in self.kinds:
            answers["correlation"] = pair.correlation()
        return answers

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for independent values spread evenly over the bounds."""
        even = self.basis(noise).even(rows)
        return float(self.estimates([even], noise)[kind].standard_error[0])


class _Pair:
    """What noisy sums say of two columns that are rescaled to [-1, 1]; see the module."""

    def __init__(self, sums: NoisySums) -> None:
        self._sums = sums
        self._noisy, self._off = sums.band(APART)
        index_of = {factors: i for i, factors in enumerate(sums.basis.monomials)}
        self._n, self._p, self._q, self._r, self._a, self._b = (
            index_of.get(f, -1) for f in ((), (0,), (1,), (0, 1), (0, 0), (1, 1))
        )
        n = self._noisy[:, self._n]
        self.known = n > 2.0 + self._off[self._n]
        """Whether there are two rows at least, within the bands; else anything is possible."""
        self.size = np.maximum(n, 2.0)
        self._mean_p, self._gap_p = self._mean(self._p)
        self._mean_q, self._gap_q = self._mean(self._q)

    def _mean(self, index: int) -> tuple[Band, Array]:
        """Return where a true mean is, and how far the plain estimate is from it at most."""
        # ``p^ - m n^`` is the noise on p less m times that on n, and m is in [-1, 1].
        plain = self._noisy[:, index] / self.size
        gap = (self._off[index] + self._off[self._n]) / self.size
        largest_mean = np.minimum(np.abs(plain) + gap, 1.0)
        gap = (self._off[index] + largest_mean * self._off[self._n]) / self.size
        return Band(plain, gap).within(-1.0, 1.0), gap

    def _centred(self) -> tuple[Array, Array]:
        """Return the plain ``sum (s - m^) (t - l^)``, and how far off the true one's noise is."""
        sums, off, m, k = self._noisy, self._off, self._mean_p.most, self._mean_q.most
        plain = sums[:, self._r] - sums[:, self._p] * sums[:, self._q] / self.size
        moved = off[self._r] + m * off[self._q] + k * off[self._p] + m * k * off[self._n]
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
        fewest = np.maximum(self._noisy[:, self._n] - self._off[self._n], 2.0)
        cap = fewest / (fewest - 1)
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

    def _variance(self, index: int, mean: Band, gap: Array, sums: int) -> tuple[Array, Band]:
        """Return the plain variance, and where the true one is."""
        # ``n^ (v^ + d^2) - n^ v`` is the noise on ``a - 2 m p + (m^2 - v) n``.
        plain = self._noisy[:, sums] / self.size - (self._noisy[:, index] / self.size) ** 2
        off, m = self._off, mean.most
        moved = off[sums] + 2 * m * off[index] + np.maximum(m**2, 1.0) * off[self._n]
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
        """Return what the statistics that one part answers have in common."""
        return _OfPair, frozenset(self.clamped)  # of x and y as of y and x

    def part(self, setting: Setting, before: Part | None) -> Part:
        """Return the part of the global method."""
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
        return {"linear_regression": self._fit(released[0], noise).estimate()}

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
        """Return the part of the global method."""
        columns = tuple(one.column for one in self.clamped)
        return LinearRegressionPart(columns, self.grids(setting))
