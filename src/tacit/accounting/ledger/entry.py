"""One charge of a ledger, with its answer once there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.hash_chain import Event

__all__ = ["Entry", "entry_from", "entry_of", "with_answer"]


@dataclass(frozen=True, slots=True)
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
    """

    sequence: int
    key: str
    question: dict[str, Any]
    cost: Budget
    when: str
    hash: str
    answer: dict[str, Any] | None = None

    @property
    def state(self) -> Literal["open", "answered"]:
        """``"answered"`` where the answer is recorded, else ``"open"``: asking goes on for free."""
        return "open" if self.answer is None else "answered"


def entry_from(charge: Event) -> Entry:
    """Return the entry of a charge that has no answer yet."""
    cost = Budget.from_json(charge.body["cost"])
    question = charge.body["question"]
    return Entry(charge.sequence, str(charge.key), question, cost, charge.when, charge.hash)


def with_answer(entry: Entry, answer: Event) -> Entry:
    """Return the entry with the answer of an event."""
    return replace(entry, answer=answer.body["answer"])


def entry_of(events: Sequence[Event]) -> Entry | None:
    """Return what the events of one key come to: its answered charge, else its latest one.

    Of several charges of one key only ledgers of earlier versions know, which charged again what
    had come to nothing.
    """
    charges = {event.sequence: event for event in events if event.event == "charge"}
    for event in events:
        if event.event == "answer":
            return with_answer(entry_from(charges[event.body["charge"]]), event)
    return entry_from(charges[max(charges)]) if charges else None
