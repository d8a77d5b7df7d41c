"""Counts over time of growing, joined tables: one person moves every block's level within the map.

The adversary draws what a person's rows are in each table, at which read each shows first (also
late), and how often the count is updated.  The joins follow their definition, in Python; that the
engine counts the same is checked beside it.  Every join that the plan accepts must obey the law.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pytest

import tacit as tc
from support.tables.live_streams import first_rows
from tacit.errors import UsageError
from tacit.expressions.timeline import Timeline
from tacit.tables.open_source import Source, open_beside, open_source
from tacit.tables.plan.query import Query
from tacit.tables.query.joins import Join, joined, of_people, read_public
from tacit.tables.streaming.periods import PeriodPlan, PeriodTree, counts_of_periods

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
PERIODS, UNIT, PEOPLE = 4, tc.unit("person", rows=2), (1, 2, None)
LINE = Timeline("hour", "integers", 0, 1, PERIODS)
TREE = PeriodTree(PERIODS, 2)
TABLES = {
    "visits": ("person", "hour", "site"),
    "patients": ("id", "age"),
    "tests": ("id", "result"),
}
SITES = {1: "a", 2: "b"}
ADDED = {
    "patients": (("age", "age", "integer"),),
    "tests": (("result", "result", "integer"),),
    "sites": (("region", "region", "text"),),
}
FILTERS: dict[str, tuple[Any, Callable[[dict[str, Any]], bool]]] = {
    "age is missing": (tc.col("age").is_null(), lambda row: row["age"] is None),
    "age": (tc.col("age") > 1, lambda row: (row["age"] or 0) > 1),
    "not age": (~(tc.col("age") > 1), lambda row: not (row["age"] or 0) > 1),
    "region": (tc.col("region") == "a", lambda row: row["region"] == "a"),
    "result is missing": (tc.col("result").is_null(), lambda row: row["result"] is None),
}
ALL = (None, lambda row: True)
JOINS = {
    "none": (),
    "people": (("patients", "inner"),),
    "people, left": (("patients", "left"),),
    "people twice": (("patients", "inner"), ("tests", "inner")),
    "people twice, left second": (("patients", "inner"), ("tests", "left")),
    "people twice, left first": (("patients", "left"), ("tests", "inner")),
    "public": (("sites", "inner"),),
    "public, left": (("sites", "left"),),
    "public, people": (("sites", "left"), ("patients", "inner")),
    "public, people, left": (("sites", "inner"), ("patients", "left")),
}
REFUSED = {name for name, joins in JOINS.items() if ("patients", "left") in joins} | {
    "people twice, left second"
}


def shown(
    rows: Rows, joins: Sequence[tuple[str, str]], most: int, read: int
) -> list[dict[str, Any]]:
    """Return the rows of the join that a read shows, by the definition."""
    at = {name: [row[1:] for row in told if row[0] <= read] for name, told in rows.items()}
    found = [dict(zip(TABLES["visits"], row, strict=True)) for row in at["visits"]]
    for name, how in joins:
        column = ADDED[name][0][0]

        def matches(row: dict[str, Any], name: str = name) -> list[Any]:
            if name == "sites":
                return [SITES[row["site"]]] if row["site"] in SITES else []
            met = [v for who, v in at[name] if who == row["person"] and who is not None]
            return met if len(met) <= most else []

        found = [
            {**row, column: value}
            for row in found
            for value in matches(row) or ([None] if how == "left" else [])
        ]
    return found


def moved(
    rows: Rows, joins: Sequence[tuple[str, str]], most: int, keep: Any, reads: Sequence[int]
) -> list[list[int]]:
    """Return the blocks of all people, level by level, as these updates publish them."""
    levels: list[list[int]] = [[] for _ in TREE.widths]
    done = 0
    for closed in reads:
        people: dict[Any, list[int]] = {}
        for row in shown(rows, joins, most, closed):
            if row["person"] is not None and 0 <= row["hour"] < closed and keep(row):
                people.setdefault(row["person"], []).append(row["hour"])
        for level, first, end in TREE.closing(done, closed):
            width = TREE.widths[level]
            levels[level] += [
                sum(first_rows(p, UNIT.rows, i * width, (i + 1) * width) for p in people.values())
                for i in range(first, end)
            ]
        done = closed
    return levels


def drawn(source: random.Random, people: Sequence[Any]) -> Rows:
    """Rows with the read that shows them first; a person has many rows in a joined table too."""

    def row(*values: Any) -> Row:
        return (source.randint(0, PERIODS), source.choice(people), *values)

    hours = [source.randint(-1, PERIODS) for _ in range(source.randint(1, 8))]
    timely = source.random() < 0.7  # rows are there when their period is over, and come late else
    visits = [row(hour, source.choice([1, 2, 3, None])) for hour in hours]
    return {
        "visits": [(min(r[0], max(r[2], 0)), *r[1:]) if timely else r for r in visits],
        "patients": [row(source.choice([0, 2, None])) for _ in range(source.randint(0, 3))],
        "tests": [row(source.choice([0, None])) for _ in range(source.randint(0, 3))],
    }


def updates(source: random.Random) -> list[int]:
    """After which periods the count is updated."""
    return sorted({PERIODS, *source.sample(range(1, PERIODS), source.randint(0, PERIODS - 1))})


def a_filter(source: random.Random, joins: Sequence[tuple[str, str]]) -> Any:
    """Return a filter on what a join adds, or none."""
    columns = {ADDED[name][0][0] for name, _ in joins}
    fit = [test for test in FILTERS.values() if test[0].columns() <= columns]
    return source.choice([ALL, *fit])


Opener = Callable[[str, Source | None], Source]
"""Opens a table by its name, beside the first one."""
Fill = Callable[[Rows], Opener]


def open_sites() -> Source:
    """Open the public table."""
    connection = duckdb.connect()
    connection.execute(
        "create table sites as select * from (values (1, 'a'), (2, 'b')) t(site, region)"
    )
    return open_source(connection, "sites")


class Engine:
    """The same tables in DuckDB."""

    def __init__(self, joins: Sequence[tuple[str, str]], most: int) -> None:
        self.connection = duckdb.connect()
        run = self.connection.execute
        run("create table now as select 0 as read")
        for name, columns in TABLES.items():
            run(f"create table all_{name} (shown bigint, {' bigint, '.join(columns)} bigint)")
            run(
                f"create view {name} as select * exclude (shown, read) from all_{name}, now "
                "where shown <= read"
            )
        self.open_joined(joins, most, lambda name, first: open_source(self.connection, name))

    def open_joined(self, joins: Sequence[tuple[str, str]], most: int, opened: Opener) -> None:
        """Open the visits, and join the other tables to them."""
        source, made = opened("visits", None), []
        self.schema = source.schema
        for name, how in joins:
            if name == "sites":
                public = read_public(open_sites(), name, ("site",), ("integer",))
                join = Join(name, how, (("site", "site"),), ADDED[name], public.digest)
                beside = public.import_into(["site"], source.schema, source.engine)
            else:
                join = Join(name, how, (("person", "id"),), ADDED[name], None, most)
                beside = of_people(source, opened(name, source), join)
            source = joined(source, join, beside)
            made.append(join)
        self.source, self.joins = source, tuple(made)

    def plan(self, test: Any) -> PeriodPlan:
        """Return the plan of a count over time of the join."""
        where = () if test is None else (test,)
        query = Query(self.schema, UNIT, where=where, joins=self.joins)
        asked = {"request": {}, "tag": None}
        return PeriodPlan.calibrated(query, LINE, 2, tc.epsilon(1), asked)

    def blocks(self, plan: PeriodPlan, rows: Rows, reads: Sequence[int]) -> list[list[int]]:
        """Return the exact blocks that are published, level by level."""
        for name, told in rows.items():
            self.connection.execute(f"delete from all_{name}")
            if told:
                values = str([tuple(-9 if v is None else v for v in row) for row in told])[1:-1]
                marks = ", ".join(f"nullif({c}, -9)" for c in ("a", "b", "c", "d")[: len(told[0])])
                names = ", ".join(("a", "b", "c", "d")[: len(told[0])])
                self.connection.execute(
                    f"insert into all_{name} select {marks} from (values {values}) as t({names})"
                )
        return self.published(plan, reads, self.show)

    def show(self, read: int) -> None:
        """Show what is there at a read."""
        self.connection.execute(f"update now set read = {read}")

    def published(
        self, plan: PeriodPlan, reads: Sequence[int], show: Callable[[int], None]
    ) -> list[list[int]]:
        """Return the exact blocks of the updates, level by level."""
        levels: list[list[int]] = [[] for _ in TREE.widths]
        done = 0
        for closed in reads:
            show(closed)
            first = TREE.first_period(done, closed)
            counts = counts_of_periods(self.source, plan.query, plan.step, first, closed)
            numbers = iter(TREE.sums(done, closed, counts))
            for level, begin, end in TREE.closing(done, closed):
                levels[level] += [next(numbers) for _ in range(begin, end)]
            done = closed
        return levels


class Elsewhere(Engine):
    """The same tables in PostgreSQL or Spark, filled and opened anew for each read."""

    def __init__(self, joins: Sequence[tuple[str, str]], most: int, fill: Fill) -> None:
        self.asked = joins
        self.most, self.fill = most, fill
        self.open_joined(joins, most, fill({name: [] for name in TABLES}))

    def blocks(self, plan: PeriodPlan, rows: Rows, reads: Sequence[int]) -> list[list[int]]:
        """Return the exact blocks that are published, level by level."""

        def show(read: int) -> None:
            shown = {n: [r[1:] for r in told if r[0] <= read] for n, told in rows.items()}
            self.open_joined(self.asked, self.most, self.fill(shown))

        return self.published(plan, reads, show)


def fill_postgres(request: pytest.FixtureRequest) -> Fill:
    """Put rows into tables of a database."""
    database = request.getfixturevalue("postgres")

    def fill(rows: Rows) -> Opener:
        with database.connect() as connection:
            for name, columns in TABLES.items():
                shape = ", ".join(f"{column} bigint" for column in columns)
                connection.execute(f"drop table if exists {name}; create table {name} ({shape})")
                with connection.cursor().copy(f"copy {name} from stdin") as copy:
                    for row in rows[name]:
                        copy.write_row(row)

        def opened(name: str, first: Source | None) -> Source:
            where = database.dsn()
            if first is None:
                return open_source(where, name)
            return open_beside(first, where, {"table": name})

        return opened

    return fill


def fill_spark(request: pytest.FixtureRequest) -> Fill:
    """Put rows into DataFrames of a session."""
    session = request.getfixturevalue("spark")

    def fill(rows: Rows) -> Opener:
        def opened(name: str, first: Source | None) -> Source:
            shape = ", ".join(f"{column} bigint" for column in TABLES[name])
            frame = session.createDataFrame(rows[name], shape)
            return open_source(frame) if first is None else open_beside(first, frame, {})

        return opened

    return fill


FILLS = {"postgresql": fill_postgres, "spark": fill_spark}


def largest_move(joins: Sequence[tuple[str, str]], tries: int) -> int:
    """Return how far a person was seen to move a level, of so many drawn histories.

    It ends at the first one that is further than the map says.
    """
    source, found = random.Random(str(joins)), 0
    for _ in range(tries):
        if found > UNIT.rows:
            break
        rows, reads = drawn(source, [1]), updates(source)
        test = a_filter(source, joins)
        levels = moved(rows, joins, source.choice([1, 2]), test[1], reads)
        found = max(found, *map(sum, levels))
    return found


@pytest.mark.few(5)
@pytest.mark.parametrize("joins", JOINS)
def test_a_person_moves_a_growing_join_by_the_map_at_most(joins: str) -> None:
    tables = Engine(JOINS[joins], 1)
    if joins in REFUSED:
        with pytest.raises(UsageError, match="how='inner'"):
            tables.plan(None)
        assert largest_move(JOINS[joins], 20_000) > UNIT.rows, "it was refused without need"
        return
    tables.plan(None)
    assert largest_move(JOINS[joins], 1000) == UNIT.rows


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("joins", JOINS)
def test_many_histories(joins: str) -> None:
    if joins not in REFUSED:
        assert largest_move(JOINS[joins], 200_000) == UNIT.rows


@pytest.mark.few(3)
@pytest.mark.parametrize("joins", [name for name in JOINS if name not in REFUSED])
def test_the_engine_counts_a_growing_join_by_the_definition(joins: str) -> None:
    source = random.Random(joins)
    for most in (1, 2):
        tables = Engine(JOINS[joins], most)
        for _ in range(2):
            rows, reads = drawn(source, PEOPLE), updates(source)
            test, keep = a_filter(source, JOINS[joins])
            expected = moved(rows, JOINS[joins], most, keep, reads)
            assert tables.blocks(tables.plan(test), rows, reads) == expected


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "joins"),
    [
        *(("postgresql", name) for name in JOINS if name not in REFUSED),
        *(("spark", name) for name in ("people twice", "public", "public, people")),
    ],
)
def test_other_engines_count_a_growing_join_by_the_definition(
    engine: str, joins: str, request: pytest.FixtureRequest
) -> None:
    source, people = random.Random(joins + engine), {"patients", "tests"} & {*dict(JOINS[joins])}
    for most in (1, 2):
        tables = Elsewhere(JOINS[joins], most, FILLS[engine](request))
        done = 0
        while done < (3 if engine == "postgresql" else 1):
            rows, reads = drawn(source, PEOPLE), updates(source)
            test, keep = a_filter(source, JOINS[joins])
            expected, capless = (
                moved(rows, JOINS[joins], limit, keep, reads) for limit in (most, 9)
            )
            if not done and people and expected == capless:
                continue  # the first history is one that the most matches of a person decide
            done += 1
            assert tables.blocks(tables.plan(test), rows, reads) == expected
