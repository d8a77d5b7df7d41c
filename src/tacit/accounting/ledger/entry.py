"""One charge of a ledger, with its answer once there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.hash_chain import Event
from tacit.calls import public
from tacit.outside import Json

__all__ = ["Entry", "entry_from", "entry_of", "with_answer"]

_EXACT_BITS = 1000
"""A sum whose denominator has fewer bits was not rounded."""


@public
@dataclass(frozen=True, slots=True, repr=False)
class Entry:
    """One charge, and its answer once there is one.

    Attributes:
        sequence: the place in the ledger; later charges have higher numbers.
        key: the key of the question.
        question: the public description of the question.
        cost: what was paid, counted as the budget of the ledger is.
        when: ISO 8601, UTC, by the clock of the machine; information only.
        hash: of the charge in the chain; a certificate carries it.
        answer: the released answer, or None while there is none.
        accounts: on whose account it was charged.
        dataset: the identity of its data set, where several share the ledger; else None.
        balance: the whole budget and what this charge left of it, where the charge states it.
        format: the version of what is written that it was charged with; 3 for it and those before.
    """

    sequence: int
    key: str
    question: dict[str, Json]
    cost: Budget
    when: str
    hash: str
    answer: dict[str, Json] | None = None
    accounts: tuple[str, ...] = ()
    dataset: str | None = None
    balance: dict[str, dict[str, str]] | None = None
    format: int = 3

    def __repr__(self) -> str:
        return f"<Entry {self.sequence} of {self.when}: {self.cost!r}, {self.state}>"

    @property
    def state(self) -> Literal["open", "answered"]:
        """``"answered"`` where the answer is recorded, else ``"open"``: asking goes on for free."""
        return "open" if self.answer is None else "answered"

    @property
    def remained(self) -> Budget | None:
        """What remained before the charge, where it states its balance; else the chain is replayed.

        None, too, where a denominator is near those at which sums are rounded
        (:meth:`~tacit.accounting.budgets.budget.Budget.__add__`): what the charge left and its cost
        may then come to a little more than remained.
        """
        if self.balance is None:
            return None
        found = Budget.from_json(self.balance["remaining"]) + self.cost
        bits = max(found.amount.denominator, found.delta.denominator).bit_length()
        return found if bits < _EXACT_BITS else None


def entry_from(charge: Event) -> Entry:
    """Return the entry of a charge that has no answer yet."""
    body: Any = charge.body
    return Entry(
        charge.sequence,
        str(charge.key),
        body["question"],
        Budget.from_json(body["cost"]),
        charge.when,
        charge.hash,
        accounts=tuple(body.get("accounts", ())),
        dataset=body.get("dataset"),
        balance=body.get("balance"),
        format=body.get("format", 3),
    )


def with_answer(entry: Entry, answer: Event) -> Entry:
    """Return the entry with the answer of an event."""
    body: Any = answer.body
    return replace(entry, answer=body["answer"])


def entry_of(events: Sequence[Event]) -> Entry | None:
    """Return what the events of one key come to: its answered charge, else its latest one.

    Of several charges of one key only ledgers of earlier versions know, which charged again what
    had come to nothing.
    """
    charges = {event.sequence: event for event in events if event.event == "charge"}
    for event in events:
        if event.event == "answer":
            paid: Any = event.body["charge"]
            return with_answer(entry_from(charges[paid]), event)
    return entry_from(charges[max(charges)]) if charges else None
