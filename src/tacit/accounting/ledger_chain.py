"""The chain of a ledger: entries, hashes, the checks of both, and stores of them."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from tacit.accounting.budget import Budget, Kind
from tacit.accounting.odometer import Spending
from tacit.calls import public
from tacit.errors import (
    BudgetError,
    LedgerError,
    TacitError,
    UsageError,
    VerificationError,
)
from tacit.outside import Json, read_json, read_own

# Accounts: how the one budget of a ledger is shared out, by caps that no race passes.
#
# A charge may name accounts, such as ``team:oncology`` and ``analyst:ada``.  An account can have a
# cap, and the total of the charges that name it stays within that cap; the budget of the ledger is
# above all of them.  ``team:*`` is a cap for each team that has none of its own.
#
# **What an account has spent is a sum over the chain**, and is stored nowhere else: of the amounts
# of all charges that name it.  :class:`Accounts` is that sum, event by event.
#
# **No cap is passed.**  Write S for what an account has spent and C for its cap.  A charge of c
# that names the account is appended in an exclusive transaction, after every event of the chain was
# counted in S, and only where C covers S + c.  No one else appends in between, so S + c is what the
# account has spent once the charge stands; by induction over the charges, after each of them S is
# at most the cap of that moment.  A cap may be lowered below S: nothing is taken back, and since C
# does not cover S + c for any c above zero, nothing more is granted.  The same comparison is made
# again, for every charge of the chain, by :func:`~tacit.accounting.ledger_chain.verify`.
#
# **Caps are no guarantee of privacy.**  People who compare what they were answered know all of it
# together, and the loss of that is the budget of the ledger.  Caps only share it out.


_LONGEST = 200
_ANY = "*"


@dataclass(frozen=True, slots=True)
class Account:
    """Cap and spending of an account."""

    name: str  # such as ``team:oncology``
    # the most that it may spend; None where only the budget of the ledger limits it
    cap: Budget | None
    spent: Budget  # what the charges that name it come to

    @property
    def remaining(self) -> Budget | None:
        """Remaining budget below the cap; zero if more is spent, None without a cap."""
        if self.cap is None:
            return None
        if not self.cap.covers(self.spent):
            return Budget.nothing(self.cap.kind)
        return self.cap - self.spent

    def too_little_for(self, cost: Budget) -> Budget | None:
        """Return what remains where that does not cover a cost; None where it does."""
        if self.cap is None or self.cap.covers(self.spent + cost):
            return None
        return self.remaining


@dataclass
class Accounts:
    """The accounts of a ledger, after some event of its chain."""

    kind: Kind | None = None  # what the budget of the ledger counts; None before its first event
    # by account, or by ``team:*`` for those that have none of their own
    caps: dict[str, Budget] = field(default_factory=dict)
    spent: dict[str, Budget] = field(default_factory=dict)
    # of the data sets that share the ledger, by identity, the terms of their charges
    shared: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def copy(self) -> Accounts:
        """Return accounts that can go on by themselves."""
        return Accounts(self.kind, dict(self.caps), dict(self.spent), dict(self.shared))

    def of(self, name: str) -> Account:
        """Return an account, also one that nothing is known of."""
        assert self.kind is not None
        cap = self.caps.get(name, self.caps.get(_default(name)))
        return Account(name, cap, self.spent.get(name, Budget.nothing(self.kind)))

    def all(self) -> list[Account]:
        """Return every account that has a cap or has spent, by name."""
        return [self.of(name) for name in sorted({*self.caps, *self.spent})]

    def require(self, names: Iterable[str], cost: Budget, least: Budget | None = None) -> None:
        """Raise if a cap does not cover a cost, or only if it also leaves less than ``least``."""
        exceeded = [
            (left, account)
            for account in map(self.of, names)
            if (left := account.too_little_for(cost)) is not None
        ]
        if not exceeded:
            return
        left, account = min(exceeded, key=lambda one: one[0].amount)  # what can be spent
        if least is None or left.amount < least.amount:
            raise BudgetError(
                f"the release costs {cost} and {left} is left of {account.cap}, the cap of "
                f"{account.name}: nothing was spent. Ask for less, or have the cap raised"
            )

    def count(self, event: str, body: Mapping[str, Any]) -> None:
        """Count an event of the chain."""
        if event == "create":
            self.kind = Budget.from_json(body.get("budget")).kind
        elif event == "charge" and set(body) & {"accounts", "dataset"}:
            self._charge(body)
        elif event == "cap":
            self._cap(body)
        elif event == "share":
            identity, terms = body["dataset"], body["terms"]
            if not (isinstance(identity, str) and isinstance(terms, dict)):
                raise VerificationError("a data set that shares the ledger has no name or no terms")
            if identity in self.shared:
                raise VerificationError("a data set shares the ledger twice")
            self.shared[identity] = terms

    def _charge(self, body: Mapping[str, Any]) -> None:
        names, identity = body.get("accounts", []), body.get("dataset")
        if not isinstance(names, list) or not all(map(is_account, names)):
            raise VerificationError("a charge names something that is not an account")
        if len(set(names)) < len(names):
            raise VerificationError("a charge names an account twice")
        if identity is not None and not (isinstance(identity, str) and identity in self.shared):
            raise VerificationError("a charge is of a data set that does not share the ledger")
        cost = Budget.from_json(body.get("cost"))
        try:
            self.require(names, cost)
        except BudgetError as error:
            raise VerificationError(f"a charge goes beyond a cap: {error}") from None
        for name in names:
            self.spent[name] = self.of(name).spent + cost

    def _cap(self, body: Mapping[str, Any]) -> None:
        name, new_cap = body["account"], body["cap"]
        if not is_account(name):
            raise VerificationError("a cap is set for something that is not an account")
        self.caps.pop(name, None)
        if new_cap is not None:
            cap = Budget.from_json(new_cap)
            if cap.kind != self.kind:
                raise VerificationError("a cap is of another kind than the budget")
            self.caps[name] = cap


def is_account(name: object) -> bool:
    """Return whether a text can be the name of an account.

    >>> is_account("team:oncology"), is_account("team:*"), is_account("oncology")
    (True, True, False)
    """
    if not (isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST):
        return False
    kind, colon, rest = name.partition(":")
    return bool(kind and colon and rest.strip())


def account_name(name: str) -> str:
    """Return the name of an account that a charge names."""
    if not is_account(name) or name.endswith(f":{_ANY}"):
        raise UsageError(
            f"the name of an account is a kind and a name, such as 'team:oncology', not {name!r}; "
            "a cap of 'team:*' is for each that has none of its own"
        )
    return name


def _default(name: str) -> str:
    return f"{name.partition(':')[0]}:{_ANY}"


# The hash chain of a ledger: its events, and what they add up to.
#
# A ledger is a list of events that only grows.  Eight kinds make it up:
#
# ==========  ==================================================================================
# ``create``  the first one: the data set, the budget, the terms that every charge is under
# ``charge``  an amount spent on a question, before any noise is drawn
# ``answer``  the released answer of an earlier charge
# ``part``    a piece that was released later, under the same charge (``installments.py``)
# ``extend``  the budget raised, openly and with a reason
# ``adopt``   the file restored at a new place
# ``cap``     the most that an account may spend of the budget (``accounts.py``)
# ``share``   a data set of the same people that charges the same budget
# ==========  ==================================================================================
#
# Every event carries the SHA-256 of the one before it, so that no event can be changed, dropped or
# put in between without changing the hash of all later ones.  The chain shows that a *known* hash
# (one printed in a certificate, say) still represents the same history; a writer of the
# ledger can also write a new chain, so it proves nothing to someone who kept no hash.
#
# Order is the sequence number.  The time of an event is information for people and nothing depends
# on it, so a clock that is wrong or set back does no harm.


# The version of what is written; a ledger of a later version is refused as one.
# 1 had no accounts, caps and shares, and charges that did not state what they left; in 2 the cost
# of a charge was one loss, and did not name its parts; in 3 a question did not say how its table is
# read, and a charge not by which version it was made; in 4 a count over time did not say in which
# format its times are written.  A Tacit of that time would call these damaged.  A ledger of an
# earlier version is read, and is of this one from the first event that is added to it.
FORMAT = 5

GENESIS = "0" * 64  # what the first event has in place of the hash of the one before it

_BODIES = {
    "create": {"ledger", "dataset", "terms", "budget", "home"},
    "charge": {"question", "cost"},
    "answer": {"charge", "answer"},
    "part": {"charge", "place", "part"},
    "extend": {"budget", "reason"},
    "adopt": {"home", "before"},
    "cap": {"account", "cap", "reason"},
    "share": {"dataset", "terms"},
}
# What an event may hold besides: whether the budget has a filter (``spending.py``); of a charge,
# who it is on account of, what it left, and the version of what is written, from 4 on.
_MORE = {"create": {"filter"}, "charge": {"accounts", "dataset", "balance", "format"}}


def canonical(value: object, name: str = "value", *, sort: bool = True) -> str:
    """Write a JSON value in one certain way: compact, ASCII, keys sorted unless stated otherwise.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    # Floats are written so that they read back to the same bits; NaN and the infinities, which a
    # released answer may hold, are written as Python's :mod:`json` reads them.
    try:
        text = json.dumps(value, sort_keys=sort, separators=(",", ":"))
        if "\\ud" in text:  # halves of characters come in pairs, or no reader takes them
            json.dumps(value, ensure_ascii=False).encode()
        return text
    except UnicodeEncodeError:
        raise UsageError(f"the {name} cannot be written: it contains a lone surrogate") from None
    except (TypeError, ValueError, RecursionError):
        raise UsageError(
            f"the {name} must be plain JSON: dict with text keys, list, text, number, bool, None"
        ) from None


def key_of(question: Mapping[str, Any]) -> str:
    """Return the key of a question: the same for the same description, in any order of its keys.

    >>> key_of({"count": "rows", "epsilon": "1/2"}) == key_of({"epsilon": "1/2", "count": "rows"})
    True
    """
    return hashlib.sha256(canonical(question, "question").encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Event:
    """One link of the chain.

    Attributes:
        sequence: 1 for the first event, and one more for each after it.
        event: ``"create"``, ``"charge"``, ``"answer"`` or another of the kinds above.
        key: the key of the question; None for events that are about the ledger itself.
        when: the time by the clock of the machine, ISO 8601, UTC; information only.
        body: what happened, as JSON.
        previous: the hash of the event before.
        text: all of the above as it was hashed.
        hash: SHA-256 of the text, in hexadecimal.
    """

    sequence: int
    event: str
    key: str | None
    when: str
    body: dict[str, Json]
    previous: str
    text: str
    hash: str

    @classmethod
    def after(cls, head: Head | None, event: str, key: str | None, body: object) -> Event:
        """Make the event that follows ``head``, or the first one."""
        described = {
            "sequence": head.sequence + 1 if head else 1,
            "event": event,
            "key": key,
            "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "body": body,
            "previous": head.hash if head else GENESIS,
        }
        # Keys stay in their order, so that a replayed answer reads as it did the first time.
        text = canonical(described, event, sort=False)
        return cls._read(
            lambda: read_own(text, described), text, hashlib.sha256(text.encode()).hexdigest()
        )

    @classmethod
    def parse(cls, text: str, digest: str) -> Event:
        """Read an event as it was stored.  The hash is not checked here but by :func:`verify`.

        Raises:
            LedgerError: the text is not an event.
        """
        return cls._read(lambda: read_json(text), text, digest)

    @classmethod
    def _read(cls, read: Callable[[], Any], text: str, digest: str) -> Event:
        try:
            event = cls(**read(), text=text, hash=digest)
            needed, names = _BODIES[event.event], set(event.body)
            valid = names - _MORE.get(event.event, set()) == needed
            valid = valid and isinstance(event.sequence, int)
        except (KeyError, TypeError, ValueError, RecursionError):
            valid = False
        if not valid:
            raise LedgerError("an event of the ledger cannot be read: the ledger is damaged")
        return event


@dataclass(frozen=True)
class Head:
    """Totals of all events so far, stored so that a charge need not add them up."""

    sequence: int
    hash: str
    spending: Spending

    @property
    def total(self) -> Budget:
        """The whole budget."""
        return self.spending.total

    @property
    def spent(self) -> Budget:
        """Sum of the charges."""
        return self.spending.spent

    @property
    def remaining(self) -> Budget:
        """The budget that is left."""
        return self.spending.remaining

    def balance(self) -> dict[str, dict[str, str]]:
        """Return the whole budget and what is left of it, as plain JSON."""
        return {"budget": self.total.to_json(), "remaining": self.remaining.to_json()}

    @staticmethod
    def following(head: Head | None, event: Event) -> Head:
        """Return the head once ``event`` has happened."""
        # Every event that is written and every event that is verified goes through here.
        expected = (head.sequence + 1, head.hash) if head else (1, GENESIS)
        if (event.sequence, event.previous) != expected:
            raise VerificationError(f"event {expected[0]} does not follow the one before it")
        if hashlib.sha256(event.text.encode()).hexdigest() != event.hash:
            raise VerificationError(f"event {event.sequence} was changed after it was written")
        if (head is None) != (event.event == "create"):
            raise VerificationError("the first event of a ledger, and no other, must be 'create'")
        if head is None:
            total = Budget.from_json(event.body.get("budget"))
            filtered = event.body.get("filter") is True
            return Head(event.sequence, event.hash, Spending.begun(total, filtered=filtered))
        if event.event not in ("charge", "extend"):
            return Head(event.sequence, event.hash, head.spending)
        spending = head.spending
        try:
            if event.event == "charge":
                spending = spending.charged(Budget.from_json(event.body.get("cost")))
            else:
                spending = spending.raised(Budget.from_json(event.body.get("budget")))
            within = spending.within and spending.total.covers(head.total)
        except UsageError as error:
            raise VerificationError(f"event {event.sequence} has a wrong amount: {error}") from None
        if not within:
            raise VerificationError(f"event {event.sequence} goes beyond the budget")
        return Head(event.sequence, event.hash, spending)


def verify(events: Iterable[Event], head: Head) -> int:
    """Replay a whole chain and return how many events it has."""
    # Checked: every hash and every link; that no charge passed the budget of its time, nor the cap
    # of an account that it names; that every answer belongs to an earlier charge of the same key,
    # and no key has two; that the parts of a charge are of its key and without a gap; and that the
    # totals kept next to the events are what the events come to.
    replayed: Head | None = None
    charged: dict[int, str | None] = {}
    answered: set[str | None] = set()
    parts: Counter[Any] = Counter()
    accounts = Accounts()
    for event in events:
        replayed = Head.following(replayed, event)
        count(accounts, event)
        if event.event == "charge":
            charged[event.sequence] = event.key
            if event.body.get("balance", replayed.balance()) != replayed.balance():
                raise VerificationError(
                    f"event {event.sequence} states a balance that is not that of the charges so "
                    "far"
                )
        elif event.event in ("answer", "part"):
            paid = event.body.get("charge")
            payer = charged.get(paid) if isinstance(paid, int) else None
            twice = event.event == "answer" and event.key in answered
            if payer is None or payer != event.key or twice:
                raise VerificationError(
                    f"event {event.sequence} is an answer that was not paid for"
                )
            if event.event == "part" and event.body.get("place") != parts[paid]:
                raise VerificationError(
                    f"event {event.sequence} is a part of an answer in the wrong place"
                )
            answered |= {event.key} if event.event == "answer" else set()
            parts[paid] += event.event == "part"
    if replayed is None or replayed != head:
        raise VerificationError("the totals of the ledger are not the sums of its events")
    return replayed.sequence


def count(accounts: Accounts, event: Event) -> None:
    """Count an event of the chain in its accounts."""
    try:
        accounts.count(event.event, event.body)
    except (VerificationError, UsageError) as error:
        raise VerificationError(f"event {event.sequence}: {error}") from None


# One charge of a ledger, with its answer once there is one.


_EXACT_BITS = 1000  # a sum whose denominator has fewer bits was not rounded


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
        tag = self.question.get("tag")
        tagged = "" if tag is None else f", tagged {tag!r}"
        return f"<Entry {self.sequence} of {self.when}: {self.cost!r}, {self.state}{tagged}>"

    @property
    def state(self) -> Literal["open", "answered"]:
        """``"answered"`` where the answer is recorded, else ``"open"``: asking goes on for free."""
        return "open" if self.answer is None else "answered"

    @property
    def remained(self) -> Budget | None:
        """Remaining budget before the charge, if it states its balance; else the chain is replayed.

        None, too, where a denominator is near those at which sums are rounded
        (:meth:`~tacit.accounting.budget.Budget.__add__`): what the charge left and its cost
        may then come to a little more than remained.
        """
        if self.balance is None:
            return None
        remaining = Budget.from_json(self.balance["remaining"]) + self.cost
        bits = max(remaining.amount.denominator, remaining.delta.denominator).bit_length()
        return remaining if bits < _EXACT_BITS else None


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
    """Return what the events of one key come to: its answered charge, else its latest one."""
    # Of several charges of one key only ledgers of earlier versions know, which charged again what
    # had come to nothing.
    charges = {event.sequence: event for event in events if event.event == "charge"}
    for event in events:
        if event.event == "answer":
            paid: Any = event.body["charge"]
            return with_answer(entry_from(charges[paid]), event)
    return entry_from(charges[max(charges)]) if charges else None


# Where a ledger keeps its events: what every kind of store must do, and the one in memory.
#
# The rules of the ledger are in :class:`tacit.accounting.ledger.Ledger` alone.  A store only
# keeps a list of events and the head next to it, and has one duty: what happens inside ``write()``
# happens alone and altogether, or not at all, and is durable when ``write()`` is left.


class LostError(LedgerError):
    """The place went away, or does not answer; what was asked may succeed when it is back."""


class Transaction(Protocol):
    """One transaction: events that can be read, and inside ``write()`` appended."""

    def head(self) -> Head | None:
        """Return the head, or None while nothing is stored."""

    def append(self, *events: Event, head: Head) -> None:
        """Add events and the head that they lead to."""

    def clear(self) -> None:
        """Remove all events and the head; see :func:`begin_again`."""

    def about(self, key: str | None) -> list[Event]:
        """Return the events of a key, or with None those about the ledger itself, in order."""

    def at(self, sequence: int) -> Event | None:
        """Return the event with this sequence number."""

    def events(self, after: int = 0) -> Iterator[Event]:
        """Go through all events in order, or through those after a sequence number."""


class Wanted(NamedTuple):
    """What a transaction is going to read: a store may fetch it with the head."""

    keys: Sequence[str] = ()  # the events of these keys
    after: int | None = None  # the events after this one
    at: int | None = None  # this event, unless it is the last one


class Store(Protocol):
    """A place that keeps one ledger, shared by threads and, if it is durable, by processes."""

    @property
    def name(self) -> str:
        """Name of the store in messages."""

    def home(self) -> dict[str, str] | None:
        """Return what distinguishes this place from a copy of it, or None where nothing does."""
        # It is the same for everyone who may open the place, and from one opening to the next.

    def write(self, wanted: Wanted | None = None) -> AbstractContextManager[Transaction]:
        """Begin a transaction that no other writer runs beside, and commit it at the end."""
        # The exclusive lock is taken *before* anything is read, so that what is read stays true
        # until the commit.  An exception inside undoes everything.
        #
        # LostError: the place went away.  It says whether anything was stored, or that this is not
        # known; what may have been stored is never taken for not stored.

    def read(self, wanted: Wanted | None = None) -> AbstractContextManager[Transaction]:
        """Begin a transaction that sees one state and changes nothing."""
        # wanted: all that is read of it, as a rule.

    def close(self) -> None:
        """Close the place; what is stored remains."""


_PAUSES = (0.1, 0.2, 0.5, 1, 2, 4, 8, 15)
_Result = TypeVar("_Result")


def retry_while_busy(work: Callable[[], _Result]) -> _Result:
    """Do what may be done twice, again and again for half a minute while the place is away."""
    for pause in _PAUSES:
        with suppress(LostError):
            return work()
        time.sleep(pause)
    return work()


class MemoryStore:
    """Events in a list, for a ledger that ends with its process."""

    # It is safe among threads.  A process that was forked off holds a copy of everything, and a
    # budget must not be spent once in each copy: there, every use is refused.

    name = "the ledger in memory"

    def __init__(self) -> None:
        self._links: list[tuple[Event, Head]] = []  # one append is the whole commit
        self._positions: dict[str | None, list[int]] = {}
        self._indexed = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    def home(self) -> None:
        """Return None: memory cannot be copied to another place and opened there."""

    @contextmanager
    def write(self, wanted: Wanted | None = None) -> Iterator[Transaction]:
        """Hold the lock; see :meth:`Store.write`."""
        if os.getpid() != self._process:
            raise LedgerError(
                "a ledger in memory cannot follow into a forked process, where the same budget "
                "could be spent again: keep the ledger in a file"
            )
        with self._lock:
            yield self

    read = write

    def head(self) -> Head | None:
        """See :meth:`Transaction.head`."""
        return self._links[-1][1] if self._links else None

    def append(self, *events: Event, head: Head) -> None:
        """See :meth:`Transaction.append`."""
        self._links += [(event, head) for event in events]

    def clear(self) -> None:
        """See :meth:`Transaction.clear`."""
        self._links, self._positions, self._indexed = [], {}, 0

    def about(self, key: str | None) -> list[Event]:
        """See :meth:`Transaction.about`."""
        for event, _ in self._links[self._indexed :]:
            self._positions.setdefault(event.key, []).append(self._indexed)
            self._indexed += 1
        return [self._copy(index) for index in self._positions.get(key, ())]

    def at(self, sequence: int) -> Event | None:
        """See :meth:`Transaction.at`."""
        return self._copy(sequence - 1) if 1 <= sequence <= len(self._links) else None

    def events(self, after: int = 0) -> Iterator[Event]:
        """See :meth:`Transaction.events`."""
        return (self._copy(index) for index in range(after, len(self._links)))

    def _copy(self, index: int) -> Event:
        """The event with a body of its own, so that nobody can change the one that is kept."""
        # Its text was checked when it was made.
        event, _ = self._links[index]
        return Event(**json.loads(event.text), text=event.text, hash=event.hash)

    def close(self) -> None:
        """Do nothing: the events live as long as the object."""


def read_head(row: Sequence[Any] | None) -> Head | None:
    """Read a stored head: its sequence, hash, total and spent."""
    if row is None:
        return None
    sequence, digest, total, spent = row
    # What is worked out from the totals is of this reader alone: else a reply would come sooner
    # where someone else had looked.
    return Head(sequence, digest, replace(_spending(total, spent)))


# Most transactions read what the last one wrote, which is read back as it is written.
@lru_cache(maxsize=1024)
def _spending(total: str, spent: str) -> Spending:
    try:
        return Spending.from_json(Budget.from_json(read_json(total)), read_json(spent))
    except (TypeError, ValueError):
        raise LedgerError("the totals cannot be read: the ledger is damaged") from None


def stored_head(head: Head) -> tuple[int, str, str, str]:
    """Return what :func:`read_head` reads."""
    spending = head.spending
    return (
        head.sequence,
        head.hash,
        json.dumps(spending.total.to_json()),
        json.dumps(spending.to_json()),
    )


def read_event(row: Sequence[Any]) -> Event:
    """Read a stored event: its sequence, key, text and hash."""
    sequence, key, text, digest = row
    event = Event.parse(text, digest)
    if (event.sequence, event.key) != (sequence, key):
        raise LedgerError(f"event {sequence} is in the wrong place: the ledger was changed")
    return event


def stale_ledger_error(name: str) -> LedgerError:
    """Return the error of a ledger that lacks an event which this process saw in it."""
    return LedgerError(
        f"{name} shows less than was already spent: it was replaced by an old copy. Nothing more "
        "was spent; restore the latest copy"
    )


def same_home(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
    """Return whether two homes are the same place, as far as both are known.

    >>> same_home({"system": "7", "table": "3"}, {"table": "3"}), same_home({"path": "a"}, None)
    (True, False)
    """
    # A server may hide a part of it from some roles.
    if one is None or other is None:
        return one is other
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[part] == other[part] for part in shared)


# The chain of a ledger in transactions, each of which first looks that it did not go back in time.
#
# A store can be replaced by an old copy of itself while a process has it open.  So the process
# remembers the furthest event of each ledger that it saw, and refuses a chain that is missing it.


# The furthest that this process saw each ledger of a file, by the hash of its first event.
_seen: dict[str, tuple[int, str]] = {}


@dataclass(frozen=True)
class Payer:
    """On whose account a charge is made."""

    accounts: tuple[str, ...] = ()  # that the charge names; their caps hold for it
    dataset: str | None = None  # the identity of the data set, where several share the ledger

    def key(self, key: str) -> str:
        """Return the key of a question in the ledger: data sets that share it have keys apart."""
        return key if self.dataset is None else f"{self.dataset}/{key}"


class Payment(NamedTuple):
    """A charge that is to be made."""

    payer: Payer
    key: str  # of the question, as the payer has it
    cost: Budget
    question: Mapping[str, Any]


class CheckedChain:
    """The transactions of one ledger."""

    def __init__(self, store: Store, first: str) -> None:
        self.store, self.first = store, first  # the hash of the first event, which was seen
        if store.home() is not None:
            _seen.setdefault(first, (1, first))
        self._counted = (
            0,
            GENESIS,
            Accounts(),
        )  # the last event that was counted, and what it led to

    @contextmanager
    def write(self, wanted: Wanted | None = None) -> Iterator[tuple[Transaction, Head]]:
        """Open an exclusive transaction, with the head of the chain."""
        seen = _seen.get(self.first)
        with self.store.write(self._and_seen(wanted, seen)) as transaction:
            yield transaction, self._checked_head(transaction, seen)
            head = transaction.head()
        self._remember(head)

    @contextmanager
    def read(self, wanted: Wanted | None = None) -> Iterator[tuple[Transaction, Head]]:
        """Open a transaction that reads one state, with the head of the chain."""
        seen = _seen.get(self.first)  # before the transaction starts: others may go on meanwhile
        with self.store.read(self._and_seen(wanted, seen)) as transaction:
            yield transaction, self._checked_head(transaction, seen)

    def wanted(self, *keys: str, accounts: bool = False) -> Wanted:
        """Return that some keys are going to be read, and perhaps what counts the accounts."""
        return Wanted(keys, self._counted[0] if accounts else None)

    @staticmethod
    def _and_seen(wanted: Wanted | None, seen: tuple[int, str] | None) -> Wanted | None:
        return None if wanted is None else Wanted(wanted.keys, wanted.after, seen and seen[0])

    def head(self) -> Head:
        """Return the end of the chain, with the totals up to it."""
        with self.read(Wanted()) as (_, head):
            return head

    def affords(self, *costs: Budget) -> bool:
        """Return whether all of these costs, counted as the budget is, would be granted now."""
        return self.head().spending.affords(*costs)

    def accounts(self, transaction: Transaction, head: Head | None = None) -> Accounts:
        """Return the accounts of the chain, up to the last event of a transaction."""
        # Only the events since the last look are read: none where the head of the transaction, for
        # one that only looks, is the last event that was counted.
        sequence, digest, accounts = self._counted
        if head is not None and (head.sequence, head.hash) == (sequence, digest):
            return accounts
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
        self, transaction: Transaction, head: Head, payments: Sequence[Payment]
    ) -> list[Entry | TacitError]:
        """Append charges; return of each its entry, or why it is refused."""
        # Each is decided after those before it, as if they were made one after another.
        named = any(one.payer.accounts for one in payments)
        accounts = self.accounts(transaction).copy() if named else Accounts()
        results: list[Entry | TacitError] = []
        events: list[Event] = []
        for one in payments:
            try:
                event = _charge(head, accounts, one)
            except TacitError as error:
                results.append(error)
                continue
            head = Head.following(head, event)
            if named:
                count(accounts, event)
            events.append(event)
            results.append(entry_from(event))
        if events:
            transaction.append(*events, head=head)
        return results

    def forget(self) -> None:
        """Forget how far this process saw the chain."""
        _seen.pop(self.first, None)

    def _checked_head(self, transaction: Transaction, seen: tuple[int, str] | None) -> Head:
        """Return the head, once it is sure that the ledger did not go back in time."""
        head = transaction.head()
        known = head is not None and (seen is None or _has(transaction, head, *seen))
        if head is None or not known:
            raise stale_ledger_error(self.store.name)
        self._remember(head)
        return head

    def _remember(self, head: Head | None) -> None:
        if head is not None and self.store.home() is not None:
            _seen[self.first] = head.sequence, head.hash


def _charge(head: Head, accounts: Accounts, payment: Payment) -> Event:
    """Return the event of a charge, or raise if it is not covered."""
    payer = payment.payer
    if payer.accounts:  # an error names what leaves least: a cap, or the budget
        accounts.require(payer.accounts, payment.cost.cost_in(head.total.kind), head.remaining)
    paid = affordable(payment.cost, head)
    body: dict[str, Any] = {"question": dict(payment.question), "cost": paid.charged_json()}
    body["format"] = FORMAT
    if payer.accounts:
        accounts.require(payer.accounts, paid)
        body["accounts"] = list(payer.accounts)
    if payer.dataset is not None:
        body["dataset"] = payer.dataset
    if payer != Payer():
        # Of the moment of the charge: that of the answer would tell how long an engine worked.
        body["balance"] = replace(head, spending=head.spending.charged(paid)).balance()
    return Event.after(head, "charge", payer.key(payment.key), body)


def affordable(cost: Budget, head: Head) -> Budget:
    """Return a cost in the kind of the ledger's budget."""
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
    transaction.append(event, head=Head.following(head, event))
    return event


def _has(transaction: Transaction, head: Head, sequence: int, digest: str) -> bool:
    if sequence == head.sequence:
        return digest == head.hash
    event = transaction.at(sequence)
    return event is not None and event.hash == digest
