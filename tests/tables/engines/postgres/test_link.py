"""The connection to PostgreSQL: cut in the midst, made anew, and never the user's own."""

from __future__ import annotations

import os
import signal

import pytest

import tacit as tc
from support.servers.left_out import if_installed
from tables.engines.postgres.in_the_midst import (
    OPEN,
    ask,
    failed,
    hurry,
    running,
    session,
    until,
)
from tacit.errors import DataSourceError

psycopg = if_installed("psycopg")


def test_a_query_that_takes_too_long_is_ended(visits):
    with session(visits, timeout=0.2) as opened:
        with pytest.raises(DataSourceError, match=rf"longer than timeout.*{OPEN}"):
            ask(opened)
        assert not running(visits)
        hurry(visits)
        assert ask(opened).column("n")["value"] == [100]
        assert opened.spent.amount == 10**5


def terminate(database):
    database.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'reader'")


def kill_backend(database):
    ((pid,),) = database.run("select pid from pg_stat_activity where usename = 'reader'")
    os.kill(pid, signal.SIGKILL)


CUTS = {
    "terminated": terminate,
    "backend killed": kill_backend,
    "stopped at once": lambda d: d.server.stop("immediate"),
    "server killed": lambda d: d.server.kill(),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_connection_cut_in_the_midst_of_a_query(visits, cut):
    with session(visits) as opened:
        assert "was cut" in failed(opened, visits, lambda: CUTS[cut](visits))
        if visits.server.pid is None:
            with pytest.raises(DataSourceError, match=r"cannot be reached.*at no further cost"):
                ask(opened)
        visits.server.start()

        def up():
            try:
                hurry(visits)
            except psycopg.Error:
                return False
            return True

        until(up)
        assert ask(opened).column("n")["value"] == [100]  # on a new connection
        assert opened.spent.amount == 10**5


def test_a_connection_cut_between_questions_is_made_anew_unless_it_is_the_users(visits):
    hurry(visits)
    with (
        session(visits) as opened,
        psycopg.connect(visits.dsn("reader")) as connection,
        tc.Session(
            connection, unit=tc.one_row_each, table="visits", budget=tc.epsilon(10)
        ) as given,
    ):
        for number in range(2):
            terminate(visits)
            assert ask(opened, tag=str(number)).column("n")["value"] == [100]
        with pytest.raises(DataSourceError, match="was cut"):
            given.agg(n=tc.count()).release(epsilon=1)
        with pytest.raises(DataSourceError, match="give a URL, with which"):
            given.agg(n=tc.count()).release(epsilon=1)
        assert given.spent.amount == 0
