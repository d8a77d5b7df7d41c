"""Connections to a server that are used again, as a pooler in between would lend them.

To connect costs a new process at the server, which reads the catalogue from the beginning: more
than all that a history of a ledger asks of it.  Here whoever closes gives the session back, and
whoever connects gets one in which nothing is left:

- the transaction that was open is rolled back, as the server does for a client that is gone.  What
  differs is when: here before the next statement of anybody, there some moments later;
- ``DISCARD ALL`` makes the session what a new one is, settings and all;
- the handle that was closed stays closed for ever, like that of a socket.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import pq

__all__ = ["KeptConnections"]


class KeptConnections:
    """Sessions by address.

    Args:
        connect: makes a connection to an address, under a name; its statements commit themselves.

    Attributes:
        kept: whether sessions are kept; without it, each is made and closed as ever.
    """

    def __init__(self, connect: Callable[[Any, str], Any]) -> None:
        self._connect, self.kept = connect, True
        self._free: dict[Any, list[pq.abc.PGconn]] = {}

    def connect(self, address: Any, name: str) -> Any:
        """Return a connection of one's own."""
        free = self._free.setdefault(address, [])
        if not self.kept:
            return self._connect(address, name)
        if free:
            return _lent()(free.pop(), free)
        made = self._connect(address, name)
        lent = _lent()(made.pgconn, free)
        made.pgconn = _dead()  # the session is the other one's
        return lent

    def clear(self) -> None:
        """Close what nobody uses."""
        for free in self._free.values():
            while free:
                free.pop().finish()


@cache
def _lent() -> Any:
    """Return the class of a connection that gives its session back; not all have psycopg."""
    import psycopg
    from psycopg import pq

    class Lent(psycopg.Connection[Any]):
        """A connection that gives its session back."""

        def __init__(self, session: Any, free: list[Any]) -> None:
            super().__init__(session)
            self._free, self._autocommit, self.prepare_threshold = free, True, None

        def close(self) -> None:
            """Undo what was begun, and never use the session again."""
            if self.closed:
                return
            states = pq.TransactionStatus
            with suppress(psycopg.Error):
                if self.info.transaction_status in (states.INTRANS, states.INERROR):
                    self.execute("ROLLBACK")
                if self.info.transaction_status == states.IDLE:
                    self.execute("DISCARD ALL")
                    self._free.append(self.pgconn)
                    self.pgconn = _dead()
            self._closed = True
            self.pgconn.finish()

    return Lent


def _dead() -> Any:
    """Return a session that is over."""
    from psycopg import pq

    session = pq.PGconn.connect_start(b"nowhere")
    session.finish()
    return session
