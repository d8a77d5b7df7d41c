"""Refreshes in the store: one each time, by whichever process, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database
from tacit.service.growing.refreshes import BY_CALL, BY_CLOCK, FIRST, Refreshes, Schedule

HOURLY = Schedule(3600)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    yield made
    made.close()


@pytest.fixture
def refreshes(database: Database, clock: Clock) -> Refreshes:
    made = Refreshes(database, AuditLog(database), clock)
    made.begin("visits")
    return made


def test_calls_are_numbered_and_audited(
    refreshes: Refreshes, clock: Clock, database: Database
) -> None:
    clock.now = 2000
    assert refreshes.ask("visits", "ada", token="t1").number == 1
    assert refreshes.ask("visits", "ada").number == 2
    assert [one.way for one in refreshes.history("visits")] == [FIRST, BY_CALL, BY_CALL]
    refreshes.begin("visits")
    assert refreshes.current("visits").number == 2
    event = AuditLog(database).read()[0]
    assert (event.action, event.who, event.token, event.dataset) == (
        *("refreshed", "ada", "t1", "visits"),
    )
    assert event.details == {"way": "call", "number": 1}


def test_the_clock_refreshes_once_each_time(refreshes: Refreshes, clock: Clock) -> None:
    assert refreshes.when_due("visits", HOURLY) is None  # opened after the last time
    clock.now = 3600
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: refreshes.when_due("visits", HOURLY), range(16)))
    assert [one.number for one in done if one is not None] == [1]
    clock.now = 3600 * 5 + 7  # no process ran for hours: once is enough
    assert refreshes.when_due("visits", HOURLY) is not None
    assert refreshes.when_due("visits", HOURLY) is None
    clock.now = 3601  # set back: nothing until the times are new ones again
    assert refreshes.when_due("visits", HOURLY) is None
    assert [one.way for one in refreshes.history("visits")] == [FIRST, BY_CLOCK, BY_CLOCK]


def test_in_postgresql_the_clock_refreshes_once_each_time(postgres: Any, clock: Clock) -> None:
    database = Database(postgres.dsn())
    database.create()
    refreshes = Refreshes(database, AuditLog(database), clock)
    refreshes.begin("visits")
    clock.now = 3600
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: refreshes.when_due("visits", HOURLY), range(16)))
    assert [one.number for one in done if one is not None] == [1]
    assert refreshes.ask("visits", "ada").number == 2
    assert AuditLog(database).verify() == 2
    database.close()


def test_data_sets_are_apart(refreshes: Refreshes) -> None:
    refreshes.begin("births")
    refreshes.ask("births", "ada")
    assert [refreshes.current(name).number for name in ("visits", "births")] == [0, 1]


def test_an_answer_is_from_the_refresh_before_it(refreshes: Refreshes, clock: Clock) -> None:
    for now in (2000, 3000):
        clock.now = now
        refreshes.ask("visits", "ada")
    found = [refreshes.as_of("visits", when).number for when in (0, 1999, 2000, 2999, 9999)]
    assert found == [0, 0, 1, 1, 2]


def test_what_refreshes_mean_is_said(refreshes: Refreshes, clock: Clock) -> None:
    assert refreshes.told("visits", None).startswith("The data set was not refreshed since 1970")
    for now in (90_000, 180_000):
        clock.now = now
        refreshes.ask("visits", "ada")
    assert refreshes.told("visits", tc.epsilon(1)) == (
        "Since 1970-01-01 the data set was refreshed 2 times, last on 1970-01-03 at 02:00 UTC. "
        "All releases, before and after a refresh, share one budget of epsilon(1): what was spent "
        "on rows that stay is not given back."
    )
