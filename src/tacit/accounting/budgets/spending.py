"""What the charges on a budget come to, and what they leave of it.

Pure and concentrated budgets, and those of a ledger that began before there was a filter, add up:
:mod:`tacit.accounting.budgets.odometer` says why that is enough.  A budget of epsilon at delta is
spent through :mod:`tacit.accounting.budgets.gaussian_filter` as well: **a charge is granted if the
epsilons still add up to no more than the budget's, or if the filter grants it**; so many small
questions cost together what they really cost, and none is refused that adding up would grant.

Half of delta pays for the filter, half for the deltas of the charges.  But where the first charge
takes more than a hundredth of delta itself, all of it is for such charges, and epsilons add up.
The first charge is chosen before there is any answer, so that nobody learns by what it decides.

**Proof.**  Let the budget be (E, D) with halves, and suppose that an analyst chooses each charge
(e_i, d_i) after all answers before it; of a release of several parts each is one, charged by itself
(:mod:`tacit.accounting.budgets.parts`).  An (e_i, d_i)-DP release is a function of this one: with
probability d_i it shows all, else it is randomized response of e_i (Kairouz, Oh, Viswanath 2015).
Take those for the releases.  The runs in which one shows all have a probability of at most the
largest sum of the d_i, D/2.  Of the others, those whose epsilons add up to at most E have a loss of
at most E, and add nothing to delta at E.  The rest were granted by the filter, each step of them:
for a filter that once refused is given up.  They are runs also of the analyst who stops where the
filter refuses, whose delta at E is at most D/2, and each run of that one adds no less than nothing.
So delta at E is at most D in all.  A budget may be raised meanwhile, to the variance v' from v:
what is left of it grows by v' - v, for what is dominated by G_a is so together with another one.

What is *spent* is reported as if the charges so far had been fixed beforehand: the least epsilon,
at half of delta and the deltas charged, of a Gaussian that dominates them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.gaussian_filter import after_all, before, epsilon_of, largest, whole
from tacit.accounting.budgets.parts import merged
from tacit.arithmetic.exact import as_fraction
from tacit.errors import BudgetError, UsageError

__all__ = ["Filter", "Spending"]

_OWN = 100
_FIELD = "filter"


@dataclass(frozen=True, slots=True)
class Filter:
    """The Gaussian that is left of a budget; all of it before the first charge.

    Attributes:
        halved: whether half of delta pays for it; None before the first charge.
        left: its variance; None where a charge did not fit, since when epsilons add up.
        together: the variance of a Gaussian that dominates all charges together.
    """

    halved: bool | None = None
    left: Fraction | None = None
    together: Fraction = Fraction(0)

    def delta(self, total: Budget) -> Fraction:
        """Return how much of the delta of a budget pays for it."""
        return total.delta / 2 if self.halved else Fraction(0)

    def charged(self, cost: Budget, total: Budget) -> Filter:
        """Return what is left after a charge."""
        if self.halved is None:
            halved = cost.delta * _OWN <= total.delta
            left = whole(total.amount, total.delta / 2) if halved else None
            return Filter(halved, left).charged(cost, total)
        parts, together = cost.parts or merged([(cost.amount, False)]), self.together
        left = None if self.left is None else after_all(self.left, parts)
        if left is None:
            return replace(self, left=None)
        for part in parts:
            together = before(together, part.epsilon, part.times, part.ranged)
        return Filter(self.halved, left, together)

    def raised(self, old: Budget, new: Budget) -> Filter:
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
    def from_json(cls, said: Any) -> Filter:
        """Read what :meth:`to_json` wrote."""
        left = None if said["left"] is None else as_fraction(said["left"])
        return cls(said["halved"], left, as_fraction(said["together"]))


@dataclass(frozen=True)
class Spending:
    """A budget, and what was charged on it.

    Attributes:
        total: the budget.
        added: what the charges add up to.
        filter: where there is one.

    >>> from tacit.accounting.budgets.budget import epsilon_delta
    >>> spending = Spending.begun(epsilon_delta(1, "1e-6"))
    >>> for _ in range(100):
    ...     spending = spending.charged(epsilon_delta("1/50", 0))
    >>> spending.added, round(float(spending.spent.amount), 3), spending.remaining.covers(
    ...     epsilon_delta("1/50", 0)
    ... )
    (epsilon_delta(2, 0), 0.87, True)
    """

    total: Budget
    added: Budget
    filter: Filter | None = None

    _latest: ClassVar[tuple[Budget, Spending] | None] = None
    """A charge, and what stands after it: each is looked at several times before it is made."""

    @classmethod
    def begun(cls, total: Budget, *, filtered: bool = True) -> Spending:
        """Return a budget before any charge; with a filter, where its kind has one."""
        holds = filtered and total.kind == "approximate" and total.delta > 0
        return cls(total, Budget.nothing(total.kind), Filter() if holds else None)

    @cached_property
    def remaining(self) -> Budget:
        """What is left: where there is a filter, the largest charge that fits by itself."""
        if self.filter is None or self.added.is_nothing:
            return self.total - self.added
        plain = max(self.total.amount - self.added.amount, Fraction(0))
        left = self.filter.left
        amount = plain if left is None else max(plain, min(largest(left), self.total.amount))
        delta = self.total.delta - self.filter.delta(self.total) - self.added.delta
        return Budget(self.total.kind, amount, delta)

    @property
    def spent(self) -> Budget:
        """What the charges come to."""
        held = self.filter
        if held is None or not held.halved or not self.added.amount or held.left is None:
            return self.added
        share = held.delta(self.total)
        amount = min(epsilon_of(held.together, share), self.total.amount)
        if self.added.amount <= amount:
            return self.added
        return Budget(self.total.kind, amount, share + self.added.delta)

    def require(self, cost: Budget) -> None:
        """Refuse a cost that does not fit.

        Raises:
            BudgetError: it does not.
        """
        if not self.affords(cost):
            raise BudgetError(
                f"the release costs {cost} and {self.remaining} of {self.total} remains: nothing "
                "was spent. Spend less on this release, or ask for fewer answers"
            )

    def affords(self, *costs: Budget) -> bool:
        """Return whether costs fit together: one of many parts may where its sum would not.

        >>> from tacit.accounting.budgets.budget import Budget, epsilon_delta
        >>> from tacit.accounting.budgets.parts import Part
        >>> spending = Spending.begun(epsilon_delta(1, "1e-6"))
        >>> spending = spending.charged(epsilon_delta("1/8", 0))
        >>> tenth = Budget("approximate", Fraction(1), parts=(Part(Fraction(1, 100), 100),))
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
        held = None if self.filter is None else self.filter.charged(cost, self.total)
        stands = Spending(self.total, self.added + cost, held)
        self.__dict__["_latest"] = cost, stands
        return stands

    @property
    def within(self) -> bool:
        """Whether the charges are within the budget."""
        held = self.filter
        if held is None:
            return self.total.covers(self.added)
        deltas = self.added.delta + held.delta(self.total) <= self.total.delta
        return deltas and (held.left is not None or self.added.amount <= self.total.amount)

    def raised(self, total: Budget) -> Spending:
        """Return what stands once the budget is raised."""
        held = None if self.filter is None else self.filter.raised(self.total, total)
        return Spending(total, self.added, held)

    def to_json(self) -> dict[str, Any]:
        """Return all but the budget as plain JSON: as one where it only adds up."""
        held = {} if self.filter is None else {_FIELD: self.filter.to_json()}
        return {**self.added.to_json(), **held}

    @classmethod
    def from_json(cls, total: Budget, said: object) -> Spending:
        """Read what :meth:`to_json` wrote.

        Raises:
            UsageError: it is none.
        """
        if not isinstance(said, Mapping):
            raise UsageError("the description of a charge is not that of a budget")
        added = Budget.from_json({name: said[name] for name in said if name != _FIELD})
        try:
            held = Filter.from_json(said[_FIELD]) if _FIELD in said else None
        except (KeyError, TypeError, AttributeError):
            raise UsageError(
                "the description of a budget filter is not in the form that Tacit writes"
            ) from None
        return cls(total, added, held)
