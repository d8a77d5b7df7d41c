"""What a session keeps in its engine stays while another thread uses it."""

from __future__ import annotations

import threading

import pandas as pd
import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.tables.plan.plan import Plan
from tacit.tables.query.integer_query import Query
from tacit.tables.release import release as collect
from tacit.tables.release.release import Collector


def tables_in(source):
    return {row[0] for row in source.engine.rows("select table_name from duckdb_tables()")}


def person_plan(session, i, aggregate):
    asked = session.filter(tc.col("x") >= i).group_by("g", keys=["a"]).agg(v=aggregate)
    return Plan(asked._query, tc.epsilon(1))


@pytest.mark.full
def test_tables_of_an_old_question_stay_while_another_thread_uses_them(monkeypatch):
    """One thread stops between making its table and reading it; others fill the cache."""
    frame = pd.DataFrame({"x": range(100), "g": "a", "person": [i // 2 for i in range(100)]})
    session = tc.Session(frame, unit=tc.unit("person", rows=1), budget=tc.epsilon(1))
    collector = Collector(session.source)
    session.source.engine.rows(f"select count(*) from {session.source.relation}")
    own = tables_in(session.source)  # the frame itself, which the first query brings in
    made, go_on = threading.Event(), threading.Event()
    original, failures = Query._bounded, []

    def paused(self, offsets):
        found = original(self, offsets)
        if threading.current_thread().name == "slow" and self.tables:
            made.set()
            assert go_on.wait(20)
        return found

    def ask_twice(i):  # rows are kept from the second time on
        for _ in range(2):
            collector.collect(person_plan(session, i, tc.mean("x", 0, 100)))

    def slow():
        try:
            ask_twice(0)
        except DataSourceError as error:
            failures.append(error)

    monkeypatch.setattr(Query, "_bounded", paused)
    thread = threading.Thread(target=slow, name="slow")
    thread.start()
    assert made.wait(20)
    for i in range(1, 3 * collect._COLLECTOR_KEPT):
        ask_twice(i)
    during = tables_in(session.source)
    go_on.set()
    thread.join()
    assert not failures
    ask_twice(99)
    after = tables_in(session.source)
    assert len(during - after) >= 1  # the slow one's table went when it was done
    assert len(after - own) <= collect._COLLECTOR_KEPT
    session.close()
