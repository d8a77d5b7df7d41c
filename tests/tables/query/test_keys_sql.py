"""Keys in SQL: in a row, listed, or in a table, they match alike whatever the values."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.expressions.operations import whole_key
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query import keys as keys_sql
from tacit.tables.query.integer_query import Query
from tacit.tables.query.keys import byte_of_key
from tacit.tables.query.requests import Cells, Moments, People, Rows, Total

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


NUMBERS = {
    "double": [*(0.0, -0.0, 1.0, 2.5, -3.0, 2.0**53, 2.0**53 + 2, 1e300, -1e300), 5e-324, None],
    "decimal(5,2)": [Decimal(n) for n in ("0.00", "1.00", "2.50", "-3.00", "999.99")] + [None],
    "decimal(3,3)": [Decimal(n) for n in ("0.000", "0.999", "-0.001")] + [None],
    "decimal(38,37)": [Decimal("9." + "9" * 37), Decimal(1), Decimal("1." + "0" * 36 + "1"), None],
    "decimal(38,19)": [Decimal("2"), Decimal("2." + "0" * 18 + "1"), Decimal(2**53), None],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("declared", NUMBERS)
def test_a_listed_whole_number_is_compared_exactly_with_doubles_and_decimals(
    engine, declared, request
):
    values, keys = NUMBERS[declared], [0, 1, 2, -3, 2**53, 7, None]
    rows = [{"x": value} for value in values]
    if engine == "duckdb" and declared == "double":
        rows += [{"x": value} for value in (float("inf"), float("-inf"), float("nan"))]
    held = [None if v["x"] is None or v["x"] != v["x"] else whole_key(v["x"]) for v in rows]
    with ENGINES[engine](request)(rows, {"x": declared}) as source:
        assert source.columns["x"] in ("float", "decimal")
        found = Query(source, OneRowEach(), by={"x": col("x")}, keys=keys).run([Rows()])
        assert found.of(Rows()).tolist() == [held.count(key) for key in keys]
        with pytest.raises(UsageError, match=r"keys=\[1, 2, 3\].*to_integer\(\)"):
            Query(source, OneRowEach(), by={"x": col("x")})


def test_keys_of_numbers_are_whole_and_the_message_says_what_to_do():
    codes = pd.DataFrame({"code": [1.0, 2.0, np.nan, 3.0, 2.0], "n": range(5)})
    session = tc.Session(codes, tc.one_row_each, tc.epsilon(10**4), tc.in_memory)
    answer = session.group_by("code", keys=[1, 2, 3, None]).agg(tc.count()).release(epsilon=1000)
    assert answer.to_pandas()["count"].tolist() == [1, 2, 1, 1]
    assert answer.certificate.verify()
    for keys in ([1.5], ["1"], [True], [2**53 + 1]):
        with pytest.raises(UsageError, match=r"is not a whole number up to|whole number, a truth"):
            session.group_by("code", keys=keys)
    whole = tc.epsilon_delta(1, "1e-6")
    unlisted = tc.Session(codes, tc.one_row_each, whole, tc.in_memory).group_by("code")
    with pytest.raises(UsageError, match=r"keys=\[1, 2, 3\].*tc.col\('code'\).to_integer\(\)"):
        unlisted.agg(tc.count()).preview(epsilon=1, delta="1e-7")
    plan = session.plan([session.group_by("code", keys=[1, 2]).agg(tc.count())])
    (answer,) = plan.release(epsilon=1000)
    assert answer.to_pandas()["count"].tolist() == [1, 2]
