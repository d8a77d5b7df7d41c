"""The table and the ledger behind PgBouncer, which lends a connection for one transaction."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time

import pytest

import tacit as tc
from support.servers.left_out import leave_out
from support.servers.postgres_server import _free_port, _other_account
from tacit.accounting import create_ledger, open_ledger
from tacit.errors import DataSourceError
from tacit.tables import open_source

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


@pytest.fixture(name="visits")
def _visits(postgres):
    postgres.run(
        "create table visits (person bigint, age double precision, ward text)",
        "insert into visits select i / 2, i % 90, chr(97 + i % 3) from generate_series(0, 2999) i",
        f"grant select on visits to {postgres.server.role('reader')}",
    )


def ask(source, **options):
    unit, budget = tc.unit("person", rows=2), tc.epsilon(10**6)
    with tc.Session(source, table="visits", unit=unit, budget=budget, **options) as session:
        asked = session.group_by("ward", keys=["a", "b", "c"])
        answer = asked.agg(n=tc.count(), people=tc.count_people(), mid=tc.median("age", 0, 90))
        return answer.release(epsilon=10**5).to_dict()["people"]


@pytest.mark.usefixtures("visits")
def test_tables_and_ledgers_are_used_by_many_at_once_and_nothing_stays_set(pooled):
    create_ledger(pooled(ledger="a"), dataset="d", budget=tc.epsilon(1)).close()
    failed = []

    def work(number):
        try:
            with open_ledger(pooled(ledger="a"), dataset="d") as ledger:
                for k in range(10):
                    entry = ledger.charge(f"{number} {k}", tc.epsilon("1/100"), {})
                    ledger.record(entry, {"n": k})
            assert ask(pooled("reader"), timeout=60, memory_limit="9MB") == [1000] * 3
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with open_ledger(pooled(ledger="a"), dataset="d") as ledger:
        assert (ledger.spent, ledger.verify_chain()) == (tc.epsilon("2/5"), 81)
    import psycopg

    for _ in range(4):
        with psycopg.connect(pooled("reader"), autocommit=True) as connection:
            for _ in range(8):  # often enough for psycopg to prepare a query
                assert ask(connection) == [1000] * 3
            for name, value in (("work_mem", "4MB"), ("statement_timeout", "0")):
                assert connection.execute(f"show {name}").fetchone() == (value,)


@pytest.mark.usefixtures("visits")
def test_a_question_is_cancelled_through_the_pooler(pooled):
    source = open_source(pooled("reader"), "visits")
    thread = threading.Timer(0.5, source.close)
    thread.start()
    began = time.monotonic()
    with pytest.raises(DataSourceError, match="was closed while it was read"):
        source.engine.rows("select pg_sleep(60)")
    thread.join()
    assert time.monotonic() - began < 60  # that of the query itself


@pytest.mark.usefixtures("visits")
def test_an_option_that_the_pooler_refuses_is_told(pooled):
    with pytest.raises(DataSourceError, match="ignore_startup_parameters"):
        open_source(pooled("reader", options="-c%20work_mem%3D9MB"), "visits")
