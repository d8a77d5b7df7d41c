"""Parquet files are opened by their footers: none too long for the memory, types by schemas."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.tables.engines.duckdb import parquet as duck_parquet
from tacit.tables.engines.duckdb.parquet import together
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Rows


def write(path, rows=1, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=rows)


def count(source, where):
    return int(Query(source, OneRowEach(), where=where).run([Rows()]).of(Rows())[0])


def test_footers_that_do_not_fit_into_memory_are_refused_unread(tmp_path, monkeypatch):
    """8 MB of 20,000 row groups took 78 MB: ten times; in 300 MB, 10^5 groups took 549 MB."""
    rows = list(range(3000))
    write(tmp_path / "many.parquet", age=rows)
    write(tmp_path / "few.parquet", rows=1000, age=rows)
    monkeypatch.setattr(
        duck_parquet, "_alike", lambda *_: pytest.fail("the engine was to read the footer")
    )
    with pytest.raises(DataSourceError, match=r"larger ones .* or raise memory_limit"):
        open_source(tmp_path / "many.parquet", memory_limit="10MB")
    monkeypatch.undo()
    for name, limit in (("few", "10MB"), ("many", None)):
        with open_source(tmp_path / f"{name}.parquet", memory_limit=limit) as source:
            assert count(source, col("age") >= 0) == 3000
    for place in range(3):
        write(tmp_path / "folder" / f"{place}.parquet", age=rows[::3])
    monkeypatch.setattr(duck_parquet, "FOOTER_LIMIT", 1 << 17)
    open_source(tmp_path / "folder" / "0.parquet").close()
    with pytest.raises(DataSourceError, match="the other files"):
        open_source(tmp_path / "folder")


def test_types_that_differ_are_joined_by_schemas_and_conflicts_refused_where_named(tmp_path):
    day, far = datetime.date(2024, 1, 31), datetime.date(9999, 1, 1)
    one = {"n": pa.array([2**53 + 1], pa.int64()), "u": pa.array([2**64 - 1], pa.uint64())}
    two = {"n": pa.array([-1], pa.int8()), "u": pa.array([-(2**63)], pa.int64())}
    one |= {"x": pa.array([2**24 + 1], pa.int32()), "d": pa.array([Decimal("1.25")])}
    two |= {"x": pa.array([0.5], pa.float32()), "d": pa.array([10**9], pa.int64())}
    one |= {"at": pa.array([far], pa.date32()), "odd": pa.array(["a"]), "none": pa.nulls(1)}
    two |= {
        "at": pa.array([datetime.datetime(2024, 1, 31, 9)], pa.timestamp("ns")),
        "odd": pa.array([1]),
        "none": pa.array(["b"]),
        "more": pa.array([day]),
    }
    write(tmp_path / "1.parquet", **one)
    write(tmp_path / "2.parquet", **two)
    with open_source(tmp_path) as source:
        assert source.columns == {
            "n": "integer",
            "u": "integer",
            "x": "float",
            "d": "decimal",
            "at": "date",
            "odd": "other",
            "none": "text",
            "more": "date",
        }
        found = [
            count(source, test)
            for test in (
                *(col("n") == 2**53 + 1, col("n") == -1, col("u") == 2**64 - 1, col("u") < 0),
                *(col("x") == 2**24 + 1, col("x") == 0.5, col("d") == 1.25, col("d") == 10**9),
                *(col("at") == "2024-01-31", col("at") == "9999-01-01", col("none") == "b"),
                *(col("more") == "2024-01-31", col("more").is_null()),
            )
        ]
        assert found == [1] * 13
        with pytest.raises(UsageError, match="do not go together"):
            count(source, col("odd") == "a")


NAMES = ("TINYINT", "UTINYINT", "BIGINT", "UBIGINT", "FLOAT", "DECIMAL(5,2)", "DECIMAL(38,30)")
NAMES += ("DATE", "TIMESTAMP", "TIMESTAMP_NS", "VARCHAR", "BOOLEAN", '"NULL"')


def test_no_value_of_a_type_is_lost_or_fails_in_the_common_one():
    ends = {
        "TINYINT": (-128, 127),
        "UTINYINT": (0, 255),
        "BIGINT": (-(2**63), 2**63 - 1),
        "UBIGINT": (0, 2**64 - 1),
        "DECIMAL(5,2)": ("-999.99", "0.01"),
        "DECIMAL(38,30)": ("-99999999." + "9" * 30, "0." + "0" * 29 + "1"),
    }
    connection = duckdb.connect()
    for one in NAMES:
        for two in NAMES:
            common = together([one, two])
            assert common == together([two, one])
            if common in (None, "DOUBLE") or one not in ends:
                continue
            for end in ends[one]:
                value = f"cast('{end}' as {one})"
                asked = f"select {value}, try_cast({value} as {common})"
                ((before, after),) = connection.execute(asked).fetchall()
                assert before == Decimal(after), (one, two, end)


def test_parts_of_a_folder_are_undeclared_columns_whatever_they_spell(tmp_path):
    for site in ("1", "x"):
        write(tmp_path / "all" / f"site={site}" / "a.parquet", age=[31])
        with open_source(tmp_path / "all") as source:  # with one part, and with two
            assert source.columns == {"age": "integer", "site": "undeclared"}
            assert count(source, col("site") == 1) == 1
    with open_source(tmp_path / "all" / "site=1" / "a.parquet") as source:
        assert source.columns == {"age": "integer"}
    write(tmp_path / "all" / "a.parquet", age=[31])
    with open_source(tmp_path / "all") as source:
        assert source.columns == {"age": "integer"}
    write(tmp_path / "all" / "b.parquet", AGE=[31])
    with pytest.raises(DataSourceError, match="capital letters"):
        open_source(tmp_path / "all")
