"""A table that grows is asked again under one ledger; a refresh shows what was added."""

import gc
import threading
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import tacit as tc
from support.servers.left_out import if_installed
from support.threads import at_once
from tacit.errors import DataSourceError, LedgerError
from tacit.tables.engines.duckdb.instances import IdleInstances
from tacit.tables.open_source import open_source
from tacit.tables.release.opened_table import OpenedTable

UNITS = {"rows": tc.one_row_each, "people": tc.unit("who", rows=4)}
MUCH = 10**6  # so large an epsilon that no noise is seen


def frame(first, last):
    return pd.DataFrame({"hour": range(first, last), "who": [n // 2 for n in range(first, last)]})


class Parquet:
    def __init__(self, folder):
        self.source = folder / "visits"
        self.source.mkdir()
        self.more = {"source": self.source}

    def add(self, first, last):
        frame(first, last).to_parquet(self.source / f"{first:05}.parquet")


class Csv:
    def __init__(self, folder):
        self.more = {"source": folder / "visits.csv", "types": {"hour": "integer"}}

    def add(self, first, last):
        path = self.more["source"]
        frame(first, last).to_csv(path, mode="a", header=not path.exists(), index=False)


class Csvs(Parquet):
    def add(self, first, last):
        frame(first, last).to_csv(self.source / f"{first:05}.csv", index=False)


class Live:
    """A table in an open connection."""

    def __init__(self, folder):
        self.connection = duckdb.connect()
        self.connection.execute("create table visits (hour bigint, who bigint)")
        self.more = {"source": self.connection, "table": "visits"}

    def add(self, first, last):
        rows = frame(first, last)  # noqa: F841  (DuckDB finds it by its name)
        self.connection.execute("insert into visits select * from rows")


class Database:
    """A table in a file, which somebody else writes between two readings."""

    def __init__(self, folder):
        self.path = folder / "visits.duckdb"
        self.more = {"source": self.path, "table": "visits"}
        self._run("create table visits (hour bigint, who bigint)")

    def _run(self, sql):
        with duckdb.connect(str(self.path)) as connection:
            connection.execute(sql)

    def add(self, first, last):
        self._run(f"insert into visits select range, range // 2 from range({first}, {last})")


SOURCES = {"parquet": Parquet, "csv": Csv, "csvs": Csvs, "connection": Live}


def asked(session, unit, tag):
    answer = session.agg(n=tc.count(), top=tc.max("hour", 0, 1000)).release(epsilon=MUCH, tag=tag)
    return answer.value("n")


@pytest.mark.few(9)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", SOURCES)
def test_what_was_added_is_seen_after_a_refresh_and_the_budget_counts_on(tmp_path, kind, unit):
    table = SOURCES[kind](tmp_path)
    table.add(0, 10)
    ledger = tmp_path / "visits.ledger"
    budget = tc.epsilon(3 * MUCH)
    with tc.Session(**table.more, unit=UNITS[unit], budget=budget, ledger=ledger) as session:
        assert asked(session, unit, "monday") == 10
        table.add(10, 30)
        assert asked(session, unit, "monday") == 10  # the same question: what was answered
        assert session.spent == tc.epsilon(MUCH)
        session.refresh()
        assert asked(session, unit, "tuesday") == 30
        assert session.spent == tc.epsilon(2 * MUCH)
        dataset = session.dataset
    table.add(30, 34)
    with tc.Session(**table.more, unit=UNITS[unit], ledger=ledger) as session:
        assert session.dataset == dataset
        assert asked(session, unit, "monday") == 10
        assert asked(session, unit, "wednesday") == 34
        assert session.remaining.is_nothing


def test_a_database_file_that_somebody_else_writes_is_opened_anew(tmp_path):
    table = Database(tmp_path)
    table.add(0, 10)
    ledger = tmp_path / "visits.ledger"
    for rows, tag in ((10, "a"), (25, "b")):
        with tc.Session(
            **table.more, unit=UNITS["people"], budget=tc.epsilon(3 * MUCH), ledger=ledger
        ) as session:
            assert asked(session, "people", tag) == rows
        table.add(10, 25)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_counter_sees_what_was_added_by_itself(tmp_path, kind):
    table = SOURCES[kind](tmp_path)
    table.add(0, 10)
    with tc.Session(**table.more, unit=UNITS["people"], budget=tc.epsilon(MUCH)) as session:
        count = session.count_over_time("hour", start=0, every=5, periods=9, epsilon=MUCH)
        assert count.update(now=10).column("count")["value"] == [5, 5]
        table.add(10, 23)
        assert count.update(now=20).column("count")["value"] == [5, 5, 5, 5]
        assert count.update(now=25).column("count")["value"] == [5, 5, 5, 5, 3]
        table.add(40, 44)
        assert count.update(now=45).column("count")["value"] == [5, 5, 5, 5, 3, 0, 0, 0, 4]
        assert session.remaining.is_nothing


def test_a_table_with_other_columns_is_another_data_set(tmp_path):
    table = Csvs(tmp_path)
    table.add(0, 10)
    ledger = tmp_path / "visits.ledger"
    with tc.Session(
        **table.more, unit=tc.one_row_each, budget=tc.epsilon(1), ledger=ledger
    ) as session:
        frame(10, 20).assign(new=1).to_csv(table.source / "00010.csv", index=False)
        with pytest.raises(DataSourceError, match="other columns than before"):
            session.refresh()
        session.agg(n=tc.count()).release(epsilon=1)  # it goes on with what it had
    with pytest.raises(LedgerError, match="belongs to the data set"):
        tc.Session(**table.more, unit=tc.one_row_each, ledger=ledger)


@pytest.mark.full
def test_a_refresh_leaves_nothing_behind(tmp_path, monkeypatch):
    """Neither a folder of the engine's nor a table in the engine that somebody opened."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spill"))
    monkeypatch.setattr("tacit.tables.engines.duckdb.engine.idle", IdleInstances(0))
    (tmp_path / "spill").mkdir()
    table = Csv(tmp_path)
    table.add(0, 10)
    with tc.Session(**table.more, unit=UNITS["people"], budget=tc.epsilon(9 * MUCH)) as session:
        for n in range(5):
            asked(session, "people", str(n))
            session.refresh()
            assert len(list(Path(tmp_path / "spill").iterdir())) == 1
    assert list(Path(tmp_path / "spill").iterdir()) == []
    with (
        open_source(frame(0, 10)) as opened,
        tc.Session(opened, unit=UNITS["people"], budget=tc.epsilon(9 * MUCH)) as session,
    ):
        for n in range(5):
            asked(session, "people", str(n))
            session.refresh()
            assert session.source is opened
            listed = opened.engine.rows("select table_name from duckdb_tables() where temporary")
            assert listed == []


@pytest.mark.full
def test_a_release_that_is_at_work_keeps_its_table(tmp_path):
    """Threads may release while another refreshes."""
    table = Parquet(tmp_path)
    table.add(0, 500)
    failed = []
    with tc.Session(**table.more, unit=UNITS["people"], budget=tc.epsilon(999 * MUCH)) as session:

        def ask(name):
            try:
                for n in range(6):
                    assert asked(session, "people", f"{name} {n}") == 500
            except Exception as error:  # told in the test's own thread
                failed.append(error)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            session.refresh()
        assert failed == []


def test_an_update_reads_the_table_that_it_opened_itself(tmp_path, monkeypatch):
    """Another thread may put a table in the session's place that it opened long before."""
    table = Csv(tmp_path)
    table.add(0, 10)
    with tc.Session(**table.more, unit=UNITS["people"], budget=tc.epsilon(MUCH)) as session:
        early = session.source
        reopen = OpenedTable.reopen

        def crossed(self):
            fresh = reopen(self)
            self._source = early
            return fresh

        monkeypatch.setattr(OpenedTable, "reopen", crossed)
        table.add(10, 20)
        count = session.count_over_time("hour", start=0, every=5, periods=9, epsilon=MUCH)
        assert count.update(now=20).column("count")["value"] == [5, 5, 5, 5]


# Counts over time of a table in PostgreSQL, with the ledger in a server too, and many hosts.


psycopg = if_installed("psycopg")


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


def postgres_asked(opened):
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
            assert postgres_asked(one).update("2026-01-01 01:00").column("count")["value"] == [3]
            add(table, 1, "abbb")  # a has shown two rows already, and b may show one more
            add(table, 0, "e")  # late
            add(table, 2, "bcdd")
            told = postgres_asked(other).update("2026-01-01 03:00").column("count")["value"]
            assert told == [3, 1, 3]
            assert postgres_asked(one).update("2026-01-01 02:00").replayed
            assert postgres_asked(one).answer().column("count")["value"] == told
            assert one.spent == tc.epsilon(MUCH)
            assert len(one.history()) == 1
            assert postgres_asked(one).answer().certificate.verify(other.ledger)


def test_a_transaction_that_was_begun_earlier_is_refused(table):
    """It would show less than what was published was read from."""
    with psycopg.connect(table.dsn()) as connection, session(connection, None) as opened:
        count = postgres_asked(opened)
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
            postgres_asked(opened).update(f"2026-01-01 {hour:02}:00")
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
                        answer = postgres_asked(opened).update(f"2026-01-01 {hour:02}:00")
                    found[name] = answer.column("total")["value"]
            except Exception as error:  # told in the test's own thread
                failed.append(error)

        at_once(host, range(3))
        assert failed == []
        longest = max(found.values(), key=len)
        assert all(longest[: len(totals)] == totals for totals in found.values())
        with session(table.dsn(), ledgers.dsn(), budget) as opened:
            assert opened.spent == budget
            assert opened.ledger.verify_chain() == len(opened.ledger.events())


def test_a_server_that_is_killed_costs_nothing_more(table, tmp_path):
    with session(table.dsn(), tmp_path / "visits.ledger") as opened:
        add(table, 0, "ab")
        first = postgres_asked(opened).update("2026-01-01 01:00")
        table.server.kill()
        with pytest.raises(DataSourceError):
            postgres_asked(opened).update("2026-01-01 03:00")
        assert opened.spent == tc.epsilon(MUCH)
        assert postgres_asked(opened).answer().to_dict() == first.to_dict()
        table.server.start()
        add(table, 1, "cd")
        again = postgres_asked(opened).update("2026-01-01 03:00")
        assert again.column("count")["value"] == [2, 2, 0]
        assert len(opened.history()) == 1
