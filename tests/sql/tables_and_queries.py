"""The tables that the tests of SQL ask, and the hundred queries of the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow
from hypothesis import strategies as st

import tacit as tc
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


PAGE = Path(__file__).parents[2] / "docs" / "sql-queries.md"
DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 2 }
budget = { epsilon = 100, delta = "1e-6" }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
person = { kind = "integer" }
site = { kind = "integer", keys = [1, 2, 3] }
cost = { kind = "float", bounds = [0, 1000], unit = "euro" }
age = { kind = "integer", bounds = [0, 120] }
sex = { kind = "text", keys = ["f", "m"] }
day = { kind = "date" }
at = { kind = "timestamp" }
weight = { kind = "float" }
[tables.patients]
path = "patients.csv"
person = "id"
columns.born = { kind = "integer", bounds = [1900, 2030] }
columns.smokes = { kind = "boolean" }
[tables.sites]
path = "sites.csv"
public = true
key = "site"
columns.region = { keys = ["north", "south"] }
"""
_ROW = re.compile(r"^\| `(.*)` \| (accepted|refused) \| (.*) \|$", re.MULTILINE)


def opened(place: Path) -> tc.Session:
    """A session on the data set of the page."""
    (place / "visits.csv").write_text(
        "person,site,cost,age,sex,day,at,weight\n1,1,20,30,f,2024-01-01,2024-01-01 10:00:00,70\n"
    )
    (place / "patients.csv").write_text("id,born,smokes\n1,1994,true\n")
    (place / "sites.csv").write_text("site,region\n1,north\n2,south\n")
    (place / "visits.toml").write_text(DECLARED)
    return tc.open(place / "visits.toml", ledger=tc.in_memory)


def queries() -> list[tuple[str, str, str]]:
    """The queries of the page, each accepted or refused, and what is said of it."""
    result = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [(query.replace("\\|", "|"), outcome, said) for query, outcome, said in result]


ROWS = pyarrow.table(
    {
        "person": [1, 1, 2, 3, 4, 5] * 4,
        "site": [1, 2, 3, 1, 2, 3] * 4,
        "cost": [1.0, 20.0, None, 4.5, 90.0, 3.0] * 4,
        "age": [4, 18, 33, 61, None, 80] * 4,
        "sex": ["f", "m", None, "f", "m", "x"] * 4,
        "Big": [1, 2, 3, 4, 5, 6] * 4,
        "day": pyarrow.array([0, 400, 800, 1200, None, 19000] * 4, pyarrow.date32()),
        "at": pyarrow.array([0, 10**15, None, 3, 4, 5] * 4, pyarrow.timestamp("us")),
    }
)
