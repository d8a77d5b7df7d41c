"""What a plan computes of a join moves with a person at most as far as its chain says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

import tacit as tc
from tacit.core import L1Distance, L2Distance
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.query.joins import Join, joined, of_people, read_public
from tacit.tables.release.release import PlanRunner

Row = tuple[Any, ...]
PEOPLE = [1, 2, 3, 4, None]
SITES = "(values (1, 'a'), (2, 'b'), (3, null)) as t(site, region)"
ASKED = {
    "n": tc.count(),
    "age": tc.mean("age", 0, 9),
    "cost": tc.sum("cost", -2, 5),
    "bins": tc.histogram("age", [0, 4, 9]),
}


class Tables:
    """Visits joined with patients and with public sites; the rows come and go."""

    def __init__(self, how: str, most: int) -> None:
        self.connection = duckdb.connect()
        run = self.connection.execute
        run("create table visits (person bigint, site bigint, cost double)")
        run("create table patients (id bigint, age bigint)")
        run(f"create table sites as select * from {SITES}")
        base = open_source(self.connection, "visits")
        other, public = (open_source(self.connection, name) for name in ("patients", "sites"))
        people = Join(
            "patients", how, (("person", "id"),), (("age", "age", "integer"),), None, most
        )
        made = joined(base, people, of_people(base, other, people))
        sites = read_public(public, "sites", ("site",), ("integer",))
        region = (("region", "region", "text"),)
        by_key = Join("sites", "left", (("site", "site"),), region, sites.digest)
        beside = sites.import_into(["site"], made.schema, made.engine)
        self.source, self.schema = joined(made, by_key, beside), base.schema
        self.joins = (people, by_key)

    def vectors(
        self, plan: Plan, visits: Sequence[Row], patients: Sequence[Row]
    ) -> list[dict[Any, Any]]:
        """Return what the plan computes of these rows."""
        self.connection.execute("delete from visits; delete from patients")
        for name, rows in (("visits", visits), ("patients", patients)):
            if rows:
                marks = f"({', '.join('?' * len(rows[0]))})"
                self.connection.execute(
                    f"insert into {name} values {', '.join([marks] * len(rows))}",
                    [cell for row in rows for cell in row],
                )
        keys = plan.query.keys or [()]
        exact = PlanRunner(self.source).collect(plan)
        return exact.vectors(plan.chains(len(keys)), keys)


def drawn(source: random.Random) -> tuple[list[Row], list[Row]]:
    """Rows of people who stand in one table, in both, often, or in none."""
    visits = [
        (
            source.choice(PEOPLE),
            source.choice([1, 2, 3, 4, None]),
            source.choice([-9, 0, 4.5, None]),
        )
        for _ in range(source.randint(0, 9))
    ]
    patients = [
        (source.choice(PEOPLE), source.choice([0, 5, 99, None]))
        for _ in range(source.randint(0, 7))
    ]
    return visits, patients


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("how", "most", "budget", "grouped"),
    [
        ("inner", 1000, tc.epsilon(1), False),
        ("left", 1, tc.epsilon(1), True),
        ("inner", 1000, tc.rho(1), True),
        ("left", 1, tc.rho(1), False),
    ],
    ids=str,
)
def test_a_person_moves_every_vector_of_a_join_by_its_map_at_most(
    how: str, most: int, budget: Any, grouped: bool
) -> None:
    tables = Tables(how, most)
    keys = (("a",), ("b",), (None,)) if grouped else None
    by = ("region",) if grouped else ()
    query = Query(
        tables.schema,
        tc.unit("person", rows=2, groups=2),
        by=by,
        keys=keys,
        aggregates=tuple(ASKED.items()),
        joins=tables.joins,
    )
    plan = Plan(query, budget)
    chains = plan.chains(len(keys or [()]))
    whole = plan.measurements(len(keys or [()]))
    moved = 0
    for seed in range(6):
        visits, patients = drawn(random.Random(seed))
        found = tables.vectors(plan, visits, patients)
        for person in (1, 2):
            rest = [[row for row in rows if row[0] != person] for rows in (visits, patients)]
            without = tables.vectors(plan, *rest)
            for ends, measurements, *pair in zip(chains, whole, found, without, strict=True):
                for (step, _), chain in zip(ends, measurements, strict=True):
                    grid = chain.links[-2].output.domain.element.grid
                    metric = L1Distance() if step.norm == "L1" else L2Distance()
                    sides = ([x * grid for x in part[step]] for part in pair)
                    distance = metric.distance(*sides)
                    assert distance <= before_noise(chain), (step, seed, person)
                    moved += distance > 0
    assert moved >= 8  # people do move the vectors


def before_noise(chain: Any) -> Any:
    """How far one person moves what the noise is added to, by the chain's own maps."""
    distance: Any = 1
    for link in chain.links[:-1]:
        distance = link.map(distance)
    return distance
