"""A PostgreSQL that speaks TLS alone: options are handed on, doubts are told."""

from __future__ import annotations

import threading
import time
from urllib.parse import quote

import pytest

import tacit as tc
from support.servers.left_out import leave_out
from support.servers.postgres_tls import HOST, Authority, missing, tls_server
from tacit.accounting import open_ledger
from tacit.errors import DataSourceError, LedgerError
from tacit.tables import open_source

UNIT = tc.unit("person", rows=2)
pytestmark = [pytest.mark.full, pytest.mark.xdist_group("postgres")]


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    return Authority(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture(scope="module", name="stranger")
def _stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("keys"), "stranger")


@pytest.fixture(scope="module", name="server")
def _server(authority):
    with tls_server(authority) as server:
        server.role("certified")
        with server.connect() as connection:
            connection.execute(
                "create table visits (person bigint, age bigint);"
                "insert into visits select i / 2, i % 90 from generate_series(0, 99) as i;"
                "grant select on visits to certified"
            )
        yield server


@pytest.fixture(name="url")
def _url(server):
    """A function that writes the URL of the server, under the name of its certificate."""

    def url(user="curator", host=HOST, secret=True, **options):
        given = {"hostaddr": "127.0.0.1", **{k: quote(str(v), "") for k, v in options.items()}}
        text = server.dsn(user, **given).replace("@127.0.0.1", f"@{host}")
        return text if secret else text.replace(f":{server.password}@", "@")

    return url


def ask(source, ledger, **options):
    with tc.Session(source, unit=UNIT, ledger=ledger, budget=tc.epsilon(2), **options) as session:
        answer = session.agg(n=tc.count()).release(epsilon=1)
        assert session.remaining == tc.epsilon(1)
        return answer.to_dict()["n"]


def test_table_and_ledger_are_asked_over_tls_with_the_host_checked(server, url, authority):
    full = {"sslmode": "verify-full", "sslrootcert": authority.root}
    ask(url(**full), url(**full, ledger="full"), table="visits")
    with open_source(url(**full), "visits") as source:
        encrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
        assert source.engine.rows(encrypted) == [(True,)]
    with open_ledger(url(**full, ledger="full")) as ledger:
        found = ledger._store._connection.execute(encrypted).fetchone()
        assert (found, ledger.spent) == ((True,), tc.epsilon(1))


def test_an_open_connection_with_tls_serves(url, authority):
    import psycopg

    with psycopg.connect(url(sslmode="verify-ca", sslrootcert=authority.root)) as connection:
        ask(connection, url(sslmode="require", ledger="open"), table="visits")
        assert not connection.closed


def test_a_question_is_cancelled_over_tls(server, url, authority):
    source = open_source(url(sslmode="verify-full", sslrootcert=authority.root), "visits")
    running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(60)'"

    def close():
        end = time.monotonic() + 30
        with server.connect() as connection:
            while not connection.execute(running).fetchone()[0] and time.monotonic() < end:
                time.sleep(0.02)
        source.close()

    thread = threading.Thread(target=close)
    thread.start()
    began = time.monotonic()
    with pytest.raises(DataSourceError, match="was closed while it was read"):
        source.engine.rows("select pg_sleep(60)")
    thread.join()
    assert time.monotonic() - began < 60  # that of the query itself


def test_a_role_with_a_certificate_needs_no_password(url, authority):
    certificate, key = authority.sign("certified")
    given = {"user": "certified", "secret": False, "sslrootcert": authority.root}
    given |= {"sslmode": "verify-full", "sslcert": certificate, "sslkey": key}
    ask(url(**given), None, table="visits")
    with pytest.raises(LedgerError, match="cannot be created by the role 'certified'"):
        tc.Session(
            url(**given), table="visits", unit=UNIT, budget=tc.epsilon(1), ledger=url(**given)
        )


def wrong(case, url, ours, other):
    """The URL of a case, and what is told of it."""
    certificate, _ = ours.sign("certified")
    stranger, stranger_key = other.sign("certified")
    somebody, somebody_key = ours.sign("somebody")
    full, client = {"sslmode": "verify-full", "sslrootcert": ours.root}, {"user": "certified"}
    return {
        "authority": (
            url(sslmode="verify-full", sslrootcert=other.root),
            "not signed by an authority in the file of sslrootcert: ask its administrator",
        ),
        "authority, though only TLS was asked for": (
            url(sslmode="require", sslrootcert=other.root),
            "not signed by an authority in the file of sslrootcert",
        ),
        "host": (url(host="127.0.0.1", **full), "is for another host: write the name"),
        "no root": (
            url(sslmode="verify-full", sslrootcert="/no/where.pem"),
            "the file of sslrootcert is not there",
        ),
        "no TLS": (
            url(sslmode="disable"),
            "refuses connections without TLS: write sslmode=verify-full",
        ),
        "mode": (url(sslmode="sometimes"), "sslmode"),
        "no certificate": (url(**client, **full), "give the files with sslcert= and sslkey="),
        "a stranger's certificate": (
            url(**client, **full, sslcert=stranger, sslkey=stranger_key),
            "does not accept the certificate of sslcert",
        ),
        "somebody's certificate": (
            url(**client, **full, sslcert=somebody, sslkey=somebody_key),
            "is not for the user of the address",
        ),
        "no key": (
            url(**client, **full, sslcert=certificate, sslkey="/no/where.key"),
            "the file of sslkey is not there",
        ),
        "another's key": (
            url(**client, **full, sslcert=certificate, sslkey=stranger_key),
            "does not belong to sslcert",
        ),
        "password": (
            url(**full).replace("curator:", "curator:x"),
            "does not know this user with this password|password authentication failed",
        ),
    }[case]


@pytest.mark.parametrize(
    "case",
    [
        "authority", "authority, though only TLS was asked for", "host", "no root", "no TLS",
        "mode", "no certificate", "a stranger's certificate", "somebody's certificate", "no key",
        "another's key", "password",
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_what_to_do(case, server, url, authority, stranger):
    address, told = wrong(case, url, authority, stranger)
    for open_it, kind in (
        (lambda: open_source(address, "visits"), DataSourceError),
        (lambda: open_ledger(address), LedgerError),
    ):
        with pytest.raises(kind, match=told) as caught:
            open_it()
        assert "cannot be reached" in str(caught.value)
        assert server.password not in str(caught.value)


def test_a_server_without_tls_is_not_asked_in_the_open(postgres):
    address = postgres.dsn(sslmode="require")
    for open_it, kind in (
        (lambda: open_source(address, "visits"), DataSourceError),
        (lambda: open_ledger(address), LedgerError),
    ):
        with pytest.raises(kind, match="offers no TLS, which sslmode demands"):
            open_it()
