"""A table full of NULLs, which DuckDB and the translation are both asked about."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.sql.aggregates import Scope

KINDS = {"a": "BIGINT", "b": "DOUBLE", "t": "VARCHAR", "f": "BOOLEAN"}
SCHEMA = Schema(
    [
        Column("a", "integer", "BIGINT"),
        Column("b", "float", "DOUBLE"),
        Column("t", "text", "VARCHAR"),
        Column("f", "boolean", "BOOLEAN"),
    ]
)


class Rows:
    """The rows of a table, where nothing is asked but what names stand for."""

    schema = SCHEMA


def rows() -> Scope:
    question: Any = Rows()
    return Scope(question, {"r": {name: col(name) for name in SCHEMA}})


NUMBERS = st.sampled_from(
    [
        *("a", "b", "0", "1", "2.5", "-1", "null", "a + b", "a - 1", "b * 2", "-a", "abs(b)"),
        *("coalesce(a, b)", "nullif(a, 1)", "greatest(a, 1)", "least(b, a)"),
        *("least(greatest(b, 0), 2)", "if(f, a, b)", "case when a > 1 then b else a end"),
        *("case a when 1 then 5 end", "length(t)", "cast(f as integer)", "cast(a as double)"),
        *("case when f then 1 end", "a % 3", "mod(a, 2)", "floor(b)", "ceil(b)", "round(b)"),
        *("cast(round(b) as integer)", "case when contains(t, 'y') then 1 else 0 end"),
        *("length(substring(t, 2, 1))", "length(trim(t))"),
    ]
)


A = [None, -1, 0, 1, 2, 7]
B = [None, -1.0, 0.0, 1.0, 2.5]
T = [None, "", "x", "xy", "X", "yx"]
F = [None, True, False]
TABLE = [
    {"a": a, "b": b, "t": T[(i * 5 + j) % 6], "f": F[(i + 2 * j) % 3]}
    for i, a in enumerate(A)
    for j, b in enumerate(B)
]
