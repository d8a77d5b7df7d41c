"""Ledgers: charges that are durable before a row is read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar

from tacit.accounting.budget import Budget, Kind, shares
from tacit.accounting.ledger_chain import (
    Account,
    Accounts,
    CheckedChain,
    Entry,
    Event,
    Head,
    MemoryStore,
    Payer,
    Payment,
    Store,
    Transaction,
    Wanted,
    account_name,
    appended,
    canonical,
    entry_from,
    entry_of,
    is_account,
    retry_while_busy,
    same_home,
    verify,
    with_answer,
)
from tacit.calls import public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import LedgerError, TacitError, UsageError
from tacit.outside import Json

# Turns: one thread at a time for one name, however many names there are.


_guard = threading.Lock()
_turns: dict[tuple[str, ...], tuple[threading.Lock, int]] = {}


@contextmanager
def turn(*name: str) -> Iterator[bool]:
    """Wait until no other thread of this process is inside a turn of the same name.

    Yields:
        whether another thread was inside, or waited.

    >>> with turn("a ledger", "a question") as waited:
    ...     waited
    False
    """
    # A name costs memory only while someone is inside or waits.
    with _guard:
        lock, count = _turns.get(name, (threading.Lock(), 0))
        _turns[name] = lock, count + 1
    try:
        with lock:
            yield count > 0
    finally:
        with _guard:
            lock, count = _turns.pop(name)
            if count > 1:
                _turns[name] = lock, count - 1


def _begin_anew() -> None:
    """Forget, in a forked process, the turns of threads that stayed behind."""
    global _guard
    _guard = threading.Lock()
    _turns.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


# What a person reads where a release stops between its charge and its answer: it stays open.


_T = TypeVar("_T")


def staying_open(cost: Budget, work: Callable[[], _T]) -> _T:
    """Do what a charge has paid for; say of whatever stops it that the release stays open.

    >>> from tacit.accounting.budget import epsilon
    >>> from tacit.errors import DataSourceError
    >>> def cut():
    ...     raise DataSourceError("the connection was cut")
    >>> staying_open(epsilon("1/2"), cut)
    Traceback (most recent call last):
    tacit.errors.DataSourceError: the connection was cut. epsilon 0.5 was charged for this release,
    and it stays open: ask the same again, and it is answered at no further cost
    """
    # An error of ours says it in its message; any other (an interrupt, an error that no one
    # foresaw) carries it as a note, and its type stays.
    try:
        return work()
    except TacitError as error:
        failed, message = type(error), f"{str(error).rstrip('.')}. {_shown_cost(cost)}"
    except BaseException as error:
        error.add_note(_shown_cost(cost))
        raise
    # Raised here and not above: what the engine said must not hang on it as its context.
    raise failed(message)


def _shown_cost(cost: Budget) -> str:
    return (
        f"{cost} was charged for this release, and it stays open: ask the same again, and it is "
        "answered at no further cost"
    )


class Look(NamedTuple):
    """Some of what a ledger holds, of one state."""

    head: Head
    entries: list[Entry | None]  # of each key that was asked for
    accounts: list[Account]  # that the payer's charges name


# The ledger: a budget that cannot be overdrawn, and the memory of every release.
#
# A question goes through two states, and no others::
#
#     (unknown) --charge--> open --record--> answered
#
# - **Spend before you look.**  :meth:`Ledger.charge` is durable when it returns; only then may the
#   first private byte be read.  Whatever fails after that, the budget stays spent: no error is
#   free.
# - **No answer without a charge.**  An answer can only be recorded against an :class:`Entry`, which
#   only a charge makes, and the chain is checked for it
#   (:func:`~tacit.accounting.ledger_chain.verify`).
# - **A key is charged once.**  What was charged and not answered (a cable broke, a disk was full, a
#   process was killed) stays *open*: asked again it continues under its own charge, and no one pays
#   twice.  Once it is answered, the recorded answer comes back, the very same, at no cost.
# - **One answer per question.**  Of all attempts under a charge, at once or sequentially, in
#   threads, processes or on other hosts, the first to record sets the answer, and every one of them
#   gives out that one.  Among the threads of one process, :meth:`Ledger.release` makes the second
#   wait for the first, which saves its work.
#
# **Why one charge is enough for many attempts.**  Let M be the release, with the loss that was
# charged, and let every attempt draw ``M(data)`` with fresh noise.
#
# 1. An attempt publishes what it drew only by recording it, in an exclusive transaction that first
#    looks for an answer.  So of all draws exactly one is ever published, the first recorded; all
#    others are dropped unseen, with the exact aggregates that they were made of.
# 2. Which attempt is the first to record depends on crashes, clocks and locks, and not on what was
#    drawn: drawing has no branch that fails on a number, and an answer is recorded or not whatever
#    its numbers are.  So the published one is distributed as a single run of M, whose loss is paid.
# 3. What an attempt shows by failing is a function of the data and the question, not of noise.
#    Where the plan keeps its promise (no value makes an engine raise) it is a function of public
#    facts and of the machine alone.  If the promise should break somewhere, asking again shows the
#    same failure of the same table and nothing more, and it was not free the first time.
#
# What the rules rest on: the total never passes the budget, since the charge reads what remains
# under the lock that it writes with; the sum of costs is a valid bound for questions that are
# chosen after seeing earlier answers (:mod:`tacit.accounting.odometer`).
#
# **Copies.** A local file cannot stop its owner from copying it, or from putting back an old copy,
# and a copy would spend the same budget twice.  What is detected: a ledger file that was copied or
# moved (its path or inode is not the one it was made or restored at), one that is replaced or
# removed while open or closed for a while (:mod:`tacit.accounting.ledger_sqlite`), and one that
# in the life of a process goes back behind what this process saw.  What is *not* detected: an old
# content written back into the same file between two runs, the ``-wal`` file of a crash thrown
# away, the ledger deleted and created again, or the same data under another name.  Against these
# keep the hash of a certificate, out of reach of the holder of the file, and ask
# :meth:`Ledger.contains`.  For tables in PostgreSQL, see
# :mod:`tacit.accounting.ledger_postgres`.
#
# The ledger holds descriptions of questions, costs, and answers that are already private: never a
# row, and never an aggregate without its noise.


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
        self.chain = CheckedChain(store, first.hash)
        self.payer = Payer()

    # --- what is in it -----------------------------------------------------------------

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
        """Remaining budget; of epsilon at delta, the largest single charge that fits."""
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
        # only such charges say what they left
        keys = [] if key is None or self.payer == Payer() else [self.payer.key(key)]
        with self.chain.read(Wanted(keys)) as (transaction, head):
            charge = entry_of(transaction.about(keys[0])) if keys else None
        return head.balance() if charge is None or charge.balance is None else charge.balance

    def find(self, key: str) -> Entry | None:
        """Return the answered entry of a key, else its latest charge, else None."""
        own = self.payer.key(key)
        with self.chain.read(Wanted([own])) as (transaction, _):
            return entry_of(transaction.about(own))

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
        put in its position.
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
                :func:`~tacit.accounting.ledger_chain.key_of`.  The price is a part of it.
            cost: the privacy loss; converted where a proven conversion exists.
            question: a public description in plain JSON; no value of the data.

        Raises:
            BudgetError: more than remains; nothing was spent.
            UsageError: a cost of zero or of another kind, a key of another question, or more than
                an open release was charged with.
            LedgerError: the ledger cannot be written; nothing was spent.
        """
        (made,) = charge_each(self, [Payment(self.payer, key, cost, question)])
        if isinstance(made, TacitError):
            raise made
        return made

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
        recorded = staying_open(
            entry.cost, lambda: retry_while_busy(lambda: self._record(entry, answer))
        )
        if recorded is None:
            raise LedgerError(f"{self._store.name} has no such charge to answer")
        return recorded

    def _record(self, entry: Entry, answer: Mapping[str, Json]) -> Entry | None:
        with self.chain.write(Wanted([entry.key])) as (transaction, head):
            events = transaction.about(entry.key)
            charge = next((e for e in events if e.sequence == entry.sequence), None)
            if charge is None or charge.event != "charge" or charge.hash != entry.hash:
                return None
            existing = entry_of(events)
            if existing is not None and existing.answer is not None:
                return existing
            body = {"charge": charge.sequence, "answer": dict(answer)}
            event = appended(transaction, head, "answer", entry.key, body)
            return with_answer(entry_from(charge), event)

    def release(
        self,
        key: str,
        cost: Budget,
        question: Mapping[str, Json],
        answer: Callable[[], Mapping[str, Json]],
        *,
        entry: Entry | None = None,
    ) -> Entry:
        """Charge, compute the answer, record it; or replay, without calling ``answer``.

        The threads of a process take turns at a key, so that one works and the others replay.  If
        ``answer`` raises, the release stays open, and the error says so: in its message where it
        is one of :mod:`tacit.errors`, else in a note.

        Args:
            key: as :meth:`charge`.
            cost: as :meth:`charge`.
            question: as :meth:`charge`.
            answer: computes the answer, with its noise; called after the charge.
            entry: the charge, where the caller has just found it open.

        Raises:
            BudgetError, UsageError, LedgerError: as :meth:`charge` and :meth:`record`.
        """
        with turn(self._id, self.payer.key(key)) as waited:
            if entry is None or waited:  # another thread may have answered it meanwhile
                entry = self.charge(key, cost, question)
            else:
                _refuse_dearer(entry, cost)
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
        """Raise on copying and pickling: a budget in two places would be spent twice."""
        raise LedgerError("a ledger cannot be copied or pickled: open its file where it is needed")

    def card(self) -> Card:
        """Return what a notebook displays: the budget, and each charge."""
        rows = [
            [str(index), one.when[:16].replace("T", " "), str(one.cost), one.state]
            for index, one in enumerate(self.history(), start=1)
        ]
        head = ["charge", "when (UTC)", "cost", "state"]
        table = [CardTable(head, rows, more="ledger.history()")] if rows else []
        bar = shares(self.total, self.spent, self.remaining)
        return Card(f"Ledger of {self.dataset}", self._store.name, [bar, *table])

    def __repr__(self) -> str:
        return f"<Ledger of {self.dataset!r}: {self._store.name}>"


def look_at(ledger: Ledger, *keys: str) -> Look:
    """Return what :meth:`Ledger.find` does of some keys, and what is left, of one state."""
    own, names = list(map(ledger.payer.key, keys)), ledger.payer.accounts
    wanted = ledger.chain.wanted(*own, accounts=bool(names))
    with ledger.chain.read(wanted) as (transaction, head):
        entries = [entry_of(transaction.about(key)) for key in own]
        accounts = ledger.chain.accounts(transaction, head) if names else Accounts()
        return Look(head, entries, list(map(accounts.of, names)))


def charge_each(ledger: Ledger, payments: Sequence[Payment]) -> list[Entry | TacitError]:
    """Do what :meth:`Ledger.charge` does for several payers and questions, in one transaction.

    Args:
        ledger: that all of them are charged to.
        payments: the charges, in the order in which they are decided.

    Returns:
        of each its entry, or why it is refused: nothing was spent on it then.

    Raises:
        LedgerError: the ledger cannot be written; nothing was spent on any of them.
    """
    described = list(map(_described, payments))
    keys = [
        one.payer.key(one.key) if isinstance(text, str) else ""
        for one, text in zip(payments, described, strict=True)
    ]
    each = list(zip(keys, described, payments, strict=True))
    named = any(one.payer.accounts for one in payments)
    with ledger.chain.write(ledger.chain.wanted(*keys, accounts=named)) as (transaction, head):
        entries = {key: entry_of(transaction.about(key)) for key in dict.fromkeys(keys)}
        new: dict[str, Payment] = {}
        for key, text, payment in each:
            if isinstance(text, str) and entries[key] is None:
                new.setdefault(key, payment)
        made = dict(zip(new, ledger.chain.spend(transaction, head, [*new.values()]), strict=True))
    return [
        text if isinstance(text, TacitError) else _same(entries[key] or made[key], text, payment)
        for key, text, payment in each
    ]


def _refuse_dearer(entry: Entry, cost: Budget) -> None:
    """Raise if the price exceeds the charge of an open release; the key contains the price."""
    # Less may come of a finer plan of a later version, and was paid in full.
    if entry.answer is None and not entry.cost.covers(cost.cost_in(entry.cost.kind)):
        raise UsageError(
            f"this release was charged {entry.cost} and is not answered yet, and it costs "
            f"{cost} now; nothing more was spent. Ask it with another tag, or at another "
            "price"
        )


def _same(entry: Entry | TacitError, described: str, payment: Payment) -> Entry | TacitError:
    """Return a charge, or why it is not that of a question at its price."""
    if isinstance(entry, TacitError):
        return entry
    if canonical(entry.question) != described:
        return UsageError(f"the key {entry.key!r} belongs to another question: use another key")
    try:
        _refuse_dearer(entry, payment.cost)
    except UsageError as error:
        return error
    return entry


def _described(payment: Payment) -> str | UsageError:
    """Return the question of a charge as it is compared, or why it cannot be charged."""
    key = payment.key
    if not (isinstance(key, str) and key and key.isprintable()):
        return UsageError("a key is printable text, such as key_of(question)")
    try:
        return canonical(payment.question, "question")
    except UsageError as error:
        return error


# A release that comes in parts: charged once, then answered piece by piece.
#
# A count that is continued every hour is one release.  Its whole loss is charged before its first
# piece, and pieces are added under that charge::
#
#     (unknown) --charge_once--> charged --record_part--> part 0 --record_part--> part 1 ...
#
# - **Paid once.**  :func:`charge_once` looks for a charge of the key and makes one in a single
#   transaction, so that of any number of processes one pays, also after a crash at any moment.
# - **One history.**  A part has a place, 0, 1, 2, ...; :func:`record_part` writes it only if it is
#   the next one, in the transaction that looks.  Of two processes that make part 7 at once, one
#   writes it; the other is informed, throws its own away, unseen, and reads the one that stands.
#   So each part is made by someone who had read all parts before it, and was published once.
#
# Parts hold released values, with their noise, as answers do.


def charge_once(ledger: Ledger, key: str, cost: Budget, question: Mapping[str, Any]) -> Entry:
    """Return the charge of a key, or make it: one is paid, whoever asks and however often.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> entry = charge_once(ledger, "visits", epsilon("1/4"), {"count": "visits"})
    >>> charge_once(ledger, "visits", epsilon("1/4"), {"count": "visits"}) == entry
    True
    >>> record_part(ledger, entry, 0, {"n": 17}), record_part(ledger, entry, 0, {"n": 18})
    (True, False)
    >>> parts_of(ledger, entry), ledger.spent
    ([{'n': 17}], epsilon(0.25))
    """
    # Unlike :meth:`Ledger.charge` it takes the charge that stands also where its question says more
    # than the key does: what was chosen for the payer, such as the scale of the noise.
    canonical(question, "question")
    payer = ledger.payer
    with ledger.chain.write() as (transaction, head):
        existing = entry_of(transaction.about(payer.key(key)))
        if existing is not None:
            return existing
        (made,) = ledger.chain.spend(transaction, head, [Payment(payer, key, cost, question)])
        if isinstance(made, TacitError):
            raise made
        return made


def record_part(ledger: Ledger, entry: Entry, index: int, part: Mapping[str, Any]) -> bool:
    """Write a part if it is the next one of its charge, durably; say whether it was written."""
    # Where it was not, the caller's part must be thrown away: another one stands, or an earlier one
    # is still lacking.
    #
    # LedgerError: the entry is not a charge of this ledger, or the ledger cannot be written. A
    #   server
    # that went away is waited for: the part is paid already.
    wanted, tried = canonical(part, "part"), False

    def write() -> bool:
        nonlocal tried
        again, tried = tried, True
        with ledger.chain.write() as (transaction, head):
            existing = [canonical(event.body["part"]) for event in _parts(transaction, entry)]
            if again and existing[index : index + 1] == [wanted]:
                return True  # an earlier try was stored after all, and only its word was lost
            if len(existing) != index:
                return False
            body = {"charge": entry.sequence, "place": index, "part": dict(part)}
            appended(transaction, head, "part", entry.key, body)
            return True

    return staying_open(entry.cost, lambda: retry_while_busy(write))


def record_new(
    ledger: Ledger, entry: Entry, parts: Iterable[Mapping[str, Any]], maximum: int | None = None
) -> None:
    """Write those of some parts that a charge does not have yet, in one transaction, durably.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> entry = charge_once(ledger, "visits", epsilon("1/4"), {"count": "visits"})
    >>> record_new(ledger, entry, [{"n": 1}, {"n": 2}, {"n": 1}])
    >>> record_new(ledger, entry, [{"n": 3}, {"n": 2}])
    >>> parts_of(ledger, entry)
    [{'n': 1}, {'n': 2}, {'n': 3}]
    """
    # They are parts that do not depend on those before them, such as notes of what was derived from
    # an answer; the time is linear in the number of parts.
    wanted = {canonical(part, "part"): dict(part) for part in parts}

    def write() -> None:
        with ledger.chain.write() as (transaction, head):
            existing = _parts(transaction, entry)
            known = {canonical(event.body["part"]) for event in existing}
            new = [part for text, part in wanted.items() if text not in known]
            if maximum is not None and new and len(existing) + len(new) > maximum:
                raise UsageError(f"a release has {maximum} notes of what follows from it at most")
            for index, part in enumerate(new, len(existing)):
                body = {"charge": entry.sequence, "place": index, "part": part}
                head = Head.following(head, appended(transaction, head, "part", entry.key, body))

    retry_while_busy(write)


def parts_of(ledger: Ledger, entry: Entry) -> list[dict[str, Any]]:
    """Return the parts of a charge, in order."""
    with ledger.chain.read() as (transaction, _):
        parts: list[Any] = [event.body["part"] for event in _recorded_parts(transaction, entry)]
    return parts


def _parts(transaction: Transaction, entry: Entry) -> list[Event]:
    """Return the parts of a charge, which must stand in the ledger."""
    charge = transaction.at(entry.sequence)
    if charge is None or charge.event != "charge" or charge.hash != entry.hash:
        raise LedgerError("this ledger has no such charge to add a part to")
    return _recorded_parts(transaction, entry)


def _recorded_parts(transaction: Transaction, entry: Entry) -> list[Event]:
    parts = [event for event in transaction.about(entry.key) if event.event == "part"]
    return [event for event in parts if event.body["charge"] == entry.sequence]


# One budget, several payers: accounts with caps, and data sets that have their people in common.
#
# The functions here return a view of a ledger: the same chain and the same totals, with charges
# that say on whose account they are.  A :class:`~tacit.tables.Session` takes a view as it takes a
# ledger. Whatever the view, the first rule stays: all charges together stay within the budget.


def on_account_of(ledger: Ledger, *accounts: str) -> Ledger:
    """Return a ledger as one whose charges name accounts, and stay within their caps.

    >>> from tacit.accounting import epsilon, open_ledger
    >>> ledger = open_ledger(None, dataset="clinic", budget=epsilon(1))
    >>> set_cap(ledger, "team:oncology", epsilon("1/4"), "a quarter each")
    >>> oncology = on_account_of(ledger, "team:oncology", "analyst:ada")
    >>> _ = oncology.charge("k1", epsilon("1/4"), {"count": "rows"})
    >>> [(account.name, account.spent, account.cap) for account in accounts_of(ledger)]
    [('analyst:ada', epsilon(0.25), None), ('team:oncology', epsilon(0.25), epsilon(0.25))]
    >>> oncology.charge("k2", epsilon("1/4"), {"count": "people"})
    Traceback (most recent call last):
    tacit.errors.BudgetError: the release costs epsilon 0.25 and epsilon 0 is left of epsilon 0.25,
    the cap of team:oncology: nothing was spent. Ask for less, or have the cap raised
    """
    # Each account has what the charges that name it come to; see
    # :mod:`tacit.accounting.ledger_chain`.  An answer that stands is replayed for everybody.
    payer = ledger.payer
    named = (*payer.accounts, *map(account_name, accounts))
    return ledger.view(
        Payer(tuple(dict.fromkeys(named)), payer.dataset), ledger.dataset, ledger.terms
    )


def shared_by(ledger: Ledger, dataset: str, terms: Mapping[str, Any]) -> Ledger:
    """Return a ledger as that of one of the data sets whose people share its budget."""
    # The chain holds which data sets share it, and on which terms.  Each has keys of its own: the
    # same question to two of them is two releases, and both are paid from the one budget.
    #
    # terms: what a charge for it means: the unit of privacy, the neighbour relation.
    canonical(terms, "terms")
    if not (dataset and dataset.isprintable()):
        raise UsageError("a ledger protects a data set: give its identity")
    with ledger.chain.read() as (transaction, _):
        existing = ledger.chain.accounts(transaction).shared.get(dataset)
    if existing is None:
        with ledger.chain.write() as (transaction, head):
            existing = ledger.chain.accounts(transaction).shared.get(dataset)
            if existing is None:
                existing = dict(terms)
                body = {"dataset": dataset, "terms": existing}
                appended(transaction, head, "share", None, body)
    if canonical(existing) != canonical(terms):
        raise LedgerError(
            f"{ledger.chain.store.name} is shared by {dataset!r} on other terms: ask under those "
            "terms, or give the data set another name"
        )
    return ledger.view(Payer(ledger.payer.accounts, dataset), dataset, terms)


def continued(ledger: Ledger, dataset: str, terms: Mapping[str, Any], *, same: bool) -> Ledger:
    """Return a ledger as that of a data set with the people whose budget it is."""
    # A table whose file was converted, or is read with another delimiter, has other columns, and so
    # another identity, and its people have the budget that they had: the data set shares the
    # ledger. Each charge bounds what one person, with their rows in either table, moves its
    # answers, so the losses of all of them add up to no more than the budget.
    if dataset == ledger.dataset:
        return ledger
    started = ledger.dataset.rpartition(" (")[0]
    named = same and started and dataset.rpartition(" (")[0] == started
    if not named and (ledger.payer.dataset is not None or dataset not in shares_of(ledger)):
        return ledger
    if _protects(terms) != _protects(ledger.terms):
        raise LedgerError(
            f"{ledger.chain.store.name} counts what is lost about "
            f"{'rows' if _protects(terms)[0] else 'people'}, and this session protects "
            f"{'people' if _protects(terms)[0] else 'rows'}: ask under its unit"
        )
    return shared_by(ledger, dataset, terms)


def _protects(terms: Mapping[str, Any]) -> tuple[bool, Any]:
    """Return whether people are protected, and which tables are neighbours."""
    unit = terms.get("unit")
    return bool(unit and unit.get("column") is not None), terms.get("neighbours")


def set_cap(ledger: Ledger, account: str, cap: Budget | None, reason: str) -> None:
    """Set the most that an account may spend of the budget; the chain holds it, and the reason."""
    # It may be below what the account has spent: then nothing more is granted.
    if not reason.strip():
        raise UsageError("say why the cap is set: the reason is recorded in the ledger")
    if not is_account(account):
        account_name(account)
    with ledger.chain.write() as (transaction, head):
        if cap is not None and cap.kind != head.total.kind:
            raise UsageError(f"a cap must be of the same kind as the budget, {head.total!r}")
        body = {"account": account, "cap": cap and cap.to_json(), "reason": reason}
        appended(transaction, head, "cap", None, body)


def accounts_of(ledger: Ledger) -> list[Account]:
    """Return every account that has a cap or has spent, by name."""
    with ledger.chain.read() as (transaction, _):
        return ledger.chain.accounts(transaction).all()


def named_accounts(ledger: Ledger, names: Sequence[str]) -> tuple[Head, list[Account]]:
    """Return the totals of a ledger and some of its accounts, of one state of it."""
    with ledger.chain.read(ledger.chain.wanted(accounts=True)) as (transaction, head):
        accounts = ledger.chain.accounts(transaction, head)
        return head, [accounts.of(account_name(name)) for name in names]


def shares_of(ledger: Ledger) -> dict[str, Mapping[str, Any]]:
    """Return the data sets that share a ledger, by identity, with the terms of their charges."""
    # There are none where the ledger is that of one data set alone.
    with ledger.chain.read() as (transaction, _):
        return dict(ledger.chain.accounts(transaction).shared)
