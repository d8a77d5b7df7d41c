"""Instances of DuckDB in this process, and the one that tables in memory share.

DuckDB takes far longer to begin than a small table takes to be asked: it registers each function
that it knows.  So tables in memory for which no limit is set share one instance, each through a
connection of its own, to which its registered tables, temporary tables and views, and the settings
of its queries belong.  When the last table is closed the instance is empty, and waits for the next
one; if anything was spilled it is ended, and its folder removed.  A process that forks ends it
first, unless a table is open: the threads of an instance do not follow.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tacit.errors import UsageError
from tacit.tables.engines.spill import SpillFolder

if TYPE_CHECKING:
    import duckdb

__all__ = ["LIMITS", "Instance", "SharedInstance", "read_limits", "shared"]

LIMITS = "select current_setting('memory_limit'), current_setting('threads')"
"""Asks how much an instance may use."""
_PROGRESS = "select current_setting('enable_progress_bar')"


class Instance:
    """DuckDB, in memory, with a private folder to spill to.

    Args:
        memory_limit: such as ``"4GB"``; three quarters of it are DuckDB's own limit.
        threads: how many.

    Raises:
        UsageError: limits that DuckDB refuses.
    """

    def __init__(self, memory_limit: str | None = None, threads: int | None = None) -> None:
        self.folder = SpillFolder()
        self._connection = _connect(self.folder, memory_limit, threads)
        self.end = weakref.finalize(self, _end, self._connection, self.folder)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection to it."""
        own = self._connection.cursor()
        if self._shows_progress:
            own.execute("set enable_progress_bar = false")
        return own

    @cached_property
    def _shows_progress(self) -> bool:
        """Whether a new connection would draw bars: most releases of DuckDB have it draw none."""
        asked = self._connection.cursor().execute(_PROGRESS).fetchall()
        return bool(asked[0][0])

    @cached_property
    def limits(self) -> tuple[int, int]:
        """How many bytes it may use for what it holds, and how many threads."""
        return read_limits(self._connection.cursor().execute(LIMITS).fetchall())


class SharedInstance:
    """The instance that tables share: begun for the first of them."""

    def __init__(self) -> None:
        # A table may be collected, and so be closed, in the middle of anything: the lock lets the
        # thread that holds it in again, and who waits for an instance is counted first.
        self._lock = threading.RLock()
        self._instance: Instance | None = None
        self._tables = 0
        self._of_parent: list[Instance] = []  # kept, for to end it here would wait for no thread

    def borrow(self) -> tuple[Instance, duckdb.DuckDBPyConnection]:
        """Return the instance, and a connection to it for a table that is opened."""
        with self._lock:
            self._tables += 1
            try:
                if self._instance is None:
                    self._instance = Instance()
                return self._instance, self._instance.connection()
            except BaseException:
                self._tables -= 1
                raise

    def give_back(self, instance: Instance) -> None:
        """Note that a table was closed, and with it its connection."""
        with self._lock:
            if instance is self._instance:
                self._tables -= 1
                if instance.folder.holds_anything:
                    self._end_idle()

    def _end_idle(self) -> None:
        if self._instance is not None and not self._tables:
            ended, self._instance = self._instance, None
            ended.end()

    def before_fork(self) -> None:
        """End what no table uses; until the fork nobody begins another."""
        self._lock.acquire()
        self._end_idle()

    def after_fork(self) -> None:
        """Go on in the process that has forked."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Begin anew in the process that was forked off."""
        if self._instance is not None:
            self._of_parent.append(self._instance)
        self._instance, self._tables = None, 0
        self._lock.release()


shared = SharedInstance()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=shared.before_fork,
        after_in_parent=shared.after_fork,
        after_in_child=shared.after_fork_in_child,
    )


def read_limits(rows: Sequence[tuple[str, Any]]) -> tuple[int, int]:
    """Read what :data:`LIMITS` asks: bytes, and threads."""
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
        "pandas_analyze_sample": 0,  # text is text, whatever stands in it
    }
    if memory_limit is not None:
        settings["memory_limit"] = memory_limit
    if threads is not None:
        settings["threads"] = int(threads)
    try:
        connection = duckdb.connect(":memory:", config=settings)
        # Without this DuckDB refuses to spill at all, unless an extension from the network is
        # there; releases that do not know the setting spill without it.
        with contextlib.suppress(duckdb.CatalogException):
            connection.execute("set force_mbedtls_unsafe = true")
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
