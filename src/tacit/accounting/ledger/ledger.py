"""The ledger: a budget that cannot be overdrawn, and the memory of every release.

A question goes through two states, and no others::

    (unknown) --charge--> open --record--> answered

- **Spend before you look.**  :meth:`Ledger.charge` is durable when it returns; only then may the
  first private byte be read.  Whatever fails after that, the budget stays spent: no error is free.
- **No answer without a charge.**  An answer can only be recorded against an :class:`Entry`, which
  only a charge makes, and the chain is checked for it
  (:func:`~tacit.accounting.ledger.hash_chain.verify`).
- **A key is charged once.**  What was charged and not answered (a cable broke, a disk was full, a
  process was killed) stays *open*: asked again it goes on under its own charge, and nobody pays
  twice.  Once it is answered, the recorded answer comes back, the very same, at no cost.
- **One answer per question.**  Of all attempts under a charge, at once or sequentially, in threads,
  processes or on other hosts, the first to record sets the answer, and every one of them gives out
  that one.  Among the threads of one process, :meth:`Ledger.release` makes the second wait for the
  first, which saves its work.

**Why one charge is enough for many attempts.**  Let M be the release, with the loss that was
charged, and let every attempt draw ``M(data)`` with fresh noise.

1. An attempt publishes what it drew only by recording it, in an exclusive transaction that first
   looks for an answer.  So of all draws exactly one is ever published, the first recorded; all
   others are dropped unseen, with the exact aggregates that they were made of.
2. Which attempt is the first to record depends on crashes, clocks and locks, and not on what was
   drawn: drawing has no branch that fails on a number, and an answer is recorded or not whatever
   its numbers are.  So the published one is distributed as a single run of M, whose loss is paid.
3. What an attempt shows by failing is a function of the data and the question, not of noise.  Where
   the plan keeps its promise (no value makes an engine raise) it is a function of public facts
   and of the machine alone.  If the promise should break somewhere, asking again shows the same
   failure of the same table and nothing more, and it was not free the first time.

What the rules rest on: the total never passes the budget, since the charge reads what remains
under the lock that it writes with; the sum of costs is a valid bound for questions that are
chosen after seeing earlier answers (:mod:`tacit.accounting.budgets.odometer`).

**Copies.** A local file cannot stop its owner from copying it, or from putting back an old copy,
and a copy would spend the same budget twice.  What is detected: a ledger file that was copied or
moved (its path or inode is not the one it was made or restored at), one that is replaced or removed
while open or closed for a while (:mod:`tacit.accounting.ledger.open_files`), and one that in the
life of a process goes back behind what this process saw.  What is *not* detected: an old content
written back into the same file between two runs, the ``-wal`` file of a crash thrown away, the
ledger deleted and created anew, or the same data under another name.  Against these keep the hash
of a certificate, outside the reach of whoever holds the file, and ask :meth:`Ledger.contains`.  For
tables in PostgreSQL, see :mod:`tacit.accounting.ledger.postgres.store`.

The ledger holds descriptions of questions, costs, and answers that are already private: never a
row, and never an aggregate without its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from tacit.accounting.budgets.budget import Budget, Kind
from tacit.accounting.budgets.shares import shares
from tacit.accounting.ledger.checked_chain import CheckedChain, Payer, appended
from tacit.accounting.ledger.entry import Entry, entry_from, entry_of, with_answer
from tacit.accounting.ledger.hash_chain import Event, Head, canonical, verify
from tacit.accounting.ledger.keyed_lock import turn
from tacit.accounting.ledger.open_release import staying_open
from tacit.accounting.ledger.store import MemoryStore, Store, patiently, same_home
from tacit.calls import public
from tacit.display.card import Card, Shown, Table
from tacit.errors import LedgerError, UsageError
from tacit.outside import Json

__all__ = ["Entry", "Ledger"]


@public
class Ledger(Shown):
    """A budget and every charge to it; made by :func:`tacit.accounting.open_ledger`.

    Attributes:
        dataset: the identity of the data set that the budget protects.
        terms: what a charge means here: the unit of privacy, the neighbour relation.
        kind: how its budget is counted.
        chain: its transactions, for the parts of this package that write in it.
        payer: on whose account charges are made; see ``shared_budget.py``.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> entry = ledger.charge("k1", epsilon("1/4"), {"count": "rows"})
    >>> entry.state, ledger.remaining
    ('open', epsilon(0.75))
    >>> ledger.record(entry, {"count": 17}).answer
    {'count': 17}
    >>> ledger.charge("k1", epsilon("1/4"), {"count": "rows"}).answer
    {'count': 17}
    >>> ledger.remaining
    epsilon(0.75)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.read() as transaction:
            first = transaction.at(1)
        if first is None or first.event != "create":
            raise LedgerError(f"{store.name} is empty: give a budget and a data set to create it")
        body: Any = first.body
        self.dataset, self._id = str(body["dataset"]), str(body["ledger"])
        self.terms: dict[str, Any] = body["terms"]
        self.kind: Kind = Budget.from_json(body["budget"]).kind
        self.chain = CheckedChain(store, self._id)
        self.payer = Payer()

    # --- what stands in it -----------------------------------------------------------------

    @property
    def id(self) -> str:
        """A random name that no other ledger has, but its copies do."""
        return self._id

    @property
    def home(self) -> dict[str, str] | None:
        """Where it was made or last restored: path and inode, or a server's numbers; else None."""
        with self._store.read() as transaction:
            events = [event for event in transaction.about(None) if "home" in event.body]
        home: Any = events[-1].body["home"]
        return dict(home) if home else None

    @property
    def total(self) -> Budget:
        """The whole budget."""
        return self.chain.head().total

    @property
    def spent(self) -> Budget:
        """The budget spent, by answered and by open releases."""
        return self.chain.head().spent

    @property
    def added_up(self) -> Budget:
        """The sum of all charges: more than is spent where small ones cost less together."""
        return self.chain.head().spending.added

    @property
    def remaining(self) -> Budget:
        """What is left: of epsilon at delta, the largest charge that fits by itself."""
        return self.chain.head().remaining

    @property
    def whereabouts(self) -> str:
        """Where the budget is kept, as the end of a sentence; of memory, what that means."""
        store = self.chain.store
        if isinstance(store, MemoryStore):
            return "in memory: nothing stops another session from spending it again"
        return f"in {store.name}"

    def balance(self, key: str | None = None) -> dict[str, dict[str, str]]:
        """Return the whole budget and what is left of it, read at one time, as plain JSON.

        Args:
            key: of a charge; where the charge states what it left, that is returned.
        """
        with self.chain.read() as (transaction, head):
            charge = None
            if key is not None and self.payer != Payer():  # only such charges say what they left
                charge = entry_of(transaction.about(self.payer.key(key)))
        return head.balance() if charge is None or charge.balance is None else charge.balance

    def find(self, key: str) -> Entry | None:
        """Return the answered entry of a key, else its latest charge, else None."""
        with self.chain.read() as (transaction, _):
            return entry_of(transaction.about(self.payer.key(key)))

    def look(self, key: str) -> tuple[Entry | None, Budget]:
        """Return what :meth:`find` does, and what is left, of one state of the ledger."""
        with self.chain.read() as (transaction, head):
            return entry_of(transaction.about(self.payer.key(key))), head.remaining

    def about(self, entry: Entry) -> tuple[str, Mapping[str, Json]]:
        """Return the identity of an entry's data set, and the terms under which it was charged.

        They are those of the ledger, unless several data sets share it.
        """
        if entry.dataset is None or entry.dataset == self.dataset:
            return self.dataset, self.terms
        with self.chain.read() as (transaction, _):
            return entry.dataset, self.chain.accounts(transaction).shared[entry.dataset]

    def history(self) -> list[Entry]:
        """Return every charge, in order, each with its answer where it has one."""
        entries: dict[int, Entry] = {}
        with self.chain.read() as (transaction, _):
            for event in transaction.events():
                if event.event == "charge":
                    entries[event.sequence] = entry_from(event)
                elif event.event == "answer":
                    paid: Any = event.body["charge"]
                    entries[paid] = with_answer(entries[paid], event)
        return list(entries.values())

    def events(self) -> list[Event]:
        """Return the whole chain, for audits: also its creation, extensions and restorations."""
        with self.chain.read() as (transaction, _):
            return list(transaction.events())

    def verify_chain(self) -> int:
        """Replay the whole chain, and return the number of its events.

        Raises:
            VerificationError: a hash, link, amount or answer that does not hold.
            LedgerError: an event cannot be read.
        """
        with self.chain.read() as (transaction, head):
            return verify(transaction.events(), head)

    def contains(self, sequence: int, digest: str) -> bool:
        """Return whether the event at ``sequence`` has this hash.

        False for a hash that a certificate of this ledger carries means that an older copy was
        put in its place.
        """
        with self._store.read() as transaction:
            event = transaction.at(sequence)
        return event is not None and event.hash == digest

    # --- what changes it -------------------------------------------------------------------

    def charge(self, key: str, cost: Budget, question: Mapping[str, Json]) -> Entry:
        """Spend ``cost`` on a question, durably, unless it was charged before.

        Check the ``state`` of the entry that is returned: ``"answered"`` is a replay, whose answer
        must be used; ``"open"`` permits to read the data and to record one answer, whether it was
        charged now or by an earlier attempt that failed.

        Args:
            key: the same for the same release, and for no other; see
                :func:`~tacit.accounting.ledger.hash_chain.key_of`.  The price is a part of it.
            cost: the privacy loss; converted where a proven conversion exists.
            question: a public description in plain JSON; no value of the data.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: a cost of zero or of another kind, a key of another question, or more than
                an open release was charged with.
            LedgerError: the ledger cannot be written; nothing was spent.
        """
        if not (isinstance(key, str) and key and key.isprintable()):
            raise UsageError("a key is printable text, such as key_of(question)")
        described = canonical(question, "question")
        key = self.payer.key(key)
        with self.chain.write() as (transaction, head):
            entry = entry_of(transaction.about(key))
            if entry is not None and canonical(entry.question) != described:
                raise UsageError(f"the key {key!r} belongs to another question: use another key")
            if entry is not None:
                self._refuse_dearer(entry, cost)
                return entry
            return self.chain.spend(transaction, head, key, cost, question, self.payer)

    def record(self, entry: Entry, answer: Mapping[str, Json]) -> Entry:
        """Store the released answer of a charge, and return the entry as it is recorded.

        Publish the ``answer`` of the entry that is returned, not the one passed in: where another
        process paid for the same question and recorded first, its answer is the valid one.

        Args:
            entry: what :meth:`charge` returned.
            answer: the answer *with its noise*, in plain JSON.

        Raises:
            LedgerError: the entry is not a charge of this ledger, or the ledger cannot be written,
                or its server does not answer any more: the release stays open.
        """
        stands = staying_open(entry.cost, lambda: patiently(lambda: self._record(entry, answer)))
        if stands is None:
            raise LedgerError(f"{self._store.name} has no such charge to answer")
        return stands

    def _record(self, entry: Entry, answer: Mapping[str, Json]) -> Entry | None:
        with self.chain.write() as (transaction, head):
            events = transaction.about(entry.key)
            charge = next((e for e in events if e.sequence == entry.sequence), None)
            if charge is None or charge.event != "charge" or charge.hash != entry.hash:
                return None
            standing = entry_of(events)
            if standing is not None and standing.answer is not None:
                return standing
            body = {"charge": charge.sequence, "answer": dict(answer)}
            event = appended(transaction, head, "answer", entry.key, body)
            return with_answer(entry_from(charge), event)

    def release(
        self,
        key: str,
        cost: Budget,
        question: Mapping[str, Json],
        answer: Callable[[], Mapping[str, Json]],
    ) -> Entry:
        """Charge, compute the answer, record it; or replay, without calling ``answer``.

        The threads of a process take turns at a key, so that one works and the others replay.  If
        ``answer`` raises, the release stays open, and the error says so: in its message where it
        is one of :mod:`tacit.errors`, else in a note.

        Raises:
            BudgetError, UsageError, LedgerError: as :meth:`charge` and :meth:`record`.
        """
        with turn(self._id, self.payer.key(key)):
            entry = self.charge(key, cost, question)
            if entry.state == "answered":
                return entry
            return self.record(entry, staying_open(entry.cost, answer))

    def remaining_before(self, entry: Entry) -> Budget:
        """Return what remained when an entry was charged: what its price was fitted to."""
        if entry.remained is not None:
            return entry.remained
        before: Head | None = None
        with self.chain.read() as (transaction, _):
            for event in transaction.events():
                if event.sequence == entry.sequence:
                    break
                before = Head.following(before, event)
        if before is None:
            raise LedgerError(f"{self._store.name} has no such charge")
        return before.remaining

    def extend(self, total: Budget, reason: str) -> None:
        """Raise the budget to ``total``; the chain records the raise and the reason.

        What was published so far is then protected by the new total, not by the old one.

        Raises:
            UsageError: another kind, not above the present total, or no reason.
        """
        if not reason.strip():
            raise UsageError("say why the budget is raised: the reason is recorded in the ledger")
        with self.chain.write() as (transaction, head):
            if not total.covers(head.total) or total == head.total:
                raise UsageError(f"a budget can only be raised: give more than {head.total!r}")
            body = {"budget": total.to_json(), "reason": reason}
            appended(transaction, head, "extend", None, body)

    def restore(self) -> None:
        """Record in the chain that the ledger belongs where it is now; see ``restore_ledger``.

        This process forgets which state of the ledger it saw before.
        """
        self.chain.forget()
        before = self.home
        with self.chain.write() as (transaction, head):
            if not same_home(before, self._store.home()):
                body = {"home": self._store.home(), "before": before}
                appended(transaction, head, "adopt", None, body)

    def view(self, payer: Payer, dataset: str, terms: Mapping[str, Json]) -> Ledger:
        """Return this ledger as one that charges for a payer; see ``shared_budget.py``."""
        view = Ledger.__new__(Ledger)
        view._store, view.chain, view._id = self._store, self.chain, self._id
        view.payer, view.dataset, view.terms = payer, dataset, dict(terms)
        view.kind = self.kind
        return view

    def close(self) -> None:
        """Close the file; what is stored remains."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or pickled: a budget in two places would be spent twice."""
        raise LedgerError("a ledger cannot be copied or pickled: open its file where it is needed")

    def card(self) -> Card:
        """Return what a notebook displays: the budget, and each charge."""
        rows = [
            [str(place), one.when[:16].replace("T", " "), str(one.cost), one.state]
            for place, one in enumerate(self.history(), start=1)
        ]
        head = ["charge", "when (UTC)", "cost", "state"]
        table = [Table(head, rows, more="ledger.history()")] if rows else []
        bar = shares(self.total, self.spent, self.remaining)
        return Card(f"Ledger of {self.dataset}", self._store.name, [bar, *table])

    def __repr__(self) -> str:
        return f"<Ledger of {self.dataset!r}: {self._store.name}>"

    # --- how ---------------------------------------------------------------------------------

    def _refuse_dearer(self, entry: Entry, cost: Budget) -> None:
        """Refuse more than an open release was charged with; the key holds the price, so none is.

        Less may come of a finer plan of a later version, and was paid in full.
        """
        if entry.answer is None and not entry.cost.covers(cost.cost_in(entry.cost.kind)):
            raise UsageError(
                f"this release was charged {entry.cost} and is not answered yet, and it costs "
                f"{cost} now; nothing more was spent. Ask it with another tag, or at another "
                "price"
            )
