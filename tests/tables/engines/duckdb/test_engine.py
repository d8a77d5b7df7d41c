"""The engine that runs inside: its threads, its memory, its disk, and closing it."""

from __future__ import annotations

import traceback
from pathlib import Path

import duckdb
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows

SECRET = "Zaphod"


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two", 10**9])
def test_a_number_of_threads_is_a_small_whole_one(tmp_path, threads):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="threads"):
        open_source(tmp_path / "people.csv", threads=threads)


@pytest.mark.parametrize("limit", ["-5", " -1GB", "0", "", "much", 256, True])
def test_a_memory_limit_that_would_hold_nothing_is_refused(tmp_path, limit):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="memory_limit"):
        open_source(tmp_path / "people.csv", memory_limit=limit)


def test_a_sound_file_beyond_the_memory_limit_is_not_called_damaged(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name\n" + f"31,{SECRET}\n" * 100_000)
    with (
        open_source(path, memory_limit="1MB") as source,
        pytest.raises(DataSourceError, match="raise memory_limit") as caught,
    ):
        Query(source, OneRowEach()).run([Rows()])
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__context__ is None


def test_nothing_stays_on_disk_and_spilled_rows_are_encrypted():
    engine = DuckEngine(memory_limit="200MB")
    ((folder, encrypted),) = engine.rows(
        "select current_setting('temp_directory'), current_setting('temp_file_encryption')"
    )
    assert encrypted
    assert Path(folder).stat().st_mode & 0o077 == 0
    engine.close()
    assert not Path(folder).exists()
    with pytest.raises(DataSourceError, match="closed"):
        engine.rows("select 1")


@pytest.mark.full
def test_beyond_the_memory_limit_rows_spill_unreadably_and_the_answer_is_exact():
    engine = DuckEngine(memory_limit="32MB", threads=1)
    rows = 1_500_000
    try:
        ((folder,),) = engine.rows("select current_setting('temp_directory')")
        table = engine.materialise(
            f"select range as a, '{SECRET}' || md5(range::varchar) as b from range({rows})"
        )
        spilled = [f.read_bytes() for f in Path(folder).iterdir()]
        assert sum(map(len, spilled)) > 1 << 20
        assert not any(SECRET.encode() in text for text in spilled)
        found = engine.rows(f"select sum(a), count(*) from {table} where b like '{SECRET}%'")
        assert found == [(rows * (rows - 1) // 2, rows)]
    finally:
        engine.close()


def test_people_are_grouped_by_an_array_no_longer_than_the_table(tmp_path):
    path, rows = tmp_path / "rows.parquet", 1 << 14
    duckdb.sql(f"copy (select i % 9001 - 7 as p, i % 3 as x from range({rows}) t(i)) to '{path}'")
    asked = "select current_setting('perfect_ht_threshold')"
    connection = duckdb.connect()
    connection.execute(f"create table t as from '{path}'")
    found = []
    with open_source(path) as own, open_source(connection, "t") as given:
        for source in (own, given):
            moments = Moments(col("x"), Grid.for_bounds(0, 2, whole=True))
            answer = Query(source, PersonUnit("p", rows=1)).run([moments]).of(moments)
            found.append((source.engine.rows(asked)[0][0], answer.tolist()))
    assert [int(bits) for bits, _ in found] == [14, 12]
    assert found[0][1] == found[1][1]
