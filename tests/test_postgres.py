"""Tables and ledgers reach PostgreSQL in one way, and no secret is in what is said of a failure."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from support.servers.postgres_server import Database
from tacit.postgres import (
    Refused,
    connect,
    is_cut,
    prepare_where_direct,
    read_options,
    run_all,
    with_defaults,
)


def test_what_is_given_or_set_in_the_environment_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    assert with_defaults({})["connect_timeout"] == "10"
    assert with_defaults({"connect_timeout": "3"})["connect_timeout"] == "3"
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    assert "connect_timeout" not in with_defaults({})
    assert with_defaults({}, tcp_user_timeout="30000")["tcp_user_timeout"] == "30000"


def test_a_name_of_the_users_own_is_not_replaced() -> None:
    """``application_name`` and PGAPPNAME are the user's: ours is only what stands in for none."""
    assert "application_name" not in with_defaults({})
    assert with_defaults({})["fallback_application_name"] == "tacit"


def test_an_address_holds_options() -> None:
    pytest.importorskip("psycopg", reason="pip install 'tacit-dp[postgres]'")
    assert read_options("postgresql://ann@db.example/clinic?sslmode=verify-full") == {
        "user": "ann",
        "host": "db.example",
        "dbname": "clinic",
        "sslmode": "verify-full",
    }


@pytest.mark.parametrize("address", ["postgresql://h/d?colour=red", "x=y"])
def test_what_libpq_cannot_read_is_no_address(address: str) -> None:
    pytest.importorskip("psycopg", reason="pip install 'tacit-dp[postgres]'")
    assert read_options(address) is None


def test_a_refusal_shows_no_word_of_libpqs() -> None:
    pytest.importorskip("psycopg", reason="pip install 'tacit-dp[postgres]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]  # nothing listens on it
        given = read_options(f"postgresql://ann:secret@127.0.0.1:{port}/clinic")
        assert given is not None
        found = connect(with_defaults(given))
    assert isinstance(found, Refused)
    assert "refused" in found.message.casefold()
    assert not found.password
    assert str(found) == "Refused(password=False)"


@pytest.mark.parametrize(
    ("state", "closed", "cut"),
    [("08006", False, True), ("57P01", False, True), (None, True, True), ("42P01", False, False)],
)
def test_what_means_that_a_connection_is_gone(state: str | None, closed: bool, cut: bool) -> None:
    connection: Any = SimpleNamespace(closed=closed)
    assert is_cut(state, connection) is cut


# Statements that go to libpq itself.


@pytest.fixture(params=[True, False], ids=["prepared", "as behind a pooler"])
def connection(request: pytest.FixtureRequest, postgres: Database) -> Iterator[Any]:
    options = read_options(postgres.dsn())
    assert options is not None
    made = connect(options)
    assert not isinstance(made, Refused)
    with made:
        if request.param:
            prepare_where_direct(made)
        yield made


def prepares(request: pytest.FixtureRequest) -> bool:
    return "pooler" not in request.node.name


def test_after_a_rollback_statements_are_as_they_were(
    connection: Any, request: pytest.FixtureRequest
) -> None:
    for _ in range(9):  # so often that psycopg would prepare it
        connection.execute("select %s::int", [1])
    run_all(connection, [("select $1::int", [2])])
    with suppress(ZeroDivisionError), connection.transaction():
        for _ in range(9):
            connection.execute("select %s::int", [1])
        raise ZeroDivisionError
    (done,) = run_all(connection, [("select $1::int", [3])])
    assert done.rows == [(3,)]
    assert bool(statements_prepared(connection)) is prepares(request)


def statements_prepared(connection: Any) -> int:
    row = connection.execute("select count(*) from pg_prepared_statements").fetchone()
    return int(row[0])


def test_statements_give_what_cursors_give(connection: Any, request: pytest.FixtureRequest) -> None:
    sent = [
        None,
        True,
        7,
        2**40,
        10**30,
        0.1,
        float("inf"),
        "\u00fc'%s $1",
        "",
        ["a", None],
        "x" * 9,
    ]
    kinds = [
        "bool",
        "bool",
        "int8",
        "int8",
        "numeric",
        "float8",
        "float8",
        "text",
        "text",
        "text[]",
        "varchar",
    ]
    asked = ", ".join(f"${n}::{kind} as c{n}" for n, kind in enumerate(kinds, 1))
    told = ", ".join(f"%s::{kind}" for kind in kinds)
    for _ in range(2):
        one, none, made, changed = run_all(
            connection,
            [
                (f"select {asked}", sent),
                ("select 1 where false", ()),
                ("create temporary table if not exists t (a int)", ()),
                ("insert into t select generate_series(1, $1)", [3]),
            ],
        )
        assert one.rows == [connection.execute(f"select {told}", sent).fetchone()]
        assert (none.rows, none.changed, changed.rows, changed.changed) == ([], 0, [], 3)
        assert (made.rows, made.changed) == ([], 0)
    assert bool(statements_prepared(connection)) is prepares(request)


def test_replies_longer_than_any_buffer_come_whole(connection: Any) -> None:
    text = "abc" * 3_000_000
    there = run_all(connection, [("select $1::text, $1::text", [text])] * 3)
    assert all(one.rows == [(text, text)] for one in there)


def test_nothing_is_done_from_the_first_that_fails_on(connection: Any) -> None:
    import psycopg

    connection.execute("create table kept (a int primary key)")
    add = "insert into kept values ($1)"
    with pytest.raises(psycopg.errors.UniqueViolation):  # without BEGIN they are one transaction
        run_all(connection, [(add, [1]), (add, [2]), (add, [1]), (add, [3])])
    assert run_all(connection, [("select count(*) from kept", ())])[0].rows == [(0,)]
    with pytest.raises(psycopg.errors.UniqueViolation):
        run_all(connection, [(add, [4]), ("commit", ()), ("begin", ()), (add, [4]), (add, [5])])
    connection.rollback()
    with pytest.raises(psycopg.errors.UndefinedTable):
        run_all(connection, [(add, [6]), ("select * from missing", ())])
    connection.execute("create table missing (a int)")
    assert run_all(connection, [("select * from missing", ())])[0].rows == []
    assert run_all(connection, [("select a from kept", ())])[0].rows == [(4,)]
    with pytest.raises(psycopg.DataError, match="NUL"):
        run_all(connection, [(add, [7]), ("select $1::text", ["a\0b"])])
    assert run_all(connection, [("select a from kept", ())])[0].rows == [(4,)]


def test_a_connection_that_was_cut_is_told(connection: Any, postgres: Database) -> None:
    import psycopg

    run_all(connection, [("select 1", ())])
    with postgres.connect() as other:
        other.execute("select pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            run_all(connection, [("select 1", ()), ("select 2", ())])
    assert connection.closed


def test_the_keyboard_interrupts_the_wait_and_closes(connection: Any) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run_all(connection, [("select pg_sleep(60)", ())])
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert connection.closed
