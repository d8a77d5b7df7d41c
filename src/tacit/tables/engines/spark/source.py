"""Open a table for Spark: a DataFrame, or a table that a session knows.

Text is compared by its bytes, whatever its collation.
Columns keep their names and their types, but for times: a ``timestamp`` is an instant, which Spark
would show in the zone of the session, and is read as the time in UTC, so that no setting moves it
to another day.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any
from urllib.parse import unquote, urlsplit

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import Opened, closed_on_failure, refuse_like_names
from tacit.tables.engines.files import refuse_table_format
from tacit.tables.engines.spark.engine import SparkEngine

__all__ = ["beside_in_spark", "in_spark", "open_in_spark"]

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


def in_spark(source: Any) -> bool:
    """Whether a source is Spark's; asked of the classes' names, for Spark need not be there.

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
    """Open a DataFrame, or a table of a session.

    Args:
        source: a DataFrame or a SparkSession.
        table: the name of a table or view that the session knows, as Spark SQL writes it.
        memory_limit: not for Spark, whose user sets it up.
        threads: nor this.
        timeout: see :class:`~tacit.tables.engines.spark.engine.SparkEngine`.

    Raises:
        DataSourceError: no such table, no right to read it, a Spark that is too old.
        UsageError: no table named in a session, or one named beside a DataFrame.
    """
    whole = not hasattr(source, "sparkSession")
    if whole and table is None:
        raise UsageError("name the table: tc.Session(spark, table='db.visits', ...)")
    if not whole and table is not None:
        raise UsageError("table= belongs to a database; this source is a single table")
    if memory_limit is not None or threads is not None:
        raise UsageError("set memory and cores of Spark in its own settings, not for a table")
    session = source if whole else source.sparkSession
    engine = SparkEngine(session, timeout)
    with closed_on_failure(engine):
        _check_version(engine)
        if not whole:
            return beside_in_spark(source, engine)
        relation = _named(str(table), engine)
        opened = _opened(relation, str(table), engine)
        _refuse_union(lambda: session.table(relation), engine)
        return opened


def beside_in_spark(frame: Any, engine: SparkEngine) -> Opened:
    """Open a DataFrame of the session that an engine asks; see :func:`open_in_spark`.

    Raises:
        DataSourceError: it cannot be read, or its files are those of a table with a log.
    """
    opened = _opened(engine.view(lambda: frame), "table", engine)
    _refuse_union(lambda: frame, engine)
    return opened


def _refuse_union(frame: Callable[[], Any], engine: SparkEngine) -> None:
    """Raise if a DataFrame is the union of all files of a table whose log says which count.

    A plan that lists a folder itself has an ``InMemoryFileIndex``; the reader of a format of
    tables has an index of its own.
    """
    found: list[str] = engine.attempt(lambda: _listed(frame()))
    local = [unquote(urlsplit(file).path) for file in found if file.startswith("file:")]
    refuse_table_format(local)


def _listed(frame: Any) -> list[str]:
    """Return the files of a DataFrame, where its plan lists folders itself."""
    classic = getattr(frame, "_jdf", None)  # a session of Spark Connect has none
    if classic:
        plan = classic.queryExecution().toString()
    else:
        with redirect_stdout(io.StringIO()) as shown_plan:
            frame.explain()
        plan = shown_plan.getvalue()
    return list(frame.inputFiles()) if "InMemoryFileIndex" in plan else []


def _opened(relation: str, label: str, engine: SparkEngine) -> Opened:
    schema = _describe(relation, engine)
    return Opened(label, schema, engine, _in_utc(relation, schema, engine))


def _check_version(engine: SparkEngine) -> None:
    version = engine.attempt(lambda: str(engine.session.version))
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < _OLDEST:
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
    streams, found = engine.attempt(lambda: _looked_at(engine.session, relation))
    if streams:
        raise DataSourceError(
            "a streaming DataFrame never ends, so it cannot be counted: write it to a table, "
            "and open that"
        )
    names = [name for name, _ in found]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataSourceError(f"two columns are both named {twice!r}; rename one of them")
    refuse_like_names(names)
    return Schema([_column(name, declared) for name, declared in found])


def _looked_at(session: Any, relation: str) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether a relation never ends, and the names and types of its columns."""
    frame = session.sql(f"select * from {relation}")
    fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    return bool(frame.isStreaming), fields


def _column(name: str, declared: str) -> Column:
    """Return a column; a decimal without a fraction is a whole number.

    >>> _column("n", "decimal(20,0)").kind, _column("t", "timestamp").declared
    ('integer', 'TIMESTAMP')
    """
    kind, reads = _KINDS.get(declared, "other"), "{x}"
    if declared.startswith("string collate "):
        kind, reads = "text", "({x} collate UTF8_BINARY)"
    if re.fullmatch(r"(var)?char\(\d+\)", declared):
        kind = "text"
    places = re.fullmatch(r"decimal\(\d+,(\d+)\)", declared)
    if places:
        kind = "decimal" if int(places[1]) else "integer"
    return Column(name, kind, {"int": "INTEGER"}.get(declared, declared.upper()), "", reads)


def _in_utc(relation: str, schema: Schema, engine: SparkEngine) -> str:
    """Return the relation with instants as times in UTC."""
    instants = {name for name, column in schema.items() if column.declared == "TIMESTAMP"}
    quoted = {name: engine.dialect.identifier(name) for name in schema}
    columns = [f"{_utc(sql)} as {sql}" if name in instants else sql for name, sql in quoted.items()]
    # all names are asked for, so that one which cannot be is refused now
    found = f"(select {', '.join(columns)} from {relation})"
    engine.attempt(lambda: engine.session.sql(f"select * from {found} as r").schema)
    return found


def _utc(instant: str) -> str:
    """Return the SQL of an instant's time in UTC, from its microseconds since 1970.

    No product is beyond 64 bits, and no setting of the session has a part in it.
    """
    micros = f"unix_micros({instant})"
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
