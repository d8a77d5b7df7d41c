"""Counts over time of a table in PostgreSQL, with the ledger in a server too, and many hosts."""

import gc
import threading

import pytest

import tacit as tc
from support.servers.left_out import if_installed
from tacit.errors import DataSourceError

psycopg = if_installed("psycopg")

MUCH = 10**6


@pytest.fixture(name="table")
def _table(postgres):
    postgres.run(
        "create table visits (arrived timestamptz, patient text)",
        "insert into visits values ('infinity', 'a'), ('-infinity', 'b'), (null, 'c')",
    )
    return postgres


def add(table, hour, patients):
    rows = ", ".join(f"(timestamptz '2026-01-01 {hour:02}:30+00', '{p}')" for p in patients)
    table.run(f"insert into visits values {rows}")


def session(source, ledger, budget=None):
    return tc.Session(
        source,
        table="visits",
        unit=tc.unit("patient", rows=2),
        budget=budget or tc.epsilon(MUCH),
        ledger=ledger,
    )


def asked(opened):
    return opened.count_over_time(
        "arrived", start="2026-01-01", every="1h", periods=24, epsilon=opened.budget.amount
    )


@pytest.mark.parametrize("given", ["url", "connection"])
def test_rows_that_come_are_counted_by_hosts_that_share_a_ledger(table, given):
    reader = table.server.role("reader")
    table.run(f"grant select on visits to {reader}")
    with (
        table.server.database() as ledgers,
        psycopg.connect(table.dsn(reader)) as connection,
    ):
        source = table.dsn(reader) if given == "url" else connection
        with session(source, ledgers.dsn()) as one, session(source, ledgers.dsn()) as other:
            add(table, 0, "aab")
            assert asked(one).update("2026-01-01 01:00").column("count")["value"] == [3]
            add(table, 1, "abbb")  # a has shown two rows already, and b may show one more
            add(table, 0, "e")  # late
            add(table, 2, "bcdd")
            told = asked(other).update("2026-01-01 03:00").column("count")["value"]
            assert told == [3, 1, 3]
            assert asked(one).update("2026-01-01 02:00").replayed
            assert asked(one).answer().column("count")["value"] == told
            assert one.spent == tc.epsilon(MUCH)
            assert len(one.history()) == 1
            assert asked(one).answer().certificate.verify(other.ledger)


def test_a_transaction_that_was_begun_earlier_is_refused(table):
    """It would show less than what was published was read from."""
    with psycopg.connect(table.dsn()) as connection, session(connection, None) as opened:
        count = asked(opened)
        count.update("2026-01-01 01:00")
        connection.execute("select 1")  # begins a transaction, as psycopg does
        with pytest.raises(DataSourceError, match="middle of a transaction"):
            count.update("2026-01-01 02:00")
        connection.rollback()
        assert len(count.update("2026-01-01 02:00")) == 2


def test_a_refresh_leaves_no_connection_behind(table):
    with session(table.dsn(), None) as opened:
        for hour in range(1, 6):
            add(table, hour - 1, "a")
            asked(opened).update(f"2026-01-01 {hour:02}:00")
        gc.collect()
        count = "select count(*) from pg_stat_activity where datname = current_database()"
        assert table.run(count)[0][0] <= 2  # this one, and the session's


def test_many_hosts_publish_one_history(table):
    with table.server.database() as ledgers:
        found, failed = {}, []
        budget = tc.epsilon(1)
        session(table.dsn(), ledgers.dsn(), budget).close()

        def host(name):
            try:
                with session(table.dsn(), ledgers.dsn(), budget) as opened:
                    for hour in range(1 + name, 24, 2):
                        add(table, hour - 1, "ab")
                        answer = asked(opened).update(f"2026-01-01 {hour:02}:00")
                    found[name] = answer.column("total")["value"]
            except Exception as error:  # told in the test's own thread
                failed.append(error)

        threads = [threading.Thread(target=host, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        longest = max(found.values(), key=len)
        assert all(longest[: len(totals)] == totals for totals in found.values())
        with session(table.dsn(), ledgers.dsn(), budget) as opened:
            assert opened.spent == budget
            assert opened.ledger.verify_chain() == len(opened.ledger.events())


def test_a_server_that_is_killed_costs_nothing_more(table, tmp_path):
    with session(table.dsn(), tmp_path / "visits.ledger") as opened:
        add(table, 0, "ab")
        first = asked(opened).update("2026-01-01 01:00")
        table.server.kill()
        with pytest.raises(DataSourceError):
            asked(opened).update("2026-01-01 03:00")
        assert opened.spent == tc.epsilon(MUCH)
        assert asked(opened).answer().to_dict() == first.to_dict()
        table.server.start()
        add(table, 1, "cd")
        again = asked(opened).update("2026-01-01 03:00")
        assert again.column("count")["value"] == [2, 2, 0]
        assert len(opened.history()) == 1
