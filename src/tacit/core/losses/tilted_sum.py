"""Sums of losses on a lattice, tilted so that their tails keep their precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core.losses.lattice import (
    SLACK,
    Floats,
    ListedLosses,
    Side,
    SpreadLosses,
    above,
    below,
    on_own_lattice,
)
from tacit.core.losses.summands import min_part

# A sum of many independent privacy losses, by one Fourier transform, its errors bounded.
#
# Let the summands have masses ``p_i(j)`` on a lattice of step h, each ``k_i`` times, and let J be
# the sum of their places.  For a tilt ``t >= 0`` let ``a_i(j) = p_i(j) e^(t h j) / M_i`` with
# ``M_i`` the sum over j: again a distribution, and
#
#     P(J = x) = M e^(-t h x) R(x),      M = prod M_i^(k_i),
#
# where R is the distribution of the sum of places drawn from the tilted masses.  With t chosen such
# that R has its mean at the epsilon that is asked about, the part of R that matters is the middle
# of it, and not a tail that the rounding errors of a transform would drown: so a delta of 10^-200
# is as right, relatively, as one of 10^-2.  (Exponential tilting: Esscher 1932.)
#
# R is the inverse transform of ``prod A_i^(k_i)``, on a window of N places, a power of two.
#
# **What is charged for.**
#
# - *Wrapping.*  Where the sum has more than N places, masses outside the window come in at the
#   other end.  Those are in total at most ``prod (E e^(s (j - m_i)))^(k_i) e^(-s N / 2)``, for
#   every s, on each side (Chernoff).
# - *Rounding of the transforms.*  The computed transform z of a vector a differs from the true one
#   by at most ``c u log2(N) |a|`` in the Euclidean norm, scaled by sqrt(N), u = 2^-53 (N. Higham,
#   "Accuracy and Stability of Numerical Algorithms", theorem 24.2; c is below 8 for roots of unity
#   that are right to u, and 16 is taken); so does each entry, at most.  With ``y = |z| + e`` above
#   both, a product of powers is off by at most ``prod y_i^k_i (sum k_i (e_i / y_i + 6 u))``, where
#   6 u a factor pays for the roundings of repeated squaring.  Where all ``y_i^k_i`` so far come to
#   less than e^-60, the product is taken for zero, and that, times what the others may yet come to,
#   is charged.  The inverse transform adds up these errors, and one of its own.
# - *Sums and constants* have relative errors below 2^-50 times the number of terms, and ln M as
#   much as its terms.
# - *The window* of losses that are no lattice's is in :class:`~tacit.core.losses.lattice.Side`:
#   what may stand on the wrong side (``blur``) moves epsilon, infinite losses add their mass.


Parts: TypeAlias = Sequence[tuple[Side, int]]

_U = 2.0**-53
_TRANSFORM = 16 * _U
_NEGLIGIBLE = -60.0  # the logarithm of a value of the transform that is taken for zero
_MIN_PLACES = 1 << 6
_DEVIATIONS = 12  # half the window, in standard deviations of the tilted sum
_LARGEST_TILT = 1e12
_MAX_PLACES = 1 << 23
_MAX_OUTSIDE = 1e-13
_COARSE = 1 << 12  # a tilt is looked for on about this many places of a summand
_MAX_EXPONENT = 600.0  # powers of e up to here, times any mass or error, are floats


class TiltedSum:
    """A sum of losses, tilted: delta at an epsilon, from one side."""

    # empty: whether a summand is never finite, and so the sum never is.

    def __init__(self, parts: Parts, tilt: float, *, upper: bool) -> None:
        self.upper = upper
        self._step = parts[0][0].step
        self._origin = math.fsum(k * side.origin for side, k in parts)
        self._infinite = sum_infinite(parts) * (1 + SLACK if upper else 1 - SLACK)
        self.deviation, self._tilt = 0.0, tilt
        self.empty = not all(side.masses.any() for side, _ in parts)
        if self.empty:
            return
        window = _Window(parts, tilt)
        self._tilt, self._mean, self._size = tilt, window.mean, window.size
        self.deviation = self._step * window.deviation
        start = 0 if window.whole else math.floor(window.mean) - window.size // 2
        masses, self._error = _transformed(window.tilted, window.size)
        self._masses = np.maximum(np.roll(masses, -(start % window.size)), 0.0)
        self._wrapped = window.outside
        self._first = start + sum(k * side.first for side, k in parts)
        self._mean -= start
        self._middle = min(max(round(self._mean), 0), self._size)
        self._start = self._origin + self._first * self._step
        self._log = math.fsum(k * log for log, k in window.logs)
        self._charge(parts, [k * abs(log) for log, k in window.logs])

    def _charge(self, parts: Parts, logs: Sequence[float]) -> None:
        """Note how far losses, and logarithms, may be off."""
        farthest = self._step * abs(self._first)
        exponents = sum(k * largest_exponent(side, self._tilt) for side, k in parts)
        self._log_error = 2.0**-50 * (sum(logs) + exponents + self._tilt * farthest)
        self._blur = sum(k * side.blur for side, k in parts)
        self._blur += 2.0**-50 * (abs(self._origin) + farthest)

    @cached_property
    def _tails(self) -> tuple[Floats, Floats]:
        """The sums from each place up of ``R e^(-t h n)`` and of ``R e^(-(t + 1) h n)``."""
        # Places n count from the middle; powers that are too large for floats are cut, and those
        # places are :meth:`_far`.
        steps = self._step * (np.arange(self._size) - self._middle)
        steps = np.maximum(steps, -_MAX_EXPONENT / (self._tilt + 1))
        p = self._masses * np.exp(-self._tilt * steps)
        return _from_above(p), _from_above(p * np.exp(-steps))

    def _far(self, cell: int) -> bool:
        """True if powers at a cell may underflow when they count from the middle."""
        # Of those that are not, what is too small for floats on the other side is nothing next to
        # the errors that are charged there.
        return abs(cell - self._middle) * self._step * (self._tilt + 1) > _MAX_EXPONENT / 2

    def _from(self, cell: int, level: float) -> tuple[float, float]:
        """Return the sizes that are added up from a place on, and what they come to."""
        if self._far(cell):
            steps = self._step * np.arange(self._size - cell)
            masses = self._masses[cell:] * np.exp(-self._tilt * steps)
            above = self._start - level + self._step * (cell + np.arange(self._size - cell))
            return float(masses.sum()) * 2, float(masses @ -np.expm1(-np.maximum(above, 0.0)))
        a, b = (float(tail[cell]) for tail in self._tails)
        b = _scaled(b, level - self._start - self._step * self._middle)
        return a + b, a - b

    @property
    def middle(self) -> float:
        """The loss about which the sum is sharp: the mean under the tilt."""
        return 0.0 if self.empty else self._origin + self._step * (self._first + self._mean)

    def serves(self, epsilon: float, deviations: float) -> bool:
        """Return whether an epsilon lies near enough to the middle, so that bounds are sharp."""
        far = abs(epsilon - self.middle) > deviations * self.deviation
        return not far or (epsilon < self.middle and not self._tilt)

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of a bound on delta at an epsilon."""
        if self.empty:
            return _log(self._infinite)
        level = epsilon - self._blur if self.upper else epsilon + self._blur
        over = (level - self._start) / self._step
        cell = max(0, math.floor(over) + 1)
        middle = cell if self._far(cell) else self._middle
        scale = self._log - self._tilt * self._step * (self._first + middle)
        rise = -self._tilt * self._step * (min(cell, self._size, over + 1) - middle)
        value, weight = 0.0, _scaled(self._wrapped, rise)
        if cell < self._size:
            total, value = self._from(cell, level)
            fading = -math.expm1(-self._tilt * self._step)
            width = min(self._size - cell, 1 / fading if fading else math.inf)
            weight += _scaled(width * self._error, rise) + 4 * _U * self._size * total
        if self.upper:
            finite = _log(value + weight) + scale + self._log_error + 2.0**-40
            return min(_log_sum(finite, _log(self._infinite)), 0.0)
        finite = _log(value - weight) + scale - self._log_error - 2.0**-40
        return _log_sum(finite, _log(self._infinite))


class _Window:
    """The tilted summands, and how many places their sum needs."""

    # tilted: the tilted masses, which sum to one, from place 0 on; and how often each stands.

    def __init__(self, parts: Parts, tilt: float) -> None:
        both = [_tilted(side, tilt) for side, _ in parts]
        counts = [k for _, k in parts]
        self.logs = list(zip((log for log, _ in both), counts, strict=True))
        self.tilted = list(zip((a for _, a in both), counts, strict=True))
        self._means = [float(a @ np.arange(len(a))) for a, _ in self.tilted]
        both_moments = zip(self.tilted, self._means, strict=True)
        squares = [k * float(a @ np.square(np.arange(len(a)) - m)) for (a, k), m in both_moments]
        self.mean = math.fsum(k * m for k, m in zip(counts, self._means, strict=True))
        self.deviation = math.sqrt(math.fsum(squares))
        self.places = sum(k * (len(a) - 1) for a, k in self.tilted) + 1
        wanted = min(2 * _DEVIATIONS * self.deviation + _MIN_PLACES, self.places)
        self.size = 1 << max(4, math.ceil(math.log2(wanted)))
        step = parts[0][0].step
        # once for all sizes: the masses may be many
        self._places = [
            _logs_about(a, m) for (a, _), m in zip(self.tilted, self._means, strict=True)
        ]
        self._logs_at: dict[float, float] = {}
        self._rates = [f / max(self.deviation, 1.0) for f in (4, 8, 12, 16)] + [tilt * step / 2]
        self.outside = 0.0 if self.whole else self._outside()
        while self.outside > _MAX_OUTSIDE and self.size < _MAX_PLACES:
            self.size *= 2
            self.outside = 0.0 if self.whole else self._outside()

    @property
    def whole(self) -> bool:
        """True if the window contains all cells."""
        return self.places <= self.size

    def _outside(self) -> float:
        """Bound the mass outside of the window, on both sides."""
        total, edge = 0.0, self.size // 2 - 2
        rates = [*self._rates, 64 / edge]
        for sign in (1, -1):
            exponents = (self._log_at(sign * rate) - rate * edge for rate in rates)
            total += math.exp(min(0.0, min(exponents) + 1e-6))
        return total

    def _log_at(self, rate: float) -> float:
        """Return the logarithm of ``E e^(rate (sum - mean))``."""
        if rate not in self._logs_at:
            both = zip(self.tilted, self._places, strict=True)
            self._logs_at[rate] = math.fsum(k * _log_mean(*at, rate) for (_, k), at in both)
        return self._logs_at[rate]


def _logs_about(a: Floats, mean: float) -> tuple[Floats, Floats]:
    """Return the logarithms of the masses that are there, and how far each is from the mean."""
    present = np.flatnonzero(a)
    return np.log(a[present]), np.asarray(present - mean, dtype=np.float64)


def _log_mean(logs: Floats, distances: Floats, rate: float) -> float:
    """Return the logarithm of ``E e^(rate (place - mean))``."""
    powers = logs + rate * distances
    maximum = float(powers.max())
    return maximum + math.log(float(np.exp(powers - maximum).sum()))


def _tilted(side: Side, tilt: float) -> tuple[float, Floats]:
    """Return ln M and the tilted masses, which sum to one."""
    with np.errstate(divide="ignore"):
        logs = np.log(side.masses) + tilt * side.step * np.arange(
            side.first, side.first + len(side.masses)
        )
    maximum = float(logs.max())
    weights = np.exp(logs - maximum)
    total = float(weights.sum())
    return maximum + math.log(total), weights / total


def largest_exponent(side: Side, tilt: float) -> float:
    """Return what the exponents of tilted masses are below: those of masses, and of the tilt."""
    farthest = max(abs(side.first), abs(side.first + len(side.masses)))
    return 1024 + tilt * side.step * farthest


def moments(parts: Parts, tilt: float) -> tuple[float, float, float]:
    """Return the log of the moment generating function of the sum, its mean and variance there."""
    log = mean = variance = 0.0
    for side, k in parts:
        one, a = _tilted(side, tilt)
        losses = side.origin + side.step * np.arange(side.first, side.first + len(a))
        middle = float(a @ losses)
        log += k * (one + tilt * side.origin)
        mean += k * middle
        variance += k * float(a @ np.square(losses - middle))
    return log, mean, variance


def tilt_for_epsilon(parts: Parts, epsilon: float) -> float:
    """Return a tilt that puts the mean of the sum near an epsilon; 0 where it lies above."""

    def solve(parts: Parts) -> float:
        return _bisected(lambda tilt: moments(parts, tilt)[1] >= epsilon)

    tilt = solve(_coarse(parts))
    _, mean, variance = moments(parts, tilt)
    near = abs(mean - epsilon) <= math.sqrt(variance) or (mean > epsilon and tilt < 1)
    return tilt if near else solve(parts)  # near the largest losses, blocks say too little


def tilt_for_delta(parts: Parts, log_delta: float) -> float:
    """Return a tilt that puts the mean near the epsilon of a delta, by the saddle point."""
    parts = _coarse(parts)

    def small(tilt: float) -> bool:
        log, mean, variance = moments(parts, tilt)
        deviation = math.sqrt(variance) or 1e-9
        # about 1 / E e^-tx max(0, 1 - e^-x) for a normal x of that deviation
        narrow = math.log(tilt * (tilt + 1) * deviation + 1 / deviation) + 1
        return log - tilt * mean - narrow <= log_delta

    return _bisected(small)


def _coarse(parts: Parts) -> Parts:
    """Return parts with about as many places as a tilt needs: those of a block are one."""
    pieces = []
    for side, k in parts:
        size = len(side.masses) // _COARSE
        if size > 1:
            pad = -len(side.masses) % size
            masses = np.append(side.masses, np.zeros(pad)).reshape(-1, size).sum(axis=1)
            origin = side.origin + side.step * (side.first + (size - 1) / 2)
            side = Side(size * side.step, origin, 0, masses, side.infinite)
        pieces.append((side, k))
    return pieces


def _bisected(reached: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    while not reached(high):
        low, high = high, 4 * high
        if high > _LARGEST_TILT:
            return low
    return narrowed(reached, high, low, 12)[0]


def _transformed(parts: Sequence[tuple[Floats, int]], size: int) -> tuple[Floats, float]:
    """Return the distribution of the sum modulo the size, and how wrong an entry may be."""
    indices = np.arange(size // 2 + 1)
    product = np.ones(len(indices), dtype=np.complex128)
    logs, relative, gone = np.zeros(len(indices)), np.zeros(len(indices)), 0.0
    unit = _TRANSFORM * math.log2(size)
    for a, k in parts:
        folded = a if len(a) <= size else _folded(a, size)
        wrong = unit * math.sqrt(size) * float(np.linalg.norm(folded)) + _U * len(a)
        one = np.fft.rfft(folded, size)[indices]
        bound = np.abs(one) * (1 + 4 * _U) + wrong
        logs += k * np.log(bound)
        relative += k * (wrong / bound + 6 * _U)
        gone *= math.exp(min(k * math.log1p(4 * _U * len(a) + wrong), 600.0))
        used = logs > _NEGLIGIBLE
        if not used.all():
            gone += math.exp(_NEGLIGIBLE) * int(len(used) - used.sum())
            indices, one, product = indices[used], one[used], product[used]
            logs, relative = logs[used], relative[used]
        product *= _power(one, k)
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    spectrum[indices] = product
    masses = np.fft.irfft(spectrum, size)
    error = 2 * (float((np.exp(logs) * relative).sum()) + gone) / size
    error += unit * float(np.linalg.norm(masses))
    return masses, error * (1 + 2.0**-20)


def _folded(a: Floats, size: int) -> Floats:
    padded = np.zeros(-(-len(a) // size) * size)
    padded[: len(a)] = a
    return padded.reshape(-1, size).sum(axis=0)  # type: ignore[no-any-return]


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Return a power by repeated squaring."""
    product: NDArray[np.complex128] | None = None
    while True:
        if exponent % 2:
            product = base if product is None else product * base
        exponent //= 2
        if not exponent:
            assert product is not None
            return product
        base = base * base


def _from_above(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]


def sum_infinite(parts: Parts) -> float:
    """Return the mass of an infinite loss in any summand, ``1 - prod (1 - infinite)^k``."""
    rest = math.fsum(k * math.log1p(-min(side.infinite, 1 - _U)) for side, k in parts)
    return -math.expm1(rest)


def _scaled(value: float, exponent: float) -> float:
    """Return a value times e to an exponent, which may be more than any float."""
    if not value:
        return 0.0
    return value * math.exp(exponent) if exponent < 700 else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _log_sum(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


# Summands on one lattice, from above and from below, and the sums of both.


_SERVED = 3.0  # a tilt serves epsilons of this many deviations from its middle


class LatticeSums:
    """The summands of a sum on one lattice, from above; and, at a tilt, from below."""

    def __init__(
        self,
        listed: list[tuple[ListedLosses | SpreadLosses, int]],
        step: float,
        origins: list[float],
        *,
        own: bool = False,
    ) -> None:
        self._listed, self._step, self._origins, self._own = listed, step, origins, own
        self.above = [
            (on_own_lattice(m, step, o) if own else above(m, step, o), k)
            for (m, k), o in zip(listed, origins, strict=True)
        ]
        self.dusty = any(_alone(masses).infinite[1] > 0 for masses, _ in listed)

    def bound(self, tilt: float, *, upper: bool) -> TiltedSum:
        """Return the sum at a tilt, from one side."""
        if upper:
            return TiltedSum(self.above, tilt, upper=True)
        step, own = self._step, self._own
        under = [
            (
                on_own_lattice(m, step, o, upper=False) if own else below(m, step, o, tilt),
                k,
            )
            for (m, k), o in zip(self._listed, self._origins, strict=True)
        ]
        return TiltedSum(under, tilt, upper=False)

    def log_deltas(self, levels: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return ends of the logarithm of delta at epsilons, each between two floats, rising."""
        # One tilt serves all that lie near its middle.
        enclosed: list[tuple[float, float]] = []
        pair: tuple[TiltedSum, TiltedSum] | None = None
        for index, (low, high) in enumerate(levels):
            if pair is None or not pair[1].serves(high, _SERVED):
                tilt = tilt_for_epsilon(self.above, high)
                if index + 1 < len(levels):
                    tilt = self._farther(tilt, high)
                pair = self.bound(tilt, upper=False), self.bound(tilt, upper=True)
            enclosed.append((pair[0].log_delta(high), pair[1].log_delta(low)))
        return enclosed

    def _farther(self, tilt: float, epsilon: float) -> float:
        """Return a tilt for an epsilon and those above it, from the one for it alone."""
        _, mean, variance = moments(self.above, tilt)
        farther = tilt_for_epsilon(
            self.above, max(mean, epsilon) + _SERVED / 2 * math.sqrt(variance)
        )
        _, mean, variance = moments(self.above, farther)
        return farther if abs(mean - epsilon) <= _SERVED * math.sqrt(variance) else tilt

    def steepest_epsilon(self, log_delta: float) -> float:
        """Return an epsilon at which delta is below one given, from the tilted masses alone."""
        # ``delta(e) <= e^(K(t) - t e) t^t / (1 + t)^(1 + t)`` next to what is infinite, for each t
        # > 0 (:func:`~tacit.core.losses.summands.min_part`): no transform, no window.
        infinite = sum_infinite(self.above) * (1 + SLACK)
        if not infinite < math.exp(log_delta):
            return math.inf
        left = log_delta + math.log1p(-infinite * math.exp(-log_delta)) - 2.0**-40
        blur = sum(k * side.blur for side, k in self.above)
        epsilons: list[float] = []
        for t in (math.pow(2.0, quarter / 4) for quarter in range(-24, 48)):
            log, _, _ = moments(self.above, t)
            log += 2.0**-48 * sum(k * largest_exponent(side, t) for side, k in self.above)
            epsilons.append((log + min_part(t) - left) / t + blur)
        return max(min(epsilons), 0.0) * (1 + 2.0**-50)


def _alone(masses: ListedLosses | SpreadLosses) -> ListedLosses:
    return masses if isinstance(masses, ListedLosses) else masses.alone


def ends(losses: ListedLosses | SpreadLosses) -> Floats:
    """Return the losses that have a mass of their own, and the ends of all others."""
    alone = _alone(losses)
    others = () if isinstance(losses, ListedLosses) else losses.ends
    return np.concatenate([alone.low, alone.high, others])


def ends_weigh(losses: ListedLosses | SpreadLosses) -> bool:
    """Return whether the first or the last of some losses has a mass that matters."""
    masses = _alone(losses).min_mass
    return bool(max(masses[0], masses[-1]) > 1e-6)
