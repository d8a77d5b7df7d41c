"""The chain of a ledger in transactions, each of which first looks that it did not go back in time.

A store can be replaced by an old copy of itself while a process has it open.  So the process
remembers the furthest event of each ledger that it saw, and refuses a chain that lacks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.odometer import require
from tacit.accounting.ledger.hash_chain import Event, Head
from tacit.accounting.ledger.store import Store, Transaction
from tacit.errors import LedgerError, UsageError

__all__ = ["CheckedChain", "affordable", "appended"]

# The furthest that this process saw each ledger of a file, by its id.
_seen: dict[str, tuple[int, str]] = {}


class CheckedChain:
    """The transactions of one ledger.

    Attributes:
        store: where the chain is.
        id: the random name of the ledger.
    """

    def __init__(self, store: Store, id: str) -> None:
        self.store, self.id = store, id

    @contextmanager
    def write(self) -> Iterator[tuple[Transaction, Head]]:
        """Open an exclusive transaction, with the head of the chain.

        Raises:
            LedgerError: the chain went back in time, or cannot be written.
        """
        seen = _seen.get(self.id)
        with self.store.write() as transaction:
            yield transaction, self._checked_head(transaction, seen)
            head = transaction.head()
        self._remember(head)

    @contextmanager
    def read(self) -> Iterator[tuple[Transaction, Head]]:
        """Open a transaction that reads one state, with the head of the chain.

        Raises:
            LedgerError: the chain went back in time, or cannot be read.
        """
        seen = _seen.get(self.id)  # before the transaction begins: others may go on meanwhile
        with self.store.read() as transaction:
            yield transaction, self._checked_head(transaction, seen)

    def head(self) -> Head:
        """Return the end of the chain, with the totals up to it."""
        with self.read() as (_, head):
            return head

    def forget(self) -> None:
        """Forget how far this process saw the chain."""
        _seen.pop(self.id, None)

    def _checked_head(self, transaction: Transaction, seen: tuple[int, str] | None) -> Head:
        """Return the head, once it is sure that the ledger did not go back in time."""
        head = transaction.head()
        known = head is not None and (seen is None or _has(transaction, head, *seen))
        if head is None or not known:
            raise LedgerError(
                f"{self.store.name} has gone back behind what was already spent: an old copy was "
                "put in its place. Nothing more was spent; bring the latest one back"
            )
        self._remember(head)
        return head

    def _remember(self, head: Head | None) -> None:
        if head is not None and self.store.home() is not None:
            _seen[self.id] = head.sequence, head.hash


def affordable(cost: Budget, head: Head) -> Budget:
    """Return a cost in the kind of the ledger's budget.

    Raises:
        BudgetError: more than remains.
        UsageError: a cost of nothing, or of a kind that does not convert.
    """
    paid = cost.cost_in(head.total.kind)
    if paid.is_nothing:
        raise UsageError("a release must cost something: its privacy loss is above zero")
    require(head.total, head.spent, paid)
    return paid


def appended(
    transaction: Transaction, head: Head, name: str, key: str | None, body: object
) -> Event:
    """Append an event after the head, and return it."""
    event = Event.after(head, name, key, body)
    transaction.append(event, Head.following(head, event))
    return event


def _has(transaction: Transaction, head: Head, sequence: int, digest: str) -> bool:
    if sequence == head.sequence:
        return digest == head.hash
    event = transaction.at(sequence)
    return event is not None and event.hash == digest
