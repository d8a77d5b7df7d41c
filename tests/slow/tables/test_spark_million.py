"""A million people of a row each and one of a million rows, on Spark and in DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from support.servers.spark_session import tasks_of
from support.tables import tables_reference as reference
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables import privacy_unit as contributions
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, People, Rows, Total

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


def most_read(spark, ask):
    """The most records that one task of ``ask`` read of what others handed on; what it returns."""
    last = max((task.stage for task in tasks_of(spark)), default=-1)
    answer = ask()
    return max(task.received for task in tasks_of(spark, last)), answer


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


@pytest.mark.slow
def test_sums_so_large_that_their_person_has_no_weight_need_not_be_right(spark):
    """Of 2^23 rows, half of them in each group, whose sums reach 2^64, and of 2^20 to 2^61."""
    giant, large = 1 << 23, 1 << 20
    rows = spark.range(giant + large).selectExpr(
        f"id < {giant} as p", "id % 2 = 0 as even", f"{1 << 41} - id % 3 as x", f"{1 << 20} as y"
    )
    points = Grid.for_bounds(1 << 40, 1 << 41, whole=True)
    moments, total = Moments(col("y"), Grid.for_bounds(0, 1 << 20)), Total(col("x"), points)
    with open_source(rows) as source:
        asked = {"by": {"even": col("even")}, "keys": [True, False]}
        found = Query(source, PersonUnit("p", rows=1), **asked).run([Rows(), moments, total])
    half, cells = large // 2, moments.grid.cells
    assert found.of(Rows()).tolist() == [half, half]
    assert found.of(moments).tolist() == [[half, 0, half * cells, half * cells**2]] * 2
    kept = [points.first + points.offset((1 << 41) - i % 3) for i in range(giant, giant + large)]
    weight = (1 << 20) * (points.first + points.cells) // sum(kept)
    assert weight == 1
    assert found.of(total).tolist() == [sum(kept[0::2]), sum(kept[1::2])]
