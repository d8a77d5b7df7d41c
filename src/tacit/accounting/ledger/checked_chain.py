"""The chain of a ledger in transactions, each of which first looks that it did not go back in time.

A store can be replaced by an old copy of itself while a process has it open.  So the process
remembers the furthest event of each ledger that it saw, and refuses a chain that lacks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.accounts import Accounts
from tacit.accounting.ledger.entry import Entry, entry_from
from tacit.accounting.ledger.hash_chain import FORMAT, GENESIS, Event, Head, count
from tacit.accounting.ledger.store import Store, Transaction, went_back
from tacit.errors import UsageError

__all__ = ["CheckedChain", "Payer", "affordable", "appended"]

# The furthest that this process saw each ledger of a file, by its id.
_seen: dict[str, tuple[int, str]] = {}


@dataclass(frozen=True)
class Payer:
    """On whose account a charge is made.

    Attributes:
        accounts: that the charge names; their caps hold for it.
        dataset: the identity of the data set, where several share the ledger.
    """

    accounts: tuple[str, ...] = ()
    dataset: str | None = None

    def key(self, key: str) -> str:
        """Return the key of a question in the ledger: data sets that share it have keys apart."""
        return key if self.dataset is None else f"{self.dataset}/{key}"


class CheckedChain:
    """The transactions of one ledger.

    Attributes:
        store: where the chain is.
        id: the random name of the ledger.
    """

    def __init__(self, store: Store, id: str) -> None:
        self.store, self.id = store, id
        self._counted = (
            0,
            GENESIS,
            Accounts(),
        )  # the last event that was counted, and what it led to

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

    def affords(self, *costs: Budget) -> bool:
        """Return whether all of these costs, counted as the budget is, would be granted now."""
        return self.head().spending.affords(*costs)

    def accounts(self, transaction: Transaction) -> Accounts:
        """Return the accounts of the chain, up to the last event of a transaction.

        Only the events since the last look are read.

        Raises:
            VerificationError: an event cannot follow.
        """
        sequence, digest, accounts = self._counted
        later = list(transaction.events(sequence))
        if not later:
            return accounts
        accounts = accounts.copy()
        for event in later:
            if event.previous != digest:  # another chain than the one that was counted
                self._counted = 0, GENESIS, Accounts()
                return self.accounts(transaction) if sequence else accounts
            count(accounts, event)
            sequence, digest = event.sequence, event.hash
        self._counted = sequence, digest, accounts
        return accounts

    def spend(
        self,
        transaction: Transaction,
        head: Head,
        key: str,
        cost: Budget,
        question: Mapping[str, Any],
        payer: Payer,
    ) -> Entry:
        """Append a charge, for whoever pays.

        Raises:
            BudgetError: more than remains, or than a cap leaves; nothing was spent.
            UsageError: a cost of zero or of another kind, or no plain JSON.
        """
        paid = affordable(cost, head)
        body: dict[str, Any] = {"question": dict(question), "cost": paid.charged_json()}
        body["format"] = FORMAT
        if payer.accounts:
            self.accounts(transaction).require(payer.accounts, paid)
            body["accounts"] = list(payer.accounts)
        if payer.dataset is not None:
            body["dataset"] = payer.dataset
        if payer != Payer():
            # Of the moment of the charge: that of the answer would tell how long an engine worked.
            body["balance"] = replace(head, spending=head.spending.charged(paid)).balance()
        return entry_from(appended(transaction, head, "charge", key, body))

    def forget(self) -> None:
        """Forget how far this process saw the chain."""
        _seen.pop(self.id, None)

    def _checked_head(self, transaction: Transaction, seen: tuple[int, str] | None) -> Head:
        """Return the head, once it is sure that the ledger did not go back in time."""
        head = transaction.head()
        known = head is not None and (seen is None or _has(transaction, head, *seen))
        if head is None or not known:
            raise went_back(self.store.name)
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
    head.spending.require(paid)
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
