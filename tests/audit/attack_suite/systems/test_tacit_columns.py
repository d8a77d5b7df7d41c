"""Columns of the attacks as tables."""

from __future__ import annotations

import duckdb

from tacit.audit.attack_suite.systems.tacit_session import columns_of, duckdb_table, write_parquet


def test_columns_have_the_types_of_their_values():
    assert columns_of({"a": [], "b": [2**70, None], "c": ["x", 1]}) == {
        "a": ([], "double"),
        "b": ([2.0**70, None], "double"),
        "c": (["x", "1"], "varchar"),
    }


def test_a_table_and_a_file_have_the_rows(tmp_path):
    columns = columns_of({"a": [1.5, None], "b": ["x", None]})
    with duckdb_table(columns) as table:
        found = table.execute("select a, b from rows_of_people").fetchall()
    assert found == [(1.5, "x"), (None, None)]
    write_parquet(columns, tmp_path / "rows.parquet")
    assert duckdb.read_parquet(str(tmp_path / "rows.parquet")).fetchall() == found
