"""A release that fails at any of its steps: spent at most once, and asked again it goes on."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import tacit as tc
from support.accounting.interrupted import Crash, Interrupted, Memory, instructions
from support.accounting.ledger_machine import histories
from support.accounting.ledger_places import FilePlace, ServerPlace
from support.threads import at_once
from tacit.accounting import epsilon, open_ledger, restore_ledger
from tacit.accounting import ledger as module
from tacit.accounting import ledger_chain as checked_chain
from tacit.accounting import ledger_postgres as postgres_store
from tacit.accounting.ledger import (
    Ledger,
    charge_once,
    on_account_of,
    parts_of,
    record_new,
    record_part,
    set_cap,
)
from tacit.accounting.ledger_sqlite import _SqliteTransaction
from tacit.errors import (
    BudgetError,
    DataSourceError,
    DataSourceWarning,
    LedgerError,
    TacitError,
    UsageError,
    VerificationError,
)
from tacit.tables import question
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.question import charge_of
from tacit.tables.release.release import PlanRunner, ValidatedPlans
from tacit.tables.session import Session

TABLE = pa.table({"x": [1.0, 2.0, 3.0] * 10, "site": ["a", "b", "c"] * 10})
HALF = Fraction(1, 2)


@pytest.fixture
def session(place):
    budget = tc.epsilon_delta(1, "1e-6")
    with Session(
        TABLE, unit=tc.one_row_each, budget=budget, ledger=place, name="clinic"
    ) as session:
        yield session


def asked(session):
    return session.group_by("site").agg(m=tc.mean("x", 0, 10))


def release(session):
    return asked(session).release(epsilon="1/2", delta="1e-7")


# Where a fault can be put: the object, its method, whether the fault comes before or after the
# work of the method, and whether the charge stands by then.
STEPS = {
    "dry run": (ValidatedPlans, "check", "before", False),
    "charge": (Ledger, "charge", "before", False),
    "charged": (Ledger, "charge", "after", True),
    "read": (PlanRunner, "collect", "before", True),
    "drawn": (question, "release_answer", "before", True),
    "made": (question, "release_answer", "after", True),
    "record": (Ledger, "_record", "before", True),
}
FAULTS = {
    "engine": lambda: DataSourceError("the cable broke"),
    "ledger": lambda: LedgerError("the disk is full"),
    "keyboard": KeyboardInterrupt,
    "memory": MemoryError,
}


def put(monkeypatch, step, fault):
    where, name, moment, _ = STEPS[step]
    real = getattr(where, name)

    def faulty(*given):
        if moment == "after":
            real(*given)
        raise FAULTS[fault]()

    monkeypatch.setattr(where, name, faulty)


CASES = [("sqlite", step, fault) for step in STEPS for fault in ("engine", "keyboard")]
CASES += [("postgres", step, fault) for step, fault in zip(STEPS, 2 * [*FAULTS], strict=False)]


@pytest.mark.few(4)
@pytest.mark.parametrize(("place", "step", "fault"), CASES, indirect=["place"])
def test_a_fault_at_any_step(session, step, fault, monkeypatch):
    charged = STEPS[step][3]
    with monkeypatch.context() as patched:
        put(patched, step, fault)
        for _ in range(2):  # and again: it is paid once however often it fails
            with pytest.raises(type(FAULTS[fault]())) as caught:
                release(session)
    assert session.spent.epsilon == (HALF if charged else 0)
    assert [entry.state for entry in session.history()] == ["open"] * charged
    assert charge_of(asked(session), epsilon="1/2", delta="1e-7").look().is_charged is charged
    assert not asked(session).is_answered(epsilon="1/2", delta="1e-7")
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    if charged and step != "charged":
        assert (
            told.count("stays open: ask the same again, and it is answered at no further cost") == 1
        )
        assert caught.value.__context__ is None
    else:
        assert "charged" not in told
    first = release(session)
    assert not first.replayed
    assert session.spent.epsilon == HALF
    again = release(session)
    assert again.replayed
    assert again.to_dict() == first.to_dict()
    assert first.certificate.verify(session.ledger)
    session.ledger.verify_chain()


def test_an_answer_that_was_recorded_before_the_fault_is_given_out(session, monkeypatch):
    real = Ledger._record

    def recorded(*given):
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_record", recorded)
        with pytest.raises(KeyboardInterrupt):
            release(session)
    assert release(session).replayed
    assert session.spent.epsilon == HALF


def test_attempts_at_once_in_sessions_of_their_own_pay_once(place, session):
    """Sessions of other processes take no turns: all read, and one answer is published."""
    told, gate = [], threading.Barrier(3)

    def ask():
        with Session(TABLE, unit=tc.one_row_each, ledger=place, name="clinic") as own:
            own.ledger._id = threading.current_thread().name  # turns are by the id: none is taken
            gate.wait()
            told.append(str(release(own).to_dict()))

    at_once(ask, times=3)
    assert len(told) == 3
    assert len(set(told)) == 1
    assert session.spent.epsilon == HALF


def test_an_open_release_takes_nothing_from_what_others_may_spend(session, monkeypatch):
    with monkeypatch.context() as patched:
        put(patched, "read", "engine")
        with pytest.raises(DataSourceError):
            release(session)
    asked(session).release(epsilon="1/2", delta="1e-7", tag="other")
    with pytest.raises(BudgetError):
        asked(session).release(epsilon="1/2", delta="1e-7", tag="third")
    assert session.remaining.epsilon == 0
    release(session)  # nothing remains, and it goes on
    assert session.remaining.epsilon == 0


def test_an_open_release_whose_price_was_rounded_goes_on(monkeypatch):
    """Ten float tenths pass 1 by rounding: the last is fitted to what remained at its charge."""
    with Session(TABLE, unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        counted = session.agg(n=tc.count())
        for k in range(9):
            counted.release(epsilon=0.1, tag=str(k))
        with monkeypatch.context() as patched:
            put(patched, "read", "engine")
            with pytest.raises(DataSourceError):
                counted.release(epsilon=0.1, tag="9")
        assert session.remaining.is_nothing
        assert not counted.release(epsilon=0.1, tag="9").replayed


def test_no_statement_reads_a_row_before_the_charge(monkeypatch):
    with Session(TABLE, budget=tc.epsilon_delta(9, "1e-3"), unit=tc.one_row_each) as session:
        before, after = [], []
        real = DuckEngine._run

        def spy(engine, sql, fetch, **how):
            (after if session.history() else before).append(sql)
            return real(engine, sql, fetch, **how)

        monkeypatch.setattr(DuckEngine, "_run", spy)
        release(session)
        relation = session.source.relation
        tried = [sql for sql in before if relation in sql]
        assert tried  # the very statements are tried,
        assert all(f"{relation} as tacit_all where 1 = 0" in sql for sql in tried)  # on no rows
        assert all(sql.count(relation) == sql.count("where 1 = 0") for sql in tried)
        assert any(relation in sql and "1 = 0" not in sql for sql in after)


def test_what_the_engine_refuses_whatever_the_rows_costs_nothing(monkeypatch):
    """A statement that cannot be run on this table, found out on no rows."""
    from tacit.tables.query.integer_query import IntegerQuery

    with Session(TABLE, unit=tc.one_row_each, budget=tc.epsilon_delta(9, "1e-3")) as session:
        monkeypatch.setattr(
            IntegerQuery, "_offsets_sql", lambda self, request: ["no_such_function(1)"]
        )
        with pytest.raises(DataSourceError, match="nothing was spent"):
            release(session)  # with unknown keys, whose answers are computed last
        assert session.spent.is_nothing


# Random histories of a ledger, with crashes and other processes at any instruction.


def test_no_history_grants_more_than_the_budget(tmp_path):
    histories(tmp_path, range(12))


@pytest.mark.full
def test_no_longer_history_does(tmp_path):
    happened = histories(tmp_path, range(1000, 1150), steps=12)
    for kind in (
        "_crashing",
        "_with_another",
        "_machine_down",
        "_fall_back",
        "a_copy",
        "_rest",
        "answers",
    ):
        assert happened[kind] > 0, kind


@pytest.mark.full
def test_nor_in_postgresql(ledger_database):
    ledger_database.server.start()
    happened = histories(ServerPlace(ledger_database, "histories"), range(40))
    for kind in ("_crashing", "_with_another", "_cut", "_word_lost", "answers"):
        assert happened[kind] > 0, kind


# --- each instruction of an operation, one after the other -----------------------------------


def paid(ledger):
    return on_account_of(ledger, "team:a").charge("k", epsilon("1/4"), {"n": 1})


def answered(ledger):
    return ledger.release("k", epsilon("1/4"), {"n": 1}, lambda: {"n": 17})


def paid_after_a_rest(ledger):
    ledger.chain.store.rest()
    return paid(ledger)


OPERATIONS = {"a charge": paid, "after a rest": paid_after_a_rest, "a release": answered}


@pytest.mark.parametrize(
    "stride", [pytest.param(9, marks=pytest.mark.full), pytest.param(1, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_crash_at_each_instruction_leaves_all_or_nothing(tmp_path, name, stride):
    """The next process finds no charge or the whole one, pays it once, and gets one answer."""
    work, place = OPERATIONS[name], FilePlace(tmp_path)

    def begun():
        place.renew()
        ledger = open_ledger(place.where, dataset="d", budget=epsilon(1))
        set_cap(ledger, "team:a", epsilon("1/4"), "a test")
        return ledger

    with place.quick(), Memory().used(), begun() as ledger:
        steps = instructions(lambda: work(ledger))
    assert steps > 900
    found = set()
    with place.quick():
        for at in range(1, steps + 1, stride):
            with Memory().used(), begun() as ledger:

                def crash(ledger=ledger):
                    place.cut(ledger)
                    raise Crash

                with suppress(Crash, TacitError), Interrupted(at, crash):
                    work(ledger)
            with Memory().used(), open_ledger(place.where, dataset="d") as ledger:
                ledger.verify_chain()
                standing = ledger.find("k")
                found.add(standing and standing.state)
                assert ledger.spent.amount == (0 if standing is None else standing.cost.amount)
                entry = work(ledger)
                assert standing is None or standing.answer in (None, entry.answer)
                assert ledger.spent == epsilon("1/4")
                assert len(ledger.history()) == 1
    assert found == ({None, "open", "answered"} if work is answered else {None, "open"})


# --- what is wrong is found --------------------------------------------------------------------


def unlocked(ledger):
    """A ledger whose store reads before it locks."""
    store = ledger._store

    @contextmanager
    def write(wanted=None):
        yield _SqliteTransaction(store._connection)

    store.write = write
    return ledger


def two_answers(ledger):
    """A ledger that gives out what it was handed, whoever recorded first."""
    real = ledger.record
    ledger.record = lambda entry, answer: replace(real(entry, answer), answer=dict(answer))
    return ledger


def reads_first(ledger):
    """A ledger that reads the rows and charges afterwards."""
    real = ledger.release

    def release(key, cost, question, answer):
        found = answer()
        return real(key, cost, question, lambda: found)

    ledger.release = release
    return ledger


def forgets_caps(ledger):
    """A ledger that charges an account without its cap."""
    ledger.chain.accounts = lambda transaction: checked_chain.Accounts(kind=ledger.kind)
    return ledger


def forgets_what_it_saw(ledger):
    """A ledger whose process does not remember how far the chain went."""
    ledger.chain._remember = lambda head: None
    return ledger


def charges_again(ledger):
    """A ledger that does not look whether a question was charged."""
    real = ledger.charge

    def charge(key, cost, question):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "entry_of", lambda events: None)
            return real(key, cost, question)

    ledger.charge = charge
    return ledger


@pytest.mark.parametrize(
    "mutant",
    [
        unlocked,
        two_answers,
        reads_first,
        charges_again,
        pytest.param(forgets_caps, marks=pytest.mark.full),
        pytest.param(forgets_what_it_saw, marks=pytest.mark.full),
    ],
)
def test_the_machine_finds_a_ledger_that_is_wrong(tmp_path, mutant):
    with pytest.raises((AssertionError, TacitError, sqlite3.Error)) as found:
        histories(tmp_path, range(600), mutate=mutant)
    assert found.value.__notes__


@pytest.mark.full
def test_it_finds_a_commit_that_is_taken_for_granted(ledger_database, monkeypatch):
    """Where the connection was lost in its midst, nobody knows before they look."""
    ledger_database.server.start()
    monkeypatch.setattr(postgres_store.PostgresStore, "_find_out", lambda *_: None)
    found = r"forgotten|two answers|before the charge|one place|less than was already spent"
    with pytest.raises(AssertionError, match=found):
        histories(ServerPlace(ledger_database, "histories"), range(200))


# A release in parts: paid once, each place written once, and a chain that shows it.


QUESTION = {"count": "visits", "every": 3600}


@pytest.fixture(name="ledger", params=["file", "memory", "postgres"])
def _ledger(request, tmp_path):
    path = tmp_path / "a.ledger" if request.param == "file" else None
    if request.param == "postgres":
        path = request.getfixturevalue("address")
    with open_ledger(path, dataset="clinic", budget=epsilon(1)) as ledger:
        yield ledger


def test_it_is_paid_once_and_never_again(ledger):
    first = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    assert first.state == "open"
    assert charge_once(ledger, "visits", epsilon("1/2"), QUESTION) == first
    ledger.record(first, {"steps": []})
    again = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    assert (again.sequence, again.answer) == (first.sequence, {"steps": []})
    assert ledger.spent == epsilon("1/2")
    with pytest.raises(BudgetError):
        charge_once(ledger, "other", epsilon("3/4"), QUESTION)
    with pytest.raises(UsageError):
        charge_once(ledger, "other", epsilon("1/4"), {"count": object()})
    assert ledger.spent == epsilon("1/2")


def test_each_place_is_written_once_and_in_order(ledger):
    entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    assert not record_part(ledger, entry, 1, {"n": 5})  # the first is lacking
    assert record_part(ledger, entry, 0, {"n": 3})
    assert not record_part(ledger, entry, 0, {"n": 4})
    assert record_part(ledger, entry, 1, {"n": 5})
    assert parts_of(ledger, entry) == [{"n": 3}, {"n": 5}]
    assert ledger.verify_chain() == len(ledger.events())
    assert ledger.find("visits").answer is None  # parts are no answer
    assert [e.sequence for e in ledger.history()] == [entry.sequence]


def test_parts_that_stand_are_not_written_again_and_all_in_one_transaction(ledger, monkeypatch):
    entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    record_new(ledger, entry, [{"n": 1}, {"n": 2}, {"n": 1}])
    opened, write = [], ledger.chain.write
    monkeypatch.setattr(ledger.chain, "write", lambda: opened.append(1) or write())
    record_new(ledger, entry, [{"n": n} for n in range(30)])
    assert len(opened) == 1
    assert parts_of(ledger, entry) == [{"n": n} for n in (1, 2, 0, *range(3, 30))]
    with pytest.raises(UsageError, match="at most"):
        record_new(ledger, entry, [{"n": 1}, {"n": 30}], maximum=30)
    record_new(ledger, entry, [{"n": 1}], maximum=30)
    assert len(parts_of(ledger, entry)) == 30
    assert ledger.verify_chain() == len(ledger.events())


def test_of_many_at_once_one_pays_and_one_writes_each_place(ledger):
    wrote, paid = [], set()

    def work(name):
        entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
        paid.add(entry.sequence)
        for place in range(20):
            if record_part(ledger, entry, place, {"by": name, "place": place}):
                wrote.append((place, name))

    at_once(work, range(4))
    (entry,) = ledger.history()
    assert paid == {entry.sequence}
    found = [(part["place"], part["by"]) for part in parts_of(ledger, entry)]
    assert found == sorted(wrote)
    assert [place for place, _ in found] == list(range(len(found)))
    assert ledger.verify_chain() == len(ledger.events())


def test_a_part_needs_a_charge_of_its_own_ledger(ledger):
    entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
    with open_ledger(None, dataset="clinic", budget=epsilon(1)) as other:
        with pytest.raises(LedgerError, match="no such charge"):
            record_part(other, entry, 0, {"n": 1})
        with pytest.raises(LedgerError, match="no such charge"):
            record_new(other, entry, [{"n": 1}])
        charge_once(other, "another", epsilon("1/2"), QUESTION)
        with pytest.raises(LedgerError, match="no such charge"):
            record_part(other, entry, 0, {"n": 1})
    with pytest.raises(UsageError, match="plain JSON"):
        record_part(ledger, entry, 0, {"n": object()})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda body: body["body"].update(charge=1), "not paid for"),
        (lambda body: body["body"].update(place=0), "wrong place"),
        (lambda body: body["body"].update(place=2), "wrong place"),
        (lambda body: body.update(key="other"), "not paid for"),
    ],
    ids=["another charge", "a place twice", "a gap", "another key"],
)
def test_a_chain_with_a_wrong_part_is_found(tmp_path, monkeypatch, change, told):
    """A forger who writes a new hash is caught by what parts must be."""
    from tacit.accounting.ledger_chain import Event, Head, verify

    with open_ledger(tmp_path / "a.ledger", dataset="clinic", budget=epsilon(1)) as ledger:
        entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
        for n in range(2):
            assert record_part(ledger, entry, n, {"n": n})
        events = ledger.events()
    described = json.loads(events[-1].text)
    change(described)
    head = None
    for event in events[:-1]:
        head = Head.following(head, event)
    forged = Event.after(head, "part", described["key"], described["body"])
    with pytest.raises(VerificationError, match=told):
        verify([*events[:-1], forged], Head.following(head, forged))


def test_a_part_that_was_edited_is_found(tmp_path, monkeypatch):
    path = tmp_path / "a.ledger"
    with open_ledger(path, dataset="clinic", budget=epsilon(1)) as ledger:
        entry = charge_once(ledger, "visits", epsilon("1/2"), QUESTION)
        record_part(ledger, entry, 0, {"n": 17})
        record_part(ledger, entry, 1, {"n": 18})
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE event SET body = replace(body, ':17}', ':71}')")
    connection.close()
    with open_ledger(path) as ledger, pytest.raises(VerificationError, match="changed after"):
        ledger.verify_chain()


# Ledgers that earlier versions wrote are read as before: kept here as the SQL of their files.
#
# ``1`` is of format 1, from before accounts and filters; ``2`` of format 2, from before parts.


KEPT = sorted((Path(__file__).parent / "written_before").glob("*.sql"))
BUDGETS = {
    "pure": (tc.epsilon(2), {"epsilon": "1/2"}),
    "rho": (tc.rho(1), {"rho": "1/10"}),
    "delta": (tc.epsilon_delta(2, "1e-6"), {"epsilon": "1/4"}),
}
TYPES = {"person": "integer", "age": "integer", "site": "integer"}


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def kept(request, tmp_path):
    """The folder of a table and its ledger, moved here from where they were written."""
    rows = "".join(f"{i // 2},{20 + i % 50},{1 + i % 3}\n" for i in range(60))
    (tmp_path / "visits.csv").write_text(f"person,age,site\n{rows}", encoding="utf-8")
    file = sqlite3.connect(tmp_path / "visits.ledger")
    file.executescript(request.param.read_text(encoding="utf-8"))
    file.close()
    return tmp_path, request.param.stem.partition("-")[2]


def opened(kept):
    folder, name = kept
    unit = tc.unit("person", rows=2, groups=1)
    place = {"ledger": folder / "visits.ledger", "name": "visits"}
    return tc.Session(
        folder / "visits.csv", unit=unit, budget=BUDGETS[name][0], types=TYPES, **place
    )


def written_before_asked(session):
    """The two questions that were released, in their order."""
    by_site = session.group_by("site", keys=[1, 2, 3])
    yield by_site.agg(n=tc.count(), age=tc.mean("age", 0, 100))
    yield session.agg(m=tc.median("age", 0, 100))


def answers(folder):
    """What the file says was answered, read without Tacit."""
    file = sqlite3.connect(folder / "visits.ledger")
    events = [json.loads(text) for (text,) in file.execute("select body from event order by 1")]
    file.close()
    found = [event["body"]["answer"] for event in events if event["event"] == "answer"]
    assert len(found) == 2
    return found


def test_it_is_known_to_stand_elsewhere(kept):
    with pytest.raises(LedgerError, match="restore_ledger"):
        opened(kept)


def test_its_chain_holds_and_its_answers_are_replayed_for_nothing(kept):
    folder, name = kept
    recorded = answers(folder)
    restore_ledger(folder / "visits.ledger")
    with opened(kept) as session:
        session.ledger.verify_chain()
        remaining = session.remaining
        for question, told in zip(written_before_asked(session), recorded, strict=True):
            # It was written before the kinds of columns were part of the identity.
            with pytest.warns(DataSourceWarning, match="did not record how the table is read"):
                answer = question.release(**BUDGETS[name][1])
            assert answer.replayed
            for column in told["columns"]:
                assert answer.to_dict()[column["label"]] == column["value"]
            assert answer.certificate.verify()
        assert session.remaining == remaining


def test_it_goes_on(kept):
    folder, name = kept
    restore_ledger(folder / "visits.ledger")
    with opened(kept) as session:
        before = session.remaining
        answer = session.agg(n=tc.count()).release(**BUDGETS[name][1])
        assert not answer.replayed
        assert not session.remaining.covers(before)
        session.ledger.verify_chain()


def test_what_it_is_charged_from_now_on_knows_how_the_table_is_read(kept):
    folder, name = kept
    restore_ledger(folder / "visits.ledger")
    with opened(kept) as session:
        session.agg(n=tc.count()).release(**BUDGETS[name][1])
    unit = tc.unit("person", rows=2, groups=1)
    place = {"ledger": folder / "visits.ledger", "name": "visits"}
    with tc.Session(folder / "visits.csv", unit, **place, types=TYPES, null="20") as session:
        question = session.agg(n=tc.count())
        assert not charge_of(question, **BUDGETS[name][1]).look().is_charged
