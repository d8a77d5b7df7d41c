"""Compositions by a line integral of their characteristic function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.losses.lattice import Floats
from tacit.core.losses.summands import (
    SummandFamily,
    Summands,
    TwoEndSummands,
    min_epsilon,
    moments,
    tilt_at,
    tilt_near,
)

# The frequencies at which nothing is added up: what the product of all factors is at most there.
#
# The tilted loss of a summand has the masses p and q at its ends ``+-e``, so its factor at the
# frequency w is at most ``1 - p - q + sqrt((p + q)^2 - 4 p q sin^2(w e))``.  That falls up to ``w =
# pi / (2 e)``; from there on the smallest sine of each cell of frequencies counts, for some of the
# summands (the others have factors up to one), and for all of them, in finer cells, where these do
# not say enough.  A Gaussian of variance v has the factor ``e^(-v w^2 / 2)``, and beyond a last w
# that is below all that matters.  Where the summands resonate, as those on one lattice do, there is
# no bound.


REST = 30.0  # what is left out is below e to minus this
_LIMIT = -26.0
_CELL = 0.25
# In turn how many summands, and into how many parts the cells are cut that are left over.
_TRIES = ((64, 1), (512, 2), (1 << 20, 4), (1 << 20, 4))
_AT_ONCE = 1 << 14  # that much stays in the cache of a core
_MAX_WORK = 1 << 23
_MAX_CELLS = 1 << 17


def max_beyond(ends: TwoEndSummands, tilt: float, band: float, variance: float) -> float:
    """Return the largest product beyond the band; one where it is not bounded."""
    k = ends.times
    p, q = (one * (1 - 2.0**-40) for one in ends.weights(tilt))
    masses = _Masses(ends.largest, p, q, k)
    widest = float(ends.largest.max())
    last, turn = math.sqrt(2 * REST / variance), math.pi / 2 / widest
    worst = -REST
    if band < turn:
        falling = np.sin(min(band, last) * ends.largest) ** 2
        worst = max(worst, float(masses.log(falling)))
    width = _CELL / widest
    start = max(turn, band)
    cells = math.ceil((last - start) / width)
    if worst > _LIMIT or cells > _MAX_CELLS:
        return 1.0
    if cells <= 0:
        return math.exp(worst)
    low: Floats = np.asarray(start + width * np.arange(cells), dtype=np.float64)
    for few, parts in _TRIES:
        some = masses.some(few)
        width /= parts
        low = (low[:, None] + width * np.arange(parts)).ravel()
        if len(low) * len(some.ends) > _MAX_WORK:
            return 1.0
        logs = _cells(some, low, width, variance)
        over = logs > _LIMIT
        worst = max([worst, *logs[~over].tolist()])
        low = low[over]
        if not len(low):
            return math.exp(worst)
    return 1.0


def _cells(some: _Masses, low: Floats, width: float, variance: float) -> Floats:
    """Return what the logarithms of products are at most in cells of frequencies."""
    size, cells = max(_AT_ONCE // len(some.ends), 1), []
    for first in range(0, len(low), size):
        near = low[first : first + size]
        sines = _min_sines((near + width / 2)[:, None] * some.ends, width / 2 * some.ends)
        cells.append(some.log(sines) - variance * np.square(near) / 2)
    return np.concatenate(cells)


@dataclass(frozen=True)
class _Masses:
    """The tilted masses of summands at their two ends, and how often they stand."""

    ends: Floats
    upper: Floats
    lower: Floats
    times: Floats

    def some(self, few: int) -> _Masses:
        """Return about so many of them, in no regular order: all if they are no more."""
        size = len(self.ends)
        if few >= size:
            return self
        indices = np.unique((np.arange(few, dtype=np.int64) ** 2 * 40503 + 7) % size)
        return _Masses(*(one[indices] for one in (self.ends, self.upper, self.lower, self.times)))

    def log(self, sines: Floats) -> Floats:
        """Return the logarithm of what the product of factors is at most, by row."""
        both = self.upper + self.lower
        root = np.sqrt(np.maximum(both * both - 4 * self.upper * self.lower * sines, 0.0))
        factors = np.minimum(1 - both + root + 2.0**-44, 1.0)
        return np.log(factors) @ self.times


def _min_sines(middle: Floats, reach: Floats) -> Floats:
    """Return what the squares of sines are not below within ``reach`` of an angle."""
    # An angle is as near to a multiple of pi as its sine is small, up to a right angle, and of two
    # ends at one distance from the middle the one towards that multiple is the nearer.
    apart = np.abs(middle - math.pi * np.rint(middle / math.pi)) - reach
    apart -= 2.0**-50 * middle  # what the product, its multiple and their difference are off by
    return np.maximum(np.square(np.sin(np.maximum(apart, 0.0))) - 2.0**-40, 0.0)


# Sums of many distinct losses, by an integral in the complex plane, its errors bounded.
#
# Let S be a sum of independent losses and ``K(z) = sum of k_i ln M_i(z)`` the logarithm of ``E e^(z
# S)``.  For every t > 0, along the line of real part t,
#
#     delta(epsilon) = 1/(2 pi i) integral of e^(K(z) - z epsilon) / (z (z + 1)) dz.
#
# Where a transform of a lattice (:mod:`~tacit.core.losses.tilted_sum`) takes each summand at every
# frequency, here the few frequencies are enough at which the product is not nearly zero.  What is
# added up is a Riemann sum at ``z = t + i k h``, of S and a Gaussian loss G of a tiny variance v.
#
# - *From above.*  G is one more release, which lowers no delta.  By Poisson's summation the whole
#   Riemann sum is the sum over whole m of ``e^(t Y m) delta(epsilon + Y m)`` with ``Y = 2 pi / h``:
#   no term is negative, so it is no less than delta.
# - *From below.*  ``delta_(S+G)(epsilon)`` is the mean of ``delta_S(epsilon - G)``, and delta_S is
#   convex in ``e^epsilon``: where G is between -y and y, it is below the chords from epsilon to
#   ``epsilon - y`` and to ``epsilon + y``, which have the weights ``A / (1 - e^-y)`` and ``A / (e^y
#   - 1)`` there with ``A = erf(sqrt(v / 8))``, the mean of ``1 - e^-G`` above zero and of ``e^-G -
#   1`` below it.  Beyond y, ``P(y_j < G <= y_(j+1)) delta_S(epsilon - y_(j+1))`` is above what
#   comes from each of some cells.  With bounds from above for all of these it gives one from below
#   for delta_S, which is off by the order of v.  The terms of m below zero come to at most ``1 /
#   (e^(t Y) - 1)``; those above zero, since ``delta(x) <= e^(K(s) - s x)``, to at most ``e^(K(s) -
#   s epsilon) / (e^((s - t) Y) - 1)`` for each s > t.
# - *Frequencies left out*, those above a band b.  There ``|1/(z (z + 1))| <= 1/w^2``, and the sum
#   over ``k h > b`` of ``h / (k h)^2`` is at most ``1 / (b - h)``; so what is missing is at most
#   ``e^(K(t) - t epsilon) B / (pi (b - h))``, with B the largest product of the ``|M_i(t + i w) /
#   M_i(t)|`` and ``e^(-v w^2 / 2)`` there.  The product of all is bounded from a narrow band on
#   (:mod:`~tacit.core.losses.contour`) where the summands are many and Laplace noise;
#   else the band continues until ``e^(-v w^2 / 2)`` is small enough on its own.
# - *Rounding.*  A factor is right to ``e = 2^-46 + 2^-48 w (r + 1/(1 + t))``, r the largest loss,
#   as a number of size at most one, and so a product is to ``prod y_i^k_i sum k_i (e_i / y_i +
#   2^-50)`` with ``y_i = |f_i| + e_i``; so is the logarithm of M_i(t), and each product of t and a
#   loss.  A Riemann sum, in blocks, adds ``2^-43`` of the sum of the sizes of its terms, and a turn
#   by ``w (epsilon - middle)`` is right to ``2^-50`` of its angle.
#
# Source of the integral: Zhu, Dong, Wang, "Optimal accounting of differential privacy via
# characteristic functions", AISTATS 2022; of the tilted line: Alghamdi and others, "The
# saddle-point accountant for differential privacy", ICML 2023.  The bounds are computed here.


_WORD = 2.0**-46
# The deviation of the Gaussian next to that of the sum: the first one that is usable.
_KERNELS = (3e-4, 6e-4, 2e-3, 1e-2)
_BAND = 9.5
_MAX_NODES = 1 << 10
_MAX_WIDTH = 1 << 17
_MAX_LINE_WORK = 1 << 25  # this many exponentials are examined over a band that continues
_NODES_AT_ONCE = 1 << 20
_BLOCK = 1 << 8
_SERVED = 3.0  # a contour serves epsilons of this many deviations from its middle
_CELLS_BESIDE = 12
_CHORD = 7.0  # the chords next to an epsilon reach this many deviations of the Gaussian


class Contour:
    """The sum at one tilt: bounds on delta near the epsilon that the tilt is for."""

    def __init__(self, summands: Summands, tilt: float, smallest: float, kernel: float) -> None:
        self._summands, self.tilt = summands, tilt
        self._log, self.middle, variance = moments(summands, tilt)
        self.usable = False
        if not 0 < variance < math.inf:
            return
        self.deviation = deviation = math.sqrt(variance)
        self._v = (kernel * deviation) ** 2
        self._log += self._v * (tilt * tilt + tilt) / 2
        rest = REST - smallest
        self._h = 2 * math.pi / max(rest / tilt, 8.4 * deviation, self._clear())
        count = self._narrow(deviation) or self._wide(kernel * deviation)
        if not count:
            return
        self._band = count * self._h
        self._others = _OtherSummands.of(math.sqrt(self._v), smallest)
        self._total = summands.count
        self._radius = summands.radius
        self.usable = self._sample(count)

    def _clear(self) -> float:
        """Return a distance Y at which terms of m above zero are small, and note an s for it."""
        pieces = []
        for steeper in (1 / self.deviation, 3 / self.deviation, 6 / self.deviation, self.tilt):
            s = self.tilt + steeper
            log = self._summands.log(s) + self._v * (s * s + s) / 2
            near = self.middle - _SERVED * self.deviation
            pieces.append(((log - self._log - steeper * near + REST) / steeper, s, log))
        distance, self._steeper, self._log_steeper = min(pieces)
        return distance if distance < math.inf else 0.0

    def _narrow(self, deviation: float) -> int:
        """Return the nodes of a band beyond which the product is bounded; zero if it is not."""
        ends = self._summands.ends
        count = math.ceil(_BAND / deviation / self._h) + 1
        if ends is None or count > _MAX_NODES:
            return 0
        self._far = max_beyond(ends, self.tilt, count * self._h, self._v)
        return count if self._far < 1 else 0

    def _wide(self, kernel: float) -> int:
        """Return the nodes of a band beyond which the Gaussian says enough; zero for too many."""
        count = math.ceil(math.sqrt(2 * REST) / kernel / self._h) + 2
        self._far = math.exp(-REST) * (1 + 2.0**-30)
        return count if count <= min(_MAX_WIDTH, _MAX_LINE_WORK // self._summands.work) else 0

    def _sample(self, count: int) -> bool:
        """Take the product of all factors at the frequencies of the band."""
        w: Floats = np.arange(count + 1, dtype=np.float64) * self._h
        z = self.tilt + 1j * w
        logs, turns = np.zeros(len(w)), np.zeros(len(w))
        maximum, wrong = np.zeros(len(w)), np.zeros(len(w))
        for family in self._summands.pieces(_NODES_AT_ONCE >> 9):
            at = np.real(family.factors(self.tilt))
            if not np.isfinite(at).all() or at.min() <= 0:
                return False
            size = max(_NODES_AT_ONCE // (len(at) * family.terms), 1)
            for first in range(0, len(w), size):
                some = slice(first, first + size)
                product = self._product(family, at, z[some], w[some])
                for whole, part in zip((logs, turns, maximum, wrong), product, strict=True):
                    whole[some] += part
        # the phase turns back at most a few times in the band
        kernel = -self._v * w * w / 2
        turns += w * (self._v * (self.tilt + 0.5) - self.middle)
        self._terms = np.exp(logs + kernel + 1j * turns) / (z * (z + 1))
        weight = np.exp(maximum + kernel) / np.abs(z * (z + 1))
        relative = np.minimum(wrong, 2.0) + _WORD * (4 + w * abs(self.middle))
        self._error = float(weight @ relative) * self._h / math.pi
        self._error += self._far / (math.pi * (self._band - self._h))
        sizes = np.abs(self._terms)
        self._sizes = float(sizes.sum()) * self._h, float(sizes @ w) * self._h
        self._w = w
        self._terms[0] /= 2
        padded = np.zeros(-(-len(w) // _BLOCK) * _BLOCK, dtype=np.complex128)
        padded[: len(w)] = self._terms
        self._blocks = padded.reshape(-1, _BLOCK)
        return bool(np.isfinite(self._error))

    def _product(
        self, family: SummandFamily, at: Floats, z: Any, w: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the product of powers: log, turn, log of what it is below, relative error."""
        factors = family.factors(z) / at[:, None]
        sizes = np.abs(factors)
        e = _WORD + 2.0**-48 * w * (family.radius[:, None] + 1 / (1 + self.tilt))
        maximum = np.minimum(sizes + e, 1.0)
        k = family.times
        logs = k @ np.log(np.maximum(sizes, 1e-300))
        return logs, k @ np.angle(factors), k @ np.log(maximum), k @ (e / maximum + 2.0**-50)

    def _sum(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of what the sums are in units of, and the sums."""
        step = -1j * self._h * (epsilon - self.middle)
        inner = np.exp(np.arange(_BLOCK)[:, None] * step)
        outer = np.exp(_BLOCK * np.arange(len(self._blocks))[:, None] * step)
        total = (outer * (self._blocks @ inner)).sum(axis=0).real
        return self._log - self.tilt * epsilon, total * self._h / math.pi

    def _wrong(self, epsilon: Floats) -> Floats:
        """Return how wrong the sums may be, in the same units."""
        sizes, turns = self._sizes
        rounding = 2.0**-43 * sizes + 2.0**-50 * turns * np.abs(epsilon - self.middle)
        return self._error + rounding

    def _unsure(self, epsilon: Floats) -> Floats:
        error: Floats = _WORD * (self._total + abs(self._log) + self.tilt * np.abs(epsilon))
        return error

    def upper(self, epsilon: float) -> float:
        """Return a logarithm that that of delta at an epsilon is not above."""
        return _log_sum(
            float(self._upper(np.array([epsilon], dtype=np.float64))[0]), self._summands.infinite[1]
        )

    def _upper(self, epsilon: Floats) -> Floats:
        there = epsilon - self._shifted(epsilon)
        log, values = self._sum(there)
        unsure = self._unsure(epsilon)
        values = np.maximum(values, 0.0) * (1 + unsure) + self._wrong(there)
        return np.minimum(log + np.log(values) + unsure, 0.0)

    def lower(self, epsilon: float) -> float:
        """Return a logarithm that that of delta at an epsilon is not below."""
        return _log_sum(self._lower(epsilon), self._summands.infinite[0])

    def _lower(self, epsilon: float) -> float:
        there = np.array([epsilon], dtype=np.float64)
        there += self._shifted(there)
        logs, sums = self._sum(there)
        unsure = float(self._unsure(there)[0])
        value = float(sums[0]) * (1 - unsure) - float(self._wrong(there)[0])
        if value <= 0:
            return -math.inf
        log = float(logs[0]) + math.log(value) - unsure
        y = 2 * math.pi / self._h
        s = self._steeper
        beyond = self._log_steeper - s * float(there[0])
        turned = self.tilt * y
        wrapped = [-turned - math.log(-math.expm1(-turned)), beyond - (s - self.tilt) * y + 1e-6]
        rest_of_sum = self._others
        near = self._upper(there[0] - rest_of_sum.steps)
        # in units of e^log: what else makes up the sum
        less = float(rest_of_sum.masses @ np.exp(near - log)) + math.exp(rest_of_sum.log_rest - log)
        less += sum(math.exp(min(one - log, 1.0)) for one in wrapped)
        rest = (1 - less * (1 + 2.0**-30)) / rest_of_sum.own
        return log + math.log(rest) - 2.0**-40 if rest > 0 else -math.inf

    def _shifted(self, epsilon: Floats) -> Floats:
        """Return how far all losses together may lie from where their floats put them."""
        return 2.0**-50 * (self._radius + np.abs(epsilon))


@dataclass(frozen=True)
class _OtherSummands:
    """Parts of the smoothed delta: that at epsilon, those at two ends of chords, the rest."""

    steps: Floats  # how far below epsilon the others lie
    masses: Floats  # the weight of each, rounded up
    log_rest: float  # the logarithm of what lies beyond all of them
    own: float  # the weight of delta at epsilon, rounded up

    @classmethod
    def of(cls, deviation: float, smallest: float) -> _OtherSummands:
        """Return them, far enough for a delta whose logarithm is given."""
        y = _CHORD * deviation
        far = max(math.sqrt(2 * (REST / 2 - smallest)), 2 * _CHORD)
        edges = np.linspace(y, far * deviation + deviation**2, _CELLS_BESIDE + 1)
        beyond = [_upper_tail(edge / deviation - deviation / 2) for edge in edges]
        cells = np.maximum(-np.diff(np.array(beyond)) + 2.0**-50 * beyond[0], 2.0**-1000)
        rest = math.log(max(beyond[-1], 1e-300)) + 1e-9
        mean, under = math.erf(deviation / math.sqrt(8)), _upper_tail(_CHORD - deviation / 2)
        down, up = -math.expm1(-y), math.expm1(min(y, 700.0))
        chords = np.array([mean / down, mean / up + under]) * (1 + 2.0**-48)
        own = 1 - (mean - beyond[0]) / down - (mean - under) / up + 2.0**-48
        return cls(np.append([y, -y], edges[1:]), np.append(chords, cells), rest, own)


def _log_sum(log: float, more: float) -> float:
    """Return the logarithm of a number, whose own is given, and one more; at most zero."""
    if more <= 0:
        return log
    high, low = max(log, math.log(more)), min(log, math.log(more))
    rest = math.log1p(math.exp(low - high)) if low > -math.inf else 0.0
    return min(high + rest, 0.0)


def _upper_tail(u: float) -> float:
    return math.erfc(u / math.sqrt(2)) / 2 * (1 + 2.0**-40)


def _contour_at(summands: Summands, tilt: float, smallest: float) -> Contour | None:
    """Return the sum at a tilt, with the narrowest Gaussian that is usable; None where none is."""
    if not math.isfinite(tilt) or tilt <= 0:
        return None
    contours = (Contour(summands, tilt, smallest, kernel) for kernel in _KERNELS)
    return next((contour for contour in contours if contour.usable), None)


def enclosed_epsilon(summands: Summands, log_delta: float) -> tuple[float, float] | None:
    """Return ends of the smallest epsilon at a delta, whose logarithm is given; None if not known.

    >>> from tacit.core.losses.summands import Generating
    >>> rows = [(Generating(laplace=(1 / (20 + place / 2), 1)), 1) for place in range(200)]
    >>> low, high = enclosed_epsilon(Summands.of(rows), math.log(1e-6))
    >>> round(low, 2), round(high, 2), high - low < 2e-4 * high
    (1.23, 1.23, True)
    """
    infinite = summands.infinite[1]
    if log_delta == -math.inf or (infinite and log_delta <= math.log(infinite)):
        return None
    finite = log_delta + math.log1p(-infinite * math.exp(-log_delta))
    contour = _contour_at(summands, tilt_near(summands, finite), finite)
    # a logarithm of two numbers is right to 2^-45, whichever way it is asked about
    highest, lowest = log_delta - 2.0**-40, log_delta + 2.0**-40
    near = None if contour is None else _first_guess(contour, highest)
    if contour is None or near is None:
        return None
    if abs(near - contour.middle) > _SERVED * contour.deviation:  # no saddle: losses in lumps
        contour = _contour_at(summands, tilt_at(summands, near), finite) or contour
    high = min_epsilon(contour.upper, near, highest, upper=True)
    low = None if high is None else min_epsilon(contour.lower, high, lowest, upper=False)
    return None if high is None or low is None else (low, high)


def _first_guess(contour: Contour, log_target: float) -> float | None:
    """Return about the epsilon at which the bound from above meets a target."""
    at = contour.upper(contour.middle)
    near = contour.middle + (at - log_target) / contour.tilt
    if abs(near - contour.middle) < contour.deviation:
        return near
    return min_epsilon(contour.upper, contour.middle, log_target, upper=True)


def enclosed_log_deltas(
    summands: Summands, levels: Sequence[tuple[float, float]]
) -> list[tuple[float, float] | None]:
    """Return ends of the logarithm of delta at epsilons, each between two floats, in rising order.

    >>> from tacit.core.losses.summands import Generating
    >>> many = Summands.of([(Generating(gaussian=(50.0, 1)), 2500)])
    >>> [round(math.exp(ends[1]), 6) for ends in enclosed_log_deltas(many, [(0, 0), (1, 1)])]
    [0.382925, 0.126937]
    """
    # A contour serves those that lie near its middle.  None where it is not known.
    enclosed: list[tuple[float, float] | None] = []
    contour: Contour | None = None
    for low, high in levels:
        if contour is None or abs(high - contour.middle) > _SERVED * contour.deviation:
            contour = _contour_for(summands, high)
        enclosed.append(None if contour is None else (contour.lower(high), contour.upper(low)))
    return enclosed


def _contour_for(summands: Summands, epsilon: float) -> Contour | None:
    """Return the sum at a tilt for an epsilon, and for those above it."""
    tilt = tilt_at(summands, epsilon)
    _, mean, variance = moments(summands, tilt)
    if not math.isfinite(mean):
        return None
    farther = tilt_at(summands, epsilon + _SERVED / 2 * math.sqrt(variance))
    for one in (farther, tilt):
        log, mean, variance = moments(summands, one)
        near = abs(epsilon - mean) <= _SERVED * math.sqrt(variance) or one == tilt
        if math.isfinite(log) and near:
            return _contour_at(summands, one, min(log - one * mean, 0.0) - 20)
    return None
