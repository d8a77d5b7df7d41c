"""What Spark reads of a Parquet file follows from its rows, whatever the footer says."""

from __future__ import annotations

import random

import pytest

from support.tables.column_questions import answers, in_duckdb
from support.tables.parquet_writers import VALUES, WRITERS, random_table
from tacit.tables.open_source import open_source

TYPES = {n: VALUES[n] for n in ("double", "float")}


@pytest.mark.full
@pytest.mark.parametrize("writer", ["pyarrow", "polars"])
def test_a_row_counts_for_what_it_is(tmp_path, spark, writer, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    draw = random.Random(3)
    table = random_table(draw, TYPES, 12)
    with in_duckdb(table) as source:
        kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
        expected = answers(source, kinds)
    path = tmp_path / "table.parquet"
    WRITERS[writer](table, path, draw)
    found = answers(open_source(spark.read.parquet(str(path))), kinds)
    assert {w: found[w] for w in expected if found[w] != expected[w]} == {}
