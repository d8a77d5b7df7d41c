"""Times in milliseconds in the Parquet files of a DataFrame of Spark."""

# Spark's reader makes microseconds of them, and fails where 64 bits do not hold these: a single far
# time would end every question of its column.  As whole numbers they are read as they are stored.
# Where a DataFrame is the files themselves, they are read so; where it is computed from them, what
# needs such a column is refused by its type.

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any
from urllib.parse import unquote, urlsplit

from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.parquet import millis_columns

_INDEX = "InMemoryFileIndex"  # of a plan that lists a folder itself
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_PROJECT = _LOGICAL + "Project"
_AS_THEY_ARE = (_PROJECT, _LOGICAL + "SubqueryAlias", _LOGICAL + "View")
_ATTRIBUTE = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_TIMES = ("timestamp", "timestamp_ntz")
_READ = re.compile(r"ReadSchema: (.*)")


def plan_of(frame: Any) -> str:
    """Return the plan of a DataFrame as Spark shows it."""
    with redirect_stdout(io.StringIO()) as shown_plan:
        frame.explain()
    return shown_plan.getvalue()


def input_files(frame: Any) -> tuple[list[str], bool]:
    """Return the local files that a DataFrame reads, and whether its plan lists them itself."""
    classic = getattr(frame, "_jdf", None)  # a session of Spark Connect has none
    plan = classic.queryExecution().toString() if classic else plan_of(frame)
    if _INDEX not in plan and "parquet" not in plan.casefold():
        return [], False
    named = [*frame.inputFiles(), *(_below(classic) if classic else ())]
    local = [unquote(urlsplit(file).path) for file in named if file.startswith("file:")]
    return list(dict.fromkeys(local)), _INDEX in plan


def _below(classic: Any) -> Iterator[str]:
    """Yield the files of subqueries, and those below what is cached, which Spark leaves out."""
    plan = classic.queryExecution().analyzed()
    for part in (plan, *_each(plan.subqueriesAll())):
        for leaf in _each(part.collectLeaves()):
            if leaf.getClass().getName() == _RELATION:
                listed = getattr(leaf.relation(), "inputFiles", None)
                yield from listed() if listed is not None else ()


def _each(sequence: Any) -> list[Any]:
    """Return the items of a sequence of Scala."""
    return [sequence.apply(index) for index in range(sequence.size())]


def millis_in(files: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the columns that are times in milliseconds in all files; those that hold such."""
    parquet = list(filter(_is_parquet, files))
    if not parquet:
        return set(), set()
    engine = DuckEngine(None, None, None)
    try:
        return millis_columns(parquet, engine)
    finally:
        engine.close()


def _is_parquet(path: str) -> bool:
    """Return whether a file has the first bytes of a Parquet file whose footer is plain."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:  # of another machine, or gone: Spark reports it
        return False


def as_stored(frame: Any, millis: Collection[str]) -> tuple[Any, set[str]] | None:
    """Return the DataFrame of the same files with such times as whole numbers, and their names."""
    # None where the DataFrame is more than the columns of its files, or is of Spark Connect, which
    # does not say so.
    from pyspark.sql.types import StructType

    classic = getattr(frame, "_jdf", None)
    if classic is None:
        return None
    plan = classic.queryExecution().analyzed()
    while (node := plan.getClass().getName()) in _AS_THEY_ARE:
        if node == _PROJECT and any(
            shown.getClass().getName() != _ATTRIBUTE for shown in _each(plan.projectList())
        ):
            return None
        plan = plan.child()
    if node != _RELATION:
        return None
    files = plan.relation()
    if files.getClass().getName() != _FILES:
        return None
    if files.fileFormat().getClass().getName() != _PARQUET:
        return None
    fields = json.loads(files.dataSchema().json())
    folded = {name.casefold() for name in millis}
    stored = set()
    for field in fields["fields"]:
        if field["name"].casefold() in folded and field["type"] in _TIMES:
            field["type"] = "long"
            stored.add(field["name"])
    session = frame.sparkSession
    empty = session.createDataFrame([], StructType.fromJson(fields))
    schema = getattr(empty, "_jdf", None).schema()  # type: ignore[union-attr]
    changed = files.copy(
        *(files.location(), files.partitionSchema(), schema, files.bucketSpec()),
        *(files.fileFormat(), files.options(), files.sparkSession()),
    )
    again = classic.sparkSession().baseRelationToDataFrame(changed)
    return type(frame)(again, session), stored


def needed_of(frame: Any, millis: Collection[str]) -> set[str]:
    """Return the columns for which times in milliseconds are read; raise if it is for any row."""
    quoted = {name: "`" + name.replace("`", "``") + "`" for name in frame.columns}
    if _reads(frame.selectExpr("1"), millis):
        raise DataSourceError(
            "the DataFrame reads times in milliseconds from Parquet files for each of its rows, "
            "and a far one among them would end every question: open the files as they are, as in "
            "tc.Session(spark.read.parquet('visits'), ...), or write microseconds"
        )
    return {name for name, sql in quoted.items() if _reads(frame.select(sql), millis)}


def _reads(frame: Any, millis: Collection[str]) -> bool:
    """Return whether a plan reads one of some columns, or does not say which it reads."""
    names = "|".join(map(re.escape, millis))
    column = re.compile(rf"[<,]({names}):(timestamp|struct|array|map)", re.IGNORECASE)
    read = _READ.findall(plan_of(frame))
    return not read or any(schema.endswith("...") or column.search(schema) for schema in read)


# Rows that a DataFrame selects.
#
# Spark leaves out groups of rows by the least and the greatest value of a column: of Parquet and
# ORC files by what their writers stored, of a cached DataFrame by its own.  Neither covers NaN,
# which is above all numbers in Spark: of ``x > 5`` other rows decide whether a row with NaN passes.
# The plan that Spark would run says which comparisons a scan may do so by.

_FILE_SCANS = ("ParquetScan", "OrcScan")  # of a BatchScanExec, which may read anything else
_BELOW_NAN = ("LessThan", "LessThanOrEqual", "EqualTo", "In", "InSet")  # false for NaN
_COMPARISONS = (*_BELOW_NAN, "GreaterThan", "GreaterThanOrEqual", "EqualNullSafe")
_COLUMNS = ("AttributeReference", "GetStructField")
_PUSHED = re.compile(r"PushedFilters: \[(.*)\], ReadSchema|InMemoryTableScan \[.*?\], \[(.*)\]")
_FLOAT = re.compile(r"[ ,(\[](-?\d+\.\d+(E-?\d+)?|NaN|-?Infinity)[,)\]]|\.\.\.")


def refuse_pruned(frame: Any) -> None:
    """Raise if statistics may decide which rows of a DataFrame there are."""
    classic = getattr(frame, "_jdf", None)
    if classic is None:  # its plan in words has no types, but shows the numbers
        shown = ["".join(groups) for groups in _PUSHED.findall(plan_of(frame))]
        pruned = any(map(_FLOAT.search, shown))
    else:
        pruned = any(_selects_nan(filters) for filters in _filters_of_scans(classic))
    if pruned:
        raise DataSourceError(
            "the DataFrame compares a floating-point column to select its rows, and Spark leaves "
            "out groups of rows by statistics of that column without NaN, so that other rows "
            "decide whether a row with NaN is there: select rows in the question (where=), or "
            "leave NaN out as well, as in .filter('x > 5 and not isnan(x)')"
        )


def _filters_of_scans(classic: Any) -> Iterator[list[Any]]:
    """Yield the conditions by which each scan of a DataFrame may leave rows out."""
    planner = classic.sparkSession().sessionState().planner()
    waiting = [classic.queryExecution().sparkPlan()]
    while waiting:
        plan = waiting.pop()
        if ".execution." not in plan.getClass().getName():  # a subquery
            plan = planner.plan(plan).next()
        waiting += _each(plan.subqueriesAll())
        for leaf in _each(plan.collectLeaves()):
            name = _class(leaf)
            if name == "AdaptiveSparkPlanExec":
                waiting.append(leaf.inputPlan())
            elif name == "InMemoryTableScanExec":
                waiting.append(leaf.relation().cachedPlan())
                yield _each(leaf.predicates())
            elif name == "FileSourceScanExec":
                yield _each(leaf.dataFilters())
            elif name == "BatchScanExec" and _class(leaf.scan()) in _FILE_SCANS:
                yield _each(leaf.scan().dataFilters())


def _selects_nan(filters: Sequence[Any]) -> bool:
    """Return whether conditions that all hold may hold for NaN in a column that they compare."""
    without = {
        column
        for one in filters
        if _class(one) in _BELOW_NAN and "NaN" not in one.toString()
        for column in _floats(one)[:1]
        if one.toString().startswith((f"({column} ", f"{column} "))
    }
    without |= {
        one.toString().removeprefix("NOT isnan(").removesuffix(")")
        for one in filters
        if _class(one) == "Not"
    }
    compared = [
        column
        for one in filters
        for part in _parts(one)
        if _class(part) in _COMPARISONS
        for column in _floats(part)
    ]
    return not without.issuperset(compared)


def _parts(expression: Any) -> Iterator[Any]:
    yield expression
    for child in _each(expression.children()):
        yield from _parts(child)


def _floats(comparison: Any) -> list[str]:
    """Return the columns of floating-point numbers that a comparison has for an operand."""
    return [
        child.toString()
        for child in _each(comparison.children())
        if _class(child) in _COLUMNS and child.dataType().simpleString() in ("float", "double")
    ]


def _class(part: Any) -> str:
    return str(part.getClass().getSimpleName())
