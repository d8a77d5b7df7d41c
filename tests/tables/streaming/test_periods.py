"""Counts over time keep their map: every small history of a person, every way to update.

Nobody's counts read another person's rows, so a person with a history, and the same table without,
differ by just the blocks of that person; and all of those are tried here."""

from __future__ import annotations

import datetime
import itertools
import json
import random
from fractions import Fraction

import duckdb
import pytest

import tacit as tc
from support.tables import live_streams as streams
from support.tables.engine_tables import ENGINES
from tacit import framework as fw
from tacit.accounting.budget import Budget
from tacit.accounting.ledger_chain import key_of
from tacit.core import ZeroConcentratedDP
from tacit.expressions.schema import Column, Schema
from tacit.expressions.timeline import Timeline
from tacit.mechanisms.continual_counting import ContinualCount
from tacit.noise.bits import injected
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Query
from tacit.tables.steps import table_space
from tacit.tables.streaming.periods import (
    CountsOverTime,
    PeriodPlan,
    PeriodQuestion,
    PeriodTree,
    best_branching,
    count_aggregates,
    counts_of_periods,
    question_of,
)

PERIODS = 4
TREES = [PeriodTree(PERIODS, b) for b in (2, 3, 5)]


def step(tree, rows, norm="L1"):
    return CountsOverTime("at_", "integers", 0, 1, tree.periods, tree.branching, rows, norm)


def moved(levels):
    """How far a person moves each level, all of them in L1, and all of them in L2 squared."""
    by_level = [sum(map(abs, level)) for level in levels]
    return max(by_level), sum(by_level), sum(x * x for level in levels for x in level)


@pytest.mark.few(9)
@pytest.mark.parametrize("tree", TREES, ids=lambda t: f"{t.branching} branches")
@pytest.mark.parametrize(("k", "most"), [(1, 2), (2, 3), (3, 4)], ids=lambda v: str(v))
def test_no_history_of_a_person_moves_the_blocks_by_more_than_the_map(tree, k, most):
    space = table_space({"at_": "integer", "who": "integer"}, "who")
    limit = (space >> step(tree, k)).map(1)
    assert limit == k * tree.levels
    squared = (space >> step(tree, k, "L2")).map(1) ** 2
    assert squared >= k * k * tree.levels
    # all schedules for few rows; for more rows those with one, two and all updates
    plans = [s for s in streams.schedules(PERIODS) if most < 4 or len(s) in (1, 2, PERIODS)]
    worst = [0, 0, 0]
    for rows in streams.histories(PERIODS, most):
        for reads in plans:
            found = moved(streams.blocks_of(rows, reads, tree, k))
            assert found[0] <= k, (rows, reads)
            assert found[1] <= limit, (rows, reads)
            assert found[2] <= squared, (rows, reads)
            worst = [max(pair) for pair in zip(worst, found, strict=True)]
    assert worst == [k, k * tree.levels, k * k * tree.levels]  # attained: no bound is too wide


def row_by_row(times, k, first, end):
    """A wrong way: each block takes up to k rows, whatever was counted before."""
    return min(sum(first <= t < end for t in times), k)


def by_weight(times, k, first, end):
    """A wrong way: the usual weights, which a person's later rows change."""
    weight = min(Fraction(1), Fraction(k, max(len(times), 1)))
    return weight * sum(first <= t < end for t in times)


@pytest.mark.parametrize("wrong", [row_by_row, by_weight])
def test_the_ways_that_other_tables_use_pass_the_bound(wrong):
    tree = TREES[0]
    worst = max(
        moved(streams.blocks_of(rows, tuple(range(1, PERIODS + 1)), tree, 1, wrong))[0]
        for rows in streams.histories(PERIODS, 2)
    )
    assert worst > 1


def test_reads_that_are_not_in_order_pass_the_bound():
    """Why the ledger decides who writes the next part, and a loser reads again."""
    tree, rows = TREES[0], [(1, 2), (0, 3)]  # the second row comes late
    early = streams.blocks_of(rows, [2], tree, 1)  # read at 2: only the row of period 1
    late = streams.blocks_of(rows, [1, 3], tree, 1)
    read_at_three = [streams.first_rows([t for t, _ in rows], 1, 0, 1)]
    assert moved([[*read_at_three, early[0][1]]])[0] == 2  # period 0 read after period 1
    assert moved(late)[0] <= 1


@pytest.mark.parametrize("periods", [*range(1, 40), 100, 365])
def test_two_branches_are_the_tree_of_the_stream_counter(periods):
    """The same map as the continual count of the framework, in both measures."""
    space = table_space({"at_": "integer"}, None)
    tree = PeriodTree(periods, 2)
    for method, norm, noise in [
        ("tree", "L1", fw.laplace(scale=7)),
        ("tree_gaussian", "L2", fw.gaussian(scale=7)),
    ]:
        known = ContinualCount(7, method).start(periods)
        m = space >> step(tree, 1, norm) >> noise
        for d in (1, 2, 5):
            exact = known.map(d)
            assert m.map(d) >= exact
            close = Fraction(1, 10**12) if isinstance(m.measure, ZeroConcentratedDP) else 0
            assert m.map(d) - exact <= exact * close  # a square root is rounded up
    for t in range(1, periods + 1):
        assert tree.terms[t] == t.bit_count()


@pytest.mark.parametrize("branching", [2, 3, 4, 7, 50])
@pytest.mark.parametrize("periods", [1, 2, 6, 7, 8, 31, 49, 50])
def test_blocks_and_totals_add_up_however_updates_come(periods, branching):
    source = random.Random(f"{periods} {branching}")
    tree = PeriodTree(periods, branching)
    counts = [source.randint(0, 9) for _ in range(periods)]
    for _ in range(5):
        ends = sorted({*source.choices(range(1, periods + 1), k=3), periods})
        levels, done = [[] for _ in tree.widths], 0
        for closed in ends:
            first = tree.first_period(done, closed)
            found = iter(tree.sums(done, closed, counts[first:closed]))
            for level, start, end in tree.closing(done, closed):
                assert start == len(levels[level])
                levels[level] += [next(found) for _ in range(start, end)]
            assert list(found) == []
            done = closed
        assert sum(map(len, levels)) == tree.nodes
        for width, level in zip(tree.widths, levels, strict=True):
            assert level == [sum(counts[i * width : (i + 1) * width]) for i in range(len(level))]
        totals = [0]
        for earlier, level, place in tree.steps(periods):
            totals.append(totals[earlier] + levels[level][place])
        assert totals == [0, *itertools.accumulate(counts)]


@pytest.mark.few(4)
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("periods", [1, 2, 3, 5, 13, 24, 60, 168, 365])
def test_the_branching_that_is_chosen_is_the_best(periods, squared):
    def cost(branching):
        tree = PeriodTree(periods, branching)
        return sum(tree.terms) * tree.levels ** (2 if squared else 1)

    chosen = best_branching(periods, squared=squared)
    assert cost(chosen) == min(cost(b) for b in range(2, periods + 2))


class Grown:
    """A table in an engine that grows, and the blocks that updates publish of it."""

    def __init__(self, counted):
        self.connection = duckdb.connect()
        self.connection.execute("create table data (at_ bigint, who bigint, x bigint)")
        self.source = open_source(self.connection, "data")
        self.query = Query(
            self.source.schema, tc.unit("who", rows=counted.rows), (tc.col("x") > 0,)
        )
        self.step, self.done = counted, 0
        self.levels = [[] for _ in counted.tree.widths]

    def add(self, rows):
        if rows:
            self.connection.executemany("insert into data values (?, ?, ?)", rows)

    def update(self, closed):
        tree = self.step.tree
        first = tree.first_period(self.done, closed)
        counts = counts_of_periods(self.source, self.query, self.step, first, closed)
        found = iter(tree.sums(self.done, closed, counts))
        for level, start, end in tree.closing(self.done, closed):
            self.levels[level] += [next(found) for _ in range(start, end)]
        self.done = closed


@pytest.mark.full
@pytest.mark.parametrize("k", [1, 2, 3])
def test_real_tables_that_grow_with_and_without_a_person_keep_the_map(k):
    """Rows come in any order, some late, some early, some of nobody, some that a filter leaves."""
    moves = []
    for seed in range(8):
        source = random.Random(f"{k} {seed}")
        counted = step(PeriodTree(9, source.choice([2, 3])), k)
        space = table_space({"at_": "integer", "who": "integer"}, "who")
        limit = (space >> counted).map(1)
        with_one, without = Grown(counted), Grown(counted)
        for closed in sorted(source.sample(range(1, 10), 4)):
            rows = [
                (source.randint(-1, 9), source.choice([0, 0, 1, 2, 3, None]), source.randint(0, 3))
                for _ in range(6)
            ]
            with_one.add(rows)
            without.add([row for row in rows if row[1] != 0])
            with_one.update(closed)
            without.update(closed)
        by_level = [
            sum(abs(a - b) for a, b in zip(left, right, strict=True))
            for left, right in zip(with_one.levels, without.levels, strict=True)
        ]
        assert max(by_level) <= k, seed
        assert sum(by_level) <= limit, seed
        moves.append(sum(by_level) / limit)
    assert max(moves) == 1  # one person does attain it


# Counts of periods in the engine agree with pure Python, on hostile times, and never raise.


AT, WHO = 'at "noon"; --', "who ' was"
PERIOD_COUNTS_PERIODS = 6
START = datetime.datetime(2026, 1, 1)
HOUR = datetime.timedelta(hours=1)
MICRO = datetime.timedelta(microseconds=1)
UNITS = [
    tc.one_row_each,
    *(tc.unit(WHO, rows=k) for k in (1, 2, 3, 50)),
]


def moments(source):
    """Times at, just before and between the edges of periods, far off, and none."""
    edge = START + source.randint(-1, PERIOD_COUNTS_PERIODS + 1) * HOUR
    return source.choice(
        [
            edge,
            edge - MICRO,
            edge + source.random() * HOUR,
            datetime.datetime(1, 1, 1),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 500000),
            None,
        ]
    )


def days(source):
    return source.choice(
        [
            START.date()
            + datetime.timedelta(days=source.randint(-2, 2 * PERIOD_COUNTS_PERIODS + 1)),
            datetime.date(1, 1, 1),
            datetime.date(9999, 12, 31),
            None,
        ]
    )


def numbers(source):
    return source.choice(
        [source.randint(-5, 5 * PERIOD_COUNTS_PERIODS + 5), -(2**63) + 1, 2**63 - 1, 0, -1, 1, None]
    )


KINDS = {
    "timestamp": ("timestamp", moments, "2026-01-01", "1h"),
    "date": ("date", days, "2026-01-01", "2d"),
    "integer": ("bigint", numbers, -2, 5),
}


def period_of(value, line):
    """Where a value stands, by the definition."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        value = (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    elif isinstance(value, datetime.date):
        value = value.toordinal() - datetime.date(1970, 1, 1).toordinal()
    place = (value - line.start) // line.every
    return place if 0 <= place < line.periods else None


def asked(source, unit, line, where=()):
    """Ask the engine for the periods from ``first`` to before ``closed``."""
    query = Query(source.schema, unit, where=where)
    step = CountsOverTime(**line.to_json(), branching=2, rows=unit.rows, norm="L1")
    return lambda first, closed: counts_of_periods(source, query, step, first, closed)


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "kind", "few"),
    [
        # Spark takes many seconds for each: one way to find the people for each kind of time.
        pytest.param(e, k, few, marks=[pytest.mark.slow] * (e == "spark" and few != way))
        for e in ENGINES
        for k, way in zip(KINDS, (50, 0, 50), strict=True)
        for few in (0, 50)
    ],
)
def test_the_engine_counts_as_python_does(engine, kind, few, request, monkeypatch):
    monkeypatch.setattr("tacit.tables.streaming.periods._FEW", few)
    declared, draw, start, every = KINDS[kind]
    source = random.Random(kind)
    rows = [
        {AT: draw(source), WHO: source.choice(["a", "b", "c", "é' \"", "", None]), "x": place % 3}
        for place in range(300)
    ]
    load = ENGINES[engine](request)
    with load(rows, {AT: declared, WHO: "varchar", "x": "bigint"}) as table:
        line = Timeline.of(table.schema, AT, start, every, PERIOD_COUNTS_PERIODS)
        reads = list(itertools.combinations(range(PERIOD_COUNTS_PERIODS + 1), 2))
        units, filters = UNITS, [((), rows), ((tc.col("x") > 0,), [r for r in rows if r["x"]])]
        if engine != "duckdb":  # where a query takes a while
            reads, units, filters = [(0, PERIOD_COUNTS_PERIODS), (2, 3)], UNITS[::2], filters[1:]
        for unit in units:
            k = None if unit.column is None else unit.rows
            for where, kept in filters:
                told = [(row[WHO], period_of(row[AT], line)) for row in kept]
                counts = asked(table, unit, line, where)
                for first, closed in reads:
                    exact = streams.counted(told, k, closed)
                    assert counts(first, closed) == exact[first:], (unit, first, closed)
        assert sum(streams.counted(told, 2, PERIOD_COUNTS_PERIODS)) > 0


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "declared",
    ["TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"],
)
def test_no_time_that_duckdb_holds_makes_it_raise(declared):
    connection = duckdb.connect()
    connection.execute("set timezone = 'America/New_York'")
    connection.execute(f"create table data (stamp {declared}, who bigint)")
    zone = "+00" if declared == "TIMESTAMPTZ" else ""
    for text in ["infinity", "-infinity", "epoch", f"2026-01-02 00:00:00{zone}"]:
        if text == "epoch" or "infinity" not in text or declared != "TIMESTAMP_NS":
            connection.execute(f"insert into data values (cast('{text}' as {declared}), 1)")
    far = {"DATE": "5877642-06-24", "TIMESTAMP_NS": "2262-04-11"}.get(declared, "290000-01-01")
    connection.execute(f"insert into data values (cast('{far}' as {declared}), 1), (null, 1)")
    with open_source(connection, "data") as table:
        line = Timeline.of(table.schema, "stamp", "2026-01-01", "1d", 3)
        for unit in (tc.one_row_each, tc.unit("who", rows=2)):
            assert asked(table, unit, line)(0, 3) == [0, 1, 0]


@pytest.mark.few(4)
@pytest.mark.parametrize("declared", ["HUGEINT", "UBIGINT", "TINYINT", "UTINYINT"])
def test_no_whole_number_that_duckdb_holds_makes_it_raise(declared):
    connection = duckdb.connect()
    connection.execute(f"create table data (stamp {declared}, who bigint)")
    low, high = {
        "HUGEINT": (-(2**127), 2**127 - 1),
        "UBIGINT": (0, 2**64 - 1),
        "TINYINT": (-128, 127),
        "UTINYINT": (0, 255),
    }[declared]
    connection.execute(
        f"insert into data values ({low}, 1), ({high}, 1), (7, 2), (8, 2), (null, 1)"
    )
    with open_source(connection, "data") as table:
        line = Timeline.of(table.schema, "stamp", 1, 4, 3)
        for unit in (tc.one_row_each, tc.unit("who", rows=2)):
            assert asked(table, unit, line)(0, 3) == [0, 2, 0]


def test_a_giant_person_and_many_small_ones():
    connection = duckdb.connect()
    connection.execute(
        "create table data as select range % 7 as stamp, case when range < 100000 then 0 "
        "else range end as who from range(300000)"
    )
    with open_source(connection, "data") as table:
        line = Timeline.of(table.schema, "stamp", 0, 1, 7)
        counts = asked(table, tc.unit("who", rows=3), line)(0, 7)
        small = [sum(1 for r in range(100000, 300000) if r % 7 == t) for t in range(7)]
        assert counts == [small[0] + 3, *small[1:]]


# The plan of a count over time: its noise is calibrated, and follows from its question alone.


LINE = Timeline("day", "integers", 0, 1, 9)
SAID = {"request": {"kind": "pure"}, "tag": None}
SCHEMA = Schema([Column("day", "integer", "BIGINT"), Column("who", "integer", "BIGINT")])
PEOPLE = Query(SCHEMA, tc.unit("who", rows=2), where=(tc.col("day") > 1,))


@pytest.mark.parametrize("granted", [tc.epsilon("1/2"), tc.rho("1/8")], ids=str)
def test_the_noise_costs_what_was_granted_and_no_coarser_one_would_do(granted: Budget) -> None:
    plan = PeriodPlan.calibrated(PEOPLE, LINE, 3, granted, SAID)
    assert granted.covers(plan.cost)
    assert float(plan.cost.amount) > 0.99 * float(granted.amount)
    assert plan.question["noise"]["step"] == ("gaussian" if granted.kind != "pure" else "laplace")


def test_a_plan_follows_from_its_question_as_a_ledger_has_it() -> None:
    made = PeriodPlan.calibrated(PEOPLE, LINE, 2, tc.epsilon(1), SAID)
    read = PeriodPlan(PEOPLE, json.loads(json.dumps(made.question)))
    assert read.step == made.step
    assert read.cost == made.cost
    assert read.chains.describe() == made.chains.describe()
    drawn = []
    for plan in (made, read):
        with injected(random.Random(1).randbytes):
            drawn.append(plan.released([3, 0, 10**6]))
    assert drawn[0] == drawn[1]
    assert abs(drawn[0][2] - 10**6) < 10**3


def test_a_key_is_the_question_without_what_was_chosen() -> None:
    asked = question_of(PEOPLE, LINE, None, None, SAID)
    assert list(asked) == ["query", "request", "tag", "noise"]
    assert asked["query"]["aggregates"] == count_aggregates(LINE, None)
    made = PeriodPlan.calibrated(PEOPLE, LINE, 2, tc.epsilon(1), SAID).question
    assert {**made, "noise": None, "query": asked["query"]} == asked
    assert made["query"]["where"] == asked["query"]["where"] != []


@pytest.mark.parametrize(
    ("branching", "key"),
    [
        (None, "b6fbf4a1db5247aabab6c66b0b48c67d83067fcc8423f6b332f2697bd59c2dcc"),
        (3, "8f64670b47e31515637c6432589d4a5d5c8fa9ad41cb0f5b3a070d5586d98037"),
    ],
)
def test_a_question_at_its_price_is_known_by_the_key_of_ledgers_written_before(
    branching: int | None, key: str
) -> None:
    half = tc.epsilon("1/2")
    asked = PeriodQuestion(PEOPLE, LINE, half, "again", branching)
    assert key_of(asked.public) == key
    said = {"request": half.to_json(), "tag": "again"}
    for granted in (half, tc.rho("1/8")):
        chosen = asked.plan(granted).question["query"]["aggregates"][0][1]["branching"]
        assert chosen == (branching or best_branching(9, squared=granted.kind == "pure"))
        same = PeriodPlan.calibrated(PEOPLE, LINE, chosen, granted, said)
        assert asked.plan(granted).question == same.question
