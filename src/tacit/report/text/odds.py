"""The guarantee as odds: how far a release can move anybody's belief about a person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import Budget
from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import float_up, show

__all__ = ["Odds", "percent_at_most", "probability_words", "weak_guarantee"]

STATED_DELTA = Fraction(1, 10**6)
"""The delta at which a rho is stated as an epsilon."""

_MOST_EPSILON = Fraction(10)
_ASSUMED_SIZE = 100_000
"""How many people a table has where that is not public: no row is read to find out."""

_MARGIN = Fraction(1, 10)
"""How much is added to an epsilon that comes with a delta; see :class:`Odds`."""


@dataclass(frozen=True)
class Odds:
    """What a loss lets anybody believe.

    Somebody believes with probability p, before they see the answers, that the data set is u and
    not its neighbour v.  By Bayes' rule their belief afterwards is ``L p / (L p + 1 - p)``, with L
    the ratio of the probabilities of the answers under u and v.

    *Pure epsilon.*  ``L <= e^epsilon`` always, so the belief is at most
    ``e^epsilon p / (e^epsilon p + 1 - p)``.

    *(epsilon, delta).*  Let B be the answers with ``L > e^(epsilon + m)``.  Then
    ``P_u(B) <= e^epsilon P_v(B) + delta <= e^-m P_u(B) + delta``, so
    ``P_u(B) <= delta / (1 - e^-m)``, and ``P_v(B)`` is below it.  So the bound above holds at
    ``epsilon + m``, but for answers of that probability.  Here ``m = 1/10``.

    *rho.*  It is (epsilon, delta)-DP for every delta, with the epsilon of
    :meth:`~tacit.accounting.Budget.epsilon_at`; then as before.

    "Is this person in the table or not" is one step between neighbours.  "Does the table hold this
    version of their rows or that one" is two, one version leaves and another joins: ``2 epsilon``;
    ``(2 epsilon, (1 + e^epsilon) delta)``; ``4 rho`` (group privacy, which Dwork and Roth 2014,
    theorem 2.2, and Bun and Steinke 2016, proposition 1.9, prove).

    Attributes:
        epsilon: the ratio is at most ``e^epsilon``.
        exception: but for answers of at most this probability; zero for pure epsilon.

    >>> odds = Odds.of(Budget("pure", Fraction(1)))
    >>> odds.percent(10), odds.exception
    (23.2, Fraction(0, 1))
    """

    epsilon: Fraction
    exception: Fraction = Fraction(0)

    @classmethod
    def of(cls, loss: Budget, steps: int = 1) -> Odds:
        """Return the odds of a loss, ``steps`` (1 or 2) neighbours apart."""
        if loss.kind == "concentrated":
            moved = Budget(loss.kind, loss.amount * steps**2)
            return cls._but_for(moved.epsilon_at(STATED_DELTA), STATED_DELTA)
        delta = loss.delta
        if not delta:
            return cls(steps * loss.amount)
        if steps == 2:
            delta = delta * (1 + exp(loss.amount, 64).upper) if loss.amount < 60 else Fraction(1)
        return cls._but_for(steps * loss.amount, min(delta, Fraction(1)))

    @classmethod
    def _but_for(cls, epsilon: Fraction, delta: Fraction) -> Odds:
        exception = delta / (1 - exp(-_MARGIN, 64).upper)
        return cls(epsilon + _MARGIN, min(exception, Fraction(1)))

    def percent(self, before: int) -> float:
        """Return the most that a belief of ``before`` in 100 can become, rounded up."""
        return percent_at_most(self.epsilon, before)


def percent_at_most(epsilon: Fraction, before: int) -> float:
    """Return ``100 e^epsilon p / (e^epsilon p + 1 - p)`` for ``p = before / 100``, rounded up.

    It is ``100 / (1 + e^-epsilon (100 - before) / before)``; up to a tenth.

    >>> percent_at_most(Fraction(0), 10), percent_at_most(Fraction(500), 10)
    (10.0, 100.0)
    """
    if epsilon > 60:  # within 1e-20 of certainty
        return 100.0
    ratio = exp(-epsilon, 64).lower * Fraction(100 - before, before)
    return math.ceil(Fraction(1000) / (1 + ratio)) / 10


def weak_guarantee(loss: Budget, size: int | None = None) -> str | None:
    """Say why a loss protects hardly anybody; None where it does.

    Above an epsilon of 10 someone who is 10% sure can become practically certain.  A delta allows a
    release that publishes each person with that probability, all their rows, so it must be below
    one divided by the number of people.  At that number itself a delta is weak where the number is
    public; the 100,000 of other tables are a guess.

    Args:
        loss: of one release, or of all of them.
        size: how many people the table has, where that is public; 100,000 is assumed otherwise.

    >>> from tacit.accounting import epsilon, epsilon_delta
    >>> print(weak_guarantee(epsilon(11)))
    epsilon 11 is above 10: someone who is 10% sure could become at most 99.99% sure
    >>> print(weak_guarantee(epsilon(10_000)))
    epsilon 10000 is above 10: someone who is 10% sure could become practically certain
    >>> print(weak_guarantee(epsilon_delta(1, "1e-3"), size=5000))
    delta 0.001 is above 1/5000, one divided by the number of people: the rows of 1 in \
1,000 people could be published as they are
    >>> weak_guarantee(epsilon(10)), weak_guarantee(epsilon_delta(1, "1e-5"))
    (None, None)
    """
    rho = loss.kind == "concentrated"
    epsilon = loss.epsilon_at(STATED_DELTA) if rho else loss.amount
    if epsilon > _MOST_EPSILON:
        told = f"epsilon {show(epsilon)}"
        if rho:
            told = f"rho {show(loss.amount)}, an epsilon of {float(epsilon):.4g} at a delta of "
            told += show(STATED_DELTA) + ","
        sure = _nearly(epsilon, 10)
        become = "practically certain" if sure == "100" else f"at most {sure}% sure"
        return f"{told} is above 10: someone who is 10% sure could become {become}"
    people = _ASSUMED_SIZE if size is None else size
    reached = loss.delta * people
    if reached < 1 or (reached == 1 and size is None):
        return None
    known = "one divided by the number of people" if size else "which is for 100,000 people"
    above = "above " if reached > 1 else ""
    told = (
        f"delta {show(loss.delta)} is {above}1/{people}, {known}: the rows of "
        f"{probability_words(loss.delta)} people could be published as they are"
    )
    return told if size else f"{told} (a data set may declare the size of its tables)"


def _nearly(epsilon: Fraction, before: int) -> str:
    """Return the most that a belief can become, in percent, with the digits that tell it from 100.

    >>> _nearly(Fraction(11), 10), _nearly(Fraction(20), 10), _nearly(Fraction(900), 10)
    ('99.99', '99.999999', '100')
    """
    if epsilon > 20:
        return "100"
    ratio = exp(-epsilon, 64).lower * Fraction(100 - before, before)
    doubt = 100 * ratio / (1 + ratio)
    digits = max(1, math.ceil(-math.log10(doubt)))
    at_most = 100 - Fraction(math.floor(doubt * 10**digits), 10**digits)
    return f"{float(at_most):.{digits}f}"


def probability_words(probability: Fraction) -> str:
    """Write a small probability as a chance, never below it.

    >>> probability_words(Fraction(1, 95000)), probability_words(Fraction(1))
    ('1 in 95,000', '1')
    """
    if probability >= Fraction(1, 2):
        return f"{float_up(probability):.3g}"
    digits = math.floor(math.log10(1 / probability)) - 1
    unit = 10 ** max(digits, 0)
    return f"1 in {int(1 / probability) // unit * unit:,}"
