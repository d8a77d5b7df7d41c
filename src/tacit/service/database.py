"""The database of a service."""

from __future__ import annotations

import asyncio
import hashlib
import os
import selectors
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeAlias, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import event, exc

from tacit.accounting.ledger_postgres import Address, is_address
from tacit.errors import UsageError
from tacit.postgres import (
    Done,
    Refused,
    Statement,
    connect,
    prepare_where_direct,
    read_options,
    run_all,
    with_defaults,
)
from tacit.service.problem import Problem

# The database of the service: a file of SQLite, or PostgreSQL for several machines.
#
# It stores what the ledgers do not: tokens, jobs, schedules, the audit
# log. No answer is in it, and no secret in a readable form.
#
# - Each owner of a table defines it on :data:`metadata`; :meth:`Database.create` makes what is
#   missing.
# - A transaction of SQLite starts with ``BEGIN IMMEDIATE``, which takes the only write lock
#   before anything is read.  Threads of one process wait in line for it: SQLite itself has them
#   sleep and try again, ever longer, and the lock lies free meanwhile.  On PostgreSQL a
#   transaction that reads and then writes names a ``lock``, which the others of that name wait
#   for.
# - A transaction that may be done again (``durable=False``) does not wait for the disk: it is lost
#   only where the machine stops, and the next durable one takes it to the disk as well.
# - An error of the database is not passed on: it could contain a value, an address or a password.


metadata = sa.MetaData()  # every module defines its tables on it

VERSION = 1  # of the tables of this release; a newer one is refused

_versions = sa.Table(
    "tacit_service",
    metadata,
    sa.Column("one", sa.Integer, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("key", sa.String(64)),
)
_TIMEOUT = 30.0  # seconds to wait for another writer
_POOL = 8  # connections that a process keeps open
_OVERFLOW = 24
_NOT_DURABLE = "SET LOCAL synchronous_commit = off"
_USED = "tacit_used"  # of a pooled connection: when it was used last
_FRESH = 5.0  # seconds for which a connection that says nothing is taken for open
_LEVEL = "tacit_synchronous"  # of a connection: whether the next transaction waits for the disk
_WAITING = "tacit_waiting"  # of a server's connection: statements that go with the next one

# Prepared statements: those of every request and every job.
#
# SQLAlchemy takes ten times as long to run a statement as SQLite takes to answer it.  So the text
# of these is made once for each engine, and goes to the driver itself: on a connection that is
# open for reading, or within a transaction, on the connection of that.


class _Text(NamedTuple):
    """A statement in the words of one driver."""

    text: str
    order: tuple[str, ...]  # of its parameters
    given: dict[str, Any]  # the parameters that the statement itself has
    binds: dict[str, Callable[[Any], Any]]  # conversions of parameters
    columns: tuple[str, ...]
    results: dict[int, Callable[[Any], Any]]  # conversions of columns

    def values(self, given: dict[str, Any]) -> list[Any]:
        """Return the parameters as the driver takes them."""
        values = {**self.given, **given} if self.given else given
        if self.binds:
            values = {**values, **{n: convert(values[n]) for n, convert in self.binds.items()}}
        return [values[name] for name in self.order]


Statements: TypeAlias = Sequence[Statement]


class Prepared:
    """A statement whose text is made once for each kind of database.

    >>> import tempfile
    >>> after = Prepared(sa.select((sa.bindparam("x", type_=sa.Integer) + 1).label("after")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Database(f"sqlite:///{folder}/service.db") as database:
    ...         database.mappings(after, x=1), database.scalar(after, x=2)
    ([{'after': 2}], 3)
    """

    # columns: those that an insertion sets.

    def __init__(
        self,
        statement: sa.Select[*tuple[Any, ...]] | sa.Insert | sa.Update,
        columns: list[str] | None = None,
    ) -> None:
        self._statement, self._columns = statement, columns
        self._texts: dict[str, _Text] = {}

    def rows(self, run: sa.Connection, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of the statement in a transaction."""
        return self._done(run, values)[0].rows

    def rows_of_each(
        self, run: sa.Connection, each: Sequence[dict[str, Any]]
    ) -> list[list[tuple[Any, ...]]]:
        """Run the statement in a transaction for each of some values; return its rows of each."""
        return [one.rows for one in self._done(run, *each)]

    def mappings(self, run: sa.Connection, **values: Any) -> list[dict[str, Any]]:
        """Return the rows of the statement in a transaction, by the names of the columns."""
        return self.named(self.rows(run, **values), run.dialect)

    def change(self, run: sa.Connection, **values: Any) -> int:
        """Run the statement in a transaction; return how many rows it changed."""
        return self._done(run, values)[0].changed

    def add(self, run: sa.Connection, **values: Any) -> None:
        """Run the statement before the next one of a transaction, or its end."""
        waiting = run.info.get(_WAITING)
        if waiting is None:
            self._done(run, values)
        else:
            waiting.append(self.filled(run.dialect, values))

    def done(
        self, connection: Any, dialect: sa.Dialect, *each: dict[str, Any], first: Statements = ()
    ) -> list[Done]:
        """Run some statements, and then this one of each of some values."""
        # connection: of the driver.  first: for a server; with these it is one message.
        made = self.text(dialect)
        statements = [*first, *(self.filled(dialect, values) for values in each)]
        try:
            if dialect.name == "postgresql":
                done = run_all(connection, statements)[len(first) :]
            else:
                done = [_done_in_file(connection, *statement) for statement in statements]
        except BaseException as error:
            raise _as_sqlalchemy(error, dialect) from None
        if not made.results:
            return done
        same: Callable[[Any], Any] = lambda value: value  # noqa: E731
        results = made.results
        return [
            Done([tuple(results.get(i, same)(v) for i, v in enumerate(r)) for r in rows], changed)
            for rows, changed in done
        ]

    def filled(self, dialect: sa.Dialect, values: dict[str, Any]) -> Statement:
        """Return the statement with its values, as the driver takes them."""
        made = self.text(dialect)
        return made.text, made.values(values)

    def named(self, rows: list[tuple[Any, ...]], dialect: sa.Dialect) -> list[dict[str, Any]]:
        columns = self.text(dialect).columns
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def _done(self, run: sa.Connection, *each: dict[str, Any]) -> list[Done]:
        first = _taken(run)
        return self.done(run.connection.driver_connection, run.dialect, *each, first=first)

    @property
    def query(self) -> sa.Select[*tuple[Any, ...]]:
        if not isinstance(self._statement, sa.Select):
            raise TypeError("the statement reads nothing")
        return self._statement

    def text(self, dialect: sa.Dialect) -> _Text:
        made = self._texts.get(dialect.name)
        if made is None:
            made = self._texts[dialect.name] = self._made(dialect)
        return made

    def _made(self, dialect: sa.Dialect) -> _Text:
        if dialect.name == "postgresql":  # as libpq takes them
            dialect = type(dialect)(paramstyle="numeric_dollar")  # type: ignore[call-arg]
        compiled: Any = self._statement.compile(dialect=dialect, column_keys=self._columns)
        if compiled.post_compile_params:
            raise TypeError("a prepared statement has no lists and no values in its text")
        binds = {name: compiled.binds[name] for name in compiled.bind_names.values()}
        types = {name: bind.type.dialect_impl(dialect) for name, bind in binds.items()}
        writers = {name: kind.bind_processor(dialect) for name, kind in types.items()}
        columns = list(self._statement.exported_columns)
        readers = {  # a number of a database is a float or an integer already
            index: column.type.dialect_impl(dialect).result_processor(dialect, None)
            for index, column in enumerate(columns)
            if not isinstance(column.type, (sa.Numeric, sa.Float))
        }
        return _Text(
            str(compiled),
            tuple(compiled.positiontup),
            {name: bind.value for name, bind in binds.items() if not bind.required},
            {name: convert for name, convert in writers.items() if convert is not None},
            tuple(str(column.key) for column in columns),
            {i: convert for i, convert in readers.items() if convert is not None},
        )


class Together:
    """Statements of one row at most each, which a server runs as one.

    >>> one, two = (Prepared(sa.select(sa.literal(n).label("n"))) for n in (1, 2))
    >>> Together(one, two).split([(True, 1, True, 2)]) == {one: [(1,)], two: [(2,)]}
    True
    """

    def __init__(self, *statements: Prepared) -> None:
        found, columns = sa.select(sa.literal(1)).subquery(), list[sa.ColumnElement[Any]]()
        joined: Any = found
        for number, one in enumerate(statements):
            query = one.query.add_columns(sa.true().label("is_there")).subquery()
            joined = joined.outerjoin(query, sa.true())
            own = [query.c.is_there, *(column for column in query.c if column.key != "is_there")]
            columns += [column.label(f"of_{number}_{column.key}") for column in own]
        self.statement, self._parts = Prepared(sa.select(*columns).select_from(joined)), statements

    def split(self, rows: Sequence[Sequence[Any]]) -> dict[Prepared, list[tuple[Any, ...]]]:
        """Return the rows of each statement."""
        (values,), parts = map(iter, rows), {}
        for one in self._parts:
            is_there = next(values)
            row = tuple(next(values) for _ in one.query.exported_columns)
            parts[one] = [row] if is_there else []
        return parts


# What was read ahead for the request that this context is of: for which values, and the rows.
_Ahead = tuple[dict[str, Any], dict[Prepared, list[tuple[Any, ...]]]]
_ahead: ContextVar[_Ahead] = ContextVar("ahead", default=({}, {}))


def _as_sqlalchemy(error: BaseException, dialect: sa.Dialect) -> BaseException:
    """Return an error of a driver as SQLAlchemy raises it, without the statement."""
    dbapi: Any = dialect.dbapi
    if not isinstance(error, dbapi.Error):
        return error
    kinds = (exc.IntegrityError, exc.DataError, exc.OperationalError)
    kind = next((k for k in kinds if isinstance(error, getattr(dbapi, k.__name__))), exc.DBAPIError)
    return kind(None, None, error, hide_parameters=True)


def _done_in_file(connection: Any, text: str, values: Sequence[Any]) -> Done:
    cursor = connection.execute(text, values)
    done = Done(cursor.fetchall(), cursor.rowcount)
    cursor.close()
    return done


def _taken(run: sa.Connection) -> Statements:
    """Return the statements that wait in a transaction, for who runs them."""
    waiting = run.info.get(_WAITING, [])
    taken = tuple(waiting)
    waiting.clear()
    return taken


def _run_waiting(run: sa.Connection, *more: str) -> None:
    """Run what waits in a transaction, and some statements without values."""
    statements = [*_taken(run), *((text, ()) for text in more)]
    if statements:
        try:
            run_all(cast("Any", run.connection.driver_connection), statements)
        except BaseException as error:
            raise _as_sqlalchemy(error, run.dialect) from None


class _OpenConnections:
    """Connections that stay open: of the driver, for statements that read alone, and a writer."""

    # Of those that read the latest one is taken first.  One whose server went away is closed, with
    # all that wait, and the statement is run again on a new one: it only reads.  The writer is
    # that of a file, which one thread at a time writes to.

    def __init__(self, engine: sa.Engine) -> None:
        self._engine, self._dialect = engine, engine.dialect
        self._process, self._idle = os.getpid(), list[Any]()
        self._writer: sa.Connection | None = None
        self._writers: list[sa.Connection] = []  # of a server: of those that write

    @contextmanager
    def writer(self) -> Iterator[sa.Connection]:
        """Lend the writer; after an error it is closed."""
        self._refuse_inherited()
        connection, self._writer = self._writer or self._engine.connect(), None
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._writer = connection

    @contextmanager
    def server_writer(self, *begin: str) -> Iterator[sa.Connection]:
        """Lend a connection on which some statements begin a transaction of a server."""
        # They go with the first statement of it, and its end with those that wait by then.
        self._refuse_inherited()
        connection = self._open_writer()
        info = connection.info
        info[_WAITING] = [(text, ()) for text in begin]
        try:
            with connection.begin():
                yield connection
                _run_waiting(connection, "COMMIT")
        except BaseException:
            del info[_WAITING]
            connection.close()
            raise
        del info[_WAITING]
        if len(self._writers) < _POOL:
            self._writers.append(connection)
        else:
            connection.close()

    def _open_writer(self) -> sa.Connection:
        """Return a connection of which nothing was heard since it was used: its end would be."""
        while self._writers:
            with suppress(IndexError):
                connection = self._writers.pop()
                if _is_quiet(connection.connection.driver_connection):
                    return connection
                connection.invalidate()
                connection.close()
        return self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def _refuse_inherited(self) -> None:
        """Forget, in a forked process, the connections of the process that it was forked from."""
        if self._process != os.getpid():
            # closed they would take locks with them
            self._inherited = self._idle, self._writer, self._writers
            self._process, self._idle, self._writer = os.getpid(), [], None
            self._writers = []

    def rows(self, statement: Prepared, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        self._refuse_inherited()
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._rows(self._connect(), statement, values)
        try:
            return self._rows(connection, statement, values)
        except exc.OperationalError:
            while self._idle:
                with suppress(IndexError):
                    self._idle.pop().close()
            return self._rows(self._connect(), statement, values)

    def _connect(self) -> Any:
        pooled = self._engine.raw_connection()
        connection: Any = pooled.driver_connection
        pooled.detach()
        if self._dialect.name == "postgresql":
            connection.rollback()
            connection.autocommit = True
        return connection

    def _rows(
        self, connection: Any, statement: Prepared, values: dict[str, Any]
    ) -> list[tuple[Any, ...]]:
        try:
            (done,) = statement.done(connection, self._dialect, values)
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < _POOL:
            self._idle.append(connection)
        else:
            connection.close()
        return done.rows

    def close(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        while self._writers:
            with suppress(IndexError):
                self._writers.pop().close()


class Database:
    """The database at an address; closed at the end of a ``with``, or with its last reference.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Database(f"sqlite:///{folder}/service.db") as database:
    ...         database.create()
    ...         with database.begin() as transaction:
    ...             found = transaction.execute(sa.text("select 1 + 1")).scalar()
    >>> found
    2
    """

    def __init__(self, address: str) -> None:
        self.on_server = is_address(address)
        self._writing = threading.Lock()
        if self.on_server:
            self._engine, self.name = _on_server(address)
        elif address.startswith("sqlite:///"):
            self._engine, self.name = _in_file(Path(address.removeprefix("sqlite:///")))
        else:
            raise UsageError(
                "the database of the service is a file, database = 'service.db', or a server, "
                "database = 'postgresql://user@host/database'"
            )
        self._reader = self._engine.execution_options(tacit_begin="BEGIN")
        # A statement that reads on its own needs no transaction around it.
        self._single = self._engine.execution_options(
            tacit_begin=None, **({"isolation_level": "AUTOCOMMIT"} if self.on_server else {})
        )
        self._open = _OpenConnections(self._engine)
        self._finalizer = weakref.finalize(self, _close, self._engine, self._open, os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(self) -> None:
        """Create missing tables, once for all processes that start together."""
        try:
            with self.begin(lock="tables") as run:
                there = {  # asked once, not of each
                    name: {column["name"] for column in columns}
                    for (_, name), columns in sa.inspect(run).get_multi_columns().items()
                }
                missing = [table for table in metadata.sorted_tables if table.name not in there]
                metadata.create_all(run, missing, checkfirst=False)
                for table in metadata.sorted_tables:  # an earlier release had fewer
                    if table not in missing:
                        _complete(run, table, there[table.name])
                version = run.execute(sa.select(_versions.c.version)).scalar()
                if version is None:
                    run.execute(_versions.insert().values(one=1, version=VERSION))
        except Problem as error:
            raise UsageError(f"{self.name} cannot be used: {error.message}") from None
        if version is not None and version > VERSION:
            raise UsageError(
                f"{self.name} was made by a newer Tacit (format {version}, and this one reads "
                f"{VERSION}): upgrade Tacit on this machine"
            )

    @contextmanager
    def begin(
        self, lock: str | int | None = None, *, durable: bool = True
    ) -> Iterator[sa.Connection]:
        """Run one transaction: committed at the end, rolled back if anything is raised."""
        # lock: its name or number; durable: whether its end waits for the disk.
        with _hidden_errors(), self._write_lock(), self._writer(lock, durable) as connection:
            yield connection

    def alone(self, statement: Prepared, **values: Any) -> list[tuple[Any, ...]]:
        """Run a statement that writes, in a transaction that does not wait for the disk."""
        # Returns: its rows, where it returns some.
        with self.begin(durable=False) as run:
            return statement.rows(run, **values)

    @contextmanager
    def _writer(self, lock: str | int | None, durable: bool) -> Iterator[sa.Connection]:
        """Begin a transaction that writes."""
        if self.on_server:
            begin = ["BEGIN", *([] if durable else [_NOT_DURABLE])]
            if lock is not None:
                number = lock if isinstance(lock, int) else _number(lock)
                begin.append(f"SELECT pg_advisory_xact_lock({number})")
            with self._open.server_writer(*begin) as connection:
                yield connection
            return
        with self._open.writer() as connection:
            connection.info[_LEVEL] = "FULL" if durable else "NORMAL"
            with connection.begin():
                yield connection

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Wait until no other thread of this process writes to the file."""
        if self.on_server:
            yield
            return
        if not self._writing.acquire(timeout=_TIMEOUT):
            raise _unavailable("others write to it")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Read one state; waits for no writer on either engine."""
        with _hidden_errors(), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self, run: sa.Connection | None) -> Iterator[sa.Connection]:
        """Read in a transaction that is open, where there is one."""
        with nullcontext(run) if run is not None else self.read() as connection:
            yield connection

    @contextmanager
    def ahead(self, together: Together, **values: Any) -> Iterator[None]:
        """Read from a server now what the block is going to read, of these values, once each."""
        # A way there and back takes longer than a statement; of a file a statement is enough.
        if not self.on_server:
            yield
            return
        outer = _ahead.set((values, together.split(self.rows(together.statement, **values))))
        try:
            yield
        finally:
            _ahead.reset(outer)

    def _prepared(self, query: Prepared, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        known, read = _ahead.get()
        if query in read and values.items() <= known.items():
            return read.pop(query)
        return self._open.rows(query, values)

    def rows(self, query: Prepared | sa.Select[*tuple[Any, ...]], **values: Any) -> Sequence[Any]:
        """Return the rows of a query, of one state."""
        with _hidden_errors():
            if isinstance(query, Prepared):
                return self._prepared(query, values)
            with self._single.connect() as run:
                return run.execute(query, values).all()

    def mappings(
        self, query: Prepared | sa.Select[*tuple[Any, ...]], **values: Any
    ) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a query by the names of its columns, of one state."""
        with _hidden_errors():
            if isinstance(query, Prepared):
                return query.named(self._prepared(query, values), self._engine.dialect)
            with self._single.connect() as run:
                return cast("Sequence[Any]", run.execute(query, values).mappings().all())

    def scalar(self, query: Prepared | sa.Select[*tuple[Any, ...]], **values: Any) -> Any:
        """Return the first column of the first row of a query; None where it has no row."""
        rows = self.rows(query, **values)
        return rows[0][0] if rows else None

    def reachable(self) -> bool:
        """Return True if the database answers and its tables exist."""
        try:
            return self.scalar(sa.select(_versions.c.version)) is not None
        except (Problem, exc.SQLAlchemyError):
            return False

    def clock_ahead(self) -> float:
        """Return the seconds by which this machine's clock is ahead of the database's."""
        if not self.on_server:
            return 0.0
        with self.read() as run:
            there = run.execute(sa.text("select extract(epoch from clock_timestamp())")).scalar()
        return time.time() - float(there or 0)

    def register_key(self, digest: str) -> bool:
        """Store the digest of the key that signs tokens; return False if another one is stored."""
        # Several machines on one database must sign with one key.
        with self.begin(lock="tables") as run:
            stored = run.execute(sa.select(_versions.c.key)).scalar()
            if stored is None:
                run.execute(_versions.update().values(key=digest))
        return stored in (None, digest)

    def close(self) -> None:
        """Close all connections; a later transaction opens new ones."""
        self._open.close()
        self._engine.dispose()


def _close(engine: sa.Engine, connections: _OpenConnections, process: int) -> None:
    """Close the connections, except in a process forked from the one that opened them."""
    if os.getpid() == process:
        connections.close()
        engine.dispose()


def _complete(run: sa.Connection, table: sa.Table, there: set[str]) -> None:
    """Add the columns and indexes that a table does not have yet; a new column may be null."""
    for column in table.columns:
        if column.name not in there:
            added = sa.schema.CreateColumn(column).compile(dialect=run.dialect)
            run.execute(sa.text(f"alter table {table.name} add column {added}"))
    for index in table.indexes:
        run.execute(sa.schema.CreateIndex(index, if_not_exists=True))


@contextmanager
def _hidden_errors() -> Iterator[None]:
    """Replace errors of the database: their text may quote values and addresses."""
    try:
        yield
    except exc.IntegrityError:
        raise  # two wrote the same row: the caller handles it
    except exc.DataError:  # PostgreSQL's, of NUL
        message = "a text of the request has a character that the service cannot store"
        raise Problem("invalid_request", message, "leave out the character NUL") from None
    except exc.SQLAlchemyError as error:
        state = getattr(getattr(error, "orig", None), "sqlite_errorname", "")
        cause = "its disk is full" if state == "SQLITE_FULL" else "it cannot be reached or written"
        raise _unavailable(cause) from None


def _unavailable(cause: str) -> Problem:
    return Problem(
        "unavailable",
        f"the service's own database failed: {cause}",
        "try again in a minute; the operator sees more with tacit serve check",
    )


def _number(lock: str) -> int:
    """Return an integer of 63 bits for the name of a lock."""
    return int.from_bytes(hashlib.sha256(f"tacit {lock}".encode()).digest()[:8], "big") >> 1


def _in_file(path: Path) -> tuple[sa.Engine, str]:
    name = f"the database {str(path)!r}"
    try:
        # Made before SQLite does, so that no one else can ever read it.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise UsageError(f"{name} cannot be opened: {error.strerror}") from None
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        hide_parameters=True,
        pool_size=_POOL,
        max_overflow=_OVERFLOW,
        connect_args={"timeout": _TIMEOUT, "check_same_thread": False, "isolation_level": None},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine, name


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # Of several processes that create a file at once SQLite refuses this to all but one, and does
    # not wait as it does for a transaction.
    end = time.monotonic() + _TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: sa.Connection) -> None:
    how = connection.get_execution_options().get("tacit_begin", "BEGIN IMMEDIATE")
    driver: Any = connection.connection.driver_connection
    if how == "BEGIN IMMEDIATE":
        driver.execute(f"PRAGMA synchronous = {connection.info.get(_LEVEL, 'FULL')}")
    if how is not None:
        driver.execute(how)


def _on_server(address: str) -> tuple[sa.Engine, str]:
    if "ledger=" in address.partition("?")[2]:
        raise UsageError("the database of the service has no ?ledger=: leave it out")
    read = Address.parse(address)
    name = f"the database {read.shown.partition('?')[0]!r}"
    options = read_options(read.connect)
    if options is None:
        raise UsageError("the address of the service's database cannot be read")
    all_options = with_defaults(options, tcp_user_timeout="30000")

    def connected() -> Any:
        made = connect(all_options)
        if isinstance(made, Refused):
            raise Problem("unavailable", "the service's own database refuses the connection")
        prepare_where_direct(made)
        made.autocommit = False
        return made

    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=connected,
        hide_parameters=True,
        pool_size=_POOL,
        max_overflow=_OVERFLOW,
    )
    event.listen(engine, "before_cursor_execute", lambda run, *_: _run_waiting(run))
    event.listen(engine, "checkin", _used)
    event.listen(engine, "checkout", _ping)
    return engine, name


def _used(_connection: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()


def _ping(connection: Any, record: Any, _proxy: Any) -> None:
    """Refuse a pooled connection that was cut: the pool then opens another one."""
    # To ask the server is a way there and back.  One that was used a moment ago, and of which
    # nothing was heard since, is open: its end would have been heard.
    used = record.info.get(_USED)
    if used is None or (time.monotonic() - used < _FRESH and _is_quiet(connection)):
        return
    try:
        connection.execute("select 1")
        connection.rollback()
    except Exception:
        raise exc.DisconnectionError from None


def _is_quiet(connection: Any) -> bool:
    with selectors.DefaultSelector() as found:
        found.register(connection.fileno(), selectors.EVENT_READ)
        return not found.select(0)


# What requests write at once, in one transaction: one wait for the disk.
#
# An item is written once someone waits for it, with all others that wait by then.  A thread that
# waits writes them itself; a request waits in its loop, and what the loop has by its next turn is
# written by a thread of the group's own, as is what comes meanwhile.  So of many at once each waits
# for two transactions at most, and not for as many as there are others.  Who waits continues when
# its own part is committed, and not before.


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Made = TypeVar("_Made")


class Pending(Generic[_Item, _Result]):
    """An item that is being written."""

    def __init__(self, item: _Item, group: GroupCommit[_Item, _Result] | None = None) -> None:
        self.item, self._group = item, group
        self._lock = threading.Lock()
        self._over = False
        self._turn: threading.Event | None = None
        self._future: asyncio.Future[None] | None = None
        self._result: _Result | BaseException | None = None

    def end(self, result: _Result | BaseException) -> asyncio.Future[None] | None:
        """Set what came of it; return the future of the loop that waits for it."""
        with self._lock:
            self._result, self._over = result, True
            if self._turn is not None:
                self._turn.set()
            return self._future

    def wait(self) -> _Result:
        """Return its result once it is committed, or raise its error; waits in this thread."""
        if self._group is not None:
            self._group.write()
        with self._lock:
            turn = self._turn = None if self._over else self._turn or threading.Event()
        if turn is not None:
            turn.wait()
        return self._outcome()

    async def waited(self) -> _Result:
        """Return its result as :meth:`wait`; waits in the loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._over:
                self._future = loop.create_future()
        if self._future is not None:
            if self._group is not None:
                loop.call_soon(self._group.write_apart)
            await self._future
        return self._outcome()

    def _outcome(self) -> _Result:
        if isinstance(self._result, BaseException):
            raise self._result
        return cast("_Result", self._result)


class Later(Generic[_Made]):
    """What is made of the result of an item once it is committed."""

    def __init__(self, pending: Pending[Any, _Result], make: Callable[[_Result], _Made]) -> None:
        # make: is quick, since it may be called in the loop.
        self._pending, self._make = pending, make

    @staticmethod
    def now(made: _Made) -> Later[_Made]:
        """Return what is there already."""
        pending: Pending[None, _Made] = Pending(None)
        pending.end(made)
        return Later(pending, lambda result: result)

    def then(self, make: Callable[[_Made], _Result]) -> Later[_Result]:
        """Return what is made of what is made."""
        return Later(self._pending, lambda result: make(self._make(result)))

    def wait(self) -> _Made:
        """Wait in this thread."""
        return self._make(self._pending.wait())

    async def waited(self) -> _Made:
        """Wait in the loop."""
        return self._make(await self._pending.waited())


class GroupCommit(Generic[_Item, _Result]):
    """Writes the items of several threads in batches.

    >>> GroupCommit(lambda items: [item + 1 for item in items], 100)(1)
    2
    """

    def __init__(
        self, write: Callable[[list[_Item]], Sequence[_Result | BaseException]], size: int
    ) -> None:
        # write: writes items in one transaction, and returns of each its result or its error.
        # size: items in one transaction at most: others of the database wait for its end.
        self._write, self._size = write, size
        self._lock = threading.Lock()
        self._waiting: list[Pending[_Item, _Result]] = []
        self._writing = False
        self._thread = ThreadPoolExecutor(1, "tacit writer")  # starts with its first work

    def __call__(self, item: _Item) -> _Result:
        """Write an item; return its result once it is committed, or raise its error."""
        return self.add(item).wait()

    def add(self, item: _Item) -> Pending[_Item, _Result]:
        """Add an item, which is written once someone waits for it."""
        mine = Pending(item, self)
        with self._lock:
            self._waiting.append(mine)
        return mine

    def write(self) -> None:
        """Write what waits, unless it is being written: one batch here, the rest apart."""
        if self._begin() and self._write_waiting():
            self._write_rest_apart()

    def write_apart(self) -> None:
        """Have what waits written in the group's own thread."""
        if self._begin():
            self._write_rest_apart()

    def _begin(self) -> bool:
        """Return whether the caller is to write: there is something, and no one does."""
        with self._lock:
            if self._writing or not self._waiting:
                return False
            self._writing = True
            return True

    def _write_rest_apart(self) -> None:
        try:
            self._thread.submit(self._write_rest)
        except RuntimeError:  # the process ends
            self._write_rest()

    def _write_rest(self) -> None:
        while self._write_waiting():
            pass

    def _write_waiting(self) -> bool:
        """Write the waiting items, in the order in which they came; return whether more wait."""
        with self._lock:
            batch, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
        results: Sequence[_Result | BaseException]
        try:
            results = self._write([one.item for one in batch])
            if len(results) != len(batch):
                raise AssertionError("each item has a result")
        except BaseException as error:
            results = [error] * len(batch)
        _wake([one.end(result) for one, result in zip(batch, results, strict=True)])
        with self._lock:
            self._writing = bool(self._waiting)
            return self._writing


def _wake(futures: list[asyncio.Future[None] | None]) -> None:
    """Wake those who wait in a loop, of each loop all at once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        if future is not None:
            by_loop.setdefault(future.get_loop(), []).append(future)
    for loop, its in by_loop.items():
        with suppress(RuntimeError):  # it is closed, and no one waits
            loop.call_soon_threadsafe(_set, its)


def _set(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
