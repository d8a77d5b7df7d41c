"""Instances of DuckDB in this process, and the one that tables in memory share."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tacit.errors import UsageError
from tacit.tables.engines.base import SpillFolder

if TYPE_CHECKING:
    import duckdb

# DuckDB takes far longer to start than a small table takes to be read: it registers each function
# that it knows.  So tables in memory for which no limit is set share one instance, each through a
# connection of its own, to which its registered tables, temporary tables and views, and the
# settings of its queries belong.  When the last table is closed the instance is empty, and waits
# for the next one; if anything was spilled it is ended, and its folder removed.  A process that
# forks ends it first, unless a table is open: the threads of an instance do not follow.
#
# A table in files has an instance to itself, since a broken file may end one.  When it is closed,
# that of it waits for the next such table in the same way.


# Asks how much an instance may use.
LIMITS = "select current_setting('memory_limit'), current_setting('threads')"
_PROGRESS = "select current_setting('enable_progress_bar')"


class Instance:
    """DuckDB, in memory, with a private folder to spill to."""

    # memory_limit: such as ``"4GB"``; three quarters of it are DuckDB's own limit.

    def __init__(self, memory_limit: str | None = None, threads: int | None = None) -> None:
        self.folder = SpillFolder()
        self._connection = _connect(self.folder, memory_limit, threads)
        self.end = weakref.finalize(self, _end, self._connection, self.folder)
        self.as_made = memory_limit is None and threads is None
        self.attached: list[str] = []

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection to it."""
        own = self._connection.cursor()
        if self._shows_progress:
            own.execute("set enable_progress_bar = false")
        return own

    @property
    def has_failed(self) -> bool:
        """True if an internal error of DuckDB ended it: it refuses every statement."""
        import duckdb

        try:
            self._connection.cursor().execute("select 1")
            return False
        except duckdb.FatalException:
            return True

    @cached_property
    def _shows_progress(self) -> bool:
        """True if a new connection would draw bars: most releases of DuckDB have it draw none."""
        rows = self._connection.cursor().execute(_PROGRESS).fetchall()
        return bool(rows[0][0])

    def emptied(self) -> bool:
        """Drop what it knows of files and databases; False if another table may not have it."""
        if not self.as_made or self.folder.has_content or not self.folder.is_own:
            return False
        import duckdb

        try:
            while self.attached:
                self._connection.execute(f"detach {self.attached.pop()}")
            for on in ("false", "true"):  # which drops the cache, and fails where it is broken
                self._connection.execute(f"set enable_external_file_cache = {on}")
        except duckdb.Error:
            return False
        return True

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The bytes that its data may use, and its threads."""
        return read_limits(self._connection.cursor().execute(LIMITS).fetchall())


class SharedInstance:
    """The instance that tables share: started for the first of them."""

    def __init__(self) -> None:
        # A table may be collected, and so be closed, in the middle of anything: the lock lets the
        # thread that holds it in again, and who waits for an instance is counted first.
        self._lock = threading.RLock()
        self._instance: Instance | None = None
        self._tables = 0
        self._of_parent: list[
            Instance
        ] = []  # not ended: that would wait for a thread of the parent

    def borrow(self) -> tuple[Instance, duckdb.DuckDBPyConnection]:
        """Return the instance, and a connection to it for a table that is opened."""
        with self._lock:
            self._tables += 1
            try:
                if self._instance is None or self._instance.has_failed:
                    # a failed one is left to its tables, and ended with the last of them
                    self._instance, self._tables = Instance(), 1
                return self._instance, self._instance.connection()
            except BaseException:
                self._tables -= 1
                raise

    def give_back(self, instance: Instance) -> None:
        """Note that a table was closed, and with it its connection."""
        with self._lock:
            if instance is self._instance:
                self._tables -= 1
                if instance.folder.has_content:
                    self._end_idle()

    def _end_idle(self) -> None:
        if self._instance is not None and not self._tables:
            ended, self._instance = self._instance, None
            ended.end()

    def before_fork(self) -> None:
        """End an instance that no table uses; none is started until the fork."""
        self._lock.acquire()
        self._end_idle()

    def after_fork(self) -> None:
        """Go on in the process that has forked."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start again in the process that was forked off."""
        if self._instance is not None:
            self._of_parent.append(self._instance)
        self._instance, self._tables = None, 0
        self._lock.release()


class IdleInstances:
    """Instances that closed tables had to themselves, for the next ones."""

    def __init__(self, most: int = 2) -> None:  # a table and one that it is compared with
        self._most = most
        self._lock = threading.RLock()  # as of those that are shared
        self._idle: list[Instance] = []

    def take(self) -> Instance:
        """Return an instance that nothing else uses."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Instance()

    def give_back(self, instance: Instance) -> None:
        """Note that its table was closed, and with it its connection."""
        with self._lock:
            if len(self._idle) < self._most and instance.emptied():
                self._idle.append(instance)
                return
        instance.end()

    def before_fork(self) -> None:
        """End them; none is taken until the fork."""
        self._lock.acquire()
        while self._idle:
            self._idle.pop().end()

    def after_fork(self) -> None:
        """Go on, in either process."""
        self._lock.release()


shared, idle = SharedInstance(), IdleInstances()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=shared.before_fork,
        after_in_parent=shared.after_fork,
        after_in_child=shared.after_fork_in_child,
    )
    os.register_at_fork(
        before=idle.before_fork, after_in_parent=idle.after_fork, after_in_child=idle.after_fork
    )


def read_limits(rows: Sequence[tuple[str, Any]]) -> tuple[int, int]:
    """Return the answer of :data:`LIMITS`: bytes, and threads."""
    ((memory, threads),) = rows
    return _bytes(memory), int(threads)


def _bytes(size: str) -> int:
    """Read a size as DuckDB writes it.

    >>> _bytes("3.7 GiB") == int(3.7 * 2**30)
    True
    """
    number, unit = size.split()
    return int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit))


def _connect(
    folder: SpillFolder, memory_limit: str | None, threads: int | None
) -> duckdb.DuckDBPyConnection:
    import duckdb

    settings: dict[str, Any] = {
        "temp_directory": str(folder.path),
        "temp_file_encryption": True,
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": False,
        "pandas_analyze_sample": 0,  # text is text, whatever is in it
    }
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    if threads is not None:
        settings["threads"] = int(threads)
    try:
        connection = duckdb.connect(":memory:", config=settings)
        # Without this DuckDB refuses to spill at all, unless an extension from the network is
        # there.  DuckDB before 1.5 does not know the setting, and refuses: rows that cannot be
        # encrypted are not written.
        with contextlib.suppress(duckdb.CatalogException):
            connection.execute("set force_mbedtls_unsafe = true")
        # Eight threads for files that are far away wait in every instance otherwise, and a service
        # has an instance for each open table.  DuckDB before 2.0 has none.
        with contextlib.suppress(duckdb.CatalogException):
            connection.execute("set async_threads = 1")
        # The plan has the small side of every join on the right.  DuckDB guesses the sizes, and
        # after a filter it may build its table on the rows of the data instead.
        connection.execute("set disabled_optimizers = 'build_side_probe_side'")
        if memory_limit is not None:
            limit, _ = read_limits(connection.execute(LIMITS).fetchall())
            connection.execute(f"set memory_limit = '{limit * 3 // 4 // 1000}KB'")
        return connection
    except duckdb.Error:
        folder.remove()
    raise UsageError(
        f"the engine refuses memory_limit={memory_limit!r}, threads={threads!r}: "
        "give a size such as '4GB' and a whole number of threads"
    )


def _end(connection: duckdb.DuckDBPyConnection, folder: SpillFolder) -> None:
    with contextlib.suppress(Exception):  # at exit the connection may be gone already
        connection.close()
    folder.remove()
