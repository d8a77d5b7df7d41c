"""Rows of whole numbers in parts: what comes back, and what lies on the disk meanwhile."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.examples import examples
from tacit.errors import DataSourceError
from tacit.tables.engines.duckdb import divided_rows, engine
from tacit.tables.engines.duckdb.divided_rows import (
    WHOLE_TYPES,
    DividedRows,
    StreamError,
    batches,
    occurrences,
)
from tacit.tables.engines.duckdb.engine import DuckEngine

STREAMS = tuple(map(int, duckdb.__version__.split(".")[:2])) >= (1, 5)
streams = pytest.mark.skipif(not STREAMS, reason="DuckDB before 1.5 divides nothing")
INT64, UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)


# The rows of a part are those that were given, whatever they are and however they came.


@examples(1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.one_of(st.integers(-3, 300), st.integers(INT64.min, INT64.max)),
                st.one_of(st.integers(0, 70_000), st.integers(0, UINT64.max)),
                st.integers(0, 3),
            ),
            max_size=12,
        ),
        max_size=4,
    )
)
def test_parts_have_the_rows_that_were_added(tmp_path, monkeypatch, added):
    monkeypatch.setattr(divided_rows, "_SLICE", 5)
    types = [np.int64, np.uint64, np.uint16]
    with DividedRows(tmp_path, 4, types[:2]) as rows:
        for batch in added:
            several = zip(*batch, strict=True) if batch else ([], [], [])
            rows.add([np.array(c, kind) for c, kind in zip(several, types, strict=True)])
        for number in range(4):
            expected = [row[:2] for batch in added for row in batch if row[2] == number]
            columns = rows.part(number)
            assert list(zip(*(c.tolist() for c in columns), strict=True)) == expected
            assert rows.rows(number) == len(expected)
            pieces = [zip(*(c.tolist() for c in p), strict=True) for p in rows.pieces(number)]
            assert [row for piece in pieces for row in piece] == expected
        rows.clear()
        assert [rows.rows(number) for number in range(4)] == [0] * 4


def test_numbers_take_as_few_bytes_as_they_need(tmp_path):
    with DividedRows(tmp_path, 1, [np.int64] * 4) as rows:
        most = [255, 256, 1 << 16, 1 << 32]
        rows.add([*(np.array([0, m]) for m in most), np.zeros(2, np.uint16)])
        assert [column.itemsize for column in rows.part(0)] == [1, 2, 4, 8]


@given(st.lists(st.integers(-20, 20), max_size=30), st.sampled_from([0, INT64.min + 20, 1 << 40]))
def test_occurrences_are_counted(numbers, first):
    numbers = [n + first for n in numbers]
    found = occurrences(np.array(numbers, np.int64))
    if found is None:
        assert max(numbers) - min(numbers) > 2 * len(numbers)
    else:
        assert found.tolist() == [Counter(numbers)[n] for n in numbers]


@pytest.mark.parametrize("kind", WHOLE_TYPES.values())
def test_numbers_of_few_bits_are_counted_from_end_to_end(kind):
    ends = np.iinfo(kind)
    numbers = [*range(ends.min, ends.min + 300), *range(ends.max - 300, ends.max + 1)]
    if ends.bits <= 16:
        numbers += range(ends.min, ends.max + 1)
    numbers = [n for n in numbers if ends.min <= n <= ends.max]
    for several in (numbers, [n for n in numbers if n < 0], [n for n in numbers if n >= 0]):
        found = occurrences(np.array(several, kind))
        times = Counter(several)
        if found is not None:
            assert found.tolist() == [times[n] for n in several]
        assert (found is None) == (max(several, default=0) - min(several, default=0) > 1e9)


# What lies on the disk: no row, no name, nothing for others, nothing afterwards.


def named_file(path: Path) -> Callable[..., Any]:
    return lambda **_: path.open("w+b", buffering=0)


def test_chunks_are_enciphered_each_by_a_pad_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", named_file(tmp_path / "file"))
    key = bytes(range(32))
    monkeypatch.setattr("secrets.token_bytes", lambda size: key[:size])
    people = np.arange(1000) + 7_000_000
    with DividedRows(tmp_path, 2, [np.int64]) as rows:
        for _ in range(2):
            rows.add([people, np.repeat(np.array([0, 1], np.uint16), 500)])
        written = (tmp_path / "file").read_bytes()
    plain = [people[:500].astype("<u4").tobytes(), people[500:].astype("<u4").tobytes()] * 2
    expected = b""
    for i, chunk in enumerate(plain):
        pad = hashlib.shake_128(key + i.to_bytes(8, "little")).digest(2000)
        expected += bytes(a ^ b for a, b in zip(chunk, pad, strict=True))
    assert written == expected
    assert len({written[i : i + 2000] for i in range(0, 8000, 2000)}) == 4


def test_each_file_has_a_key_of_its_own(tmp_path, monkeypatch):
    written = set()
    for name in "ab":
        monkeypatch.setattr(tempfile, "TemporaryFile", named_file(tmp_path / name))
        with DividedRows(tmp_path, 1, [np.int64]) as rows:
            rows.add([np.zeros(1000, np.int64), np.zeros(1000, np.uint16)])
        written.add((tmp_path / name).read_bytes())
    assert len(written) == 2
    assert all(len(data) == 1000 and len(set(data)) > 100 for data in written)


KILLED = """
import os, signal, sys
import numpy as np
from tacit.tables.engines.duckdb.divided_rows import DividedRows
rows = DividedRows(sys.argv[1], 1, [np.int64])
rows.add([np.arange(100_000), np.zeros(100_000, np.uint16)])
assert rows.part(0)[0].tolist() == list(range(100_000))
assert os.listdir(sys.argv[1]) == []
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the file has a name until it is closed")
def test_the_file_has_no_name_and_a_killed_process_leaves_none(tmp_path):
    ran = subprocess.run([sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True)
    assert ran.returncode == -9, ran.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_cut_short_is_told_without_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", named_file(tmp_path / "file"))
    with DividedRows(tmp_path, 1, [np.int64]) as rows:
        rows.add([np.arange(10), np.zeros(10, np.uint16)])
        os.truncate(tmp_path / "file", 5)
        with pytest.raises(DataSourceError, match="temporary folder"):
            rows.part(0)


# The stream of a query.


def read(sql: str, *types: type) -> list[tuple[int, ...]]:
    with duckdb.connect() as connection:
        stream = connection.sql(sql).__arrow_c_stream__()
        lists = [[c.tolist() for c in columns] for columns in batches(stream, types)]
    return [row for columns in lists for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("kind", WHOLE_TYPES)
def test_a_stream_has_the_rows_of_the_query(kind):
    type_ = WHOLE_TYPES[kind]
    low, high = int(np.iinfo(type_).min), int(np.iinfo(type_).max)
    sql = f"select cast(i as {kind}) as a, 7 - i as b from (select unnest([0, {low}, {high}]) as i)"
    assert read(sql.replace("7 - i", "cast(7 as bigint)"), type_, np.int64) == [
        (0, 7),
        (low, 7),
        (high, 7),
    ]
    assert read(f"select cast(i as {kind}) as a from range(0) t(i)", type_) == []


def test_a_long_stream_comes_in_several_batches():
    rows = read(
        "select i as a, cast(i % 5 as usmallint) as b from range(300000) t(i)", np.int64, np.uint16
    )
    assert sorted(rows) == [(i, i % 5) for i in range(300_000)]


def test_a_stream_that_fails_says_so():
    number = "case when i > 299000 then 'x' else '1' end"
    with pytest.raises((StreamError, duckdb.ConversionException), match=r"onver"):
        read(f"select cast({number} as bigint) as a from range(300000) t(i)", np.int64)


# In the engine: a query that fails is divided by none, one that is retried has each row once.


ROWS = (
    "select i // 3 as u, case when i % 4 > 0 then i % 7 end as z0, 0 as code from range(3000) t(i)"
)
TOTAL = (3000, sum(i % 7 for i in range(3000) if i % 4 > 0), 750)


def total(engine: DuckEngine, parts: Any) -> tuple[int, ...]:
    found = [
        engine.rows(f"select count(*), sum(z0), count(*) - count(z0) from {part.relation}")[0]
        for part in parts
    ]
    return tuple(sum(column) for column in zip(*((n, z or 0, m) for n, z, m in found), strict=True))


@pytest.fixture
def duck() -> Iterator[DuckEngine]:
    made = DuckEngine(memory_limit="400MB", threads=1)
    yield made
    made.close()


@streams
def test_parts_say_how_many_rows_their_people_have(duck):
    with duck.divided(ROWS, "u % 3", 3, "u // 3") as parts:
        for part in parts:
            assert part.counted
            assert duck.rows(f"select distinct n from {part.relation}") == [(3,)]
            ((people, least),) = duck.rows(f"select count(distinct u), min(u) from {part.relation}")
            assert (people, least) in {(334, 0), (333, 0)}
    with duck.divided(ROWS.replace("i // 3", "(i // 3) * 1000000000"), "u % 3", 3) as parts:
        for part in parts:  # people too far apart to be counted by index
            assert not part.counted
            assert total(duck, [part])[0] in {1002, 999}


@streams
def test_a_part_that_memory_does_not_hold_is_in_a_table(duck, monkeypatch):
    monkeypatch.setattr(engine, "_STORED_COLUMN", 1 << 20)
    tables = "select count(*) from duckdb_tables()"
    with duck.divided(ROWS, "u % 3", 3) as parts:
        for number, part in enumerate(parts):
            assert not part.counted
            assert duck.rows(tables) == [(1,)]
            assert total(duck, [part])[0] == [1002, 999, 999][number]
    with duck.divided(ROWS, "u % 3", 3) as parts:
        assert total(duck, parts) == TOTAL
    assert duck.rows(tables) == [(0,)]


@streams
@pytest.mark.parametrize("message", ["Conversion Error: 'a'", "Of No Kind Error: 'a'"])
def test_a_query_that_is_repaired_has_each_row_once(duck, monkeypatch, message):
    failures = [message]

    def failing(stream: object, types: Any) -> Iterator[list[NDArray[Any]]]:
        for columns in batches(stream, types):
            yield columns
            if failures:
                raise StreamError(failures.pop())

    monkeypatch.setattr(engine, "batches", failing)
    duck.on_failure("ConversionException", lambda: None)
    with duck.divided(ROWS, "u % 3", 3) as parts:
        if message.startswith("Conversion"):
            assert total(duck, parts) == TOTAL
        else:
            assert parts is None
    assert not duck.folder or [path.name for path in duck.folder.iterdir()] == ["owner"]


@streams
def test_an_interrupted_division_is_interrupted(duck, monkeypatch):
    def interrupted(*_: object) -> Iterator[list[NDArray[Any]]]:
        yield from ()
        raise StreamError("INTERRUPT Error: Interrupted!")

    monkeypatch.setattr(engine, "batches", interrupted)
    with pytest.raises(KeyboardInterrupt), duck.divided(ROWS, "u % 3", 3):
        pass


@streams
def test_a_full_disk_divides_nothing(duck, monkeypatch):
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(DividedRows, "add", full)
    with duck.divided(ROWS, "u % 3", 3) as parts:
        assert parts is None
    assert duck.rows("select 1") == [(1,)]
