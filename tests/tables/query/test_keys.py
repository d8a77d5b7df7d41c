"""The table of one row a person: against the definition, on neighbours, on every engine."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from support.tables.engine_tables import ENGINES
from support.tables.hostile_tables import COLUMNS, WHERE, many_rows
from tacit.expressions.expression import col, when
from tacit.expressions.schema import Column, Schema
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.keys import PersonValue, person_source, units_of
from tacit.tables.query.requests import Rows

UNIT = PersonUnit("person id", rows=1)
DERIVED = {"pay": when(col("flag")).then(col("select") * col("cents")).otherwise(col("year") / 3)}


def number(name: str, statistic: Any, column: str, low: Any, high: Any, whole: bool) -> PersonValue:
    grid, places = units_of(Fraction(low), Fraction(high), whole=whole)
    return PersonValue(name, statistic, "integer" if whole else "float", column, grid, places)


VALUES = [
    PersonValue("n", "count", "integer"),
    number("total", "sum", "select", 0, 5000, False),
    number("loss", "sum", "select", "-0.3", "0.1", False),
    number("cents", "sum", "cents", -(10**9), 10**12, False),
    number("long", "sum", "long", -(1 << 61), 1 << 61, True),
    number("huge", "sum", "huge", -7, 1 << 60, True),
    number("flags", "sum", "flag", 0, 100, True),
    number("mean", "mean", "select", -3, 100, False),
    number("mean long", "mean", "long", 0, 1 << 52, False),
    number("pay", "mean", "pay", -5, 5, False),
    number("low", "min", "select", -50, 100, False),
    number("high", "max", "huge", -(1 << 61), 1 << 61, True),
    PersonValue("first", "min", "date", "day"),
    PersonValue("last", "max", "text", 'na"me'),
    PersonValue("names", "distinct", "integer", 'na"me'),
    PersonValue("days", "distinct", "integer", "day"),
    PersonValue("numbers", "distinct", "integer", "select"),
    PersonValue("wholes", "distinct", "integer", "huge"),
]
TYPES = {"integer": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "date": "DATE"}


def schema_of(values: Sequence[PersonValue]) -> Schema:
    person = Column("person id", "integer", "BIGINT")
    return Schema([person, *(Column(v.name, v.kind, TYPES[v.kind]) for v in values)])


def units(value: Any, places: int) -> Fraction | None:
    """A number in units of 10^-places, as a double where they are fractions; None is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not places:
        return Fraction(int(value) if isinstance(value, bool) else value)
    scaled = (col("x") * float(10**places)).evaluate({"x": value})
    return Fraction(scaled)


def held(number: Fraction, low: int, high: int) -> int:
    return min(max(math.floor(number + Fraction(1, 2)), low), high)


def made(rows: Sequence[Mapping[str, Any]], value: PersonValue) -> Any:
    """What is made of one person's rows, by the definition."""
    if value.column is None:
        return len(rows)
    of = DERIVED.get(value.column, col(value.column))
    found = [of.evaluate(row) for row in rows]
    if value.statistic == "distinct":
        return len({x for x in found if x is not None and x == x})
    if value.grid is None:
        there = [each for each in found if each is not None]
        return (min if value.statistic == "min" else max)(there) if there else None
    first, last = value.grid.first, value.grid.last
    wide = value.statistic == "sum"
    ends = (-(1 << 61), 1 << 61) if wide else (first, last)
    numbers = [held(u, *ends) for u in (units(x, value.places) for x in found) if u is not None]
    if not numbers:
        return None
    whole = {
        "sum": lambda: min(max(sum(numbers), first), last),
        "mean": lambda: (sum(numbers) - first * len(numbers)) // len(numbers) + first,
        "min": lambda: min(numbers),
        "max": lambda: max(numbers),
    }[value.statistic]()
    return whole if value.kind == "integer" else whole / 10**value.places


def people_of(rows: Sequence[Mapping[str, Any]]) -> dict[Any, list[Mapping[str, Any]]]:
    found = defaultdict(list)
    for row in rows:
        if row["person id"] is not None and WHERE.evaluate(row):
            found[row["person id"]].append(row)
    return found


def table_of(source: Any, values: Sequence[PersonValue] = VALUES, where: Any = WHERE) -> Any:
    people = person_source(source, UNIT, where, DERIVED, values, schema_of(values))
    return people.engine.rows(f"select * from {people.relation} as tacit_found")


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_makes_what_the_definition_says(
    engine: str, request: pytest.FixtureRequest
) -> None:
    rows = many_rows(300)
    with ENGINES[engine](request)(rows, COLUMNS) as source:
        found = {person: values for person, *values in table_of(source)}
    expected = {p: [made(own, v) for v in VALUES] for p, own in people_of(rows).items()}
    assert found.keys() == expected.keys()
    for person, values in expected.items():
        assert list(found[person]) == values, person


ROWS = [
    {"person": person, "x": x, "k": k}
    for person in (None, 1, 2)
    for x, k in ((None, 0), (2.5, 1), (1e300, -1))
]
SMALL = [
    PersonValue("n", "count", "integer"),
    number("total", "sum", "x", 0, 10, False),
    number("low", "min", "k", -5, 5, True),
]


def small_tables(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[Counter[Any]]:
    """The table of people of each of the tables, which stand in one and are told by a filter."""
    connection = duckdb.connect()
    connection.execute("create table t (number bigint, person bigint, x double, k bigint)")
    rows = [[number, *row.values()] for number, table in enumerate(tables) for row in table]
    connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    schema = Schema([Column("person", "integer", "BIGINT"), *list(schema_of(SMALL).values())[1:]])
    unit = PersonUnit("person", rows=1)
    found = []
    with open_source(connection, "t") as source:
        for number in range(len(tables)):
            people = person_source(source, unit, col("number") == number, {}, SMALL, schema)
            found.append(Counter(people.engine.rows(f"select * from {people.relation} as t")))
    return found


@pytest.mark.full
def test_a_person_who_leaves_takes_one_row_and_moves_no_other() -> None:
    """All tables of up to two rows, and one with a giant: every pair of neighbours."""
    tables = [
        list(rows)
        for size in (0, 1, 2)
        for rows in itertools.combinations_with_replacement(ROWS, size)
    ]
    tables.append([ROWS[4]] * 500 + [ROWS[7], ROWS[8], ROWS[1]])
    pairs = [
        (rows, person, [row for row in rows if row["person"] != person])
        for rows in tables
        for person in (None, 1, 2)
    ]
    several = {str(table): table for rows, _, rest in pairs for table in (rows, rest)}
    made = dict(zip(several, small_tables(list(several.values())), strict=True))
    for rows, person, rest in pairs:
        gone = made[str(rows)] - made[str(rest)]
        assert not made[str(rest)] - made[str(rows)]
        there = person is not None and any(row["person"] == person for row in rows)
        assert sum(gone.values()) == there
        assert {key[0] for key in gone} <= {person}


def test_one_person_is_one_row_whatever_each_statement_reads(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"

    def write(rows: int) -> None:
        new = path.with_suffix(".new")
        text = f'select 1::bigint as "person id", 50.0 as x from range({rows})'
        duckdb.sql(text).write_parquet(str(new))
        os.replace(new, path)

    write(3)
    values = [number("total", "sum", "x", 0, 100, False)]
    with open_source(str(path)) as source:
        engine: Any = source.engine
        statements = 0

        def changing(method: Any) -> Any:
            def asked(sql: str, *rest: Any) -> Any:
                nonlocal statements
                statements += 1
                write(1000 if statements % 2 else 3)
                return method(sql, *rest)

            return asked

        for method in ("rows", "integers", "materialise"):
            setattr(engine, method, changing(getattr(engine, method)))
        people = person_source(source, UNIT, None, {}, values, schema_of(values))
        query = Query(people, UNIT, by={"total": col("total").cut([0, 100])}, keys=["[0, 100]"])
        for _ in range(3):
            assert query.run([Rows()]).of(Rows()).tolist() == [UNIT.one]


@pytest.mark.parametrize(
    ("low", "high", "whole"),
    [("0", "1e-30", False), (0, 10**17, False), (0, 1 << 62, True)],
)
def test_bounds_that_no_unit_fits_are_refused(low: Any, high: Any, whole: bool) -> None:
    with pytest.raises(Exception, match="too far from zero"):
        units_of(Fraction(low), Fraction(high), whole=whole)
