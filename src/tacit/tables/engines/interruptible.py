"""A query of DuckDB that the keyboard, or a signal, can end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["interruptible"]

_T = TypeVar("_T")
_PAUSE = 0.05
_PAUSES = 100


def interruptible(connection: Any, ask: Callable[[], _T]) -> _T:
    """Return what ``ask`` returns; where a signal raises meanwhile, end the query first.

    Python handles signals in its main thread alone, and not while DuckDB works in it: DuckDB looks
    for them between its tasks, but not while it waits for those of its other threads.  So the main
    thread only waits here, and another one asks.
    """
    if threading.current_thread() is not threading.main_thread():
        return ask()
    found: list[_T] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(ask())
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        done.wait()  # not join: a signal makes Python 3.11 take the thread for ended
    except BaseException:
        connection.interrupt()
        pauses = 0
        while not done.wait(_PAUSE) and pauses < _PAUSES:
            connection.interrupt()  # a query that begins only now forgets the first word
            pauses += thread.ident is None  # it may be about to begin, or never have been made
        raise
    finally:
        # What the thread releases last belongs to DuckDB, which aborts the process if Python
        # ends meanwhile.
        if thread.ident is not None:
            thread.join()
    if failed:
        raise failed.pop()
    return found.pop()
