"""The tables of a ledger in PostgreSQL: made once, told apart, and never another's."""

import pytest

from accounting.ledger_postgres.roles import COST, as_role, remedy_of
from tacit.accounting import create_ledger, epsilon, open_ledger, restore_ledger
from tacit.accounting.ledger_chain import FORMAT
from tacit.accounting.ledger_postgres import PostgresStore
from tacit.accounting.open_ledger import has_ledger
from tacit.errors import LedgerError


def test_a_role_that_may_not_make_tables_is_refused_and_the_remedy_helps(postgres):
    curator = as_role(postgres, "junior")
    with pytest.raises(LedgerError, match=r"cannot be created by the role 'junior'") as refused:
        open_ledger(curator, dataset="d", budget=epsilon(1))
    assert not has_ledger(curator)
    postgres.run(*remedy_of(refused))
    with open_ledger(curator, dataset="d", budget=epsilon(1)) as ledger:
        assert ledger.charge("k", COST, {}).state == "open"


def test_ledgers_of_one_database_are_apart(postgres):
    names = ["a", "a_event", "b_head", "user"]
    for k, name in enumerate(names):
        with create_ledger(
            f"{postgres.dsn()}?ledger={name}", dataset=name, budget=epsilon(1)
        ) as ledger:
            ledger.charge(f"k{k}", epsilon(f"{k + 1}/10"), {})
    for k, name in enumerate(names):
        with open_ledger(f"{postgres.dsn()}?ledger={name}", dataset=name) as ledger:
            assert ledger.spent == epsilon(f"{k + 1}/10")


def test_another_table_is_no_ledger_and_is_left_alone(postgres):
    postgres.run("CREATE SCHEMA tacit", "CREATE TABLE tacit.main_event (x int)")
    for use in (open_ledger, restore_ledger):
        with pytest.raises(LedgerError, match="not a ledger of Tacit"):
            use(postgres.dsn())
    with pytest.raises(LedgerError, match="not a ledger of Tacit"):
        open_ledger(postgres.dsn(), dataset="d", budget=epsilon(1))
    assert postgres.run("SELECT * FROM tacit.main_event") == []
    assert postgres.run("SELECT to_regclass('tacit.main_head')") == [(None,)]


def test_a_newer_format_is_refused(postgres, clinic):
    told = f"Tacit ledger, format {FORMAT + 1}"
    postgres.run(f"COMMENT ON TABLE tacit.clinic_event IS '{told}'")
    with pytest.raises(LedgerError, match=rf"newer Tacit \(format {FORMAT + 1}.*upgrade"):
        open_ledger(clinic)


def test_tables_without_an_event_are_a_beginning_that_was_cut_short(postgres):
    address = f"{postgres.dsn()}?ledger=begun"
    PostgresStore(address, create=True).close()  # killed here, before the first event
    assert not has_ledger(address)
    with pytest.raises(LedgerError, match="is empty"):
        open_ledger(address, create=False)
    with open_ledger(address, dataset="clinic", budget=epsilon(1)) as ledger:
        assert ledger.verify_chain() == 1
    assert has_ledger(address)
