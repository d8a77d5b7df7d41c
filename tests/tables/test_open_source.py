"""A table is opened from whatever holds it; wrong places say what to do."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments
from tacit.tables.spec.privacy_unit import OneRowEach

GRID = Grid.for_bounds(0, 100)
AGE = Moments(col("age"), GRID)
FRAME = {"age": [31, 45, None], "sex": ["f", "m", None]}


def mean_parts(source: Source) -> list[int]:
    with source:
        return list(Query(source, OneRowEach()).run([AGE]).of(AGE)[0][:3])


EXPECTED = [2, 1, GRID.offset(31) + GRID.offset(45)]


def test_every_kind_of_source_gives_the_same_integers(tmp_path):
    table = pa.table(FRAME)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("age,sex\n31,f\n45,m\n,\n")
    (tmp_path / "a.tsv").write_text("age\tsex\n31\tf\n45\tm\n\t\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "1.csv").write_text("age,sex\n31,f\n")
    (tmp_path / "folder" / "2.csv").write_text("age,sex\n45,m\n,x\n")
    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute("create schema s; create table s.t as select * from arrow")
    connection.execute(f"attach '{tmp_path}/d.duckdb' as d; create table d.t as from arrow")
    connection.execute("detach d")
    sources = [
        *(tmp_path / "a.parquet", str(tmp_path / "a.csv"), tmp_path / "a.tsv"),
        *(tmp_path / "folder", str(tmp_path / "folder" / "*.csv")),
        *(table, pd.DataFrame(FRAME), pd.DataFrame(FRAME).astype(object)),
        *(pl.DataFrame(FRAME), pl.DataFrame(FRAME).lazy(), connection.table("s.t")),
        *(table.to_reader(), connection.sql("select * from s.t")),
    ]
    for source in sources:
        assert mean_parts(open_source(source)) == EXPECTED, type(source)
    assert mean_parts(open_source(connection, "s.t")) == EXPECTED
    assert mean_parts(open_source(tmp_path / "d.duckdb", "t")) == EXPECTED


def test_wrong_places_say_what_to_do(tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n")
    with pytest.raises(DataSourceError, match="did you mean 'people"):
        open_source(tmp_path / "peple.csv")
    (tmp_path / "hollow").mkdir()
    with pytest.raises(DataSourceError, match=r"no \.csv or \.parquet"):
        open_source(tmp_path / "hollow")
    with pytest.raises(DataSourceError, match="is not a table"):
        open_source(3)
    with pytest.raises(UsageError, match="name the table"):
        open_source(duckdb.connect())
    with pytest.raises(DataSourceError, match="no table 'visit'"):
        open_source(duckdb.connect(), "visit")
    with pytest.raises(UsageError, match="memory_limit"):
        open_source(tmp_path / "people.csv", memory_limit="much")


def test_this_folder_has_the_name_of_the_folder_and_an_empty_path_none(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("age\n31\n")
    monkeypatch.chdir(tmp_path)
    assert open_source(".").name == tmp_path.name
    with pytest.raises(DataSourceError, match="the path is empty"):
        open_source("")


@pytest.mark.parametrize("table", [5, "", b"visits"])
def test_the_name_of_a_table_is_text(table):
    with pytest.raises(UsageError, match="the name of a table, as text"):
        open_source(duckdb.connect(), table)


def test_identity_is_the_name_and_the_columns_not_the_rows(tmp_path):
    one, two = tmp_path / "1", tmp_path / "2"
    for folder, text in ((one, "age\n1\n"), (two, "age\nx\n")):
        folder.mkdir()
        (folder / "a.csv").write_text(text)
    same = {open_source(f / "a.csv").identity for f in (one, two)}
    assert len(same) == 1
    assert open_source(one / "a.csv", name="b").identity not in same
