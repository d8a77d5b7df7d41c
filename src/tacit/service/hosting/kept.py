"""What a process keeps of the latest questions: what follows from public facts alone.

To read a question (the SQL, the names of the declared columns) and to work out its expected errors
takes milliseconds, and depends on the request and the declaration alone.  What stands in a ledger,
what remains and what may be seen is looked up anew each time.  Each caller has entries of their
own, so that the time of a reply says nothing of what somebody else has asked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Kept"]

_V = TypeVar("_V")


class Kept(Generic[_V]):
    """The latest values, by key; threads may share one.

    Args:
        most: how many are kept.

    >>> kept = Kept(1)
    >>> kept.of("a", lambda: 1), kept.of("a", lambda: 2), kept.of("b", lambda: 3)
    (1, 1, 3)
    >>> kept.of("a", lambda: 4)
    4
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, _V] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], _V]) -> _V:
        """Return the value of a key; what ``make`` raises is kept by nobody."""
        with self._lock:
            values = self._values
            if key in values:
                values.move_to_end(key)
                return values[key]
        made = make()
        with self._lock:  # what was forgotten meanwhile stays forgotten
            values[key] = made
            while len(values) > self._most:
                values.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget all of them, and what is being made now."""
        with self._lock:
            self._values = OrderedDict()
