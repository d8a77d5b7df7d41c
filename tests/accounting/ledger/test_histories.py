"""Random histories of a ledger, with crashes and other processes at any instruction."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from support.accounting.interrupted import Crash, Interrupted, Memory, instructions
from support.accounting.ledger_machine import histories
from support.accounting.ledger_places import FilePlace, ServerPlace
from tacit.accounting import epsilon, open_ledger
from tacit.accounting import ledger as module
from tacit.accounting import ledger_chain as checked_chain
from tacit.accounting import ledger_postgres as postgres_store
from tacit.accounting.ledger import on_account_of, set_cap
from tacit.accounting.ledger_sqlite import _Transaction
from tacit.errors import TacitError


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
    def write():
        yield _Transaction(store._connection)

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
    with pytest.raises(AssertionError, match=r"forgotten|two answers|before the charge|one place"):
        histories(ServerPlace(ledger_database, "histories"), range(200))
