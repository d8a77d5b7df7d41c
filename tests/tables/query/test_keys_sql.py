"""Keys in SQL: in a row, listed, or in a table, they match alike whatever the values."""

from __future__ import annotations

import datetime

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.query import keys_sql
from tacit.tables.query.integer_query import Query
from tacit.tables.query.keys_sql import byte_of_key
from tacit.tables.query.requests import Cells, Moments, People, Rows, Total
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

TOP = 2**63 - 1
GRID = Grid.for_bounds(0, 100, whole=True)
AGE = col("age")
ASKED = [Rows(), Moments(AGE, GRID), Total(AGE, GRID), Cells(AGE, GRID)]
SITES = [None, TOP, -TOP - 1, 256, -1, 300, *range(-6, 12), *range(-3, 9), TOP - 4, 1990, 1993]
KINDS = [pa.int64(), pa.uint64(), pa.int8(), pa.uint8(), pa.int32()]
UNITS = {"row": OneRowEach(), "person": PersonUnit("person", rows=2)}


def table(kind):
    held = pa.array([None if s is None else s for s in SITES], pa.int64())
    if kind != pa.int64():
        held = pa.array([s if s is None or 0 <= s < 128 else None for s in SITES], kind)
    places = np.arange(len(SITES))
    return pa.table({"site": held, "age": places % 7, "person": places % 5})


def answers(source, unit, keys, **asked):
    query = Query(source, unit, by={"site": col("site")}, keys=keys, **asked)
    requests = [*ASKED, People()] if unit == UNITS["row"] else ASKED  # of people groups are drawn
    found = query.run(requests)
    listed = []
    for request in requests:
        groups = [np.asarray(group, dtype=object).tolist() for group in found.of(request)]
        listed.append(dict(zip(keys, groups, strict=True)))
    return listed


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("first", [0, 1, -4, 1990])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_every_answer_is_that_of_a_table_of_keys(kind, first, unit):
    keys = list(range(first, first + 5))
    condition = (AGE > 2) | (col("site") < 4)
    with open_source(table(kind)) as source:
        for asked in ({}, {"where": condition}):
            in_a_row = answers(source, unit, keys, **asked)
            assert in_a_row == answers(source, unit, keys[::-1], **asked)


def test_which_keys_are_in_a_row():
    with open_source(table(pa.int64())) as source:
        schema, d = source.schema, source.engine.dialect

        def byte(*keys, by="site"):
            return byte_of_key({by: col(by)}, [(key,) for key in keys], schema, d)

        assert byte(3, 4, 5)
        assert byte(*range(256))
        refused = [(5, 4), (1, 3), (True,), (0, None), (None,), range(257), ("a",)]
        assert not any(byte(*keys) for keys in refused)
        assert not byte_of_key({"a": col("site"), "b": col("age")}, [(1, 2)], schema, d)
        assert not byte_of_key({"a": col("site") + 1}, [(1,)], schema, d)


COLUMNS = {
    "varchar": ["it's", "a\0b", "", "ß", None, "12"],
    "bigint": [(1 << 63) - 1, 1 - (1 << 63), 0, None],
    "hugeint": [(1 << 126) - 1, 1 - (1 << 126), 7, None],
    "boolean": [True, False, None],
    "date": [datetime.date(2020, 2, 29), datetime.date.min, datetime.date.max, None],
    '"NULL"': [None],
}


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", COLUMNS)
def test_keys_kept_in_a_table_match_as_keys_in_the_query_do(kind, monkeypatch):
    values = COLUMNS[kind]
    connection = duckdb.connect()
    connection.execute(f"create table t (g {'integer' if 'NULL' in kind else kind})")
    rows = [[v] for times, v in enumerate(values, 1) for _ in range(times)]
    connection.executemany("insert into t values (?)", rows)
    found = []
    with open_source(connection, "t") as source:
        for most in (len(values), 0):
            monkeypatch.setattr(keys_sql, "_LISTED", most)
            asked = Query(source, OneRowEach(), by={"g": col("g")}, keys=values)
            found.append([asked.run([r]).of(r).tolist() for r in (Rows(), People())])
            assert len(asked.tables) == (most == 0)
    assert found == [[list(range(1, len(values) + 1))] * 2] * 2


@pytest.mark.full
def test_a_hundred_thousand_keys_are_counted():
    size = 100_000
    keys = [f"key {i}" for i in range(size)]
    with open_source(pd.DataFrame({"g": keys[::2]})) as source:
        asked = Query(source, OneRowEach(), by={"g": col("g")}, keys=keys)
        counts = asked.run([Rows()]).of(Rows())
        assert counts.tolist() == [1, 0] * (size // 2)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_a_character_is_refused_before_anything_is_spent(text):
    session = tc.Session(
        pd.DataFrame({"g": ["a", "b"]}), unit=tc.one_row_each, budget=tc.epsilon(1)
    )
    with pytest.raises(UsageError, match="half of a character"):
        session.group_by("g", keys=["a", text])
    with pytest.raises(UsageError, match="cannot be written"):
        session.filter(tc.col("g") == text).agg(n=tc.count()).release(epsilon=1)
    assert session.remaining == tc.epsilon(1)
