"""The interface of engines, the interrupts of their queries, and their spill folders."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.schema import Schema
from tacit.tables.reading import Code

_serial = itertools.count()


class EngineMemoryError(DataSourceError):
    """The engine ran out of the memory that it may use: the data themselves may be sound."""


AddByPlace: TypeAlias = Callable[[str, str, int], list[NDArray[np.int64]]]
"""Run a query of rows at places below a number: those that occur, rising, and how much they weigh.

Takes the SQL of the rows, with their ``place``, the column of their weight, or none where each row
weighs one, and the number of places.
"""


class Part(NamedTuple):
    """A part of the rows of a query, with all rows of each of its people."""

    relation: str
    # of one in arrays, which has the column ``n`` too: how many rows the row's person has
    add: AddByPlace | None = None

    @property
    def counted(self) -> bool:
        """True if it has the column ``n``."""
        return self.add is not None


class Engine(Protocol):
    """The seam between the integer plan and the rows, which never come out of an engine."""

    dialect: Dialect

    @property
    def memory(self) -> int | None:
        """The bytes that it may use, where the dialect divides the work by that."""

    @property
    def owns_rows(self) -> bool:
        """True if the rows cannot change: they are in memory, or in a table of its own."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows; integers are exact Python integers."""

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query of 64-bit integer columns, none of them NULL, and return the columns."""

    @property
    def add_by_place(self) -> AddByPlace | None:
        """What adds up weights by place while a query reads; None where it groups as fast."""

    def materialise(self, sql: str) -> str:
        """Return a relation with the rows of a query, to follow ``from`` or ``join``."""
        # Stored in the engine, so that a later question need not make it again; an engine that may
        # store nothing returns the query itself, in parentheses and with a name.

    def store_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Return a relation with public text in the columns ``c0``, ``c1``, ..."""

    def drop(self, relation: str) -> None:
        """Remove what :meth:`materialise` or :meth:`store_text` stored."""

    def divided(
        self, sql: str, part: str, parts: int, person: str = "u"
    ) -> AbstractContextManager[Iterable[Part] | None]:
        """Return a block with the rows of a query in parts, one for each number ``part``."""
        # Each is used before the next.  None where the engine cannot store rows on disk in parts.
        #
        # sql: its columns are ``u``, never missing, and whole numbers of at least zero or missing.
        # person: SQL of what the parts have in the column ``u``.

    def in_arrays(self, sql: str) -> AbstractContextManager[Part | None]:
        """Return a block with the rows of such a query in arrays; None where they stay inside."""

    def reading(self) -> AbstractContextManager[object]:
        """Return a block in which all queries see the table in one state."""
        # An engine whose tables do not change while they are open has nothing to do there.

    def planner(self, *, again: bool = False) -> Callable[[str], None] | None:
        """Return what plans a query, and reads no row, so that it can be run next."""
        # None where a plan made now may not fit the table then.
        #
        # again: whether to plan a query again that was planned before.

    def dry_run(self) -> AbstractContextManager[object]:
        """Return a block of queries that ask for no row, before which nothing is brought in."""

    def close(self) -> None:
        """Close everything, on disk too."""


class InPlaceEngine:
    """Base of engines that read a table where it is: no row is imported or stored."""

    memory: int | None = None  # the engine divides its work by its own memory
    owns_rows = False
    add_by_place: AddByPlace | None = None

    def materialise(self, sql: str) -> str:
        """Return the query itself as a relation: each question reads the table again."""
        return f"({sql}) as {new_name()}"

    def divided(
        self, sql: str, part: str, parts: int, person: str = "u"
    ) -> AbstractContextManager[None]:
        """Return a block with None: the engine divides its work by its own memory."""
        return nullcontext()

    def in_arrays(self, sql: str) -> AbstractContextManager[None]:
        """Return a block with None: rows stay in the engine."""
        return nullcontext()

    def planner(self, *, again: bool = False) -> None:
        """Return None: anyone may change the table at any time."""

    def dry_run(self) -> AbstractContextManager[object]:
        """Return an empty block: nothing is brought in before a query."""
        return nullcontext()


def new_name() -> str:
    """Return a name that no other relation of this process has.

    >>> new_name() == new_name()
    False
    """
    return f"tacit_{os.getpid()}_{next(_serial)}"


class Opened(NamedTuple):
    """A table of an engine: its name there, its columns, and its SQL."""

    label: str
    schema: Schema
    engine: Engine
    relation: str
    # what the file itself declares of its columns: codes for missing values, labels of values
    missing: Mapping[str, list[Code]] = {}
    labels: Mapping[str, Mapping[Any, str]] = {}


@contextmanager
def closed_on_failure(engine: Engine) -> Iterator[None]:
    """Return a block that opens a table: an error in it closes the engine."""
    try:
        yield
    except BaseException:
        engine.close()
        raise


def refuse_like_names(names: Collection[str], *, public: bool = True) -> None:
    """Raise if an engine could take columns for each other; show the names if they are public.

    >>> refuse_like_names(["age", "site"])
    """
    if not names:
        raise DataSourceError("the table has no columns")
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.casefold())
        if other == name:
            called = f"both named {name!r}" if public else "of one name"
            raise DataSourceError(f"two columns are {called}; rename one of them")
        if other is not None:
            shown = f"the columns {other!r} and {name!r}" if public else "two columns"
            raise DataSourceError(f"{shown} differ only in capital letters; rename one of them")
        seen[name.casefold()] = name


def checked_timeout(timeout: float | None) -> float | None:
    """Return the maximum seconds of a query; raise if they are not a time."""
    if timeout is not None:
        seconds = timeout if isinstance(timeout, (int, float)) else 0
        if isinstance(timeout, bool) or not 0.001 <= seconds <= 2_000_000:
            raise UsageError(f"timeout is a number of seconds above zero, not {timeout!r}")
    return timeout


_T = TypeVar("_T")
_PAUSE = 0.05
_PAUSES = 100


class _Query:
    """What is asked in another thread, and how that ended."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._asks = [ask]
        self.begun = False
        self.done = threading.Event()
        self.results: list[Any] = []
        self.failed: list[BaseException] = []

    def run(self) -> None:
        self.begun = True
        try:
            self.results.append(self._asks.pop()())
        except BaseException as failure:
            self.failed.append(failure)


class _Runner(threading.Thread):
    """A thread that runs queries, one after another."""

    def __init__(self) -> None:
        super().__init__(name="tacit queries", daemon=True)
        self.queries: SimpleQueue[_Query] = SimpleQueue()

    def run(self) -> None:
        while True:
            query = self.queries.get()
            query.run()
            done = query.done
            # What it releases belongs to DuckDB, which aborts the process if Python ends meanwhile.
            del query
            done.set()


# Kept: DuckDB's memory is of a thread, and in a new one each query is half as slow again.
_runner: _Runner | None = None


def interruptible(connection: Any, ask: Callable[[], _T]) -> _T:
    """Return what ``ask`` returns; where a signal raises meanwhile, end the query first."""
    # Python handles signals in its main thread alone, and not while DuckDB works in it: DuckDB
    # looks for them between its tasks, but not while it waits for those of its other threads.  So
    # the main thread only waits here, and another one runs the query.
    global _runner
    if threading.current_thread() is not threading.main_thread():
        return ask()
    query = _Query(ask)
    try:
        if _runner is None or not _runner.is_alive():  # none, or that of the process forked from
            _runner = _Runner()
            _runner.start()
        _runner.queries.put(query)
        while not query.done.wait(1):  # a signal just before it waits does not wake it
            pass
    except BaseException:
        connection.interrupt()
        pauses = 0
        while not query.done.wait(_PAUSE) and pauses < _PAUSES:
            connection.interrupt()  # a query that starts only now forgets the first word
            pauses += not query.begun  # it may be about to begin, or never have been handed over
        raise
    finally:
        if query.begun:
            query.done.wait()
    if query.failed:
        raise query.failed.pop()
    result: _T = query.results.pop()
    return result


# The private folder that an engine spills rows to: removed at the end, or at the next start.
#
# A process that is killed cannot tidy up.  So each folder has a file that its owner locks for as
# long as it lives, and making a folder first removes those without a lock.  A folder of a living
# process, or of another user, is never touched.


_PREFIX, _LOCK = "tacit-spill-", "owner"


class SpillFolder:
    """A folder that only this user may enter, with the rows that did not fit into memory.

    >>> folder = SpillFolder()
    >>> folder.path.is_dir(), folder.remove(), folder.path.is_dir()
    (True, None, False)
    """

    def __init__(self) -> None:
        remove_forsaken()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._process = os.getpid()
        # Locked before it has its name, so that no one sees it unlocked while this process lives.
        new = self.path / f"{_LOCK}.new"
        self._lock_file = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        _lock(self._lock_file)
        new.rename(self.path / _LOCK)

    @property
    def has_content(self) -> bool:
        """True if anything is in it except its lock."""
        with contextlib.suppress(OSError):
            return any(name != _LOCK for name in os.listdir(self.path))
        return False

    @property
    def is_own(self) -> bool:
        """False in a process that was forked from the one that made it."""
        return os.getpid() == self._process

    def remove(self) -> None:
        """Remove the folder, with all that is in it; a forked process leaves it to its parent."""
        if not self.is_own:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock_file)


def remove_forsaken() -> None:
    """Remove the folders of this user whose owner has died."""
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                if _is_forsaken(path):
                    shutil.rmtree(path, ignore_errors=True)


def _is_forsaken(path: Path) -> bool:
    """True if a folder is this user's own and its lock is free; False if that is unknown."""
    if path.is_symlink() or path.stat().st_uid != _user():
        return False
    file = os.open(path / _LOCK, os.O_RDWR)  # one without it is about to be made: left alone
    try:
        return _lock(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Lock an open file; return whether that was possible.  Without such locks nothing is."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1
