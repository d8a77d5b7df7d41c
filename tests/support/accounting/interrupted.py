"""Something happens at one instruction of an operation: a crash, a cut, another process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.accounting import ledger as keyed_lock
from tacit.accounting import ledger_chain as checked_chain

__all__ = ["LEDGER", "Crash", "Interrupted", "Memory", "apart", "folder_of", "instructions"]


class Crash(BaseException):
    """The process is gone."""


def folder_of(module: ModuleType) -> str:
    """Return the folder of a module, whose instructions can be places for a crash."""
    return str(Path(str(module.__file__)).parent)


LEDGER = (str(Path(folder_of(checked_chain)) / "ledger"),)  # ledger.py and ledger_*.py
"""The instructions of the files below are places for a crash."""


class Interrupted:
    """At an instruction of some code, do something; then let the code go on.

    Args:
        at: which one, from 1; the code may have fewer.
        what: is done, once.
        folders: of the code.

    Attributes:
        came: whether it was done.
    """

    def __init__(
        self, at: int, what: Callable[[], None], folders: tuple[str, ...] = LEDGER
    ) -> None:
        self.left, self.what, self.came, self._folders = at, what, False, folders
        # Held here too: CPython 3.11 may call a trace function that it has just let go of.
        self._held = self._enters

    def __enter__(self) -> Interrupted:
        sys.settrace(self._held)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _enters(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._folders):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._goes

    def _goes(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "opcode" and not self.came:
            self.left -= 1
            if self.left <= 0:
                self.came = True
                sys.settrace(None)
                self.what()
        return self._goes


def apart(work: Callable[[], object]) -> None:
    """Do some work that is interrupted in a thread of its own.

    Where a trace function raises while an error is handled, CPython 3.11 may go on handling that
    error for the rest of the thread: it is the context of every later one.
    """
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def instructions(work: Callable[[], object], folders: tuple[str, ...] = LEDGER) -> int:
    """Do some work, and return of how many instructions it was."""
    most = 10**9
    counted = Interrupted(most, lambda: None, folders)
    with counted:
        work()
    return most - counted.left


class Memory:
    """State of one process in the modules of the ledger, swapped with that of another."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}
        self._turns: dict[Any, Any] = {}
        self._guard = threading.Lock()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Be this process."""
        others = checked_chain._seen, keyed_lock._turns, keyed_lock._guard
        checked_chain._seen = self.seen
        keyed_lock._turns, keyed_lock._guard = self._turns, self._guard
        try:
            yield
        finally:
            checked_chain._seen, keyed_lock._turns, keyed_lock._guard = others
