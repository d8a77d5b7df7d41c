"""PostgreSQL on values that raise there where other engines go on, and on tables of many sizes."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from support.tables import tables_reference as reference
from tacit.expressions.expression import col, literal, when
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total

HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 2.0**-500, 2.0**-501, 1e-160, 0.5, 3.0, -7.25, 1e160]
HOSTILE += [2.0**500, -(2.0**501), 1.7976931348623157e308, math.inf, -math.inf, math.nan, None]


def open_table(postgres, columns, rows):
    postgres.run(f"create table data ({columns})")
    with postgres.connect() as connection, connection.cursor().copy("copy data from stdin") as copy:
        for row in rows:
            copy.write_row(row)
    return open_source(postgres.dsn(), "data")


@pytest.mark.parametrize("operation", ["+", "-", "*", "/"])
def test_no_product_or_quotient_overflows_or_vanishes(postgres, operation):
    rows = [{"x": x, "y": y} for x in HOSTILE for y in HOSTILE]
    build = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x / y,
    }[operation]
    x, y = col("x"), col("y")
    asked = [build(x, y), build(build(x, y), build(y, x)), build(x, 5e-324), build(1e-200, y)]
    asked += [when(x > 0).then(build(x, literal(0))).otherwise(build(1e300, literal(1e300)))]
    pairs = [(r["x"], r["y"]) for r in rows]
    with open_table(postgres, "x double precision, y double precision", pairs) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for row, values in zip(rows, found, strict=True):
        assert list(values) == [e.evaluate(row) for e in asked], row


WIDE = ["NaN", "Infinity", "-Infinity", "1e-16000", "1e131071", "-1e131071", "7.5", "-0.001"]
WIDE += ["99999999999999999999999999999999999999.5", "12345678901234567890.12345", "0", "1e38"]


def held(text):
    """A numeric as it is read: NaN is missing; within 10^38, to 38 digits after the point."""
    if text == "NaN":
        return None
    if text.endswith("Infinity"):
        return Decimal(f"{text[0] if text[0] == '-' else ''}1e38")
    return max(
        min(Decimal(text) if "e-" not in text else Decimal(0), Decimal("1e38")), -Decimal("1e38")
    )


@pytest.mark.parametrize(
    "grid",
    [
        Grid.for_bounds(-10, 10),
        Grid.for_bounds("-0.01", "0.01"),
        Grid.for_bounds(-(10**20), 10**20),
        Grid.for_bounds(0, 10**30, whole=True),
    ],
    ids=str,
)
def test_a_numeric_of_any_length_has_a_place_on_the_grid(postgres, grid):
    rows = [{"n": held(text)} for text in WIDE]
    query = {"where": None, "by": {}, "keys": [()], "unit": OneRowEach(), "salt": ""}
    asked = [Moments(col("n"), grid), Total(col("n"), grid), Cells(col("n"), grid)]
    with open_table(postgres, "n numeric", [(text,) for text in WIDE]) as source:
        exact = Query(source, OneRowEach()).run(asked)
        for request in asked:
            expected = reference.answer(rows, query, request)
            assert reference.plain(exact.of(request)) == reference.plain(expected)
        for expression in ((col("n") * 2 - 1) / col("n"), col("n") > 7, col("n").is_null()):
            sql = expression.sql(source.schema, source.engine.dialect)
            found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
            assert [v for (v,) in found] == [expression.evaluate(row) for row in rows]


def test_numerics_as_keys_and_people(postgres):
    values = ["1.0", "1.00", "7", "NaN", "1e38", "-5", None]
    with open_table(postgres, "n numeric(60, 0), u numeric", [(v, v) for v in values]) as source:
        query = Query(source, OneRowEach(), by={"n": col("n")})
        assert query.people_by_key() == {(1,): 2, (7,): 1, (-5,): 1, (None,): 3}
        keyed = Query(source, OneRowEach(), by={"n": col("n")}, keys=[1, 7, None])
        assert keyed.run([Rows()]).of(Rows()).tolist() == [2, 1, 3]
        people = Query(source, PersonUnit("u", rows=1))
        assert people.run([People()]).of(People()) == [4]  # two are one, and two are nobody


def test_a_product_with_a_coarse_grid_does_not_vanish(postgres):
    grid = Grid.for_bounds(-(10**15), 10**15)
    assert grid.exponent < 0
    values = [5e-324, -5e-324, 0.0, 2.0**18, -(2.0**18), 1e15, None, math.nan]
    query = {"where": None, "by": {}, "keys": [()], "unit": OneRowEach(), "salt": ""}
    with open_table(postgres, "x double precision", [(v,) for v in values]) as source:
        found = Query(source, OneRowEach()).run([Moments(col("x"), grid)])
        expected = reference.answer([{"x": v} for v in values], query, Moments(col("x"), grid))
        assert reference.plain(found.of(Moments(col("x"), grid))) == expected


def test_dates_beyond_the_calendar_are_missing_where_they_have_no_part(postgres):
    days = ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "2024-02-29", None]
    with open_table(postgres, "d date", [(d,) for d in days]) as source:
        for part, value in (("year", 2024), ("month", 2)):
            sql = getattr(col("d"), part)().sql(source.schema, source.engine.dialect)
            found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
            assert [v for (v,) in found] == [None, None, None, None, value, None]
        keys = Query(source, OneRowEach(), by={"d": col("d")}).people_by_key()
        assert {str(key[0]): n for key, n in keys.items()} == {"2024-02-29": 1, "None": 5}


def test_keys_of_every_kind_are_found_whether_listed_or_kept(postgres, monkeypatch):
    values = {
        "text": ["it's", 'a"b\\', "", "ß", "NULL", "{a,b}", None, "12"],
        "bigint": [(1 << 63) - 1, 1 - (1 << 63), 0, None],
        "numeric(38,0)": [(1 << 126) - 1, 1 - (1 << 126), 7, None],
        "boolean": [True, False, None],
    }
    for kind, keys in values.items():
        rows = [(key,) for times, key in enumerate(keys, 1) for _ in range(times)]
        with open_table(postgres, f"g {kind}", rows) as source:
            for most in (len(keys), 0):
                monkeypatch.setattr("tacit.tables.query.keys._LISTED", most)
                query = Query(source, OneRowEach(), by={"g": col("g")}, keys=keys)
                for request in (Rows(), People()):
                    counts = query.run([request]).of(request).tolist()
                    assert counts == list(range(1, len(keys) + 1))
        postgres.run("drop table data")


def test_a_hundred_thousand_keys_and_a_giant_among_many(postgres):
    size, giant = 100_000, 30_000
    postgres.run(
        "create table data as select i as person, i % 50 as x, 'key ' || i as g "
        f"from generate_series(0, {size - 1}) as i",
        f"insert into data select 5, 1, 'key ' || i % 7 from generate_series(1, {giant}) as i",
    )
    keys = [f"key {i}" for i in range(0, 2 * size, 2)]
    grid = Grid.for_bounds(0, 49, whole=True)
    unit = PersonUnit("person", rows=3, most_groups=2)
    asked = [Rows(), Moments(col("x"), grid), Bins(col("x"), grid, (0, 10, 49)), People()]
    with open_source(postgres.dsn(), "data") as source:
        exact = Query(source, unit, by={"g": col("g")}, keys=keys).run(asked)
        counts = exact.of(Rows())
        assert counts[10 : size // 2].tolist() == [unit.one] * (size // 2 - 10)
        assert counts[size // 2 :].sum() == 0
        alone = counts[:4].sum() - 4 * unit.one  # the giant's rows lie in the first keys
        assert 0 < alone <= 3 * unit.one
        assert exact.of(People()).sum() == size // 2 + 2
        plain = Query(source, unit).run([Rows(), Total(col("x"), grid), People()])
        assert plain.of(People()) == [size]
        everybody = (size - 1) * unit.one
        assert everybody < plain.of(Rows())[0] <= everybody + 3 * unit.one
