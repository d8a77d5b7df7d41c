"""Ledger files that are closed while nobody uses them, and what may happen to them meanwhile."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import pytest

from tacit.accounting import Ledger, create_ledger, epsilon, open_ledger
from tacit.accounting.ledger_sqlite import open_files
from tacit.errors import BudgetError, LedgerError

COST = epsilon("1/8")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    create_ledger(path, dataset="clinic", budget=epsilon(1)).close()
    return path


def rest(ledger: Ledger) -> None:
    assert ledger.chain.store.rest()  # type: ignore[attr-defined]


def ledgers(folder: Path, count: int) -> list[Ledger]:
    places = [folder / f"{k}.ledger" for k in range(count)]
    return [open_ledger(place, dataset="d", budget=epsilon(1)) for place in places]


def test_a_ledger_that_rested_goes_on(path: Path) -> None:
    with open_ledger(path) as ledger:
        for k in range(3):
            rest(ledger)
            rest(ledger)
            assert [file.name for file in path.parent.iterdir()] == [path.name]
            ledger.charge(str(k), COST, {})
        rest(ledger)
        assert ledger.spent == epsilon("3/8")
        assert ledger.verify_chain() == 4


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list files")
def test_more_ledgers_than_a_process_keeps_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "most", 3)
    before = len(os.listdir("/proc/self/fd"))
    many = ledgers(tmp_path, 6)
    for turn in range(2):
        for ledger in many:
            ledger.charge(str(turn), COST, {})
            assert len(os.listdir("/proc/self/fd")) <= before + 3 * 3
    assert [ledger.spent for ledger in many] == [epsilon("1/4")] * 6
    for ledger in many:
        ledger.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_ledger_does_not_rest_while_it_is_used(path: Path) -> None:
    with open_ledger(path) as ledger:
        with ledger.chain.write():
            assert not ledger.chain.store.rest()  # type: ignore[attr-defined]
        assert ledger.remaining == epsilon(1)


def test_threads_that_share_few_open_files_are_granted_exactly_the_budgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "most", 1)
    many, granted = ledgers(tmp_path, 4), Counter[int]()
    lock, failed = threading.Lock(), []

    def ask(who: int) -> None:
        try:
            for k in range(3):
                for place in range(4):
                    try:
                        many[(place + who) % 4].charge(f"{who}/{k}", COST, {})
                    except BudgetError:
                        continue
                    with lock:
                        granted[(place + who) % 4] += 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert granted == dict.fromkeys(range(4), 8)
    for ledger in many:
        assert ledger.verify_chain() == 9
        ledger.close()


@pytest.mark.parametrize("fate", ["replaced", "removed"])
@pytest.mark.parametrize("use", ["charge", "read"])
def test_a_file_that_goes_away_while_its_ledger_rests_is_noticed(
    path: Path, fate: str, use: str
) -> None:
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with open_ledger(path) as ledger:
        rest(ledger)
        if fate == "replaced":
            os.replace(backup, path)
        else:
            path.unlink()
        with pytest.raises(LedgerError, match="removed or replaced"):
            ledger.charge("k", COST, {}) if use == "charge" else ledger.spent
    assert path.exists() is (fate == "replaced")  # none was made in its place


def test_a_second_name_that_it_was_given_meanwhile_is_refused(path: Path) -> None:
    with open_ledger(path) as ledger:
        rest(ledger)
        os.link(path, path.with_name("second.ledger"))
        with pytest.raises(LedgerError, match="a hard link"):
            ledger.charge("k", COST, {})


@pytest.mark.parametrize("other", ["older", "another"])
def test_an_inode_that_was_given_anew_is_told_by_the_last_event(
    path: Path, other: str, new_process
) -> None:
    """A file system gives the inode of a removed file to the next one that is made."""
    content = path.read_bytes()
    if other == "another":
        create_ledger(path.with_name("x"), dataset="clinic", budget=epsilon(1)).close()
        content = path.with_name("x").read_bytes()
    with open_ledger(path) as ledger, open_ledger(path) as second:
        second.charge("k", COST, {})
        rest(second)
        rest(ledger)
        path.write_bytes(content)
        new_process()  # which never looked at the chain, and cannot know it by that
        for use in (lambda: ledger.charge("l", COST, {}), lambda: ledger.events()):
            with pytest.raises(LedgerError, match="shows less than was already spent"):
                use()


def test_what_others_charge_while_it_rests_counts(path: Path) -> None:
    with open_ledger(path) as ledger:
        rest(ledger)
        with open_ledger(path) as other:
            other.charge("k", epsilon(1), {})
        with pytest.raises(BudgetError):
            ledger.charge("l", COST, {})
        assert ledger.charge("k", epsilon(1), {}).state == "open"


def test_a_closed_ledger_stays_closed(path: Path) -> None:
    ledger = open_ledger(path)
    ledger.close()
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.charge("k", COST, {})
    rest(ledger)
    with pytest.raises(LedgerError, match="cannot be used"):
        _ = ledger.spent


def test_a_file_that_cannot_be_read_stays_open(path: Path) -> None:
    with open_ledger(path) as ledger:
        store = ledger.chain.store
        store._connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)  # type: ignore[attr-defined]
        assert not store.rest()  # type: ignore[attr-defined]
        store._connection.set_authorizer(None)  # type: ignore[attr-defined]
        ledger.charge("k", COST, {})


def test_a_failed_opening_is_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(path) as ledger:
        rest(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", _no_file_left)
            with pytest.raises(LedgerError, match="cannot be opened"):
                ledger.charge("k", COST, {})
        ledger.charge("k", COST, {})


def _no_file_left(*_: object, **__: object) -> None:
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorname = "SQLITE_CANTOPEN"
    raise error


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("rests", [False, True])
def test_both_sides_of_a_fork_charge_one_budget(path: Path, rests: bool, forked) -> None:
    with open_ledger(path) as ledger:
        if rests:
            rest(ledger)

        def child() -> None:
            ledger.charge("child", COST, {})
            rest(ledger)
            ledger.charge("again", COST, {})

        forked(child)
        ledger.charge("parent", COST, {})
        assert [entry.key for entry in ledger.history()] == ["child", "again", "parent"]


@pytest.mark.parametrize("name", ["a b?c#d%41é.ledger", "x&mode=ro.ledger"])
def test_a_name_that_looks_like_an_address_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    with open_ledger(tmp_path / name, dataset="d", budget=epsilon(1)) as ledger:
        rest(ledger)
        ledger.charge("k", COST, {})
    assert [path.name for path in tmp_path.iterdir()] == [name]
