"""Where a ledger keeps its events: what every kind of store must do, and the one in memory.

The rules of the ledger are in :class:`tacit.accounting.ledger.Ledger` alone.  A store only keeps
a list of events and the head beside it, and has one duty: what happens inside ``write()`` happens
alone and altogether, or not at all, and is durable when ``write()`` is left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from tacit.accounting.chain import Event, Head
from tacit.errors import LedgerError

__all__ = ["MemoryStore", "Store", "Transaction"]


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

    def events(self) -> Iterator[Event]:
        """Go through all events in order."""
        ...


class Store(Protocol):
    """A place that keeps one ledger, shared by threads and, if it is durable, by processes."""

    @property
    def name(self) -> str:
        """What to call the place in a message."""
        ...

    def home(self) -> dict[str, str] | None:
        """Return what tells this place from a copy of it, or None where nothing does."""
        ...

    def write(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that no other writer runs beside, and commit it at the end.

        The exclusive lock is taken *before* anything is read, so that what is read stays true
        until the commit.  An exception inside undoes everything.
        """
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that sees one state and changes nothing."""
        ...

    def close(self) -> None:
        """Let go of the place; what is stored remains."""
        ...


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

    def events(self) -> Iterator[Event]:
        """See :meth:`Transaction.events`."""
        return (self._copy(place) for place in range(len(self._links)))

    def _copy(self, place: int) -> Event:
        """Read the event anew, so that nobody can change the one that is kept."""
        event, _ = self._links[place]
        return Event.parse(event.text, event.hash)

    def close(self) -> None:
        """Do nothing: the events live as long as the object."""
