"""Counters that are added up over processes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tacit.service.database import Database
from tacit.service.problem import Problem
from tacit.service.telemetry import Tallies


@pytest.fixture
def store(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path}/service.db"
    database = Database(address)
    database.create()
    database.close()
    return address


def test_any_process_tells_the_counts_of_all_and_they_never_go_back(store: str) -> None:
    one, other = Tallies(Database(store)), Tallies(Database(store))
    key, seen = ("n", ("visits", "done")), []
    for k in range(4):
        (one, other)[k % 2].add(*key, k + 1)
        seen.append((one, other)[k % 2].totals()[key])
    assert seen == [1, 3, 6, 10]
    other.add(*key)
    assert one.totals()[key] == 10  # the other one has not noted it yet
    other.note()
    assert one.totals()[key] == other.totals()[key] == 11
    assert Tallies(Database(store)).totals()[key] == 11  # one that is started later


def test_a_store_that_is_away_loses_nothing(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(store)
    tallies = Tallies(database)
    tallies.add("n", ())
    begin = database.begin

    def away(**_: Any) -> Any:
        raise Problem("unavailable", "away", "")

    monkeypatch.setattr(database, "begin", away)
    for _ in range(2):
        with pytest.raises(Problem):
            tallies.totals()
    tallies.add("n", (), 2)
    monkeypatch.setattr(database, "begin", begin)
    assert tallies.totals() == {("n", ()): 3}


def test_threads_and_processes_race(store: str) -> None:
    every = [Tallies(Database(store)) for _ in range(3)]

    def count(tallies: Tallies) -> None:
        for k in range(30):
            tallies.add("n", (str(k % 3),))
            if k % 7 == 0:
                tallies.note()
        tallies.note()

    threads = [threading.Thread(target=count, args=(one,)) for one in every for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert every[0].totals() == {("n", (str(k),)): 60 for k in range(3)}


def test_labels_are_kept_as_they_are(store: str) -> None:
    odd = ("visits", "a,b", '"', "\N{GREEK SMALL LETTER ALPHA}")
    tallies = Tallies(Database(store))
    tallies.add("n", odd)
    tallies.add("n", ("visits,a", "b", '"', "\N{GREEK SMALL LETTER ALPHA}"))
    assert tallies.totals()["n", odd] == 1
    with Database(store).read() as run:
        assert run.execute(sa.text("select count(*) from tally")).scalar() == 2
