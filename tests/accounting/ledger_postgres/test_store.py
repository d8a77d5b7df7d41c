"""A ledger in PostgreSQL: rights, copies, versions, settings of the server, errors and secrets."""

import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from accounting.ledger.ledger_edit import edit
from accounting.ledger_postgres.roles import COST, as_role, remedy_of
from tacit.accounting import create_ledger, epsilon, ledger_postgres, open_ledger, restore_ledger
from tacit.accounting.ledger import charge_each, look_at, on_account_of
from tacit.accounting.ledger_chain import Payment
from tacit.accounting.ledger_postgres import Address, LedgerTables, is_address, shown
from tacit.accounting.open_ledger import has_ledger
from tacit.data import health_insurance
from tacit.errors import LedgerError, MissingExtraError


def test_a_role_without_rights_is_refused_and_the_remedy_helps(postgres, clinic):
    analyst = as_role(postgres, "analyst")
    with pytest.raises(LedgerError, match=r"closed to the role 'analyst'") as refused:
        open_ledger(analyst, dataset="clinic")
    postgres.run(*remedy_of(refused))
    with open_ledger(analyst, dataset="clinic") as ledger:
        ledger.record(ledger.charge("k", COST, {}), {"n": 1})
        assert ledger.verify_chain() == 4
    import psycopg

    for forbidden in ("DELETE FROM tacit.clinic_event", "UPDATE tacit.clinic_event SET hash = ''"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            postgres.run(forbidden, user="analyst")


def test_who_may_only_read_can_look_and_verify_but_not_spend(postgres, clinic):
    reviewer = as_role(postgres, "reviewer")
    with pytest.raises(LedgerError, match="closed to the role 'reviewer'"):
        open_ledger(reviewer)
    postgres.run(
        "GRANT USAGE ON SCHEMA tacit TO reviewer",
        "GRANT SELECT ON tacit.clinic_event, tacit.clinic_head TO reviewer",
    )
    with open_ledger(reviewer) as ledger:
        assert (ledger.spent, ledger.verify_chain()) == (COST, 2)
        with pytest.raises(LedgerError, match=r"lacks a right.*GRANT SELECT, UPDATE"):
            ledger.charge("k", COST, {})
        assert ledger.spent == COST
    with pytest.raises(LedgerError, match=r"lacks a right"):
        open_ledger(reviewer, dataset="clinic")
    with pytest.raises(LedgerError, match=r"lacks a right"):
        restore_ledger(reviewer)


def test_a_right_that_is_taken_away_is_told(postgres, clinic):
    analyst = as_role(postgres, "analyst")
    grants = (
        "GRANT USAGE ON SCHEMA tacit TO analyst",
        "GRANT SELECT, INSERT ON tacit.clinic_event TO analyst",
        "GRANT SELECT, UPDATE ON tacit.clinic_head TO analyst",
    )
    postgres.run(*grants)
    with open_ledger(analyst, dataset="clinic") as ledger:
        postgres.run("REVOKE INSERT ON tacit.clinic_event FROM analyst")
        with pytest.raises(LedgerError, match=r"lacks a right.*GRANT SELECT, INSERT"):
            ledger.charge("k", COST, {})
        postgres.run(*grants)
        assert ledger.charge("k", COST, {}).state == "open"


def test_a_host_that_hides_its_number_from_some_roles_keeps_one_home(postgres, clinic):
    analyst = as_role(postgres, "analyst")
    postgres.run(
        "GRANT USAGE ON SCHEMA tacit TO analyst",
        "GRANT SELECT, INSERT ON tacit.clinic_event TO analyst",
        "GRANT SELECT, UPDATE ON tacit.clinic_head TO analyst",
        "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
    )
    with open_ledger(analyst, dataset="clinic") as ledger:
        assert set(ledger._store.home()) == {"database", "table"}
        ledger.charge("k", COST, {})
    with open_ledger(clinic, dataset="clinic") as ledger:
        assert set(ledger._store.home()) == {"system", "database", "table"}
        assert ledger.spent == COST + COST


def test_a_copy_of_the_database_is_refused_until_it_is_restored(postgres, clinic):
    copy = f"{postgres.name}_copy"
    postgres.server.restart()  # which cuts every connection, and leaves the ledger where it is
    open_ledger(clinic, dataset="clinic").close()
    with postgres.server.connect() as connection:
        connection.execute(f"CREATE DATABASE {copy} TEMPLATE {postgres.name}")
    try:
        copied = f"{postgres.server.dsn(dbname=copy)}?ledger=clinic"
        with pytest.raises(LedgerError, match=r"copied or moved: it was made at .*database '\d+'"):
            open_ledger(copied, dataset="clinic")
        with restore_ledger(copied) as ledger:
            assert ledger.spent == COST
        restore_ledger(copied).close()  # at home: nothing more to note
        with open_ledger(copied, dataset="clinic") as ledger:
            assert [event.event for event in ledger.events()] == ["create", "charge", "adopt"]
            assert ledger.verify_chain() == 3
    finally:
        with postgres.server.connect() as connection:
            connection.execute(f"DROP DATABASE {copy} WITH (FORCE)")


def dumped(postgres, *more):
    command = [str(postgres.server._bin / "pg_dump"), postgres.dsn(), *more]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_dump_restored_in_its_own_place_is_refused(postgres, clinic, new_process):
    dump = dumped(postgres, "--schema=tacit", "--inserts")
    with open_ledger(clinic, dataset="clinic") as ledger:
        ledger.charge("second", COST, {})
        kept = "\n".join(line for line in dump.splitlines() if not line.startswith("\\"))
        postgres.run("DROP SCHEMA tacit CASCADE", kept)
        with pytest.raises(LedgerError, match=r"removed or replaced by another one while in use"):
            ledger.charge("third", COST, {})
    new_process()
    with pytest.raises(LedgerError, match="copied or moved"):
        open_ledger(clinic, dataset="clinic")
    with restore_ledger(clinic) as ledger:
        assert ledger.spent == COST  # what an old copy has forgotten is gone: the warning says so


def test_tables_that_go_away_under_an_open_ledger_are_noticed(postgres, clinic):
    with open_ledger(clinic, dataset="clinic") as ledger:
        postgres.run("DROP TABLE tacit.clinic_event, tacit.clinic_head")
        with pytest.raises(LedgerError, match=r"was removed.*nothing more was spent"):
            ledger.charge("k", COST, {})


def test_an_address_that_leads_elsewhere_after_a_cut_is_refused(postgres, clinic):
    with open_ledger(clinic, dataset="clinic") as ledger:
        ledger._store._connection.close()
        with postgres.server.database() as other:
            elsewhere = f"{other.dsn()}?ledger=clinic"
            create_ledger(elsewhere, dataset="clinic", budget=epsilon(1)).close()
            at_home = ledger._store._address
            ledger._store._address = Address.parse(elsewhere)
            with pytest.raises(
                LedgerError, match="not the ledger that it was before the connection was cut"
            ):
                ledger.charge("k", COST, {})
            ledger._store._address = at_home
        ledger.charge("k", COST, {})


def test_a_home_stays_when_the_server_restarts_and_the_table_is_rewritten(postgres, clinic):
    with open_ledger(clinic, dataset="clinic") as ledger:
        home = ledger._store.home()
        postgres.run("VACUUM FULL tacit.clinic_event", "VACUUM FULL tacit.clinic_head")
        postgres.server.restart()
        ledger.charge("k", COST, {})
        assert ledger._store.home() == home == ledger.home
    open_ledger(clinic, dataset="clinic").close()


def test_an_old_server_is_refused(clinic, monkeypatch):
    monkeypatch.setattr("tacit.accounting.ledger_postgres._OLDEST", 99)
    with pytest.raises(LedgerError, match=r"is in PostgreSQL \d+: upgrade the server to 99"):
        open_ledger(clinic)


def test_a_server_that_syncs_nothing_is_refused(postgres, clinic):
    postgres.run("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    try:
        deadline = time.monotonic() + 30
        while postgres.run("SHOW fsync") == [("on",)]:  # until it has read its settings again
            assert time.monotonic() < deadline
        with pytest.raises(LedgerError, match="fsync = off, which forgets charges"):
            open_ledger(clinic)
    finally:
        postgres.run("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    ("default", "inside"),
    [("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply")],
)
def test_a_commit_is_durable_whatever_the_server_does_by_itself(postgres, clinic, default, inside):
    postgres.run(f"ALTER DATABASE {postgres.name} SET synchronous_commit = {default}")
    with open_ledger(clinic, dataset="clinic") as ledger:
        ask = ledger._store._connection.execute
        assert ask("SHOW synchronous_commit").fetchone() == (default,)
        with ledger._store.write():
            assert ask("SHOW synchronous_commit").fetchone() == (inside,)


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "default_transaction_read_only = on",
        "search_path = 'evil'",
        "client_encoding = 'SQL_ASCII'",
        "bytea_output = 'escape'",
    ],
)
def test_settings_of_a_role_change_nothing(postgres, clinic, setting):
    postgres.run(
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT true'",
        f"ALTER DATABASE {postgres.name} SET {setting}",
    )
    with open_ledger(clinic, dataset="clinic") as ledger:
        ledger.charge("médecin", COST, {})
        assert ledger.find("médecin").cost == COST
        assert ledger.verify_chain() == 3


def test_a_timeout_of_a_role_ends_no_transaction(postgres, clinic):
    """The statement that lifts it is under it too, so the timeout is far longer than that takes."""
    postgres.run(f"ALTER DATABASE {postgres.name} SET statement_timeout = '500ms'")
    with open_ledger(clinic, dataset="clinic") as ledger:
        ask = ledger._store._connection.execute
        assert ask("SHOW statement_timeout").fetchone() == ("500ms",)
        for transaction in (ledger._store.read, ledger._store.write):
            with transaction():
                ask("SELECT pg_sleep(0.6)")


def test_a_standby_is_refused_for_writing(clinic, monkeypatch):
    look = LedgerTables.look
    monkeypatch.setattr(LedgerTables, "look", lambda *given: replace(look(*given), standby=True))
    with pytest.raises(LedgerError, match=r"only follows another one.*target_session_attrs"):
        open_ledger(clinic, dataset="clinic")
    open_ledger(clinic).close()  # to look is allowed


def test_nothing_of_a_transaction_stays_on_the_connection(clinic, monkeypatch):
    """So that a pooler may hand the connection on to somebody else."""
    monkeypatch.setattr(ledger_postgres, "prepare_where_direct", lambda _: None)  # as behind one
    with open_ledger(clinic, dataset="clinic") as ledger:
        ask = ledger._store._connection.execute
        names = ("search_path", "lock_timeout", "statement_timeout", "synchronous_commit")
        before = [ask(f"SHOW {name}").fetchone() for name in names]
        ledger.record(ledger.charge("k", COST, {}), {"n": 1})
        ledger.verify_chain()
        assert [ask(f"SHOW {name}").fetchone() for name in names] == before
        assert ask("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://ann@h/d", "postgresql://ann@h/d?ledger=main"),
        ("postgres://ann:s3cr3t@h:5433/d", "postgresql://ann@h:5433/d?ledger=main"),
        (
            "postgresql://ann:s3cr3t@h/d?sslmode=require&ledger=x&sslpassword=s3cr3t",
            "postgresql://ann@h/d?ledger=x",
        ),
        (
            "postgresql:///d?host=/run/pg&user=ann&password=s3cr3t",
            "postgresql:///d?host=/run/pg&user=ann&ledger=main",
        ),
        ("postgresql://a:1,[::1]:2/d", "postgresql://a:1,[::1]:2/d?ledger=main"),
        ("postgresql://a:s3cr3t@%2Frun%2Fpg/d", "postgresql://a@%2Frun%2Fpg/d?ledger=main"),
    ],
)
def test_an_address_is_shown_without_its_secrets(address, told):
    assert is_address(address)
    assert shown(address) == told
    found = Address.parse(address)
    assert SECRET not in repr(found)
    assert "ledger" not in found.connect
    assert found.masked(f'could not resolve "{SECRET}@h"\n\tsorry') == (
        'could not resolve "***@h"; sorry'
        if SECRET in address
        else f'could not resolve "{SECRET}@h"; sorry'
    )


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:s3/cr3t@h/d",
        "postgresql://ann:s3@cr3t@h/d",
        "postgresql://ann:s3?cr3t@h/d",
        "postgresql://ann:s3#cr3t@h/d",
        "postgresql://ann:s3%zzcr3t@h/d",
        "postgresql://ann:s3\ncr3t@h/d",
        "postgresql:ann:s3cr3t",
        "postgresql:/ann:s3cr3t@h/d",
        "postgresql://h:s3cr3t/d",
        "postgresql://h/d?s3cr3t",
        "postgresql://h/d?password=s3cr3t&password=s3cr3t",
    ],
)
def test_an_address_that_cannot_be_read_is_not_repeated(address):
    for use in (shown, open_ledger, has_ledger, restore_ledger):
        with pytest.raises(LedgerError, match="address of the ledger") as caught:
            use(address)
        assert "cr3t" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["", "Clinic", "1a", "a-b", "a.b", "a" * 41, "a%20b"])
def test_a_ledger_in_a_database_has_a_plain_name(name):
    with pytest.raises(LedgerError, match="name of a ledger in a database"):
        open_ledger(f"postgresql://h/d?ledger={name}")


WRONG = {
    "password": lambda pg: pg.dsn().replace(pg.server.password, SECRET),
    "port": lambda pg: (
        pg.dsn().replace(f":{pg.server.port}/", ":1/").replace(pg.server.password, SECRET)
    ),
    "database": lambda pg: f"{pg.server.dsn(dbname='absent')}?sslpassword={SECRET}",
    "host": lambda pg: f"postgresql://ann:{SECRET}@absent.invalid/d",
    "tls": lambda pg: pg.dsn(sslmode="verify-full", sslpassword=SECRET),
    "option": lambda pg: pg.dsn(sslmood="require", password=SECRET),
    "value": lambda pg: pg.dsn(sslmode=SECRET, password=SECRET),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_no_password_is_told_when_the_server_cannot_be_reached(postgres, wrong, caplog):
    caplog.set_level(logging.DEBUG)
    address = WRONG[wrong](postgres)
    for use in (open_ledger, has_ledger, restore_ledger):
        with pytest.raises(LedgerError, match="cannot be reached") as caught:
            use(address)
        told = "".join(traceback.format_exception(caught.value)) + str(caught.value) + caplog.text
        for secret in (SECRET, postgres.server.password):
            assert secret not in told
        assert caught.value.__context__ is None  # the frames of the attempt hold the password


def test_no_password_is_kept_or_shown_by_a_ledger(postgres, clinic, caplog):
    caplog.set_level(logging.DEBUG)
    with open_ledger(clinic, dataset="clinic") as ledger:
        pid = ledger._store._connection.info.backend_pid
        postgres.run(f"SELECT pg_terminate_backend({pid}, 5000)")
        ledger.record(ledger.charge("k", COST, {}), {"n": 1})
        shown_somewhere = [repr(ledger), ledger._store.name, repr(ledger._store), repr(ledger.home)]
        shown_somewhere += [repr(event) for event in ledger.events()] + [caplog.text]
        with pytest.raises(LedgerError) as caught:
            open_ledger(clinic, dataset="other")
        shown_somewhere.append("".join(traceback.format_exception(caught.value)))
    stored = edit(clinic, "SELECT * FROM {event}") + edit(clinic, "SELECT * FROM {head}")
    secret = postgres.server.password
    assert not any(secret in text for text in [*shown_somewhere, repr(stored)])


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tacit-dp\[postgres\]'"):
        open_ledger("postgresql://h/d")


@pytest.fixture
def certificate(postgres, tmp_path):
    """A server with TLS on, and its certificate for ``localhost``."""
    server = postgres.server
    made = subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
            server.data / "server.key", "-out", server.data / "server.crt",
        ],
        capture_output=True,
        check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"openssl makes no certificate here: {made.stderr!r}")
    owner = server.data.stat()
    for name in ("server.key", "server.crt"):
        (server.data / name).chmod(0o600)
        if owner.st_uid != (server.data / name).stat().st_uid:
            os.chown(server.data / name, owner.st_uid, owner.st_gid)
    postgres.run("ALTER SYSTEM SET ssl = on")
    server.restart()
    root = tmp_path / "root.crt"
    root.write_bytes((server.data / "server.crt").read_bytes())
    yield root
    postgres.run("ALTER SYSTEM RESET ssl")
    server.restart()


def test_options_of_tls_are_handed_on(postgres, certificate, tmp_path):
    plain = postgres.dsn().replace("127.0.0.1", "localhost")
    address = f"{plain}?sslmode=verify-full&sslrootcert={certificate}&ledger=safe"
    with open_ledger(address, dataset="d", budget=epsilon(1)) as ledger:
        ledger.charge("k", COST, {})
        ask = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert ledger._store._connection.execute(ask).fetchone() == (True,)
    other = tmp_path / "other.crt"
    other.write_text("")
    for wrong in (
        address.replace("localhost", "127.0.0.1"),  # not the name in the certificate
        address.replace(str(certificate), str(other)),
    ):
        with pytest.raises(LedgerError, match=r"cannot be reached.*certificate"):
            open_ledger(wrong, dataset="d")


# The examples of the page on ledgers in PostgreSQL run, on the server of the tests.


PAGE = Path(__file__).parents[3] / "docs" / "ledger-in-postgresql.md"
BLOCK = re.compile(r"^```(sql|python no-run|console no-run)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs_from_top_to_bottom(postgres, tmp_path, monkeypatch, capsys):
    shutil.copy(health_insurance(), tmp_path)
    monkeypatch.chdir(tmp_path)
    server, names = postgres.server, {}
    for role in ("keeper", "ann", "rita"):
        server.role(role)
    here = rf"postgresql://\1:{server.password}@127.0.0.1:{server.port}/{postgres.name}"
    text = re.sub(r"postgresql://(\w+)@db\.example/budgets", here, PAGE.read_text("utf-8"))
    ran = []
    for match in BLOCK.finditer(text):
        kind, block = match[1].split()[0], match[2]
        ran.append(kind)
        if kind == "sql":
            postgres.run(*filter(str.strip, block.split(";")))
        elif kind == "python":
            exec(compile(block, str(PAGE), "exec"), names)
        else:
            printed = [run(line) for line in block.splitlines()]
            assert all(server.password not in told for told in printed)
    assert ran == ["sql", "python", "sql", "python", "console", "console"]
    assert "epsilon 0.75" in capsys.readouterr().out
    names["session"].close()
    with open_ledger(f"{postgres.dsn()}?ledger=clinic") as ledger:
        assert ledger.spent == epsilon("1/4")


def run(line):
    words = shlex.split(line.removeprefix("$ "))
    assert words[0] == "tacit"
    program = Path(sys.executable).with_name("tacit")
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("named", ["tacit.clinic_event", "tacit.clinic_head", "PostgreSQL 13"])
def test_the_page_names_what_the_code_does(named):
    from tacit.accounting import ledger_postgres as postgres_tables

    tables = postgres_tables.LedgerTables("clinic", "the ledger")
    assert {tables.event, tables.head, f"PostgreSQL {postgres_tables._OLDEST}"} >= {named}
    assert named in PAGE.read_text("utf-8")


def test_a_look_is_one_message_and_sees_one_state(clinic, monkeypatch):
    """What is read of it later is of the same state, whatever was added meanwhile."""
    import psycopg

    key = "it's {one} %s \\ \u00e9"
    with open_ledger(clinic, dataset="clinic") as ledger, open_ledger(clinic) as other:
        first = ledger.charge(key, COST, {})
        answered = on_account_of(ledger, "team:a")
        sent, execute, run_all = [], psycopg.Connection.execute, ledger_postgres.run_all
        monkeypatch.setattr(
            psycopg.Connection,
            "execute",
            lambda self, text, *more, **how: sent.append(text) or execute(self, text, *more, **how),
        )
        monkeypatch.setattr(
            ledger_postgres, "run_all", lambda *given: sent.append(given) or run_all(*given)
        )
        look = look_at(answered, key, "other")
        assert len(sent) == 1
        assert look.entries == [first, None]
        assert [one.name for one in look.accounts] == ["team:a"]
        with ledger.chain.read(ledger.chain.wanted(key)) as (transaction, head):
            other.charge("other", COST, {})
            assert transaction.about("other") == []
            assert [event.key for event in transaction.events()][-1] == key
            assert transaction.at(head.sequence + 1) is None
            assert transaction.at(head.sequence).key == key
            assert transaction.head() == head
        assert ledger.find("other") is not None


def test_charges_together_are_three_messages(clinic, monkeypatch):
    import psycopg

    with open_ledger(clinic, dataset="clinic") as ledger:
        ledger.charge("before", COST, {})
        sent, execute, run_all = [], psycopg.Connection.execute, ledger_postgres.run_all
        monkeypatch.setattr(
            psycopg.Connection,
            "execute",
            lambda self, text, *more, **how: sent.append(text) or execute(self, text, *more, **how),
        )
        monkeypatch.setattr(
            ledger_postgres, "run_all", lambda *given: sent.append(given) or run_all(*given)
        )
        payer = on_account_of(ledger, "team:a").payer
        made = charge_each(ledger, [Payment(payer, f"k{n}", COST, {}) for n in range(5)])
        assert len(sent) == 3
        assert [one.sequence for one in made] == list(range(4, 9))
        assert ledger.verify_chain() == 8
