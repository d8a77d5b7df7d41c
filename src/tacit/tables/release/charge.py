"""A question at its price, as a ledger knows it: what stands for it, and the plan that it pays.

What is asked may be a query of a table, or a count that is continued over time: a charge needs its
public description and, for a loss that is granted, its plan.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.fitting import fit
from tacit.accounting.ledger.entry import Entry
from tacit.accounting.ledger.hash_chain import canonical, key_of
from tacit.accounting.ledger.ledger import Ledger
from tacit.calls import calls_inside
from tacit.errors import BudgetError, DataSourceWarning
from tacit.expressions.schema import Schema
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.price import read_tag
from tacit.tables.plan.query import Query
from tacit.tables.reading import without_reading

__all__ = ["Asked", "Charge", "KeptPlans", "QueryCharge", "Standing", "TableQuestion", "fitted"]

_KEPT = 32
_READINGS = 4
"""The format of ledgers from which on a question says how its table is read."""
_UNRECORDED = (
    "the ledger holds this release at no further cost, from a version of Tacit that did not record "
    "how the table is read: its null texts, encoding, kinds of columns or file may have been "
    "others than now. For an answer of the table as it is read now, ask with a tag, which is "
    "charged as a new release"
)


class _Priced(Protocol):
    """A plan, as far as a charge needs it."""

    @property
    def cost(self) -> Budget:
        """The privacy loss of the release."""


P = TypeVar("P", bound=_Priced)
P_co = TypeVar("P_co", bound=_Priced, covariant=True)


class Asked(Protocol[P_co]):
    """What is asked, at its price."""

    @property
    def query(self) -> Query:
        """The rows and columns that it is about."""

    @property
    def request(self) -> Budget:
        """What it may spend."""

    @property
    def public(self) -> dict[str, Any]:
        """The identity of its release: whatever makes it another one, as plain JSON."""

    @property
    def family(self) -> str | None:
        """What the same question at other prices shares with it; None where nothing is shared."""

    def plan(self, granted: Budget, like: Any = None) -> P_co:
        """Return its plan, for a loss that is granted.

        Args:
            granted: the loss.
            like: a plan of the same family, if there is one.

        Raises:
            UsageError: what is asked does not fit the table or the loss.
        """


@dataclass(frozen=True)
class TableQuestion:
    """A query of a table, at its price.

    Args:
        query: what is asked.
        request: what it may spend.
        tag: text that makes it another release of the same query.

    Raises:
        UsageError: a tag that is no text.
    """

    query: Query
    request: Budget
    tag: str | None = None

    def __post_init__(self) -> None:
        read_tag(self.tag)

    @cached_property
    def public(self) -> dict[str, Any]:
        """The identity of its release."""
        return {
            "query": self.query.describe(),
            "request": self.request.to_json(),
            "tag": self.tag,
        }

    @cached_property
    def family(self) -> str | None:
        """The question without its price, where the price decides nothing but the noise."""
        return canonical(self.public["query"]) if self.query.is_plain else None

    def plan(self, granted: Budget, like: Plan | None = None) -> Plan:
        """Return its plan, for a loss that is granted."""
        return Plan(self.query, granted) if like is None else like.repriced(granted)


class KeptPlans:
    """The latest plans: a release that was priced before, on paper, is not planned again.

    Of one question the latest price is kept; another price goes on from what no price changes.  A
    table that was opened anew is planned anew: its columns may be of other kinds.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Schema | None, str, Budget, Any]] = {}
        self._lock = Lock()

    def of(self, key: str, asked: Asked[P], granted: Budget) -> P:
        """Return the plan of what is asked, whose key is its identity, for what is granted."""
        name, schema = asked.family or key, asked.query.source_schema
        of, known, spent, plan = self._kept.get(name, (None, "", granted, None))
        if of is not schema or known != key or spent != granted:
            plan = asked.plan(granted, plan if asked.family and of is schema else None)
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = schema, key, granted, plan
            if len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        found: P = plan
        return found


def fitted(request: Budget, remaining: Budget) -> Budget:
    """Return what a release may spend of what remains: the request, lowered by rounding at most.

    A pure loss that is paid from a rho stays one: its chains are charged as what they are.

    Raises:
        UsageError: a loss that such a budget cannot pay.
    """
    if remaining.kind != "concentrated" or request.kind == remaining.kind:
        return fit(request.cost_in(remaining.kind), remaining)
    return request


@dataclass(frozen=True)
class Standing:
    """What a ledger holds of a release at one moment, and what is left of the budget.

    Attributes:
        entry: its charge, with the answer once there is one; None where it was not charged.
        remaining: what is left.
    """

    entry: Entry | None
    remaining: Budget

    @property
    def is_charged(self) -> bool:
        """Whether the release costs nothing more: it is answered, or still open."""
        return self.entry is not None

    @property
    def is_answered(self) -> bool:
        """Whether a recorded answer is there to be replayed."""
        return self.entry is not None and self.entry.answer is not None


@dataclass(frozen=True)
class Charge(Generic[P]):
    """A question at its price.

    Args:
        ledger: that pays.
        asked: the question, with what it may spend.
        plans: those that were made of late for the same table.
    """

    ledger: Ledger
    asked: Asked[P]
    plans: KeptPlans

    @cached_property
    def public(self) -> dict[str, Any]:
        """The identity of its release.

        A charge from before readings were part of it goes on, and replays, without one.  It may
        be of another reading, which is warned of: a second charge would be the larger surprise.
        """
        now = self.asked.public
        before: dict[str, Any] = without_reading(now)
        if before == now or self.ledger.find(key_of(now)) is not None:
            return now
        entry = self.ledger.find(key_of(before))
        if entry is None or entry.format >= _READINGS:
            return now
        warnings.warn(_UNRECORDED, DataSourceWarning, stacklevel=calls_inside())
        return before

    @cached_property
    def key(self) -> str:
        """What the ledger finds it by."""
        return key_of(self.public)

    @property
    def standing(self) -> Entry | None:
        """What the ledger holds of it now: a charge that is open, or an answer."""
        return self.ledger.find(self.key)

    def look(self) -> Standing:
        """Return what the ledger holds of it, and what is left, of one state of the ledger."""
        return Standing(*self.ledger.look(self.key))

    def on_paper(self) -> P:
        """Return the plan for the whole request, whatever remains of the budget."""
        return self.plans.of(self.key, self.asked, self.asked.request)

    def plan(self, standing: Entry | None) -> P:
        """Return the plan, its request lowered by rounding at most, or refuse it before any work.

        Where an open charge stands it is the plan that was charged: fitted to what remained then.

        Raises:
            BudgetError: more than remains.
        """
        ledger = self.ledger
        remaining = ledger.remaining if standing is None else ledger.remaining_before(standing)
        plan = self.plan_within(remaining)
        cost = plan.cost.cost_in(remaining.kind)
        if standing is None and not ledger.chain.affords(cost):
            raise BudgetError(
                f"this release costs {cost!r}, and {remaining!r} is left of {ledger.total!r}; "
                "nothing was spent. Ask for less, or start with a larger budget"
            )
        return plan

    def cost(self) -> Budget:
        """Return what a release takes now: nothing where the ledger holds its charge."""
        return self.cost_of(self.look())

    def cost_of(self, standing: Standing) -> Budget:
        """Return what a release takes, where a charge stands or not and so much remains."""
        kind = standing.remaining.kind
        if standing.is_charged:
            return Budget.nothing(kind)
        return self.plan_within(standing.remaining).cost.cost_in(kind)

    def plan_within(self, remaining: Budget) -> P:
        """Return the plan, its request lowered by rounding at most to what remains."""
        return self.plans.of(self.key, self.asked, fitted(self.asked.request, remaining))


QueryCharge: TypeAlias = Charge[Plan]
"""A query of a table at its price."""
