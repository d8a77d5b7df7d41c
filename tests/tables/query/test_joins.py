"""A join adds and removes with a person that person's rows alone: on every pair of neighbours."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pytest

from tacit.errors import UsageError
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK
from tacit.tables.open_source import open_source
from tacit.tables.query.joins import Join, joined, key_kind, of_people, person_pair

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
        connection.execute("delete from visits; delete from patients")
        for name, rows in (("visits", visits), ("patients", patients)):
            if rows:
                values = ", ".join(f"({', '.join(map(written, row))})" for row in rows)
                connection.execute(f"insert into {name} values {values}")
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
            left, right = person_pair(columns, one, columns, other, dialect)
            assert left == right
            continue
        with pytest.raises(UsageError, match="people are the same in two tables only where"):
            person_pair(columns, one, columns, other, dialect)
    narrow = Schema([Column("decimal", "decimal", "DECIMAL(9,3)"), Column("text", "text", "UUID")])
    for name in narrow:
        with pytest.raises(UsageError, match="people are the same"):
            person_pair(columns, name, narrow, name, dialect)


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
