"""A join adds and removes with a person that person's rows alone: on every pair of neighbours."""

from __future__ import annotations

import datetime
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.expressions.operations import as_keys, with_readings
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK
from tacit.tables.open_source import Source, open_beside, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.joins import Join, joined, key_kind, of_people, person_pair, read_public
from tacit.tables.query.requests import Bins, Cells, Moments, Rows, Total

Row = tuple[Any, ...]
VISITS: list[Row] = [(1, "a"), (1, "a"), (2, "b"), (None, "a")]
PATIENTS: list[Row] = [(1, 10), (1, 20), (2, 30), (None, 40)]
BY_PERSON = (("person", "id"),)


def put(connection: Any, name: str, types: Sequence[str], rows: Iterable[Row]) -> None:
    listed = ", ".join(f"({', '.join(map(written, row))})" for row in rows)
    columns = ", ".join(types)
    connection.execute(f"create or replace table {name} ({columns})")
    if listed:
        connection.execute(f"insert into {name} values {listed}")


def written(value: Any) -> str:
    return "null" if value is None else f"'{value}'"


def subsets(rows: Sequence[Row]) -> list[tuple[Row, ...]]:
    sizes = range(len(rows) + 1)
    return [chosen for n in sizes for chosen in itertools.combinations(rows, n)]


def by_definition(
    visits: Iterable[Row], patients: Sequence[Row], how: str, most: int
) -> Counter[Row]:
    """The join, as it is defined: pairs of rows of one person, who has not too many there."""
    found: Counter[Row] = Counter()
    for person, place in visits:
        ages = [age for who, age in patients if who is not None and who == person]
        ages = ages if len(ages) <= most else []
        found.update((person, place, age) for age in ages or [None][: how == "left"])
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize(("how", "most"), [("inner", 2), ("left", 1)])
def test_a_join_is_its_definition_and_a_person_is_its_own_rows(how: str, most: int) -> None:
    join = Join("patients", how, BY_PERSON, (("age", "age", "integer"),), most=most)
    connection = duckdb.connect()
    put(connection, "visits", ("person bigint", "place varchar"), [])
    put(connection, "patients", ("id integer", "age bigint"), [])
    source, other = open_source(connection, "visits"), open_source(connection, "patients")
    made = joined(source, join, of_people(source, other, join))
    assert list(made.schema) == ["person", "place", "age"]
    of: dict[Any, Counter[Row]] = {}
    for visits, patients in itertools.product(subsets(VISITS), subsets(PATIENTS)):
        world = tuple(Counter(rows).items() for rows in (visits, patients))
        key = tuple(map(frozenset, world))
        if key in of:
            continue
        statements = ["delete from visits; delete from patients"]
        for name, rows in (("visits", visits), ("patients", patients)):
            if rows:
                values = ", ".join(f"({', '.join(map(written, row))})" for row in rows)
                statements.append(f"insert into {name} values {values}")
        connection.execute("; ".join(statements))
        found = Counter(source.engine.rows(f"select * from {made.relation} as r"))
        of[key] = found
        assert found == by_definition(visits, patients, how, most)
    for key, found in of.items():
        for person in (1, 2):
            without = tuple(frozenset(r for r in part if r[0][0] != person) for part in key)
            lost = found - of[without]
            assert not of[without] - found
            assert all(row[0] == person for row in lost)
            assert not any(row[0] == person for row in of[without])


SAME: list[tuple[str, str, list[Any], list[Any]]] = [
    ("varchar collate nocase", "varchar", ["Ada", "ada", "a ", "É"], ["ada", "a", "E", "É"]),
    ("double", "float", ["-0.0", "nan", "1.5", "inf"], ["0.0", "nan", "1.5", "inf"]),
    ("bigint", "ubigint", [-1, 0, 7], [0, 7, 2**64 - 1]),
    ("hugeint", "tinyint", [-128, 2**100, 3], [-128, 3]),
    ("uuid", "uuid", ["0" * 32, "1" * 32], ["1" * 32]),
    ("boolean", "boolean", ["true", "false"], ["true"]),
    ("varchar", "varchar", ["x" * 65536, "x" * 65537], ["x" * 65536, "x" * 65537]),
]


@pytest.mark.parametrize("number", range(len(SAME)))
def test_people_who_meet_are_one_person_for_the_unit(number: int) -> None:
    """Rows meet if and only if their people, told apart in one column, are one."""
    one, two, mine, theirs = SAME[number]
    connection = duckdb.connect()
    put(connection, "visits", (f"person {one}",), [(v,) for v in mine])
    put(connection, "patients", (f"id {two}", "number bigint"), zip(theirs, itertools.count()))
    source, other = open_source(connection, "visits"), open_source(connection, "patients")
    join = Join("patients", "inner", BY_PERSON, (("number", "number", "integer"),), most=1000)
    made = joined(source, join, of_people(source, other, join))
    found = source.engine.rows(f"select cast(person as varchar), number from {made.relation} as r")

    def named(value: Any) -> Any:
        if "double" in one:
            return None if value == "nan" else float(value)
        short = len(str(value)) <= 65536
        return str(value).replace("-", "") if one == "uuid" else str(value) if short else None

    expected = {
        (named(m), n)
        for m in mine
        for n, t in enumerate(theirs)
        if named(m) is not None and named(m) == named(t)
    }
    assert {(named(person), n) for person, n in found} == expected
    assert len(found) == len(expected) > 0


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda d: d.name)
def test_kinds_decide_whether_people_are_the_same(dialect: Any) -> None:
    declared = {
        "integer": "BIGINT",
        "text": "VARCHAR",
        "float": "DOUBLE",
        "date": "DATE",
        "boolean": "BOOLEAN",
        "decimal": "DECIMAL(9,2)",
    }
    columns = Schema([Column(kind, kind, name) for kind, name in declared.items()])
    for one, other in itertools.product(columns, repeat=2):
        if one == other:
            left, right = person_pair(columns, columns, [(one, other)], dialect)
            assert left == right
            continue
        with pytest.raises(UsageError, match="people are the same in two tables only where"):
            person_pair(columns, columns, [(one, other)], dialect)
    narrow = Schema([Column("decimal", "decimal", "DECIMAL(9,3)"), Column("text", "text", "UUID")])
    for name in narrow:
        with pytest.raises(UsageError, match="people are the same"):
            person_pair(columns, narrow, [(name, name)], dialect)


@pytest.mark.parametrize(
    ("here", "key", "kind"),
    [
        ("integer", "undeclared", "integer"),
        ("undeclared", "undeclared", "text"),
        ("undeclared", "date", "date"),
        ("text", "text", "text"),
        ("integer", "text", None),
        ("float", "float", None),
        ("missing", "text", None),
    ],
)
def test_a_key_has_one_kind_on_both_sides(here: str, key: str, kind: str | None) -> None:
    sides = Column("site", here, here), Column("key", key, key)
    if kind is None:
        with pytest.raises(UsageError, match="a key is whole numbers, text, dates"):
            key_kind(*sides, "sites")
    else:
        assert key_kind(*sides, "sites") == kind


# People are bounded in the very rows that are added up, also where the table changes meanwhile.


GRID = Grid.for_bounds(0, 100, bits=8)
ASKED: dict[str, list[Any]] = {
    "rows": [Rows()],
    "moments": [Rows(), Moments(col("age"), GRID, squares=True)],
    "total": [Total(col("age"), GRID)],
    "bins": [Bins(col("age"), GRID, tuple(GRID.offset(e) for e in (0, 40, 100)))],
    "cells": [Cells(col("age"), GRID)],
    "moments and cells": [Moments(col("age"), GRID, squares=False), Cells(col("age"), GRID)],
}


def write(path: Path, rows: int) -> None:
    """Put a table in the place of the one that is there: so many rows of person 1."""
    new = path.with_suffix(".new")
    duckdb.sql(
        f"select 1::bigint as person, 'a' as place, 50.0 as age from range({rows})"
    ).write_parquet(str(new))
    os.replace(new, path)


def rows_counted(answer: Any) -> float:
    """The most rows that an answer says a group has."""
    if isinstance(answer, list):  # of cells and their weights
        return max(float(weights.sum()) for _, weights in answer)
    if answer.ndim == 2 and answer.shape[1] == 4:  # present, missing, sum, squares
        return float(max(p + m for p, m, _, _ in answer.tolist()))
    return float(max(int(row.sum()) for row in answer.reshape(len(answer), -1)))


@pytest.mark.few(4)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("others", [1, 1000])
def test_a_table_that_changes_while_it_is_asked_breaks_no_bound(
    tmp_path: Path, name: str, grouped: bool, others: int
) -> None:
    """Between any two statements of the plan a person's rows become one, or many."""
    path = tmp_path / "rows.parquet"

    def change(rows: int) -> None:
        write(path, rows)

    change(1001 - others)
    with open_source(str(path)) as source:
        assert asked_of(source, change, name, grouped, others)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("others", [1, 1000])
def test_joined_tables_that_change_while_they_are_asked_break_no_bound(
    tmp_path: Path, name: str, others: int
) -> None:
    """The same of a join, both of whose tables change: there are 1024 rows in it, or one."""
    visits, patients = tmp_path / "visits.parquet", tmp_path / "patients.parquet"

    def change(rows: int) -> None:
        each = 32 if rows > 1 else 1
        write(visits, each)
        write(patients, each)

    change(1001 - others)
    columns = (("theirs", "age", "float"),)
    join = Join("patients", "inner", (("person", "person"),), columns, most=32)
    with open_source(str(visits)) as base:
        other = open_beside(base, str(patients), {})
        source = joined(base, join, of_people(base, other, join))
        assert asked_of(source, change, name, False, others)


def asked_of(source: Source, change: Any, name: str, grouped: bool, others: int) -> int:
    """Ask a table that changes between any two statements, and return how many there were."""
    grouping: dict[str, Any] = {"by": {"place": col("place")}, "keys": ["a"]} if grouped else {}
    unit = PersonUnit("person", rows=5)
    statements = 0
    engine: Any = source.engine

    def changing(method: Any) -> Any:
        def asked(sql: str, *rest: Any) -> Any:
            nonlocal statements
            found = method(sql, *rest)
            if "person" in sql:
                statements += 1
                change(others if statements % 2 else 1001 - others)
            return found

        return asked

    query = IntegerQuery(source, unit, **grouping)
    for method in ("rows", "integers", "materialise"):
        setattr(engine, method, changing(getattr(engine, method)))
    for _ in range(3):  # rows are kept for a question that is asked again
        found = query.run(ASKED[name])
        for request in ASKED[name]:
            most = unit.rows * (GRID.last if isinstance(request, Total) else 1) * unit.one
            assert 0 <= rows_counted(found.of(request)) <= most, request
    query.forget()
    return statements


# The rows of a public table: what is read of it is what is joined, by unique keys.


def open_public(rows: Iterable[Row], types: Sequence[str]) -> Source:
    connection = duckdb.connect()
    put(connection, "sites", types, rows)
    return open_source(connection, "sites")


TYPES = ("site bigint", "region varchar", "rate decimal(9,2)", "since timestamp", "open boolean")
SITES: list[Row] = [
    (1, "north", "0.25", "2024-01-31 10:30:00", "true"),
    (2, None, None, None, None),
    (None, "nowhere", "1", None, "false"),
]


def test_what_is_read_of_a_public_table_is_what_is_joined() -> None:
    sites = read_public(open_public(SITES, TYPES), "sites", ("site",), ("integer",))
    assert sites.rows == (
        ("1", "north", "0.25", "2024-01-31 10:30:00", "true"),
        ("2", None, None, None, None),
    )
    again = read_public(open_public(SITES[:2][::-1], TYPES), "sites", ("site",), ("integer",))
    assert again.digest == sites.digest
    other = read_public(open_public(SITES[:1], TYPES), "sites", ("site",), ("integer",))
    assert other.digest != sites.digest
    connection = duckdb.connect()
    put(connection, "visits", ("place integer",), [(1,), (1,), (2,), (3,), (None,)])
    source = open_source(connection, "visits")
    join = Join(
        "sites",
        "left",
        (("place", "site"),),
        tuple((name, name, kind) for name, _, kind in sites.columns),
        sites.digest,
    )
    made = joined(source, join, sites.import_into(["place"], source.schema, source.engine))
    shown = "place, region, rate, cast(since as varchar), open"
    found = source.engine.rows(f"select {shown} from {made.relation} as r")
    north = (1, "north", 0.25, "2024-01-31 10:30:00", True)
    nothing = [(place, None, None, None, None) for place in (2, 3, None)]
    assert Counter(found) == Counter([north, north, *nothing])
    assert [c.kind for c in made.schema.values()] == ["integer", "text", "float", "date", "boolean"]


@pytest.mark.parametrize("rows", [[], [(None, None, None, None, None)]])
def test_an_empty_public_table_joins_nothing(rows: list[Row]) -> None:
    sites = read_public(open_public(rows, TYPES), "sites", ("site",), ("integer",))
    connection = duckdb.connect()
    put(connection, "visits", ("place integer",), [(1,)])
    source = open_source(connection, "visits")
    columns = tuple((name, name, kind) for name, _, kind in sites.columns)
    join = Join("sites", "left", (("place", "site"),), columns, sites.digest)
    made = joined(source, join, sites.import_into(["place"], source.schema, source.engine))
    assert source.engine.rows(f"select * from {made.relation} as r") == [(1, *[None] * 4)]


@pytest.mark.parametrize("twice", [1, "01"])
def test_a_key_is_unique_as_it_is_compared(twice: Any) -> None:
    """Two texts that are one whole number are one key of a column of whole numbers."""
    source = open_public([("1", "a"), (twice, "b")], ("site varchar", "region varchar"))
    read_as_text = twice == "01"
    schema = Schema([Column(n, "undeclared", "VARCHAR") for n in ("site", "region")])
    source = Source("sites", schema, source.engine, source.relation)
    if read_as_text:
        assert len(read_public(source, "sites", ("site",), ("text",)).rows) == 2
    with pytest.raises(UsageError, match="two rows of the public table 'sites' have the same site"):
        read_public(source, "sites", ("site",), ("integer",))


def test_a_public_table_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.tables.query.joins._MAX_PUBLIC_ROWS", 2)
    with pytest.raises(UsageError, match="more than 2 rows"):
        read_public(open_public(SITES, TYPES), "sites", ("site",), ("integer",))


# Cells of a public table that are not declared: in every engine they are what they are in Python.

ODD_CELLS = [
    *("1", "1.0", "01", " 1", "true", "yes", "2", "a", "A", "2024-01-01", "2024-01-01 08:30"),
    *("2024-01-01T00:00:00+01:00", "2024-01-01 00:30:00+0100", None, "0", "no", "1e0", "2.5"),
    *("-1", "+1", "inf", "NaN", "1,5", "9999-12-31", "10000-01-01", "2024-02-30", "9" * 41),
]
K = col("k")
ODD_FILTERS = [
    *(K == 1, K == "1", K == True, datetime.date(2024, 1, 1) == K, K > 0, K <= 1),  # noqa: E712
    *(K.is_null(), K.is_in([1, 2]), K >= "2024-01-01", K.cast(float) > 0, K * 2 > 1),
    *(K.dt.year() == 2024, K.dt.hour() == 23, K.str.starts_with("1"), K & True),
]
ODD_KEYS: list[list[Any]] = [
    *(["1"], [1, None], [True, False, None], ["2024-01-01", None], ["a", "2024-01-01"], [None]),
]


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_undeclared_cells_of_a_public_table_are_read_as_in_python(
    engine: str, request: pytest.FixtureRequest
) -> None:
    connection = duckdb.connect()
    listed = list(enumerate(ODD_CELLS))
    put(connection, "sites", ("site integer", "k varchar"), listed)
    plain = open_source(connection, "sites")
    schema = Schema([plain.schema["site"], Column("k", "undeclared", "VARCHAR")])
    public = read_public(
        Source("sites", schema, plain.engine, plain.relation), "sites", ("site",), ("integer",)
    )
    rows = [{"site": i} for i, _ in listed for _ in range(i + 1)]
    with ENGINES[engine](request)(rows, {"site": "integer"}) as visits:
        on, added = (("site", "site"),), (("k", "k", "undeclared"),)
        join = Join("sites", "inner", on, added, public.digest)
        made = joined(visits, join, public.import_into(["site"], visits.schema, visits.engine))

        def weight(holds: Callable[[dict[str, Any]], bool]) -> int:
            return sum(i + 1 for i, cell in listed if holds({"k": cell}))

        for where in ODD_FILTERS:
            read = with_readings(where, made.schema)
            found = IntegerQuery(made, OneRowEach(), where=where).run([Rows()]).of(Rows()).tolist()
            assert found == [weight(lambda row, read=read: bool(read.evaluate(row)))], str(where)
        for keys in ODD_KEYS:
            group = as_keys({"k": K}, keys, made.schema)["k"]
            query = IntegerQuery(made, OneRowEach(), by={"k": K}, keys=keys)
            days = [datetime.date.fromisoformat(k) for k in keys if str(k)[:2] == "20"]
            dated = "read_date" in str(group.to_json())
            wanted = [days[0] if dated and isinstance(key, str) else key for key in keys]
            expected = [
                weight(lambda row, g=group, key=key: is_same(g.evaluate(row), key))
                for key in wanted
            ]
            assert query.run([Rows()]).of(Rows()).tolist() == expected, keys


def is_same(value: Any, key: Any) -> bool:
    """Return whether a value is a key, of which 1 and true are two."""
    return type(value) is type(key) and value == key
