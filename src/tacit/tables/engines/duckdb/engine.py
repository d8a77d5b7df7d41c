"""DuckDB: its statements, and the columns that it reads."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import re
import secrets
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.schema import Column, Schema, kind_of
from tacit.tables.engines.base import (
    AddByPlace,
    EngineMemoryError,
    Part,
    interruptible,
    new_name,
    refuse_like_names,
)
from tacit.tables.engines.duckdb.divided_rows import (
    WHOLE_TYPES,
    DividedRows,
    StreamError,
    batches,
    narrowed,
    occurrences,
)
from tacit.tables.engines.duckdb.instances import LIMITS, Instance, idle, read_limits, shared

if TYPE_CHECKING:
    import duckdb

# How DuckDB writes the integer plan: the defaults of :class:`Dialect`.


DUCKDB = Dialect("duckdb", keeps=True, rounds_twice=True, far_times=("TIMESTAMP_S", "TIMESTAMP_MS"))


# Statements that were planned recently: the next question that asks the same need not be parsed.
#
# DuckDB takes as long to parse and to plan a small query as to run it.  It plans a statement again
# whenever it is run, but a parsed statement saves parsing it again.  The process caches those of
# its latest questions: their text is made from a question, and whether it can be planned follows
# from the text and the types of the table.  Both are public; no row has a part in it.


_MAX_STATEMENTS = 64
_LONGEST = 1 << 16


class PlannedStatements:
    """Parsed statements by their text and the shape of the table that they were planned for.

    >>> import duckdb
    >>> known = PlannedStatements()
    >>> sql = "select 1"
    >>> known.keep("one", sql, duckdb.extract_statements(sql)[0])
    >>> known.get("one", sql).query, known.get("other", sql)
    ('select 1', None)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], duckdb.Statement] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, shape: str, sql: str) -> duckdb.Statement | None:
        """Return a statement that was planned for a table of this shape, if it is cached."""
        return self._known.get((shape, sql))

    def keep(self, shape: str, sql: str, statement: duckdb.Statement) -> None:
        """Cache a planned statement; the oldest one is evicted for it."""
        if len(sql) > _LONGEST:
            return
        with self._lock:
            self._known[shape, sql] = statement
            while len(self._known) > _MAX_STATEMENTS:
                self._known.popitem(last=False)

    def forget(self, shape: str, sql: str) -> None:
        """Forget a statement that failed: it is planned again before it is run."""
        with self._lock:
            self._known.pop((shape, sql), None)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._known.clear()


planned_statements = PlannedStatements()  # those of this process


# DuckDB, in memory, in this process: with bounded memory and a private folder to spill to.


_MAX_THREADS = 1024
# Bytes that an aggregate of ours takes in each thread for one value of what it groups by.
_STATE = 64
_ARRAYS_SHARE = 8  # the part of the memory that rows in arrays may take
_MOST_ROWS = (1 << 32) - 1  # rows of one place that 32 bits count
# With this many rows in memory, a query ends before a person could interrupt it.
_SMALL = 1 << 16
_BITS = range(12, 25)  # from DuckDB's own default on
# Rows that wait in each thread to be written in parts, and how many of each part at least.
_WAITING, _WAITING_OF_PART = 20_000, 500
# How many rows a group of such a file has, where all that are not full take this share of memory.
_GROUP, _SHARE = (2_048, 122_880), 4
# Bytes that a column of a part takes at most, in arrays and where it is added up from them.
_STORED_COLUMN = 8
# Types whose values a Parquet file of DuckDB's own holds as they are.
_STORED_AS_THEY_ARE = {
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"),
    *("UBIGINT", "DOUBLE", "VARCHAR", "DATE"),
}


class DuckEngine:
    """DuckDB, in memory, in this process."""

    # memory_limit: such as ``"4GB"``: how far the process may grow by the engine's work.  Three
    #   quarters of it are DuckDB's own limit, the rest is for its other data.  Beyond its
    #   limit DuckDB spills to a private folder that is removed on closing and at exit, or by the
    #   next start where the process was killed. What it writes there is enciphered, but by its
    #   built-in cipher, which its makers do not call secure: the folder's privacy is what counts.
    #   Default: DuckDB's own (80% of the machine).
    # connection: an open DuckDB connection to work in instead; its settings stay as they are.
    # alone: whether it has an instance of DuckDB to itself, rather than the one that is shared
    #   (:mod:`tacit.tables.engines.duckdb.engine`); one with limits always has.
    #
    # DataSourceError: anything that the engine raises.  Its own message may quote rows of the data,
    # so the message and the exception are dropped; only their class is shown.

    dialect = DUCKDB

    def __init__(
        self,
        memory_limit: str | None = None,
        threads: int | None = None,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        alone: bool = True,
    ) -> None:
        # DuckDB would start a million threads, and bring the machine down
        if threads is not None and as_integer(threads, "threads", minimum=1) > _MAX_THREADS:
            raise UsageError(f"threads is at most {_MAX_THREADS}, not {threads}")
        # and would take a size below zero for no limit at all
        if str(memory_limit).strip().startswith("-"):
            raise UsageError(f"memory_limit is a size such as '4GB', not {memory_limit!r}")
        self._lock = threading.RLock()
        self._counted: str | int = 0
        self._pending: list[Callable[[], None]] = []
        self._checks: list[Callable[[], None]] = []
        self._is_dry_run = False
        self._shape = ""
        self._owns_rows = self._reads_in_place = False
        self._ends_soon = self._confined = False
        self._registered = itertools.count(1)
        self._repairs: dict[str, list[Callable[[], None]]] = {}
        self._instance: Instance | None = None
        then: Callable[[], object] | None = None
        if connection is not None:
            if memory_limit is not None or threads is not None:
                raise UsageError("set memory_limit and threads on the DuckDB connection itself")
            with open_connection():
                self._connection = connection.cursor()  # its temporary tables are its own
        elif memory_limit is not None or threads is not None:
            self._instance = Instance(memory_limit, threads)
            self._connection, then = self._instance.connection(), self._instance.end
        elif alone:
            self._instance = idle.take()
            self._connection = self._instance.connection()
            then = partial(idle.give_back, self._instance)
        else:
            self._instance, self._connection = shared.borrow()
            then = partial(shared.give_back, self._instance)
        self.folder = None if self._instance is None else self._instance.folder.path
        self._close = weakref.finalize(self, _shut, self._connection, then)

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """The bytes that its data may use, and its threads."""
        if self._instance is not None:
            return self._instance.limits
        return read_limits(self._run(LIMITS, "fetchall"))

    @property
    def memory(self) -> int:
        """The bytes that the data in the engine may use."""
        return self._limits[0]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        self._prepare()
        return list(self._run(sql, "fetchall"))

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query of 64-bit integer columns and return the columns."""
        self._prepare()
        columns = map(np.ma.getdata, self._run(sql, "fetchnumpy").values())
        return [c.astype(np.int64, casting="safe", copy=False) for c in columns]

    def stream(self, sql: str) -> Any:
        """Return a relation that is a query."""
        return self._connection.sql(sql)

    def is_changed(self) -> None:
        """Note that its instance is not as it was made: no other table may have it."""
        if self._instance is not None:
            self._instance.as_made = False

    def confine(self) -> None:
        """Deny the engine all files but those of databases that are attached, for good."""
        self.is_changed()
        self._confined = True
        self.rows("set enable_external_access = false")
        self.rows("set lock_configuration = true")

    def attached(self, file: str) -> str:
        """The name of a database in a file, which is attached for reading where it is not."""
        known = self.rows("select database_name, path from duckdb_databases() where path <> ''")
        for name, path in known:
            if os.path.exists(path) and os.path.samefile(path, file):
                return str(name)
        name = new_name()
        import duckdb

        with self._lock:
            try:
                self._connection.execute(
                    f"attach {self.dialect.literal(file)} as {name} (read_only)"
                )
                if self._instance is not None:
                    self._instance.attached.append(name)
                return name
            except duckdb.Error as error:
                failure = _unattached(str(error))
        raise DataSourceError(f"{file} {failure}")

    def materialise(self, sql: str) -> str:
        """Store the result of a query as a temporary table; return its quoted name."""
        self._prepare()
        name = self.dialect.identifier(new_name())
        self._run(f"create temporary table {name} as {sql}", "fetchall")
        return name

    def empty_table(self, columns: Mapping[str, str]) -> str:
        """Make a temporary table with columns of these types; return its quoted name."""
        name = self.dialect.identifier(new_name())
        listed = ", ".join(f"{self.dialect.identifier(c)} {t}" for c, t in columns.items())
        self._run(f"create temporary table {name} ({listed})", "fetchall", reads=False)
        return name

    def view(self, sql: str, name: str = "") -> str:
        """Make a temporary view, or another one of a name that is there; return its quoted name."""
        name = name or self.dialect.identifier(new_name())
        self._run(f"create or replace temporary view {name} as {sql}", "fetchall", reads=False)
        return name

    def on_failure(self, failure: str, action: Callable[[], None]) -> None:
        """Run an action, once, when a query fails in this way; the query is retried."""
        self._repairs.setdefault(failure, []).append(action)

    def before_reading(self, action: Callable[[], None]) -> None:
        """Import rows by this action at the first query, and not before."""
        # An action that fails is retried by the next query.
        self._pending.append(action)
        self._owns_rows = True

    def read_in_place(self) -> None:
        """Note that rows are read where others may change them."""
        self._reads_in_place = True

    @property
    def owns_rows(self) -> bool:
        """True if the rows cannot change: they are in memory, or in tables of its own."""
        return self._owns_rows and not self._reads_in_place and not self.closed

    def before_each(self, check: Callable[[], None]) -> None:
        """Run a check before each query that may open files: one that raises ends the query."""
        self._checks.append(check)

    @contextlib.contextmanager
    def dry_run(self) -> Iterator[None]:
        """Return a block of queries of no rows, before which nothing is imported."""
        with self._lock:
            pending, self._pending = self._pending, []
            before, self._is_dry_run = self._is_dry_run, True
            try:
                yield
            finally:
                self._pending, self._is_dry_run = pending, before

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Return a block that opens another table: no rows are imported in it."""
        with self._lock:
            pending, self._pending = self._pending, []
            try:
                yield
                pending += self._pending
            finally:
                self._pending = pending

    def planner(self, *, again: bool = False) -> Callable[[str], None] | None:
        """Return a function that plans a query to be run next, of a table that cannot change."""
        # again: whether to plan a query again that was planned before, for a table of this shape.
        ready = self._shape and not self._pending and not self.closed
        return partial(self._plan, again) if ready else None

    def _plan(self, again: bool, sql: str) -> None:
        with self._lock:
            known = planned_statements.get(self._shape, sql) is not None
            if known and not again and not self.closed:
                return
            self._run(f"prepare tacit_plan as {sql}", "fetchall", reads=False)
            statement = self._connection.extract_statements(sql)[0]
            planned_statements.keep(self._shape, sql, statement)

    def _prepare(self) -> None:
        with self._lock:
            for check in self._checks:
                check()
            pending, self._pending = self._pending, []  # each of them queries the engine
            try:
                while pending:
                    pending[0]()
                    pending.pop(0)
            finally:
                self._pending = pending

    @contextlib.contextmanager
    def in_one_thread(self) -> Iterator[None]:
        """Return a block in which the engine works in one thread."""
        ((threads,),) = self.rows("select current_setting('threads')")
        self.rows("set threads = 1")
        try:
            yield
        finally:
            self.rows(f"set threads = {int(threads)}")

    @contextlib.contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Return a transaction: a block of statements that all take effect, or none."""
        self._run("begin transaction", "fetchall", reads=False)
        try:
            yield
        except BaseException:
            with contextlib.suppress(DataSourceError):
                self._run("rollback", "fetchall", reads=False)
            raise
        self._run("commit", "fetchall")

    def store_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Store columns of public text as a temporary table; return its quoted name."""
        named = {f"c{i}": np.array(list(c), dtype=object) for i, c in enumerate(columns)}
        name = new_name()
        with self._lock:
            self._connection.register(name, named)
            try:
                return self.materialise(f"select * from {self.dialect.identifier(name)}")
            finally:
                self._connection.unregister(name)

    @contextlib.contextmanager
    def divided(
        self, sql: str, part: str, parts: int, person: str = "u"
    ) -> Iterator[Iterable[Part] | None]:
        """Return a block with the rows of a query in parts, one for each number ``part``."""
        # They are in files of its private folder, enciphered, and removed at the end of the block.
        # None where it has no such folder, may open no file, runs out of what it needs, a column is
        # of a type that these files do not hold as it is, or DuckDB before 1.5 cannot encipher, nor
        # hand out rows while it reads.
        if self.folder is None or self._confined or not _streams():
            yield None
            return
        with contextlib.ExitStack() as stack:
            divided: Iterable[Part] | None = None
            # read from where they are, they show whether it is the data that fail
            with contextlib.suppress(DataSourceError, OSError):
                shown = f"* replace ({person} as u)"
                listed = self.rows(f"describe select {shown} from ({sql}) as r")
                types = {row[0]: row[1] for row in listed}
                if WHOLE_TYPES.keys() >= set(types.values()):
                    kinds = [WHOLE_TYPES[t] if c == "u" else np.int64 for c, t in types.items()]
                    written = stack.enter_context(DividedRows(self.folder, parts, kinds))
                    self._divide_numbers(written, types, sql, part, person)
                    numbered = self._parts_of(written, types, parts)
                    divided = stack.enter_context(contextlib.closing(numbered))
                elif set(types.values()) <= _STORED_AS_THEY_ARE:
                    folder = self.folder / new_name()
                    stack.callback(shutil.rmtree, folder, ignore_errors=True)
                    columns = f"{shown}, {part} as tacit_part from ({sql}) as r"
                    divided = self._divide(columns, types, parts, str(folder))
            yield divided

    def _divide_numbers(
        self, written: DividedRows, types: Mapping[str, str], sql: str, part: str, person: str
    ) -> None:
        """Write rows of whole numbers: all but people as one more, with 0 for what is missing."""
        shown = [*_moved(types, person), f"cast({part} as usmallint) as tacit_part"]
        query = f"select {', '.join(shown)} from ({sql}) as r"

        def write() -> None:
            written.clear()  # of a query that failed, and is retried
            for columns in self._batches(query, [*written.types, np.uint16]):
                written.add(columns)

        self._prepare()
        self._run(query, write)

    @contextlib.contextmanager
    def in_arrays(self, sql: str) -> Iterator[Part | None]:
        """Return a block with the rows of such a query in arrays; None where they stay inside."""
        # So where they are read once, and are not so many that the memory is short.
        columns: list[NDArray[Any]] | None = None
        types: dict[str, str] = {}
        if not (self._ends_soon or self._is_dry_run) and _streams():
            types = {row[0]: row[1] for row in self.rows(f"describe {sql}")}
        if types and WHOLE_TYPES.keys() >= set(types.values()):
            columns = self._read_into_arrays(sql, types)
        if columns is None:
            yield None
            return
        with self._in_arrays(columns, types, counted=True) as part:
            yield part

    def _read_into_arrays(self, sql: str, types: Mapping[str, str]) -> list[NDArray[Any]] | None:
        """Return columns of whole numbers, of which people are as they are; None if too many."""
        query = f"select {', '.join(_moved(types, 'u'))} from ({sql}) as r"
        kinds = [WHOLE_TYPES[t] if c == "u" else np.int64 for c, t in types.items()]
        most, pieces = self.memory // _ARRAYS_SHARE, [list[NDArray[Any]]() for _ in kinds]

        def read() -> bool:
            size = 0
            for several in pieces:
                several.clear()  # of a query that failed, and is retried
            for columns in self._batches(query, kinds):
                for several, column in zip(pieces, columns, strict=True):
                    several.append(narrowed(column, copy=True))
                    size += several[-1].nbytes
                if size > most:
                    return False
            return True

        self._prepare()
        if not self._run(query, read):
            return None
        empty = [np.zeros(0, kind) for kind in kinds]
        return [
            np.concatenate(several) if several else none
            for several, none in zip(pieces, empty, strict=True)
        ]

    def _batches(self, query: str, types: Sequence[type]) -> Iterator[list[NDArray[Any]]]:
        """Return the rows of a query while it reads; see :func:`batches`."""
        import duckdb

        stream = self._connection.sql(query).__arrow_c_stream__()
        try:
            yield from batches(stream, types)
            return
        except StreamError as failure:
            message = str(failure)
        # which begins with "Conversion Error:", and is a ConversionException everywhere else
        kind = message.partition(" Error:")[0].replace(" ", "").lower() + "exception"
        known = {name.lower(): name for name in dir(duckdb)}
        raise getattr(duckdb, known.get(kind, "Error"))(message)

    @property
    def add_by_place(self) -> AddByPlace | None:
        """What adds up weights by place while a query reads; None where it groups as fast."""
        # Its own array of many places is one of states, in each thread, and takes twice as long.
        slow = self._ends_soon or self._is_dry_run or not _streams()
        return None if slow else self._add_by_place

    def _add_by_place(self, sql: str, weight: str, places: int) -> list[NDArray[np.int64]]:
        """Add up weights by place while they are read: the rows of a part may fill the memory."""
        shown = f", cast({weight} as bigint)" if weight else ""
        sql = f"select cast(place as uinteger){shown} from ({sql}) as r"

        def add() -> list[NDArray[np.int64]]:
            occurs, sums = np.zeros(places, dtype=bool), np.zeros(places, dtype=np.int64)
            if not weight:
                # in numbers that are half as long, more of which are near at hand
                counts, size, one = np.zeros(places, dtype=np.uint32), 0, np.uint32(1)
                for (numbers,) in self._batches(sql, [np.uint32]):
                    if size + len(numbers) > _MOST_ROWS:
                        sums += counts
                        counts[:], size = 0, 0
                    np.add.at(counts, numbers, one)
                    size += len(numbers)
                sums += counts
                occurs = sums > 0
            else:
                for numbers, weights in self._batches(sql, [np.uint32, np.int64]):
                    occurs[numbers] = True
                    np.add.at(sums, numbers, weights)
            found = np.flatnonzero(occurs)
            return [found, sums[found]]

        self._prepare()
        added: list[NDArray[np.int64]] = self._run(sql, add)
        return added

    def _parts_of(
        self, written: DividedRows, types: Mapping[str, str], parts: int
    ) -> Generator[Part]:
        """Return the parts, of which the current one is in memory."""
        for number in range(parts):
            if written.rows(number) * _STORED_COLUMN * (len(types) + 1) > self.memory:
                # one person may have half of all rows: the engine puts what is too much on disk
                table = self.empty_table(types)
                try:
                    for columns in written.pieces(number):
                        with self._in_arrays(columns, types) as (relation, _):
                            self._run(f"insert into {table} from {relation}", "fetchall")
                    yield Part(table)
                finally:
                    self.drop(table)
                continue
            with self._in_arrays(written.part(number), types, counted=True) as part:
                yield part

    @contextlib.contextmanager
    def _in_arrays(
        self, columns: Sequence[NDArray[Any]], types: Mapping[str, str], *, counted: bool = False
    ) -> Iterator[Part]:
        """Return a block with rows of :class:`DividedRows`, with counts of people if they fit."""
        arrays = dict(zip(types, columns, strict=True))
        shown = [f"cast({_whole(name)} as {kind}) as {name}" for name, kind in types.items()]
        counts = occurrences(arrays["u"]) if counted else None
        if counts is not None:
            arrays["n"] = counts
            shown.append("cast(n as bigint) as n")
        name = self.register(arrays, new_name())
        try:
            add = None if counts is None else self._add_by_place
            yield Part(f"(select {', '.join(shown)} from {name})", add)
        finally:
            with self._lock:
                self._connection.unregister(name.strip('"'))

    def _divide(
        self, columns: str, types: Mapping[str, str], parts: int, folder: str
    ) -> list[Part]:
        """Write rows of any types in files of DuckDB's own."""
        key, path = new_name(), self.dialect.literal(folder)
        cipher = f"encryption_config {{footer_key: '{key}'}}"
        # so few rows wait to be written, in threads and in files, that none of them is spilled
        waiting = max(_WAITING, parts * _WAITING_OF_PART)
        group = self.memory // (_SHARE * 8 * (len(types) + 1) * parts)
        group = min(max(group, _GROUP[0]), _GROUP[1])
        secret = base64.b64encode(secrets.token_bytes(16)).decode()
        self._run(f"pragma add_parquet_key('{key}', '{secret}')", "fetchall")
        self._run(f"set partitioned_write_flush_threshold = {waiting}", "fetchall", reads=False)
        self._prepare()
        self._run(
            f"copy (select {columns}) to {path} "
            f"(format parquet, partition_by (tacit_part), parquet_version v2, "
            f"compression uncompressed, dictionary_size_limit 1, row_group_size {group}, {cipher})",
            "fetchall",
        )
        none = ", ".join(f"cast(null as {kind}) as {name}" for name, kind in types.items())
        relations = []
        for number in range(parts):
            files = [str(p) for p in Path(folder, f"tacit_part={number}").glob("*.parquet")]
            listed = "[" + ", ".join(map(self.dialect.literal, files)) + "]"
            relations.append(
                f"read_parquet({listed}, hive_partitioning = false, "
                f"encryption_config = {{footer_key: '{key}'}})"
                if files
                else f"(select {none} where false)"
            )
        return [Part(relation) for relation in relations]

    def drop(self, name: str) -> None:
        """Remove a table that :meth:`materialise` or :meth:`store_text` made."""
        self._run(f"drop table if exists {name}", "fetchall", reads=False)

    def count(self, relation: str, rows: int | None = None) -> None:
        """Set the relation of all rows: their number bounds what is grouped by array."""
        # Where it is known already, the engine need not count.
        self._counted = relation if rows is None else rows
        self._ends_soon = rows is not None and rows <= _SMALL

    def in_memory(self, shape: str) -> None:
        """Note that the table is one in memory, which cannot change."""
        # shape: what it is, with its columns and their types: a query that is planned for one table
        #   of a shape and a name is so for every other.
        self._shape = shape
        self._owns_rows = True

    def reading(self) -> contextlib.AbstractContextManager[object]:
        """Return an empty block: each query of the plan bounds people on its own."""
        return contextlib.nullcontext()

    def _group_by_array(self) -> None:
        """Set how far DuckDB may group integers by their index in an array."""
        # That is twice as fast for people as by hash.  It does so where the statistics of a column
        # give such a range, and raises where they prove wrong.  The array is as long as the range,
        # so it may be no longer than the table, nor beyond an eighth of the memory.
        counted, self._counted = self._counted, 0
        rows = counted
        if isinstance(counted, str):
            try:
                rows = int(self.rows(f"select count(*) from {counted}")[0][0])
            except BaseException:
                self._counted = counted
                raise
        assert isinstance(rows, int)
        memory, threads = self._limits
        available = memory // (8 * _STATE * threads)
        bits = min(max(min(rows, available).bit_length() - 1, _BITS[0]), _BITS[-1])
        self._run(f"set perfect_ht_threshold = {bits}", "fetchall", reads=False)

    def register(self, table: object, name: str | None = None) -> str:
        """Make an Arrow, pandas or polars table visible; return its quoted name."""
        # With the ``name`` of one that is visible already, it replaces that one.
        name = self._next_name() if name is None else name.strip('"')
        with self._lock:
            self._connection.register(name, table)
        return self.dialect.identifier(name)

    def _next_name(self) -> str:
        """Return a name that no other relation of this connection has."""
        own = self._instance is not None  # a user's own connection may know any name
        return f"tacit_table_{next(self._registered)}" if own else new_name()

    def close(self) -> None:
        """Close the connection and remove the private folder."""
        self._close()

    @property
    def closed(self) -> bool:
        """True if :meth:`close` was called."""
        return not self._close.alive

    def _run(self, sql: str, fetch: str | Callable[[], Any], *, reads: bool = True) -> Any:
        """Run a statement, in another thread unless it ends soon on its own."""
        # fetch: what returns the rows of its result, or what runs it otherwise.
        if self.closed:
            raise DataSourceError("the table was closed; open it again")
        import duckdb

        with self._lock:
            try:
                planned = planned_statements.get(self._shape, sql) if self._shape else None
                first = reads and self._counted and not (planned or self._is_dry_run)
                if first and " group by " in sql:
                    self._group_by_array()
                statement = planned or sql

                def run() -> Any:
                    if not isinstance(fetch, str):
                        return fetch()
                    return getattr(self._connection.execute(statement), fetch)()

                if not reads or self._is_dry_run or self._ends_soon:
                    return run()
                return interruptible(self._connection, run)
            except duckdb.InterruptException:
                failure = ""  # someone ended it by the connection's own interrupt()
            except duckdb.Error as error:
                failure = type(error).__name__
                if failure == "OutOfMemoryException":
                    failure = _NO_MEMORY
                elif "secure random engine" in str(error):
                    failure = _UNENCRYPTED
                planned_statements.forget(self._shape, sql)
            actions = self._repairs.pop(failure, [])
            for action in actions:
                action()
            if actions:
                return self._run(sql, fetch)
        # raised here, not above: the engine's error must not be its context
        if not failure:
            raise KeyboardInterrupt
        if failure in (_NO_MEMORY, _UNENCRYPTED):
            raise EngineMemoryError(failure)
        if failure == "ConnectionException":
            raise ClosedConnectionError(_CLOSED)
        raise DataSourceError(
            f"the engine could not read the data as asked ({failure}; its message is withheld "
            "because it may quote the data): check the file or table with the engine's own tools"
        )


def _streams() -> bool:
    """True if DuckDB hands out rows of a query while it reads: earlier it held all of them."""
    import duckdb

    return tuple(map(int, duckdb.__version__.split(".")[:2])) >= (1, 5)


def _moved(types: Iterable[str], person: str) -> list[str]:
    """Return the SQL of columns: all but people as one more, with 0 for what is missing."""
    moved = {name: f"coalesce(cast({name} as bigint) + 1, 0)" for name in types} | {"u": person}
    return [f"{value} as {name}" for name, value in moved.items()]


def _whole(name: str) -> str:
    """Return the SQL of a number as it was before :func:`_moved`."""
    return name if name == "u" else f"cast(nullif({name}, 0) as bigint) - 1"


# What a query says whose data did not fit into memory.
_NO_MEMORY = "the engine ran out of memory: raise memory_limit, or free space for spilling"
_UNENCRYPTED = (
    "the engine ran out of memory, and DuckDB before 1.5 cannot encrypt what it would spill: raise "
    "memory_limit, or use a newer DuckDB (pip install -U duckdb)"
)


_CLOSED = "the connection to the database was closed; keep it open while the table is in use"


class ClosedConnectionError(DataSourceError):
    """The connection that a table is read through was closed."""


@contextlib.contextmanager
def open_connection() -> Iterator[None]:
    """Return a block in which DuckDB itself is asked about a connection or a relation."""
    import duckdb

    try:
        yield
        return
    except duckdb.ConnectionException:
        pass  # raised below, so that it is not the context
    raise ClosedConnectionError(_CLOSED)


def _unattached(message: str) -> str:
    """Return why a database could not be attached, of which DuckDB's message names the file."""
    if message.startswith("IO Error: Could not set lock on file"):
        process = re.search(r"\(PID (\d+)\)", message)
        named = f" (process {process[1]})" if process else ""
        return f"is locked by another program{named}: close it there, or name a copy of the file"
    if "Unique file handle conflict" in message:
        return (
            "is open in this program: pass that connection in place of the path, or close it first"
        )
    return (
        "could not be attached: it is encrypted, from a newer version of DuckDB, or damaged; "
        "open it in DuckDB, and pass the connection in place of the path"
    )


def _shut(connection: duckdb.DuckDBPyConnection, then: Callable[[], object] | None) -> None:
    with contextlib.suppress(Exception):  # at exit the connection may be gone already
        connection.close()
    if then is not None:
        then()


# Columns as DuckDB describes them: by declared types, which contain no value of the data.


# Types that are members of a union at no cost.
_SHIELDED_BY_UNION = {*WHOLE_TYPES, "FLOAT", "DOUBLE", "VARCHAR", "DATE"}
# Types of times with a zone: those of the time in UTC, and how it is read.
_UTC = {
    "TIMESTAMP WITH TIME ZONE": (
        *("TIMESTAMP", "(case when isfinite({x}) then make_timestamp(epoch_us({x})) end)"),
    ),
    "TIMESTAMPTZ_NS": ("TIMESTAMP_NS", "make_timestamp_ns(epoch_ns({x}))"),
}
_FAR = 1 << 500  # no bounds reach beyond it (:mod:`tacit.expressions.grid`)
# Types of integers that are wider than the plan computes in, and how they become doubles.
_BIG = {
    "UHUGEINT": "cast({x} as double)",
    "BIGNUM": (
        "cast(case when {x} is not null then greatest(least({x}, "
        f"cast('{_FAR}' as bignum)), cast('-{_FAR}' as bignum)) end as double)"
    ),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_NARROW = 18  # digits of a decimal, which 64 bits hold
_VALUES = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")


def types_of(relation: str, engine: DuckEngine) -> dict[str, str]:
    """Return the engine's type of each column of a relation."""
    return {row[0]: row[1] for row in engine.rows(f"describe select * from {relation}")}


def described(relation: str, engine: DuckEngine) -> Schema:
    """Return the columns of a relation."""
    return schema_of(types_of(relation, engine))


def schema_of(types: dict[str, str]) -> Schema:
    """Return the columns of these types."""
    refuse_like_names(types)
    return Schema([column_of(name, declared) for name, declared in types.items()])


def shield(cell: str, declared: str = "") -> str:
    """Return the SQL of a cell of which the engine knows only its value."""
    # DuckDB derives from the statistics of a file which comparisons are true of all its rows, which
    # row groups it may leave out, and how narrow a type fits a column.  A writer may leave NaN out
    # of them, or be wrong.  It knows none of the result of ``try``, whose value is that of the
    # column, and compares it row by row; those of ``coalesce`` and ``struct_extract`` are passed
    # on, and ``||`` with no text is left out.  Nor does it know any of what was a member of a
    # union, which passes on what it is given, such as the texts of a file's dictionary, where
    # ``try`` copies each row.
    if declared in _SHIELDED_BY_UNION:
        return f"union_extract(union_value(tacit_cell := {cell}), 'tacit_cell')"
    return f"try({cell})"


def shielded(relation: str, columns: Schema) -> str:
    """Return a relation with the columns of one, all of them behind :func:`shield`."""
    cells = [(DUCKDB.identifier(name), column.declared) for name, column in columns.items()]
    shown = ", ".join(f"{shield(cell, declared)} as {cell}" for cell, declared in cells)
    return f"(select {shown} from {relation})"


def column_of(name: str, declared: str) -> Column:
    """Return a column of a type.

    >>> column_of("who", "ENUM('Ada', 'O''Hara')[]").declared
    'ENUM[]'
    >>> column_of("at", "TIMESTAMP WITH TIME ZONE").kind
    'date'
    """
    # The values that an enumeration allows may be taken from the data, so they are left out.  A
    # time with a zone is a moment, and is read in UTC, whatever zone the connection is set to; what
    # is infinite is missing.  An integer that may be wider than 126 bits is read as a decimal
    # is.  No reader checks that a decimal has no more digits than its type, as sums of pyarrow
    # may: such a cell is missing, since a cast of the least of them ends the whole instance.
    known = declared.upper()
    if known in _UTC:
        plain, reads = _UTC[known]
        return Column(name, "date", plain, reads=reads)
    if known in _BIG:
        return Column(name, "decimal", declared, reads=_BIG[known], identity="{x}")
    digits = _DECIMAL.fullmatch(known)
    if digits is not None and int(digits[1]) > _NARROW:
        before, behind = int(digits[1]) - int(digits[2]), int(digits[2])
        most = f"{'9' * before or '0'}.{'9' * behind or '0'}"
        low, high = (f"cast('{sign}{most}' as {known})" for sign in ("-", ""))
        reads = f"(case when {{x}} between {low} and {high} then {{x}} end)"
        return Column(name, "decimal", declared, reads=reads)
    return Column(name, kind_of(declared), _VALUES.sub("ENUM", declared))
