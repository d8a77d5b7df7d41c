"""The Parquet files of DuckDB views, read as files are."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.tables.column_questions import count
from tacit.errors import DataSourceError
from tacit.expressions.expression import col
from tacit.tables.open_source import open_source

VIEWS = {
    "plain": "from 't.parquet'",
    "expression": "select * from read_parquet('t' || '.parquet')",
    "over": "select s, n, t, z from plain where n > 0",
    "named": "with q as (from plain) select q.* from q join (select n from over) using (n)",
    "joined": "select t.* from 't.parquet' where n in (select n from plain)",
    "option": "select read_parquet.* from read_parquet('t.parq*', union_by_name := true)",
    "windowed": "select s, t, z, count(*) over () as n from read_parquet(['t.parquet'])",
}


def test_one_cell_decides_the_fate_of_no_view(tmp_path, monkeypatch):
    """Text that is not UTF-8 and far times, in views of files: neighbours are both answered."""
    monkeypatch.chdir(tmp_path)
    for bad in (1, 0):
        cells = [0, 1 << 62 if bad else 0]
        text = pa.array([b"a", b"\xff" if bad else b"a"]).cast(pa.string(), safe=False)
        times = {
            name: pa.array(cells, pa.timestamp("ms", zone))
            for name, zone in (("t", None), ("z", "UTC"))
        }
        pq.write_table(pa.table({"s": text, "n": [1, 2], **times}), "t.parquet")
        connection = duckdb.connect()
        for name, sql in VIEWS.items():
            connection.execute(f"create view {name} as {sql}")
        for name in VIEWS:
            with open_source(connection, name) as source:
                assert count(source, col("s") == "a") == 2 - bad
                assert count(source, col("s").is_null()) == bad
                assert count(source, col("n") >= 1) == 2
                for time in (col("t"), col("z")):
                    assert count(source, time > "9999-12-31") == bad
        connection.close()


def test_a_view_whose_files_cannot_be_told_is_refused_by_its_text(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": ["a"], "n": [1]}), path)
    connection = duckdb.connect()
    connection.execute(f"create macro m() as table from '{path}'")
    connection.execute("create view macro as select * from m()")
    connection.execute(f"create view virtual as select *, filename from '{path}'")
    connection.execute(f"create view text as from query('from ''{path}''')")
    for name in ("macro", "virtual", "text"):
        with pytest.raises(DataSourceError, match=r"reads Parquet files.*make a table of it"):
            open_source(connection, name)
    connection.execute("create macro one() as 1")
    connection.execute("create view own as select one() as n, 'a' as s")
    with open_source(connection, "own") as source:
        assert count(source, col("s") == "a") == 1
