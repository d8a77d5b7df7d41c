"""Cells of the Parquet files of a DataFrame of Spark that would end a question in its reader."""

# Spark's reader makes microseconds of times in milliseconds, and fails where 64 bits do not hold
# these; it fails where a decimal of more than 18 digits has more of them than its type, which not
# every writer checks.  A single such cell would end every question of its column.  As whole numbers
# and as bytes they are read as they are stored.  Where a DataFrame is the files themselves, they
# are read so; where it is computed from them, what needs such a column is refused by its type.

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.parquet import millis_columns, unchecked_decimals

_INDEX = "InMemoryFileIndex"  # of a plan that lists a folder itself
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_PROJECT = _LOGICAL + "Project"
_AS_THEY_ARE = (_PROJECT, _LOGICAL + "SubqueryAlias", _LOGICAL + "View")
_ATTRIBUTE = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_TIMES = ("timestamp", "timestamp_ntz")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_BY_COLUMN = (
    "spark.sql.parquet.enableVectorizedReader",
    "spark.sql.parquet.enableNestedColumnVectorizedReader",
)
_OPEN = "open the files as they are, as in tc.Session(spark.read.parquet('visits'), ...)"
_FAR_TIMES = (
    "times in milliseconds in Parquet files, and a far one among them would end every question: "
    f"{_OPEN}, or write microseconds"
)
_DIGITS = (
    "decimals in Parquet files whose writer does not count their digits, and one of too many would "
    "end every question: {}, or write the files with Spark"
)
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


class Risk(NamedTuple):
    """Columns of files of which one cell could end a question."""

    stored: Mapping[str, int | None]  # those that can be read as they are stored; see ``as_stored``
    others: set[str]
    kind: str  # the type in a plan of a column that is not read so
    why: str


def risks_of(frame: Any, files: Sequence[str]) -> list[Risk]:
    """Return the columns of a DataFrame's files of which one cell could end a question."""
    parquet = list(filter(_is_parquet, files))
    if not parquet:
        return []
    get = frame.sparkSession.conf.get
    by_row = [name for name in _BY_COLUMN if get(name).casefold() != "true"]
    remedy = f"set {by_row[0]} to true" if by_row else _OPEN
    engine = DuckEngine(None, None, None)
    try:
        millis, more = millis_columns(parquet, engine)
        # read row by row, decimals of any type fail
        decimals, others = unchecked_decimals(parquet, 0 if by_row else 18, engine)
    finally:
        engine.close()
    return [
        Risk(dict.fromkeys(millis), more, "timestamp", _FAR_TIMES),
        Risk(decimals, others, "decimal", _DIGITS.format(remedy)),
    ]


def _is_parquet(path: str) -> bool:
    """Return whether a file has the first bytes of a Parquet file whose footer is plain."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:  # of another machine, or gone: Spark reports it
        return False


def as_stored(frame: Any, risks: Sequence[Risk]) -> tuple[Any, dict[str, str]] | None:
    """Return the DataFrame of the same files, and the types of columns that it reads as stored."""
    # Times are whole numbers there.  A decimal is made of its bytes, and is missing where it has
    # more digits than its type.
    #
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
    scales = {name.casefold(): s for risk in risks for name, s in risk.stored.items()}
    stored: dict[str, str] = {}
    for field in fields["fields"]:
        name, declared = field["name"], str(field["type"])
        if name.casefold() not in scales:
            continue
        scale, decimal = scales[name.casefold()], _DECIMAL.fullmatch(declared)
        if declared in _TIMES if scale is None else decimal and int(decimal[2]) == scale:
            field["type"] = "long" if scale is None else "binary"
            stored[name] = declared
    session = frame.sparkSession
    empty = session.createDataFrame([], StructType.fromJson(fields))
    schema = getattr(empty, "_jdf", None).schema()  # type: ignore[union-attr]
    changed = files.copy(
        *(files.location(), files.partitionSchema(), schema, files.bucketSpec()),
        *(files.fileFormat(), files.options(), files.sparkSession()),
    )
    again = classic.sparkSession().baseRelationToDataFrame(changed)
    jvm = getattr(session.sparkContext, "_jvm")  # noqa: B009
    shown = [
        _decimal_of(name, stored[name], jvm)
        if stored.get(name, "").startswith("decimal")
        else again.col(_quoted(name))
        for name in again.columns()
    ]
    return type(frame)(again.select(jvm.PythonUtils.toSeq(shown)), session), stored


def _decimal_of(name: str, declared: str, jvm: Any) -> Any:
    """Return the column of decimals whose bytes, the first one first, a column has."""
    # No function of SQL reads bytes as a number, and by their hexadecimal digits it takes 10 to 35
    # times as long; these are the classes by which Spark reads decimals of a Java program.
    sql, types = jvm.org.apache.spark.sql, jvm.org.apache.spark.sql.types
    objects, of_class = sql.catalyst.expressions.objects, jvm.java.lang.Class.forName
    seq, none = jvm.PythonUtils.toSeq, getattr(jvm.scala, "None$").__getattr__("MODULE$")

    def new(kind: str, *arguments: Any) -> Any:
        made, shown = of_class(kind), types.ObjectType(of_class(kind))
        return objects.NewInstance(made, seq(list(arguments)), seq([]), True, shown, none)

    digits, scale = map(int, _DECIMAL.fullmatch(declared).groups())  # type: ignore[union-attr]
    utils = sql.classic.ExpressionUtils
    stored = utils.expression(sql.functions.col(_quoted(name)))
    places = sql.catalyst.expressions.Literal(scale, types.DataType.fromDDL("int"))
    number = new("java.math.BigDecimal", new("java.math.BigInteger", stored), places)
    decimal, kind = of_class("org.apache.spark.sql.types.Decimal"), types.DecimalType(digits, scale)
    read = objects.StaticInvoke(
        *(decimal, kind, "apply", seq([number]), seq([]), True, True, True, none)
    )
    return utils.column(sql.catalyst.expressions.CheckOverflow(read, kind, True)).alias(name)


def needed_of(frame: Any, risk: Risk, stored: Mapping[str, str]) -> set[str]:
    """Return the columns for which cells of a risk are read; raise if it is for any row."""
    safe = set(map(str.casefold, stored))
    names = {name for name in {*risk.stored, *risk.others} if name.casefold() not in safe}
    if not names:
        return set()
    if _reads(frame.selectExpr("1"), names, risk.kind):
        raise DataSourceError(f"the DataFrame reads, for each of its rows, {risk.why}")
    columns = [name for name in frame.columns if name not in stored]
    return {name for name in columns if _reads(frame.select(_quoted(name)), names, risk.kind)}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _reads(frame: Any, names: set[str], kind: str) -> bool:
    """Return whether a plan reads one of some columns, or does not say which it reads."""
    listed = "|".join(map(re.escape, names))
    column = re.compile(rf"[<,]({listed}):({kind}|struct|array|map)", re.IGNORECASE)
    read = _READ.findall(plan_of(frame))
    return not read or any(schema.endswith("...") or column.search(schema) for schema in read)


# Settings by which one value of a file decides about other rows.

_FORMATS = {"ParquetFileFormat": "parquet", "ParquetTable": "parquet", "AvroTable": "avro"}
_IGNORE = "spark.sql.files.ignoreCorruptFiles"
_REBASE = {  # and the option of a reader that takes the place of each
    "spark.sql.parquet.datetimeRebaseModeInRead": "datetimerebasemode",
    "spark.sql.parquet.int96RebaseModeInRead": "int96rebasemode",
    "spark.sql.avro.datetimeRebaseModeInRead": "datetimerebasemode",
}
_HAS_DAYS = re.compile(r'"(type|elementType|keyType|valueType)":"(date|timestamp)"')


def refuse_modes(frame: Any) -> None:
    """Raise if a value that is unreadable, or of old, would end the question or hide other rows."""
    get = frame.sparkSession.conf.get
    for read, options, schema in _read_files(frame):
        if options(_IGNORE.rpartition(".")[2].casefold(), get(_IGNORE)).casefold() == "true":
            raise DataSourceError(
                f"with {_IGNORE}, one unreadable value of a file takes all rows behind it away: "
                "set it to false, and leave out files that are damaged"
            )
        for name, option in _REBASE.items():
            strict = f".{read}." in name and options(option, get(name)).upper() == "EXCEPTION"
            if strict and _HAS_DAYS.search(schema):
                raise DataSourceError(
                    f"with {name} set to EXCEPTION, one day before 15 October 1582 would end every "
                    "question of its column: set it to CORRECTED, or to LEGACY for files that "
                    "Spark 2 or Hive wrote"
                )


def _read_files(frame: Any) -> Iterator[tuple[str, Callable[[str, str], str], str]]:
    """Yield the format of each kind of files that a DataFrame reads, its options and its schema."""
    classic = getattr(frame, "_jdf", None)
    if classic is None:  # a session of Spark Connect does not say which options there are
        plan = plan_of(frame)
        for read in ("parquet", "avro") if _INDEX in plan else ():
            if read in plan.casefold():
                yield read, lambda _, default: default, '"type":"date"'
        return
    plan = classic.queryExecution().analyzed()
    for part in (plan, *_each(plan.subqueriesAll())):
        for leaf in _each(part.collectLeaves()):
            if leaf.getClass().getName() == _RELATION and leaf.relation().getClass().getName() == (
                _FILES
            ):
                read, options = leaf.relation().fileFormat(), leaf.relation().options()
                yield _format(read), partial(_option, options), leaf.schema().json()
            elif _class(leaf) == "DataSourceV2Relation" and _class(leaf.table()).endswith("Table"):
                yield _format(leaf.table()), leaf.options().getOrDefault, leaf.schema().json()


def _format(read: Any) -> str:
    return _FORMATS.get(_class(read), "avro" if "avro" in read.getClass().getName() else "other")


def _option(options: Any, name: str, default: str) -> str:
    """Return an option of a map of Scala, whose names are in small letters."""
    given = options.get(name)
    return str(given.get()) if given.isDefined() else default


# Rows that a DataFrame selects.
#
# Spark leaves out groups of rows by the least and the greatest value of a column: of Parquet and
# ORC files by what their writers stored, of a cached DataFrame by its own.  Neither covers NaN,
# which is above all numbers in Spark: of ``x > 5`` other rows decide whether a row with NaN passes.
# A dictionary of a Parquet file has 0.0 above -0.0, which are equal in Spark, and so have
# statistics of ORC.  Times before 1582 have other names in the calendar of some statistics.
# The plan that Spark would run says which comparisons a scan may do so by.

_FILE_SCANS = ("ParquetScan", "OrcScan")  # of a BatchScanExec, which may read anything else
_BELOW_NAN = ("LessThan", "LessThanOrEqual", "EqualTo", "In", "InSet")  # false for NaN
_COMPARISONS = (*_BELOW_NAN, "GreaterThan", "GreaterThanOrEqual", "EqualNullSafe")
_AT_ZERO = ("EqualTo", "EqualNullSafe", "In", "InSet", "LessThanOrEqual", "GreaterThanOrEqual")
_BOTH_ZEROS = (">= -0.0", "<= 0.0")
_ZERO = re.compile(r"(?<![\w.#])-?0\.0(?![\d.E])|subquery")
_DAY = 86_400_000_000
_REFORM, _LEFT_OUT = -141_427, 11  # 15 October 1582, and the days before it that one lacks
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
        scans = list(_filters_of_scans(classic))
        pruned = any(_selects_nan(filters) for _, filters in scans)
        if any(_decides_on_zeros(filters) for kind, filters in scans if kind != "cache"):
            raise DataSourceError(
                "the DataFrame selects rows by whether a floating-point column is zero, or at "
                "least zero, and Spark leaves out groups of rows by a dictionary in which 0.0 is "
                "above -0.0, so that other rows decide whether a row with -0.0 is there: select "
                "rows in the question (where=), or compare with the lower zero below and the upper "
                "one above, as in .filter('x >= -0.0D and x <= 0.0D')"
            )
        if any(_compares_old_times(*scan) for scan in scans if scan[0] != "cache"):
            raise DataSourceError(
                "the DataFrame compares a date or time of its files with one before 15 October "
                "1582, where calendars differ, and Spark leaves out groups of rows by statistics "
                "of another calendar, so that other rows decide whether a row near it is there: "
                "select rows in the question (where=)"
            )
    if pruned:
        raise DataSourceError(
            "the DataFrame compares a floating-point column to select its rows, and Spark leaves "
            "out groups of rows by statistics of that column without NaN, so that other rows "
            "decide whether a row with NaN is there: select rows in the question (where=), or "
            "leave NaN out as well, as in .filter('x > 5 and not isnan(x)')"
        )


def _filters_of_scans(classic: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield what each scan of a DataFrame reads, and by what conditions it may leave rows out."""
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
                yield "cache", _each(leaf.predicates())
            elif name == "FileSourceScanExec":
                yield _class(leaf.relation().fileFormat()), _each(leaf.dataFilters())
            elif name == "BatchScanExec" and (kind := _class(leaf.scan())) in _FILE_SCANS:
                yield kind, _each(leaf.scan().dataFilters())
            elif name == "BatchScanExec":
                # a table of Iceberg, say: by which of the filters it leaves rows out, it keeps
                yield name, [part for one in _selections(plan) for part in _conjuncts(one)]


def _selections(plan: Any) -> Iterator[Any]:
    """Yield the conditions of the filters of a plan."""
    if _class(plan) == "FilterExec":
        yield plan.condition()
    for child in _each(plan.children()):
        yield from _selections(child)


def _conjuncts(condition: Any) -> list[Any]:
    if _class(condition) != "And":
        return [condition]
    return [part for side in _each(condition.children()) for part in _conjuncts(side)]


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


def _decides_on_zeros(filters: Sequence[Any]) -> bool:
    """Return whether conditions on floating-point columns may hold for one of two zeros alone."""
    return any(
        _class(part) in _AT_ZERO
        and _ZERO.search(shown := part.toString())
        and shown not in [f"({column} {safe})" for column in columns for safe in _BOTH_ZEROS]
        for one in filters
        for part in _parts(one)
        if (columns := _floats(part))
    )


def _compares_old_times(kind: str, filters: Sequence[Any]) -> bool:
    """Return whether conditions compare a time with one that two calendars name apart."""
    # In ORC the statistics of times are in the calendar that ended in 1582, and Spark looks up what
    # has the same name in the other one.  In Parquet files of that calendar it misses the ten days
    # that were left out.
    is_orc = kind.startswith("Orc")
    return any(
        day < _REFORM and (day >= _REFORM - _LEFT_OUT or (is_orc and is_time))
        for one in filters
        for part in _parts(one)
        if _class(part) in _COMPARISONS
        for day, is_time in _days(part)
    )


def _days(comparison: Any) -> Iterator[tuple[int, bool]]:
    """Yield the days since 1970 that a comparison has for operands, and whether they are times."""
    for child in _each(comparison.children()):
        kind = child.dataType().simpleString()
        if kind != "date" and kind not in _TIMES:
            continue
        values = [child.value()] if _class(child) == "Literal" else []
        if _class(comparison) == "InSet":
            values = _each(comparison.hset().toSeq())
        for value in values:
            if value is not None:  # a time of any zone: up to a day earlier
                yield (value, False) if kind == "date" else (value // _DAY - 1, True)


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
