"""What Spark's errors mean, in our own words: its own messages may quote rows of the data.

Spark's message is searched for the few words below, and then dropped with its exception.
"""

from __future__ import annotations

from typing import Any

from tacit.errors import DataSourceError
from tacit.tables.engines.base import EngineMemoryError

__all__ = ["failure_of", "has_ended", "is_sparks"]

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
    (("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND", "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
      "DATATYPE_MISMATCH", "INCOMPATIBLE_COLUMN"), False, (
        "the table changed its shape in Spark while it was open: open it again")),
    (("ExecutorLostFailure", "FetchFailed", "MetadataFetchFailed", "Executor heartbeat",
      "executor loss", "exited unrelated"), False, (
        "Spark lost executors more often than it retries (spark.task.maxFailures); ask again when "
        "the cluster is well")),
    (("OPERATION_CANCELED", "cancelled", "canceled"), False, (
        "somebody cancelled the query in Spark; ask again")),
)  # fmt: skip


def is_sparks(error: Exception) -> bool:
    """Whether an exception comes from Spark, or from the connection to it."""
    origin = type(error).__module__.split(".")[0]
    return origin in ("pyspark", "py4j", "grpc") or isinstance(error, (ConnectionError, EOFError))


def has_ended(session: Any) -> bool:
    """Whether a session was stopped; of one over Connect only its errors show it."""
    return getattr(getattr(session, "_sc", session), "_jsc", session) is None


def failure_of(error: Exception, *, ended: bool = False, late: bool = False) -> DataSourceError:
    """Return the exception to raise for one of Spark's, of which nothing is quoted.

    Args:
        error: Spark's.
        ended: whether the session has ended.
        late: whether the time of the query was over.
    """
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
