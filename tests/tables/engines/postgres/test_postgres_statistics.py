"""What PostgreSQL reads of a table follows from its rows, whatever it knows of their statistics."""

from __future__ import annotations

import random

import pytest

from support.tables.column_questions import answers, in_duckdb
from support.tables.parquet_writers import VALUES, random_table
from tacit.tables.open_source import open_source


@pytest.mark.full
def test_indexes_and_statistics_change_nothing(postgres, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    types = {name: VALUES[name] for name in ("double", "float")}
    table = random_table(random.Random(3), types, 16)
    with in_duckdb(table) as source:
        kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
        expected = answers(source, kinds)
    postgres.run("create table data (p bigint, double double precision, float real)")
    for row in table.to_pylist():
        cells = ["null" if c is None else f"'{c}'" for c in row.values()]
        postgres.run(f"insert into data values ({', '.join(cells)})")
    for name in types:
        postgres.run(f"create index on data using brin ({name}); create index on data ({name})")
    postgres.run("create statistics s on double, float from data; analyze data")
    with open_source(postgres.dsn(), "data") as source:
        assert answers(source, kinds) == expected
