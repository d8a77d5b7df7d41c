"""The running total of an adaptive composition, and the filter that stops it in time.

**Why adding up is enough**, when each mechanism and its cost may be chosen after seeing every
earlier answer.  Let the costs of a run be c_1, c_2, ..., each fixed before its noise is drawn, and
let the filter refuse what would take the sum beyond the total.

- *pure*.  Along every sequence of answers the ratio of the likelihoods under two neighbours is a
  product of factors, each at most e^(c_i), and the c_i along that sequence add up to at most the
  total.
- *approximate*.  By induction from the last step back: after the first answer, the rest is
  (E - c_1, D - d_1)-DP whatever that answer was; an (e, d)-DP step followed by that is
  (E, D)-DP (Dwork, Kenthapadi, McSherry, Mironov, Naor, 2006; for adaptive costs: Rogers, Roth,
  Ullman, Vadhan, "Privacy odometers and filters", 2016, theorem 3.1).
- *concentrated*.  Given the past, step i multiplies the expectation of e^((a-1) Z) by at most
  e^((a-1) a rho_i), so the product of e^((a-1)(Z_i - a rho_i)) is a supermartingale, and the sum of
  the rho_i is at most the total on every path (Feldman, Zrnic, "Individual privacy accounting
  via a Renyi filter", 2021).

A budget of epsilon at delta pays for more small releases than add up to it:
:mod:`tacit.accounting.budgets.spending` says how, with the proof.  So do epsilons that are counted
at a delta without any budget, whenever one looks: :mod:`tacit.accounting.budgets.loss_odometer`.
"""

from __future__ import annotations

import os
import threading

from tacit.accounting.budgets.budget import Budget, Kind
from tacit.accounting.budgets.loss_odometer import Charge, LossOdometer
from tacit.accounting.budgets.spending import Spending
from tacit.arithmetic.exact import Number, as_fraction
from tacit.core.losses.base import PrivacyLoss
from tacit.errors import UsageError

__all__ = ["Odometer"]


class Odometer:
    """Adds up what is spent in memory; with a ``total``, refuses to pass it.

    The threads of a process may share one.  It forgets everything when the process ends: what
    must outlive that is a :class:`~tacit.accounting.ledger.ledger.Ledger`.  A process that was
    forked off holds a copy, and what remains must not be spent once in each: there, every charge is
    refused.

    Args:
        total: the budget of a filter, or a kind (``"pure"``, ``"approximate"``,
            ``"concentrated"``) for an odometer that only counts.
        delta: of an odometer of kind ``"approximate"``: what is spent is reported at this delta,
            by the losses of all releases together, and holds whenever one looks or stops.

    >>> from tacit.accounting.budgets.budget import epsilon
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
        """What all charges so far come to."""
        counts = self._spending or self._losses
        return self._counted if counts is None else counts.spent

    @property
    def remaining(self) -> Budget | None:
        """What is left, or None for an odometer that only counts."""
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
                self._losses = self._losses.charged(Charge.of(cost, losses))
                return cost if cost.kind == "concentrated" else cost.cost_in(self._kind)
            paid = cost.cost_in(self._kind)
            if self._spending is None:
                self._counted = self._counted + paid
            else:
                self._spending.require(paid)
                self._spending = self._spending.charged(paid)
        return paid
