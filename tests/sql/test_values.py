"""A value in SQL is what SQL computes of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from sql.sql_rows import NUMBERS, TABLE, rows
from support.examples import examples
from tacit.sql.parse import parse
from tacit.sql.values import value


@examples(1)
@given(text=NUMBERS)
def test_a_value_is_what_sql_computes(engine: Any, text: str) -> None:
    found = value(parse(f"select {text} from r").expressions[0], rows())
    asked = engine.execute(f"select ({text})::double from r order by place").fetchall()
    for row, (said,) in zip(TABLE, asked, strict=True):
        assert found.evaluate(row) == said, (text, row)


def test_buckets_are_those_of_postgresql() -> None:
    """width_bucket of PostgreSQL: 0 below, n + 1 from the upper bound on, NULL of NULL."""
    found = value(parse("select width_bucket(a, 0, 10, 5) from r").expressions[0], rows())
    given_, wanted = [-1, 0, 1.9, 2, 9.9, 10, 99, None], [0, 1, 1, 2, 5, 6, 6, None]
    assert [found.evaluate({"a": each}) for each in given_] == wanted
