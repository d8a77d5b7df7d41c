"""Distributions of noise in estimates: of one number, of sums, of quadratic forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.roots_and_bisection import narrowed

# One answer in each group: a value with its error and its interval.


Array = NDArray[np.float64]  # a number in each group


@dataclass(frozen=True)
class Estimate:
    """One answer in each group: the value, its standard error, and an interval at 95 percent.

    The standard error and the interval count the noise alone, not the sampling of the people.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array

    def in_a_row(self) -> Estimate:
        """Return the same estimate as several numbers of one group: shape (1, numbers)."""
        parts = self.value, self.standard_error, self.lower, self.upper
        return Estimate(*(part.reshape(1, -1) for part in parts))

    def without_interval(self) -> Estimate:
        """Return the same estimate where no interval is known."""
        unknown = np.full_like(self.value, np.nan)
        return Estimate(self.value, self.standard_error, unknown, unknown)

    def coherent(self) -> Estimate:
        """Return the same estimate with every interval widened to include its value.

        Intervals are cut at impossible values (a count below zero), and values are not: clipped
        values would be too large on average, and their sums wrong.  The *coverage* does not fall,
        as no interval gets smaller.
        """
        lower, upper = np.minimum(self.lower, self.value), np.maximum(self.upper, self.value)
        return Estimate(self.value, self.standard_error, lower, upper)


# The noise on one coordinate, and what it does to weighted sums of coordinates.
#
# Everything here is known before any data is seen: variances and half-widths of intervals depend on
# the distribution of the noise alone.


_PERTURB = 1e-3


@dataclass(frozen=True)
class GridNoise:
    """Independent noise of one distribution on each coordinate of a vector."""

    # ``"laplace"`` (scale b) or ``"gaussian"`` (scale sigma), discrete on a grid
    kind: Literal["laplace", "gaussian"]
    scale: float  # in the units of the aggregate
    grid: float  # the step of the grid, in the same units

    @property
    def variance(self) -> float:
        """The variance of one coordinate."""
        # Discrete Laplace with ratio ``r = exp(-grid / scale)`` has variance ``2 r / (1 - r)^2``
        # grid units squared; the discrete Gaussian at most ``scale^2`` (Canonne, Kamath, Steinke
        # 2020).
        if self.kind == "gaussian":
            return self.scale**2
        step = self.grid / self.scale
        # 2 r / (1 - r)^2 = 1 / (2 sinh(step / 2)^2), which loses nothing for small steps.
        return self.grid**2 / (2 * math.sinh(step / 2) ** 2) if step < 700 else 0.0

    def half_width(self, weights: tuple[float, ...], level: float = 0.95) -> float:
        """Return t with ``P(|sum of weights * noise| <= t) >= level``."""
        # One Laplace coordinate: the exact discrete quantile.  Otherwise the quantile of the
        # continuous distribution plus ``grid * sum |weights|``: a discrete Laplace variable is the
        # difference of two exponentials rounded down, hence less than one grid step from a
        # continuous one; and a discrete Gaussian is stochastically below a continuous one plus a
        # step, on each side (Canonne, Kamath, Steinke 2020, proposition 25).
        return float(self.half_widths((weights,), level)[0])

    def half_widths(self, rows: tuple[tuple[float, ...], ...], level: float) -> NDArray[np.float64]:
        """Return the half-width for each row of weights, as :meth:`half_width` does."""
        return self.scaled(standard_spread(rows, self.kind, level), level)

    def scaled(self, standard: Spread, level: float) -> NDArray[np.float64]:
        """Return the half-widths of rows whose :func:`standard_spread` at the level is known."""
        alone, spread, total = standard
        deviation = _normal_quantile(level) if self.kind == "gaussian" else 1.0
        wide = self.scale * spread * deviation + self.grid * total
        return np.where(alone, total * self._one(level), wide) if alone.any() else wide

    def _one(self, level: float) -> float:
        """Return the smallest point t with ``P(|X| > t) = 2 r^(t+1) / (1 + r) <= 1 - level``."""
        step = self.grid / self.scale
        if step > 700:
            return 0.0
        exceeds = math.log(2 / ((1 - level) * (1 + math.exp(-step)))) / step - 1
        return self.grid * max(0, math.ceil(exceeds - 1e-9))


# Of rows of weights: whether the exact quantile of each is known, its spread and its size.
Spread: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]


@lru_cache(maxsize=64)
def standard_spread(rows: tuple[tuple[float, ...], ...], kind: str, level: float) -> Spread:
    """Return of each row whether its exact quantile is known, its spread, and ``sum |weight|``."""
    # Its spread is the norm, or the quantile of Laplace noise, at scale 1: the same for noise of
    # every scale, so that a new question need not look for quantiles again.
    used = [tuple(abs(w) for w in row if w) for row in rows]
    gaussian = kind == "gaussian"
    spread = [
        math.sqrt(sum(w * w for w in row)) if gaussian or not row else _laplace_quantile(row, level)
        for row in used
    ]
    alone = [len(row) == 1 and not gaussian for row in used]
    return np.array(alone), np.array(spread), np.array([float(sum(row)) for row in used])


@lru_cache(maxsize=256)
def _normal_quantile(level: float) -> float:
    """Return z with ``P(|Z| <= z) = level``, rounded up by a relative 1e-9."""
    high, _ = narrowed(lambda z: math.erfc(z / math.sqrt(2)) <= 1 - level, 40.0, 0.0, 100)
    return high * (1 + 1e-9)


@lru_cache(maxsize=65536)
def _laplace_quantile(weights: tuple[float, ...], level: float) -> float:
    """Return t with ``P(|sum w_i X_i| > t) <= 1 - level`` for X_i standard Laplace."""
    largest = max(weights)
    scaled = tuple(sorted(round(w / largest, 9) for w in weights if w / largest > 1e-7))
    high = math.sqrt(2 * sum(w * w for w in scaled)) / math.sqrt(1 - level)  # Chebyshev
    exceeds = _partial_fractions(scaled) if len(scaled) <= 3 else _inversion(scaled)
    high, _ = narrowed(lambda t: exceeds(t) <= 1 - level, high, 0.0, 60)
    return high * largest * (1 + 1e-6)


def _partial_fractions(weights: tuple[float, ...]) -> Callable[[float], float]:
    """Return the tail ``t -> P(|sum| > t)`` in closed form, for a few weights."""
    # The characteristic function ``prod 1 / (1 + w_i^2 u^2)`` splits into partial fractions, each a
    # Laplace distribution: ``P(|S| > t) = sum_i c_i exp(-t / w_i)`` with
    # ``c_i = prod_{j != i} w_i^2 / (w_i^2 - w_j^2)``.
    # Nearly equal weights are spread upwards by a thousandth, which only widens the tail: the sum
    # of symmetric unimodal variables grows with every weight.
    spread: list[float] = []
    for weight in weights:
        spread.append(max(weight, spread[-1] * (1 + _PERTURB)) if spread else weight)
    squares = [w * w for w in spread]
    terms = [
        (math.prod(a / (a - b) for j, b in enumerate(squares) if j != i), spread[i])
        for i, a in enumerate(squares)
    ]
    return lambda t: math.fsum(c * math.exp(-t / w) for c, w in terms)


def _inversion(weights: tuple[float, ...]) -> Callable[[float], float]:
    """Return the tail ``t -> P(|sum| > t)`` by inverting the characteristic function."""
    # ``P(|S| <= t) = (2 / pi) int_0^inf sin(u t) / u prod 1 / (1 + w_i^2 u^2) du``.  With four
    # weights or more the integrand falls at least as u^-5 beyond 1/w for all but negligible ones;
    # the cut at U leaves less than ``min(1, prod 1 / (w_i U)^2)``, which is added to the tail.
    u = np.linspace(0.0, 400.0, 200_001)[1:]
    log_factor = np.zeros_like(u)
    for weight, copies in _counted(weights):
        log_factor -= copies * np.log1p((weight * u) ** 2)
    factor = np.exp(log_factor) / u
    step = float(u[1] - u[0])
    cut = math.exp(float(log_factor[-1]))

    def exceeds(t: float) -> float:
        inside = np.sin(u * t) * factor
        area = step * (t / 2 + float(inside.sum()) - float(inside[-1]) / 2)
        return 1 - 2 / math.pi * area + cut

    return exceeds


def _counted(weights: tuple[float, ...]) -> list[tuple[float, int]]:
    return [(w, weights.count(w)) for w in sorted(set(weights))]


# How far the sum of several independent, equal noises is off: the exact discrete quantile.


_MAX_POINTS = 1 << 21
_SLACK = 1e-9  # more than the rounding of the transform and the mass beyond its window come to


def sum_half_width(distribution: GridNoise, terms: int, level: float = 0.95) -> float:
    """Return t with ``P(|sum of terms noises| <= t) >= level``.

    >>> distribution = GridNoise("laplace", 3.0, 1.0)
    >>> sum_half_width(distribution, 1), distribution.half_width((1.0,))
    (9.0, 9.0)
    >>> sum_half_width(GridNoise("gaussian", 10.0, 1.0), 25)
    98.0
    """
    # The distribution of one noise is written on a window of whole units that wraps around, and the
    # distribution of the sum is the inverse transform of the power of its transform.  The window is
    # 64 sqrt(terms) scales wide, beyond which less than 1e-13 lies.  For noise too wide for a
    # window the bound of :meth:`GridNoise.half_width` is taken, whose rounding is small then.
    if not terms:
        return 0.0
    points = 64 * math.ceil(max(distribution.scale, 1.0) * math.sqrt(terms))
    if points > _MAX_POINTS:
        return distribution.half_width((1.0,) * terms, level)
    size = 1 << points.bit_length()
    summed = np.fft.irfft(_transform(distribution, size) ** terms, size)
    # P(|S| <= t) for t = 0, 1, ...: the middle, and both sides of it
    within = summed[0] + np.concatenate([[0.0], np.cumsum(2 * summed[1 : size // 2])])
    return float(np.searchsorted(within, level + _SLACK))


@lru_cache(maxsize=8)
def _transform(distribution: GridNoise, size: int) -> NDArray[np.complex128]:
    """Return the transform of the distribution of one noise on a window that wraps around."""
    distance = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
    exponent = (
        distance / distribution.scale
        if distribution.kind == "laplace"
        else (distance / distribution.scale) ** 2 / 2
    )
    weight = np.exp(-exponent)
    return np.asarray(np.fft.rfft(weight / weight.sum()), dtype=np.complex128)


# How far weighted sums of noises are off, for many weights at once, and bands of numbers.
#
# :class:`~tacit.tables.noise.GridNoise` gives the half-width of a few weighted sums, each
# as narrow as it can be.  Where the weights follow from the released numbers, there are as many of
# them as answers, and :func:`half_widths` gives them all in one pass, about 1 percent wider.


_EXTRA = 0.2  # the deviation of the Gaussian noise that is added for a smooth distribution
_CUT = 25.0
_ROOM = 26.0
_ROWS = 4096
# Of weights that are remembered: those of a question are few, those of many answers are not.
_MAX_CACHED_BYTES = 1 << 14
_HALVINGS = 14  # to a 16,384th of where the quantile can be, upwards


def half_widths(
    distribution: GridNoise, weights: Array, level: float, times: Array | None = None
) -> Array:
    """Return t with ``P(|sum of weights * noise| <= t) >= level``, for each row of weights.

    >>> distribution = GridNoise("laplace", 1.0, 2.0**-40)
    >>> wide = half_widths(distribution, np.array([[1.0, 1.0], [1.0, 0.0]]), 0.95)
    >>> largest = distribution.half_width((1.0, 1.0))
    >>> bool(largest <= wide[0] < 1.01 * largest)
    True
    """
    # To the quantile of the continuous noise ``grid * sum |weights|`` is added, which is more than
    # what the grid moves it by (:meth:`~tacit.tables.noise.GridNoise.half_width`).
    #
    # times: of how many coordinates each weight is the weight, in the shape of the weights; one
    #   each by default.
    each: Array = np.ones_like(weights) if times is None else np.asarray(times, dtype=np.float64)
    size = np.sqrt((each * weights**2).sum(axis=-1))
    bound = distribution.grid * (each * np.abs(weights)).sum(axis=-1)
    if distribution.kind == "gaussian":
        quantile, _ = narrowed(lambda z: math.erfc(z / math.sqrt(2)) <= 1 - level, 40.0, 0.0, 100)
        return np.asarray(size * distribution.scale * quantile * (1 + 1e-9) + bound)
    shares = (weights / np.maximum(size, 1e-300)[..., None]) ** 2
    flat = shares.reshape(-1, weights.shape[-1])
    powers = None if times is None else each.reshape(flat.shape)
    quantiles = _known_quantiles(flat, powers, level).reshape(size.shape)
    return np.asarray(size * distribution.scale * quantiles + bound)


def _known_quantiles(shares: Array, powers: Array | None, level: float) -> Array:
    """Return :func:`_laplace_quantiles` of any scale, from a cache of recent ones."""
    if shares.nbytes > _MAX_CACHED_BYTES:
        return _laplace_quantiles(shares, powers, level)
    times = None if powers is None else powers.tobytes()
    return _cached_quantiles(shares.tobytes(), times, shares.shape, level)


@lru_cache(maxsize=64)
def _cached_quantiles(
    shares: bytes, powers: bytes | None, shape: tuple[int, int], level: float
) -> Array:
    rows = np.frombuffer(shares).reshape(shape)
    times = None if powers is None else np.frombuffer(powers).reshape(shape)
    quantiles = _laplace_quantiles(rows, times, level)
    quantiles.flags.writeable = False
    return quantiles


def _laplace_quantiles(shares: Array, powers: Array | None, level: float) -> Array:
    """Quantiles of ``|sum w_i X_i|`` for X_i standard Laplace, from ``w_i^2``, of sum one."""
    # Where powers are given, this many X have each weight.
    #
    # Independent Gaussian noise of deviation 0.2 is added: a sum of symmetric unimodal variables
    # only gets wider by another one, and here by 1 percent (the variance grows from 2 to 2.04).
    # Then ``P(|S| <= t) = (2 / pi) int_0^inf sin(u t) / u exp(-u^2 / 50) prod 1 / (1 + w_i^2 u^2)
    # du``.
    #
    # *Cut.* The product is at most ``1 / (1 + u^2)``, so that beyond u = 25 less than 2e-10 is
    # left.
    #
    # *Steps.* The trapezoidal sum of step h is the probability of the variable modulo ``2 pi / h``
    # (Poisson's formula), which is too large by at most ``P(|S| > 2 pi / h - t)``.  For every theta
    # below one ``P(|S| > x) <= 2 exp(-theta x + theta^2 / 50) prod 1 / (1 - theta^2
    # w_i^2)``, where the product is at most ``1 / (1 - theta^2)`` since ``-log(1 - theta^2
    # p)`` is convex in p: with theta = 9/10, ``11 exp(-0.9 x)``, that is below 8e-10 for x = 26,
    # and the quantile is below the x that makes it ``1 - level``.
    upper = math.log(11 / (1 - level)) / 0.9
    step = 2 * math.pi / (upper + _ROOM)
    u: Array = step * np.arange(1.0, math.ceil(_CUT / step) + 1, dtype=np.float64)
    # rows that are equal up to order are computed once, and this many at a time
    alike = np.sort(shares, axis=-1) if powers is None else np.hstack((shares, powers))
    rows, back = np.unique(alike, axis=0, return_inverse=True)
    width = shares.shape[-1]
    parts = [
        _quantiles(some[:, :width], some[:, width:], u, upper, level)
        for some in (rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS))
    ]
    return np.asarray(np.concatenate([np.zeros(0), *parts])[back.reshape(-1)])


def _quantiles(rows: Array, powers: Array, u: Array, upper: float, level: float) -> Array:
    """Return the quantiles of some rows, from the points of the integral and an upper end."""
    step = float(u[0])
    decay = np.exp(-(_EXTRA**2) * u**2 / 2) / u
    factor = np.broadcast_to(decay, (len(rows), len(u))).copy()
    for i, column in enumerate(rows.T):
        spread = 1 + column[:, None] * u**2
        factor /= spread ** powers[:, i, None] if powers.size else spread
    low, high = np.zeros(len(rows)), np.full(len(rows), upper)
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        inside = (step / math.pi) * (t + 2 * (np.sin(t[:, None] * u) * factor).sum(axis=1))
        enough = inside >= level + _SLACK
        low, high = np.where(enough, low, t), np.where(enough, t, high)
    return high


@dataclass(frozen=True)
class Band:
    """Numbers that are known to be within a radius of a centre.

    >>> product = Band.between(np.array([1.0]), np.array([3.0])) * Band.exactly(np.array([2.0]))
    >>> float(product.low[0]), float(product.high[0]), float(product.most[0])
    (2.0, 6.0, 6.0)
    """

    centre: Array
    radius: Array

    @classmethod
    def between(cls, low: Array, high: Array) -> Band:
        """Return the band between two ends, in either order."""
        return cls((low + high) / 2, np.abs(high - low) / 2)

    @classmethod
    def exactly(cls, value: Array) -> Band:
        """Return a number that is known."""
        return cls(value, np.zeros_like(value))

    @property
    def low(self) -> Array:
        """The smallest that it can be."""
        return self.centre - self.radius

    @property
    def high(self) -> Array:
        """The greatest that it can be."""
        return self.centre + self.radius

    @property
    def most(self) -> Array:
        """The most that it can be in absolute value."""
        return np.asarray(np.abs(self.centre) + self.radius)

    def __add__(self, other: Band) -> Band:
        return Band(self.centre + other.centre, self.radius + other.radius)

    def __sub__(self, other: Band) -> Band:
        return Band(self.centre - other.centre, self.radius + other.radius)

    def __neg__(self) -> Band:
        return Band(-self.centre, self.radius)

    def __mul__(self, other: Band) -> Band:
        radius = np.abs(self.centre) * other.radius + self.radius * other.most
        return Band(self.centre * other.centre, radius)

    def scaled(self, number: float) -> Band:
        """Return the band times a public number."""
        return Band(self.centre * number, self.radius * abs(number))

    def within(self, low: float, high: float) -> Band:
        """Return the part of the band between two public ends."""
        return Band.between(np.clip(self.low, low, high), np.clip(self.high, low, high))
