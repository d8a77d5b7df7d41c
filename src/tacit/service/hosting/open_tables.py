"""Which data sets have their tables open in a process: those asked last, as many as fit.

An open table keeps files, threads and memory of its engine.  Letting go of a table closes nothing
by itself: its engine is closed when the last question to it is over, since nobody holds it then.
"""

from __future__ import annotations

import threading
from typing import Protocol

__all__ = ["MOST", "OpenTables"]

MOST = 128
"""How many tables a process keeps open; each is opened twice (:class:`Hosted`)."""


class _Held(Protocol):
    def let_go(self) -> None:
        """Let go of the tables; they are opened again when they are asked."""
        ...


class OpenTables:
    """The data sets whose tables are open, the one asked last at the end; threads share one.

    Args:
        most: how many tables are kept open, but for those of the data set asked last;
            :data:`MOST` by default.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST if most is None else most
        self._lock = threading.Lock()
        self._asked: dict[_Held, int] = {}

    def asked(self, hosted: _Held, tables: int) -> None:
        """Take a data set that is asked now, and let go of those asked longest ago.

        Args:
            hosted: the data set.
            tables: how many of its tables are open.
        """
        over = []
        with self._lock:
            self._asked.pop(hosted, None)
            self._asked[hosted] = tables
            while sum(self._asked.values()) > self._most and len(self._asked) > 1:
                over.append(next(iter(self._asked)))
                del self._asked[over[-1]]
        for one in over:
            one.let_go()
