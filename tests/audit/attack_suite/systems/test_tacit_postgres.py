"""A session on PostgreSQL under attack."""

from __future__ import annotations

import pytest

from support.audit.attacked import ALL, QUICK, attacked
from tacit.audit.attack_suite.system import HOLDS, NotReadyError
from tacit.audit.attack_suite.systems.tacit_postgres import ADDRESS, TacitPostgres
from tacit.audit.attack_suite.worker import under_attack


def test_without_a_database_the_table_says_so(monkeypatch):
    monkeypatch.delenv(ADDRESS, raising=False)
    with pytest.raises(NotReadyError, match=ADDRESS):
        TacitPostgres().refuse_unready()
    found = under_attack("tacit-postgresql", {"NaN/sum"})
    assert ADDRESS in found.absent
    assert found.outcomes == {}


@pytest.mark.full
def test_postgresql(postgres, monkeypatch):
    monkeypatch.setenv(ADDRESS, postgres.dsn())
    outcomes = attacked(
        "tacit-postgresql", {*QUICK, "spending at once/eight handles on one budget"}
    )
    assert all(o.verdict == HOLDS for o in outcomes.values())
    assert postgres.run("select count(*) from pg_tables where tablename like 'attacked%'") == [(0,)]


@pytest.mark.full
def test_many_accounts_take_few_connections(postgres, monkeypatch):
    monkeypatch.setenv(ADDRESS, postgres.dsn())
    system = TacitPostgres()
    try:
        for _ in range(40):
            system.account(1.0).again().ask(0.5, "a")
        counted = "select count(*) from pg_stat_activity where datname = current_database()"
        ((connections,),) = postgres.run(counted)
        assert connections < 30
    finally:
        system.close()
    assert postgres.run("select count(*) from pg_tables where tablename like 'attacked%'") == [(0,)]


@pytest.mark.slow
@pytest.mark.full
def test_postgresql_falls_under_none_of_all(postgres, monkeypatch):
    monkeypatch.setenv(ADDRESS, postgres.dsn())
    attacked("tacit-postgresql", ALL)
