"""Distributions of noise for smooth sensitivities, drawn exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log, pi, sqrt
from tacit.arithmetic.exact import show
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.arithmetic.special_functions import (
    Floats,
    arctangent,
    mean_of_decay,
    normal_cdf,
    normal_density,
    normal_tail,
    student_density,
    student_tail,
)
from tacit.errors import UsageError
from tacit.noise.bits import word

# Real random numbers that are drawn as far as they are needed, and exactly.
#
# A uniform real on (0, 1) has endlessly many binary digits.  A :class:`Lazy` number draws the first
# 64 of each uniform that it is made of, says between which two fractions it therefore lies, and
# draws 64 more when that does not settle the question asked of it.  So an integer that depends
# on a real one, such as its nearest multiple of a grid, comes out with exactly the probability that
# the real distribution gives it: nothing is ever rounded.  The question is left open by ``k`` words
# with a probability of about ``2**(-64 k)``, whatever the value.
#
# Two uniforms on (-1, 1) whose point falls outside the unit disc are thrown away; the disc's points
# give normal and Student numbers by square roots and logarithms alone.  How often a point is thrown
# away is independent of the point that stays.
#
# Sources: G. Marsaglia and T. Bray, *A convenient method for generating normal variables* (1964);
# R. Bailey, *Polar generation of random variates with the t-distribution* (1994).


_WORD = 64
_GUARD = 32


class Uniform:
    """A uniform real on (0, 1), known to 64 digits and more on demand.

    >>> u = Uniform()
    >>> known = u.enclose()
    >>> u.refine()
    >>> known.contains(u.enclose()), u.width
    (True, 128)
    """

    def __init__(self) -> None:
        self.width = _WORD
        self._drawn = word(_WORD)

    def refine(self) -> None:
        """Draw 64 more digits."""
        self._drawn = self._drawn << _WORD | word(_WORD)
        self.width += _WORD

    def enclose(self) -> Enclosure:
        """Return the interval that the digits drawn so far leave."""
        return Enclosure.scaled(self._drawn, self._drawn + 1, self.width)

    def centred(self) -> Enclosure:
        """Return the interval of ``2 U - 1``, uniform on (-1, 1)."""
        low = self.low
        return Enclosure.scaled(low, low + 2, self.width)

    @property
    def low(self) -> int:
        """The lower end of ``2 U - 1``, an even number of units ``2**-width``; the upper is 2 up.

        >>> -(2**64) <= Uniform().low < 2**64
        True
        """
        return 2 * self._drawn - (1 << self.width)


class Lazy:
    """A real made of uniforms by a formula on enclosures; None means: more digits first.

    >>> u = Uniform()
    >>> z = Lazy((u,), lambda bits: 10 * u.enclose())
    >>> 0 <= z.nearest(lambda bits: Enclosure.of(0), Fraction(1)) <= 10
    True
    """

    def __init__(
        self, uniforms: tuple[Uniform, ...], formula: Callable[[int], Enclosure | None]
    ) -> None:
        self.uniforms = uniforms
        self._formula = formula

    def enclose(self) -> Enclosure:
        """Return an interval that holds the number, as narrow as the digits drawn allow."""
        while (enclosure := self._formula(self.uniforms[0].width + _GUARD)) is None:
            self.refine()
        return enclosure

    def refine(self) -> None:
        """Draw 64 more digits of every uniform."""
        for uniform in self.uniforms:
            uniform.refine()

    def nearest(self, centre: Callable[[int], Enclosure], scale: Fraction) -> int:
        """Return ``floor(c + scale Z + 1/2)``, exactly; ``centre(bits)`` encloses c."""
        while True:
            around = centre(self.uniforms[0].width + _GUARD)
            enclosed = around + scale * self.enclose() + Fraction(1, 2)
            low, high = (
                end.numerator // end.denominator for end in (enclosed.lower, enclosed.upper)
            )
            if low == high:
                return low
            self.refine()


def disc() -> tuple[Uniform, Uniform]:
    """Draw a uniform point of the unit disc: a pair whose ``centred()`` are its coordinates."""
    while True:
        x, y = Uniform(), Uniform()
        while True:
            size = _size(x, y)
            if size.below(1):
                return x, y
            if size.above(1):
                break
            x.refine()
            y.refine()


def _size(x: Uniform, y: Uniform) -> Enclosure:
    # zero is never between the ends, which are even numbers two apart
    ends = [sorted((one.low**2, (one.low + 2) ** 2)) for one in (x, y)]
    low, high = map(sum, zip(*ends, strict=True))
    return Enclosure.scaled(low, high, 2 * x.width)


def normal() -> Lazy:
    """Draw a standard normal number: ``x sqrt(-2 ln w / w)`` with ``w = x^2 + y^2``.

    >>> -40 < float(normal().enclose()) < 40
    True
    """
    x, y = disc()

    def formula(bits: int) -> Enclosure | None:
        w = _size(x, y)
        if w.lower <= 0:
            return None
        w = w.minimum(1)
        radius = sqrt((-2 * log(w, bits) / w).maximum(0), bits)
        return (x.centred() * radius).rounded(bits)

    return Lazy((x, y), formula)


def student(degrees: int) -> Lazy:
    """Draw Student's t: ``x sqrt(d (w^(-2/d) - 1) / w)``; ``d = 1`` is the Cauchy distribution."""
    x, y = disc()

    def formula(bits: int) -> Enclosure | None:
        w = _size(x, y)
        if w.lower <= 0:
            return None
        w = w.minimum(1)
        power = exp((Fraction(-2, degrees) * log(w, bits)).rounded(bits + 16), bits)
        square = degrees * (power - 1).maximum(0) / w
        return (x.centred() * sqrt(square.rounded(2 * bits), bits)).rounded(bits)

    return Lazy((x, y), formula)


def exponential() -> Lazy:
    """Draw from the exponential distribution of mean one: ``-ln U``."""
    u = Uniform()

    def formula(bits: int) -> Enclosure | None:
        inside = u.enclose()
        return -log(inside, bits) if inside.lower > 0 else None

    return Lazy((u,), formula)


# The noises of smooth sensitivity, each calibrated by a proven bound and drawn exactly.
#
# The mechanism releases ``f(x) + (S(x) / s) Z`` with unit noise Z.  Let x and x' be neighbours.
# ``S`` bounds the local sensitivity, so ``|f(x) - f(x')| <= min(S(x), S(x'))``; and ``S`` is
# smooth, so ``S(x') = e^t S(x)`` with ``|t| <= b``.  Seen from x, in units of ``S(x) / s``, the two
# outputs are ``Z`` and ``a + e^t Z`` with
#
#     ``|t| <= b``  and  ``|a| <= s min(1, e^t)``.                                            (*)
#
# The family (*) holds each pair in both orders (divide by ``e^t``).  Every bound below is a
# supremum over it; ``shift(b)`` gives the largest ``s`` that the bound allows, rounded down, 0
# where there is none.  ``b`` is the rate of the smooth sensitivity plus the slack of its
# computation.
#
# That both sensitivities bound ``|f(x) - f(x')|`` is what the usual proofs leave unused; it pays
# for most of the dilation, and makes the noise several times smaller than the textbook's.


class SmoothDistribution(ABC):
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
        """Return the integral of :meth:`tail`, ``0 <= start <= end``; end may be infinite."""
        # Of a distribution without a mean it may not.

    @property
    @abstractmethod
    def size(self) -> float:
        """E|Z| (of the Cauchy distribution: the median), to choose among parameters."""

    @property
    def has_mean(self) -> bool:
        """True if E|Z| is finite."""
        return True

    @abstractmethod
    def rates(self) -> list[Fraction]:
        """Return public candidates for the rate."""


@dataclass(frozen=True)
class LaplaceDistribution(SmoothDistribution):
    """Laplace noise: (epsilon, delta).

    >>> distribution = LaplaceDistribution(Fraction(1), Fraction(1, 10**6))
    >>> textbook = Fraction("0.0344")  # 1 / (2 ln(2 / delta))
    >>> 0.69 < distribution.shift(textbook) < 0.70
    True
    """

    # **Proof.**  Write ``H`` for the mass of Z above ``e^epsilon`` times that of ``a + e^t Z``, the
    # least delta.  For ``t >= 0`` the log-ratio of the densities, ``t - |z| + |z - a| e^-t``, is
    # largest at ``z = 0``: ``t + |a| e^-t <= t + s e^-t``, convex in t, so at most
    # ``max(s, b + s e^-b)``; that is to be at most epsilon, and then ``H = 0``.  For ``t = -r < 0``
    # it exceeds epsilon in the two tails ``z > z1`` and ``z < -y1``, where
    # ``z1, y1 = (epsilon + r ± a e^r) / (e^r - 1)``, both on their own sides of 0 and a because
    # ``a e^r <= s <= epsilon``.  In each, the second mass times ``e^epsilon`` is ``e^-r`` of the
    # first (the densities agree at the edge, and the second falls ``e^r`` times as fast), so
    #
    #     ``H = (1 - e^-r) exp(-(epsilon + r) / (e^r - 1)) cosh(a e^r / (e^r - 1))``.
    #
    # It grows with ``a e^r <= s``; and with r, since ``1 - e^-r`` grows while ``r / (e^r - 1)`` and
    # ``(epsilon ± s) / (e^r - 1)`` fall.  So delta is attained at ``r = b``, and ``s`` is the
    # largest with ``cosh(s / (e^b - 1)) <= C``, where
    # ``ln C = ln delta + (epsilon + b) / (e^b - 1) - ln(1 - e^-b)``.  Tight wherever this, or
    # ``s = epsilon``, is what limits s.
    #
    # Nissim, Raskhodnikova and Smith (2007) use ``b = epsilon / (2 ln(2 / delta))``,
    # ``s = epsilon / 2``.

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
        return np.exp(-z) / 2

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
class StudentDistribution(SmoothDistribution):
    """Student's t with d degrees of freedom, pure DP; ``d = 1`` is Cauchy noise.

    >>> StudentDistribution(Fraction(1), 1).shift(Fraction(1, 6)) > 6 * Fraction(1, 6)
    True
    """

    # **Proof.**  With ``g = e^t``, the ratio of the densities of Z and ``a + g Z`` at z is
    # ``e^(-t (d-1)/2) R^((d+1)/2)`` with ``R = (d g^2 + (z - a)^2) / (g (d + z^2))``.  ``R <= L``
    # for all z says that a quadratic in z is nowhere negative,
    # ``a^2 <= (L g - 1)(L g d - g^2 d - a^2)``, that is
    #
    #     ``L + 1/L >= (1 + g^2 + a^2 / d) / g = 2 cosh t + (a^2 / d) e^-t``;
    #
    # and ``R >= 1/L`` says the same.  By (*) ``a^2 e^-t <= s^2 e^-|t|``.  So with ``u = ln L`` the
    # loss is at most ``(d+1)/2 u(t) + (d-1)/2 t`` over ``0 <= t <= b``, where
    # ``2 cosh u = 2 cosh t + (s^2/d) e^-t``.  The right side is ``2 K cosh(t - v)`` with ``K > 1``,
    # hence ``u'' = (K^2 - 1) cosh u / sinh^3 u > 0``: the loss is convex and largest at an end.  At
    # 0 it asks ``s <= 2 sqrt(d) sinh(epsilon / (d + 1))``, at b
    # ``s^2 <= 2 d e^b (cosh u - cosh b)`` with ``u = (2 epsilon - (d-1) b) / (d + 1)``, for
    # ``b < epsilon / d``.  Every step is an equality for some pair of (*): tight.
    #
    # Nissim, Raskhodnikova and Smith (2007) have ``b = epsilon / 6``, ``s = epsilon / 6`` for d =
    # 1; Bun and Steinke (2019) ``epsilon = b (d + 1) + s (d + 1) / (2 sqrt d)``.

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
        """Enclose the distribution function (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
        # With ``tan a = z / sqrt d``: ``1/2 + (a + sin a (cos a + 2/3 cos^3 a + ...)) / pi`` for
        # odd d, up to the power ``d - 2``; ``1/2 + sin a (1 + 1/2 cos^2 a + ...) / 2`` for even d.
        d = self.degrees
        square = Fraction(d) / (d + z * z)
        odd = d % 2
        sine = sqrt(1 - square, bits) * (-1 if z < 0 else 1)
        term = sqrt(square, bits) if odd else Enclosure.of(1)
        total = Enclosure.of(0)
        for power in range(odd, d - 1, 2):
            total = total + term
            term = (term * square * Fraction(power + 1, power + 2)).rounded(bits)
        probability = sine * total
        if odd:
            angle = arctangent(z / sqrt(d, bits), bits)
            probability = (angle + probability) / pi(bits)
        else:
            probability = probability / 2
        return (probability + Fraction(1, 2)).rounded(bits)

    def tail(self, z: Floats) -> Floats:
        """Return P(Z > z), by an arc tangent or the incomplete beta ratio."""
        if self.degrees == 1:
            return np.arctan2(1.0, z) / math.pi
        return student_tail(z, self.degrees)

    def area(self, start: float, end: float) -> float:
        """Return a difference of means beyond: ``f(z) (d + z^2) / (d - 1) - z P(Z > z)``."""
        # For ``d = 1`` the integral is ``(z arctan(1/z) + ln(1 + z^2) / 2) / pi``.
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
        """True if d is above one."""
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


# Noises of smooth sensitivity whose loss is concentrated: zCDP.
#
# All three are drawn as a function of a normal Y, so that dilating them is shifting Y a little.
# The two parts of the family (*) of :mod:`tacit.mechanisms.smooth_distributions` are bounded one
# after the other, ``Z -> e^t Z -> e^t Z + a``, and joined by the triangle inequality of zCDP: if
# ``D_alpha(P, Q) <= alpha e1^2 / 2`` and ``D_alpha(Q, R) <= alpha e2^2 / 2`` for all alpha > 1,
# then ``D_alpha(P, R) <= alpha (e1 + e2)^2 / 2`` (Bun and Steinke 2016).  A log-density with slope
# at most ``k`` makes the shift of ``e^t Z`` by a ``k |a| e^-t``-DP, hence ``e2 = k |a| e^-t <= k s
# e^-|t|`` by (*).  With ``e1 = D(|t|)`` convex, ``D(t) + k s e^-t`` is convex and largest at an end
# of ``[0, b]``:
#
#     ``rho = e^2 / 2``  with  ``e = max(k s, D(b) + k s e^-b)``.
#
# Source: M. Bun, T. Steinke, *Average-case averages: private algorithms for smooth sensitivity and
# mean estimation* (2019), which has ``e = D(b) + k s``; the constants k and D are derived again
# below.


_STEP = 1 / 24


@dataclass(frozen=True)
class ConcentratedDistribution(SmoothDistribution):
    """Base class of the three: rho, sigma, and the bound of the module."""

    rho: Fraction  # the claim at distance one
    sigma: Fraction  # the parameter of the normal inside, from 1/16 to 8

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
class LaplaceLogNormal(ConcentratedDistribution):
    """``Z = X e^(sigma Y)``, X Laplace: ``D(t) = t / sigma``, ``k = e^(3/2 sigma^2)``.

    >>> distribution = LaplaceLogNormal(Fraction(1, 2), Fraction(1, 2))
    >>> 0.68 < distribution.shift(Fraction(1, 1000)) < math.exp(-3 / 8)
    True
    """

    # **Dilation.**  ``e^t Z = X e^(sigma (Y + t / sigma))``: what Gaussian noise costs at a shift
    # of ``t / sigma`` (data processing).  **Slope.**  The density is ``E[v e^(-|z| v) / 2]`` with
    # ``v = e^(-sigma Y)``, so the slope of its logarithm is the mean of v under weights
    # ``v e^(-|z| v)``, which falls in ``|z|``; at 0 it is
    # ``E[v^2] / E[v] = e^(2 sigma^2 - sigma^2 / 2)``.

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
            enclosed = size.enclose() * _grown(self.sigma, y, bits)
            return (-enclosed if negative else enclosed).rounded(bits)

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
class UniformLogNormal(ConcentratedDistribution):
    """``Z = X e^(sigma Y)``, X uniform on [-1, 1]: ``D(t) = t / sigma``."""

    # **Slope.**  For ``z > 0`` let ``y = ln z / sigma``.  The density is
    # ``E[e^(-sigma Y); Y > y] / 2 = e^(sigma^2 / 2) P(N > y + sigma) / 2`` and its slope
    # ``-phi(y) / (2 sigma z^2)``, so that of the logarithm has size
    # ``(e^(3/2 sigma^2) / sigma) phi(w + sigma) / P(N > w)``, ``w = y + sigma``. The logarithm of
    # the last quotient has derivative ``h(w) - w - sigma`` with h the normal hazard rate, and
    # ``h(w) - w`` falls from infinity to 0: one maximum, at the ``w*`` with ``h(w*) = w* + sigma``.
    # It is bracketed with certified h, and on a bracket the quotient is at most its largest
    # numerator over its least denominator. (Bun and Steinke bound it by ``sqrt(2 / pi)``, for
    # ``sigma >= sqrt 2`` alone.)

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
        excess = grown * (normal_tail(y - sigma) + z * z * normal_tail(y + sigma))
        return float((excess - 2 * z * normal_tail(y))[0]) / 4

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
class ArsinhNormal(ConcentratedDistribution):
    """``Z = sinh(sigma Y) / sigma``."""

    # **Slope.**  The log-density at ``z = sinh(sigma y) / sigma`` is ``-y^2/2 - ln cosh(sigma y)``,
    # so its slope in z is ``(y + sigma tanh(sigma y)) / cosh(sigma y)`` in size, at most
    # ``k = 0.6628 / sigma + sigma / 2``: ``v / cosh v`` is largest where ``v tanh v = 1`` (v =
    # 1.19968), and ``sinh / cosh^2`` is at most 1/2.
    #
    # **Dilation.**  Let ``h_r`` be the density of ``e^r Z`` and ``y_r`` the y of ``e^-r z``.  Then
    # ``d/dr ln h_r(z) = q(y_r) - 1`` with ``q(y) = y tanh(sigma y) / sigma + tanh^2(sigma y)``, and
    # ``|q'| <= c = 1.2 / sigma + 0.77 sigma``, since ``tanh v + v / cosh^2 v`` is largest, 1.19968,
    # where ``v tanh v = 1``, and ``2 tanh / cosh^2`` is at most ``4 / (3 sqrt 3)``.  By Stein's
    # identity ``E[Y tanh(sigma Y)] = sigma E[1 / cosh^2(sigma Y)]``, so ``E[q(Y)] = 1``.  As
    # ``|dy_r / dr| <= 1 / sigma``, the mean of the loss ``-int_0^t (q(y_r) - 1) dr`` of Z against
    # ``e^t Z`` is at most ``c t^2 / (2 sigma)``.  As ``|dy_r / dy| <= e^|r|``, the loss is
    # Lipschitz in the normal Y with constant ``m = c (e^|t| - 1)``, hence subgaussian about its
    # mean: ``D_alpha <= c t^2 / (2 sigma) + (alpha - 1) m^2 / 2``, at most ``alpha D^2 / 2`` with
    # ``D(t) = max(t sqrt(c / sigma), m)``, which is convex.  It is linear in t near 0, where Bun
    # and Steinke's ``sqrt(t (t / sigma^2 + 1 / sigma + 2))`` is a square root.

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
    """Bound the largest ``phi(w + sigma) / P(N > w)``: floats guess where, enclosures certify."""
    # The sign of ``phi(w) - (w + sigma) P(N > w)`` is plus before ``w*`` and minus after it.

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


# The mean absolute error of smooth noise, from what is released: rounded and clipped.
#
# In units of the grid, ``U = clip(floor(c + s Z + 1/2), low, high)`` is released.  For whole
# numbers ``k`` with ``low < k <= high``, ``P(U >= k) = P(s Z >= k - 1/2 - c)``, and for the first
# of them above t, ``k0``,
#
#     ``E max(U - t, 0) = (k0 - t) P(U >= k0) + P(U >= k0 + 1) + P(U >= k0 + 2) + ...``;
#
# the other side is its mirror.  So the error is a sum of tails of Z.  The first 2,048 terms are
# added up one by one, unless the noise is as wide as that; the rest is their integral, by the
# midpoint rule, which errs by about ``1 / (24 s^2)`` of what falls within a scale, and in the tails
# less.  What is lost to all of that together is less than a relative 1e-7.
#
# Nothing is proven of these floats: they are errors to expect, not privacy.


_TERMS = 2048
_SHORT = 1e-3
_LITTLE = 1e-7
_NEAR = 1e-12
_PANELS = 64
_RULE = np.polynomial.legendre.leggauss(8)
_NODES = np.asarray((1 + _RULE[0]) / 2, dtype=np.float64)
_WEIGHTS = np.asarray(_RULE[1] / 2, dtype=np.float64)


def mean_distance(
    distribution: SmoothDistribution,
    scale: float,
    centre: float,
    target: float,
    low: float,
    high: float,
) -> float:
    """Return the mean of ``|U - target|``, all in units of the grid.

    >>> from fractions import Fraction
    >>> from tacit.mechanisms.smooth_distributions import LaplaceDistribution
    >>> distribution = LaplaceDistribution(Fraction(1), Fraction(1, 9))
    >>> round(mean_distance(distribution, 1e6, 0, 0, -math.inf, math.inf), 3)
    1000000.0
    """
    # low: an integer, or infinite if the distribution has a mean.
    above = _above(distribution, scale, centre, target, low, high)
    return above + _above(distribution, scale, -centre, -target, -high, -low)


def _above(
    distribution: SmoothDistribution,
    scale: float,
    centre: float,
    target: float,
    low: float,
    high: float,
) -> float:
    """Return ``E max(U - target, 0)``."""
    integral = max(0.0, low - target)
    first = max(math.floor(target) + 1, low + 1)
    if first > high:
        return integral
    width = first - max(target, low)
    start = (first - 0.5 - centre) / scale
    integral += width * float(_tails(distribution, np.array([start], dtype=np.float64))[0])
    terms = 0 if scale > _TERMS else int(min(_TERMS, high - first))
    if terms:
        indices: Floats = (first + np.arange(1.0, terms + 1) - 0.5 - centre) / scale
        integral += float(_tails(distribution, indices).sum())
    if high > first + terms:
        integral += scale * _area(
            distribution, (first + terms - centre) / scale, (high - centre) / scale
        )
    return integral


def _tails(distribution: SmoothDistribution, z: Floats) -> Floats:
    """Return ``P(Z > z)``, below zero too."""
    tail = distribution.tail(np.abs(z))
    return np.where(z < 0, 1 - tail, tail)


def _area(distribution: SmoothDistribution, start: float, end: float) -> float:
    """Return the integral of ``P(Z > z)`` from start to end."""
    if end - start < _SHORT:
        nodes = np.asarray(start + (end - start) * _NODES, dtype=np.float64)
        return (end - start) * float(_tails(distribution, nodes) @ _WEIGHTS)
    if end <= 0:
        return (end - start) - _area_right(distribution, -end, -start)
    if start < 0:
        return -start - _area_right(distribution, 0.0, -start) + _area_right(distribution, 0.0, end)
    return _area_right(distribution, start, end)


def _area_right(distribution: SmoothDistribution, start: float, end: float) -> float:
    """Return the same for ``start >= 0``."""
    # The closed forms are differences of means.  Of a distribution with so heavy a tail that
    # nothing is left of their digits, the tail is integrated over the logarithm of z.
    area = distribution.area(start, end)
    if area > _LITTLE * distribution.size or area == 0 or math.isinf(end):
        return area
    near = max(start, _NEAR * end)
    edges = np.geomspace(near, end, _PANELS + 1)
    wide = np.diff(np.log(edges))
    nodes = edges[:-1, None] * np.exp(wide[:, None] * _NODES)
    tails = distribution.tail(nodes.ravel()).reshape(nodes.shape)
    return float(((tails * nodes) @ _WEIGHTS) @ wide) + (near - start) / 2
