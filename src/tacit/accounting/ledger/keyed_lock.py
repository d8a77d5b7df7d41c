"""Turns: one thread at a time for one name, however many names there are."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["turn"]

_guard = threading.Lock()
_turns: dict[tuple[str, ...], tuple[threading.Lock, int]] = {}


@contextmanager
def turn(*name: str) -> Iterator[None]:
    """Wait until no other thread of this process is inside a turn of the same name.

    A name costs memory only while somebody is inside or waits.

    >>> with turn("a ledger", "a question"):
    ...     pass
    """
    with _guard:
        lock, count = _turns.get(name, (threading.Lock(), 0))
        _turns[name] = lock, count + 1
    try:
        with lock:
            yield
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
