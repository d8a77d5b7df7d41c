"""Two values are one person, one key and equal in a filter if and only if they are one value.

For every declared type of every engine some hostile values, each with what it is in Python: as a
person, and as a key.  The table holds every pair ``(v, w)`` of them.  The engine's grouping, its
join with public keys, its equality in filters and its parts of people must agree with Python.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections import Counter
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb
import pytest

import tacit as tc
from support.servers.left_out import leave_out
from tacit.errors import UsageError
from tacit.expressions.expression import col, literal
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Column, Schema
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import RowCells
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.keys import PersonValue, person_column, person_source
from tacit.tables.query.requests import People, Rows

ONE = PersonUnit.one


class Value(NamedTuple):
    """A value as SQL, what it is as a person, and what it is as a key."""

    sql: str
    person: Any
    key: Any = ...

    @property
    def found(self) -> Any:
        """The key: the person, unless said otherwise."""
        return self.person if self.key is ... else self.key


def texts(*values: str | None) -> list[Value]:
    return [Value("null" if v is None else "'" + v.replace("'", "''") + "'", v) for v in values]


def numbers(*values: Any, quoted: bool = False) -> list[Value]:
    return [Value(f"'{v}'" if quoted else str(v), v) for v in values] + [Value("null", None)]


DAY = datetime.date(2024, 2, 29)
ALIKE = texts("Bob", "bob", "BOB", "", " ", "a", "a ", "á", "a\u0301", "ß", "ss", "ﬁ", "fi", None)
BOOLEANS = [Value("true", True), Value("false", False), Value("null", None)]
DATES = [
    Value("'2024-02-29'", DAY),
    Value("'0001-01-01'", datetime.date.min),
    Value("'9999-12-31'", datetime.date.max),
    Value("null", None),
]
BEYOND = [
    Value("'infinity'", "infinity", None),
    Value("'-infinity'", "-infinity", None),
    Value("'10000-01-01'", "10000", None),
]
TIMES = [
    Value("'2024-02-29 00:00:00'", "first", DAY),
    Value("'2024-02-29 00:00:00.000001'", "second", DAY),
    Value("'2024-03-01 00:00:00'", "third", datetime.date(2024, 3, 1)),
    Value("null", None),
]
DOUBLES = [
    Value("'0.0'", 0.0),
    Value("'-0.0'", 0.0),
    Value("'5e-324'", 5e-324),
    Value("'0.30000000000000004'", 0.30000000000000004),
    Value("'0.3'", 0.3),
    Value("'Infinity'", float("inf")),
    Value("'-Infinity'", float("-inf")),
    Value("'NaN'", None),
    Value("null", None),
]
UUIDS = [
    Value("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    Value("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    Value("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"),
    Value("null", None),
]
HUGE = [10**37, 10**37 + 1, -(10**37), 0, (1 << 126) - 1]
FAR = [1 << 126, (1 << 126) + 1, 10**38 - 1, 1 - 10**38]
"""Whole numbers that no key can be, and that are people all the same."""


def rows_of(values: list[Value]) -> list[tuple[Value, Value]]:
    return list(itertools.product(values, values))


def hold(
    source: Source, values: list[Value], *, filters: bool = True, shallow: bool = False
) -> None:
    """Compare what the engine calls equal with what is."""
    rows = rows_of(values)
    owners = Counter(v.person for v, _ in rows if v.person is not None)
    unit = PersonUnit("v", rows=1)
    exact = IntegerQuery(source, unit).run([Rows(), People()])
    weight = sum(ONE // n * n for n in owners.values())
    assert (exact.of(People()).tolist(), exact.of(Rows()).tolist()) == ([len(owners)], [weight])
    hold_people(source, owners)
    if not source.engine.dialect.one_scan:  # in Spark each query takes its time
        hold_pairs(source, rows)
    if source.engine.dialect.part is not None:
        parts = [IntegerQuery(source, unit, part=(i, 3)).run([Rows(), People()]) for i in range(3)]
        assert sum(part.of(Rows())[0] for part in parts) == weight
        assert sum(part.of(People())[0] for part in parts) == len(owners)
    if source.schema.column("v").kind in ("float", "decimal"):
        with pytest.raises(UsageError):
            IntegerQuery(source, OneRowEach(), by={"v": col("v")})
    else:
        hold_keys(source, rows, shallow=shallow)
    if filters:
        same = IntegerQuery(source, OneRowEach(), where=col("v") == col("w")).run([Rows()])
        times = source.schema.column("v").declared.casefold().startswith("timestamp")
        found = [(a.found, b.found) if times else (a.person, b.person) for a, b in rows]
        assert same.of(Rows()) == [sum(a is not None and a == b for a, b in found)]


def hold_pairs(source: Source, rows: list[tuple[Value, Value]]) -> None:
    """A person of two columns is the pair of their values; who lacks one is no one."""
    pairs = [(v.person, w.person) for v, w in rows]
    owners = Counter(pair for pair in pairs if None not in pair)
    exact = IntegerQuery(source, PersonUnit(("v", "w"), rows=1)).run([Rows(), People()])
    assert exact.of(People()).tolist() == [len(owners)]
    assert exact.of(Rows()).tolist() == [sum(ONE // n * n for n in owners.values())]


def hold_people(source: Source, owners: Counter[Any]) -> None:
    """The table of one row a person has a row of each, by their own value."""
    unit = PersonUnit("v", rows=1)
    columns = [person_column(source.schema.column("v")), Column("n", "integer", "BIGINT")]
    values = [PersonValue("n", "count", "integer")]
    people = person_source(source, unit, None, {}, values, Schema(columns))
    rows = people.engine.rows(f"select n from {people.relation} as p")
    assert sorted(n for (n,) in rows) == sorted(owners.values())
    exact = IntegerQuery(people, unit).run([Rows(), People()])
    assert exact.of(People()).tolist() == [len(owners)]
    assert exact.of(Rows()).tolist() == [len(owners) * ONE]


def hold_keys(source: Source, rows: list[tuple[Value, Value]], *, shallow: bool) -> None:
    counts = Counter((v.found,) for v, _ in rows)
    by = {"v": col("v")}
    found = IntegerQuery(source, OneRowEach(), by=by).people_by_key()
    assert found == counts
    assert {type(key) for (key,) in found} == {type(key) for (key,) in counts}
    keys = list(counts)
    listed = IntegerQuery(source, OneRowEach(), by=by, keys=keys).run([Rows()]).of(Rows())
    assert listed.tolist() == [counts[key] for key in keys]
    if shallow:
        return
    for (key,) in keys:
        if key is None or key == "a\0":  # which no filter can hold
            continue
        kept = IntegerQuery(source, OneRowEach(), where=col("v").is_in([key])).run([Rows()])
        assert kept.of(Rows()) == [counts[(key,)]]


# ---- DuckDB

DUCKDB: dict[str, list[Value]] = {
    "varchar": [*ALIKE, Value("'a' || chr(0)", "a\0")],
    "varchar collate nocase": ALIKE,
    "varchar collate nocase.noaccent": ALIKE,
    "enum('a', 'A', 'b')": texts("a", "A", "b", None),
    "uuid": UUIDS,
    "boolean": BOOLEANS,
    "tinyint": numbers(-128, 127, 0),
    "ubigint": numbers(2**64 - 1, 2**64 - 2, 0),
    "hugeint": [*numbers(*HUGE), *[Value(str(n), n, None) for n in FAR]],
    "decimal(38, 2)": numbers(*map(Decimal, ["1.00", "1.01", "-0.01", f"{10**35}.99"])),
    "double": DOUBLES,
    "real": [Value("'16777216'", 1.0), Value("'16777217'", 1.0), Value("'0.1'", 2.0)],
    "date": [*DATES, *BEYOND, Value("'44-03-15 (BC)'", "ides", None)],
    "timestamp": TIMES,
    "timestamp_ns": [*TIMES, Value("'2024-02-29 00:00:00.000000001'", "between", DAY)],
}


@pytest.mark.few(18)
@pytest.mark.parametrize(
    ("declared", "setting"),
    [
        *[(declared, "") for declared in DUCKDB],
        *[(d, s) for d in DUCKDB if d[:3] in ("var", "enu") for s in ("nocase", "nocase.noaccent")],
    ],
)
def test_duckdb(declared: str, setting: str) -> None:
    values = DUCKDB[declared]
    connection = duckdb.connect()
    connection.execute(f"create table raw (v {declared}, w {declared})")
    lines = ", ".join(f"({v.sql}, {w.sql})" for v, w in rows_of(values))
    connection.execute(f"insert into raw values {lines}; create view data as select * from raw")
    if setting:
        connection.execute(f"set default_collation = '{setting}'")
    hold(open_source(connection, "raw"), values)
    hold(open_source(connection, "data"), values, shallow=True)


# ---- PostgreSQL

NUMERICS = [
    Value("'1.0'", Decimal(1)),
    Value("'1.00'", Decimal(1)),
    Value("'1'", Decimal(1)),
    Value("'1e-50'", Decimal("1e-50")),
    Value("'2e-50'", Decimal("2e-50")),
    Value("'0'", Decimal(0)),
    Value(f"{10**45}", Decimal(10**45)),
    Value(f"{10**45 + 1}", Decimal(10**45 + 1)),
    Value("'Infinity'", Decimal("Infinity")),
    Value("'-Infinity'", Decimal("-Infinity")),
    Value("'-0.0'", Decimal(0)),
    Value("'NaN'", None),
    Value("null", None),
]
LONG = [Value(str(n), n, None) for n in (10**45, 10**45 + 1, -(10**45))]
POSTGRES: dict[str, list[Value]] = {
    "text": ALIKE,
    "varchar(9)": ALIKE,
    "text collate loose": ALIKE,
    "citext": ALIKE,
    "alike": ALIKE,
    "char(5)": [*texts("Bob", "bob", "", "a", None), Value("'a  '", "a")],
    "name": texts("Bob", "bob", "", "a", "a ", None),
    "letter": texts("a", "A", "b", None),
    "uuid": UUIDS,
    "boolean": BOOLEANS,
    "bigint": numbers(2**63 - 1, 2**63 - 2, -(2**63)),
    "numeric(38,0)": [*numbers(*HUGE), *[Value(str(n), n, None) for n in FAR]],
    "numeric(50,0)": [*numbers(*HUGE, quoted=True), *LONG, Value("'NaN'", None)],
    "numeric(3,-2)": numbers(100, 200, 12300),
    "numeric(45,40)": numbers(Decimal("1e-40"), Decimal("2e-40"), Decimal(1)),
    "numeric": NUMERICS,
    "amount": NUMERICS,
    "bpchar": [*texts("Bob", "bob", "", "a", None), Value("'a  '", "a")],
    "double precision": DOUBLES,
    "real": [Value("'16777216'", 1.0), Value("'16777217'", 1.0), Value("'0.1'", 2.0)],
    "date": [*DATES, *BEYOND, Value("'0044-03-15 BC'", "ides", None)],
    "timestamp": TIMES,
    "timestamptz": [v._replace(sql=re.sub("(:[0-9.]+)'", r"\1 UTC'", v.sql)) for v in TIMES],
}


def test_postgres(postgres: Any) -> None:
    pytest.importorskip("psycopg")
    postgres.run("create type letter as enum ('a', 'A', 'b')")
    collation = "create collation loose (provider = icu, locale = 'und-u-ks-level1', "
    try:
        postgres.run(f"{collation} deterministic = false)", "create extension citext")
    except Exception:
        leave_out("a PostgreSQL with ICU and citext", "apt-get install postgresql")
    postgres.run("create domain alike as text collate loose", "create domain amount as numeric")
    for number, (declared, values) in enumerate(POSTGRES.items()):
        lines = ", ".join(f"({v.sql}, {w.sql})" for v, w in rows_of(values))
        shape = f"t{number} (v {declared}, w {declared})"
        postgres.run(f"create table {shape}", f"insert into t{number} values {lines}")
        with open_source(postgres.dsn(), f"t{number}") as source:
            hold(source, values)


def test_what_the_keys_decide_fails_before_the_charge(postgres: Any) -> None:
    postgres.run(
        "create table data (g text, n numeric(50, 0))",
        "insert into data select 'a', i % 3 from generate_series(1, 3000) as i",
    )
    keys = [*(f"key {i}" for i in range(300)), "a\0"]
    with tc.Session(
        postgres.dsn(), unit=tc.one_row_each, budget=tc.epsilon_delta(2, "1e-6"), table="data"
    ) as session:
        with pytest.raises(UsageError, match="text in PostgreSQL cannot hold the character NUL"):
            session.group_by("g", keys=keys).agg(rows=tc.count()).release(epsilon=1)
        assert session.remaining == session.budget
        unlisted = session.group_by("n").agg(rows=tc.count())
        assert unlisted.release(epsilon=1, delta="1e-7").keys == [(0,), (1,), (2,)]


def test_a_person_is_in_one_bin_however_the_number_is_written(postgres: Any) -> None:
    """1, 1.0 and 1.00 are one number, of which PostgreSQL keeps how many places were written."""
    written = ["7", *(f"7.{'0' * n}" for n in range(1, 9))]
    postgres.run(
        "create table data (v numeric)",
        f"insert into data values {', '.join(f'({one})' for one in written)}",
    )
    grid = Grid.for_bounds(0, 8, whole=True)
    request = RowCells(literal(1), grid, parts=64)
    with open_source(postgres.dsn(), "data") as source:
        cells = IntegerQuery(source, PersonUnit("v", rows=20)).run([request]).of(request)
    assert [int(weights.sum()) for _, weights in cells if len(weights)] == [len(written)]


@pytest.mark.parametrize("declared", ["interval", "timetz", "bytea", "money", "time", "json"])
def test_a_type_that_cannot_be_carried_is_refused_by_its_name(declared: str, postgres: Any) -> None:
    postgres.run(f"create table data (v {declared})")
    with open_source(postgres.dsn(), "data") as source:
        for refused in (PersonUnit("v", rows=1), OneRowEach()):
            with pytest.raises(UsageError, match="has the type"):
                IntegerQuery(source, refused, by={"v": col("v")})


# ---- Spark

BYTES = [
    Value("cast(X'FF' as string)", b"\xff", None),
    Value("cast(X'FE' as string)", b"\xfe", None),
    Value("cast(X'61C3' as string)", b"a\xc3", None),
    Value("'\ufffd'", "\ufffd"),
    *texts("Bob", "bob", "a", "a ", "á", "a\u0301", None),
]
SPARK: dict[str, list[Value]] = {
    "string": BYTES,
    "string collate UTF8_LCASE": texts("Bob", "bob", "a", "a ", "á", None),
    "string collate UNICODE_CI": texts("Bob", "bob", "a", "a ", "á", None),
    "string collate UNICODE_CI_AI": BYTES,
    "string collate UTF8_LCASE_RTRIM": BYTES,
    "decimal(38,0)": [*numbers(*HUGE), *[Value(str(n), n, None) for n in FAR]],
    "decimal(38,38)": numbers(Decimal(f"0.{'9' * 38}"), Decimal(f"0.{'9' * 37}8"), quoted=True),
    "double": [v for v in DOUBLES if "5e" not in v.sql],
    "float": [Value("'16777216'", 1.0), Value("'16777217'", 1.0), Value("'-0.0'", 0.0)],
    "date": [
        *DATES,
        Value("'+10000-01-01'", "beyond", None),
        Value("'-0044-03-15'", "ides", None),
    ],
    "timestamp": [
        v._replace(sql=v.sql.replace("'", " UTC'").replace(" UTC'", "'", 1)) for v in TIMES
    ],
    "timestamp_ntz": TIMES,
}


@pytest.mark.parametrize("declared", SPARK)
def test_spark(declared: str, spark: Any) -> None:
    values = SPARK[declared]
    lines = ", ".join(f"({v.sql}, {w.sql})" for v, w in rows_of(values))
    raw = spark.sql(f"select * from values {lines} as t(v, w)")
    cast = "cast({0} as " + declared + ") as {0}"
    if "collate" in declared:
        cast = "{0} collate " + declared.rpartition(" ")[2] + " as {0}"
    with open_source(raw.selectExpr(cast.format("v"), cast.format("w"))) as source:
        hold(source, values, shallow=True)


def test_text_of_a_fixed_length_in_spark_is_what_it_is(spark: Any) -> None:
    """Spark fills text of a ``char(5)`` with blanks, which are no part of it."""
    spark.sql("drop table if exists fixed")
    spark.sql("create table fixed (v char(5)) using parquet")
    try:
        spark.sql("insert into fixed values ('ab'), ('ab '), ('AB')")
        with open_source(spark, "fixed") as source:
            by = {"v": col("v")}
            counts = {("ab",): 2, ("AB",): 1}
            assert IntegerQuery(source, OneRowEach(), by=by).people_by_key() == counts
            listed = IntegerQuery(source, OneRowEach(), by=by, keys=["ab", "ab   "]).run([Rows()])
            assert listed.of(Rows()).tolist() == [2, 0]
            for text, rows in (("ab", 2), ("ab   ", 0)):
                equal = IntegerQuery(source, OneRowEach(), where=col("v") == text).run([Rows()])
                assert equal.of(Rows()) == [rows]
    finally:
        spark.sql("drop table fixed")


@pytest.mark.parametrize("declared", ["binary", "interval day", "array<int>"])
def test_a_type_of_spark_that_cannot_be_carried_is_refused(declared: str, spark: Any) -> None:
    with open_source(spark.sql(f"select cast(null as {declared}) as v")) as source:
        for refused in (PersonUnit("v", rows=1), OneRowEach()):
            with pytest.raises(UsageError, match="has the type"):
                IntegerQuery(source, refused, by={"v": col("v")})
