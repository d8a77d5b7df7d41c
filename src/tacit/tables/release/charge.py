"""A question at its price, as a ledger knows it: what stands for it, and the plan that it pays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.accounting.budgets.budget import Budget, fit
from tacit.accounting.ledger.entry import Entry
from tacit.accounting.ledger.hash_chain import key_of
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import BudgetError
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query

__all__ = ["Charge"]


@dataclass(frozen=True)
class Charge:
    """A question at its price.

    Args:
        ledger: that pays.
        query: what is asked.
        request: what it may spend.
        tag: text that tells it from the same question with another tag.
    """

    ledger: Ledger
    query: Query
    request: Budget
    tag: str | None = None

    @cached_property
    def public(self) -> dict[str, Any]:
        """What tells this release from every other."""
        return {
            "query": self.query.describe(),
            "request": self.request.to_json(),
            "tag": self.tag,
        }

    @cached_property
    def key(self) -> str:
        """What the ledger finds it by."""
        return key_of(self.public)

    @property
    def standing(self) -> Entry | None:
        """What the ledger holds of it now: a charge that is open, or an answer."""
        return self.ledger.find(self.key)

    def plan(self, standing: Entry | None) -> Plan:
        """Return the plan, its request lowered by rounding at most, or refuse it before any work.

        Where an open charge stands it is the plan that was charged: fitted to what remained then.

        Raises:
            BudgetError: more than remains.
        """
        ledger, requested = self.ledger, self.request
        remaining = ledger.remaining if standing is None else ledger.remaining_before(standing)
        if remaining.kind != "concentrated" or requested.kind == remaining.kind:
            requested = fit(requested.cost_in(remaining.kind), remaining)
        plan = Plan(self.query, requested)
        cost = plan.cost.cost_in(remaining.kind)
        if standing is None and not remaining.covers(cost):
            raise BudgetError(
                f"this release costs {cost!r}, and {remaining!r} is left of {ledger.total!r}; "
                "nothing was spent. Ask for less, or begin with a larger budget"
            )
        return plan
