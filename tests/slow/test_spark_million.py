"""A million people of a row each and one of a million rows, on Spark and in DuckDB."""

from __future__ import annotations

import duckdb
import pytest

import tables_reference as reference
from tacit.tables import contributions
from tacit.tables.contributions import OneRowEach, PersonUnit
from tacit.tables.expression import col
from tacit.tables.grid import Grid
from tacit.tables.query import Query
from tacit.tables.requests import Moments, People, Rows, Total
from tacit.tables.source import open_source

PEOPLE = GIANT = 1_000_000
TASKS = 16
ASKED = [
    Rows(),
    Moments(col("age"), Grid.for_bounds(0, 100, bits=20)),
    Total(col("age"), Grid.for_bounds(-20, 60)),
    People(),
]
ROWS = """select cast(i * 7919 % 10007 as double) / 100 as age,
    concat('g ', cast(i % 13 as {text})) as g,
    case when i < {giant} then -1 else i end as person from {series}"""


@pytest.fixture(scope="module")
def in_duckdb():
    """The table in DuckDB."""
    with duckdb.connect() as connection:
        series = f"range({PEOPLE + GIANT}) as t(i)"
        rows = ROWS.format(text="varchar", series=series, giant=GIANT)
        connection.execute(f"create table data as {rows}")
        yield connection


@pytest.fixture
def on_spark(spark):
    """The same rows on Spark, in many tasks, whose shuffles have as many and are left so."""
    settings = {
        "spark.sql.shuffle.partitions": str(TASKS),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    spark.range(0, PEOPLE + GIANT, 1, TASKS).toDF("i").createOrReplaceTempView("numbers")
    yield spark.sql(ROWS.format(text="string", series="numbers", giant=GIANT))
    spark.catalog.dropTempView("numbers")
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def records_read(spark):
    """Of each stage, the most records that one of its tasks read of what others handed on."""
    context, gateway = spark.sparkContext._jsc.sc(), spark.sparkContext._gateway
    context.listenerBus().waitUntilEmpty()  # the store is told of tasks by and by
    store = context.statusStore()
    none = gateway.new_array(gateway.jvm.double, 0), gateway.jvm.java.util.ArrayList()
    stages, found = store.stageList(None, False, False, *none), {}
    for stage in map(stages.apply, range(stages.size())):
        key = stage.stageId(), stage.attemptId()
        tasks = store.taskList(*key, 1000)
        metrics = [tasks.apply(number).taskMetrics() for number in range(tasks.size())]
        read = [m.get().shuffleReadMetrics().recordsRead() for m in metrics if m.isDefined()]
        found[key] = max(read, default=0)
    return found


def most_read(spark, ask):
    """The most records that one task of ``ask`` read of what others handed on; what it returns."""
    before = records_read(spark)
    answer = ask()
    return max(most for key, most in records_read(spark).items() if key not in before), answer


def exact(source, unit, query):
    """The integers of every question."""
    with source:
        answer = Query(source, unit, **query).run(ASKED)
        return [reference.plain(answer.of(request)) for request in ASKED]


@pytest.mark.slow
def test_records_read_tells_where_a_giant_is_gathered(spark, on_spark):
    gathered = on_spark.repartition("person").write.format("noop").mode("overwrite")
    most, _ = most_read(spark, gathered.save)
    assert most >= GIANT


@pytest.mark.slow
@pytest.mark.parametrize("rows", [None, 1, 10])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_giant_among_a_million_changes_no_bit_and_gathers_in_no_task(
    spark, on_spark, in_duckdb, monkeypatch, grouped, rows
):
    monkeypatch.setattr(contributions, "new_salt", lambda: "00" * 16)  # of the giant's five groups
    unit = OneRowEach() if rows is None else PersonUnit("person", rows=rows, most_groups=5)
    query = {"by": {"g": col("g")}, "keys": [f"g {i}" for i in range(13)]} if grouped else {}
    most, found = most_read(spark, lambda: exact(open_source(on_spark), unit, query))
    assert found == exact(open_source(in_duckdb, "data"), unit, query)
    giants = GIANT if rows is None else 5 if grouped else 1
    assert sum(found[-1]) == PEOPLE + giants
    assert 0 < most < GIANT // 4
