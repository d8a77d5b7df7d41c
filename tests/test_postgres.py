"""Tables and ledgers reach PostgreSQL in one way, and no secret is in what is said of a failure."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.postgres import Refused, connect, is_cut, read_options, with_defaults


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
