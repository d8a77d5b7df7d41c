"""Noises of smooth sensitivity whose loss is concentrated: zCDP.

All three are drawn as a function of a normal Y, so that dilating them is shifting Y a little.  The
two parts of the family (*) of :mod:`tacit.mechanisms.smooth.pure_laws` are bounded one after the
other, ``Z -> e^t Z -> e^t Z + a``, and joined by the triangle inequality of zCDP: if
``D_alpha(P, Q) <= alpha e1^2 / 2`` and ``D_alpha(Q, R) <= alpha e2^2 / 2`` for all alpha > 1, then
``D_alpha(P, R) <= alpha (e1 + e2)^2 / 2`` (Bun and Steinke 2016).  A log-density with slope at most
``k`` makes the shift of ``e^t Z`` by a ``k |a| e^-t``-DP, hence ``e2 = k |a| e^-t <= k s e^-|t|``
by (*).  With ``e1 = D(|t|)`` convex, ``D(t) + k s e^-t`` is convex and largest at an end of
``[0, b]``:

    ``rho = e^2 / 2``  with  ``e = max(k s, D(b) + k s e^-b)``.

Source: M. Bun, T. Steinke, *Average-case averages: private algorithms for smooth sensitivity and
mean estimation* (2019), which has ``e = D(b) + k s``; the constants k and D are derived anew below.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import Enclosure, exp, log, sqrt
from tacit.arithmetic.exact import show
from tacit.arithmetic.normal_mean import mean_of_decay
from tacit.arithmetic.special_functions import normal_cdf, normal_density
from tacit.arithmetic.tail_probabilities import Floats, normal_tail
from tacit.errors import UsageError
from tacit.mechanisms.smooth.lazy_reals import Lazy, Uniform, exponential, normal
from tacit.mechanisms.smooth.pure_laws import SmoothLaw, from_zero
from tacit.noise.bits import word

__all__ = ["ArsinhNormalLaw", "LaplaceLogNormalLaw", "UniformLogNormalLaw"]

_STEP = 1 / 24


@dataclass(frozen=True)
class ConcentratedLaw(SmoothLaw):
    """What the three share: rho, sigma, and the bound of the module.

    Args:
        rho: the claim at distance one.
        sigma: the parameter of the normal inside, from 1/16 to 8.

    Raises:
        UsageError: another sigma.
    """

    rho: Fraction
    sigma: Fraction

    def __post_init__(self) -> None:
        if not Fraction(1, 16) <= self.sigma <= 8:
            raise UsageError(f"sigma must be from 1/16 to 8, not {show(self.sigma)}")

    @abstractmethod
    def slope(self) -> Enclosure:
        """Enclose k: no less than the slope of the log-density."""

    @abstractmethod
    def dilation(self, rate: Fraction) -> Enclosure:
        """Enclose D(rate)."""

    def shift(self, rate: Fraction) -> Fraction:
        """Return the largest ``s`` with ``max(k s, D(b) + k s e^-b) <= sqrt(2 rho)``."""
        e = sqrt(2 * self.rho)
        room = ((e - self.dilation(rate)) * exp(rate)).minimum(e)
        return from_zero(room.maximum(0) / self.slope())

    def rates(self) -> list[Fraction]:
        """Return shares of ``sqrt(2 rho)``."""
        e = from_zero(sqrt(2 * self.rho)) * min(self.sigma, 1 / self.sigma)
        return [e * k / 24 for k in range(1, 24)]


@dataclass(frozen=True)
class LaplaceLogNormalLaw(ConcentratedLaw):
    """``Z = X e^(sigma Y)``, X Laplace: ``D(t) = t / sigma``, ``k = e^(3/2 sigma^2)``.

    **Dilation.**  ``e^t Z = X e^(sigma (Y + t / sigma))``: what Gaussian noise costs at a shift of
    ``t / sigma`` (data processing).  **Slope.**  The density is ``E[v e^(-|z| v) / 2]`` with ``v =
    e^(-sigma Y)``, so the slope of its logarithm is the mean of v under weights ``v e^(-|z| v)``,
    which falls in ``|z|``; at 0 it is ``E[v^2] / E[v] = e^(2 sigma^2 - sigma^2 / 2)``.

    >>> law = LaplaceLogNormalLaw(Fraction(1, 2), Fraction(1, 2))
    >>> 0.68 < law.shift(Fraction(1, 1000)) < math.exp(-3 / 8)
    True
    """

    def slope(self) -> Enclosure:
        """Enclose ``e^(3/2 sigma^2)``."""
        return exp(Fraction(3, 2) * self.sigma**2)

    def dilation(self, rate: Fraction) -> Enclosure:
        """Return ``rate / sigma``."""
        return Enclosure.of(rate / self.sigma)

    def draw(self) -> Lazy:
        """Draw a sign, an exponential and a normal number."""
        size, y, negative = exponential(), normal(), word(1)

        def formula(bits: int) -> Enclosure:
            found = size.enclose() * _grown(self.sigma, y, bits)
            return (-found if negative else found).rounded(bits)

        return Lazy(size.uniforms + y.uniforms, formula)

    def cdf(self, z: Fraction, bits: int = 160) -> Enclosure:
        """Enclose ``1 - E[exp(-z e^(-sigma Y))] / 2`` for ``z > 0``: :func:`mean_of_decay`."""
        if z < 0:
            return 1 - self.cdf(-z, bits)
        return (1 - mean_of_decay(z, self.sigma) / 2).rounded(bits)

    def tail(self, z: Floats) -> Floats:
        """Return ``E[exp(-z e^(-sigma Y))] / 2``."""
        grown, weights = self._nodes
        return np.exp(-z[:, None] / grown) @ weights / 2

    def area(self, start: float, end: float) -> float:
        """Return a difference of ``E[e^(sigma Y) exp(-z e^(-sigma Y))] / 2``."""
        grown, weights = self._nodes
        beyond = np.exp(-start / grown) - np.exp(-end / grown)
        return float(beyond @ (grown * weights)) / 2

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Values of ``e^(sigma Y)`` and their weights, by the trapezoidal rule."""
        y = np.arange(-12, 38, _STEP)
        weights = np.exp(-y * y / 2) * (_STEP / math.sqrt(2 * math.pi))
        return np.exp(float(self.sigma) * y), weights

    @property
    def size(self) -> float:
        """``e^(sigma^2 / 2)``."""
        return math.exp(float(self.sigma) ** 2 / 2)


@dataclass(frozen=True)
class UniformLogNormalLaw(ConcentratedLaw):
    """``Z = X e^(sigma Y)``, X uniform on [-1, 1]: ``D(t) = t / sigma``.

    **Slope.**  For ``z > 0`` let ``y = ln z / sigma``.  The density is ``E[e^(-sigma Y); Y > y] / 2
    = e^(sigma^2 / 2) P(N > y + sigma) / 2`` and its slope ``-phi(y) / (2 sigma z^2)``, so that of
    the logarithm has size ``(e^(3/2 sigma^2) / sigma) phi(w + sigma) / P(N > w)``, ``w = y +
    sigma``. The logarithm of the last quotient has derivative ``h(w) - w - sigma`` with h the
    normal hazard rate, and ``h(w) - w`` falls from infinity to 0: one maximum, at the ``w*`` with
    ``h(w*) = w* + sigma``.  It is
    bracketed with certified h, and on a bracket the quotient is at most its largest numerator over
    its least denominator.
    (Bun and Steinke bound it by ``sqrt(2 / pi)``, for ``sigma >= sqrt
    2`` alone.)
    """

    def slope(self) -> Enclosure:
        """Enclose k."""
        peak = _hazard_peak(self.sigma)
        return (exp(Fraction(3, 2) * self.sigma**2) * peak / self.sigma).rounded(64)

    def dilation(self, rate: Fraction) -> Enclosure:
        """Return ``rate / sigma``."""
        return Enclosure.of(rate / self.sigma)

    def draw(self) -> Lazy:
        """Draw a uniform and a normal number."""
        x, y = Uniform(), normal()
        return Lazy(
            (x, *y.uniforms),
            lambda bits: (x.centred() * _grown(self.sigma, y, bits)).rounded(bits),
        )

    def cdf(self, z: Fraction, bits: int = 160) -> Enclosure:
        """Enclose ``1 - (P(N > y) - z e^(sigma^2/2) P(N > y + sigma)) / 2`` for ``z > 0``."""
        if z == 0:
            return Enclosure.of(Fraction(1, 2))
        if z < 0:
            return 1 - self.cdf(-z, bits)
        y = log(z, bits) / self.sigma
        beyond = normal_cdf(-y, bits)
        inner = z * exp(self.sigma**2 / 2, bits) * normal_cdf(-y - self.sigma, bits)
        return (1 - (beyond - inner) / 2).rounded(bits)

    def tail(self, z: Floats) -> Floats:
        """Return ``(P(N > y) - z e^(sigma^2/2) P(N > y + sigma)) / 2``."""
        sigma, grown, y = self._of(z)
        return (normal_tail(y) - z * grown * normal_tail(y + sigma)) / 2

    def area(self, start: float, end: float) -> float:
        """Return a difference of means beyond."""
        return self._beyond(start) - self._beyond(end)

    def _beyond(self, z: float) -> float:
        """Return ``E max(Z - z, 0) = E[(V - z)^2 / V; V > z] / 4``, ``V = e^(sigma Y)``."""
        if math.isinf(z):
            return 0.0
        sigma, grown, y = self._of(np.array([z]))
        found = grown * (normal_tail(y - sigma) + z * z * normal_tail(y + sigma))
        return float((found - 2 * z * normal_tail(y))[0]) / 4

    def _of(self, z: Floats) -> tuple[float, float, Floats]:
        """Return sigma, ``e^(sigma^2 / 2)`` and ``y = ln z / sigma``."""
        sigma = float(self.sigma)
        with np.errstate(divide="ignore"):
            return sigma, math.exp(sigma**2 / 2), np.log(z) / sigma

    @property
    def size(self) -> float:
        """``e^(sigma^2 / 2) / 2``."""
        return math.exp(float(self.sigma) ** 2 / 2) / 2


@dataclass(frozen=True)
class ArsinhNormalLaw(ConcentratedLaw):
    """``Z = sinh(sigma Y) / sigma``.

    **Slope.**  The log-density at ``z = sinh(sigma y) / sigma`` is ``-y^2/2 - ln cosh(sigma y)``,
    so its slope in z is ``(y + sigma tanh(sigma y)) / cosh(sigma y)`` in size, at most ``k = 0.6628
    / sigma + sigma / 2``: ``v / cosh v`` is largest where ``v tanh v = 1`` (v = 1.19968), and
    ``sinh / cosh^2`` is at most 1/2.

    **Dilation.**  Let ``h_r`` be the density of ``e^r Z`` and ``y_r`` the y of ``e^-r z``.  Then
    ``d/dr ln h_r(z) = q(y_r) - 1`` with ``q(y) = y tanh(sigma y) / sigma + tanh^2(sigma y)``, and
    ``|q'| <= c = 1.2 / sigma + 0.77 sigma``, since ``tanh v + v / cosh^2 v`` is largest, 1.19968,
    where ``v tanh v = 1``, and ``2 tanh / cosh^2`` is at most ``4 / (3 sqrt 3)``.  By Stein's
    identity ``E[Y tanh(sigma Y)] = sigma E[1 / cosh^2(sigma Y)]``, so ``E[q(Y)] = 1``.  As ``|dy_r
    / dr| <= 1 / sigma``, the mean of the loss ``-int_0^t (q(y_r) - 1) dr`` of Z against ``e^t Z``
    is at most ``c t^2 / (2 sigma)``.  As ``|dy_r / dy| <= e^|r|``, the loss is Lipschitz in the
    normal Y with constant ``m = c (e^|t| - 1)``, hence subgaussian about its mean: ``D_alpha <= c
    t^2 / (2 sigma) + (alpha - 1) m^2 / 2``, at most ``alpha D^2 / 2`` with ``D(t) = max(t sqrt(c /
    sigma), m)``, which is convex.  It is linear in t near 0, where Bun and Steinke's ``sqrt(t (t /
    sigma^2 + 1 / sigma + 2))`` is a square root.
    """

    @property
    def _steepness(self) -> Fraction:
        return Fraction(6, 5) / self.sigma + Fraction(77, 100) * self.sigma

    def slope(self) -> Enclosure:
        """Return ``0.6628 / sigma + sigma / 2``."""
        return Enclosure.of(Fraction(6628, 10000) / self.sigma + self.sigma / 2)

    def dilation(self, rate: Fraction) -> Enclosure:
        """Enclose ``max(t sqrt(c / sigma), c (e^t - 1))``."""
        mean = rate * sqrt(self._steepness / self.sigma)
        return mean.maximum(self._steepness * (exp(rate) - 1))

    def draw(self) -> Lazy:
        """Draw a normal number and stretch it."""
        y = normal()

        def formula(bits: int) -> Enclosure:
            grown = _grown(self.sigma, y, bits)
            return ((grown - 1 / grown) / (2 * self.sigma)).rounded(bits)

        return Lazy(y.uniforms, formula)

    def cdf(self, z: Fraction, bits: int = 160) -> Enclosure:
        """Enclose P(N <= arsinh(sigma z) / sigma)."""
        if z < 0:
            return 1 - self.cdf(-z, bits)
        v = self.sigma * z
        return normal_cdf(log(v + sqrt(1 + v * v, bits), bits) / self.sigma, bits)

    def tail(self, z: Floats) -> Floats:
        """Return ``P(N > arsinh(sigma z) / sigma)``."""
        sigma = float(self.sigma)
        return normal_tail(np.arcsinh(sigma * z) / sigma)

    def area(self, start: float, end: float) -> float:
        """Return a difference of means beyond."""
        return self._beyond(start) - self._beyond(end)

    def _beyond(self, z: float) -> float:
        """Return ``E[Z; Y > y] - z P(N > y)``; the mean of ``e^(sigma Y)`` beyond y is normal."""
        if math.isinf(z):
            return 0.0
        sigma = float(self.sigma)
        y = math.asinh(sigma * z) / sigma
        low, here, high = map(float, normal_tail(np.array([y - sigma, y, y + sigma])))
        return math.exp(sigma**2 / 2) * (low - high) / (2 * sigma) - z * here

    @property
    def size(self) -> float:
        """``e^(sigma^2 / 2) erf(sigma / sqrt 2) / sigma``."""
        sigma = float(self.sigma)
        return math.exp(sigma**2 / 2) * math.erf(sigma / math.sqrt(2)) / sigma


def _grown(sigma: Fraction, y: Lazy, bits: int) -> Enclosure:
    """Enclose ``e^(sigma Y)``."""
    return exp((sigma * y.enclose()).rounded(bits), bits)


@lru_cache(maxsize=256)
def _hazard_peak(sigma: Fraction) -> Enclosure:
    """Bound the largest ``phi(w + sigma) / P(N > w)``: floats guess where, enclosures certify.

    The sign of ``phi(w) - (w + sigma) P(N > w)`` is plus before ``w*`` and minus after it.
    """

    def rises(w: float) -> bool:
        tail = math.erfc(w / math.sqrt(2)) * math.sqrt(math.pi / 2)
        return math.exp(-(w**2) / 2) > (w + float(sigma)) * tail

    low, high = narrowed(rises, -20.0, 20.0, 36)  # sigma is from 1/16 to 8
    width = Fraction(1, 1 << 20)
    while True:
        before, after = Fraction(low) - width, Fraction(high) + width
        if _rises(before, sigma).lower > 0 > _rises(after, sigma).upper:
            ends = abs(before + sigma), abs(after + sigma)
            nearest = Fraction(0) if before < -sigma < after else min(ends)
            top = normal_density(Enclosure.of(nearest)) / normal_cdf(Enclosure.of(-after), 320)
            return Enclosure.of(top.upper)
        width *= 16


def _rises(w: Fraction, sigma: Fraction) -> Enclosure:
    tail = normal_cdf(Enclosure.of(-w), 320)
    return normal_density(Enclosure.of(w), 320) - tail * (w + sigma)
