"""Tables of Spark."""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.expressions.dialect import Dialect
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import (
    EngineMemoryError,
    InPlaceEngine,
    Opened,
    checked_timeout,
    closed_on_failure,
    refuse_like_names,
)
from tacit.tables.engines.duckdb.parquet import MILLIS
from tacit.tables.engines.files import refuse_table_format
from tacit.tables.engines.spark_parquet import (
    as_stored,
    input_files,
    needed_of,
    refuse_modes,
    refuse_pruned,
    risks_of,
)

# How Spark (4.0 and newer) spells the integer plan, whatever the session's settings are.
#
# Text is written as bytes, for what a backslash, a quote or ``${...}`` means within quotes is a
# setting.  Sums of 64-bit numbers consist of sums of 21 bits each: those of ``bigint`` wrap around
# or raise, by a setting, and those of ``decimal`` cost several times as much.


SPARK = Dialect(
    "spark",
    quote="`",
    small="bigint",
    wide="decimal(38,0)",
    text="string",
    timestamp="timestamp_ntz",
    as_is="{x}",  # what is read has that collation already
    unicode="try_validate_utf8({x})",
    # no comparison: a cache leaves rows out by its statistics, which do not cover NaN
    number="not isnan({x})",
    bytes="octet_length({x})",
    compares_any_length=False,
    hexadecimal="cast(X'{x}' as string)",
    floor_divide="({x} div {y})",
    wide_divide="({x} div {y})",
    shift_right="shiftright({x}, {n})",
    starts_with="startswith({x}, {y})",
    ends_with="endswith({x}, {y})",
    like_any="(?>.*?{s})",
    total="(cast(sum(shiftright({x}, 42)) as decimal(38,0)) * 4398046511104"
    " + cast(sum(shiftright({x}, 21) & 2097151) as decimal(38,0)) * 2097152"
    " + sum(({x}) & 2097151))",
    wide_total="sum(cast({x} as decimal(38,0)))",
    short_total="sum({x})",
    near_total="(least(greatest(coalesce(sum(shiftright({x}, 21)) + shiftright(sum(({x}) & 2097151)"
    ", 21), 0), -2199023255552), 2199023255551) * 2097152 + coalesce(sum(({x}) & 2097151) & 2097151"
    ", 0))",
    same="{x} <=> {y}",
    let="element_at(transform(array({x}), tacit_v -> {body}), 1)",
    seconds="(cast(unix_date(cast({x} as date)) as bigint) * 86400"
    " + hour({x}) * 3600 + minute({x}) * 60 + second({x}))",
    days="cast(unix_date({x}) as bigint)",
    date_of="date_from_unix_date(cast({x} as int))",
    matches="rlike({x}, {p})",
    whole="^(?:{p})\\z",
    part=None,
    byte=None,
    try_integer=None,
    below=None,
    one_scan=True,
    set_of=None,
)


# What Spark's errors mean, in our own words: its own messages may quote rows of the data.
#
# Spark's message is searched for the few words below, and then dropped with its exception.


_LOST = (
    "the Spark session has ended (its context was shut down, or its server cannot be reached): "
    "start a session, open the table in it, and ask again"
)
_LATE = (
    "Spark did not answer within timeout=, and its jobs were cancelled: look whether it has "
    "workers that live (it waits for one without end), or give it more time, and ask again"
)
_MEANING = (
    (("No space left on device",), True, (
        "a disk of Spark is full (spark.local.dir on the machine of an executor): free space there "
        "and ask again")),
    (("OutOfMemoryError", "maxResultSize", "build and broadcast", "UNABLE_TO_ACQUIRE_MEMORY",
      "Cannot broadcast"), True, (
        "Spark ran out of memory: give its executors or its driver more, or more partitions "
        "(spark.sql.shuffle.partitions), and ask again")),
    (("SparkContext was shut down", "stopped SparkContext", "SESSION_CLOSED", "SESSION_NOT_FOUND",
      "SESSION_CHANGED", "StatusCode.UNAVAILABLE", "NO_ACTIVE_SESSION", "Connection refused",
      "does not exist in the JVM", "Answer from Java side is empty"), False, _LOST),
    (("AccessControlException", "PERMISSION_DENIED", "INSUFFICIENT_PERMISSIONS", "AccessDenied",
      "Permission denied", "INSUFFICIENT_PRIVILEGES"), False, (
        "no right to read the table, or the files behind it; ask its owner for the right to read")),
    (("REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND", "CatalogNotFound",
      "SCHEMA_NOT_FOUND"), False, (
        "Spark knows no such catalog or database: name the table as 'visits', 'db.visits' or "
        "'catalog.db.visits', as spark.catalog.listCatalogs() and listDatabases() show them")),
    (("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST",
      "FileNotFoundException"), False, (
        "the table, or a file behind it, is not there (any more); open it again under its present "
        "name")),
    (("INVALID_USAGE_OF_STAR_OR_REGEX",), False, (
        "Spark takes names in backticks for patterns: set spark.sql.parser.quotedRegexColumnNames "
        "to false")),
    (("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND", "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
      "DATATYPE_MISMATCH", "INCOMPATIBLE_COLUMN"), False, (
        "the table changed its shape in Spark while it was open: open it again")),
    (("ExecutorLostFailure", "FetchFailed", "MetadataFetchFailed", "Executor heartbeat",
      "executor loss", "exited unrelated"), False, (
        "Spark lost executors more often than it retries (spark.task.maxFailures); ask again when "
        "the cluster is well")),
    (("OPERATION_CANCELED", "cancelled", "canceled"), False, (
        "someone cancelled the query in Spark; ask again")),
)  # fmt: skip


def is_sparks(error: Exception) -> bool:
    """True if an exception comes from Spark, or from the connection to it."""
    origin = type(error).__module__.split(".")[0]
    return origin in ("pyspark", "py4j", "grpc") or isinstance(error, (ConnectionError, EOFError))


def has_ended(session: Any) -> bool:
    """True if a session was stopped; of one over Connect only its errors show it."""
    return getattr(getattr(session, "_sc", session), "_jsc", session) is None


def failure_of(error: Exception, *, ended: bool = False, late: bool = False) -> DataSourceError:
    """Return the exception to raise for one of Spark's, of which nothing is quoted."""
    if ended or late:
        return DataSourceError(_LOST if ended else _LATE)
    text = f"{type(error).__name__} {error}"
    for words, memory, meaning in _MEANING:
        if any(word in text for word in words):
            return EngineMemoryError(meaning) if memory else DataSourceError(meaning)
    if isinstance(error, (ConnectionError, EOFError)) or "Py4JNetworkError" in text:
        return DataSourceError(_LOST)
    ask = getattr(error, "getCondition", None)
    name = (ask() if callable(ask) else None) or type(error).__name__
    return DataSourceError(
        f"Spark could not read the data as asked ({name}; its message is withheld because it may "
        "quote the data): check the table, and whatever it is computed from, with Spark's own tools"
    )


# The progress of Spark, on a terminal; and in the log, anywhere, that it stopped.


_POLL_INTERVAL = 1.0  # seconds before a query is worth a line, and between two looks at it
_STANDSTILL = 30.0  # seconds without any task that runs, while some are to, until that is reported
_NO_EXECUTOR = (
    "Spark has tasks to do and has run none for %d seconds: no executor takes the work. Spark "
    "waits for one without end; add workers, end the question with Ctrl-C, or give each query "
    "a time, as in tc.Session(..., timeout=600)"
)
_LOG = logging.getLogger(__name__)
_now = time.monotonic


def is_connect(session: Any) -> bool:
    """True if a session is one of Spark Connect."""
    return ".connect." in f"{type(session).__module__}."


@contextlib.contextmanager
def shown(session: Any) -> Iterator[None]:
    """Show how many of the tasks are done while the block runs, where a person can see it."""
    # Numbers of tasks are those of files and partitions.  They go to the terminal of the curator,
    # who may see the data, and nowhere else.
    #
    # Where no task runs for long, a warning with no number of the data goes to Python's log,
    # terminal or not.  Connect does not report tasks unless the server answers, so nothing is shown
    # there.
    connect = is_connect(session)
    with contextlib.ExitStack() as block:
        show = block.enter_context(_line()) if sys.stderr.isatty() else None
        if not connect:
            block.enter_context(_follow_classic(session, show))
        elif show is not None:
            block.enter_context(_follow_connect(session, show))
        yield


@contextlib.contextmanager
def _line() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("Spark"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Spark", total=None, visible=False)

        def show(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total or None, visible=total > 0)

        yield show


@contextlib.contextmanager
def _follow_classic(session: Any, show: Callable[[int, int], None] | None) -> Iterator[None]:
    """Look at the status of the jobs now and then, from a thread."""
    over = threading.Event()

    def look() -> None:
        warn = _Standstill().look
        with contextlib.suppress(Exception):  # the context may end meanwhile
            while not over.wait(_POLL_INTERVAL):
                stages = _stages(session.sparkContext.statusTracker())
                if show is not None:
                    show(sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))
                warn(stages)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _stages(tracker: Any) -> list[Any]:
    """Return the stages of the jobs that run."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    numbers = [stage for job in jobs if job is not None for stage in job.stageIds]
    return [stage for stage in map(tracker.getStageInfo, numbers) if stage is not None]


class _Standstill:
    """Warns once of each while in which tasks wait and none runs."""

    # The tasks are those of every job of the user's context: one that runs shows that an executor
    # takes work, and the others wait for their turn.

    def __init__(self) -> None:
        self._since: float | None = None
        self._warned = False

    def look(self, stages: Sequence[Any]) -> None:
        """Take notice of the stages as they are now."""
        waits = any(s.numCompletedTasks < s.numTasks for s in stages)
        if not waits or any(s.numActiveTasks for s in stages):
            self._since, self._warned = None, False
        elif self._since is None:
            self._since = _now()
        elif not self._warned and _now() - self._since >= _STANDSTILL:
            self._warned = True
            _LOG.warning(_NO_EXECUTOR, _STANDSTILL)


@contextlib.contextmanager
def _follow_connect(session: Any, show: Callable[[int, int], None]) -> Iterator[None]:
    """Let the server report the tasks."""

    def handler(*, stages: Any, **more: Any) -> None:
        listed = list(stages or ())
        show(sum(s.num_completed_tasks for s in listed), sum(s.num_tasks for s in listed))

    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


# Spark, in the user's own session: classic or Connect, by its public interface alone.
#
# *A person with very many rows.*  People are added up by ``group by``, by person and place, which
# Spark does in part where the rows are: a task emits a line for each person and place, whatever
# that person's rows are, and what meets in a window by person are these lines
# (:mod:`tacit.tables.query.contribution_bounding`).  Spark cannot promise to keep what it has read,
# so nothing else would count a person in the very rows that are added up.  Of groups and of whole
# rows that are drawn (:mod:`tacit.tables.query.contribution_bounding`) Spark keeps the first few
# lines of a person in each task before they meet, where a person may have at most
# ``spark.sql.optimizer.windowGroupLimitThreshold`` (1000) of them.
#
# *Retries.*  Every number that Spark adds up is whole, and nothing in a query is drawn by Spark: a
# task that runs twice, or twice at once, gives the same bits.
#
# *What is left behind.*  Nothing is cached or written.  While a query runs, Spark itself may keep
# what moves between its tasks in files of ``spark.local.dir``, which go with the query's data or
# with the executor; ``spark.io.encryption.enabled`` enciphers them.


_T = TypeVar("_T")
_TEXT = "tacit_text_"  # how the views of public text begin
_PAUSE = 0.2  # seconds between two looks for jobs whose time is over
_LOGGER = "SQLQueryContextLogger"  # where pyspark writes the errors of queries, with their messages


class SparkEngine(InPlaceEngine):
    """A session of Spark, whose settings stay as they are."""

    # timeout: the most seconds of one query, after which its jobs are cancelled; None to wait as
    #   Spark does, which has no end where all of its workers are gone.
    #
    # DataSourceError: anything that Spark raises.  Its own message may quote rows of the data, so
    # the message and the exception are dropped.

    dialect: Dialect = SPARK

    def __init__(self, session: Any, timeout: float | None = None) -> None:
        self.session = session
        self._timeout = checked_timeout(timeout)
        self._lock = threading.RLock()
        self._views: set[str] = set()
        self._close = weakref.finalize(self, _drop_all, session, self._views)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        lines = self.attempt(lambda: self.session.sql(sql).collect())
        return [tuple(map(_plain, row)) for row in lines]

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query of 64-bit integer columns and return the columns."""
        columns = self.attempt(lambda: _columns(self.session.sql(sql)))
        return [np.asarray(column, dtype=np.int64) for column in columns]

    def materialise(self, sql: str) -> str:
        """Return the query itself as a relation: raw rows are not stored anywhere."""
        # One that reads public text becomes a view, which contains that text when it is dropped.
        if _TEXT in sql:
            return self.view(lambda: self.session.sql(sql))
        return super().materialise(sql)

    def store_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Give columns of public text to Spark, and return the name of their view."""
        shape = ", ".join(f"c{i} string" for i in range(len(columns)))
        lines = list(zip(*columns, strict=True))
        return self.view(lambda: self.session.createDataFrame(lines, shape), _TEXT)

    def view(self, make: Callable[[], Any], prefix: str = "tacit_") -> str:
        """Name a DataFrame within the session, and return the quoted name."""
        name = prefix + secrets.token_hex(8)
        self.attempt(lambda: make().createOrReplaceTempView(name))
        self._views.add(name)
        return self.dialect.identifier(name)

    def drop(self, relation: str) -> None:
        """Remove the view of :meth:`store_text`; there is nothing else to remove."""
        name = relation.strip(self.dialect.quote)
        if name in self._views and not self.closed:
            self._views.discard(name)
            self.attempt(lambda: self.session.catalog.dropTempView(name))

    def reading(self) -> AbstractContextManager[object]:
        """Return an empty block: each query of the plan bounds people on its own."""
        return nullcontext()

    def close(self) -> None:
        """Remove the views in the session, which itself stays open."""
        self._close()

    @property
    def closed(self) -> bool:
        """True if :meth:`close` was called."""
        return not self._close.alive

    def attempt(self, ask: Callable[[], _T]) -> _T:
        """Return what Spark answers, with its progress shown; its errors in our own words."""
        if self.closed:
            raise DataSourceError("the table was closed; open it again")
        over = threading.Event()
        try:
            with _silent(), _tagged(self.session, self._timeout, over), shown(self.session):
                return ask()
        except Exception as error:
            # a session that was stopped fails in any words, those of Python's own too
            ended = has_ended(self.session)
            if not (ended or is_sparks(error)):
                raise
            failure = failure_of(error, ended=ended, late=over.is_set())
        # raised here, not above: Spark's error must not be its context
        raise failure


def _plain(value: Any) -> Any:
    """Return a decimal without a fraction as an integer."""
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    return value


def _columns(frame: Any) -> list[Any]:
    """Return the columns of a DataFrame, by way of Arrow where that is there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        lines = frame.collect()
        return [[line[i] for line in lines] for i in range(len(frame.columns))]
    return [column.to_numpy() for column in frame.toArrow().columns]


@contextlib.contextmanager
def _tagged(session: Any, timeout: float | None, over: threading.Event) -> Iterator[None]:
    """Mark the jobs of a block, and cancel them when the user interrupts it or its time is over."""
    tag = f"tacit-{secrets.token_hex(8)}"
    # A session knows its tags in the thread alone that gave them; its context in all.
    context = None if is_connect(session) or timeout is None else session.sparkContext

    done = threading.Event()

    def end() -> None:
        if done.wait(timeout):
            return
        over.set()
        while not done.wait(_PAUSE):  # a job that starts only now is to end too
            with contextlib.suppress(Exception):  # a session that has ended has no jobs
                session.interruptTag(tag) if context is None else context.cancelJobsWithTag(tag)

    session.addTag(tag)
    if context is not None:
        context.addJobTag(tag)
    watcher = threading.Thread(target=end, daemon=True)
    try:
        if timeout is not None:
            watcher.start()
        yield
    except KeyboardInterrupt:
        with contextlib.suppress(Exception):  # a session that has ended has no jobs
            session.interruptTag(tag)
        raise
    finally:
        done.set()
        with contextlib.suppress(Exception):
            session.removeTag(tag)
            if context is not None:
                context.removeJobTag(tag)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep pyspark from writing the message of an error, which may quote the data."""
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger(_LOGGER)  # a class of its own, whoever creates it first
    logger.addFilter(_refuse)
    try:
        yield
    finally:
        logger.removeFilter(_refuse)


def _refuse(record: logging.LogRecord) -> bool:
    return False


def _drop_all(session: Any, views: set[str]) -> None:
    for name in views:
        with contextlib.suppress(Exception):  # the session may have ended, and its views with it
            session.catalog.dropTempView(name)


# Open a table for Spark: a DataFrame, or a table that a session knows.
#
# Text is compared by its bytes, whatever its collation; ``char(n)`` without the blanks at its
# end, as in PostgreSQL. Columns keep their names and their types,
# except for times: a ``timestamp`` is an instant, which Spark would show in the zone of the
# session, and is read as the time in UTC, so that no setting moves it to another day.


_OLDEST = (4, 0)
_DAY = 86_400_000_000
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "date"),
    "string": "text",
    "boolean": "boolean",
    "void": "missing",
}
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes char(n) and varchar(n)


def in_spark(source: Any) -> bool:
    """True if a source is Spark's, by the names of its classes: Spark need not be installed.

    >>> in_spark("people.csv")
    False
    """
    return any(
        kind.__module__.startswith("pyspark.") and kind.__name__ in ("DataFrame", "SparkSession")
        for kind in type(source).__mro__
    )


def open_in_spark(
    source: Any,
    table: str | None,
    memory_limit: str | None,
    threads: int | None,
    timeout: float | None = None,
) -> Opened:
    """Open a DataFrame, or a table of a session."""
    # table: the name of a table or view of the session, as Spark SQL writes it.
    is_session = not hasattr(source, "sparkSession")
    if is_session and table is None:
        raise UsageError("name the table: tc.Session(spark, table='db.visits', ...)")
    if not is_session and table is not None:
        raise UsageError("table= belongs to a database; this source is a single table")
    if memory_limit is not None or threads is not None:
        raise UsageError("set memory and cores of Spark in its own settings, not for a table")
    session = source if is_session else source.sparkSession
    engine = SparkEngine(session, timeout)
    with closed_on_failure(engine):
        _check_version(engine)
        if not is_session:
            return open_another_in_spark(source, engine)
        relation = _named(str(table), engine)
        frame = engine.attempt(lambda: session.table(relation))
        return _opened(frame, relation, str(table), engine)


def open_another_in_spark(frame: Any, engine: SparkEngine) -> Opened:
    """Open a DataFrame of the session of an engine; see :func:`open_in_spark`."""
    return _opened(frame, engine.view(lambda: frame), "table", engine)


def _opened(frame: Any, relation: str, label: str, engine: SparkEngine) -> Opened:
    """Open a DataFrame of which a relation has the name; no row is read."""
    schema = _describe(relation, engine)
    engine.attempt(lambda: refuse_modes(frame))
    engine.attempt(lambda: refuse_pruned(frame))
    files, listed = engine.attempt(lambda: input_files(frame))
    if listed:
        # the union of all files of a table whose log says which count: the reader of a format of
        # tables has an index of its own
        refuse_table_format(files)
    risks = engine.attempt(lambda: risks_of(frame, files))
    stored: dict[str, str] = {}
    if any(risk.stored for risk in risks):
        again = engine.attempt(lambda: as_stored(frame, risks))
        if again:
            read, stored = again
            relation = engine.view(lambda: read)
    refused: dict[str, Column] = {}
    for risk in risks:
        needed = engine.attempt(partial(needed_of, frame, risk, stored))
        why = f"is computed from {risk.why}"
        refused |= {n: Column(n, "other", "VARCHAR", why, reads="") for n in needed}
    schema = Schema([refused.get(name, column) for name, column in schema.items()])
    millis = {name for name, kind in stored.items() if not kind.startswith("decimal")}
    return Opened(label, schema, engine, _in_utc(relation, schema, millis, engine))


def _check_version(engine: SparkEngine) -> None:
    version = engine.attempt(lambda: str(engine.session.version))
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise DataSourceError(f"this is Spark {version}; Tacit needs Spark {oldest} or newer")


def _named(table: str, engine: SparkEngine) -> str:
    """Return the quoted name of a table that is there."""
    parts = re.findall(r"`((?:[^`]|``)+)`|([^.`]+)", table)
    names = [quoted.replace("``", "`") or plain for quoted, plain in parts]
    relation = ".".join(map(engine.dialect.identifier, names))
    if not engine.attempt(lambda: engine.session.catalog.tableExists(relation)):
        raise DataSourceError(f"Spark has no table {table!r}; {_nearest(names, engine)}")
    return relation


def _nearest(names: list[str], engine: SparkEngine) -> str:
    """Suggest a table of the same database, where that can be read."""
    space = ".".join(map(engine.dialect.identifier, names[:-1])) or None
    try:
        known = engine.attempt(lambda: engine.session.catalog.listTables(space))
    except DataSourceError:
        return "it can be named as 'db.visits' or 'catalog.db.visits'"
    prefix = "".join(f"{name}." for name in names[:-1])
    shown = [f"{prefix}{t.name}" for t in known if not t.name.startswith("tacit_")]
    return did_you_mean(".".join(names), shown)


def _describe(relation: str, engine: SparkEngine) -> Schema:
    streams, fields = engine.attempt(lambda: _inspected(engine.session, relation))
    if streams:
        raise DataSourceError(
            "a streaming DataFrame never ends, so it cannot be counted: write it to a table, "
            "and open that"
        )
    names = [name for name, _ in fields]
    refuse_like_names(names)
    return Schema([_column(name, declared) for name, declared in fields])


def _inspected(session: Any, relation: str) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether a relation never ends, and the names and types of its columns."""
    frame = session.sql(f"select * from {relation}")
    # the type that a table declares; that of its frame is string
    fields = [
        (field.name, str((field.metadata or {}).get(_LENGTH) or field.dataType.simpleString()))
        for field in frame.schema.fields
    ]
    return bool(frame.isStreaming), fields


def _column(name: str, declared: str) -> Column:
    """Return a column; a decimal without a fraction is an integer.

    >>> _column("n", "decimal(20,0)").kind, _column("t", "timestamp").declared
    ('integer', 'TIMESTAMP')
    """
    kind, reads = _KINDS.get(declared, "other"), "{x}"
    if declared.startswith("string collate "):
        kind, reads = "text", "({x} collate UTF8_BINARY)"
    if re.fullmatch(r"(var)?char\(\d+\)", declared):
        kind = "text"
        # Spark fills with blanks up to n, or does not, by a setting; it compares without them
        reads = "rtrim({x})" if declared.startswith("char") else reads
    decimals = re.fullmatch(r"decimal\(\d+,(\d+)\)", declared)
    if decimals:
        kind = "decimal" if int(decimals[1]) else "integer"
    return Column(name, kind, {"int": "INTEGER"}.get(declared, declared.upper()), "", reads)


def _in_utc(relation: str, schema: Schema, stored: Collection[str], engine: SparkEngine) -> str:
    """Return the relation with instants, and times that are stored numbers, as times in UTC."""
    shown = []
    for name, column in schema.items():
        sql = engine.dialect.identifier(name)
        if name in stored:
            # least() and greatest() pass over what is missing
            number = f"greatest(least({sql}, {MILLIS[1]}), {MILLIS[0]})"
            shown.append(f"case when {sql} is not null then {_utc(f'({number} * 1000)')} end")
        else:
            shown.append(_utc(f"unix_micros({sql})") if column.declared == "TIMESTAMP" else sql)
        shown[-1] += f" as {sql}"
    # all names are selected, so that an unreadable one is refused now
    query = f"(select {', '.join(shown)} from {relation})"
    engine.attempt(lambda: engine.session.sql(f"select * from {query} as r").schema)
    return query


def _utc(micros: str) -> str:
    """Return the SQL of the time in UTC, from its microseconds since 1970."""
    # No product is beyond 64 bits, and no setting of the session has a part in it.
    days = (
        f"case when {micros} >= 0 then {micros} div {_DAY} "
        f"else -1 - ((-1 - {micros}) div {_DAY}) end"
    )
    day, rest = f"date_from_unix_date(cast({days} as int))", f"pmod({micros}, {_DAY})"
    parts = [
        *(f"{part}({day})" for part in ("year", "month", "day")),
        f"cast({rest} div 3600000000 as int)",
        f"cast(pmod({rest} div 60000000, 60) as int)",
        f"cast(cast(pmod({rest}, 60000000) as decimal(10,0)) * cast('0.000001' as decimal(7,6)) "
        "as decimal(16,6))",
    ]
    return f"make_timestamp_ntz({', '.join(parts)})"
