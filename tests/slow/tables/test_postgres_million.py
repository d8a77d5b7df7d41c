"""A million people and a giant, in PostgreSQL and in DuckDB: the same integers."""

from __future__ import annotations

import duckdb
import pytest

from support.tables import tables_reference as reference
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total

PEOPLE, GIANT = 1_000_000, 500_000
ROWS = """
    select {double}(i * 7919 % 10007) / 100 as age, 'g ' || i % 13 as g, i % {people} as person
    from {series} as t(i)
    union all select {double}(i % 101), 'g ' || i % 13, 17 from {giant} as t(i)"""


def statement(double: str, series: str) -> str:
    """The rows, in the words of an engine."""
    ends = (2 * PEOPLE - 1, GIANT - 1)
    many, giant = (series.format(end=end) for end in ends)
    return ROWS.format(double=double, people=PEOPLE, series=many, giant=giant)


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_a_million_people_give_the_same_integers_as_in_duckdb(postgres, grouped):
    pytest.importorskip("psycopg")
    postgres.run(
        "create table data as "
        + statement("1.0::double precision * ", "generate_series(0::bigint, {end})")
    )
    connection = duckdb.connect()
    connection.execute(
        "create table data as " + statement("1.0::double * ", "generate_series(0, {end})")
    )
    grid = Grid.for_bounds(0, 100)
    asked = [
        Rows(),
        Moments(col("age"), Grid.for_bounds(0, 100, bits=20)),
        Total(col("age"), Grid.for_bounds(-20, 60)),
        Bins(col("age"), grid, tuple(grid.offset(e) for e in range(0, 101, 5))),
        Cells(col("age"), Grid.for_bounds(0, 100, bits=10)),
        People(),
    ]
    by = {"by": {"g": col("g")}, "keys": [f"g {i}" for i in range(13)]} if grouped else {}
    found = []
    for source in (open_source(postgres.dsn(), "data"), open_source(connection, "data")):
        with source:
            exact = Query(source, PersonUnit("person", rows=2, most_groups=20), **by).run(asked)
            found.append([reference.plain(exact.of(request)) for request in asked])
    assert found[0] == found[1]
    assert sum(found[0][-1]) >= PEOPLE
