r"""What adaptive releases have spent at a delta, whenever one looks: by moments of their losses.

Let L be the privacy loss of a run so far, the sum of those of its releases, and let a release have
the log moments K_t (:mod:`tacit.core.measures.log_moments`): given the past the mean of ``e^(t L)``
over its noise is at most ``e^(K_t)``, for each power t of a list.  All K_t add up.  With shares
``w_t`` that come to one,

    h(L) = sum of w_t e^(t L - K_t)

never grows in the mean, whatever is asked next; so its mean is at most one whenever one stops.
**What is spent is an epsilon E, with** ``max(0, 1 - e^(E - L)) <= delta h(L)`` **for every L**, or
the sum of all epsilons where that is less.

**What holds.**  Let an analyst choose each release and its loss after all answers before it, and
stop whenever they like.  Let E be what is reported then.  For every set S of runs,

    P(S) <= (the mean over runs of Q of e^E on S) + delta:

whoever stops at 1/2 has, in those runs, a loss of 1/2; and so with all other E, for one delta.
Proof.  The left side less the first term of the right one is at most the mean over runs of P of
``max(0, 1 - e^(E - L))``, with an infinite L where Q has no mass.  A release may come with an event
of probability d in which anything is learned: an (epsilon, d)-DP release shows all with probability
d, and else is randomized response (Kairouz, Oh, Viswanath 2015).  The runs in which one of these
happens come to at most the largest sum of all d, a quarter of delta.  The other runs, in which E is
the sum of the epsilons, come to nothing.  The rest come to at most three quarters of delta times
the mean of h, which is at most one, also where the runs with such an event are left out of it: that
makes the mean of each step smaller.

**The least E.**  ``1 - e^-y <= c_s e^(s y)``, with ``ln c_s = s ln s - (1 + s) ln(1 + s)``.  For
any probabilities q_t of the powers, with ``s = sum of q_t t``, by Jensen's inequality ``ln h(L) >=
s L - k`` for ``k = sum of q_t (K_t + ln(q_t / w_t))``.  So every q gives an E,

    E = (k + ln c_s - ln(delta)) / s.

The best q is proportional to the terms of h at the one L where both sides touch, ``L = E + ln(1 +
1/s)``; below it ``E + ln(1 + 1/s) - L`` is above zero and beyond it below, for its derivative has
the sign of minus one at each zero.  That L is looked for in floats; the E of the q found there is
enclosed, and rounded up.

**How near it is.**  Where small releases make the loss a Brownian motion, h keeps its mean, and
whoever stops where the two sides touch has all that is proven: a bound that holds at all times and
is smaller for some losses is larger for others.  The shares decide for which it is small: for
epsilons between 1/4 and 10.

(Mixtures of powers: Robbins and Siegmund 1970; odometers: Rogers, Roth, Ullman, Vadhan, "Privacy
odometers and filters", 2016; Whitehouse, Ramdas, Rogers, Wu, "Fully adaptive composition in
differential privacy", ICML 2023, who bound the probability of a loss above E.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from tacit.accounting.budgets.budget import Budget, Kind
from tacit.accounting.budgets.parts import Part, merged
from tacit.accounting.budgets.rounding import rounded_up
from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import Enclosure, log
from tacit.arithmetic.exact import show
from tacit.core.losses.base import PrivacyLoss
from tacit.core.measures.conversion import pure_to_renyi
from tacit.core.measures.log_moments import Moments, log_moments, moments_of_range
from tacit.errors import BudgetError, UsageError

__all__ = ["Charge", "LossOdometer"]

POWERS = tuple(Fraction(2) ** k * step for k in range(-1, 10) for step in (1, Fraction(17, 12)))
"""From 1/2 to 725, about the root of two apart; a list that is twice as fine gains nothing."""
_MIDDLE = POWERS.index(Fraction(8))
_WEIGHTS = [Fraction(9, 9 + (place - _MIDDLE) ** 2) for place in range(len(POWERS))]
SHARES = tuple(weight / sum(_WEIGHTS) for weight in _WEIGHTS)
_FOR_DELTAS = Fraction(1, 4)
_GRID = 1 << 96
"""Log moments are rounded up to multiples of its inverse."""
_DIGITS = 1 << 40
_STEPS = 60
_BITS = 96
_NOTHING = Enclosure.of(0)


@dataclass(frozen=True)
class Charge:
    """What one release adds.

    Attributes:
        moments: a log moment for each power, in units of ``2^-96``; None where none is known.
        delta: the probability of what they leave out.
        epsilon: what the loss is at most, where something is known.
    """

    moments: tuple[int | None, ...]
    delta: Fraction
    epsilon: Fraction | None

    @classmethod
    def of(cls, cost: Budget, losses: PrivacyLoss | None = None) -> Charge:
        """Return the charge of a release, by its cost and by its losses where they are known.

        Args:
            cost: in pure, approximate or zero-concentrated DP.
            losses: that dominate those of the release.

        >>> from tacit.accounting.budgets.budget import rho
        >>> POWERS[2], Charge.of(rho(1)).moments[2] // _GRID
        (Fraction(1, 1), 2)
        """
        stated = _stated(cost.kind, cost.amount, cost.delta, cost.parts)
        known = None if losses is None else _known(losses)
        if known is None:
            return stated
        found, left_out = tuple(map(_whole, known[0])), known[1]
        if not cost.delta:
            moments = tuple(map(_smaller, found, stated.moments))
            return cls(moments, left_out, stated.epsilon)
        # what is stated in approximate DP holds but for its own event, of that probability
        return cls(found, left_out, None) if left_out < cost.delta else stated


@dataclass(frozen=True)
class LossOdometer:
    """All charges so far, and what they come to.

    Attributes:
        delta: above 0 and below 1, at which what is spent is reported.
        total: the sum of all charges.

    >>> odometer = LossOdometer.begun(Fraction(1, 10**6))
    >>> for _ in range(40):
    ...     odometer = odometer.charged(Charge.of(Budget("approximate", Fraction(1, 10))))
    >>> odometer.total.epsilon, round(float(odometer.spent.amount), 2)
    (Fraction(4, 1), 3.11)
    """

    delta: Fraction
    total: Charge

    @classmethod
    def begun(cls, delta: Fraction) -> LossOdometer:
        """Return an odometer before any charge.

        Raises:
            UsageError: a delta that is not above 0 and below 1.
        """
        if not 0 < delta < 1:
            raise UsageError(f"a delta is above 0 and below 1, not {show(delta)}")
        return cls(delta, Charge((0,) * len(POWERS), Fraction(0), Fraction(0)))

    def charged(self, charge: Charge) -> LossOdometer:
        """Return what stands after a charge.

        Raises:
            BudgetError: the deltas of all charges come to more than a quarter of delta, or nothing
                finite is known.
        """
        deltas = rounded_up(self.total.delta + charge.delta)
        if deltas > _FOR_DELTAS * self.delta:
            raise BudgetError(
                f"the deltas of the releases come to {show(deltas)}, more than a quarter of the "
                f"delta of this odometer, {show(self.delta)}: nothing was spent. Begin one with a "
                "larger delta, or ask for releases with a smaller one"
            )
        before, more = self.total.epsilon, charge.epsilon
        added = None if before is None or more is None else rounded_up(before + more)
        moments = tuple(map(_plus, self.total.moments, charge.moments))
        if added is None and not any(moment is not None for moment in moments):
            raise BudgetError("no finite privacy loss of this release is known: nothing was spent")
        return LossOdometer(self.delta, Charge(moments, deltas, added))

    @cached_property
    def spent(self) -> Budget:
        """What is spent, whenever one looks: an epsilon at delta."""
        total = self.total
        if all(moment == 0 for moment in total.moments) and not total.delta:
            return Budget("approximate", Fraction(0))
        rows = [
            (power, share, Fraction(moment, _GRID))
            for power, share, moment in zip(POWERS, SHARES, total.moments, strict=True)
            if moment is not None
        ]
        ends = [] if total.epsilon is None else [total.epsilon]
        if rows:
            ends.append(_least_epsilon(rows, (1 - _FOR_DELTAS) * self.delta))
        return Budget("approximate", min(ends), self.delta)


def _least_epsilon(rows: list[tuple[Fraction, Fraction, Fraction]], delta: Fraction) -> Fraction:
    """Return nearly the least E of powers with their shares and log moments, rounded up."""
    near = [(float(t), math.log(share) - float(k)) for t, share, k in rows]
    goal = math.log(delta.numerator) - math.log(delta.denominator)

    def at(loss: float) -> tuple[float, list[float], float]:
        """Return E, the terms of h over the largest, and s, at a loss."""
        logs = [t * loss + a for t, a in near]
        most = max(logs)
        terms = [math.exp(one - most) for one in logs]
        whole = math.fsum(terms)
        s = math.fsum(t * term for (t, _), term in zip(near, terms, strict=True)) / whole
        slope = s * math.log(s) - (1 + s) * math.log1p(s)
        return loss + (slope - goal - most - math.log(whole)) / s, terms, s

    def beyond(loss: float) -> bool:
        found, _, s = at(loss)
        return loss >= found + math.log1p(1 / s)

    end = 1.0
    while not beyond(end):
        end *= 2
    _, terms, _ = at(narrowed(beyond, end, 0.0, _STEPS)[0])
    counts = [round(term * _DIGITS) for term in terms]
    whole = sum(counts)
    parts = [(Fraction(n, whole), row) for n, row in zip(counts, rows, strict=True) if n]
    s = sum((q * t for q, (t, _, _) in parts), Fraction(0))
    k = sum((q * (moment + log(q / share, _BITS)) for q, (_, share, moment) in parts), _NOTHING)
    slope = s * log(s, _BITS) - (1 + s) * log(1 + s, _BITS)
    return max(((k + slope - log(delta, _BITS)) / s).rounded(64).upper, Fraction(0))


@lru_cache(maxsize=1 << 8)
def _known(losses: PrivacyLoss) -> Moments | None:
    """Return the log moments of losses, which a session meets again and again."""
    return log_moments(losses, POWERS)


@lru_cache(maxsize=1 << 10)
def _stated(kind: Kind, amount: Fraction, delta: Fraction, parts: tuple[Part, ...]) -> Charge:
    """Return the charge of a release of which only the cost is known."""
    if kind == "concentrated":
        return Charge(tuple(_whole(t * (t + 1) * amount) for t in POWERS), Fraction(0), None)
    every = [_of_part(part) for part in parts or merged([(amount, False)])]
    moments = tuple(map(sum, zip(*every, strict=True))) if every else (0,) * len(POWERS)
    return Charge(moments, delta, amount)


def _of_part(part: Part) -> list[int]:
    if part.ranged:
        found = moments_of_range(part.epsilon, POWERS)
    else:  # those of randomized response, which no epsilon-DP release exceeds
        found = [t * pure_to_renyi(part.epsilon, 1 + t) for t in POWERS]
    return [part.times * math.ceil(moment * _GRID) for moment in found]


def _whole(moment: Fraction | None) -> int | None:
    return None if moment is None else max(math.ceil(moment * _GRID), 0)


def _smaller(a: int | None, b: int | None) -> int | None:
    return min((one for one in (a, b) if one is not None), default=None)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
