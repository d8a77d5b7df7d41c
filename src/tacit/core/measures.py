"""Measures of privacy loss: pure, approximate and zero-concentrated DP."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.arithmetic.roots_and_bisection import golden, narrowed
from tacit.calls import public
from tacit.core import divergences as exact
from tacit.core.divergences import concentrated
from tacit.core.losses.additive_noise import ShiftedLoss, composed, listed_pair, shifted_losses
from tacit.core.losses.base import PrivacyLoss
from tacit.errors import MismatchError, UsageError

# What one measure of privacy loss says in another: proven, and rounded against us.


_MIN_LOG = -2000.0  # deltas below e to this are not looked for


def pure_to_concentrated(epsilon: Fraction) -> Fraction:
    """Return a rho such that every epsilon-DP mechanism is rho-zCDP: epsilon tanh(epsilon/2).

    >>> float(pure_to_concentrated(Fraction(1)))
    0.46211715726000...
    """
    # The bound is the smallest there is, up to rounding it up by a relative 2^-60, and lies below
    # the usual epsilon^2/2: by 8% at epsilon 1, by 24% at epsilon 2.
    #
    # Proof.  Any epsilon-DP pair of output distributions is a post-processing of randomized
    # response with odds e^epsilon : 1 (Kairouz, Oh, Viswanath, "The composition theorem for
    # differential privacy", 2015), and post-processing cannot raise a Renyi divergence, so it is
    # enough to bound that of randomized response.  There, for every order a > 1,
    #
    #     (a - 1) D_a = ln cosh((a - 1/2) epsilon) - ln cosh(epsilon/2) = h((a - 1/2)^2) - h(1/4),
    #
    # where h(s) = ln cosh(epsilon sqrt(s)).  h is concave, since its derivative
    # epsilon tanh(epsilon sqrt(s)) / (2 sqrt(s)) falls as s grows.  So the difference is at most
    # h'(1/4) ((a - 1/2)^2 - 1/4) = epsilon tanh(epsilon/2) a (a - 1), which is D_a <= rho a.
    # No smaller rho will do, for D_a tends to epsilon tanh(epsilon/2) as a tends to 1.
    # For rho = epsilon^2/2 see Bun and Steinke, "Concentrated differential privacy" (2016), 1.4.
    if epsilon < Fraction(1, 2**32):
        return epsilon * epsilon / 2  # above the bound by a relative epsilon^2/12 at most
    if epsilon > 64:
        return epsilon  # tanh is below 1, by less than 2^-91 here
    odds = exp(epsilon, 128)
    return (epsilon * (1 - 2 / (odds + 1))).rounded(64).upper


def pure_to_renyi(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return a bound on the Renyi divergence of an order of every epsilon-DP mechanism.

    >>> float(pure_to_renyi(Fraction(1), Fraction(2)))
    0.73...
    """
    # It is that of randomized response, which no epsilon-DP pair exceeds (the proof of
    # :func:`pure_to_concentrated`), rounded up by a relative 2^-60:
    #
    #     D_a = ln((e^(a epsilon) + e^((1 - a) epsilon)) / (e^epsilon + 1)) / (a - 1).
    #
    # It lies below both epsilon and a epsilon^2/2 (Mironov, "Renyi differential privacy", 2017).
    plain = min(epsilon, order * epsilon * epsilon / 2)
    if not epsilon > 2**-32 or not order * epsilon < 1 << 10 or order < 1 + Fraction(1, 2**32):
        return plain  # where the powers lose all digits, or are too long to be worth it
    power = order * epsilon
    odds = (exp(power, 256) + exp(epsilon - power, 256)) / (exp(epsilon, 256) + 1)
    return min(plain, (log(odds, 256) / (order - 1)).rounded(64).upper)


def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    >>> float(concentrated_epsilon(Fraction(1, 2), Fraction(1, 10**6)))
    5.22153444453...
    """
    # For every order a > 1, with Z the privacy loss,
    #
    #     epsilon = a rho + ln((a - 1)/a) - (ln a + ln delta)/(a - 1).
    #
    # Proof.  delta(epsilon) = E max(0, 1 - e^(epsilon - Z)), and max(0, 1 - e^-y) is at most
    # c e^((a-1) y) for all y, where c = sup (1 - e^-y) e^(-(a-1) y) = (1 - 1/a)^(a-1) / a,
    # attained at e^-y = (a-1)/a.  zCDP says E e^((a-1) Z) <= e^((a-1) a rho), so
    # delta <= e^((a-1)(a rho - epsilon)) c; solve for epsilon.  (Canonne, Kamath, Steinke, "The
    # discrete Gaussian for differential privacy", 2020, proposition 12.)
    #
    # Every order gives a true bound.  The best one is looked for in floats, and the bound at that
    # order is then enclosed and rounded up.
    if rho < 0:
        raise UsageError("rho must not be negative")
    if not 0 < delta < 1:
        raise UsageError("a rho gives an epsilon only at a delta above 0 and below 1")
    if rho == 0:
        return Fraction(0)
    order = 1 + Fraction(math.exp(_best_order(rho, delta)))
    return renyi_epsilon(order, order * rho, delta)


def renyi_epsilon(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at delta for a bound on the Renyi divergence of one order above one.

    >>> float(renyi_epsilon(Fraction(6), Fraction(3), Fraction(1, 10**6)))
    5.222428660...
    """
    # The formula and the proof of :func:`concentrated_epsilon`, with the divergence for ``a rho``.
    above_one = order - 1
    tail = (log(order, 128) + log(delta, 128)) / above_one
    bound = divergence + log(above_one / order, 128) - tail
    return max(bound.rounded(64).upper, Fraction(0))


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    >>> float(concentrated_delta(Fraction(1, 2), Fraction(5)))
    2.896122...e-06
    """
    # That of the best order, as in :func:`concentrated_epsilon`; where it is below e^-2000, about
    # that is said.
    if rho == 0:
        return Fraction(0)
    r, e = float(rho), float(epsilon)

    def log_delta(t: float) -> float:
        above = math.exp(t)
        return above * ((1 + above) * r - e + t - math.log1p(above)) - math.log1p(above)

    best = golden(log_delta, -300.0, 300.0)  # convex in the order
    if log_delta(best) < _MIN_LOG:
        best = narrowed(lambda t: log_delta(t) >= _MIN_LOG, -300.0, best, 60)[0]
    order = 1 + Fraction(math.exp(best))
    return renyi_delta(order, order * rho, epsilon)


def renyi_delta(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta at epsilon for a bound on the Renyi divergence of one order above one.

    >>> float(renyi_delta(Fraction(6), Fraction(3), Fraction(5)))
    3.040868...e-06
    """
    # It is ``e^((a - 1) (D - epsilon)) (1 - 1/a)^(a - 1) / a``: the proof is that of
    # :func:`concentrated_epsilon`.
    above_one = order - 1
    power = above_one * (divergence - epsilon + log(above_one / order, 256)) - log(order, 256)
    if power.upper >= 0:
        return Fraction(1)
    log_delta = max(power.rounded(128).upper, Fraction(_MIN_LOG) - 1)
    return exp(log_delta, 4096).rounded(128).upper


def _best_order(rho: Fraction, delta: Fraction) -> float:
    """Return ln(a - 1) for nearly the best order a, by golden section."""
    # The bound falls to its least value and rises again as a grows from 1 to infinity.
    log_rho = math.log(rho.numerator) - math.log(rho.denominator)
    log_delta = min(math.log(delta.numerator) - math.log(delta.denominator), -1e-300)

    def bound(t: float) -> float:
        above_one = math.exp(t)
        log_order = math.log1p(above_one)
        rate = math.exp(min(log_rho + log_order, 700))
        return rate + (t - log_order) - (log_order + log_delta) / above_one

    # Around the best order for the looser tail bound, a - 1 = sqrt(ln(1/delta) / rho).
    middle = (math.log(-log_delta) - log_rho) / 2
    low, high = max(middle - 40, -700), min(middle + 40, 700)  # where exp is a positive float
    return golden(bound, low, high)


# Measures: how far two output distributions are from each other, and how losses add up.
#
# A loss is what a privacy map returns: a Fraction (epsilon, rho), or a pair ``(epsilon, delta)``.
# Each measure can be *evaluated* between two explicit distributions, with a certified enclosure;
# see :mod:`tacit.core.divergences`.


# A Fraction; for approximate DP a pair ``(epsilon, delta)``; for a Renyi curve one an order.
Loss: TypeAlias = Fraction | tuple[Fraction, ...]

# An enclosure or infinity, or for approximate DP a function of epsilon that encloses delta.
Divergence: TypeAlias = Enclosure | float | Callable[[Number], Enclosure]


@public
@dataclass(frozen=True)
class Measure(ABC):
    """A way to count the distance between output distributions."""

    name: ClassVar[str] = ""

    def divergence(self, p: object, q: object) -> Divergence:
        """Evaluate the distance between two explicit discrete distributions (both directions).

        Args:
            p: a mapping of outcomes to probabilities, a list of probabilities, or what
                ``m.distribution(data)`` returned.
            q: another.

        Returns:
            An enclosure, or ``math.inf``; for approximate DP a function of epsilon that encloses
            delta, in the worse direction.

        Raises:
            UsageError: no distributions, or two that have no evaluation in this measure.
        """
        if hasattr(p, "law") or hasattr(p, "parts"):
            return self.between(p, q)
        return self._of_listed(p, q)

    def between(self, p: object, q: object) -> Divergence:
        """Evaluate the distance between two distributions of ``m.distribution(data)``.

        Raises:
            UsageError: two that are neither listed nor shifts of one distribution.
        """
        listed = listed_pair(p, q)
        if listed is not None:
            return self._of_listed(*listed)
        return self._of_shifted(shifted_losses(p, q))

    @abstractmethod
    def _of_listed(self, p: Any, q: Any) -> Divergence:
        """Evaluate the distance between two distributions that list their outcomes."""

    def _of_shifted(self, losses: list[ShiftedLoss]) -> Divergence:
        """Evaluate the distance of one distribution from itself, shifted; one loss a coordinate."""
        # The logarithm of a product is a sum, so max and Renyi divergences add up over coordinates.
        raise UsageError(f"{self} has no evaluation on these distributions")

    def read(self, loss: object) -> Loss:
        """Read a loss that a caller wrote, exactly; refuses a negative one."""
        value = as_fraction(loss, self.name)
        if value < 0:
            raise UsageError(f"a privacy loss is not negative; got {show(value)}")
        return value

    def at_most(self, loss: Loss, limit: Loss) -> bool:
        """Return whether one loss is within another."""
        here: Any = loss
        return bool(here <= limit)

    def compose(self, losses: Iterable[Loss]) -> Loss:
        """Return the loss of several releases together (they may be chosen adaptively)."""
        amounts: Any = losses
        return sum(amounts, Fraction(0))

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return the loss in this measure that any ``epsilon``-DP release implies.

        Raises:
            MismatchError: no conversion is proven here.
        """
        raise MismatchError(f"no conversion from pure DP to {self}", epsilon, self)

    def from_other(self, other: Measure, loss: Loss) -> Loss:
        """Return the loss in this measure that a loss in another one implies.

        Raises:
            MismatchError: no conversion is proven here.
        """
        if other == self:
            return loss
        if isinstance(other, PureDP):
            epsilon: Any = loss
            return self.from_pure(epsilon)
        raise MismatchError(
            f"{other} does not convert to {self} without further choices", other, self
        )

    def from_losses(self, losses: PrivacyLoss, loss: Loss) -> Loss:
        """Return the smaller one of a loss and of what known privacy losses imply, if anything."""
        return loss

    def show(self, loss: Loss) -> str:
        """Write a loss for people."""
        amount: Any = loss
        return f"{self.name} = {show(amount)}"

    def describe(self) -> dict[str, object]:
        """Return the measure as plain JSON values."""
        return {"measure": type(self).__name__}

    def __str__(self) -> str:
        return self.__doc__.split("\n")[0].split(":")[0] if self.__doc__ else type(self).__name__


@public
class PureDP(Measure):
    """Pure DP: the max divergence, ``max over events S of ln(P(S) / Q(S))``, is at most epsilon.

    >>> half = {0: "1/2", 1: "1/2"}
    >>> float(PureDP().divergence(half, {0: "1/4", 1: "3/4"})) >= 0.6931
    True
    """

    name = "epsilon"

    def _of_listed(self, p: Any, q: Any) -> Enclosure | float:
        """Return the larger of the two max divergences (``math.inf`` where supports differ)."""
        return exact.largest(exact.max_divergence(p, q), exact.max_divergence(q, p))

    def _of_shifted(self, losses: list[ShiftedLoss]) -> Enclosure | float:
        """Return the sum of the largest losses."""
        largest = [loss.max_divergence() for loss in losses]
        if math.inf in largest:
            return math.inf
        return Enclosure.of(sum((Fraction(loss) for loss in largest), Fraction(0)))

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return epsilon itself."""
        return epsilon


@public
class _Paired(Measure):
    """A measure whose losses are pairs, of which the second is a delta."""

    def read(self, loss: object) -> tuple[Fraction, Fraction]:
        """Read a pair, such as ``(epsilon, delta)``."""
        if not isinstance(loss, (tuple, list)) or len(loss) != 2:
            raise UsageError(f"a loss of {self._sentence} is a pair {self.name}")
        first, delta = (as_fraction(part, self.name) for part in loss)
        if first < 0 or not 0 <= delta <= 1:
            raise UsageError(f"{self._first} must be at least 0, and delta from 0 to 1")
        return first, delta

    @property
    def _sentence(self) -> str:
        text = str(self)
        return text[0].lower() + text[1:]

    @property
    def _first(self) -> str:
        return self.name.strip("()").split(",")[0]

    def at_most(self, loss: Loss, limit: Loss) -> bool:
        here: Any = loss
        there: Any = limit
        return bool(here[0] <= there[0] and here[1] <= there[1])

    def compose(self, losses: Iterable[Loss]) -> Loss:
        pairs: list[Any] = list(losses)
        delta = min(Fraction(1), sum((d for _, d in pairs), Fraction(0)))
        return sum((e for e, _ in pairs), Fraction(0)), delta

    def show(self, loss: Loss) -> str:
        pair: Any = loss
        return f"{self._first} = {show(pair[0])} at delta = {show(pair[1])}"


@public
class ApproximateDP(_Paired):
    """Approximate DP: ``P(S) <= e^epsilon Q(S) + delta`` for every event S.

    Losses add up in both parts (basic composition; Dwork and Roth 2014, theorem 3.16).

    >>> p, q = {0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"}
    >>> float(ApproximateDP().divergence(p, q)(0))
    0.25
    """

    name = "(epsilon, delta)"

    def _of_listed(self, p: Any, q: Any) -> exact.PrivacyProfile:
        """Return the privacy profile: a function of epsilon that gives the least delta."""
        return exact.PrivacyProfile(exact.distribution(p), exact.distribution(q))

    def _of_shifted(self, losses: list[ShiftedLoss]) -> Callable[[Number], Enclosure]:
        """Return the function of epsilon that gives the least delta."""
        return composed(losses).delta

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return ``(epsilon, 0)``."""
        return epsilon, Fraction(0)


@public
class ZeroConcentratedDP(Measure):
    """Zero-concentrated DP: Renyi divergence of every order alpha > 1 is at most rho * alpha.

    Source: Bun and Steinke, "Concentrated differential privacy", TCC 2016.

    >>> float(ZeroConcentratedDP().from_pure(Fraction(1, 2)))
    0.12245933120185...
    """

    name = "rho"

    def _of_listed(self, p: Any, q: Any) -> Enclosure | float:
        """Return an enclosure of ``sup over alpha > 1 of D_alpha / alpha``, both directions."""
        return exact.largest(concentrated(p, q), concentrated(q, p))

    def _of_shifted(self, losses: list[ShiftedLoss]) -> Enclosure:
        """Return the sum of the largest ratios over all orders: attained at one, or a bound."""
        parts = [Enclosure.of(loss.concentrated()) for loss in losses]
        return parts[0] if len(parts) == 1 else sum(parts, Enclosure.of(0))

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return the smallest rho of all epsilon-DP mechanisms, ``epsilon tanh(epsilon / 2)``.

        See :func:`~tacit.core.measures.pure_to_concentrated`.
        """
        return pure_to_concentrated(epsilon)


@public
class ApproximateZeroConcentratedDP(_Paired):
    """Approximate zero-concentrated DP: rho-zCDP but for an event of probability delta.

    There are events E and E' of probability at least ``1 - delta`` under P and Q, such that P given
    E and Q given E' are rho-zCDP.  It is what releases in zCDP and in approximate DP have together.

    - rho-zCDP is ``(rho, 0)``.
    - (epsilon, delta)-DP is ``(epsilon tanh(epsilon / 2), delta)``: every such pair is a function
      of the outcomes of randomized response that says all with probability delta (Murtagh and
      Vadhan, "The complexity of computing the optimal composition of differential privacy", TCC
      2016, lemma 3.2); given that it does not, it is the plain one.
    - Losses add up in both parts, also adaptively (Bun and Steinke 2016, lemma 8.2).
    - It implies ``(epsilon, delta + (1 - delta) delta')``-DP wherever rho-zCDP implies
      ``(epsilon, delta')``-DP.  Let E and E' have the probability ``1 - delta`` (larger events are
      cut by a coin, which leaves what holds given them): ``P(S) <= delta + (1 - delta) P(S | E) <=
      delta + (1 - delta) (e^epsilon Q(S | E') + delta')``, and ``(1 - delta) Q(S | E') <= Q(S)``.

    Source: Bun and Steinke, "Concentrated differential privacy", TCC 2016, section 8.

    >>> ApproximateZeroConcentratedDP().from_other(ZeroConcentratedDP(), Fraction(1, 8))
    (Fraction(1, 8), Fraction(0, 1))
    """

    name = "(rho, delta)"

    def _of_listed(self, p: Any, q: Any) -> Divergence:
        """Raise always: the best events are not searched for."""
        raise UsageError(
            f"{self} is not evaluated between two distributions; look at their privacy profile, "
            "ApproximateDP().divergence(p, q)"
        )

    def from_pure(self, epsilon: Fraction) -> Loss:
        """Return ``(epsilon tanh(epsilon / 2), 0)``."""
        return pure_to_concentrated(epsilon), Fraction(0)

    def from_other(self, other: Measure, loss: Loss) -> Loss:
        """Return the loss that a loss in zCDP, approximate DP or pure DP implies."""
        given: Any = loss
        if isinstance(other, ZeroConcentratedDP):
            return given, Fraction(0)
        if isinstance(other, ApproximateDP):
            return pure_to_concentrated(given[0]), given[1]
        return super().from_other(other, loss)
