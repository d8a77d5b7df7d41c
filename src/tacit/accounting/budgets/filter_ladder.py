r"""What adaptive releases have spent at a delta, whenever one looks: many filters side by side.

Beside each other stand filters (:mod:`tacit.accounting.budgets.gaussian_filter`) of variances v_0 <
v_1 < ..., each with a share of half of delta; every charge is taken from all of them, and a filter
that refuses one is given up, or earlier.  What is spent is the epsilon e_j of the smallest filter
that is left, at its share d_j of delta, or the sum of all epsilons where that is less.  The other
half of delta is for the deltas of the charges.

A larger filter is computed when those below it are given up, from all charges so far.  What is
computed as left is never more than the exact filter has, which goes from v to the largest a that it
may; so a run that is kept is one that the exact filter grants.

**What holds.**  Let an analyst choose each release, its epsilon and its delta after all answers
before it, and stop whenever they like.  Let E be what is reported then.  For every set S of runs,

    P(S) <= (the mean over runs of Q of e^E on S) + delta:

whoever stops at 1/2 has, in those runs, a loss of 1/2; and so with all other E, for one delta.
Proof.  An (epsilon, d)-DP release shows all with probability d, and else is randomized response
(Kairouz, Oh, Viswanath 2015).  The runs in which one shows all have a probability of at most the
largest sum of all d, half of delta.  Of the others, those in which E is the sum of the epsilons
have a likelihood ratio of at most e^E.  Those in which filter j is the smallest one left are also
runs of the analyst who stops where filter j refuses.  All that this one sees is dominated by a
Gaussian of variance v_j, so it is (e_j, d_j)-DP: P of what of them is in S is at most e^(e_j) times
Q, plus d_j.  The d_j add up to half of delta.  That some runs show all only takes the same part of
P and of Q from each run of the others.

(Odometers: Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters", 2016; Whitehouse, Ramdas,
Rogers, Wu, "Fully adaptive composition in differential privacy", ICML 2023, who bound the loss at
all times by martingales.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.gaussian_filter import after_all, epsilon_of
from tacit.accounting.budgets.parts import Part, merged
from tacit.arithmetic.exact import show
from tacit.errors import BudgetError, UsageError

__all__ = ["FilterLadder"]

_VARIANCES = tuple(
    Fraction(2) ** power * factor for power in range(-12, 8) for factor in (1, Fraction(17, 12))
)
"""From one to the next about the root of two: an epsilon grows by at most a fifth."""


@dataclass(frozen=True)
class FilterLadder:
    """The smallest filter that is left, and all charges.

    Attributes:
        delta: above 0 and below 1, at which what is spent is reported.
        added: the sum of all charges.
        parts: of all charges; equal ones after each other stand once.
        place: of the filter, the least one being 0; as many as there are where none is left.
        left: its variance.

    >>> ladder = FilterLadder.begun(Fraction(1, 10**6))
    >>> for _ in range(40):
    ...     ladder = ladder.charged(Budget("approximate", Fraction(1, 10)))
    >>> ladder.added, round(float(ladder.spent.amount), 2)
    (epsilon_delta(4, 0), 3.91)
    """

    delta: Fraction
    added: Budget
    parts: tuple[Part, ...]
    place: int
    left: Fraction

    @classmethod
    def begun(cls, delta: Fraction) -> FilterLadder:
        """Return a ladder before any charge.

        Raises:
            UsageError: a delta that is not above 0 and below 1.
        """
        if not 0 < delta < 1:
            raise UsageError(f"a delta is above 0 and below 1, not {show(delta)}")
        return cls(delta, Budget.nothing("approximate"), (), 0, _VARIANCES[0])

    def charged(self, cost: Budget) -> FilterLadder:
        """Return what stands after a charge, in approximate DP.

        Raises:
            BudgetError: the deltas of all charges come to more than half of delta.
        """
        added = self.added + cost
        if 2 * added.delta > self.delta:
            raise BudgetError(
                f"the deltas of the releases come to {show(added.delta)}, more than half of the "
                f"delta of this odometer, {show(self.delta)}: nothing was spent. Begin one with a "
                "larger delta, or ask for releases with a smaller one"
            )
        new = cost.parts or merged([(cost.amount, False)])
        parts, place = _joined(self.parts, new), self.place
        left = after_all(self.left, new) if place < len(_VARIANCES) else None
        least = sum(p.times * p.epsilon**2 / (3 if p.ranged else 1) for p in parts)  # about
        while left is None and place < len(_VARIANCES):
            place += 1
            if place < len(_VARIANCES) and _VARIANCES[place] >= least:
                left = after_all(_VARIANCES[place], parts)
        return FilterLadder(self.delta, added, parts, place, left or Fraction(0))

    @property
    def spent(self) -> Budget:
        """What is spent, whenever one looks: an epsilon at delta."""
        amount = self.added.amount
        if amount and self.place < len(_VARIANCES):
            share = self.delta / (2 * len(_VARIANCES))
            amount = min(amount, epsilon_of(_VARIANCES[self.place], share))
        return Budget("approximate", amount, Fraction(0) if self.added.is_nothing else self.delta)


def _joined(parts: tuple[Part, ...], new: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return parts, and new ones behind them; of those equal to the last one there are more."""
    found = list(parts)
    for part in new:
        last = found[-1] if found else None
        if last is not None and (last.epsilon, last.ranged) == (part.epsilon, part.ranged):
            found[-1] = replace(last, times=last.times + part.times)
        else:
            found.append(part)
    return tuple(found)
