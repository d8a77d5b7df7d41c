"""Where a ledger keeps its events: what every kind of store must do, and the one in memory.

The rules of the ledger are in :class:`tacit.accounting.ledger.ledger.Ledger` alone.  A store only
keeps a list of events and the head beside it, and has one duty: what happens inside ``write()``
happens alone and altogether, or not at all, and is durable when ``write()`` is left.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol, TypeVar

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.budgets.spending import Spending
from tacit.accounting.ledger.hash_chain import Event, Head
from tacit.errors import LedgerError
from tacit.outside import read_json

__all__ = [
    "LostError",
    "MemoryStore",
    "Store",
    "Transaction",
    "read_event",
    "read_head",
    "same_home",
    "stored_head",
    "went_back",
]


class LostError(LedgerError):
    """The place went away, or does not answer; what was asked may succeed when it is back."""


class Transaction(Protocol):
    """What can be read, and inside ``write()`` appended, in one transaction."""

    def head(self) -> Head | None:
        """Return the head, or None while nothing is stored."""
        ...

    def append(self, event: Event, head: Head) -> None:
        """Add one event and the head that it leads to; at most once a transaction."""
        ...

    def about(self, key: str | None) -> list[Event]:
        """Return the events of a key, or with None those about the ledger itself, in order."""
        ...

    def at(self, sequence: int) -> Event | None:
        """Return the event with this sequence number."""
        ...

    def events(self, after: int = 0) -> Iterator[Event]:
        """Go through all events in order, or through those after a sequence number."""
        ...


class Store(Protocol):
    """A place that keeps one ledger, shared by threads and, if it is durable, by processes."""

    @property
    def name(self) -> str:
        """What to call the place in a message."""
        ...

    def home(self) -> dict[str, str] | None:
        """Return what distinguishes this place from a copy of it, or None where nothing does.

        It is the same for everyone who may open the place, and from one opening to the next.
        """
        ...

    def write(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that no other writer runs beside, and commit it at the end.

        The exclusive lock is taken *before* anything is read, so that what is read stays true
        until the commit.  An exception inside undoes everything.

        Raises:
            LostError: the place went away.  It says whether anything was stored, or that this is
                not known; what may have been stored is never taken for not stored.
        """
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that sees one state and changes nothing."""
        ...

    def close(self) -> None:
        """Close the place; what is stored remains."""
        ...


_PAUSES = (0.1, 0.2, 0.5, 1, 2, 4, 8, 15)
_Result = TypeVar("_Result")


def patiently(work: Callable[[], _Result]) -> _Result:
    """Do what may be done twice, again and again for half a minute while the place is away.

    Raises:
        LostError: it did not come back.
    """
    for pause in _PAUSES:
        with suppress(LostError):
            return work()
        time.sleep(pause)
    return work()


class MemoryStore:
    """Events in a list, for a ledger that ends with its process.

    It is safe among threads.  A process that was forked off holds a copy of everything, and a
    budget must not be spent once in each copy: there, every use is refused.
    """

    name = "the ledger in memory"

    def __init__(self) -> None:
        self._links: list[tuple[Event, Head]] = []  # one append is the whole commit
        self._places: dict[str | None, list[int]] = {}
        self._indexed = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    def home(self) -> None:
        """Return None: memory cannot be copied to another place and opened there."""

    @contextmanager
    def write(self) -> Iterator[Transaction]:
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

    def append(self, event: Event, head: Head) -> None:
        """See :meth:`Transaction.append`."""
        self._links.append((event, head))

    def about(self, key: str | None) -> list[Event]:
        """See :meth:`Transaction.about`."""
        for event, _ in self._links[self._indexed :]:
            self._places.setdefault(event.key, []).append(self._indexed)
            self._indexed += 1
        return [self._copy(place) for place in self._places.get(key, ())]

    def at(self, sequence: int) -> Event | None:
        """See :meth:`Transaction.at`."""
        return self._copy(sequence - 1) if 1 <= sequence <= len(self._links) else None

    def events(self, after: int = 0) -> Iterator[Event]:
        """See :meth:`Transaction.events`."""
        return (self._copy(place) for place in range(after, len(self._links)))

    def _copy(self, place: int) -> Event:
        """Return the event with a body of its own, so that nobody can change the one that is kept.

        Its text was checked when it was made.
        """
        event, _ = self._links[place]
        return Event(**json.loads(event.text), text=event.text, hash=event.hash)

    def close(self) -> None:
        """Do nothing: the events live as long as the object."""


def read_head(row: Sequence[Any] | None) -> Head | None:
    """Read a stored head: its sequence, hash, total and spent.

    Raises:
        LedgerError: it cannot be read.
    """
    if row is None:
        return None
    sequence, digest, total, spent = row
    try:
        spending = Spending.from_json(Budget.from_json(read_json(total)), read_json(spent))
    except (TypeError, ValueError):
        raise LedgerError("the totals cannot be read: the ledger is damaged") from None
    return Head(sequence, digest, spending)


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
    """Read a stored event: its sequence, key, text and hash.

    Raises:
        LedgerError: it cannot be read, or is not the event of that sequence and key.
    """
    sequence, key, text, digest = row
    event = Event.parse(text, digest)
    if (event.sequence, event.key) != (sequence, key):
        raise LedgerError(f"event {sequence} is in the wrong place: the ledger was changed")
    return event


def went_back(name: str) -> LedgerError:
    """Return the error of a ledger that lacks an event which this process saw in it."""
    return LedgerError(
        f"{name} shows less than was already spent: it was replaced by an old copy. Nothing more "
        "was spent; restore the latest copy"
    )


def same_home(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
    """Return whether two homes are the same place, as far as both are known.

    A server may hide a part of it from some roles.

    >>> same_home({"system": "7", "table": "3"}, {"table": "3"}), same_home({"path": "a"}, None)
    (True, False)
    """
    if one is None or other is None:
        return one is other
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[part] == other[part] for part in shared)
