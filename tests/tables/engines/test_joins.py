"""Joins in every engine, against rows that were joined in Python: the same whole numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from support.tables.engine_tables import POSTGRES_TYPES
from tacit.errors import UsageError
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import Collector, without_rows

Row = tuple[Any, ...]
Tables = Mapping[str, tuple[Mapping[str, str], Sequence[Row]]]
SALT = "5a17" * 8
INFINITY = float("inf")
MOST = 5
"""How many rows of a person in the second table are joined here; one person has more."""


def tables(people: Sequence[Any], kind: str) -> Tables:
    """Visits and patients of these people: some in one table, some in both, all of them often."""
    source = random.Random(7)
    costs = [0.5, -3.25, 1e300, INFINITY, float("nan"), None, 7.0]
    visits = [
        (source.choice(people), source.choice([1, 2, 3, 4, None]), source.choice(costs))
        for _ in range(100)
    ]
    patients = [(who, source.randint(0, 99)) for who in people[1:] for _ in (1, 2, 3)]
    patients += [(people[1], age) for age in range(MOST + 1)]
    return {
        "visits": ({"person": kind, "site": "integer", "cost": "double"}, visits),
        "patients": ({"id": kind, "age": "bigint"}, patients[4:]),
        "sites": ({"site": "bigint", "region": "varchar"}, [(1, "a"), (2, "b"), (3, None)]),
    }


PEOPLE: dict[str, Tables] = {
    "text": tables(["Ada", "ada", "ada ", "É", "é", "日本", "", None, "zoe"], "varchar"),
    "integer": tables([-5, 0, 1, 2, 3, 2**62, None, 9], "bigint"),
    "float": tables([0.0, -0.0, 1.5, INFINITY, float("nan"), None, 8.25], "double"),
}
DECLARED = """
name = "visits"
unit = {{ person = "person", rows = 7, groups = 2 }}
budget = {{ epsilon = 1000 }}
[tables.visits]
{visits}
[tables.patients]
{patients}
person = "id"
[tables.sites]
path = "sites.parquet"
public = true
key = "site"
"""


def literal(value: Any, kind: str) -> str:
    return "null" if value is None else f"cast('{value}' as {kind})"


def fill(run: Callable[[str], Any], given: Tables, types: Mapping[str, str]) -> None:
    for name, (columns, rows) in given.items():
        kinds = [types.get(k, k) for k in columns.values()]
        listed = ", ".join(f"{n} {k}" for n, k in zip(columns, kinds, strict=True))
        run(f"create table {name} ({listed})")
        lines = (f"({', '.join(map(literal, row, kinds))})" for row in rows)
        run(f"insert into {name} values {', '.join(lines)}")


def in_duckdb(request: pytest.FixtureRequest, given: Tables, folder: Path) -> str:
    connection = duckdb.connect()
    fill(connection.execute, given, {})
    for name in given:
        connection.execute(f"copy {name} to '{folder}/{name}.parquet'")
    path = 'path = "{}.parquet"'
    return DECLARED.format(visits=path.format("visits"), patients=path.format("patients"))


def in_postgres(request: pytest.FixtureRequest, given: Tables, folder: Path) -> str:
    in_duckdb(request, given, folder)
    database = request.getfixturevalue("postgres")
    role = database.server.role("reader")
    protected = {name: given[name] for name in ("visits", "patients")}
    with database.connect() as connection:
        fill(connection.execute, protected, POSTGRES_TYPES)
        connection.execute(f"grant select on visits, patients to {role}")
    place = f'url = "{database.dsn(role)}"\ntable = "{{}}"'
    return DECLARED.format(visits=place.format("visits"), patients=place.format("patients"))


def in_spark(request: pytest.FixtureRequest, given: Tables, folder: Path) -> str:
    in_duckdb(request, given, folder)
    session = request.getfixturevalue("spark")
    for name in ("visits", "patients"):
        session.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)
    return DECLARED.format(visits='spark = "visits"', patients='spark = "patients"')


ENGINES = {"duckdb": in_duckdb, "postgresql": in_postgres, "spark": in_spark}


def same(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one == other


def by_definition(given: Tables, how: str) -> list[Row]:
    visits, patients, sites = (given[name][1] for name in ("visits", "patients", "sites"))
    found = []
    for person, site, cost in visits:
        region = next((name for key, name in sites if same(key, site)), None)
        ages = [age for who, age in patients if same(who, person)]
        ages = ages if 0 < len(ages) <= MOST else [None] * (how == "left")
        found += [(person, site, cost, region, age) for age in ages]
    return found


ASKED: dict[str, Any] = {
    "n": tc.count(),
    "who": tc.count_people(),
    "age": tc.mean("age", 0, 99),
    "cost": tc.sum("cost", -5, 100),
    "mid": tc.median("age", 0, 99),
}


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("people", "how"),
    [("text", "left"), ("text", "inner"), ("integer", "inner"), ("float", "left")],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_join_gives_the_whole_numbers_of_its_definition(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    people: str,
    how: str,
    engine: str,
) -> None:
    if engine == "spark" and (people, how) != ("text", "left"):
        return  # it takes half a minute, and what differs is the text that is asked
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    for module in ("query.joins", "release.opened_table"):
        monkeypatch.setattr(f"tacit.tables.{module}.MOST_ROWS", MOST)
    given = PEOPLE[people]
    (tmp_path / "visits.toml").write_text(ENGINES[engine](request, given, tmp_path))
    connection = duckdb.connect()
    joined = {**given["visits"][0], "region": "varchar", "age": "bigint"}
    fill(connection.execute, {"joined": (joined, by_definition(given, how))}, {})
    expected = Collector(open_source(connection, "joined"))
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
        question = session.join("sites").join("patients", how=how)
        question = question.filter((tc.col("age") > 10) | tc.col("age").is_null())
        grouped = question.group_by("region", keys=["a", "b", None])
        few = {label: ASKED[label] for label in ("n", "who", "cost")}
        both = [grouped.agg(**few)]
        if engine != "spark":
            both = [question.agg(**ASKED), grouped.agg(**ASKED)]
        for asked in both:
            plan = Plan(asked._query, tc.epsilon(1))
            keys = plan.query.keys or [()]
            chains = plan.chains(len(keys))
            found = asked._table.collector.collect(plan).vectors(chains, keys)
            for one, other in zip(found, expected.collect(plan).vectors(chains, keys), strict=True):
                for step, vector in other.items():
                    assert str(list(one[step])) == str(list(vector)), step
        if engine != "spark":
            report = asked.release(epsilon=1).certificate.verify(session.ledger)
            assert report, report.failures


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_a_join_is_tried_out_without_reading_a_row(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    (tmp_path / "visits.toml").write_text(ENGINES[engine](request, PEOPLE["text"], tmp_path))
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
        source = session.join("sites").join("patients")._table.source
        nothing = without_rows(source).relation
        for relation, read in ((nothing, False), (source.relation, True)):
            planned = source.engine.rows(f"explain select count(*) from {relation} as r")
            assert ("scan" in str(planned).lower()) is read


def test_tables_of_two_engines_are_not_joined(tmp_path: Path) -> None:
    text = in_duckdb(None, PEOPLE["integer"], tmp_path)  # type: ignore[arg-type]
    there = 'path = "patients.parquet"'
    for place in ('url = "postgresql://nobody@localhost/x"\ntable = "patients"', 'spark = "p"'):
        (tmp_path / "visits.toml").write_text(text.replace(there, place))
        with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
            with pytest.raises(UsageError, match="protected tables are joined within one engine"):
                session.join("patients")
            assert "region" in session.join("sites")._query.columns


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_name_that_the_engine_would_cut_off_is_refused_before_the_charge(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    """Two columns whose names are equal up to there would be one."""
    given = dict(PEOPLE["integer"])
    long = ["x" * 60 + end for end in ("1", "2")]
    for name, person in (("visits", "person"), ("patients", "id")):
        columns = {person: "bigint", **dict.fromkeys(long, "bigint")}
        given[name] = (columns, [(1, 2, 3)])
    (tmp_path / "visits.toml").write_text(ENGINES[engine](request, given, tmp_path))
    with tc.open(tmp_path / "visits.toml", ledger=tc.in_memory) as session:
        with pytest.raises(
            UsageError, match="longer than the 63 bytes that PostgreSQL allows for a name"
        ):
            session.join("patients")
        people = session.per_person(**{f"{long[0]}___{end}": tc.count() for end in ("a", "b")})
        with pytest.raises(UsageError, match="choose a shorter one"):
            people.agg(n=tc.mean(f"{long[0]}___a", 0, 9)).release(epsilon=1)
        assert session.remaining == tc.epsilon(1000)
