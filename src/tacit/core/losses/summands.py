"""The parts of a composition as a line integral needs them, and sums of Gaussian losses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, pi, sqrt
from tacit.arithmetic.exact import float_up
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.arithmetic.special_functions import mills_ratio, normal_cdf
from tacit.core.losses.lattice import Floats

# The smallest epsilon at which a bound on the logarithm of delta is at most a target.


_STEPS = 60


def min_epsilon(
    bound: Callable[[float], float], near: float, log_target: float, *, upper: bool
) -> float | None:
    """Return the smallest epsilon above zero at which a bound is at most a target, from one side.

    >>> low = min_epsilon(lambda epsilon: -3 * epsilon, 1.0, -6.0, upper=False)
    >>> high = min_epsilon(lambda epsilon: -3 * epsilon, 1.0, -6.0, upper=True)
    >>> low < 2 <= high, round(low, 9), round(high, 9)
    (True, 2.0, 2.0)
    """
    # From above it is an end of a step where it holds, from below one where it does not; None where
    # none is found near a first guess.
    known: dict[float, float] = {}

    def above(epsilon: float) -> float:
        if epsilon not in known:
            known[epsilon] = bound(epsilon) - log_target
        return known[epsilon]

    first = 2.0**-18 * (1e-9 + abs(near))
    low = high = near
    width = first
    for _ in range(_STEPS):
        if above(high) <= 0:
            break
        low, high, width = high, high + width, 4 * width
    else:
        return None
    width = first
    for _ in range(_STEPS):
        if above(low) > 0:
            break
        low, high, width = low - width, low, 4 * width
    else:
        return None
    low, high = _narrowed(above, low, high)
    point = high if upper else low
    return point if point > 0 else None


def _narrowed(above: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return a narrow interval where a falling function passes zero (secants and halves)."""
    for turn in range(_STEPS):
        width = high - low
        if width <= 2.0**-44 * (abs(low) + abs(high)):
            break
        before, after = above(low), above(high)
        middle = (low + high) / 2
        if turn % 3 < 2 and math.isfinite(before) and math.isfinite(after) and after < before:
            guess = low + width * before / (before - after)
            # to that side of it where the other end comes near as well
            middle = min(max(guess + width * (2.0**-10 if turn % 3 else -(2.0**-10)), low), high)
        if not low < middle < high:
            middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if above(middle) > 0 else (low, middle)
    return low, high


# Sums of losses of Gaussian noise alone: a closed form, and how far integers are from it.
#
# Noise of deviation sigma_i on integers, shifted by s_i, k_i times, with ``eta = sum k_i (s_i
# / sigma_i)^2``.  On the real line the sum of all losses is normal, so for ``mu = sqrt(eta)``, with
# ``a = e / mu - mu / 2`` and ``b = a + mu``, the smallest delta at an epsilon e is that of one
# Gaussian release (Balle and Wang, ICML 2018, theorem 8; phi the density, R the tail over it)
#
#     D(e) = Phi(-a) - e^e Phi(-b) = phi(a) (R(a) - R(b)).
#
# **On integers** delta is, for every t > 0, the integral of :mod:`.line_integral` along the
# line of real part t.  The factor of a summand at ``t + i w`` is (:mod:`.families`) that on the
# real line times ``T(z s) / T(0)``, and its size at most ``e^(eta_i (t^2 + t) / 2) B_i(w)`` with
# ``B_i(w) = sum over whole m of e^(-eta_i (w - m p_i)^2 / 2)``, ``p_i = 2 pi / g_i`` and ``g_i =
# s_i / sigma_i^2``, the distance of two losses.  Let g be the largest of these, ``W = pi / (2 g)``,
# and S the smallest sigma, five or more.  In units of ``e^(eta (t^2 + t) / 2 - t e) / (2 pi)``
# delta differs from D
#
# - for ``|w| < W`` by at most ``2 U sqrt(2 pi / eta) / (t (t + 1))``: there ``|T(z s) / T(0) - 1|``
#   is at most ``u = 5 e^(-pi^2 S^2)``, and all together at most ``2 U``, with ``U = u sum k_i <=
#   1``;
# - beyond W, where ``|1/(z (z + 1))| <= 1/w^2``, by what both integrals come to.  That of the
#   product of all ``B_i^(k_i)`` is by Hoelder's inequality no more than the largest of those of
#   ``B_i^r``, with ``r = eta / eta_i``.  Up to ``p_i / 4`` from a multiple of p_i, ``B_i`` is at
#   most ``1 + u`` times its largest term (``r u`` is below 1/100, else nothing is said), and
#   elsewhere at most ``3 e^(-pi^2 S^2 / 8)``.  So the multiples but zero come to at most ``sqrt(2
#   pi / eta) (2 / p_i^2) sum 1 / (m - 1/4)^2``, that is ``0.13 g^2 sqrt(2 pi / eta)``; the multiple
#   zero, in both integrals, to ``2 (2 / W^2) sqrt(pi / (2 eta)) e^(-eta W^2 / 2)`` with ``eta W^2
#   >= pi^2 S^2 / 4``; and what is between to ``(2 / W) 3 e^(-pi^2 S^2 / 8)``.
#
# That is, relatively, about ``0.13 g^2 t (t + 1)``: for 10,000 releases of noise 100 times as wide
# as a shift of 1,000 units it is below 10^-12.


_MIN_SIGMA = 5
_MIN_TAIL = Fraction(3, 2)  # from this many deviations on a tail is enclosed next to its density
_PI = Fraction(333, 106)  # below pi
_BITS = 96


@dataclass(frozen=True)
class GaussianSum:
    """A sum of losses of Gaussian noise on integers.

    >>> one = GaussianSum(((Fraction(10**8), 10**6, 10_000),))
    >>> found = one.epsilon(math.log(1e-6))
    >>> round(found[0], 9), round(found[1], 9)
    (4.886554117, 4.886554117)
    """

    # the deviation, at least five, and the shift, above zero, of each in whole units, and how often
    # it stands
    parts: tuple[tuple[Fraction, int, int], ...]

    @classmethod
    def of(cls, parts: Sequence[tuple[Fraction, int, int]]) -> GaussianSum | None:
        """Return it, or None where some noise is too narrow for the closed form."""
        wide = all(sigma >= _MIN_SIGMA and shift for sigma, shift, _ in parts)
        return cls(tuple(parts)) if parts and wide else None

    @cached_property
    def _eta(self) -> Fraction:
        return sum((k * (shift / sigma) ** 2 for sigma, shift, k in self.parts), Fraction(0))

    @cached_property
    def _mu(self) -> Enclosure:
        return sqrt(self._eta, 2 * self._bits)

    @cached_property
    def _bits(self) -> int:
        small = self._eta.denominator.bit_length() - self._eta.numerator.bit_length()
        return _BITS + max(small, 0)

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Enclose the least delta at an epsilon."""
        ideal, off = self._ideal(epsilon), self._off(epsilon)
        low = max(ideal.lower - off, Fraction(0))
        return Enclosure(low, min(ideal.upper + off, Fraction(1)))

    def _ideal(self, epsilon: Fraction) -> Enclosure:
        """Enclose D."""
        bits = self._bits + 2 * max(math.ceil(abs(epsilon)).bit_length(), 1)
        a = (epsilon / self._mu - self._mu / 2).rounded(2 * bits)
        b = (a + self._mu).rounded(2 * bits)
        if b.upper < _MIN_TAIL or a.upper < -_MIN_TAIL:  # nothing is small, and e^epsilon
            enclosed = normal_cdf(-a, bits) - exp(epsilon, bits) * normal_cdf(-b, bits)
        elif a.lower < _MIN_TAIL:
            tail = (
                mills_ratio(b, bits) if b.lower >= 1 else normal_cdf(-b, bits) / _density(b, bits)
            )
            enclosed = normal_cdf(-a, bits) - _density(a, bits) * tail
        else:
            enclosed = _density(a, bits) * (mills_ratio(a, bits) - mills_ratio(b, bits))
        return Enclosure(max(enclosed.lower, Fraction(0)), max(enclosed.upper, Fraction(0)))

    def _off(self, epsilon: Fraction) -> Fraction:
        """Return more than how far delta is from D."""
        eta, root = self._eta, 1 / float(self._mu.lower)
        t = Fraction(max(float(epsilon / eta) - 0.5, root)).limit_denominator(1 << 20) or Fraction(
            1
        )
        minimum = min(sigma for sigma, _, _ in self.parts)
        grid_step = max(shift / sigma**2 for sigma, shift, _ in self.parts)
        count = sum(k for _, _, k in self.parts)
        narrow = exp(-((_PI * minimum) ** 2) / 8, 64).upper
        whole = count * 5 * exp(-((_PI * minimum) ** 2), 64).upper
        ratio = eta / min((shift / sigma) ** 2 for sigma, shift, _ in self.parts)
        if whole * ratio > Fraction(1, 100):
            return Fraction(1)
        width = sqrt(2 * pi(64) / eta, 64).upper
        # 4 / W^2 is 16 g^2 / pi^2, half of which is at the root of 2 pi / eta
        beyond = grid_step**2 * width * (Fraction(131, 1000) + narrow) + 4 * grid_step * narrow
        within = 2 * whole * width / (t * (t + 1))
        scale = exp(eta * (t * t + t) / 2 - t * epsilon, 64).upper
        error = scale * (within + beyond) / (2 * _PI)
        return Enclosure(error, error).rounded(64).upper

    def epsilon(self, log_delta: float) -> tuple[float, float] | None:
        """Return ends of the least epsilon at a delta, whose logarithm is given."""
        if not math.isfinite(log_delta):
            return None
        # a logarithm of two numbers is right to 2^-45, whichever way it is asked about
        highest, lowest = log_delta - 2.0**-40, log_delta + 2.0**-40
        if _log(self.delta(Fraction(0)).upper) <= highest:
            return 0.0, 0.0
        mu = float(self._mu.upper)
        near = self._guess(log_delta, mu)
        known: dict[float, Enclosure] = {}

        def at(epsilon: float) -> Enclosure:
            if epsilon not in known:
                known[epsilon] = self.delta(Fraction(epsilon))
            return known[epsilon]

        high = min_epsilon(lambda e: _log(at(e).upper), near, highest, upper=True)
        if high is None:
            return None
        low = min_epsilon(lambda e: _log(at(e).lower), high, lowest, upper=False)
        return low or 0.0, high

    @staticmethod
    def _guess(log_delta: float, mu: float) -> float:
        """Return about the epsilon of a delta, in floats."""

        def log_ideal(epsilon: float) -> float:
            a = epsilon / mu - mu / 2
            if a < 20:
                b = a + mu
                tail = math.erfc(b / math.sqrt(2))
                log_tail = math.log(tail) if tail > 1e-300 else -b * b / 2 - math.log(b)
                far = math.exp(min(epsilon + log_tail, 1.0))
                return math.log(max((math.erfc(a / math.sqrt(2)) - far) / 2, 1e-320))
            ratio = 1 / (a + 1 / a) - 1 / (a + mu + 1 / (a + mu))
            return -a * a / 2 + math.log(max(ratio, 1e-320)) - 0.9189

        return narrowed(lambda e: log_ideal(e) <= log_delta, mu * (60 + mu), 0.0, 60)[0]


def renyi_epsilon(parts: Sequence[tuple[Fraction, int, int]], log_delta: float) -> float:
    """Return an epsilon at a delta of such a sum, of any deviations: by its Renyi divergences.

    >>> round(renyi_epsilon([(Fraction(1), 1, 1)], -20.0), 2)
    6.36
    """
    # That of the order ``1 + t`` is at most ``eta (t + 1) / 2`` (Canonne, Kamath and Steinke, "The
    # discrete Gaussian for differential privacy", NeurIPS 2020).
    eta = float_up(sum((k * (shift / sigma) ** 2 for sigma, shift, k in parts), Fraction(0)))
    if not eta or not math.isfinite(eta):
        return eta
    t = math.sqrt(-2 * log_delta / eta)
    return max(eta * (t + 1) / 2 + (min_part(t) - log_delta) / t, 0.0) * (1 + 2.0**-40)


def min_part(t: float) -> float:
    """Return the logarithm of ``t^t / (1 + t)^(1 + t)``, rounded up.

    >>> round(math.exp(min_part(1.0)), 9)
    0.25
    """
    # It is the smallest c with ``1 - e^-y <= c e^(t y)`` for all y.
    return t * math.log(t) - (1 + t) * math.log1p(t) + 2.0**-48 * (1 + t) * (1 + math.log1p(t))


def _density(w: Enclosure, bits: int) -> Enclosure:
    return exp(-(w * w) / 2, bits) / sqrt(2 * pi(bits), bits)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator) if value > 0 else -math.inf


# Generating functions ``M(z) = E e^(z L)`` of privacy losses L that have closed forms.
#
# Each family holds summands of one kind, a row for each, and how often it stands.
#
# - *Laplace noise* on integers, and randomized response: :mod:`.ends`.
# - *Gaussian noise* on integers, of deviation sigma, shifted by s.  The losses are
#   ``s (2 x + s) / (2 sigma^2)``, so with ``eta = (s / sigma)^2`` and Poisson's summation
#
#       M(z) = e^(eta z (z + 1) / 2) T(z s) / T(0),  T(c) = sum e^(-2 pi^2 sigma^2 m^2 - 2 pi i m c)
#
#   over all whole m.  At ``z = t + i w`` a term has the size ``e^(eta (t^2 + t) / 2)`` times
#   ``e^(-(w s / sigma - 2 pi m sigma)^2 / 2)``: for a sigma of one or more the three m about the
#   largest leave out less than ``e^-40`` of M(t).
# - *A bounded range*, with the density ``e^(l/2) / (4 sinh(epsilon/2))`` between -epsilon and
#   epsilon (:mod:`tacit.core.losses.distribution`):
#
#       M(z) = sinh((z + 1/2) epsilon) / ((2 z + 1) sinh(epsilon/2)).
#
# - *A list* of losses with their masses: the sum itself.  What has an infinite loss is not in M.


AnyFamily = TypeVar("AnyFamily", bound="SummandFamily")


@dataclass(frozen=True)
class SummandFamily(ABC):
    """Summands of one kind: arrays whose first axis is the summand."""

    times: Floats  # how often each stands

    @property
    @abstractmethod
    def radius(self) -> Floats:
        """The size of the largest loss of each that matters."""

    @property
    def terms(self) -> int:
        """Approximate number of exponentials per value of M."""
        return 2

    @abstractmethod
    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each; of a number z, or of several, one per column."""

    def rows(self: AnyFamily, part: slice) -> AnyFamily:
        """Return some of the summands."""
        return type(self)(*(getattr(self, field.name)[part] for field in fields(self)))


def columns(values: Floats, z: Any) -> Floats:
    """Return an array by row, so that what it meets may stand in columns."""
    return values[:, None] if np.ndim(z) else values


@dataclass(frozen=True)
class Normals(SummandFamily):
    """Discrete Gaussian noise.

    >>> one = Normals(np.ones(1), np.array([100.0]), np.array([100.0]))
    >>> [round(float(m.real), 12) for m in one.factors(2.0 + 0j)], round(math.exp(3), 12)
    ([20.085536923188], 20.085536923188)
    """

    sigma: Floats  # at least one, in whole units
    shift: Floats  # above zero, in whole units

    @property
    def radius(self) -> Floats:
        """Sixteen standard deviations from the mean."""
        ratio = self.shift / self.sigma
        return ratio * (ratio / 2 + 16)

    @property
    def terms(self) -> int:
        """Three exponentials, of two parts each."""
        return 4

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each."""
        sigma, shift = columns(self.sigma, z), columns(self.shift, z)
        t, w = np.real(z), np.imag(z)
        ratio = shift / sigma
        grown = ratio * ratio * (t * t + t) / 2
        nearest = np.rint(w * shift / (2 * math.pi * sigma * sigma))
        total: Any = 0.0
        for m in (nearest - 1, nearest, nearest + 1):
            size = grown - np.square(w * ratio - 2 * math.pi * m * sigma) / 2
            # of whole turns nothing is left: m is whole
            turn = ratio * ratio * w * (2 * t + 1) / 2 - 2 * math.pi * np.fmod(m * shift * t, 1.0)
            total = total + np.exp(size + 1j * turn)
        return total / (1 + 2 * np.exp(-2 * np.square(math.pi * sigma)))


@dataclass(frozen=True)
class Ranges(SummandFamily):
    """The loss that dominates releases of a bounded range.

    >>> one = Ranges(np.ones(1), np.ones(1))
    >>> [round(float(m), 12) for m in one.factors(0.0)]
    [1.0]
    """

    range: Floats  # the length of the interval of log ratios

    @property
    def radius(self) -> Floats:
        """The range itself."""
        return self.range

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each."""
        radius = columns(self.range, z)
        return np.sinh((z + 0.5) * radius) / ((2 * z + 1) * np.sinh(radius / 2))


@dataclass(frozen=True)
class Lists(SummandFamily):
    """Losses one by one, equally many of each summand.

    >>> one = Lists(np.ones(1), np.array([[1.0, -1.0]]), np.array([[0.75, 0.25]]))
    >>> [round(float(m), 6) for m in one.factors(1.0)], round(0.75 * math.e + 0.25 / math.e, 6)
    ([2.130681], 2.130681)
    """

    losses: Floats  # by summand and place
    masses: Floats  # of each under P; together they may be less than one

    @property
    def radius(self) -> Floats:
        """The largest size of a loss."""
        return np.abs(self.losses).max(axis=1)  # type: ignore[no-any-return]

    @property
    def terms(self) -> int:
        """An exponential for each loss."""
        return int(self.losses.shape[1])

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each."""
        if not np.ndim(z):
            return (self.masses * np.exp(z * self.losses)).sum(axis=1)
        pairs = zip(self.losses.T, self.masses.T, strict=True)
        return sum(columns(p, z) * np.exp(z * columns(loss, z)) for loss, p in pairs)


def listed(rows: Iterable[tuple[int, Floats, Floats]]) -> list[Lists]:
    """Return lists of losses, those of one length together.

    >>> one, two = np.ones(1), np.ones(2)
    >>> found = listed([(1, one, one), (3, two, two / 2), (2, one, one)])
    >>> [(lists.terms, lists.times.tolist()) for lists in found]
    [(1, [1.0, 2.0]), (2, [3.0])]
    """
    lengths: dict[int, list[tuple[int, Floats, Floats]]] = {}
    for row in rows:
        lengths.setdefault(len(row[1]), []).append(row)
    return [
        Lists(
            np.array([k for k, _, _ in same], dtype=np.float64),
            np.array([losses for _, losses, _ in same]),
            np.array([masses for _, _, masses in same]),
        )
        for same in lengths.values()
    ]


# Summands of discrete Laplace noise, and of randomized response: their generating functions.
#
# Discrete Laplace noise of rate ``r = 1 / scale``, shifted by s, has with ``e = s r`` and
# ``q = e^(-r (1 + 2 z))``
#
#     M(z) = (e^(z e) + e^(-e - z e) + (1 - e^-r) e^(z e) (q - q^s) / (1 - q)) / (1 + e^-r);
#
# randomized response is that of a shift of one.


@dataclass(frozen=True)
class TwoEndSummands(SummandFamily):
    """Summands of discrete Laplace noise, or of randomized response: an entry for each.

    >>> one = ends_of([(1 / 4, 2, 1)])
    >>> [round(float(m), 12) for m in one.factors(0.0)]
    [1.0]
    """

    rate: Floats  # one over the scale
    shift: Floats  # in whole units

    @property
    def largest(self) -> Floats:
        """The largest loss of each."""
        return self.rate * self.shift

    @property
    def radius(self) -> Floats:
        """The largest loss of each."""
        return self.largest

    @property
    def terms(self) -> int:
        """Two exponentials, or about five where there is something between the ends."""
        return 2 if self.shift.max() == 1 else 5

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each; of a complex z, or of one per column."""
        e, r, s = (columns(one, z) for one in (self.largest, self.rate, self.shift))
        if self.shift.max() == 1:
            return (np.exp(z * e) + np.exp(-e - z * e)) / (1 + np.exp(-r))
        exponent = -r * (1 + 2 * z)
        between = np.exp(exponent) * np.expm1(exponent * (s - 1)) / np.expm1(exponent)
        up = np.exp(z * e)
        return (up + np.exp(-e - z * e) - np.expm1(-r) * up * between) / (1 + np.exp(-r))

    def weights(self, t: float) -> tuple[Floats, Floats]:
        """Return the tilted masses at the upper and the lower end of each."""
        total = self.factors(t) * (1 + np.exp(-self.rate))
        e = self.largest
        return np.exp(t * e) / total, np.exp(-e - t * e) / total


def ends_of(rows: Sequence[tuple[float, int, int]]) -> TwoEndSummands:
    """Return summands from the rate, the shift and the count of each."""
    ends = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return TwoEndSummands(ends[:, 2].copy(), ends[:, 0].copy(), ends[:, 1].copy())


# Summands of several families together: what their generating functions come to.


_MIN_TILT = 0.7  # in inverse deviations: below it nothing is gained by a smaller one


@dataclass(frozen=True)
class Generating:
    """A summand whose generating function has a closed form; one of the four is given.

    Attributes:
        laplace: the rate and the shift of Laplace noise; of randomized response with a shift of 1.
        gaussian: the deviation, which is one or more, and the shift of Gaussian noise.
        range: of what dominates releases of a bounded range.
        listed: losses and their masses.
        infinite: two ends of the mass of an infinite loss.
    """

    laplace: tuple[float, int] | None = None
    gaussian: tuple[float, int] | None = None
    range: float | None = None
    listed: tuple[Floats, Floats] | None = None
    infinite: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Summands:
    """All summands, by family.

    >>> both = Summands.of([(Generating(laplace=(0.5, 1)), 3), (Generating(gaussian=(4.0, 1)), 2)])
    >>> len(both.families), both.count, round(both.log(0.0), 12)
    (2, 5.0, 0.0)
    """

    families: tuple[SummandFamily, ...]  # each with a row for each summand
    infinite: tuple[float, float] = (0.0, 0.0)  # two ends of the mass of an infinite loss of any

    @classmethod
    def of(cls, rows: Iterable[tuple[Generating, int]]) -> Summands:
        """Return summands, each with how often it stands."""
        known = list(rows)
        families: list[SummandFamily] = []
        laplace = [(*one.laplace, k) for one, k in known if one.laplace]
        if laplace:
            families.append(ends_of(laplace))
        gaussian = [(float(k), *one.gaussian) for one, k in known if one.gaussian]
        if gaussian:
            families.append(Normals(*np.array(gaussian, dtype=np.float64).T.copy()))
        ranges = [(float(k), one.range) for one, k in known if one.range]
        if ranges:
            families.append(Ranges(*np.array(ranges, dtype=np.float64).T.copy()))
        families += listed((k, *one.listed) for one, k in known if one.listed)
        rests = [
            math.fsum(k * math.log1p(-one.infinite[i]) for one, k in known if one.infinite[i])
            for i in (0, 1)
        ]
        low, high = (-math.expm1(rest) for rest in rests)
        return cls(tuple(families), (low * (1 - 2.0**-40), high * (1 + 2.0**-40)))

    @property
    def ends(self) -> TwoEndSummands | None:
        """Those that are Laplace noise or randomized response."""
        return next((one for one in self.families if isinstance(one, TwoEndSummands)), None)

    @property
    def count(self) -> float:
        """Number of summands."""
        return math.fsum(float(one.times.sum()) for one in self.families)

    @property
    def radius(self) -> float:
        """The largest loss that matters of all together, about."""
        return math.fsum(float(one.times @ one.radius) for one in self.families)

    @property
    def largest(self) -> float:
        """The largest loss of all together, about; ``math.inf`` where there is none."""
        endless = any(isinstance(one, Normals) for one in self.families)
        return math.inf if endless or self.infinite[1] else self.radius

    @property
    def work(self) -> int:
        """Approximate number of exponentials per value of all generating functions."""
        return sum(len(one.times) * one.terms for one in self.families)

    def log(self, t: float) -> float:
        """Return K(t), the logarithm of the generating function of the sum; of a number."""
        total = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for family in self.families:
                logs = np.real(family.factors(t))
                if not np.isfinite(logs).all() or logs.min() <= 0:
                    return math.inf
                total += float(family.times @ np.log(logs))
        return total

    def pieces(self, maximum: int) -> Iterator[SummandFamily]:
        """Yield all summands in pieces of so many exponentials at most, but a summand at least."""
        for family in self.families:
            size = max(maximum // family.terms, 1)
            for start in range(0, len(family.times), size):
                yield family.rows(slice(start, start + size))


def tilt_near(summands: Summands, log_delta: float) -> float:
    """Return a tilt whose mean is near the epsilon of a delta, by the saddle point."""

    def small(t: float) -> bool:
        log, mean, variance = moments(summands, t)
        width = max(t * (t + 1) * math.sqrt(2 * math.pi * variance), 1.0)
        return log - t * mean - math.log(width) <= log_delta

    return _not_small(summands, _first(small))


def tilt_at(summands: Summands, epsilon: float) -> float:
    """Return a tilt whose mean is near an epsilon, if that is far enough from the mean."""
    return _not_small(summands, _first(lambda t: moments(summands, t)[1] >= epsilon))


def _not_small(summands: Summands, tilt: float) -> float:
    """Return the tilt, or one that is not much smaller than one over the deviation."""
    variance = moments(summands, tilt)[2]
    if not 0 < variance < math.inf:
        return tilt
    return max(tilt, min(_MIN_TILT / math.sqrt(variance), 2.0**20))


def _first(holds: Callable[[float], bool]) -> float:
    low, high = 2.0**-20, 1.0
    while not holds(high):
        low, high = high, 4 * high
        if high > 2.0**40:
            return high
    for _ in range(14):
        middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def moments(summands: Summands, t: float) -> tuple[float, float, float]:
    """Return K(t), and about its first two derivatives; infinities where it is too large."""
    minimum = math.fsum(float(one.times @ one.radius**2) for one in summands.families)
    step = 1e-3 * max(t, 1 / math.sqrt(minimum))
    logs = [summands.log(t + offset * step) for offset in (-1, 0, 1)]
    if math.inf in logs:
        return math.inf, math.inf, math.inf
    mean = (logs[2] - logs[0]) / (2 * step)
    spread = (logs[2] - 2 * logs[1] + logs[0]) / step**2
    unsure = 2.0**-46 * math.fsum(map(abs, logs)) / step**2
    return logs[1], mean, max(spread, unsure, 1e-12 * minimum)
