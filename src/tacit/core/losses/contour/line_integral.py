r"""Sums of many distinct losses, by an integral in the complex plane, its errors bounded.

Let S be a sum of independent losses and ``K(z) = sum of k_i ln M_i(z)`` the logarithm of ``E e^(z
S)``.  For every t > 0, along the line of real part t,

    delta(epsilon) = 1/(2 pi i) integral of e^(K(z) - z epsilon) / (z (z + 1)) dz.

Where a transform of a lattice (:mod:`~tacit.core.losses.tilted_sum`) takes each summand at every
frequency, here the few frequencies are enough at which the product is not nearly zero.  What is
added up is a Riemann sum at ``z = t + i k h``, of S and a Gaussian loss G of a tiny variance v.

- *From above.*  G is one more release, which lowers no delta.  By Poisson's summation the whole
  Riemann sum is the sum over whole m of ``e^(t Y m) delta(epsilon + Y m)`` with ``Y = 2 pi / h``:
  no term is negative, so it is no less than delta.
- *From below.*  ``delta_(S+G)(epsilon)`` is the mean of ``delta_S(epsilon - G)``, which falls in
  epsilon: so it is at most ``P(G <= 0) delta_S(epsilon)``, and what comes from G between each two
  of ``0 = y_0 < y_1 < ...``, which is ``P(y_j < G <= y_(j+1)) delta_S(epsilon - y_(j+1))`` at most;
  with bounds from above for these it gives one from below for delta_S.  The terms of m below zero
  come to at most ``1 / (e^(t Y) - 1)``; those above zero, since ``delta(x) <= e^(K(s) - s x)``, to
  at most ``e^(K(s) - s epsilon) / (e^((s - t) Y) - 1)`` for each s > t.
- *Frequencies left out*, those above a band b.  There ``|1/(z (z + 1))| <= 1/w^2``, and the sum
  over ``k h > b`` of ``h / (k h)^2`` is at most ``1 / (b - h)``; so what is missing is at most
  ``e^(K(t) - t epsilon) B / (pi (b - h))``, with B the largest product of the ``|M_i(t + i w) /
  M_i(t)|`` and ``e^(-v w^2 / 2)`` there. (:mod:`~tacit.core.losses.contour.beyond_band`).
- *Rounding.*  A factor is right to ``2^-46``, as a number of size at most one, and so is the
  logarithm of its size at t, and each product of t and a loss.

Source of the integral: Zhu, Dong, Wang, "Optimal accounting of differential privacy via
characteristic functions", AISTATS 2022; of the tilted line: Alghamdi and others, "The saddle-point
accountant for differential privacy", ICML 2023.  The bounds are worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arithmetic.bisection import narrowed
from tacit.core.losses.cells import Floats
from tacit.core.losses.contour.beyond_band import REST, most_beyond
from tacit.core.losses.contour.ends import Ends, moments, tilt_at, tilt_near

__all__ = ["Contour", "enclosed_epsilon", "enclosed_log_delta"]

_WORD = 2.0**-46
_KERNELS = (3e-4, 2e-3, 1e-2)
"""The deviation of the Gaussian beside that of the sum: the first one that is usable."""
_BAND = 9.5
_MOST_NODES = 1 << 10
_LEAST_FACTOR = 1e-3
_STEPS = 60
_CELLS_BESIDE = 64


class Contour:
    """The sum at one tilt: bounds on delta near the epsilon that the tilt is for.

    Args:
        ends: the summands.
        tilt: above zero.
        smallest: the logarithm of the least delta that is asked about.
        kernel: the deviation of the Gaussian beside that of the sum.

    Attributes:
        usable: whether the frequencies that are left out are bounded.
    """

    def __init__(self, ends: Ends, tilt: float, smallest: float, kernel: float) -> None:
        self._ends, self._tilt = ends, tilt
        self._log, self.middle, variance = moments(ends, tilt)
        deviation = math.sqrt(variance)
        self._v = (kernel * deviation) ** 2
        self._log += self._v * (tilt * tilt + tilt) / 2
        rest = REST - smallest
        self._h = min(2 * math.pi * tilt / rest, 0.75 / deviation)
        count = math.ceil(_BAND / deviation / self._h) + 1
        self._band = count * self._h
        self.usable = count <= _MOST_NODES
        if not self.usable:
            return
        self._beside = _Beside.of(math.sqrt(self._v), smallest)
        self._total = float(ends.times.sum())
        self._far = most_beyond(ends, tilt, self._band, self._v)
        self.usable = self._far < 1 and self._sample(count)

    def _sample(self, count: int) -> bool:
        """Take the product of all factors at the frequencies of the band."""
        w = np.arange(count + 1) * self._h
        z = self._tilt + 1j * w
        at = self._ends.factors(self._tilt)[:, None]
        phase = np.exp(-1j * w * self.middle)
        whole, wrong = np.ones(len(w), dtype=np.complex128), np.zeros(len(w))
        for start in range(0, len(at), 1024):
            part = slice(start, start + 1024)
            some = Ends(self._ends.rate[part], self._ends.shift[part], self._ends.times[part])
            factors = some.factors(z) / at[part]
            sizes = np.abs(factors)
            if sizes.min() < _LEAST_FACTOR:
                return False
            k = some.times[:, None]
            whole *= np.exp((k * np.log(factors)).sum(axis=0))
            wrong += (k * (_WORD / sizes)).sum(axis=0)
        kernel = np.exp(-self._v * w * w / 2 + 1j * w * (self._v * (self._tilt + 0.5)))
        with np.errstate(over="ignore"):
            self._terms = whole * phase * kernel / (z * (z + 1))
        self._w = w
        # the phase turns back at most a few times in the band
        wrong += _WORD * (4 + w * abs(self.middle))
        weight = np.abs(self._terms) * np.expm1(wrong)
        self._error = float(weight[0] + 2 * weight[1:].sum()) * self._h / (2 * math.pi)
        self._error += self._far / (math.pi * (self._band - self._h))
        return bool(wrong.max() < 0.1)

    def _sum(self, epsilon: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of what the sums are in units of, and the sums."""
        turned = self._terms[:, None] * np.exp(-1j * np.outer(self._w, epsilon - self.middle))
        found = turned[0].real + 2 * turned[1:].real.sum(axis=0)
        return self._log - self._tilt * epsilon, found * self._h / (2 * math.pi)

    def _unsure(self, epsilon: Floats) -> Floats:
        size = abs(self._log) + self._tilt * np.abs(epsilon)
        turns = len(self._w) * (1 + float(self._w[-1]) * np.abs(epsilon))
        found: Floats = _WORD * (self._total + size + turns)
        return found

    def upper(self, epsilon: float) -> float:
        """Return a logarithm that that of delta at an epsilon is not above."""
        return float(self._upper(np.array([epsilon]))[0])

    def _upper(self, epsilon: Floats) -> Floats:
        log, found = self._sum(epsilon - self._shifted(epsilon))
        unsure = self._unsure(epsilon)
        found = np.maximum(found, 0.0) * (1 + unsure) + self._error + _WORD * abs(self._terms[0])
        bound: Floats = np.minimum(log + np.log(found) + unsure, 0.0)
        return bound

    def lower(self, epsilon: float) -> float:
        """Return a logarithm that that of delta at an epsilon is not below."""
        there = np.array([epsilon])
        there += self._shifted(there)
        logs, sums = self._sum(there)
        unsure = float(self._unsure(there)[0])
        found = float(sums[0]) * (1 - unsure) - self._error - _WORD * abs(self._terms[0])
        if found <= 0:
            return -math.inf
        log = float(logs[0]) + math.log(found) - unsure
        y = 2 * math.pi / self._h
        s = 2 * self._tilt
        beyond = self._ends.log(s) + self._v * (s * s + s) / 2 - s * float(there[0])
        wrapped = [-math.log(math.expm1(self._tilt * y)), beyond - (s - self._tilt) * y + 1e-6]
        near = self._upper(there[0] - self._beside.steps)
        # in units of e^log: what else makes up the sum
        less = float(self._beside.masses @ np.exp(near - log)) + math.exp(
            self._beside.log_rest - log
        )
        less += sum(math.exp(min(one - log, 1.0)) for one in wrapped)
        rest = (1 - less * (1 + 2.0**-30)) / self._beside.below
        return log + math.log(rest) - 2.0**-40 if rest > 0 else -math.inf

    def _shifted(self, epsilon: Floats) -> Floats:
        """Return how far all losses together may lie from where their floats put them."""
        largest = float(self._ends.times @ self._ends.largest)
        found: Floats = 2.0**-50 * (largest + np.abs(epsilon))
        return found


@dataclass(frozen=True)
class _Beside:
    """The Gaussian loss in cells above zero.

    Attributes:
        steps: the upper end of each cell.
        masses: what each holds, rounded up.
        log_rest: the logarithm of what lies beyond all of them.
        below: what lies below zero, rounded up.
    """

    steps: Floats
    masses: Floats
    log_rest: float
    below: float

    @classmethod
    def of(cls, deviation: float, smallest: float) -> _Beside:
        """Return the cells, far enough for a delta whose logarithm is given."""
        far = math.sqrt(2 * (REST / 2 - smallest))
        edges = np.linspace(0.0, far * deviation + deviation**2, _CELLS_BESIDE + 1)
        beyond = [_upper_tail(edge / deviation - deviation / 2) for edge in edges]
        masses = -np.diff(np.array(beyond)) + 2.0**-50
        masses[masses < 2.0**-49] = 2.0**-49
        rest = math.log(max(beyond[-1], 1e-300)) + 1e-9
        return cls(edges[1:], masses, rest, 1 - beyond[0] + 2.0**-50)


def _upper_tail(u: float) -> float:
    return math.erfc(u / math.sqrt(2)) / 2 * (1 + 2.0**-40)


def _least_epsilon(
    bound: Callable[[float], float], middle: float, log_target: float, *, upper: bool
) -> float | None:
    """Return the least epsilon above zero at which a bound is at most a target, from one side.

    From above it is an end of a step where it holds, from below one where it does not; None where
    none is found near the middle.
    """
    width = 2.0**-14 * (1 + abs(middle))
    low = high = middle
    for _ in range(_STEPS):
        if bound(high) <= log_target:
            break
        low, high, width = high, high + width, 2 * width
    else:
        return None
    width = 2.0**-14 * (1 + abs(middle))
    for _ in range(_STEPS):
        if bound(low) > log_target:
            break
        low, high, width = low - width, low, 2 * width
    else:
        return None
    high, low = narrowed(lambda epsilon: bound(epsilon) <= log_target, high, low, _STEPS)
    found = high if upper else low
    return found if found > 0 else None


def _contour_at(ends: Ends, tilt: float, smallest: float) -> Contour | None:
    """Return the sum at a tilt, with the narrowest Gaussian that is usable; None where none is."""
    if not math.isfinite(tilt) or tilt <= 0:
        return None
    found = (Contour(ends, tilt, smallest, kernel) for kernel in _KERNELS)
    return next((contour for contour in found if contour.usable), None)


def enclosed_epsilon(ends: Ends, log_delta: float) -> tuple[float, float] | None:
    """Return ends of the least epsilon at a delta, whose logarithm is given; None if not known.

    >>> from tacit.core.losses.contour.ends import ends_of
    >>> rows = [(1 / (20 + place / 2), 1, 1) for place in range(200)]
    >>> low, high = enclosed_epsilon(ends_of(rows), math.log(1e-6))
    >>> round(low, 2), round(high, 2), high - low < 2e-4 * high
    (1.23, 1.23, True)
    """
    if log_delta == -math.inf:
        return None
    contour = _contour_at(ends, tilt_near(ends, log_delta), log_delta)
    if contour is None:
        return None
    # a logarithm of two numbers is right to 2^-45, whichever way it is asked about
    high = _least_epsilon(contour.upper, contour.middle, log_delta - 2.0**-40, upper=True)
    low = _least_epsilon(contour.lower, contour.middle, log_delta + 2.0**-40, upper=False)
    return None if high is None or low is None else (low, high)


def enclosed_log_delta(ends: Ends, low: float, high: float) -> tuple[float, float] | None:
    """Return ends of the logarithm of delta at an epsilon between two floats; None if not known."""
    tilt = tilt_at(ends, high)
    log, mean, _ = moments(ends, tilt)
    if not math.isfinite(log):
        return None
    contour = _contour_at(ends, tilt, min(log - tilt * mean, 0.0) - 20)
    return None if contour is None else (contour.lower(high), contour.upper(low))
