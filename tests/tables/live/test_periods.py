"""Counts over time keep their map: every small history of a person, every way to update.

Nobody's counts read another person's rows, so a person with a history, and the same table without,
differ by just the blocks of that person; and all of those are tried here.
"""

import itertools
import random
from fractions import Fraction

import duckdb
import pytest

import tacit as tc
from support.tables import live_streams as streams
from tacit.core import ZeroConcentratedDP
from tacit.mechanisms.continual_counting import ContinualCount
from tacit.tables.live.periods import CountsOverTime, PeriodTree, best_branching, counts_of_periods
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Query
from tacit.tables.steps import table_space

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
        ("tree", "L1", tc.laplace(scale=7)),
        ("tree_gaussian", "L2", tc.gaussian(scale=7)),
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
            first = tree.reach(done, closed)
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
        first = tree.reach(self.done, closed)
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
