"""Distributions of noise in estimates: of one number, of sums, of quadratic forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
#
# **Rules.**  A certificate names the version of the rules by which its intervals follow from what
# was released, and is checked by them.  Those without a name have the first: Gaussian noise has the
# quantile of continuous noise and a step of the grid for each coordinate, Laplace noise its own
# quantile for one coordinate alone.  Of the second rules each says so where it is.  The third let
# counts of the rows near a quantile answer it (:mod:`tacit.tables.statistics.near_quantiles`); the
# fourth count them beyond the cells about it too, and draw none far from it.

FIRST_RULES = 1
RULES = 4  # of every new interval


_PERTURB = 1e-3


@dataclass(frozen=True)
class GridNoise:
    """Independent noise of one distribution on each coordinate of a vector."""

    # ``"laplace"`` (scale b) or ``"gaussian"`` (scale sigma), discrete on a grid
    kind: Literal["laplace", "gaussian"]
    scale: float  # in the units of the aggregate
    grid: float  # the step of the grid, in the same units
    rules: int = RULES  # the version of the rules of its intervals

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
        # One coordinate, or several of equal weight: the exact discrete quantile.  Otherwise the
        # quantile of the continuous distribution plus ``grid * sum |weights|``: a discrete Laplace
        # variable is the difference of two exponentials rounded down, hence less than one grid step
        # from a continuous one; and a discrete Gaussian is stochastically below a continuous one
        # plus a step, on each side (Canonne, Kamath, Steinke 2020, proposition 25).
        return float(self.half_widths((weights,), level)[0])

    def quantile(self, weights: tuple[float, ...], level: float) -> float:
        """Return that of the continuous noise, with a step of the grid for each coordinate."""
        _, (spread,), (total,) = standard_spread((weights,), self.kind, level)
        deviation = normal_quantile(level) if self.kind == "gaussian" else 1.0
        return float(self.scale * spread * deviation + self.grid * total)

    def norm_bound(self, level: float) -> float:
        """Return t with ``P(|S| <= t |w| + grid * sum |w_i|) >= level`` for all sums S by any w."""
        if self.kind == "laplace":
            return math.sqrt(2) * laplace_tail_bound(level) * self.scale
        return normal_quantile(level) * self.scale

    def half_widths(self, rows: tuple[tuple[float, ...], ...], level: float) -> NDArray[np.float64]:
        """Return the half-width for each row of weights, as :meth:`half_width` does."""
        return self.scaled(standard_spread(rows, self.kind, level), level)

    def scaled(self, standard: Spread, level: float) -> NDArray[np.float64]:
        """Return the half-widths of rows whose :func:`standard_spread` at the level is known."""
        equal, spread, total = standard
        deviation = normal_quantile(level) if self.kind == "gaussian" else 1.0
        wide = self.scale * spread * deviation + self.grid * total
        if self.rules == FIRST_RULES:
            equal = equal * (equal == 1) * (self.kind == "laplace")
        for index in np.flatnonzero(equal):
            terms = int(equal[index])
            if terms == 1 or total[index] * self.grid > _COARSE * wide[index]:
                exact = total[index] / terms * sum_half_width(self, terms, level)
                wide[index] = min(wide[index], exact)
        return wide

    def one(self, level: float) -> float:
        """Return the smallest point t with ``P(|X| > t) <= 1 - level``, for one coordinate."""
        step = self.grid / self.scale
        if self.kind == "gaussian":
            return self.grid * _gaussian_steps(self.scale / self.grid, level)
        if step > 700:
            return 0.0
        # P(|X| > t) = 2 r^(t + 1) / (1 + r)
        exceeds = math.log(2 / ((1 - level) * (1 + math.exp(-step)))) / step - 1
        return self.grid * max(0, math.ceil(exceeds - 1e-9))


# Of rows of weights: how many there are where all are equal, else 0; their spread; and their size.
Spread: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]

# The share of a half-width from which on the allowance for the grid is worth a convolution.
_COARSE = 1e-3
_SUMMED = 1 << 12


@lru_cache(maxsize=256)
def _gaussian_steps(scale: float, level: float) -> int:
    """Return the smallest t with ``P(|X| <= t) >= level`` for the discrete Gaussian on integers."""
    # Up to a scale of 4096 the probabilities ``exp(-k^2 / 2 s^2)`` are added up.
    #
    # Beyond that: the sum of all of them is at least ``sqrt(2 pi) s`` (Poisson's formula, whose
    # other terms are positive), and from one s on the curve is convex, so that each is at most the
    # integral over the unit around it (Hermite and Hadamard).  Hence ``P(|X| > t) <=
    # P(|Z| > (t + 1/2) / s)`` for ``t + 1/2 >= s``, which is ``t >= z s - 1/2`` for the normal
    # quantile ``z >= 1``; and ``P(|X| > t) <= P(|Z| > t / s)`` for every t.
    if scale > _SUMMED:
        z = normal_quantile(level)
        return math.ceil(z * scale - (0.5 if z >= 1 else 0.0))
    points = np.arange(1.0, 2 + math.ceil(40 * scale))
    each = 2 * np.exp(-((points / scale) ** 2) / 2)
    # the tail from the far end on, so that small numbers are added up first
    beyond = np.append(np.cumsum(each[::-1])[::-1], 0.0)
    return int(np.argmax(beyond <= (1 - level) * (1 + beyond[0]) * (1 - _ROUNDING)))


_ROUNDING = 1e-12


@lru_cache(maxsize=64)
def standard_spread(rows: tuple[tuple[float, ...], ...], kind: str, level: float) -> Spread:
    """Return of each row how many equal weights it has, its spread, and ``sum |weight|``."""
    # Its spread is the norm, or the quantile of Laplace noise, at scale 1: the same for noise of
    # every scale, so that a new question need not look for quantiles again.
    used = [tuple(abs(w) for w in row if w) for row in rows]
    gaussian = kind == "gaussian"
    spread = [
        math.sqrt(sum(w * w for w in row)) if gaussian or not row else _laplace_quantile(row, level)
        for row in used
    ]
    equal = [len(row) if len(set(row)) == 1 else 0 for row in used]
    return np.array(equal), np.array(spread), np.array([float(sum(row)) for row in used])


@lru_cache(maxsize=256)
def normal_quantile(level: float) -> float:
    """Return z with ``P(|Z| <= z) = level``, rounded up by a relative 1e-9."""
    high, _ = narrowed(lambda z: math.erfc(z / math.sqrt(2)) <= 1 - level, 40.0, 0.0, 100)
    return high * (1 + 1e-9)


_SECANTS = 40


@lru_cache(maxsize=65536)
def _laplace_quantile(weights: tuple[float, ...], level: float) -> float:
    """Return t with ``P(|sum w_i X_i| > t) <= 1 - level`` for X_i standard Laplace."""
    largest = max(weights)
    scaled = tuple(sorted(round(w / largest, 9) for w in weights if w / largest > 1e-7))
    high = math.sqrt(2 * sum(w * w for w in scaled)) / math.sqrt(1 - level)  # Chebyshev
    if len(scaled) <= 3:
        few = _partial_fractions(scaled)
        high, _ = narrowed(lambda t: few(t) <= 1 - level, high, 0.0, 60)
    else:
        high = first_within(_inversion(scaled), 1 - level, high)
    return high * largest * (1 + 1e-6)


def first_within(exceeds: Callable[[float], float], limit: float, high: float) -> float:
    """Return where a falling tail comes to be at most a limit, as 60 halvings of [0, high] find it.

    >>> first_within(lambda t: math.exp(-t), 0.5, 10.0) == narrowed(
    ...     lambda t: math.exp(-t) <= 0.5, 10.0, 0.0, 60)[0]
    True
    """

    # What lies beyond a narrow bracket of the place is not computed: few steps of the Illinois
    # method find it, on the logarithm, for tails fall nearly as an exponential.
    def over(t: float) -> float:
        return math.log(max(exceeds(t), 1e-9 * limit) / limit)

    yes, no = high, 0.0
    wide = 1e-12 + 1e-14 / limit  # a hundred times what rounding of the tail comes to in it
    above, below = over(no), over(yes)
    last = 0
    for _ in range(_SECANTS):
        if not below < 0 < above or yes - no < wide:
            break
        t = (no * below - yes * above) / (below - above)
        # a step beyond, so that one end comes near from each side
        t = min(max(t + last * wide / 4, no), yes)
        found = over(t)
        if found <= 0:
            yes, below, above = t, found, above / 2 if last == -1 else above
            last = -1
        else:
            no, above, below = t, found, below / 2 if last == 1 else below
            last = 1
    tried: dict[float, bool] = {}

    def holds(t: float) -> bool:
        if no < t < yes:
            if t not in tried:
                tried[t] = exceeds(t) <= limit
            return tried[t]
        return t >= yes

    return narrowed(holds, high, 0.0, 60)[0]


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


_PIECES = 4000


@lru_cache(maxsize=64)
def laplace_tail_bound(level: float) -> float:
    """Return t with ``P(|S| <= t sd(S)) >= level`` for every weighted sum S of Laplace noises.

    >>> round(laplace_tail_bound(0.95), 2)
    2.16
    """
    # *Proof.*  A Laplace variable of variance 1 is ``sqrt(E) Z`` for an exponential E of mean 1 and
    # a standard normal Z.  So S with ``sd(S) = 1`` is ``sqrt(V) Z`` for ``V = sum p_i E_i``, the
    # p_i being the squared weights, of sum 1; and ``P(|S| > t) = E g(V)`` with
    # ``g(v) = P(|Z| > t / sqrt(v))``.  Up to ``a = t^2 / 3`` g is convex, then concave; hence h,
    # which is g up to a and its tangent at a from there on, is convex and at least g.  By Jensen's
    # inequality ``E g(V) <= E h(V) <= sum p_i E h(E_i) = E h(E_1)``, which is
    # ``int_0^a g(v) exp(-v) dv + exp(-a) (g(a) + g'(a))``.  The integral is taken by upper sums.

    def exceeds(t: float) -> float:
        if t < 0.1:
            return 1.0
        end = t * t / 3
        step = end / _PIECES
        above = (math.erfc(t / math.sqrt(2 * step * i)) for i in range(1, _PIECES + 1))
        area = math.fsum(g * math.exp(-step * i) for i, g in enumerate(above)) * step
        slope = math.exp(-1.5) / math.sqrt(2 * math.pi) * t * math.pow(end, -1.5)
        return area + math.exp(-end) * (math.erfc(math.sqrt(1.5)) + slope)

    high = first_within(exceeds, 1 - level, 2 / math.sqrt(1 - level))
    return high * (1 + 1e-9)


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
    # window the shorter of two bounds is taken: that of continuous noise with a step of the grid
    # for each term, and the inverted characteristic function.
    if not terms:
        return 0.0
    first = distribution.rules == FIRST_RULES
    if terms == 1 and not (first and distribution.kind == "gaussian"):
        return distribution.one(level)
    steps = _steps_of_sum(distribution.kind, distribution.scale / distribution.grid, terms, level)
    if steps is None:
        plain = distribution.quantile((1.0,) * terms, level)
        if first:
            return plain
        return min(plain, _half_width_by_inversion([(distribution, 1.0, terms)], level))
    return distribution.grid * steps


@lru_cache(maxsize=1024)
def _steps_of_sum(
    kind: Literal["laplace", "gaussian"], scale: float, terms: int, level: float
) -> int | None:
    points = 64 * math.ceil(max(scale, 1.0) * math.sqrt(terms))
    if points > _MAX_POINTS:
        return None
    size = 1 << points.bit_length()
    transform = _transform(GridNoise(kind, scale, 1.0), size)
    summed = np.fft.irfft(transform**terms, size)
    # P(|S| <= t) for t = 0, 1, ...: the middle, and both sides of it
    within = summed[0] + np.concatenate([[0.0], np.cumsum(2 * summed[1 : size // 2])])
    return int(np.searchsorted(within, level + _SLACK))


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


# How far weighted sums of many independent noises are off.


# The noise of equal coordinates, the weight of each of them, and how many there are.
Term: TypeAlias = tuple[GridNoise, float, int]

_FEW = 3
# The deviation of the normal noise that is added in thought, in deviations of the sum.
_SMOOTH = 0.01
_TAIL_BOUND = 4.0
_BEYOND = math.erfc(_TAIL_BOUND / math.sqrt(2))
_STEP = 0.05  # of the integral, in one over a deviation: what wraps around lies 120 deviations away
_NEAR = 4  # the terms of a theta function on each side of the largest


@lru_cache(maxsize=4096)
def half_width_of_terms(terms: tuple[Term, ...], level: float) -> float:
    """Return t with ``P(|sum of weights * noise| <= t) >= level``, for discrete noises.

    >>> distribution = GridNoise("laplace", 10.0, 1.0)
    >>> half = half_width_of_terms(((distribution, 1.0, 100),), 0.95)
    >>> abs(half / (1.96 * 200**0.5 * 10) - 1) < 0.04
    True
    >>> each = GridNoise("gaussian", 1.0, 1.0)
    >>> half_width_of_terms(((each, 1.0, 30), (each, 0.5, 80)), 0.95) < 1.03 * 1.96 * 50**0.5
    True
    """
    # Equal noises of equal weight have the exact quantile, and up to three coordinates the bound of
    # :meth:`GridNoise.half_width`.
    used = [
        (distribution, abs(weight), copies)
        for distribution, weight, copies in terms
        if weight and copies
    ]
    if not used:
        return 0.0
    first = used[0][0].rules == FIRST_RULES
    if not first and len({(distribution, weight) for distribution, weight, _ in used}) == 1:
        distribution, weight, _ = used[0]
        copies = sum(copies for _, _, copies in used)
        return weight * sum_half_width(distribution, copies, level)
    if used[0][0].kind == "laplace" and sum(copies for _, _, copies in used) <= _FEW:
        smallest = min(distribution.scale for distribution, _, _ in used)
        weights = tuple(
            w * distribution.scale / smallest for distribution, w, n in used for _ in range(n)
        )
        widest = max(distribution.grid for distribution, _, _ in used)
        return GridNoise("laplace", smallest, widest, used[0][0].rules).half_width(weights, level)
    return _half_width_by_inversion(used, level)


def _half_width_by_inversion(used: Sequence[Term], level: float) -> float:
    # Let S be the sum and Z an independent normal variable of deviation h.  ``|S| > t`` and
    # ``|Z| <= 4 h`` together give ``|S + Z| > t - 4 h``, so
    #
    #     ``P(|S| > t) <= P(|S + Z| > t - 4 h) / P(|Z| <= 4 h)``.
    #
    # The distribution of S + Z follows from its characteristic function, the product of those of
    # the noises and of ``exp(-h^2 u^2 / 2)``, by ``P(|X| <= x) = (2 / pi) int_0^inf sin(u x) / u
    # phi(u) du``.  With h of a hundredth of the deviation of S the interval is at most about 2
    # percent too wide.  Gaussian noise has the bound of :meth:`GridNoise.quantile` too.
    deviation = math.sqrt(sum(n * w * w * distribution.variance for distribution, w, n in used))
    if not deviation:
        return 0.0
    steps = sum(n * w * distribution.grid for distribution, w, n in used)
    scale = math.sqrt(sum(n * (w * distribution.scale) ** 2 for distribution, w, n in used))
    plain = math.inf
    if all(distribution.kind == "gaussian" for distribution, _, _ in used):
        plain = scale * normal_quantile(level) + steps
        if steps < 2 * _SMOOTH * scale or used[0][0].rules == FIRST_RULES:
            return plain
    exceeds = _tail([(distribution, w / deviation, n) for distribution, w, n in used])
    limit = (1 - level) * (1 - _BEYOND)
    high = first_within(exceeds, limit, 2 / math.sqrt(1 - level))
    return min(plain, deviation * (high + _TAIL_BOUND * _SMOOTH) * (1 + 1e-9))


def _tail(terms: Sequence[Term]) -> Callable[[float], float]:
    """Return ``t -> P(|S + Z| > t)`` for a sum of deviation 1."""
    u: Array = np.arange(_STEP, 8 / _SMOOTH, _STEP)  # where what is left is below exp(-32)
    log_factor = -((_SMOOTH * u) ** 2) / 2
    for distribution, weight, copies in terms:
        log_factor += copies * _log_characteristic(distribution, weight * distribution.grid * u)
    factor = np.exp(log_factor) / u

    def exceeds(t: float) -> float:
        area = _STEP * (t / 2 + float((np.sin(u * t) * factor).sum()))
        return 1 - 2 / math.pi * area

    return exceeds


def _log_characteristic(distribution: GridNoise, u: Array) -> Array:
    """Return the logarithm of the characteristic function of a noise in steps of its grid."""
    # Discrete Laplace of ratio r: ``(1 - r)^2 / (1 - 2 r cos u + r^2)``, written so that nothing is
    # lost where r is near 1.  Discrete Gaussian of scale s: ``sum_k exp(-s^2 (u - 2 pi k)^2 / 2)``
    # over its value at zero, by Poisson's formula; of a scale below one the sum over the integers
    # itself.  Both are positive, for they are theta functions with a product formula.
    scale = distribution.scale / distribution.grid
    if distribution.kind == "laplace":
        ratio = math.exp(-1 / scale)
        bent = 4 * ratio * np.sin(u / 2) ** 2
        return np.asarray(-np.log1p(bent / (1 - ratio) ** 2))
    k = np.arange(-_NEAR, _NEAR + 1.0)[:, None]
    if scale < 1:
        weights = np.exp(-((k / scale) ** 2) / 2)
        return np.asarray(np.log((weights * np.cos(k * u)).sum(axis=0) / weights.sum()))
    reduced = np.remainder(u + math.pi, 2 * math.pi) - math.pi
    each = np.logaddexp.reduce(-((scale * (reduced - 2 * math.pi * k)) ** 2) / 2, axis=0)
    return np.asarray(each - np.logaddexp.reduce(-((scale * 2 * math.pi * k[:, 0]) ** 2) / 2))


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
