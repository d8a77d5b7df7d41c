"""PostgreSQL: the plan runs in the server, and rows never leave it.

Nothing is written there: no temporary table, no function, no setting that outlives a transaction.
A role that may only ``SELECT`` from one table is enough.  Every block of queries is a transaction
of its own, ``REPEATABLE READ, READ ONLY``, so they all see one state of the table, and the next
block sees the table as it has become.

The SQL text holds public facts (names, bounds, keys, constants) and the salt of the draw of groups,
for every value of which the bounds hold: a server that logs its statements logs nothing private.
"""

from __future__ import annotations

import datetime
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError, UsageError, need
from tacit.expressions.dialect import Dialect
from tacit.tables.engines.base import InPlaceEngine, checked_timeout, new_name
from tacit.tables.engines.postgres.dialect import POSTGRES
from tacit.tables.engines.postgres.errors import Failure, failure_of
from tacit.tables.engines.postgres.link import Link

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresEngine"]

_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "row_security": "on",
    "extra_float_digits": "1",
    "datestyle": "ISO, YMD",
    "timezone": "UTC",
    "client_min_messages": "error",
}
"""What the meaning of the queries rests on; all of it ends with the transaction."""
_BEGIN = "transaction isolation level repeatable read, read only"
_SIZE = re.compile(r"([1-9]\d{0,9})\s*(kB|MB|GB|TB)", re.IGNORECASE)
_KILOBYTES = {"kb": 1, "mb": 1 << 10, "gb": 1 << 20, "tb": 1 << 30}
_HEADER = 19  # bytes before the first row of a binary copy without extensions
_T = TypeVar("_T")


class PostgresEngine(InPlaceEngine):
    """A database of PostgreSQL, asked over one connection, one block of queries at a time.

    Args:
        link: how to reach it.
        timeout: the most seconds of one query; None leaves it to the server, the role and the URL.
        memory_limit: such as ``"256MB"``: ``work_mem``, what each step of a query may use before it
            goes to the server's disk.
        threads: the most processes of the server for one query.

    Raises:
        UsageError: a time, size or number that is none.
        DataSourceError: anything that the server raises.  Its own message may quote rows of the
            data, so the message and the exception are dropped; only what it means is shown.
    """

    dialect: Dialect = POSTGRES

    def __init__(
        self,
        link: Link,
        timeout: float | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        settings = {**_SETTINGS, **_limits(timeout, memory_limit, threads)}
        text = (f"set local {name} = {self.dialect.literal(v)}" for name, v in settings.items())
        self._settings = "; ".join(text)
        self._link = link
        self._lock = threading.RLock()
        self._inside: Connection[Any] | None = None
        self._closed = False

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return self._run(lambda connection: _fetch(connection, sql))

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query of 64-bit integer columns and return the columns."""
        return self._run(lambda connection: _fetch_integers(connection, sql))

    def keep_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Return a relation that holds public text as arrays in the query itself."""
        arrays = (self.dialect.literal(_array(column)) for column in columns)
        listed = ", ".join(f"cast({array} as text[])" for array in arrays)
        names = ", ".join(f"c{i}" for i in range(len(columns)))
        return f"unnest({listed}) as {new_name()}({names})"

    def drop(self, relation: str) -> None:
        """Do nothing: nothing was kept."""

    def close(self) -> None:
        """Cancel the query that runs, if any, and close the connection."""
        self._closed = True
        self._link.cancel()
        with self._lock:
            self._link.close()

    @property
    def connection(self) -> Connection[Any]:
        """The connection, within :meth:`reading`."""
        assert self._inside is not None, "only within reading()"
        return self._inside

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Return a block in which all queries see one state of the table."""
        with self._lock:
            if self._inside is not None:
                yield
                return
            self._inside = self._begin()
            try:
                yield
            finally:
                connection, self._inside = self._inside, None
                self._link.end(connection)

    def _run(self, ask: Callable[[Connection[Any]], _T]) -> _T:
        with self.reading():
            found = self._attempt(ask, self.connection)
        if isinstance(found, Failure):
            raise found.error()
        return found

    def _begin(self) -> Connection[Any]:
        """Begin a transaction; where the connection was cut since the last one, on a new one."""
        for attempt in (1, 2):
            if self._closed:
                raise DataSourceError("the table was closed; open it again")
            connection = self._link.connection()
            begin = ("begin " if connection.autocommit else "set ") + _BEGIN

            def ask(connection: Connection[Any], begin: str = begin) -> None:
                _fetch(connection, f"{begin}; {self._settings}")

            failure = self._attempt(ask, connection)
            if failure is None:
                return connection
            self._link.end(connection)
            if attempt == 2 or not (failure.lost and self._link.renews):
                raise failure.error()
        raise AssertionError("the second attempt returns or raises")

    def _attempt(
        self, ask: Callable[[Connection[Any]], _T], connection: Connection[Any]
    ) -> _T | Failure:
        """Return what was found, or the failure; the server's own exception ends here."""
        psycopg = need("psycopg", "postgres")
        try:
            return ask(connection)
        except psycopg.Error as error:
            return failure_of(error.sqlstate, connection, closed=self._closed)


def _limits(timeout: float | None, memory_limit: str | None, threads: int | None) -> dict[str, str]:
    """Return the settings for what a query may use, checked."""
    settings = {}
    if (seconds := checked_timeout(timeout)) is not None:
        settings["statement_timeout"] = f"{int(seconds * 1000)}ms"
    if memory_limit is not None:
        size = _SIZE.fullmatch(str(memory_limit).strip())
        if size is None:
            raise UsageError(f"memory_limit is a size such as '256MB', not {memory_limit!r}")
        if not 64 <= int(size[1]) * _KILOBYTES[size[2].lower()] < 1 << 31:
            raise UsageError(f"memory_limit is from 64kB to below 2TB, not {memory_limit!r}")
        unit = {"kb": "kB"}.get(size[2].lower(), size[2].upper())
        settings["work_mem"] = f"{size[1]}{unit}"
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1025:
            raise UsageError(f"threads is a whole number from 1 to 1025, not {threads!r}")
        settings["max_parallel_workers_per_gather"] = str(threads - 1)
    return settings


def _array(values: Sequence[str | None]) -> str:
    r"""Return an array of text as PostgreSQL reads it.

    >>> print(_array(["a", None, 'b"\\']))
    {"a",NULL,"b\"\\"}
    """
    quoted = (
        "NULL" if v is None else '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for v in values
    )
    return "{" + ",".join(quoted) + "}"


def _number(text: str) -> int | Decimal:
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


# By the numbers of PostgreSQL's own types, which never change.  Not by psycopg's loaders: those of
# a connection that is not ours may be somebody's own.
_READ: dict[int, Callable[[str], Any]] = {
    **dict.fromkeys((20, 21, 23), int),
    **dict.fromkeys((700, 701), float),
    1700: _number,
    16: lambda text: text == "t",
    1082: datetime.date.fromisoformat,
}


def _fetch(connection: Connection[Any], sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, each value read by its type; text is left as it is."""
    psycopg = need("psycopg", "postgres")
    with psycopg.Cursor(connection) as cursor:
        cursor.execute(sql, prepare=False)
        result = cursor.pgresult
        if result is None or not result.nfields:
            return []
        readers = [_READ.get(result.ftype(i), str) for i in range(result.nfields)]
        return [
            tuple(
                None if (raw := result.get_value(line, i)) is None else read(raw.decode())
                for i, read in enumerate(readers)
            )
            for line in range(result.ntuples)
        ]


def _fetch_integers(connection: Connection[Any], sql: str) -> list[NDArray[np.int64]]:
    """Return 64-bit columns by a binary copy: each value stands behind its length in bytes."""
    psycopg = need("psycopg", "postgres")
    asked = f"copy ({sql}) to stdout (format binary)"
    with psycopg.Cursor(connection) as cursor, cursor.copy(asked) as copy:
        raw = b"".join(bytes(block) for block in copy)
    body = raw[_HEADER:-2]
    width = int.from_bytes(body[:2], "big") if body else 0
    if not width:
        return [np.empty(0, np.int64) for _ in range(2)]
    row = np.dtype([("n", ">i2"), *[(f"{p}{i}", t) for i in range(width) for p, t in _FIELD]])
    table = np.frombuffer(body, row)
    return [table[f"v{i}"].astype(np.int64) for i in range(width)]


_FIELD = (("length", ">i4"), ("v", ">i8"))
