"""The hash chain of a ledger: its events, and what they add up to.

A ledger is a list of events that only grows.  Eight kinds make it up:

==========  ==================================================================================
``create``  the first one: the data set, the budget, the terms that every charge is under
``charge``  an amount spent on a question, before any noise is drawn
``answer``  the released answer of an earlier charge
``part``    a piece that was released later, under the same charge (``installments.py``)
``extend``  the budget raised, openly and with a reason
``adopt``   the file restored at a new place
``cap``     the most that an account may spend of the budget (``accounts.py``)
``share``   a data set of the same people that charges the same budget
==========  ==================================================================================

Every event carries the SHA-256 of the one before it, so that no event can be changed, dropped or
put in between without changing the hash of all later ones.  The chain shows that a *known* hash
(one printed in a certificate, say) still stands for the same history; whoever can write to the
ledger can also write a new chain, so it proves nothing to somebody who kept no hash.

Order is the sequence number.  The time of an event is information for people and nothing depends
on it, so a clock that is wrong or set back does no harm.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.spending import Spending
from tacit.accounting.ledger.accounts import Accounts
from tacit.errors import LedgerError, UsageError, VerificationError
from tacit.outside import Json, read_json, read_own

__all__ = ["FORMAT", "GENESIS", "Event", "Head", "canonical", "count", "key_of", "verify"]

FORMAT = 4
"""The version of what is written; a ledger of a later version is refused as one.

1 had no accounts, caps and shares, and charges that did not state what they left; in 2 the cost of
a charge was one loss, and did not name its parts; in 3 a question did not say how its table is
read, and a charge not by which version it was made.  A Tacit of that time would call these damaged.
A ledger of an earlier version is read, and is of this one from the first event that is added to it.
"""

GENESIS = "0" * 64
"""What the first event has in place of the hash of the one before it."""

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
_MORE = {"create": {"filter"}, "charge": {"accounts", "dataset", "balance", "format"}}
"""What an event may hold besides: whether the budget has a filter (``spending.py``); of a charge,
who it is on account of, what it left, and the version of what is written, from 4 on."""


def canonical(value: object, name: str = "value", *, sort: bool = True) -> str:
    """Write a JSON value in one certain way: compact, ASCII, keys sorted unless stated otherwise.

    Floats are written so that they read back to the same bits; NaN and the infinities, which a
    released answer may hold, are written as Python's :mod:`json` reads them.

    Raises:
        UsageError: it holds something that is no JSON; the value itself is not shown.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    try:
        text = json.dumps(value, sort_keys=sort, separators=(",", ":"))
        if "\\ud" in text:  # halves of characters come in pairs, or no reader takes them
            json.dumps(value, ensure_ascii=False).encode()
        return text
    except UnicodeEncodeError:
        raise UsageError(
            f"the {name} cannot be written: it holds half of a character (a lone surrogate)"
        ) from None
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
            LedgerError: the text is no event.
        """
        return cls._read(lambda: read_json(text), text, digest)

    @classmethod
    def _read(cls, read: Callable[[], Any], text: str, digest: str) -> Event:
        try:
            event = cls(**read(), text=text, hash=digest)
            needed, names = _BODIES[event.event], set(event.body)
            whole = names - _MORE.get(event.event, set()) == needed
            whole = whole and isinstance(event.sequence, int)
        except (KeyError, TypeError, ValueError, RecursionError):
            whole = False
        if not whole:
            raise LedgerError("an event of the ledger cannot be read: the ledger is damaged")
        return event


@dataclass(frozen=True)
class Head:
    """What all events so far come to: kept beside them so that a charge need not add them up."""

    sequence: int
    hash: str
    spending: Spending

    @property
    def total(self) -> Budget:
        """The whole budget."""
        return self.spending.total

    @property
    def spent(self) -> Budget:
        """What the charges come to."""
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
        """Return the head once ``event`` has happened.

        Every event that is written and every event that is verified goes through here.

        Raises:
            VerificationError: the event cannot follow.
        """
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
    """Replay a whole chain and return how many events it has.

    Checked: every hash and every link; that no charge passed the budget of its time, nor the cap of
    an account that it names; that every answer belongs to an earlier charge of the same key, and no
    key has two; that the parts of a charge are of its key and without a gap; and that the totals
    kept beside the events are what the events come to.

    Raises:
        VerificationError: what does not hold, and at which event.
    """
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
    """Count an event of the chain in its accounts.

    Raises:
        VerificationError: the event cannot follow.
    """
    try:
        accounts.count(event.event, event.body)
    except (VerificationError, UsageError) as error:
        raise VerificationError(f"event {event.sequence}: {error}") from None
