"""A column's value in SQL: what is missing, and what makes two values one."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col
from tacit.expressions.operations import column_sql, compared_sql, has_time, is_wide, seconds_sql
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DUCKDB

SCHEMA = Schema(
    [
        Column("x", "float", "DOUBLE"),
        Column("money", "decimal", "DECIMAL(9,2)"),
        Column("cents", "decimal", "DECIMAL(9,3)"),
        Column("at", "date", "TIMESTAMP"),
        Column("day", "date", "DATE"),
        Column("some_day", "date", "date"),
        Column("n", "integer", "BIGINT"),
        Column("huge", "integer", "HUGEINT"),
        Column("t", "text", "VARCHAR"),
        Column("none", "missing", "NULL"),
    ]
)
ROW = (
    "select 'nan'::double as x, 1.25::decimal(9,2) as money, 1.25::decimal(9,3) as cents, "
    "'2026-01-31 10:30'::timestamp as at, '2026-01-31'::date as day, 5::bigint as n, "
    "7::hugeint as huge, 'ab' as t, null as none"
)


def asked(sql: str) -> Any:
    return duckdb.execute(f"select {sql} from ({ROW}) as tacit_rows").fetchall()[0][0]


def test_values_are_those_of_the_column_and_nan_is_missing() -> None:
    found = {name: asked(column_sql(col(name), SCHEMA, DUCKDB)) for name in ("x", "money", "none")}
    assert found == {"x": None, "money": 1.25, "none": None}
    assert asked(f"typeof({column_sql(col('money'), SCHEMA, DUCKDB)})") == "DOUBLE"
    assert str(asked(column_sql(col("at"), SCHEMA, DUCKDB))) == "2026-01-31"
    assert asked(column_sql(col("t"), SCHEMA, DUCKDB)) == "ab"


def test_seconds_are_whole_numbers_since_1970() -> None:
    assert asked(seconds_sql(col("at"), SCHEMA, DUCKDB)) == 1_769_855_400
    assert asked(seconds_sql(col("none"), SCHEMA, DUCKDB)) is None


def test_a_time_of_day_is_asked_of_times_alone() -> None:
    asks = col("at").hour()
    for side in (col("at"), col("none"), col("some_day"), col("t").read_time()):
        has_time(asks, side, SCHEMA)
    with pytest.raises(UsageError, match="'day' holds only dates"):
        has_time(asks, col("day"), SCHEMA)
    for side in (col("n"), col("t"), col("t").read_date()):
        with pytest.raises(UsageError, match="needs a column of times"):
            has_time(asks, side, SCHEMA)


def test_a_whole_number_is_wide_where_its_type_or_a_choice_may_be() -> None:
    assert [is_wide(col(name), SCHEMA) for name in ("n", "huge")] == [False, True]
    assert [is_wide(Expression("literal", (), (value,)), SCHEMA) for value in (1, 1 << 63)] == [
        False,
        True,
    ]
    assert is_wide(col("n").fill(col("huge")), SCHEMA)
    assert not is_wide(col("n").fill(0), SCHEMA)


def test_only_decimals_of_one_type_are_compared_as_such() -> None:
    def sides(*names: str) -> list[str]:
        nodes = [col(name) for name in names]
        parts = [column_sql(node, SCHEMA, DUCKDB) for node in nodes]
        same = compared_sql(nodes, "float", parts, SCHEMA, DUCKDB)
        return [a == b for a, b in zip(parts, same, strict=True)]

    assert sides("money", "money") == [False, False]
    assert sides("money", "cents") == [True, True]  # as doubles: no type holds both
    assert sides("x", "money") == [True, True]
    (text,) = compared_sql([col("t")], "text", ["t"], SCHEMA, DUCKDB)
    assert asked(f"{text} = 'ab'")
    assert not asked(f"{text} = 'AB'")
