"""Odometers: the loss of releases that are chosen as they go."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from tacit.accounting.budget import Budget, BudgetPart, Kind, merged, rounded_up
from tacit.accounting.gaussian_filter import after_all, before, epsilon_of, largest, whole
from tacit.arithmetic.enclosure import Enclosure, log
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core.conversions import Moments, log_moments, moments_of_range
from tacit.core.losses.base import PrivacyLoss
from tacit.core.measures import pure_to_renyi
from tacit.errors import BudgetError, UsageError

# What the charges on a budget come to, and what they leave of it.
#
# Pure and concentrated budgets, and those of a ledger that began before there was a filter, add up:
# :mod:`tacit.accounting.odometer` says why that is enough.  A budget of epsilon at delta is
# spent through :mod:`tacit.accounting.gaussian_filter` as well: **a charge is granted if
# the epsilons still add up to no more than the budget's, or if the filter grants it**; this many
# small questions cost together what they really cost, and none is refused that adding up would
# grant.
#
# Half of delta pays for the filter, half for the deltas of the charges.  But where the first charge
# takes more than a hundredth of delta itself, all of it is for such charges, and epsilons add up.
# The first charge is chosen before there is any answer, so that no one learns by what it decides.
#
# **Proof.**  Let the budget be (E, D) with halves, and suppose that an analyst chooses each charge
# (e_i, d_i) after all answers before it; of a release of several parts each is one, charged by
# itself (:mod:`tacit.accounting.budget`).  An (e_i, d_i)-DP release is a function of this
# one: with probability d_i it shows all, else it is randomized response of e_i (Kairouz, Oh,
# Viswanath 2015). Take those for the releases.  The runs in which one shows all have a probability
# of at most the largest sum of the d_i, D/2.  Of the others, those whose epsilons add up to at most
# E have a loss of at most E, and add nothing to delta at E.  The rest were granted by the filter,
# each step of them: for a filter that once refused is given up.  They are runs also of the analyst
# who stops where the filter refuses, whose delta at E is at most D/2, and each run of that one adds
# no less than nothing. So delta at E is at most D in all.  A budget may be raised meanwhile, to the
# variance v' from v: what is left of it grows by v' - v, for what is dominated by G_a is so
# together with another one.
#
# What is *spent* is reported as if the charges so far had been fixed beforehand: the smallest
# epsilon, at half of delta and the deltas charged, of a Gaussian that dominates them together.


_OWN = 100
_FIELD = "filter"


@dataclass(frozen=True, slots=True)
class PrivacyFilter:
    """The Gaussian that is left of a budget; all of it before the first charge."""

    halved: bool | None = None  # whether half of delta pays for it; None before the first charge
    # its variance; None where a charge did not fit, since when epsilons add up
    left: Fraction | None = None
    # the variance of a Gaussian that dominates all charges together
    together: Fraction = Fraction(0)

    def delta(self, total: Budget) -> Fraction:
        """Return how much of the delta of a budget pays for it."""
        return total.delta / 2 if self.halved else Fraction(0)

    def charged(self, cost: Budget, total: Budget) -> PrivacyFilter:
        """Return what is left after a charge."""
        if self.halved is None:
            halved = cost.delta * _OWN <= total.delta
            left = whole(total.amount, total.delta / 2) if halved else None
            return PrivacyFilter(halved, left).charged(cost, total)
        parts, together = cost.parts or merged([(cost.amount, False)]), self.together
        left = None if self.left is None else after_all(self.left, parts)
        if left is None:
            return replace(self, left=None)
        for part in parts:
            together = before(together, part.epsilon, part.times, part.ranged)
        return PrivacyFilter(self.halved, left, together)

    def raised(self, old: Budget, new: Budget) -> PrivacyFilter:
        """Return what is left once a budget is raised."""
        if self.left is None:
            return self
        more = whole(new.amount, new.delta / 2) - whole(old.amount, old.delta / 2)
        return replace(self, left=self.left + max(more, Fraction(0)))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        left = None if self.left is None else str(self.left)
        return {"halved": self.halved, "left": left, "together": str(self.together)}

    @classmethod
    def from_json(cls, fields: Any) -> PrivacyFilter:
        """Read what :meth:`to_json` wrote."""
        left = None if fields["left"] is None else as_fraction(fields["left"])
        return cls(fields["halved"], left, as_fraction(fields["together"]))


@dataclass(frozen=True)
class Spending:
    """A budget, and what was charged on it.

    >>> from tacit.accounting.budget import epsilon_delta
    >>> spending = Spending.begun(epsilon_delta(1, "1e-6"))
    >>> for _ in range(30):
    ...     spending = spending.charged(epsilon_delta("1/50", 0))
    >>> spending.added, round(float(spending.spent.amount), 3), spending.remaining.covers(
    ...     epsilon_delta("1/50", 0)
    ... )
    (epsilon_delta(0.6, 0), 0.463, True)
    """

    total: Budget
    added: Budget  # what the charges add up to
    filter: PrivacyFilter | None = None

    # A charge, and what is after it: each is examined several times before it is made.
    _latest: ClassVar[tuple[Budget, Spending] | None] = None

    @classmethod
    def begun(cls, total: Budget, *, filtered: bool = True) -> Spending:
        """Return a budget before any charge; with a filter, where its kind has one."""
        holds = filtered and total.kind == "approximate" and total.delta > 0
        return cls(total, Budget.nothing(total.kind), PrivacyFilter() if holds else None)

    @cached_property
    def remaining(self) -> Budget:
        """Remaining budget; with a filter, the largest single charge that fits."""
        if self.filter is None or self.added.is_nothing:
            return self.total - self.added
        plain = max(self.total.amount - self.added.amount, Fraction(0))
        left = self.filter.left
        amount = plain if left is None else max(plain, min(largest(left), self.total.amount))
        delta = self.total.delta - self.filter.delta(self.total) - self.added.delta
        return Budget(self.total.kind, amount, delta)

    @property
    def spent(self) -> Budget:
        """Sum of the charges."""
        odometer_filter = self.filter
        if (
            odometer_filter is None
            or not odometer_filter.halved
            or not self.added.amount
            or odometer_filter.left is None
        ):
            return self.added
        share = odometer_filter.delta(self.total)
        amount = min(epsilon_of(odometer_filter.together, share), self.total.amount)
        if self.added.amount <= amount:
            return self.added
        return Budget(self.total.kind, amount, share + self.added.delta)

    def require(self, cost: Budget) -> None:
        """Raise if a cost does not fit."""
        if not self.affords(cost):
            raise BudgetError(
                f"the release costs {cost} and {self.remaining} of {self.total} remains: nothing "
                "was spent. Spend less on this release, or ask for fewer answers"
            )

    def affords(self, *costs: Budget) -> bool:
        """Return whether costs fit together: one of many parts may where its sum would not.

        >>> from tacit.accounting.budget import Budget, epsilon_delta
        >>> from tacit.accounting.budget import BudgetPart
        >>> spending = Spending.begun(epsilon_delta(1, "1e-6"))
        >>> spending = spending.charged(epsilon_delta("1/8", 0))
        >>> tenth = Budget("approximate", Fraction(1), parts=(BudgetPart(Fraction(1, 100), 100),))
        >>> spending.affords(tenth), spending.affords(epsilon_delta(1, 0))
        (True, False)
        """
        after = self
        for cost in costs:
            # what remains is of one loss, and is rounded down: no such charge passes it
            if (after.filter is None or not cost.parts) and not after.remaining.covers(cost):
                return False
            after = after.charged(cost)
            if not after.within:
                return False
        return True

    def charged(self, cost: Budget) -> Spending:
        """Return what stands after a charge, whether it fits or not."""
        if self._latest is not None and self._latest[0] is cost:
            return self._latest[1]
        charged_filter = None if self.filter is None else self.filter.charged(cost, self.total)
        spending = Spending(self.total, self.added + cost, charged_filter)
        self.__dict__["_latest"] = cost, spending
        return spending

    @property
    def within(self) -> bool:
        """True if the charges are within the budget."""
        odometer_filter = self.filter
        if odometer_filter is None:
            return self.total.covers(self.added)
        deltas = self.added.delta + odometer_filter.delta(self.total) <= self.total.delta
        return deltas and (
            odometer_filter.left is not None or self.added.amount <= self.total.amount
        )

    def raised(self, total: Budget) -> Spending:
        """Return what stands once the budget is raised."""
        raised_filter = None if self.filter is None else self.filter.raised(self.total, total)
        return Spending(total, self.added, raised_filter)

    def to_json(self) -> dict[str, Any]:
        """Return all but the budget as plain JSON: as one where it only adds up."""
        fields = {} if self.filter is None else {_FIELD: self.filter.to_json()}
        return {**self.added.to_json(), **fields}

    @classmethod
    def from_json(cls, total: Budget, fields: object) -> Spending:
        """Read what :meth:`to_json` wrote."""
        if not isinstance(fields, Mapping):
            raise UsageError("the description of a charge is not that of a budget")
        added = Budget.from_json({name: fields[name] for name in fields if name != _FIELD})
        try:
            stored_filter = PrivacyFilter.from_json(fields[_FIELD]) if _FIELD in fields else None
        except (KeyError, TypeError, AttributeError):
            raise UsageError(
                "the description of a budget filter is not in the form that Tacit writes"
            ) from None
        return cls(total, added, stored_filter)


# What adaptive releases have spent at a delta, whenever one looks: by moments of their losses.
#
# Let L be the privacy loss of a run so far, the sum of those of its releases, and let a release
# have the log moments K_t (:mod:`tacit.core.conversions`): given the past the mean of
# ``e^(t L)`` over its noise is at most ``e^(K_t)``, for each power t of a list.  All K_t add up.
# With shares ``w_t`` that come to one,
#
#     h(L) = sum of w_t e^(t L - K_t)
#
# never grows in the mean, whatever is asked next; so its mean is at most one whenever one stops.
# **What is spent is an epsilon E, with** ``max(0, 1 - e^(E - L)) <= delta h(L)`` **for every L**,
# or the sum of all epsilons where that is less.
#
# **What holds.**  Let an analyst choose each release and its loss after all answers before it, and
# stop whenever they like.  Let E be what is reported then.  For every set S of runs,
#
#     P(S) <= (the mean over runs of Q of e^E on S) + delta:
#
# who stops at 1/2 has, in those runs, a loss of 1/2; and so with all other E, for one delta.
# Proof.  The left side less the first term of the right one is at most the mean over runs of P of
# ``max(0, 1 - e^(E - L))``, with an infinite L where Q has no mass.  A release may come with an
# event of probability d in which anything is learned: an (epsilon, d)-DP release shows all with
# probability d, and else is randomized response (Kairouz, Oh, Viswanath 2015).  The runs in which
# one of these happens come to at most the largest sum of all d, a quarter of delta.  The other
# runs, in which E is the sum of the epsilons, come to nothing.  The rest come to at most three
# quarters of delta times the mean of h, which is at most one, also where the runs with such an
# event are left out of it: that makes the mean of each step smaller.
#
# **The smallest E.**  ``1 - e^-y <= c_s e^(s y)``, with ``ln c_s = s ln s - (1 + s) ln(1 + s)``.
# For any probabilities q_t of the powers, with ``s = sum of q_t t``, by Jensen's inequality
# ``ln h(L) >= s L - k`` for ``k = sum of q_t (K_t + ln(q_t / w_t))``.  So every q gives an E,
#
#     E = (k + ln c_s - ln(delta)) / s.
#
# The best q is proportional to the terms of h at the one L where both sides touch, ``L = E + ln(1 +
# 1/s)``; below it ``E + ln(1 + 1/s) - L`` is above zero and beyond it below, for its derivative has
# the sign of minus one at each zero.  That L is looked for in floats; the E of the q found there is
# enclosed, and rounded up.
#
# **How near it is.**  Where small releases make the loss a Brownian motion, h keeps its mean, and
# who stops where the two sides touch has all that is proven: a bound that holds at all times
# and is smaller for some losses is larger for others.  The shares decide for which it is small: for
# epsilons between 1/4 and 10.  Next to small Gaussian releases that are known beforehand it is 16
# to 29% more there at a delta of 10^-6, and 11 to 20% at 10^-9.  *No epsilons that depend on the
# charges alone are within 8% at all of these*: who stops at the best of 40 moments would then have
# 3.7 times that delta, and 1.8 times (backward induction over the Brownian motion; a test).  At
# 10^-6 and 160 moments it takes 15.8% until delta is enough.  A single power that is the best
# beforehand is 6 to 9% above already.
#
# (Mixtures of powers: Robbins and Siegmund 1970; odometers: Rogers, Roth, Ullman, Vadhan, "Privacy
# odometers and filters", 2016; Whitehouse, Ramdas, Rogers, Wu, "Fully adaptive composition in
# differential privacy", ICML 2023, who bound the probability of a loss above E.)


# From 1/2 to 725, about the root of two apart; a list that is twice as fine gains nothing.
POWERS = tuple(Fraction(2) ** k * step for k in range(-1, 10) for step in (1, Fraction(17, 12)))
_MIDDLE = POWERS.index(Fraction(8))
_WEIGHTS = [Fraction(9, 9 + (index - _MIDDLE) ** 2) for index in range(len(POWERS))]
SHARES = tuple(weight / sum(_WEIGHTS) for weight in _WEIGHTS)
_FOR_DELTAS = Fraction(1, 4)
_GRID = 1 << 96  # log moments are rounded up to multiples of its inverse
_DIGITS = 1 << 40
_STEPS = 60
_BITS = 96
_NOTHING = Enclosure.of(0)


@dataclass(frozen=True)
class OdometerCharge:
    """Cost of one release, in every form that is counted."""

    # a log moment for each power, in units of ``2^-96``; None where none is known
    moments: tuple[int | None, ...]
    delta: Fraction  # the probability of what they leave out
    epsilon: Fraction | None  # what the loss is at most, where something is known

    @classmethod
    def of(cls, cost: Budget, losses: PrivacyLoss | None = None) -> OdometerCharge:
        """Return the charge of a release, by its cost and by its losses where they are known.

        >>> from tacit.accounting.budget import rho
        >>> POWERS[2], OdometerCharge.of(rho(1)).moments[2] // _GRID
        (Fraction(1, 1), 2)
        """
        stated = _stated(cost.kind, cost.amount, cost.delta, cost.parts)
        known = None if losses is None else _known(losses)
        if known is None:
            return stated
        orders, left_out = tuple(map(_as_optional_int, known[0])), known[1]
        if not cost.delta:
            moments = tuple(map(_smaller, orders, stated.moments))
            return cls(moments, left_out, stated.epsilon)
        # what is stated in approximate DP holds except for its own event, of that probability
        return cls(orders, left_out, None) if left_out < cost.delta else stated


@dataclass(frozen=True)
class LossOdometer:
    """All charges so far, and what they come to.

    >>> odometer = LossOdometer.begun(Fraction(1, 10**6))
    >>> for _ in range(40):
    ...     odometer = odometer.charged(OdometerCharge.of(Budget("approximate", Fraction(1, 10))))
    >>> odometer.total.epsilon, round(float(odometer.spent.amount), 2)
    (Fraction(4, 1), 3.11)
    """

    delta: Fraction  # above 0 and below 1, at which what is spent is reported
    total: OdometerCharge  # the sum of all charges

    @classmethod
    def begun(cls, delta: Fraction) -> LossOdometer:
        """Return an odometer before any charge."""
        if not 0 < delta < 1:
            raise UsageError(f"a delta is above 0 and below 1, not {show(delta)}")
        return cls(delta, OdometerCharge((0,) * len(POWERS), Fraction(0), Fraction(0)))

    def charged(self, charge: OdometerCharge) -> LossOdometer:
        """Return what stands after a charge."""
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
        return LossOdometer(self.delta, OdometerCharge(moments, deltas, added))

    @cached_property
    def spent(self) -> Budget:
        """Spent so far: an epsilon at delta, valid at any time."""
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
            ends.append(_min_epsilon(rows, (1 - _FOR_DELTAS) * self.delta))
        return Budget("approximate", min(ends), self.delta)


def _min_epsilon(rows: list[tuple[Fraction, Fraction, Fraction]], delta: Fraction) -> Fraction:
    """Return nearly the least E of powers with their shares and log moments, rounded up."""
    near = [(float(t), math.log(share) - float(k)) for t, share, k in rows]
    goal = math.log(delta.numerator) - math.log(delta.denominator)

    def at(loss: float) -> tuple[float, list[float], float]:
        """Return E, the terms of h over the largest, and s, at a loss."""
        logs = [t * loss + a for t, a in near]
        maximum = max(logs)
        terms = [math.exp(one - maximum) for one in logs]
        total = math.fsum(terms)
        s = math.fsum(t * term for (t, _), term in zip(near, terms, strict=True)) / total
        slope = s * math.log(s) - (1 + s) * math.log1p(s)
        return loss + (slope - goal - maximum - math.log(total)) / s, terms, s

    def beyond(loss: float) -> bool:
        epsilon, _, s = at(loss)
        return loss >= epsilon + math.log1p(1 / s)

    end = 1.0
    while not beyond(end):
        end *= 2
    _, terms, _ = at(narrowed(beyond, end, 0.0, _STEPS)[0])
    counts = [round(term * _DIGITS) for term in terms]
    total = sum(counts)
    parts = [(Fraction(n, total), row) for n, row in zip(counts, rows, strict=True) if n]
    s = sum((q * t for q, (t, _, _) in parts), Fraction(0))
    k = sum((q * (moment + log(q / share, _BITS)) for q, (_, share, moment) in parts), _NOTHING)
    slope = s * log(s, _BITS) - (1 + s) * log(1 + s, _BITS)
    return max(((k + slope - log(delta, _BITS)) / s).rounded(64).upper, Fraction(0))


@lru_cache(maxsize=1 << 8)
def _known(losses: PrivacyLoss) -> Moments | None:
    """Return the log moments of losses, which a session meets again and again."""
    return log_moments(losses, POWERS)


@lru_cache(maxsize=1 << 10)
def _stated(
    kind: Kind, amount: Fraction, delta: Fraction, parts: tuple[BudgetPart, ...]
) -> OdometerCharge:
    """Return the charge of a release of which only the cost is known."""
    if kind == "concentrated":
        return OdometerCharge(
            tuple(_as_optional_int(t * (t + 1) * amount) for t in POWERS), Fraction(0), None
        )
    every = [_of_part(part) for part in parts or merged([(amount, False)])]
    moments = tuple(map(sum, zip(*every, strict=True))) if every else (0,) * len(POWERS)
    return OdometerCharge(moments, delta, amount)


def _of_part(part: BudgetPart) -> list[int]:
    if part.ranged:
        moments = moments_of_range(part.epsilon, POWERS)
    else:  # those of randomized response, which no epsilon-DP release exceeds
        moments = [t * pure_to_renyi(part.epsilon, 1 + t) for t in POWERS]
    return [part.times * math.ceil(moment * _GRID) for moment in moments]


def _as_optional_int(moment: Fraction | None) -> int | None:
    return None if moment is None else max(math.ceil(moment * _GRID), 0)


def _smaller(a: int | None, b: int | None) -> int | None:
    return min((one for one in (a, b) if one is not None), default=None)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


# The running total of an adaptive composition, and the filter that stops it in time.
#
# **Why adding up is enough**, when each mechanism and its cost may be chosen after seeing every
# earlier answer.  Let the costs of a run be c_1, c_2, ..., each fixed before its noise is drawn,
# and let the filter refuse what would take the sum beyond the total.
#
# - *pure*.  Along every sequence of answers the ratio of the likelihoods under two neighbours is a
#   product of factors, each at most e^(c_i), and the c_i along that sequence add up to at most the
#   total.
# - *approximate*.  By induction from the last step back: after the first answer, the rest is
#   (E - c_1, D - d_1)-DP whatever that answer was; an (e, d)-DP step followed by that is
#   (E, D)-DP (Dwork, Kenthapadi, McSherry, Mironov, Naor, 2006; for adaptive costs: Rogers, Roth,
#   Ullman, Vadhan, "Privacy odometers and filters", 2016, theorem 3.1).
# - *concentrated*.  Given the past, step i multiplies the expectation of e^((a-1) Z) by at most
#   e^((a-1) a rho_i), so the product of e^((a-1)(Z_i - a rho_i)) is a supermartingale, and the sum
#   of the rho_i is at most the total on every path (Feldman, Zrnic, "Individual privacy accounting
#   via a Renyi filter", 2021).
#
# A budget of epsilon at delta pays for more small releases than add up to it:
# :mod:`tacit.accounting.odometer` says how, with the proof.  So do epsilons that are
# counted at a delta without any budget, whenever one looks:
# :mod:`tacit.accounting.odometer`.


class Odometer:
    """Adds up what is spent in memory; with a ``total``, refuses to pass it.

    The threads of a process may share one.  It forgets everything when the process ends: what
    must outlive that is a :class:`~tacit.accounting.ledger.Ledger`.  A process that was
    forked off holds a copy, and what remains must not be spent once in each: there, every charge is
    refused.

    Args:
        total: the budget of a filter, or a kind (``"pure"``, ``"approximate"``,
            ``"concentrated"``) for an odometer that only counts.
        delta: of an odometer of kind ``"approximate"``: what is spent is reported at this delta,
            by the losses of all releases together, and holds whenever one looks or stops.

    >>> from tacit.accounting.budget import epsilon
    >>> odometer = Odometer(epsilon(1))
    >>> odometer.spend(epsilon("3/4"))
    epsilon(0.75)
    >>> odometer.spend(epsilon("1/2"))
    Traceback (most recent call last):
        ...
    tacit.errors.BudgetError: the release costs epsilon 0.5 and epsilon 0.25 of epsilon 1 remains:
    nothing was spent. Spend less on this release, or ask for fewer answers
    """

    def __init__(self, total: Budget | Kind, *, delta: Number | None = None) -> None:
        if delta is not None and total != "approximate":
            raise UsageError('a delta is of an odometer that counts: Odometer("approximate", ...)')
        self._total = total if isinstance(total, Budget) else None
        self._kind: Kind = total.kind if isinstance(total, Budget) else total
        self._counted = Budget.nothing(self._kind)
        self._spending = None if self._total is None else Spending.begun(self._total)
        self._losses = None if delta is None else LossOdometer.begun(as_fraction(delta, "delta"))
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def total(self) -> Budget | None:
        """The budget, or None for an odometer that only counts."""
        return self._total

    @property
    def spent(self) -> Budget:
        """Sum of all charges so far."""
        counts = self._spending or self._losses
        return self._counted if counts is None else counts.spent

    @property
    def remaining(self) -> Budget | None:
        """Remaining budget, or None for an odometer that only counts."""
        return None if self._spending is None else self._spending.remaining

    def spend(self, cost: Budget, losses: PrivacyLoss | None = None) -> Budget:
        """Charge ``cost``, before the noise is drawn, and return what is paid in this kind.

        Args:
            cost: of the release.  An odometer with a delta takes any kind, and returns it.
            losses: that dominate those of the release, such as ``m.losses(distance)``; they count
                in an odometer with a delta.

        Raises:
            BudgetError: more than remains, or deltas that come to more than a quarter of that of
                an odometer; nothing was spent.
            UsageError: a cost of another kind without a proven conversion, or a forked process.
        """
        if os.getpid() != self._process:
            raise UsageError(
                "what is counted in memory cannot follow into a forked process, where the same "
                "budget could be spent again: nothing was spent. Keep it in a ledger"
            )
        with self._lock:
            if self._losses is not None:
                self._losses = self._losses.charged(OdometerCharge.of(cost, losses))
                return cost if cost.kind == "concentrated" else cost.cost_in(self._kind)
            paid = cost.cost_in(self._kind)
            if self._spending is None:
                self._counted = self._counted + paid
            else:
                self._spending.require(paid)
                self._spending = self._spending.charged(paid)
        return paid
