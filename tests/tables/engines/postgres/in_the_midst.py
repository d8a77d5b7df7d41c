"""A question to PostgreSQL that is caught while it runs."""

from __future__ import annotations

import threading
import time

import pytest

import tacit as tc
from tacit.errors import DataSourceError

SECRET = "Zaphod"
SLOW = "select count(*) from pg_stat_activity where state = 'active' and usename = 'reader'"


def session(database, table="visits", **options):
    options = {"budget": tc.epsilon(10**6), "unit": tc.unit("person", rows=2), **options}
    return tc.Session(database.dsn("reader"), table=table, **options)


def ask(opened, **options):
    return opened.agg(n=tc.count()).release(epsilon=10**5, **options)


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.02)


def running(database):
    return database.run(SLOW)[0][0]


def in_the_midst(database, act):
    """Do something from another thread once the query runs."""

    def wait_and_act():
        until(lambda: running(database))
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


OPEN = "charged for this release, and it stays open: ask the same again, and it is answered"


def failed(opened, database, act):
    """Ask, have something happen meanwhile, and return the error: the release stays open."""
    thread = in_the_midst(database, act)
    with pytest.raises(DataSourceError) as caught:
        ask(opened)
    thread.join()
    assert OPEN in str(caught.value)
    assert caught.value.__context__ is None
    assert [entry.state for entry in opened.history()] == ["open"]
    assert opened.spent.amount == 10**5
    return str(caught.value)


def hurry(database):
    database.run("update patience set seconds = 0")
