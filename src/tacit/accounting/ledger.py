"""The ledger: a budget that cannot be overdrawn, and the memory of every release.

A question goes through two states, and no others::

    (unknown) --charge--> charged --record--> answered --charge--> answered, free

- **Spend before you speak.**  :meth:`Ledger.charge` is durable when it returns; only then may
  noise be drawn.  Whatever dies after that, the budget stays spent.
- **No answer without a charge.**  An answer can only be recorded against an :class:`Entry`, which
  only a charge makes, and the chain is checked for it (:func:`~tacit.accounting.chain.verify`).
- **The same question again is free** once it is answered: the recorded answer comes back, the
  very same, and new noise is never drawn for it.  A question that was charged and never answered
  (its process was killed) is spent, and asking it again is charged again.
- **One answer a question.**  Two processes that ask the same at the same moment both find no
  answer, and both pay; the first to record sets the answer, and both give out that one.  So what
  is published is never more than what was paid for.  Among the threads of one process,
  :meth:`Ledger.release` makes the second wait for the first, and only one pays.

What the rules rest on: the total never passes the budget, since the charge reads what remains
under the lock that it writes with; the sum of costs is a valid bound for questions that are
chosen after seeing earlier answers (:mod:`tacit.accounting.odometer`).

**Copies.**  A local file cannot stop its owner from copying it, or from putting back an old copy,
and a copy would spend the same budget twice.  What is detected: a ledger file that was copied or
moved (its path or inode is not the one it was made or adopted at), one that is replaced or
removed while open, and one that in the life of a process goes back behind what this process saw.
What is *not* detected: an old content written back into the same file between two runs, the
``-wal`` file of a crash thrown away, the ledger deleted and begun anew, or the same data under
another name.  Against these keep the hash of a certificate, outside the reach of whoever holds
the file, and ask :meth:`Ledger.contains`.  For tables in PostgreSQL, see
:mod:`tacit.accounting.postgres_store`.

The ledger holds descriptions of questions, costs, and answers that are already private: never a
row, and never an aggregate without its noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, NoReturn

from tacit.accounting.budget import Budget
from tacit.accounting.chain import Event, Head, canonical, verify
from tacit.accounting.odometer import require
from tacit.accounting.store import Store, Transaction, patiently, same_home
from tacit.accounting.turns import turn
from tacit.errors import LedgerError, UsageError

__all__ = ["Entry", "Ledger"]

# The furthest that this process saw each ledger of a file, by its id.
_seen: dict[str, tuple[int, str]] = {}


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
    def state(self) -> Literal["charged", "answered"]:
        """``"answered"`` where the answer is recorded, else ``"charged"``."""
        return "charged" if self.answer is None else "answered"


class Ledger:
    """A budget and all that was spent of it; made by :func:`tacit.accounting.open_ledger`.

    Attributes:
        dataset: the identity of the data set that the budget protects.
        terms: what a charge means here: the unit of privacy, the neighbour relation.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> entry = ledger.charge("k1", epsilon("1/4"), {"count": "rows"})
    >>> entry.state, ledger.remaining
    ('charged', epsilon(0.75))
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
            raise LedgerError(f"{store.name} is empty: give a budget and a data set to begin it")
        self.dataset: str = first.body["dataset"]
        self.terms: dict[str, Any] = first.body["terms"]
        self._id: str = first.body["ledger"]

    # --- what stands in it -----------------------------------------------------------------

    @property
    def id(self) -> str:
        """A random name that no other ledger has, but its copies do."""
        return self._id

    @property
    def home(self) -> dict[str, str] | None:
        """Where it was made or last adopted: path and inode, or numbers of the database server.

        None in memory.
        """
        with self._store.read() as transaction:
            events = [event for event in transaction.about(None) if "home" in event.body]
        home: dict[str, str] | None = events[-1].body["home"]
        return home

    @property
    def total(self) -> Budget:
        """The whole budget."""
        return self._head().total

    @property
    def spent(self) -> Budget:
        """What is spent, answered or not."""
        return self._head().spent

    @property
    def remaining(self) -> Budget:
        """What is left."""
        return self._head().remaining

    def find(self, key: str) -> Entry | None:
        """Return the answered entry of a key, else its latest charge, else None."""
        with self._read() as (transaction, _):
            return _entry_of(transaction.about(key))

    def history(self) -> list[Entry]:
        """Return every charge, in order, each with its answer where it has one."""
        entries: dict[int, Entry] = {}
        with self._read() as (transaction, _):
            for event in transaction.events():
                if event.event == "charge":
                    entries[event.sequence] = _entry(event)
                elif event.event == "answer":
                    paid = event.body["charge"]
                    entries[paid] = _with_answer(entries[paid], event)
        return list(entries.values())

    def events(self) -> list[Event]:
        """Return the whole chain, for audits: also its creation, extensions and adoptions."""
        with self._read() as (transaction, _):
            return list(transaction.events())

    def verify_chain(self) -> int:
        """Replay the whole chain, and return the number of its events.

        Raises:
            VerificationError: a hash, link, amount or answer that does not hold.
            LedgerError: an event cannot be read.
        """
        with self._read() as (transaction, head):
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

    def charge(self, key: str, cost: Budget, question: Mapping[str, Any]) -> Entry:
        """Spend ``cost`` on a question, durably, unless its answer is already recorded.

        Look at the ``state`` of what comes back: ``"answered"`` is a replay, which cost nothing
        and whose answer must be used; ``"charged"`` is the licence to release once.

        Args:
            key: the same for the same release, and for no other; see
                :func:`~tacit.accounting.chain.key_of`.
            cost: the privacy loss; converted where a proven conversion exists.
            question: a public description in plain JSON; no value of the data.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: a cost of nothing or of another kind, a key of another question.
            LedgerError: the ledger cannot be written; nothing was spent.
        """
        if not (isinstance(key, str) and key and key.isprintable()):
            raise UsageError("a key is printable text, such as key_of(question)")
        described = canonical(question, "question")
        with self._write() as (transaction, head):
            entry = _entry_of(transaction.about(key))
            if entry is not None and canonical(entry.question) != described:
                raise UsageError(f"the key {key!r} stands for another question: make another key")
            if entry is not None and entry.answer is not None:
                return entry
            paid = self._affordable(cost, head)
            body = {"question": dict(question), "cost": paid.to_json()}
            return _entry(_append(transaction, head, "charge", key, body))

    def record(self, entry: Entry, answer: Mapping[str, Any]) -> Entry:
        """Store the released answer of a charge, and return the entry that stands.

        Give out the ``answer`` of what is returned, not the one handed in: where another process
        paid for the same question and recorded first, its answer stands.

        Args:
            entry: what :meth:`charge` returned.
            answer: the answer *with its noise*, in plain JSON.

        Raises:
            LedgerError: the entry is no charge of this ledger, or the ledger cannot be written.
                A server that went away is waited for: the answer is paid already.
        """
        lost = f"The charge of {entry.cost!r} stays spent, and its answer is lost"
        return patiently(lambda: self._record(entry, answer), lost)

    def _record(self, entry: Entry, answer: Mapping[str, Any]) -> Entry:
        with self._write() as (transaction, head):
            charge = transaction.at(entry.sequence)
            paid = charge is not None and charge.event == "charge"
            if charge is None or not paid or (charge.hash, charge.key) != (entry.hash, entry.key):
                raise LedgerError(f"{self._store.name} has no such charge to answer")
            standing = _entry_of(transaction.about(entry.key))
            if standing is not None and standing.answer is not None:
                return standing
            body = {"charge": charge.sequence, "answer": dict(answer)}
            event = _append(transaction, head, "answer", entry.key, body)
            return _with_answer(_entry(charge), event)

    def release(
        self,
        key: str,
        cost: Budget,
        question: Mapping[str, Any],
        answer: Callable[[], Mapping[str, Any]],
    ) -> Entry:
        """Charge, make the answer, record it; or replay, without calling ``answer``.

        The threads of a process take turns at a key, and only the first pays.  If ``answer``
        raises, the budget is spent and nothing is recorded.

        Raises:
            BudgetError, UsageError, LedgerError: as :meth:`charge` and :meth:`record`.
        """
        with turn(self._id, key):
            entry = self.charge(key, cost, question)
            return entry if entry.state == "answered" else self.record(entry, answer())

    def extend(self, total: Budget, reason: str) -> None:
        """Raise the budget to ``total``, in the open: the chain keeps the raise and the reason.

        What was published so far is then protected by the new total, not by the old one.

        Raises:
            UsageError: another kind, not above the present total, or no reason.
        """
        if not reason.strip():
            raise UsageError("say why the budget is raised: the reason stands in the ledger")
        with self._write() as (transaction, head):
            if not total.covers(head.total) or total == head.total:
                raise UsageError(f"a budget can only be raised: {head.total!r} to more")
            body = {"budget": total.to_json(), "reason": reason}
            _append(transaction, head, "extend", None, body)

    def adopt(self) -> None:
        """Note in the chain that the ledger stays where it is now; see ``adopt_ledger``.

        This process forgets how far it saw the ledger before.
        """
        _seen.pop(self._id, None)
        before = self.home
        with self._write() as (transaction, head):
            if not same_home(before, self._store.home()):
                body = {"home": self._store.home(), "before": before}
                _append(transaction, head, "adopt", None, body)

    def close(self) -> None:
        """Let go of the file; what is stored remains."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or pickled: a budget in two places would be spent twice."""
        raise LedgerError("a ledger cannot be copied or pickled: open its file where it is needed")

    def __repr__(self) -> str:
        return f"<Ledger of {self.dataset!r}: {self._store.name}>"

    # --- how ---------------------------------------------------------------------------------

    def _affordable(self, cost: Budget, head: Head) -> Budget:
        paid = cost.cost_in(head.total.kind)
        if paid.is_nothing:
            raise UsageError("a release must cost something: its privacy loss is above zero")
        require(head.total, head.spent, paid)
        return paid

    @contextmanager
    def _write(self) -> Iterator[tuple[Transaction, Head]]:
        seen = _seen.get(self._id)
        with self._store.write() as transaction:
            yield transaction, self._checked_head(transaction, seen)
            head = transaction.head()
        self._remember(head)

    @contextmanager
    def _read(self) -> Iterator[tuple[Transaction, Head]]:
        seen = _seen.get(self._id)  # before the transaction begins: others may go on meanwhile
        with self._store.read() as transaction:
            yield transaction, self._checked_head(transaction, seen)

    def _head(self) -> Head:
        with self._read() as (_, head):
            return head

    def _checked_head(self, transaction: Transaction, seen: tuple[int, str] | None) -> Head:
        """Return the head, once it is sure that the ledger did not go back in time."""
        head = transaction.head()
        known = head is not None and (seen is None or _has(transaction, head, *seen))
        if head is None or not known:
            raise LedgerError(
                f"{self._store.name} has gone back behind what was already spent: an old copy was "
                "put in its place. Nothing more was spent; bring the latest one back"
            )
        self._remember(head)
        return head

    def _remember(self, head: Head | None) -> None:
        if head is not None and self._store.home() is not None:
            _seen[self._id] = head.sequence, head.hash


def _append(
    transaction: Transaction, head: Head, name: str, key: str | None, body: object
) -> Event:
    event = Event.after(head, name, key, body)
    transaction.append(event, Head.following(head, event))
    return event


def _has(transaction: Transaction, head: Head, sequence: int, digest: str) -> bool:
    if sequence == head.sequence:
        return digest == head.hash
    event = transaction.at(sequence)
    return event is not None and event.hash == digest


def _entry(charge: Event) -> Entry:
    cost = Budget.from_json(charge.body["cost"])
    question = charge.body["question"]
    return Entry(charge.sequence, str(charge.key), question, cost, charge.when, charge.hash)


def _with_answer(entry: Entry, answer: Event) -> Entry:
    return replace(entry, answer=answer.body["answer"])


def _entry_of(events: list[Event]) -> Entry | None:
    """Return what the events of one key come to: its answered charge, else its latest one."""
    charges = {event.sequence: event for event in events if event.event == "charge"}
    for event in events:
        if event.event == "answer":
            return _with_answer(_entry(charges[event.body["charge"]]), event)
    return _entry(charges[max(charges)]) if charges else None
