"""The files that a process has open: those used last, at most so many.

An open ledger takes three of the files that a process may open (the file, its log, and the index
of the log), and a service with some thousand ledgers would run out of them.  So whoever opens a
file tells it here, and the file that nobody has used for longest is closed; its next use opens it
again.  A file in use is never closed: it holds a lock meanwhile, and is passed over.  So at most
:data:`MOST` are open, and those in use at one time beyond that.
"""

from __future__ import annotations

import weakref
from typing import Protocol

__all__ = ["MOST", "OpenFiles", "Resting"]

MOST = 100
"""How many ledgers a process keeps open."""


class Resting(Protocol):
    """A file that can be closed for a while.

    Attributes:
        used: when it was used last, as ``time.monotonic()`` counts.
    """

    used: float

    def rest(self) -> bool:
        """Close it unless it is in use; return whether it is closed now."""
        ...


class OpenFiles:
    """The open files of a process; threads share one, and each step is whole without a lock.

    Args:
        most: how many are kept open.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._files: weakref.WeakValueDictionary[int, Resting] = weakref.WeakValueDictionary()

    def opened(self, file: Resting) -> None:
        """Take a file that was opened, and close those used longest ago that are too many."""
        self._files[id(file)] = file
        held = [one for held in self._files.valuerefs() if (one := held()) is not None]
        over = len(held) - self.most
        for one in sorted(held, key=lambda one: one.used) if over > 0 else ():
            if over > 0 and one is not file:
                self.closed(one)  # before it rests: who uses it in between, brings it back
                if one.rest():
                    over -= 1
                else:
                    self._files[id(one)] = one

    def closed(self, file: Resting) -> None:
        """Let go of a file that was closed."""
        self._files.pop(id(file), None)
