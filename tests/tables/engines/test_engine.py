"""Questions on Spark: exact sums, tasks of a giant, and ends of what runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tacit as tc
from support.servers.left_out import needs
from support.servers.spark_session import tasks_of
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.spark import SparkEngine
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import WholeCells
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total

needs_pyspark = needs("pyspark", "make setup-engines")
"""Of tests that put something else in the place of a session, and need no Java."""


GRID = Grid.for_bounds(0, 100)


def test_sums_beyond_64_bits_are_exact(spark):
    grid = Grid.for_bounds(0, 1 << 62, whole=True)
    with open_source(spark.range(9).selectExpr("4611686018427387904L as x", "id as p")) as source:
        for unit, one in ((OneRowEach(), 1), (PersonUnit("p", rows=1), 1 << 20)):
            moments, total = Moments(col("x"), grid), Total(col("x"), grid)
            found = Query(source, unit).run([moments, total])
            assert found.of(moments)[0][2] == 9 * grid.cells * one
            assert found.of(total)[0] == 9 * (grid.first + grid.cells) * one


ROUND = Grid.for_bounds(0, 100, bits=6)
ASKED = {
    "rows": [Rows()],
    "moments": [Rows(), Moments(col("age"), GRID)],
    "sums": [Total(col("age"), GRID)],
    "cells": [Cells(col("age"), ROUND)],
    "bins": [Bins(col("age"), ROUND, (0, 32, ROUND.cells))],
    "people": [People()],
    "whole rows": [WholeCells(col("age"), ROUND)],
    "bins of people": [WholeCells(col("age"), ROUND, parts=3, groups=1)],
}


@pytest.mark.parametrize("grouped", [True, False], ids=["by group", "without groups"])
def test_the_tasks_of_a_giant_hold_few_of_their_rows_each(spark, grouped):
    """Nobody's rows gather: whatever is asked, what a task gets of others is far below them.

    One person has 80,000 rows in 8 parts of the table, 100 others have one each.  A task hands on
    a line for each place that it has rows of a person in: at most 2 x 65 cells; the tasks that
    follow get those of 8.  And no row of the table is read twice.
    """
    giant, others, parts, places = 80_000, 100, 8, 2 * (ROUND.cells + 1)
    rows = spark.range(0, giant + others, 1, parts).selectExpr(
        f"case when id < {giant} then -1 else id end as p",
        "id % 2 = 0 as even",
        "cast(id % 1000 as double) / 10 as age",
    )
    grouping = {"by": {"a": col("even")}, "keys": [True, False]} if grouped else {}
    asked = [(name, 3) for name in ASKED] if grouped else [("moments", 3), ("cells", 3)]
    asked += [("whole rows", 2000), ("bins of people", 2000)]  # more than Spark sorts out by itself
    with open_source(rows) as source:
        for name, most in asked:
            query = Query(source, PersonUnit("p", rows=most, most_groups=2), **grouping)
            last = max((task.stage for task in tasks_of(spark)), default=-1)
            found = query.run(ASKED[name])
            if name == "rows":
                share = query.unit.one * most // giant
                assert sum(found.of(Rows())) == giant * share + others * query.unit.one
            done = tasks_of(spark, last)
            assert sum(task.read for task in done) == giant + others, name
            assert max(task.handed_on for task in done) <= places + others, name
            assert max(task.received for task in done) <= parts * places + others, name


@pytest.mark.full
@needs_pyspark
def test_an_interrupt_cancels_the_jobs_of_the_question_and_no_others():
    done = []
    session = SimpleNamespace(
        addTag=lambda tag: done.append(("add", tag)),
        removeTag=lambda tag: done.append(("remove", tag)),
        interruptTag=lambda tag: done.append(("interrupt", tag)),
    )

    def ask():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SparkEngine(session).attempt(ask)
    assert [what for what, _ in done] == ["add", "interrupt", "remove"]
    assert len({tag for _, tag in done}) == 1


def test_a_query_ends_when_its_time_is_over(spark):
    frame = spark.range(2).selectExpr("id", "reflect('java.lang.Thread', 'sleep', 60000L) as nap")
    late = frame.where("nap is null")
    with tc.Session(
        late, unit=tc.one_row_each, budget=tc.epsilon(1), name="naps", timeout=1
    ) as session:
        with pytest.raises(DataSourceError, match=r"within timeout=.*charged.*stays open"):
            session.agg(n=tc.count()).release(epsilon="1/2")
        assert session.remaining == tc.epsilon("1/2")
        assert [entry.state for entry in session.history()] == ["open"]
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    with open_source(spark.range(3), timeout=60) as source:  # and one in time is not disturbed
        assert Query(source, OneRowEach()).run([Rows()]).of(Rows()).tolist() == [3]
    for wrong in (0, True, "1", -3):
        with pytest.raises(UsageError, match="number of seconds"):
            open_source(spark.range(3), timeout=wrong)
