"""The table of one row a person: against the definition, on neighbours, on every engine."""

from __future__ import annotations

import datetime
import itertools
import math
import os
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from support.tables.hostile_tables import COLUMNS, WHERE, many_rows
from tacit.errors import UsageError
from tacit.expressions.expression import col, when
from tacit.expressions.grid import Grid
from tacit.expressions.operations import whole_key
from tacit.expressions.schema import Column, Schema
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query import keys as keys_sql
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.keys import PersonValue, byte_of_key, person_source, units_of
from tacit.tables.query.requests import Cells, Moments, People, Rows, Total

UNIT = PersonUnit("person id", rows=1)
DERIVED = {"pay": when(col("flag")).then(col("select") * col("cents")).otherwise(col("year") / 3)}


def number(name: str, statistic: Any, column: str, low: Any, high: Any, whole: bool) -> PersonValue:
    grid, places = units_of(Fraction(low), Fraction(high), integers=whole)
    return PersonValue(name, statistic, "integer" if whole else "float", column, grid, places)


VALUES = [
    PersonValue("n", "count", "integer"),
    number("total", "sum", "select", 0, 5000, False),
    number("loss", "sum", "select", "-0.3", "0.1", False),
    number("cents", "sum", "cents", -(10**9), 10**12, False),
    number("long", "sum", "long", -(1 << 61), 1 << 61, True),
    number("huge", "sum", "huge", -7, 1 << 60, True),
    number("flags", "sum", "flag", 0, 100, True),
    number("mean", "mean", "select", -3, 100, False),
    number("mean long", "mean", "long", 0, 1 << 52, False),
    number("pay", "mean", "pay", -5, 5, False),
    number("low", "min", "select", -50, 100, False),
    number("high", "max", "huge", -(1 << 61), 1 << 61, True),
    PersonValue("first", "min", "date", "day"),
    PersonValue("last", "max", "text", 'na"me'),
    PersonValue("names", "distinct", "integer", 'na"me'),
    PersonValue("days", "distinct", "integer", "day"),
    PersonValue("numbers", "distinct", "integer", "select"),
    PersonValue("wholes", "distinct", "integer", "huge"),
]
TYPES = {"integer": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "date": "DATE"}


def schema_of(values: Sequence[PersonValue]) -> Schema:
    person = Column("person id", "integer", "BIGINT")
    return Schema([person, *(Column(v.name, v.kind, TYPES[v.kind]) for v in values)])


def units(value: Any, places: int) -> Fraction | None:
    """A number in units of 10^-places, as a double where they are fractions; None is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not places:
        return Fraction(int(value) if isinstance(value, bool) else value)
    scaled = (col("x") * float(10**places)).evaluate({"x": value})
    return Fraction(scaled)


def held(number: Fraction, low: int, high: int) -> int:
    return min(max(math.floor(number + Fraction(1, 2)), low), high)


def made(rows: Sequence[Mapping[str, Any]], value: PersonValue) -> Any:
    """What is made of one person's rows, by the definition."""
    if value.column is None:
        return len(rows)
    of = DERIVED.get(value.column, col(value.column))
    found = [of.evaluate(row) for row in rows]
    if value.statistic == "distinct":
        return len({x for x in found if x is not None and x == x})
    if value.grid is None:
        there = [each for each in found if each is not None]
        return (min if value.statistic == "min" else max)(there) if there else None
    first, last = value.grid.first, value.grid.last
    wide = value.statistic == "sum"
    ends = (-(1 << 61), 1 << 61) if wide else (first, last)
    numbers = [held(u, *ends) for u in (units(x, value.digits) for x in found) if u is not None]
    if not numbers:
        return None
    whole = {
        "sum": lambda: min(max(sum(numbers), first), last),
        "mean": lambda: (sum(numbers) - first * len(numbers)) // len(numbers) + first,
        "min": lambda: min(numbers),
        "max": lambda: max(numbers),
    }[value.statistic]()
    return whole if value.kind == "integer" else whole / 10**value.digits


def people_of(rows: Sequence[Mapping[str, Any]]) -> dict[Any, list[Mapping[str, Any]]]:
    found = defaultdict(list)
    for row in rows:
        if row["person id"] is not None and WHERE.evaluate(row):
            found[row["person id"]].append(row)
    return found


def table_of(source: Any, values: Sequence[PersonValue] = VALUES, where: Any = WHERE) -> Any:
    people = person_source(source, UNIT, where, DERIVED, values, schema_of(values))
    return people.engine.rows(f"select * from {people.relation} as tacit_found")


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_makes_what_the_definition_says(
    engine: str, request: pytest.FixtureRequest
) -> None:
    rows = many_rows(300)
    with ENGINES[engine](request)(rows, COLUMNS) as source:
        found = {person: values for person, *values in table_of(source)}
    expected = {p: [made(own, v) for v in VALUES] for p, own in people_of(rows).items()}
    assert found.keys() == expected.keys()
    for person, values in expected.items():
        assert list(found[person]) == values, person


ROWS = [
    {"person": person, "x": x, "k": k}
    for person in (None, 1, 2)
    for x, k in ((None, 0), (2.5, 1), (1e300, -1))
]
SMALL = [
    PersonValue("n", "count", "integer"),
    number("total", "sum", "x", 0, 10, False),
    number("low", "min", "k", -5, 5, True),
]


def small_tables(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[Counter[Any]]:
    """The table of people of each of the tables, which stand in one and are told by a filter."""
    connection = duckdb.connect()
    connection.execute("create table t (number bigint, person bigint, x double, k bigint)")
    rows = [[number, *row.values()] for number, table in enumerate(tables) for row in table]
    connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    schema = Schema([Column("person", "integer", "BIGINT"), *list(schema_of(SMALL).values())[1:]])
    unit = PersonUnit("person", rows=1)
    found = []
    with open_source(connection, "t") as source:
        for number in range(len(tables)):
            people = person_source(source, unit, col("number") == number, {}, SMALL, schema)
            found.append(Counter(people.engine.rows(f"select * from {people.relation} as t")))
    return found


@pytest.mark.full
def test_a_person_who_leaves_takes_one_row_and_moves_no_other() -> None:
    """All tables of up to two rows, and one with a giant: every pair of neighbours."""
    tables = [
        list(rows)
        for size in (0, 1, 2)
        for rows in itertools.combinations_with_replacement(ROWS, size)
    ]
    tables.append([ROWS[4]] * 500 + [ROWS[7], ROWS[8], ROWS[1]])
    pairs = [
        (rows, person, [row for row in rows if row["person"] != person])
        for rows in tables
        for person in (None, 1, 2)
    ]
    several = {str(table): table for rows, _, rest in pairs for table in (rows, rest)}
    made = dict(zip(several, small_tables(list(several.values())), strict=True))
    for rows, person, rest in pairs:
        gone = made[str(rows)] - made[str(rest)]
        assert not made[str(rest)] - made[str(rows)]
        there = person is not None and any(row["person"] == person for row in rows)
        assert sum(gone.values()) == there
        assert {key[0] for key in gone} <= {person}


def test_one_person_is_one_row_whatever_each_statement_reads(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"

    def write(rows: int) -> None:
        new = path.with_suffix(".new")
        text = f'select 1::bigint as "person id", 50.0 as x from range({rows})'
        duckdb.sql(text).write_parquet(str(new))
        os.replace(new, path)

    write(3)
    values = [number("total", "sum", "x", 0, 100, False)]
    with open_source(str(path)) as source:
        engine: Any = source.engine
        statements = 0

        def changing(method: Any) -> Any:
            def asked(sql: str, *rest: Any) -> Any:
                nonlocal statements
                statements += 1
                write(1000 if statements % 2 else 3)
                return method(sql, *rest)

            return asked

        for method in ("rows", "integers", "materialise"):
            setattr(engine, method, changing(getattr(engine, method)))
        people = person_source(source, UNIT, None, {}, values, schema_of(values))
        query = IntegerQuery(
            people, UNIT, by={"total": col("total").cut([0, 100])}, keys=["[0, 100]"]
        )
        for _ in range(3):
            assert query.run([Rows()]).of(Rows()).tolist() == [UNIT.one]


@pytest.mark.parametrize(
    ("low", "high", "whole"),
    [("0", "1e-30", False), (0, 10**17, False), (0, 1 << 62, True)],
)
def test_bounds_that_no_unit_fits_are_refused(low: Any, high: Any, whole: bool) -> None:
    with pytest.raises(Exception, match="too far from zero"):
        units_of(Fraction(low), Fraction(high), integers=whole)


# Keys in SQL: in a row, listed, or in a table, they match alike whatever the values.


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
    query = IntegerQuery(source, unit, by={"site": col("site")}, keys=keys, **asked)
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


KEYS_SQL_COLUMNS = {
    "varchar": ["it's", "a\0b", "", "ß", None, "12"],
    "bigint": [(1 << 63) - 1, 1 - (1 << 63), 0, None],
    "hugeint": [(1 << 126) - 1, 1 - (1 << 126), 7, None],
    "boolean": [True, False, None],
    "date": [datetime.date(2020, 2, 29), datetime.date.min, datetime.date.max, None],
    '"NULL"': [None],
}


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", KEYS_SQL_COLUMNS)
def test_keys_kept_in_a_table_match_as_keys_in_the_query_do(kind, monkeypatch):
    values = KEYS_SQL_COLUMNS[kind]
    connection = duckdb.connect()
    connection.execute(f"create table t (g {'integer' if 'NULL' in kind else kind})")
    # as text, since DuckDB 1.4 binds large integers as floating-point numbers
    cells = [str(v) if isinstance(v, int) else v for v in values]
    rows = [[cell] for times, cell in enumerate(cells, 1) for _ in range(times)]
    connection.executemany("insert into t values (?)", rows)
    found = []
    with open_source(connection, "t") as source:
        for most in (len(values), 0):
            monkeypatch.setattr(keys_sql, "_LISTED", most)
            asked = IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=values)
            found.append([asked.run([r]).of(r).tolist() for r in (Rows(), People())])
            assert len(asked.tables) == (most == 0)
    assert found == [[list(range(1, len(values) + 1))] * 2] * 2


@pytest.mark.full
def test_a_hundred_thousand_keys_are_counted():
    size = 100_000
    keys = [f"key {i}" for i in range(size)]
    with open_source(pd.DataFrame({"g": keys[::2]})) as source:
        asked = IntegerQuery(source, OneRowEach(), by={"g": col("g")}, keys=keys)
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
def test_a_listed_whole_number_is_compared_exactly_with_doubles_and_decimals(engine, request):
    keys, columns = [0, 1, 2, -3, 2**53, 7, None], dict(NUMBERS)
    if engine == "duckdb":
        columns["double"] = [*NUMBERS["double"], float("inf"), float("-inf"), float("nan")]
    names = {f"x{i}": declared for i, declared in enumerate(columns)}
    rows = [dict(zip(names, row, strict=True)) for row in itertools.zip_longest(*columns.values())]
    with ENGINES[engine](request)(rows, names) as source:
        for name, declared in names.items():
            values = [row[name] for row in rows]
            held = [None if v is None or v != v else whole_key(v) for v in values]
            assert source.columns[name] in ("float", "decimal")
            query = IntegerQuery(source, OneRowEach(), by={"x": col(name)}, keys=keys)
            found = query.run([Rows()]).of(Rows()).tolist()
            assert found == [held.count(key) for key in keys], declared
            with pytest.raises(UsageError, match=r"keys=\[1, 2, 3\].*cast\(int\)"):
                IntegerQuery(source, OneRowEach(), by={"x": col(name)})


def test_keys_of_numbers_are_whole_and_the_message_says_what_to_do():
    codes = pd.DataFrame({"code": [1.0, 2.0, np.nan, 3.0, 2.0], "n": range(5)})
    session = tc.Session(codes, tc.one_row_each, tc.epsilon(10**4), tc.in_memory)
    answer = session.group_by("code", keys=[1, 2, 3, None]).agg(tc.count()).release(epsilon=1000)
    assert answer.to_pandas()["count"].tolist() == [1, 2, 1, 1]
    assert answer.certificate.verify()
    for keys, remedy in (
        ([1.5], "in bins: tc.col"),
        ([Decimal("1.5")], "in bins: tc.col"),
        (["1"], "2\\^53: write it without quotes, 1$"),
        ([True], "in bins, as in tc.col"),
        ([2**53 + 1], "in bins, as in tc.col"),
    ):
        with pytest.raises(UsageError, match=remedy):
            session.group_by("code", keys=keys)
    decimals = session.group_by("code", keys=[Decimal("1.00"), 2]).agg(tc.count())
    assert decimals.release(epsilon=1000).to_pandas()["code"].tolist() == [1, 2]
    whole = tc.epsilon_delta(1, "1e-6")
    unlisted = tc.Session(codes, tc.one_row_each, whole, tc.in_memory).group_by("code")
    with pytest.raises(UsageError, match=r"keys=\[1, 2, 3\].*tc.col\('code'\).cast\(int\)"):
        unlisted.agg(tc.count()).preview(epsilon=1, delta="1e-7")
    plan = session.plan([session.group_by("code", keys=[1, 2]).agg(tc.count())])
    (answer,) = plan.release(epsilon=1000)
    assert answer.to_pandas()["count"].tolist() == [1, 2]


# A UUID is one value, however it is written.


ONE, TWO = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"
WRITTEN = [ONE, ONE.upper(), "{" + ONE.upper() + "}", ONE.replace("-", ""), uuid.UUID(ONE)]


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_a_uuid_is_one_value_however_it_is_written(engine: str, request: Any) -> None:
    rows = [{"u": value, "t": ONE.upper()} for value in (ONE, ONE, TWO, None)]
    with ENGINES[engine](request)(rows, {"u": "uuid", "t": "varchar"}) as source:
        session = tc.Session(source, tc.one_row_each, tc.epsilon(10**12), tc.in_memory, name="t")

        def counts(question: Any, tag: str) -> list[int]:
            answer = question.agg(n=tc.count()).release(epsilon=10**6, tag=tag)
            return [round(value) for value in answer.column("n")["value"]]

        described = set()
        for number, key in enumerate(WRITTEN):
            tag = str(number)
            grouped = session.group_by("u", keys=[key, TWO.upper(), None])
            assert counts(grouped, tag) == [2, 1, 1]
            described.add(str(grouped.described()["keys"]))
            if isinstance(key, str):
                u, alias = tc.col("u"), session.with_columns(v=tc.col("u"))
                assert counts(session.filter(u == key), tag) == [2]
                assert counts(session.filter(~(u != key) | u.is_in(["x", key])), tag) == [3]
                assert counts(alias.filter(tc.col("v") == key), tag) == [2]
                most = session.agg(m=tc.top_k("u", 1, [TWO, key])).release(epsilon=10**6, tag=tag)
                assert most.column("m")["value"] == [[None, 2]]
                planned = session.plan([grouped.agg(n=tc.count()), session.agg(n=tc.count())])
                first = planned.release(epsilon=10**6, tag=tag)[0]
                assert [round(value) for value in first.column("n")["value"]] == [2, 1, 1]
        assert len(described) == 1
        assert counts(session.filter(tc.col("t") == ONE), "text") == [0]  # text is as it is
        spec = {**session.group_by("u", keys=[ONE]).agg(n=tc.count()).described()}
        again = session.described({**spec, "keys": [[ONE.upper()]]})
        assert again.described() == spec
        with pytest.raises(UsageError, match="one UUID, written in two ways"):
            session.group_by("u", keys=[ONE, ONE.upper()])


def test_a_public_table_names_a_uuid_in_capitals(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("create table visits (site uuid)")
        connection.execute(f"insert into visits values ('{ONE}'), ('{ONE}'), ('{TWO}')")
    (tmp_path / "sites.csv").write_text(f"id,region\n{ONE.upper()},a\n{{{TWO}}},b\n")
    (tmp_path / "c.toml").write_text(
        'name = "c"\nunit = "row"\nbudget = { epsilon = 10000000 }\n[tables.visits]\n'
        'path = "c.duckdb"\ntable = "visits"\n'
        '[tables.sites]\npath = "sites.csv"\npublic = true\nkey = "id"\n'
    )
    with tc.open(tmp_path / "c.toml") as session:
        question = session.join("sites", on={"site": "id"}).group_by("region", keys=["a", "b"])
        with pytest.warns(tc.errors.WeakGuaranteeWarning):
            answer = question.agg(n=tc.count()).release(epsilon=10**6)
        assert [round(value) for value in answer.column("n")["value"]] == [2, 1]
