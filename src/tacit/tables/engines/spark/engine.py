"""Spark, in the user's own session: classic or Connect, by its public interface alone.

*A person with very many rows.*  People are added up by ``group by``, by person and place, which
Spark does in part where the rows are: a task emits a line for each person and place, whatever
that person's rows are, and what meets in a window by person are these lines
(:mod:`tacit.tables.query.people_first`).  Spark cannot promise to keep what it has read, so nothing
else would count a person in the very rows that are added up.  Of groups and of whole rows that are
drawn (:mod:`tacit.tables.query.sampled_rows`) Spark keeps the first few lines of a person in each
task before they meet, where a person may have at most
``spark.sql.optimizer.windowGroupLimitThreshold`` (1000) of them.

*Retries.*  Every number that Spark adds up is whole, and nothing in a query is drawn by Spark: a
task that runs twice, or twice at once, gives the same bits.

*What is left behind.*  Nothing is cached or written.  While a query runs, Spark itself may keep
what moves between its tasks in files of ``spark.local.dir``, which go with the query's data or
with the executor; ``spark.io.encryption.enabled`` enciphers them.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError
from tacit.expressions.dialect import Dialect
from tacit.tables.engines.base import InPlaceEngine, checked_timeout
from tacit.tables.engines.spark.dialect import SPARK
from tacit.tables.engines.spark.errors import failure_of, has_ended, is_sparks
from tacit.tables.engines.spark.progress import is_connect, shown

__all__ = ["SparkEngine"]

_T = TypeVar("_T")
_TEXT = "tacit_text_"
"""How the views of public text begin."""
_PAUSE = 0.2
"""Seconds between two looks for jobs whose time is over."""
_LOGGER = "SQLQueryContextLogger"
"""Where pyspark writes the errors of queries, with their messages."""


class SparkEngine(InPlaceEngine):
    """A session of Spark, whose settings stay as they are.

    Args:
        session: the user's ``SparkSession``.
        timeout: the most seconds of one query, after which its jobs are cancelled; None to wait as
            Spark does, which has no end where all of its workers are gone.

    Raises:
        UsageError: a time that is none.
        DataSourceError: anything that Spark raises.  Its own message may quote rows of the data,
            so the message and the exception are dropped.
    """

    dialect: Dialect = SPARK

    def __init__(self, session: Any, timeout: float | None = None) -> None:
        self.session = session
        self._timeout = checked_timeout(timeout)
        self._lock = threading.RLock()
        self._views: set[str] = set()
        self._close = weakref.finalize(self, _drop_all, session, self._views)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        found = self.attempt(lambda: self.session.sql(sql).collect())
        return [tuple(map(_plain, row)) for row in found]

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query of 64-bit integer columns and return the columns."""
        found = self.attempt(lambda: _columns(self.session.sql(sql)))
        return [np.asarray(column, dtype=np.int64) for column in found]

    def materialise(self, sql: str) -> str:
        """Return the query itself as a relation: raw rows are not kept anywhere.

        One that reads public text becomes a view, which holds that text when it is dropped.
        """
        if _TEXT in sql:
            return self.view(lambda: self.session.sql(sql))
        return super().materialise(sql)

    def keep_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Give columns of public text to Spark, and return the name of their view."""
        shape = ", ".join(f"c{i} string" for i in range(len(columns)))
        lines = list(zip(*columns, strict=True))
        return self.view(lambda: self.session.createDataFrame(lines, shape), _TEXT)

    def view(self, make: Callable[[], Any], begins: str = "tacit_") -> str:
        """Name a DataFrame within the session, and return the quoted name."""
        name = begins + secrets.token_hex(8)
        self.attempt(lambda: make().createOrReplaceTempView(name))
        self._views.add(name)
        return self.dialect.identifier(name)

    def drop(self, relation: str) -> None:
        """Remove the view of :meth:`keep_text`; there is nothing else to remove."""
        name = relation.strip(self.dialect.quote)
        if name in self._views and not self.closed:
            self._views.discard(name)
            self.attempt(lambda: self.session.catalog.dropTempView(name))

    def reading(self) -> AbstractContextManager[object]:
        """Return an empty block: each query of the plan bounds people by itself."""
        return nullcontext()

    def close(self) -> None:
        """Forget the session, and remove the views in it; the session itself goes on."""
        self._close()

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
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
        # raised here, not above: Spark's error must not hang on it as its context
        raise failure


def _plain(value: Any) -> Any:
    """Return a whole decimal as an integer."""
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    return value


def _columns(found: Any) -> list[Any]:
    """Return the columns of a DataFrame, by way of Arrow where that is there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        lines = found.collect()
        return [[line[i] for line in lines] for i in range(len(found.columns))]
    return [column.to_numpy() for column in found.toArrow().columns]


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
        while not done.wait(_PAUSE):  # a job that begins only now is to end too
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

    logger = PySparkLogger.getLogger(_LOGGER)  # a class of its own, whoever asks for it first
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
