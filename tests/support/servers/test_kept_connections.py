"""A session that is lent again holds nothing of who had it before."""

from __future__ import annotations

import pytest


def test_a_session_is_used_again_and_holds_nothing_of_who_had_it(postgres):
    import psycopg

    from support.servers.kept_connections import KeptConnections

    def connect(address, _):
        return psycopg.connect(address, autocommit=True)

    kept, address = KeptConnections(connect), postgres.dsn()
    first = kept.connect(address, "a test")
    server_process = first.info.backend_pid
    first.execute("SET work_mem = '77kB'")
    first.execute("CREATE TABLE done (x int)")
    first.execute("BEGIN")
    first.execute("INSERT INTO done VALUES (1)")
    first.close()
    assert first.closed
    with pytest.raises(psycopg.OperationalError, match="closed"):
        first.execute("SELECT 1")

    second = kept.connect(address, "a test")
    assert second.info.backend_pid == server_process
    assert second.execute("SELECT count(*) FROM done").fetchone() == (0,)
    assert second.execute("SHOW work_mem").fetchone() != ("77kB",)
    first.close()
    assert not second.closed

    kept.kept = False
    third = kept.connect(address, "a test")
    assert third.info.backend_pid != server_process
    third.close()
    second.close()
    kept.clear()
    kept.kept = True
    with kept.connect(address, "a test") as fourth:
        assert fourth.info.backend_pid != server_process
    kept.clear()
