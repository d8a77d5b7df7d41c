"""Events of the audit log that threads write at once, in one transaction: one wait for the disk.

Each caller goes on when its own event is in the log, and not before.  While one transaction is
being written, later callers wait, and the next one then writes for all of them.  So of many at once
each waits for two transactions at most, and not for as many as there are others.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Unpack

from tacit.service.access.caller import Caller
from tacit.service.seeing.audit_log import About, AuditLog

__all__ = ["Gathered"]

_MOST = 100
"""Events in one transaction: others of the database wait for its end."""


@dataclass(eq=False)
class _Waiting:
    """An event that a thread waits for."""

    act: tuple[str, Caller, About]
    turn: threading.Event = field(default_factory=threading.Event)
    over: bool = False
    error: BaseException | None = None


class Gathered:
    """Writes to an audit log for the threads of a process.

    Args:
        audit: the log.
    """

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._writing = False

    def acted(self, action: str, caller: Caller, **about: Unpack[About]) -> None:
        """Append what a caller did; return once it is in the log.

        Args:
            action: as in :meth:`tacit.service.seeing.audit_log.AuditLog.write`.
            caller: who did it.
            **about: as there, but a connection.

        Raises:
            Problem: the log cannot be written; the event is not in it.
        """
        mine = _Waiting((action, caller, about))
        with self._lock:
            self._waiting.append(mine)
            first, self._writing = not self._writing, True
        if not first:
            mine.turn.wait()
        if not mine.over:
            self._write()
        if mine.error is not None:
            raise mine.error

    def _write(self) -> None:
        """Write the events that wait, in the order in which they came; then it is another's turn.

        The first of them is that of this thread.
        """
        with self._lock:
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        try:
            self._audit.write_together(one.act for one in batch)
        except BaseException as error:
            for one in batch:
                one.error = error
        with self._lock:
            self._writing = bool(self._waiting)
            if self._waiting:
                self._waiting[0].turn.set()
        for one in batch:
            one.over = True
            one.turn.set()
