"""Functions of a row in SQL compute what SQL computes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sql.sql_rows import rows
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.sql import conditions as row_functions
from tacit.sql.parse import parse
from tacit.sql.values import value

DAYS = [None, *(datetime.datetime(2023, 12, 30, 7) + datetime.timedelta(i, 5000 * i)
                for i in range(0, 800, 37))]  # fmt: skip
PARTS = [
    *(f"{part}(w)" for part in ("year", "quarter", "month", "day", "dayofyear", "hour")),
    *(f"{part}(w)" for part in ("minute", "second", "isodow", "dayofweek", "weekday")),
    *(f"extract({part} from w)" for part in row_functions.PARTS),
    *("date_part('dow', w)", "date_diff('day', date '2024-02-29', w)"),
    "cast(w as date) - date '2024-02-29'",
]


@pytest.mark.parametrize("text", PARTS)
def test_a_part_of_a_date_is_what_sql_computes(engine: Any, text: str) -> None:
    engine.execute("create or replace table d (place BIGINT, w TIMESTAMP)")
    engine.executemany("insert into d values (?, ?)", [list(each) for each in enumerate(DAYS)])
    names = rows()
    names.question.schema = Schema([Column("w", "date", "TIMESTAMP")])
    names.tables = {"d": {"w": col("w")}}
    found = value(parse(f"select {text} from d").expressions[0], names)
    asked = engine.execute(f"select ({text})::bigint from d order by place").fetchall()
    for at, (said,) in zip(DAYS, asked, strict=True):
        assert found.evaluate({"w": at}) == said, (text, at)
