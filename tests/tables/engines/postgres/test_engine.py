"""What breaks between the plan and PostgreSQL: what is told, what was spent, and asking again."""

from __future__ import annotations

import _thread
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
import traceback

import pytest

import tacit as tc
from support.servers.left_out import if_installed, leave_out
from support.servers.postgres_server import _free_port, _other_account
from support.tables.column_questions import answers, in_duckdb
from support.tables.parquet_writers import VALUES, random_table
from support.threads import at_once
from tables.engines.postgres.in_the_midst import (
    OPEN,
    SECRET,
    ask,
    failed,
    hurry,
    in_the_midst,
    running,
    session,
    until,
)
from tacit.accounting import create_ledger, open_ledger
from tacit.errors import DataSourceError
from tacit.tables import question
from tacit.tables.open_source import open_source
from tacit.tables.open_source import open_source as statistics_open_source
from tacit.tables.release import release


def told(error):
    return "".join(traceback.format_exception(error, chain=True)) + repr(error.__context__)


def test_closing_ends_the_query_that_runs(visits):
    opened = session(visits)
    assert "was closed while it was read" in failed(opened, visits, opened.source.close)
    until(lambda: not running(visits))
    with pytest.raises(DataSourceError, match="open it again"):
        ask(opened)


@pytest.fixture
def interruptible():
    """Python's own handler: who runs the tests may ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_query_that_runs(visits, interruptible):
    with session(visits) as opened:
        thread = in_the_midst(visits, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt) as caught:
            ask(opened)
        thread.join()
        assert OPEN in caught.value.__notes__[0]
        until(lambda: not running(visits))
        hurry(visits)
        assert ask(opened).column("n")["value"] == [100]
        assert opened.spent.amount == 10**5


def test_after_the_charge_the_error_says_what_was_spent_and_asking_goes_on(visits, monkeypatch):
    hurry(visits)

    def stopped(plan, exact):
        visits.server.stop("immediate")
        return release.release_answer(plan, exact)

    with session(visits, budget=tc.epsilon_delta(100, "1e-3")) as opened:
        asked = opened.group_by("name").agg(n=tc.count())
        with monkeypatch.context() as patched:
            patched.setattr(question, "release_answer", stopped)
            with pytest.raises(DataSourceError, match=rf"reached.*{OPEN}") as why:
                asked.release(epsilon=50, delta="1e-4")
        assert why.value.__context__ is None
        visits.server.start()
        answer = asked.release(epsilon=50, delta="1e-4")
        assert not answer.replayed
        assert opened.spent.epsilon == 50


def test_a_table_that_goes_or_changes_while_it_is_open(visits):
    hurry(visits)
    changes = {
        "drop view visits": "not there any more",
        "revoke select on visits from reader": "GRANT SELECT",
        "alter view visits rename column age to years": "column of the table is not there",
    }
    again = "create view visits as select data.* from data; grant select on visits to reader"
    for number, (change, message) in enumerate(changes.items()):
        with session(visits) as opened:
            asked = opened.agg(age=tc.mean("age", 0, 100))
            asked.release(epsilon=1)
            visits.run(change)
            with pytest.raises(DataSourceError, match=rf"{message}.*nothing was spent"):
                asked.release(epsilon=1, tag=str(number))
            assert opened.spent.amount == 1
        visits.run("drop view if exists visits", again)


def test_each_release_reads_the_table_anew(visits):
    hurry(visits)
    with session(visits) as opened:
        assert ask(opened).column("n")["value"] == [100]
        visits.run("insert into data values (1000, 5, 'x')")
        assert ask(opened).replayed
        assert ask(opened, tag="now").column("n")["value"] == [101]


def test_a_view_that_raises_on_a_row_tells_nothing_of_it(visits, caplog, capfd):
    visits.run(
        "create view broken as select person, cast(name as integer) as age from data",
        "grant select on broken to reader",
    )
    with session(visits, table="broken") as opened:
        with pytest.raises(DataSourceError, match="its message is withheld") as caught:
            opened.agg(age=tc.mean("age", 0, 100)).release(epsilon=1)
        assert opened.spent.amount == 1  # what a row does to the engine is never free
    assert SECRET not in told(caught.value) + caplog.text + "".join(capfd.readouterr())


def test_the_server_s_log_holds_no_value_of_the_data(visits, caplog, capfd):
    """Every statement is in the log of the tests' server: names, bounds, keys; never a row."""
    hurry(visits)
    with visits.connect() as connection, connection.cursor().copy("copy data from stdin") as rows:
        for i in range(40):
            rows.write_row((777_000_123, 31.4159265, f"Trillian {i % 2}"))
    before = len(visits.server.logged())
    with session(visits, budget=tc.epsilon_delta(10**4, "1e-3")) as opened:
        answers = {
            "m": tc.median("age", 0, 100),
            "s": tc.sum("age", 0, 100),
            "p": tc.count_people(),
        }
        opened.filter(tc.col("age") < 1e3).agg(**answers).release(epsilon=1)
        opened.group_by("person").agg(n=tc.count()).release(epsilon=1, delta="1e-6")
        opened.group_by("name", keys=["a key"]).agg(**answers).release(epsilon=1)
    logged = visits.server.logged()[before:]
    assert "a key" in logged  # public
    for value in ("777000123", "31.41", "Trillian", SECRET):
        assert value not in logged + caplog.text + "".join(capfd.readouterr())


# The table and the ledger behind PgBouncer, which lends a connection for one transaction.


PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SETTINGS = """[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
logfile = {folder}/log
"""


@pytest.fixture(name="pooled")
def _pooled(postgres, tmp_path_factory):
    """A function that writes the address of the fresh database by way of the pooler."""
    if PROGRAM is None:
        leave_out("PgBouncer", "apt-get install pgbouncer")
    server, port, account = postgres.server, _free_port(), _other_account()
    folder = server.folder / "pooler"
    folder.mkdir()
    users = [f'"{user}" "{server.password}"' for user in ("curator", server.role("reader"))]
    (folder / "users").write_text("\n".join(users))
    ini = folder / "pgbouncer.ini"
    ini.write_text(SETTINGS.format(server=server.port, port=port, folder=folder))
    who = {}
    if account is not None:
        who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
    pooler = subprocess.Popen([PROGRAM, "-q", ini], stderr=subprocess.DEVNULL, **who)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end, "it takes no connections"
                time.sleep(0.05)
        yield lambda user="curator", **options: postgres.dsn(user, **options).replace(
            f":{server.port}/", f":{port}/"
        )
    finally:
        pooler.terminate()
        pooler.wait()
        shutil.rmtree(folder)


@pytest.fixture(name="pgbouncer_visits")
def _visits(postgres):
    postgres.run(
        "create table visits (person bigint, age double precision, ward text)",
        "insert into visits select i / 2, i % 90, chr(97 + i % 3) from generate_series(0, 2999) i",
        f"grant select on visits to {postgres.server.role('reader')}",
    )


def pgbouncer_ask(source, **options):
    unit, budget = tc.unit("person", rows=2), tc.epsilon(10**6)
    with tc.Session(source, table="visits", unit=unit, budget=budget, **options) as session:
        asked = session.group_by("ward", keys=["a", "b", "c"])
        answer = asked.agg(n=tc.count(), people=tc.count_people(), mid=tc.median("age", 0, 90))
        return answer.release(epsilon=10**5).to_dict()["people"]


def test_a_service_has_statements_prepared_where_no_pooler_is_in_between(postgres, pooled):
    import sqlalchemy as sa

    from tacit.service.database import Database, Prepared

    once = Prepared(sa.select((sa.bindparam("x", type_=sa.Integer) + 1).label("after")))
    names = "select count(*) from pg_prepared_statements"
    for address, prepared in ((postgres.dsn(), True), (pooled(), False)):
        with Database(address) as database:
            assert [database.scalar(once, x=x) for x in range(6)] == [1, 2, 3, 4, 5, 6]
            (connection,) = database._open._idle
            assert (connection.execute(names).fetchone()[0] > 0) is prepared


@pytest.mark.usefixtures("pgbouncer_visits")
def test_tables_and_ledgers_are_used_by_many_at_once_and_nothing_stays_set(pooled):
    create_ledger(pooled(ledger="a"), dataset="d", budget=tc.epsilon(1)).close()
    failed = []

    def work(number):
        try:
            with open_ledger(pooled(ledger="a"), dataset="d") as ledger:
                for k in range(10):
                    entry = ledger.charge(f"{number} {k}", tc.epsilon("1/100"), {})
                    ledger.record(entry, {"n": k})
            assert pgbouncer_ask(pooled("reader"), timeout=60, memory_limit="9MB") == [1000] * 3
        except BaseException as error:
            failed.append(error)

    at_once(work, range(4))
    assert not failed
    with open_ledger(pooled(ledger="a"), dataset="d") as ledger:
        assert (ledger.spent, ledger.verify_chain()) == (tc.epsilon("2/5"), 81)
    import psycopg

    for _ in range(4):
        with psycopg.connect(pooled("reader"), autocommit=True) as connection:
            for _ in range(8):  # often enough for psycopg to prepare a query
                assert pgbouncer_ask(connection) == [1000] * 3
            for name, value in (("work_mem", "4MB"), ("statement_timeout", "0")):
                assert connection.execute(f"show {name}").fetchone() == (value,)


@pytest.mark.usefixtures("pgbouncer_visits")
def test_a_question_is_cancelled_through_the_pooler(pooled):
    source = open_source(pooled("reader"), "visits")
    thread = threading.Timer(0.5, source.close)
    thread.start()
    began = time.monotonic()
    with pytest.raises(DataSourceError, match="was closed while it was read"):
        source.engine.rows("select pg_sleep(60)")
    thread.join()
    assert time.monotonic() - began < 60  # that of the query itself


@pytest.mark.usefixtures("pgbouncer_visits")
def test_an_option_that_the_pooler_refuses_is_told(pooled):
    with pytest.raises(DataSourceError, match="ignore_startup_parameters"):
        open_source(pooled("reader", options="-c%20work_mem%3D9MB"), "visits")


# What PostgreSQL reads of a table follows from its rows, whatever it knows of their statistics.


@pytest.mark.full
def test_indexes_and_statistics_change_nothing(postgres, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")
    types = {name: VALUES[name] for name in ("double", "float")}
    table = random_table(random.Random(3), types, 16)
    with in_duckdb(table) as source:
        kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
        expected = answers(source, kinds)
    postgres.run("create table data (p bigint, double double precision, float real)")
    for row in table.to_pylist():
        cells = ["null" if c is None else f"'{c}'" for c in row.values()]
        postgres.run(f"insert into data values ({', '.join(cells)})")
    for name in types:
        postgres.run(f"create index on data using brin ({name}); create index on data ({name})")
    postgres.run("create statistics s on double, float from data; analyze data")
    with statistics_open_source(postgres.dsn(), "data") as source:
        assert answers(source, kinds) == expected


# The connection to PostgreSQL: cut in the midst, made anew, and never the user's own.


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
