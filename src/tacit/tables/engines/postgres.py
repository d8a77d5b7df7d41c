"""Tables in PostgreSQL."""

from __future__ import annotations

import contextlib
import datetime
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError, UsageError, did_you_mean, need
from tacit.expressions.dialect import Dialect
from tacit.expressions.schema import Column, Schema
from tacit.postgres import Refused, connect, is_cut, read_options, tls_cause, with_defaults
from tacit.tables.engines.base import (
    EngineMemoryError,
    InPlaceEngine,
    Opened,
    checked_timeout,
    closed_on_failure,
    new_name,
)

if TYPE_CHECKING:
    from psycopg import Connection

# How PostgreSQL (12 and newer) spells the integer plan.


POSTGRES = Dialect(
    "PostgreSQL",
    small="bigint",
    wide="numeric",
    double="double precision",
    text="text",
    as_is='({x} collate "C")',
    bytes="octet_length({x})",
    nul=False,
    compares_any_length=False,
    ends_with="(right({x}, {n}) = {y})",
    contains="(strpos({x}, {y}) > 0)",
    like_any="",
    floor_divide="({x} / {y})",
    wide_divide="div({x}, {y})",
    # sums of 32 bits are stored in 64; a sum of 64 bits takes a piece of memory for every group
    short_total="sum(cast({x} as integer))",
    near_total="(least(greatest(coalesce(sum(cast(({x}) >> 21 as integer)) +"
    " (sum(cast(({x}) & 2097151 as integer)) >> 21), 0), -2199023255552), 2199023255551) * 2097152"
    " + coalesce(sum(cast(({x}) & 2097151 as integer)) & 2097151, 0))",
    zero_or_one="cast(cast({x} as integer) as bigint)",
    same="(coalesce({x}, {filler}) = coalesce({y}, {filler}) and ({x} is null) = ({y} is null))",
    apart=False,
    set_of=None,
    once="materialized",  # else every process of a parallel query makes it for itself
    # without an offset the planner repeats a value wherever its name is used; behind this
    # one it makes no partial sums either, in which every process would hold all people or cells
    fence="{sql} offset 0",
    let="(select {body} from (select {x} as tacit_v offset 0) as tacit_l)",
    ordered="(select u from {rows} order by u) as base",
    # the planner takes what it knows nothing of for 200 values, and hashes all rows if people are
    # as many: so they are declared to be fewer, and the rows that meet them to be many
    few="select v, cast(min(lost) as integer) as lost from ({sql}) as h group by v"
    " having min(lost) > 0",
    meets="least({x}) = {y}",
    seconds="(case when isfinite({x}) then floor(extract(epoch from {x})) end)",
    days="(case when isfinite({x}) then {x} - date '1970-01-01' end)",
    # a text of 270 MB is not a place to look for a pattern in: its first characters suffice
    matches="textregexeq(left({x}, 101), {p})",
    whole="^(?:{p})$",
    part=None,
    byte=None,
    try_integer=None,
    below=None,
    longest=63,
)


# Messages for PostgreSQL's errors, in our own words: the server's may quote rows of the data.


_CUT = (
    "the connection to PostgreSQL was cut before the answer came: the server was stopped, or the "
    "network failed; ask again when it can be reached"
)
_MEMORY = {
    "53200": "PostgreSQL ran out of memory: ask for fewer groups at once, or lower memory_limit",
    "53100": "PostgreSQL's disk is full: free space there, or raise memory_limit, and ask again",
    "53400": (
        "the query needs more room on PostgreSQL's disk than temp_file_limit allows: raise "
        "memory_limit, or ask for that limit to be raised"
    ),
}
_MEANING = {
    "57014": (
        "PostgreSQL ended the query: it took longer than timeout= or the server's own "
        "statement_timeout allows, or someone cancelled it there; give it more time and ask again"
    ),
    "42501": (
        "no right to read the table (any more), or a function that its view calls; ask its owner "
        "for GRANT SELECT"
    ),
    "42P01": "the table is not there any more; open it again under its present name",
    "42703": "a column of the table is not there any more; open the table again",
    "53300": "PostgreSQL takes no more connections at present; ask again later",
    "54001": "the question is too deep for PostgreSQL (max_stack_depth): make it smaller",
    "55P03": "the table is locked by another session for longer than lock_timeout; ask again later",
    "40P01": "the table was locked by another session at the same time; ask again",
    "25P03": "the connection was idle for too long within a question; ask again",
}
_CHANGED = (
    "the table changed its shape on PostgreSQL while it was open (a column has another type): open "
    "it again"
)


@dataclass(frozen=True)
class Failure:
    """An error of PostgreSQL."""

    message: str  # in our words
    lost: bool = False  # whether the connection is gone
    memory: bool = False  # whether the server is out of memory

    def error(self) -> DataSourceError:
        """Return the exception to raise."""
        return EngineMemoryError(self.message) if self.memory else DataSourceError(self.message)


def failure_of(state: str | None, connection: Connection[Any], *, closed: bool = False) -> Failure:
    """Return the failure for a SQLSTATE; only its class is examined."""
    # state: five characters, or None where the error is not the server's.
    lost = is_cut(state, connection)
    if closed:
        return Failure("the table was closed while it was read", lost)
    if lost:
        return Failure(_CUT, lost=True)
    if state in _MEMORY:
        return Failure(_MEMORY[state], memory=True)
    if state in _MEANING:
        return Failure(_MEANING[state])
    if (state or "").startswith("40"):
        return Failure("PostgreSQL had to end the query for the sake of others; ask again")
    if (state or "").startswith("42"):
        return Failure(_CHANGED)
    return Failure(
        f"PostgreSQL could not read the data as asked ({state or 'unknown'}; its message is "
        "withheld because it may quote the data): check the table, and the view or foreign server "
        "behind it, with PostgreSQL's own tools"
    )


# How PostgreSQL is reached: over a connection of our own, or over one that a user has open.


_OLDEST = 12
_CANCEL_TIMEOUT = 5.0  # seconds to wait for a server to hear of a cancellation


class Link(Protocol):
    """A way to a server."""

    renews: bool  # whether a connection that was cut is made again

    def connection(self) -> Connection[Any]:
        """Return an open connection that is in no transaction."""

    def end(self, connection: Connection[Any]) -> None:
        """End the transaction, so that nothing of it stays."""

    def cancel(self) -> None:
        """Have the server end the query that runs over this link, from another thread."""

    def close(self) -> None:
        """Close the connection."""


class OwnLink:
    """A connection of our own, made when it is needed and again when it was cut."""

    # url: of the database, with any option of libpq, such as TLS options and a password.

    renews = True

    def __init__(self, url: str) -> None:
        given = read_options(url)
        if given is None:
            raise UsageError(
                "the address of the database cannot be read (it is not repeated here, since it may "
                "hold a password): write postgresql://user@host:5432/database?sslmode=verify-full, "
                "with %40 for @, %2F for / and %3A for : inside a password"
            )
        self._options = with_defaults(given)
        self._connection: Connection[Any] | None = None
        self._lock = threading.Lock()
        self._close: weakref.finalize[..., OwnLink] | None = None

    def connection(self) -> Connection[Any]:
        """Return an open connection, a new one where there is none."""
        with self._lock:
            if self._connection is None or self._connection.closed:
                made = connect(self._options)
                if isinstance(made, Refused):
                    raise DataSourceError(f"PostgreSQL cannot be reached: {_cause(made)}")
                self._connection = made
                if self._close is not None:
                    self._close.detach()
                self._close = weakref.finalize(self, _shut, self._connection)
            return self._connection

    def end(self, connection: Connection[Any]) -> None:
        """Roll back; a connection that cannot do so any more is closed."""
        if not _rolled_back(connection):
            _shut(connection)

    def cancel(self) -> None:
        """Have the server end the query that runs."""
        if self._connection is not None:
            _cancel(self._connection)

    def close(self) -> None:
        """Close the connection."""
        if self._close is not None:
            self._close()

    def __repr__(self) -> str:
        return "<a link to PostgreSQL>"  # never the options: a password may be among them


class GivenLink:
    """An open connection of the user's, which is left as it was."""

    renews = False

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._busy = False

    def connection(self) -> Connection[Any]:
        """Return the connection, unless its owner is in the middle of something."""
        if self._connection.closed:
            raise DataSourceError(
                "the connection to PostgreSQL was closed; keep it open while the table is in "
                "use, or give a URL, with which Tacit reconnects when a connection is cut"
            )
        pq = need("psycopg.pq", "postgres")
        pgconn = self._connection.pgconn
        if (
            pgconn.transaction_status != pq.TransactionStatus.IDLE
            or pgconn.pipeline_status != pq.PipelineStatus.OFF
        ):
            raise DataSourceError(
                "the connection is in the middle of a transaction, which would show the table "
                "as it was when the transaction started: commit or roll back first, or give a "
                "connection of its own"
            )
        self._busy = True
        return self._connection

    def end(self, connection: Connection[Any]) -> None:
        """Roll back what was started here."""
        _rolled_back(connection)
        self._busy = False

    def cancel(self) -> None:
        """Have the server end the query that runs, if it is one of ours."""
        if self._busy:
            _cancel(self._connection)

    def close(self) -> None:
        """Leave the connection open: it is its owner's."""


def check_server(connection: Connection[Any]) -> None:
    """Raise if a server is too old, or its text is not Unicode."""
    version = connection.info.server_version // 10_000
    if version < _OLDEST:
        raise DataSourceError(
            f"the server is PostgreSQL {version}, and {_OLDEST} or newer is needed: copy the table "
            "into a newer server, or read it as a Parquet or CSV file"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise DataSourceError(
            f"the database's text is in {encoding}, which may hold characters outside of "
            "Unicode: copy the table into a database made with ENCODING 'UTF8'"
        )


def _cause(refused: Refused) -> str:
    """Return why there is no connection, from the words of libpq."""
    message = refused.message.casefold()
    if refused.password and "failed" not in message.partition("password")[2]:
        return "it asks for a password; set PGPASSWORD, or write a line in ~/.pgpass"
    if (cause := tls_cause(message)) is not None:
        return cause
    causes = {
        "invalid connection option": "the URL has an option that libpq does not know",
        "invalid sslmode value": "sslmode has a value that libpq does not know",
        "invalid integer value": "an option of the URL must be a whole number, and is not",
        "translate host name": "its host name is not known",
        "connection refused": "nothing listens at its host and port",
        "timeout expired": "it does not answer in time (connect_timeout)",
        # before pg_hba.conf: libpq tries once more without TLS, which may not be let in at all
        "password authentication failed": "it does not know this user with this password",
        "pg_hba.conf": "its pg_hba.conf lets no one in from here with this user and database",
        "unsupported startup parameter": (
            "a pooler in between takes no options= in the URL: leave them out, set them for the "
            "role, or name them in its ignore_startup_parameters"
        ),
        'role "': "there is no such user, or the user may not connect",
        'database "': "there is no such database, or the user may not connect to it",
        "starting up": "it is starting; ask again in a moment",
        "shutting down": "it is shutting down",
        "too many": "it takes no more connections at present",
    }
    for words, cause in causes.items():
        if words in message:
            return cause
    return "look at host, port, user and database in the URL, and whether the server runs"


def _rolled_back(connection: Connection[Any]) -> bool:
    """End the transaction; return whether the connection can be used again."""
    psycopg = need("psycopg", "postgres")
    try:
        connection.rollback()
    except psycopg.Error:
        return False
    return not connection.closed


def _cancel(connection: Connection[Any]) -> None:
    with contextlib.suppress(Exception):  # the server may be gone, and the query with it
        connection.cancel_safe(timeout=_CANCEL_TIMEOUT)


def _shut(connection: Connection[Any]) -> None:
    with contextlib.suppress(Exception):  # at exit the connection may be gone already
        connection.close()


# PostgreSQL: the plan runs in the server, and rows never leave it.
#
# Nothing is written there: no temporary table, no function, no setting that outlives a transaction.
# A role that may only ``SELECT`` from one table is enough.  Every block of queries is a transaction
# of its own, ``REPEATABLE READ, READ ONLY``, so they all see one state of the table, and the next
# block sees the table as it has become.
#
# The SQL text holds public facts (names, bounds, keys, constants) and the salt of the draw of
# groups, for every value of which the bounds hold: a server that logs its statements logs nothing
# private.


# Settings that the meaning of the queries rests on; all of them end with the transaction.
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
_BEGIN = "transaction isolation level repeatable read, read only"
_SIZE = re.compile(r"([1-9]\d{0,9})\s*(kB|MB|GB|TB)", re.IGNORECASE)
_KILOBYTES = {"kb": 1, "mb": 1 << 10, "gb": 1 << 20, "tb": 1 << 30}
_HEADER = 19  # bytes before the first row of a binary copy without extensions
_T = TypeVar("_T")


class PostgresEngine(InPlaceEngine):
    """A database of PostgreSQL over one connection, one block of queries at a time."""

    # timeout: the most seconds of one query; None leaves it to the server, the role and the URL.
    # memory_limit: such as ``"256MB"``: ``work_mem``, what each step of a query may use before it
    #   goes to the server's disk.
    #
    # DataSourceError: anything that the server raises.  Its own message may quote rows of the data,
    # so the message and the exception are dropped; only what it means is shown.

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

    def store_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Return a relation of public text, as arrays in the query itself."""
        arrays = (self.dialect.literal(_array(column)) for column in columns)
        listed = ", ".join(f"cast({array} as text[])" for array in arrays)
        names = ", ".join(f"c{i}" for i in range(len(columns)))
        return f"unnest({listed}) as {new_name()}({names})"

    def drop(self, relation: str) -> None:
        """Do nothing: nothing was stored."""

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
            result = self._attempt(ask, self.connection)
        if isinstance(result, Failure):
            raise result.error()
        return result

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
        """Return the result, or the failure; the server's own exception ends here."""
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
# a connection that is not ours may be someone's own.
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
    """Return 64-bit columns by a binary copy: each value follows its length in bytes."""
    psycopg = need("psycopg", "postgres")
    query = f"copy ({sql}) to stdout (format binary)"
    with psycopg.Cursor(connection) as cursor, cursor.copy(query) as copy:
        raw = b"".join(bytes(block) for block in copy)
    body = raw[_HEADER:-2]
    width = int.from_bytes(body[:2], "big") if body else 0
    if not width:
        return [np.empty(0, np.int64) for _ in range(2)]
    row = np.dtype([("n", ">i2"), *[(f"{p}{i}", t) for i in range(width) for p, t in _FIELD]])
    table = np.frombuffer(body, row)
    return [table[f"v{i}"].astype(np.int64) for i in range(width)]


_FIELD = (("length", ">i4"), ("v", ">i8"))


# Open a table, view, partitioned or foreign table of PostgreSQL, where it is.
#
# What a column can be used for follows from its type alone.  A ``numeric`` may hold NaN and
# infinities, and may be far longer than any sum needs: NaN is missing, and such a column is read
# within +-10^38 and to 38 digits after the point, so that nothing overflows; but two of its values
# are equal, and two people one, only if all their digits are.  1.0 and 1.00 are one number.  Text
# of every type is compared by its characters, whatever its collation or its type calls equal;
# ``char(n)`` without the blanks at its end.  A time with a zone is a moment, and is read in UTC.


_SCHEMES = ("postgresql://", "postgres://")
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid"), "text"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "date"),
    "bool": "boolean",
}
_DIGITS = 38
_NAN = "cast('NaN' as numeric)"

_TABLES = """select n.nspname, c.relname, cast(c.oid as bigint),
    has_schema_privilege(n.oid, 'USAGE') and has_any_column_privilege(c.oid, 'SELECT')
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.relkind in ('r', 'v', 'm', 'f', 'p') and """
_COLUMNS = """with recursive base(place, typ, mod) as (
    select attnum, atttypid, atttypmod from pg_attribute
    where attrelid = {table} and attnum > 0 and not attisdropped
  union all
    select place, typbasetype, case when mod = -1 then typtypmod else mod end
    from base join pg_type on pg_type.oid = typ where typtype = 'd')
select attname, format_type(atttypid, atttypmod), typname,
    typnamespace = 'pg_catalog'::regnamespace, typtype = 'e', mod,
    has_column_privilege(attrelid, attnum, 'SELECT')
from base join pg_attribute on attrelid = {table} and attnum = place
    join pg_type on pg_type.oid = typ
where typtype <> 'd' order by place"""


def in_postgres(source: Any) -> bool:
    """True if a source is a URL of PostgreSQL or an open connection to one.

    >>> in_postgres("postgresql://ann@db.example/clinic"), in_postgres("visits.csv")
    (True, False)
    """
    if isinstance(source, str):
        return source.startswith(_SCHEMES)
    return type(source).__module__.partition(".")[0] in ("psycopg", "psycopg2")


def open_in_postgres(
    source: Any,
    table: str | None,
    memory_limit: str | None,
    threads: int | None,
    timeout: float | None,
) -> Opened:
    """Open a table over a URL, or over an open connection of psycopg."""
    if table is None:
        raise UsageError("name the table of the database, as in table='schema.visits'")
    link = _link(source)
    engine = PostgresEngine(link, timeout, memory_limit, threads)
    with closed_on_failure(engine):
        check_server(link.connection())
        return open_another_in_postgres(table, engine)


def open_another_in_postgres(table: str, engine: PostgresEngine) -> Opened:
    """Open a table of the database of an engine; see :func:`open_in_postgres`."""
    with engine.reading():
        match = _find(table, engine)
        columns = _columns(match, engine)
        label = f"{engine.connection.info.dbname}.{match.name}"
    schema = Schema([column.public(match.name) for column in columns])
    return Opened(label, schema, engine, _quoted(match, engine))


def _link(source: Any) -> Link:
    if isinstance(source, str):
        return OwnLink(source)
    if not (hasattr(source, "pgconn") and hasattr(source, "cancel_safe")) or type(
        source
    ).__name__.startswith("Async"):
        raise UsageError(
            f"a {type(source).__module__}.{type(source).__name__} cannot be read from: give "
            "psycopg.connect(...) of psycopg 3.2 or newer, or a URL such as "
            "'postgresql://user@host/database'"
        )
    return GivenLink(source)


class _Table(NamedTuple):
    schema: str
    table: str
    oid: int
    readable: bool

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"


class _CatalogColumn(NamedTuple):
    """A column as the catalogue describes it; ``base`` is the type below all domains."""

    name: str
    declared: str
    base: str
    built_in: bool
    enum: bool
    modifier: int
    readable: bool

    @property
    def kind(self) -> str:
        """The kind of its values, one of :data:`tacit.expressions.schema.KINDS`."""
        if self.enum or self.base == "citext":
            return "text"
        if not self.built_in:
            return "other"
        if self.base == "numeric":
            return "integer" if self.modifier >= 0 and self.scale <= 0 else "decimal"
        return _KINDS.get(self.base, "other")

    @property
    def scale(self) -> int:
        """The number of digits after the point, of a numeric with a precision."""
        return (((self.modifier - 4) & 0x7FF) ^ 0x400) - 0x400

    @property
    def digits(self) -> int:
        """The number of digits before the point, of a numeric with a precision."""
        return ((self.modifier - 4) >> 16 & 0xFFFF) - self.scale

    def public(self, table: str) -> Column:
        """Return what is public of it."""
        if not self.readable:
            problem = (
                f"may not be read by this user; ask the owner of {table} for GRANT SELECT on it"
            )
            return Column(self.name, "other", self.declared, problem, reads="")
        if self.base == "numeric" and self.built_in:
            itself = f"nullif({{x}}, {_NAN})"
            return Column(
                self.name, self.kind, self.declared, "", self._bounded(), itself, self._written()
            )
        if self.base == "timestamptz" and self.built_in:
            # by a number, since what a name of a zone means is a setting of the server; what is
            # infinite is missing, as on DuckDB
            utc = "(case when isfinite({x}) then {x} at time zone interval '0 seconds' end)"
            return Column(self.name, self.kind, "TIMESTAMP", reads=utc)
        if self.kind == "other":  # "is null" is true of a row of nulls too, which is there
            there = "(case when {x} is distinct from null then true end)"
            return Column(self.name, self.kind, self.declared, reads=there)
        # in capitals: the type DATE has no time, which the kind alone does not imply
        declared = self.declared.upper() if self.kind == "date" else self.declared
        return Column(self.name, self.kind, declared)

    def _bounded(self) -> str:
        """Return the SQL of a numeric without NaN, within the range that the plan computes in."""
        if self._short:
            return f"nullif({{x}}, {_NAN})"
        decimals = 0 if self.kind == "integer" else _DIGITS
        far = f"cast('1e{_DIGITS}' as numeric)"
        bounded = f"greatest(least(trunc({{x}}, {decimals}), {far}), -{far})"
        return f"(case when {{x}} < {_NAN} then {bounded} end)"

    def _written(self) -> str:
        """Return the SQL of a numeric as text: one of any scale without the zeros at its end."""
        # So it is written in one way, and a draw by that text is the same for all its rows.
        text = "cast({x} as text)"
        if self.modifier >= 0:
            return text
        return f"(case when scale({{x}}) > 0 then rtrim(rtrim({text}, '0'), '.') else {text} end)"

    @property
    def _short(self) -> bool:
        """True if all digits of a numeric are within those that the plan computes in."""
        return self.modifier >= 0 and self.digits <= _DIGITS and self.scale <= _DIGITS


def _find(table: str, engine: PostgresEngine) -> _Table:
    """Return the table, or refuse it; a name without a schema is that of the schema public."""
    d = engine.dialect
    name = d.literal(table)
    full = f"n.nspname || '.' || c.relname = {name}"
    exact = f"({full} or n.nspname = 'public' and c.relname = {name})"
    matches = [_Table(*row) for row in engine.rows(f"{_TABLES} {exact} order by {full} desc")]
    if matches:
        match = matches[0]
        if not match.readable:
            raise DataSourceError(
                f"no right to read {match.name}; its owner gives it with GRANT USAGE ON SCHEMA "
                f"{d.identifier(match.schema)} and GRANT SELECT ON {_quoted(match, engine)}"
            )
        return match
    own = "n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')"
    known = [_Table(*row) for row in engine.rows(f"{_TABLES} {own} order by 1, 2")]
    names = [t.name for t in known if t.readable]
    raise DataSourceError(
        f"there is no table {table!r} in the database; {did_you_mean(table, names)}"
    )


def _columns(table: _Table, engine: PostgresEngine) -> list[_CatalogColumn]:
    return [_CatalogColumn(*row) for row in engine.rows(_COLUMNS.format(table=table.oid))]


def _quoted(table: _Table, engine: PostgresEngine) -> str:
    return f"{engine.dialect.identifier(table.schema)}.{engine.dialect.identifier(table.table)}"
