"""The noises of smooth sensitivity, each calibrated by a proven bound and drawn exactly.

The mechanism releases ``f(x) + (S(x) / s) Z`` with unit noise Z.  Let x and x' be neighbours.
``S`` bounds the local sensitivity, so ``|f(x) - f(x')| <= min(S(x), S(x'))``; and ``S`` is smooth,
so ``S(x') = e^t S(x)`` with ``|t| <= b``.  Seen from x, in units of ``S(x) / s``, the two outputs
are ``Z`` and ``a + e^t Z`` with

    ``|t| <= b``  and  ``|a| <= s min(1, e^t)``.                                            (*)

The family (*) holds each pair in both orders (divide by ``e^t``).  Every bound below is a supremum
over it; ``shift(b)`` gives the largest ``s`` that the bound allows, rounded down, 0 where there is
none.  ``b`` is the rate of the smooth sensitivity plus the slack of its computation.

That both sensitivities bound ``|f(x) - f(x')|`` is what the usual proofs leave unused; it pays for
most of the dilation, and makes the noise several times smaller than the textbook's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log, pi, sqrt
from tacit.arithmetic.special_functions import arctangent
from tacit.arithmetic.tail_probabilities import Floats, student_density, student_tail
from tacit.mechanisms.smooth.lazy_reals import Lazy, exponential, student
from tacit.noise.bits import word

__all__ = ["LaplaceLaw", "SmoothLaw", "StudentLaw", "from_zero", "scaled_down"]


class SmoothLaw(ABC):
    """A unit noise, symmetric about 0, with the proof of how much of it is enough."""

    @abstractmethod
    def shift(self, rate: Fraction) -> Fraction:
        """Return the largest ``s`` proven at this rate, rounded down; 0 if there is none."""

    @abstractmethod
    def draw(self) -> Lazy:
        """Draw Z."""

    @abstractmethod
    def cdf(self, z: Fraction, bits: int = 160) -> Enclosure:
        """Enclose P(Z <= z)."""

    @abstractmethod
    def tail(self, z: Floats) -> Floats:
        """Return P(Z > z) for ``z >= 0``, in floats: for expected errors (no proof)."""

    @abstractmethod
    def area(self, start: float, end: float) -> float:
        """Return the integral of :meth:`tail`, ``0 <= start <= end``; end may be infinite.

        Of a distribution without a mean it may not.
        """

    @property
    @abstractmethod
    def size(self) -> float:
        """E|Z| (of the Cauchy distribution: the median), to choose among parameters."""

    @property
    def has_mean(self) -> bool:
        """Whether E|Z| is finite."""
        return True

    @abstractmethod
    def rates(self) -> list[Fraction]:
        """Return public candidates for the rate."""


@dataclass(frozen=True)
class LaplaceLaw(SmoothLaw):
    """Laplace noise: (epsilon, delta).

    **Proof.**  Write ``H`` for the mass of Z above ``e^epsilon`` times that of ``a + e^t Z``, the
    least delta.  For ``t >= 0`` the log-ratio of the densities, ``t - |z| + |z - a| e^-t``, is
    largest at ``z = 0``: ``t + |a| e^-t <= t + s e^-t``, convex in t, so at most ``max(s, b + s
    e^-b)``; that is to be at most epsilon, and then ``H = 0``.  For ``t = -r < 0`` it exceeds
    epsilon in the two tails ``z > z1`` and ``z < -y1``, where ``z1, y1 = (epsilon + r ± a e^r) /
    (e^r - 1)``, both on their own sides of 0 and a because ``a e^r <= s <= epsilon``.  In each, the
    second mass times ``e^epsilon`` is ``e^-r`` of the first (the densities agree at the edge, and
    the second falls ``e^r`` times as fast), so

        ``H = (1 - e^-r) exp(-(epsilon + r) / (e^r - 1)) cosh(a e^r / (e^r - 1))``.

    It grows with ``a e^r <= s``; and with r, since ``1 - e^-r`` grows while ``r / (e^r - 1)`` and
    ``(epsilon ± s) / (e^r - 1)`` fall.  So delta is attained at ``r = b``, and ``s`` is the largest
    with ``cosh(s / (e^b - 1)) <= C``, where ``ln C = ln delta + (epsilon + b) / (e^b - 1) - ln(1 -
    e^-b)``.  Tight wherever this, or ``s = epsilon``, is what limits s.

    Nissim, Raskhodnikova and Smith (2007) use ``b = epsilon / (2 ln(2 / delta))``, ``s = epsilon /
    2``.

    >>> law = LaplaceLaw(Fraction(1), Fraction(1, 10**6))
    >>> textbook = Fraction("0.0344")  # 1 / (2 ln(2 / delta))
    >>> 0.69 < law.shift(textbook) < 0.70
    True
    """

    epsilon: Fraction
    delta: Fraction

    def shift(self, rate: Fraction) -> Fraction:
        """Return the largest ``s``: see the class."""
        if rate >= self.epsilon:
            return Fraction(0)
        growth = exp(rate)
        over = growth - 1
        room = log(self.delta) + (self.epsilon + rate) / over - log(1 - 1 / growth)
        if room.lower < 0:
            return Fraction(0)
        # arcosh C = ln C + ln(1 + sqrt(1 - C^-2))
        root = sqrt((1 - exp((-2 * room).maximum(-(1 << 15)))).maximum(0))
        tails = over * (room + log(1 + root))
        return min(self.epsilon, from_zero((self.epsilon - rate) * growth), from_zero(tails))

    def draw(self) -> Lazy:
        """Draw a sign and an exponential number."""
        size, negative = exponential(), word(1)
        if not negative:
            return size
        return Lazy(size.uniforms, lambda bits: -size.enclose())

    def cdf(self, z: Fraction, bits: int = 160) -> Enclosure:
        """Enclose ``1 - e^-z / 2``, or ``e^z / 2`` below zero."""
        half = exp(-abs(z), bits) / 2
        return half if z < 0 else 1 - half

    def tail(self, z: Floats) -> Floats:
        """Return ``e^-z / 2``."""
        found: Floats = np.exp(-z) / 2
        return found

    def area(self, start: float, end: float) -> float:
        """Return the difference of two tails."""
        return (math.exp(-start) - math.exp(-end)) / 2

    @property
    def size(self) -> float:
        """E|Z| = 1."""
        return 1.0

    def rates(self) -> list[Fraction]:
        """Return multiples of the textbook's rate; of 1 where that is more: no delta allows 16."""
        textbook = self.epsilon / (2 * log(2 / self.delta).upper)
        return _ladder(min(textbook, Fraction(1)) / 16, 40)


@dataclass(frozen=True)
class StudentLaw(SmoothLaw):
    """Student's t with d degrees of freedom, pure DP; ``d = 1`` is Cauchy noise.

    **Proof.**  With ``g = e^t``, the ratio of the densities of Z and ``a + g Z`` at z is
    ``e^(-t (d-1)/2) R^((d+1)/2)`` with ``R = (d g^2 + (z - a)^2) / (g (d + z^2))``.  ``R <= L`` for
    all z says that a quadratic in z is nowhere negative, ``a^2 <= (L g - 1)(L g d - g^2 d - a^2)``,
    that is

        ``L + 1/L >= (1 + g^2 + a^2 / d) / g = 2 cosh t + (a^2 / d) e^-t``;

    and ``R >= 1/L`` says the same.  By (*) ``a^2 e^-t <= s^2 e^-|t|``.  So with ``u = ln L`` the
    loss is at most ``(d+1)/2 u(t) + (d-1)/2 t`` over ``0 <= t <= b``, where ``2 cosh u = 2 cosh t +
    (s^2/d) e^-t``.  The right side is ``2 K cosh(t - v)`` with ``K > 1``, hence ``u'' = (K^2 - 1)
    cosh u / sinh^3 u > 0``: the loss is convex and largest at an end.  At 0 it asks ``s <= 2
    sqrt(d) sinh(epsilon / (d + 1))``, at b ``s^2 <= 2 d e^b (cosh u - cosh b)`` with ``u = (2
    epsilon - (d-1) b) / (d + 1)``, for ``b < epsilon / d``.  Every step is an equality for some
    pair of (*): tight.

    Nissim, Raskhodnikova and Smith (2007) have ``b = epsilon / 6``, ``s = epsilon / 6`` for d = 1;
    Bun and Steinke (2019) ``epsilon = b (d + 1) + s (d + 1) / (2 sqrt d)``.

    >>> StudentLaw(Fraction(1), 1).shift(Fraction(1, 6)) > 6 * Fraction(1, 6)
    True
    """

    epsilon: Fraction
    degrees: int = 1

    def shift(self, rate: Fraction) -> Fraction:
        """Return the largest ``s``: see the class."""
        d = self.degrees
        u = (2 * self.epsilon - (d - 1) * rate) / (d + 1)
        if u <= rate:
            return Fraction(0)
        still = 2 * (_cosh(2 * self.epsilon / (d + 1)) - 1)
        moved = 2 * exp(rate) * (_cosh(u) - _cosh(rate))
        square = d * from_zero(still.minimum(moved))
        return scaled_down(sqrt(square).lower)

    def draw(self) -> Lazy:
        """Draw Student's t."""
        return student(self.degrees)

    def cdf(self, z: Fraction, bits: int = 160) -> Enclosure:
        """Enclose the distribution function (Abramowitz and Stegun 26.7.3 and 26.7.4).

        With ``tan a = z / sqrt d``: ``1/2 + (a + sin a (cos a + 2/3 cos^3 a + ...)) / pi`` for odd
        d, up to the power ``d - 2``; ``1/2 + sin a (1 + 1/2 cos^2 a + ...) / 2`` for even d.
        """
        d = self.degrees
        square = Fraction(d) / (d + z * z)
        odd = d % 2
        sine = sqrt(1 - square, bits) * (-1 if z < 0 else 1)
        term = sqrt(square, bits) if odd else Enclosure.of(1)
        total = Enclosure.of(0)
        for power in range(odd, d - 1, 2):
            total = total + term
            term = (term * square * Fraction(power + 1, power + 2)).rounded(bits)
        found = sine * total
        if odd:
            angle = arctangent(z / sqrt(d, bits), bits)
            found = (angle + found) / pi(bits)
        else:
            found = found / 2
        return (found + Fraction(1, 2)).rounded(bits)

    def tail(self, z: Floats) -> Floats:
        """Return P(Z > z), by an arc tangent or the incomplete beta ratio."""
        if self.degrees == 1:
            found: Floats = np.arctan2(1.0, z) / math.pi
            return found
        return student_tail(z, self.degrees)

    def area(self, start: float, end: float) -> float:
        """Return a difference of means beyond: ``f(z) (d + z^2) / (d - 1) - z P(Z > z)``.

        For ``d = 1`` the integral is ``(z arctan(1/z) + ln(1 + z^2) / 2) / pi``.
        """
        if self.degrees == 1:
            return _cauchy_area(end) - _cauchy_area(start)
        return self._beyond(start) - self._beyond(end)

    def _beyond(self, z: float) -> float:
        """Return ``E max(Z - z, 0)``."""
        if math.isinf(z):
            return 0.0
        d, at = self.degrees, np.array([z])
        mass = student_density(at, d) * (d + z * z) / (d - 1)
        return float((mass - z * self.tail(at))[0])

    @property
    def size(self) -> float:
        """E|Z|; 1, the median, for d = 1."""
        d = self.degrees
        if d == 1:
            return 1.0
        logs = math.lgamma((d + 1) / 2) - math.lgamma(d / 2)
        return 2 * math.sqrt(d / math.pi) * math.exp(logs) / (d - 1)

    @property
    def has_mean(self) -> bool:
        """Whether d is above one."""
        return self.degrees > 1

    def rates(self) -> list[Fraction]:
        """Return shares of ``epsilon / d``, beyond which there is nothing."""
        return [self.epsilon * k / (40 * self.degrees) for k in range(1, 40)]


def _cauchy_area(z: float) -> float:
    """Return the integral of the Cauchy tail from 0."""
    return (z * math.atan2(1, z) + math.log(math.hypot(1, z))) / math.pi


def _cosh(x: Fraction) -> Enclosure:
    return (exp(x) + exp(-x)) / 2


def from_zero(value: Enclosure | Fraction) -> Fraction:
    """Return the lower end of what is certain, short, and at least 0."""
    return scaled_down(max(Fraction(0), Enclosure.of(value).lower))


def scaled_down(value: Fraction) -> Fraction:
    """Round down to about 48 binary digits, so that numbers stay short.

    >>> 0 <= Fraction(1, 3) - scaled_down(Fraction(1, 3)) < Fraction(1, 2**47)
    True
    """
    return Enclosure.of(value).rounded(48).lower


def _ladder(start: Fraction, steps: int) -> list[Fraction]:
    """Return a geometric ladder, five steps a doubling, of short fractions."""
    return [scaled_down(start * Fraction(2 ** (k / 5))) for k in range(steps)]
