"""Spark against the definition in pure Python, bit by bit, under settings that change meanings."""

from __future__ import annotations

import contextlib
from decimal import Decimal

import pytest

from support.tables.engine_tables import ENGINES
from support.tables.hostile_tables import (
    BY,
    COLUMNS,
    KEYS,
    SALT,
    UNITS,
    WHERE,
    compare,
    compare_expressions,
    many_rows,
    requests,
)
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.spark import SPARK
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, People, Rows, Total

ROWS = many_rows(400)
HOSTILE = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "Pacific/Kiritimati",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.integerGroupingId": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.groupByAliases": "false",
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
}
STRICT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}


pytestmark = [pytest.mark.full, pytest.mark.xdist_group("spark")]


@pytest.fixture
def load(request, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    return ENGINES["spark"](request)


@contextlib.contextmanager
def settings(spark, changed):
    """The session with some settings changed, and as it was before at the end."""
    for name, value in changed.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in changed:
            spark.conf.unset(name)


@pytest.mark.parametrize(
    "unit", [*(pytest.param(u, marks=pytest.mark.slow) for u in UNITS[:-1]), UNITS[-1]], ids=str
)
def test_the_engine_agrees_with_the_definition_by_group(load, unit):
    with load(ROWS, COLUMNS) as source:
        query = {"unit": unit, "where": WHERE, "by": BY, "keys": KEYS}
        compare(ROWS, source, query, [requests()])


def test_the_engine_agrees_with_the_definition_without_groups(load):
    alone = [r for r in requests() if isinstance(r, (Rows, Moments))]
    totals = [r for r in requests() if isinstance(r, Total)]
    with load(ROWS, COLUMNS) as source:
        query = {"unit": UNITS[2], "where": WHERE, "by": {}, "keys": [()]}
        compare(ROWS, source, query, [alone, totals, requests()[-3:]])


def test_a_bound_beyond_64_bits_is_exact_too(load):
    unit = PersonUnit("person id", rows=1500)
    alone = [r for r in requests() if isinstance(r, (Rows, Moments))]
    totals = [r for r in requests() if isinstance(r, Total)]
    crowd = [{**row, "person id": 1} for row in ROWS for _ in range(4)] + ROWS
    with load(crowd, COLUMNS) as source:
        query = {"unit": unit, "where": None, "by": {}, "keys": [()]}
        compare(crowd, source, query, [alone, totals])
        query |= {"by": {"flag": col("flag")}, "keys": [(True,), (None,)]}
        compare(crowd, source, query, [[*alone, *totals]])


@pytest.mark.parametrize("ansi", ["false", "true"])
@pytest.mark.parametrize(
    ("rows", "each", "found"),
    [
        (3, (1 << 41) - 1, 3 * ((1 << 41) - 1)),
        (3, 1 - (1 << 41), 3 - (3 << 41)),
        (1 << 20, 1 << 41, 1 << 61),
        (1 << 22, 1 << 41, (1 << 62) - (1 << 21)),
        (1 << 22, (1 << 41) - 1, None),
        (1 << 22, -(1 << 41), -(1 << 62)),
        (0, 1, 0),
    ],
)
def test_a_near_sum_is_exact_or_beyond(spark, ansi, rows, each, found):
    near = SPARK.near_sum("x", 1 << 61)
    sql = f"select {near} from (select {each} + 0 * id as x from range({rows})) as r"
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        (value,) = spark.sql(sql).first()
    assert value == found if found is not None else 1 << 61 < value < 1 << 63


def test_a_near_sum_leaves_missing_numbers_out(spark):
    near = SPARK.near_sum("x", 1 << 61)
    rows = "(values (1, null), (2, 5L), (2, null), (2, -9L), (3, -1L)) as r(g, x)"
    found = spark.sql(f"select g, {near} from {rows} group by g order by g").collect()
    assert [tuple(row) for row in found] == [(1, 0), (2, -4), (3, -1)]


def test_people_told_apart_by_doubles_are_drawn_alike(load):
    crowd = [{**row, "year": year} for row in ROWS[:60] for year in (-1, 0, 1, 2)]
    unit = PersonUnit("select", rows=9, most_groups=2)
    by, keys = {"y": col("year")}, [(-1,), (0,), (1,), (2,)]
    with load(crowd, COLUMNS) as source:
        query = {"unit": unit, "where": None, "by": by, "keys": keys}
        compare(crowd, source, query, [[People()]])


@pytest.mark.slow
@pytest.mark.parametrize("changed", [HOSTILE, STRICT], ids=["hostile", "strict"])
def test_no_setting_of_the_session_changes_a_bit_nor_is_it_changed(load, spark, changed):
    query = {"unit": UNITS[2], "where": WHERE, "by": BY, "keys": KEYS}
    with settings(spark, changed), load(ROWS, COLUMNS) as source:
        compare(ROWS, source, query, [requests()])
        compare_expressions(ROWS, source)
        assert {name: spark.conf.get(name) for name in changed} == changed


def test_no_rows_at_all(load):
    with load([], COLUMNS) as source:
        keys = [("a",), ("b",)]
        query = {"unit": UNITS[1], "where": None, "by": {"group": col("group")}, "keys": keys}
        compare([], source, query, [requests()[:6]])


def test_decimals_of_every_width_are_exact(load):
    widest = {"d": "decimal(38,3)", "e": "decimal(38,38)", "f": "decimal(38,12)"}
    rows = [
        {
            "d": Decimal("9" * 26 + ".123"),
            "e": Decimal("0." + "9" * 38),
            "f": Decimal("-0." + "9" * 12),
        },
        {"d": Decimal("7.5"), "e": Decimal("-0.5"), "f": Decimal("9" * 26 + "." + "9" * 12)},
        {"d": None, "e": None, "f": None},
    ]
    with load(rows, widest) as source:
        for name in widest:
            request = Moments(col(name), Grid.for_bounds(-1, 10))
            query = {"unit": OneRowEach(), "where": None, "by": {}, "keys": [()]}
            compare_one(rows, source, query, request)


def compare_one(rows, source, query, request):
    from support.tables import tables_reference as reference

    found = Query(source, query["unit"]).run([request]).of(request)
    assert reference.plain(found) == reference.answer(rows, {**query, "salt": SALT}, request)


def test_many_keys_are_kept_beside_the_query(load):
    rows = [{"p": i % 7, "g": f"k{i % 300}"} for i in range(900)]
    with load(rows, {"p": "bigint", "g": "varchar"}) as source:
        query = Query(
            source,
            PersonUnit("p", rows=200),
            by={"g": col("g")},
            keys=[f"k{i}" for i in range(300)],
        )
        assert set(query.run([Rows()]).of(Rows())) == {3 * query.unit.one}
        assert source.engine.session.catalog.listTables()
        query.forget()
    assert not source.engine.session.catalog.listTables()
