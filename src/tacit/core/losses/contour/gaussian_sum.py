r"""Sums of losses of Gaussian noise alone: a closed form, and how far whole numbers are from it.

Noise of deviation sigma_i on whole numbers, shifted by s_i, k_i times, with ``eta = sum k_i (s_i /
sigma_i)^2``.  On the real line the sum of all losses is normal, so for ``mu = sqrt(eta)``, with
``a = e / mu - mu / 2`` and ``b = a + mu``, the least delta at an epsilon e is that of one Gaussian
release (Balle and Wang, ICML 2018, theorem 8; phi the density, R the tail over it)

    D(e) = Phi(-a) - e^e Phi(-b) = phi(a) (R(a) - R(b)).

**On whole numbers** delta is, for every t > 0, the integral of :mod:`.line_integral` along the line
of real part t.  The factor of a summand at ``t + i w`` is (:mod:`.families`) that on the real line
times ``T(z s) / T(0)``, and its size at most ``e^(eta_i (t^2 + t) / 2) B_i(w)`` with ``B_i(w) = sum
over whole m of e^(-eta_i (w - m p_i)^2 / 2)``, ``p_i = 2 pi / g_i`` and ``g_i = s_i / sigma_i^2``,
the distance of two losses.  Let g be the largest of these, ``W = pi / (2 g)``, and S the least
sigma, five or more.  In units of ``e^(eta (t^2 + t) / 2 - t e) / (2 pi)`` delta differs from D

- for ``|w| < W`` by at most ``2 U sqrt(2 pi / eta) / (t (t + 1))``: there ``|T(z s) / T(0) - 1|``
  is at most ``u = 5 e^(-pi^2 S^2)``, and all together at most ``2 U``, with ``U = u sum k_i <= 1``;
- beyond W, where ``|1/(z (z + 1))| <= 1/w^2``, by what both integrals come to.  That of the product
  of all ``B_i^(k_i)`` is by Hoelder's inequality no more than the largest of those of ``B_i^r``,
  with ``r = eta / eta_i``.  Up to ``p_i / 4`` from a multiple of p_i, ``B_i`` is at most ``1 + u``
  times its largest term (``r u`` is below 1/100, else nothing is said), and elsewhere at most
  ``3 e^(-pi^2 S^2 / 8)``.  So the multiples but zero come to at most ``sqrt(2 pi / eta) (2 /
  p_i^2) sum 1 / (m - 1/4)^2``, that is ``0.13 g^2 sqrt(2 pi / eta)``; the multiple zero, in both
  integrals, to ``2 (2 / W^2) sqrt(pi / (2 eta)) e^(-eta W^2 / 2)`` with ``eta W^2 >= pi^2 S^2 /
  4``; and what is between to ``(2 / W) 3 e^(-pi^2 S^2 / 8)``.

That is, relatively, about ``0.13 g^2 t (t + 1)``: for 10,000 releases of noise 100 times as wide as
a shift of 1,000 units it is below 10^-12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import Enclosure, exp, pi, sqrt
from tacit.arithmetic.exact import float_up
from tacit.arithmetic.special_functions import mills_ratio, normal_cdf
from tacit.core.losses.contour.least_epsilon import least_epsilon

__all__ = ["GaussianSum", "least_part", "renyi_epsilon"]

_LEAST_SIGMA = 5
_LEAST_TAIL = Fraction(3, 2)
"""From so many deviations on a tail is enclosed beside its density."""
_PI = Fraction(333, 106)
"""Below pi."""
_BITS = 96


@dataclass(frozen=True)
class GaussianSum:
    """A sum of losses of Gaussian noise on whole numbers.

    Attributes:
        parts: the deviation, at least five, and the shift, above zero, of each in whole units, and
            how often it stands.

    >>> one = GaussianSum(((Fraction(10**8), 10**6, 10_000),))
    >>> found = one.epsilon(math.log(1e-6))
    >>> round(found[0], 9), round(found[1], 9)
    (4.886554117, 4.886554117)
    """

    parts: tuple[tuple[Fraction, int, int], ...]

    @classmethod
    def of(cls, parts: Sequence[tuple[Fraction, int, int]]) -> GaussianSum | None:
        """Return it, or None where some noise is too narrow for the closed form."""
        wide = all(sigma >= _LEAST_SIGMA and shift for sigma, shift, _ in parts)
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
        if b.upper < _LEAST_TAIL or a.upper < -_LEAST_TAIL:  # nothing is small, and e^epsilon
            found = normal_cdf(-a, bits) - exp(epsilon, bits) * normal_cdf(-b, bits)
        elif a.lower < _LEAST_TAIL:
            tail = (
                mills_ratio(b, bits) if b.lower >= 1 else normal_cdf(-b, bits) / _density(b, bits)
            )
            found = normal_cdf(-a, bits) - _density(a, bits) * tail
        else:
            found = _density(a, bits) * (mills_ratio(a, bits) - mills_ratio(b, bits))
        return Enclosure(max(found.lower, Fraction(0)), max(found.upper, Fraction(0)))

    def _off(self, epsilon: Fraction) -> Fraction:
        """Return more than how far delta is from D."""
        eta, root = self._eta, 1 / float(self._mu.lower)
        t = Fraction(max(float(epsilon / eta) - 0.5, root)).limit_denominator(1 << 20) or Fraction(
            1
        )
        least = min(sigma for sigma, _, _ in self.parts)
        grain = max(shift / sigma**2 for sigma, shift, _ in self.parts)
        count = sum(k for _, _, k in self.parts)
        narrow = exp(-((_PI * least) ** 2) / 8, 64).upper
        whole = count * 5 * exp(-((_PI * least) ** 2), 64).upper
        ratio = eta / min((shift / sigma) ** 2 for sigma, shift, _ in self.parts)
        if whole * ratio > Fraction(1, 100):
            return Fraction(1)
        width = sqrt(2 * pi(64) / eta, 64).upper
        # 4 / W^2 is 16 g^2 / pi^2, half of which stands at the root of 2 pi / eta
        beyond = grain**2 * width * (Fraction(131, 1000) + narrow) + 4 * grain * narrow
        within = 2 * whole * width / (t * (t + 1))
        scale = exp(eta * (t * t + t) / 2 - t * epsilon, 64).upper
        found = scale * (within + beyond) / (2 * _PI)
        return Enclosure(found, found).rounded(64).upper

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

        high = least_epsilon(lambda e: _log(at(e).upper), near, highest, upper=True)
        if high is None:
            return None
        low = least_epsilon(lambda e: _log(at(e).lower), high, lowest, upper=False)
        return low or 0.0, high

    @staticmethod
    def _guess(log_delta: float, mu: float) -> float:
        """Return about the epsilon of a delta, in floats."""

        def log_ideal(epsilon: float) -> float:
            a = epsilon / mu - mu / 2
            if a < 20:
                b = a + mu
                far = math.exp(epsilon + math.log(math.erfc(b / math.sqrt(2)) or 1e-320))
                return math.log(max((math.erfc(a / math.sqrt(2)) - far) / 2, 1e-320))
            ratio = 1 / (a + 1 / a) - 1 / (a + mu + 1 / (a + mu))
            return -a * a / 2 + math.log(max(ratio, 1e-320)) - 0.9189

        return narrowed(lambda e: log_ideal(e) <= log_delta, mu * (60 + mu), 0.0, 60)[0]


def renyi_epsilon(parts: Sequence[tuple[Fraction, int, int]], log_delta: float) -> float:
    """Return an epsilon at a delta of such a sum, of any deviations: by its Renyi divergences.

    That of the order ``1 + t`` is at most ``eta (t + 1) / 2`` (Canonne, Kamath and Steinke, "The
    discrete Gaussian for differential privacy", NeurIPS 2020).

    >>> round(renyi_epsilon([(Fraction(1), 1, 1)], -20.0), 2)
    6.36
    """
    eta = float_up(sum((k * (shift / sigma) ** 2 for sigma, shift, k in parts), Fraction(0)))
    if not eta or not math.isfinite(eta):
        return eta
    t = math.sqrt(-2 * log_delta / eta)
    return max(eta * (t + 1) / 2 + (least_part(t) - log_delta) / t, 0.0) * (1 + 2.0**-40)


def least_part(t: float) -> float:
    """Return the logarithm of ``t^t / (1 + t)^(1 + t)``, rounded up.

    It is the least c with ``1 - e^-y <= c e^(t y)`` for all y.

    >>> round(math.exp(least_part(1.0)), 9)
    0.25
    """
    return t * math.log(t) - (1 + t) * math.log1p(t) + 2.0**-48 * (1 + t) * (1 + math.log1p(t))


def _density(w: Enclosure, bits: int) -> Enclosure:
    return exp(-(w * w) / 2, bits) / sqrt(2 * pi(bits), bits)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator) if value > 0 else -math.inf
