"""The adapter of a session asks what the attacks mean: its loud answers are the plain ones."""

from __future__ import annotations

import json

import duckdb
import pytest

from support.audit.attacked import ALL, QUICK, attacked
from tacit.audit.attack_suite.run import under_attack
from tacit.audit.attack_suite.system import (
    HOLDS,
    LARGE_EPSILON,
    NotOfferedError,
    NotReadyError,
    forked_numbers,
)
from tacit.audit.attack_suite.systems import tacit_local, tacit_service
from tacit.audit.attack_suite.systems.tacit_framework import TacitFramework
from tacit.audit.attack_suite.systems.tacit_postgres import ADDRESS, TacitPostgres
from tacit.audit.attack_suite.systems.tacit_session import (
    TacitAccount,
    TacitSession,
    columns_of,
    duckdb_table,
    write_parquet,
)
from tacit.audit.attack_suite.systems.tacit_spark import TacitSpark
from tacit.errors import MissingExtraError, TacitError

SYSTEM = TacitSession()
ROWS = [1.0, 2.0, 3.0, 6.0]


@pytest.mark.parametrize(("kind", "truth"), [("count", 4), ("sum", 12), ("mean", 3)])
def test_loud_statistics_are_the_plain_ones(kind, truth):
    found = SYSTEM.statistic(kind, ROWS, bounds=(0.0, 10.0), epsilon=LARGE_EPSILON)
    assert found == pytest.approx(truth, abs=0.05)


@pytest.mark.full
def test_all_other_questions():
    asked = {"bounds": (0.0, 10.0), "epsilon": LARGE_EPSILON}
    assert SYSTEM.statistic("variance", ROWS, **asked) == pytest.approx(3.5, abs=0.05)
    assert 1.9 <= SYSTEM.statistic("median", ROWS, **asked) <= 3.1
    bars = SYSTEM.statistic("histogram", ROWS, edges=[0, 2.5, 10], epsilon=LARGE_EPSILON)
    assert bars == pytest.approx([2, 2], abs=0.05)
    counts = SYSTEM.group_counts(["a", "b", "a"], ["a", "c"], epsilon=LARGE_EPSILON)
    assert counts == pytest.approx({"a": 2, "c": 0}, abs=0.05)
    each = {"rows_each": 2, "groups_each": 1, "upper": 1.0, "epsilon": LARGE_EPSILON}
    sums = SYSTEM.people_sum([(1, "a", 1.0), (2, "b", 0.5)], ["a", "b"], **each)
    assert sums == pytest.approx({"a": 1, "b": 0.5}, abs=0.05)
    assert SYSTEM.joined_count([1, 1, 5], [1, 2], epsilon=LARGE_EPSILON) == pytest.approx(
        2, abs=0.05
    )
    assert SYSTEM.filtered_count(
        "equal", [1, 2, 2], epsilon=LARGE_EPSILON, other=[2]
    ) == pytest.approx(2)
    text = "x,y\n1,a\n2,b\n"
    assert SYSTEM.read_sum(text, "x", "integer", (0, 10), epsilon=LARGE_EPSILON) == pytest.approx(3)
    with pytest.raises(NotOfferedError):
        SYSTEM.filtered_count("logarithm", [1.0], epsilon=1.0)


@pytest.mark.full
def test_an_account_is_a_session_with_a_ledger_in_a_file():
    account = SYSTEM.account(1.0)
    assert isinstance(account, TacitAccount)
    first = account.ask(0.25, "same")
    assert account.ask(0.25, "same") == first
    assert account.spent() == 0.25
    account.again().ask(0.25, "other")
    assert account.spent() == 0.5
    other = SYSTEM.account(1.0)
    with pytest.raises(TacitError):
        other.fail(0.25, "f")
    assert other.spent() == 0.25


@pytest.mark.full
def test_certificates_are_changed_and_sealed_again():
    assert SYSTEM.verifies(SYSTEM.certificate())
    assert len({json.dumps(text) for text in SYSTEM.forgeries().values()}) == 5


# Columns of the attacks as tables.


def test_columns_have_the_types_of_their_values():
    assert columns_of({"a": [], "b": [2**70, None], "c": ["x", 1]}) == {
        "a": ([], "double"),
        "b": ([2.0**70, None], "double"),
        "c": (["x", "1"], "varchar"),
    }


def test_a_table_and_a_file_have_the_rows(tmp_path):
    columns = columns_of({"a": [1.5, None], "b": ["x", None]})
    with duckdb_table(columns) as table:
        found = table.execute("select a, b from rows_of_people").fetchall()
    assert found == [(1.5, "x"), (None, None)]
    write_parquet(columns, tmp_path / "rows.parquet")
    assert duckdb.read_parquet(str(tmp_path / "rows.parquet")).fetchall() == found


# A session on Spark under attack.


def test_without_java_the_table_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NotReadyError, match="Java"):
        TacitSpark().refuse_unready()


@pytest.mark.full
def test_spark(spark):
    attacked("tacit-spark", set())


@pytest.mark.slow
@pytest.mark.full
def test_spark_falls_under_none_of_all(spark):
    attacked("tacit-spark", ALL)


# The adapter of the framework, and those of other libraries, which load without them.


TACIT_FRAMEWORK_SYSTEM = TacitFramework()


def test_noise_lies_on_a_public_grid():
    for kind in ("laplace", "gaussian"):
        value = TACIT_FRAMEWORK_SYSTEM.noise(kind, 0.0, 2.0) * 2**20
        assert value == int(value)


def test_claims_are_those_of_the_maps():
    assert TACIT_FRAMEWORK_SYSTEM.claim("a sample used twice: rate 0.5") == pytest.approx(
        1.43378, rel=1e-5
    )
    assert TACIT_FRAMEWORK_SYSTEM.claim("sums in a tree: 8 leaves in L2") == pytest.approx(2)
    assert TACIT_FRAMEWORK_SYSTEM.claim("noisy maximum in zCDP: Gumbel noise of scale 2") > 0.12
    name = "composition: 7 randomized responses, epsilon 1, delta 0"
    assert TACIT_FRAMEWORK_SYSTEM.claim(name) == pytest.approx(7, abs=1e-5)
    with pytest.raises(NotOfferedError):
        TACIT_FRAMEWORK_SYSTEM.claim("the weather: tomorrow")


def test_forked_processes_answer():
    assert forked_numbers(lambda: [1.0, 2.0]) == ([1.0, 2.0], [1.0, 2.0])
    first, second = TACIT_FRAMEWORK_SYSTEM.forked()
    assert list(first) != list(second)


def test_a_question_of_the_local_model_refuses_what_it_cannot_have_sent():
    question = tacit_local.TacitQuestion(4, 1.0, "direct")
    assert question.accepts(question.report(2))
    assert not any(question.accepts(report) for report in question.impossible())
    assert sum(question.counts([question.report(0) for _ in range(50)])) == pytest.approx(50)


# A session on PostgreSQL under attack.


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
        for _ in range(32):
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


# A service in a process of its own under attack, over HTTP.


def test_without_its_packages_the_table_says_so(monkeypatch):
    def need(module, extra):
        raise MissingExtraError(f"no {module}")

    monkeypatch.setattr(tacit_service, "need", need)
    with pytest.raises(NotReadyError, match="no fastapi"):
        tacit_service.TacitService().refuse_unready()


@pytest.mark.full
def test_the_same_rows_are_one_data_set_and_a_service_of_many_is_followed_by_another(monkeypatch):
    system = tacit_service.TacitService()
    try:
        first = system.account(1.0)
        folder = system._service.data
        before = len(list(folder.iterdir()))
        found = [system.statistic("count", [1.0] * 9, epsilon=0.001) for _ in range(4)]
        assert len(set(found)) > 1  # every release has noise of its own
        assert len(list(folder.iterdir())) == before + 1
        monkeypatch.setattr(tacit_service, "_MAX_OPEN_SERVICES", before + 1)
        second = system.account(1.0)
        assert len(system._all) == 2
        first.ask(0.25, "one"), second.ask(0.5, "one")
        assert (first.spent(), second.spent()) == (0.25, 0.5)
    finally:
        system.close()


@pytest.mark.full
def test_the_service():
    failure = "a failure between charge and answer/1 failures"
    assert attacked("tacit-service", {failure})[failure].verdict == HOLDS


@pytest.mark.slow
def test_the_service_falls_under_none_of_all():
    attacked("tacit-service", ALL)
