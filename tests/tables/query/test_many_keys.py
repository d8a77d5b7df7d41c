"""Long lists of public keys, and what a session keeps in its engine while threads share it."""

from __future__ import annotations

import datetime
import threading

import duckdb
import pandas as pd
import pytest

import tacit as tc
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.tables.open_source import open_source
from tacit.tables.plan.plan import Plan
from tacit.tables.query import integer_query as query
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import People, Rows
from tacit.tables.release import collector as collect
from tacit.tables.release.collector import Collector
from tacit.tables.spec.privacy_unit import OneRowEach

COLUMNS = {
    "varchar": ["it's", "a\0b", "", "ß", None, "12"],
    "bigint": [(1 << 63) - 1, 1 - (1 << 63), 0, None],
    "hugeint": [(1 << 126) - 1, 1 - (1 << 126), 7, None],
    "boolean": [True, False, None],
    "date": [datetime.date(2020, 2, 29), datetime.date.min, datetime.date.max, None],
    '"NULL"': [None],
}


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", COLUMNS)
def test_keys_kept_in_a_table_match_as_keys_in_the_query_do(kind, monkeypatch):
    values = COLUMNS[kind]
    connection = duckdb.connect()
    connection.execute(f"create table t (g {'integer' if 'NULL' in kind else kind})")
    rows = [[v] for times, v in enumerate(values, 1) for _ in range(times)]
    connection.executemany("insert into t values (?)", rows)
    found = []
    with open_source(connection, "t") as source:
        for most in (len(values), 0):
            monkeypatch.setattr(query, "_LISTED_KEYS", most)
            asked = Query(source, OneRowEach(), by={"g": col("g")}, keys=values)
            found.append([asked.run([r]).of(r).tolist() for r in (Rows(), People())])
            assert len(asked.tables) == (most == 0)
    assert found == [[list(range(1, len(values) + 1))] * 2] * 2


@pytest.mark.full
def test_a_hundred_thousand_keys_are_counted():
    size = 100_000
    keys = [f"key {i}" for i in range(size)]
    with open_source(pd.DataFrame({"g": keys[::2]})) as source:
        asked = Query(source, OneRowEach(), by={"g": col("g")}, keys=keys)
        counts = asked.run([Rows()]).of(Rows())
        assert counts.tolist() == [1, 0] * (size // 2)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_a_character_is_refused_before_anything_is_spent(text):
    session = tc.Session(
        pd.DataFrame({"g": ["a", "b"]}), unit=tc.one_row_each, budget=tc.epsilon(1)
    )
    with pytest.raises(UsageError, match="half of a character"):
        session.group_by("g", keys=["a", text])
    with pytest.raises(UsageError, match="cannot be written"):
        session.filter(tc.col("g") == text).agg(n=tc.count()).release(epsilon=1)
    assert session.remaining == tc.epsilon(1)


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
    for i in range(1, 3 * collect._KEPT):
        ask_twice(i)
    during = tables_in(session.source)
    go_on.set()
    thread.join()
    assert not failures
    ask_twice(99)
    after = tables_in(session.source)
    assert len(during - after) >= 1  # the slow one's table went when it was done
    assert len(after - own) <= collect._KEPT
    session.close()
