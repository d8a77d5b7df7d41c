"""Dashboards: paid once, updated once by the clock, shown at ticks, the same after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.service.access import Caller, Decisions
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database
from tacit.service.jobs.webhook import Webhook
from tacit.service.problem import Problem
from tacit.service.refresh.dashboards import (
    UNITS,
    Counted,
    DashboardRequests,
    Dashboards,
    answer_json,
    as_length,
    as_number,
    preview_json,
    reached,
    shown,
    when,
)
from tacit.tables.streaming.counter import TimeCounter

ADA = Caller("ada", "oncology", (), "t1", 0)
START = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
HOURLY = Counted("arrived", "2026-03-01", "1h", 10, epsilon="1000000", title="Arrivals")
HEAD = "person,arrived,day,n\n"


class Clinic:
    """A folder with a table that grows, a store, and a clock; started as often as one likes."""

    def __init__(self, folder: Path, address: str | None = None) -> None:
        self.folder, self.now, self.budget = folder, START, "2000000"
        self.address = address or f"sqlite:///{folder}/service.db"
        self.table = folder / "visits.csv"
        if not self.table.exists():
            self.table.write_text(HEAD)
        self.start()

    def start(self, **reading: Any) -> None:
        self.database = Database(self.address)
        self.database.create()
        self.audit = AuditLog(self.database)
        self.session = tc.Session(
            self.table,
            unit=tc.unit("person", rows=5),
            budget=tc.epsilon(self.budget),
            types={"arrived": "timestamp", "day": "date", "n": "integer"},
            **reading,
        )
        self.dashboards = Dashboards(
            self.database, self.audit, lambda *_: self.session, lambda _: 2.0, lambda: self.now
        )

    def stop(self) -> None:
        self.session.close()
        self.database.close()

    def arrive(self, hour: int, people: range) -> None:
        with self.table.open("a") as file:
            for person in people:
                file.write(f"{person},2026-03-01 {hour:02}:30:00,2026-03-01,{hour}\n")

    def counts(self, identity: str) -> list[int]:
        answer = self.dashboards.answer(self.dashboards.find(identity))
        return [round(n) for n in answer.column("count")["value"]] if len(answer) else []


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    made = Clinic(tmp_path)
    yield made
    made.stop()


def test_it_is_paid_once_and_read_at_its_beginning_never(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("a row was read")

    monkeypatch.setattr(TimeCounter, "_part", never)
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    again = clinic.dashboards.begin("visits", HOURLY, ADA)
    assert made == again
    assert clinic.session.spent == tc.epsilon(1_000_000)
    assert [d.id for d in clinic.dashboards.all("visits")] == [made.id]
    assert clinic.dashboards.all("births") == []
    (event,) = clinic.audit.read()
    assert (event.action, event.who, event.subject) == ("dashboard_begun", "ada", made.id)
    assert event.details["cost"]["epsilon"] == "1000000"


def test_periods_are_shown_at_the_tick_after_they_are_over(clinic: Clinic) -> None:
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    clinic.arrive(1, range(4))
    clinic.now = START + 3599
    assert clinic.dashboards.update_due() == 0
    clinic.now = START + 2 * 3600
    assert clinic.dashboards.update_due() == 1
    assert clinic.counts(made.id) == []  # it is done, and nobody can see when
    clinic.now = START + 2 * 3600 + 1.99
    assert clinic.counts(made.id) == []
    clinic.now = START + 2 * 3600 + 2
    assert clinic.counts(made.id) == [3, 4]
    assert clinic.dashboards.update_due() == 0
    clinic.now = START + 20 * 3600
    assert clinic.dashboards.update_due() == 1
    clinic.now += 10**6
    assert clinic.dashboards.update_due() == 0  # all periods are over
    assert clinic.counts(made.id) == [3, 4, *[0] * 8]


def test_an_engine_that_took_longer_shows_at_a_power_of_two(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    clinic.now, update = START + 3600, TimeCounter.update

    def slow(self: TimeCounter, now: Any = None) -> Any:
        done = update(self, now)
        clinic.now += 9
        return done

    monkeypatch.setattr(TimeCounter, "update", slow)
    clinic.dashboards.update_due()
    for later, each_shown in ((9, []), (15.9, []), (16, [3])):
        clinic.now = START + 3600 + later
        assert clinic.counts(made.id) == each_shown, later


def test_periods_that_were_over_when_it_began_are_shown_at_the_first_tick_after(
    clinic: Clinic,
) -> None:
    clinic.arrive(0, range(3))
    clinic.now = START + 5 * 3600 - 60
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.now += 1
    assert clinic.dashboards.update_due() == 1
    assert clinic.counts(made.id) == []
    clinic.now += 1
    assert clinic.counts(made.id) == [3, 0, 0, 0]


def test_it_goes_on_after_a_restart_where_it_was(clinic: Clinic) -> None:
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    clinic.now = START + 3600
    clinic.dashboards.update_due()
    clinic.stop()
    clinic.start()
    clinic.now += 2
    assert clinic.counts(made.id) == [3]
    clinic.arrive(1, range(5))
    clinic.now = START + 2 * 3600
    clinic.dashboards.update_due()
    clinic.now += 2
    assert clinic.counts(made.id) == [3, 5]
    assert clinic.session.spent == tc.epsilon(1_000_000)


def test_a_table_that_is_read_otherwise_is_not_paid_again_by_the_clock(clinic: Clinic) -> None:
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    for reading, updated in (({"null": ["99"]}, 0), ({}, 1)):
        clinic.stop()
        clinic.start(**reading)
        clinic.now += 3600
        assert clinic.dashboards.update_due() == updated
        assert clinic.session.spent == tc.epsilon(1_000_000)
        clinic.now += 3600
        if reading:
            with pytest.raises(Problem, match="not read as it was"):
                clinic.counts(made.id)
    assert clinic.counts(made.id) == [3, 0, 0]


def test_a_process_that_died_in_an_update_is_followed_by_another(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    clinic.now = START + 3600
    with monkeypatch.context() as patch:

        def dies(*_: Any) -> Any:
            raise KeyboardInterrupt

        patch.setattr(Dashboards, "_come", dies)
        with pytest.raises(KeyboardInterrupt):
            clinic.dashboards.update_due()
    assert clinic.dashboards.update_due() == 0  # the other process may still be at it
    clinic.now += 1000
    assert clinic.dashboards.update_due() == 1
    assert clinic.counts(made.id) == []
    clinic.now += 1000  # 2, 4, ... 1024 seconds after the period was over
    assert clinic.counts(made.id) == [3]


def test_of_processes_at_once_one_updates(clinic: Clinic) -> None:
    clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    clinic.now = START + 3600
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: clinic.dashboards.update_due(), range(8))) == 1


def test_a_table_that_is_away_costs_nothing_more_and_is_tried_again(clinic: Clinic) -> None:
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.arrive(0, range(3))
    aside = clinic.table.rename(clinic.folder / "aside.csv")
    clinic.now = START + 3600
    assert clinic.dashboards.update_due() == 0
    aside.rename(clinic.table)
    clinic.now += 1000
    assert clinic.dashboards.update_due() == 1
    clinic.now += 1000
    assert clinic.counts(made.id) == [3]
    assert clinic.session.spent == tc.epsilon(1_000_000)


def test_what_cannot_be_paid_is_refused_and_audited(clinic: Clinic) -> None:
    dear = Counted("arrived", "2026-03-01", "1h", 10, epsilon="3000000")
    with pytest.raises(BudgetError):
        clinic.dashboards.begin("visits", dear, ADA)
    assert clinic.dashboards.all() == []
    assert [(e.action, e.outcome) for e in clinic.audit.read()] == [("dashboard_begun", "refused")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"column": "n"}, "name with clock what they count"),
        ({"column": "nothere"}, "nothere"),
        ({"every": "1x"}, "every is a length"),
        ({"periods": 0}, "periods"),
        ({"epsilon": None}, "say what this release may spend"),
        ({"every": "1h", "column": "day"}, "whole number of days"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_costs(
    clinic: Clinic, changes: dict[str, Any], message: str
) -> None:
    said = Counted.from_json({**HOURLY.to_json(), **changes})
    for ask in (clinic.dashboards.preview, clinic.dashboards.begin):
        with pytest.raises(UsageError, match=message):
            ask("visits", said, ADA)
    assert clinic.session.remaining == clinic.session.budget


HOUR = int(START) // 3600
NUMBERED = Counted("n", "2026-03-01", "1h", 10, epsilon="1000000", clock="hours", grace="2h")


def test_whole_numbers_that_count_hours_follow_the_clock(clinic: Clinic) -> None:
    made = clinic.dashboards.begin("visits", NUMBERED, ADA)
    assert clinic.dashboards.begin("visits", NUMBERED, ADA) == made
    with clinic.table.open("a") as file:
        for person in range(5):
            file.write(f"{person},,,{HOUR + person // 3}\n")
    clinic.now = START + 3 * 3600 - 0.5
    assert clinic.dashboards.update_due() == 0  # the first hour is over, and its grace is not
    clinic.now = START + 4 * 3600 + 0.5
    assert clinic.dashboards.update_due() == 1
    clinic.now = START + 4 * 3600 + 2
    assert clinic.counts(made.id) == [3, 2]
    result = answer_json(NUMBERED, clinic.dashboards.answer(clinic.dashboards.find(made.id)))
    assert result["periods"] == ["2026-03-01T00:00:00", "2026-03-01T01:00:00"]
    clinic.now = START + 10**6
    assert clinic.dashboards.update_due() == 1
    assert clinic.dashboards.update_due() == 0
    clinic.now += 10**6
    assert clinic.counts(made.id) == [3, 2, *[0] * 8]
    assert clinic.session.spent == tc.epsilon(1_000_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clock": None}, "name with clock what they count"),
        ({"column": "arrived"}, "start is a time such as"),
        ({"start": "2026-03-01 00:30"}, "counts hours: start"),
        ({"every": "30min"}, "counts hours: every"),
        ({"grace": "30min"}, "counts hours: grace"),
        ({"every": "0h"}, "at least 1"),
        ({"start": "20513"}, "start is a time such as"),
    ],
)
def test_numbers_and_clocks_that_do_not_fit(
    clinic: Clinic, changes: dict[str, Any], message: str
) -> None:
    said = Counted.from_json({**NUMBERED.to_json(), **changes})
    for ask in (clinic.dashboards.preview, clinic.dashboards.begin):
        with pytest.raises(UsageError, match=message):
            ask("visits", said, ADA)
    assert clinic.session.remaining == clinic.session.budget


def test_a_dashboard_that_is_not_there(clinic: Clinic) -> None:
    with pytest.raises(Problem, match="no such dashboard"):
        clinic.dashboards.find("x")


def test_the_answer_is_plain_json(clinic: Clinic) -> None:
    expected = clinic.dashboards.preview("visits", HOURLY, ADA)
    told = json.loads(json.dumps(preview_json(expected), allow_nan=False))
    assert told["affordable"] is True
    assert told["periods"] == 10
    made = clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.now = START + 2 * 3600
    clinic.dashboards.update_due()
    clinic.now += 2
    result = json.loads(
        json.dumps(answer_json(HOURLY, clinic.dashboards.answer(clinic.dashboards.find(made.id))))
    )
    assert result["periods"] == ["2026-03-01T00:00:00", "2026-03-01T01:00:00"]
    assert set(result["columns"]) == {"count", "total"}
    assert set(result["columns"]["count"]) == {"value", "standard_error", "low", "high"}


def test_a_dashboard_survives_its_own_json() -> None:
    assert Counted.from_json(HOURLY.to_json()) == HOURLY
    assert HOURLY.identity("visits", "L") == Counted(
        **{**HOURLY.to_json(), "title": "Another"}
    ).identity("visits", "L")
    assert HOURLY.identity("visits", "L") != HOURLY.identity("visits", "M")


def test_only_errors_of_a_place_are_passed_over(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic.dashboards.begin("visits", HOURLY, ADA)
    clinic.now = START + 3600

    def broken(*_: Any) -> Any:
        raise DataSourceError("4711")

    monkeypatch.setattr(TimeCounter, "_part", broken)
    assert clinic.dashboards.update_due() == 0


def test_in_postgresql_it_is_begun_updated_and_shown_alike(tmp_path: Path, postgres: Any) -> None:
    clinic = Clinic(tmp_path, postgres.dsn())
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: clinic.dashboards.begin("visits", HOURLY, ADA), range(4)))
    assert len({one.id for one in made}) == 1
    clinic.arrive(0, range(3))
    clinic.now = START + 3600
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: clinic.dashboards.update_due(), range(8))) == 1
    assert clinic.counts(made[0].id) == []
    clinic.now += 2
    assert clinic.counts(made[0].id) == [3]
    assert clinic.audit.verify() == 1
    clinic.stop()


# Dashboards that wait: asked once, decided once, and begun as they were asked.


DASHBOARD_REQUESTS_ADA, RITA = (
    Caller("ada", "oncology", (), "t1", 0),
    Caller("rita", None, (), "t2", 0),
)
DASHBOARD_REQUESTS_HOURLY = Counted("arrived", "2026-03-01", "1h", 10, epsilon="3")


@pytest.fixture
def requests(tmp_path: Path) -> Iterator[DashboardRequests]:
    (tmp_path / "visits.csv").write_text("person,arrived\n")
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    audit = AuditLog(database)
    session = tc.Session(
        tmp_path / "visits.csv",
        unit=tc.unit("person", rows=5),
        budget=tc.epsilon(4),
        types={"arrived": "timestamp"},
    )
    boards = Dashboards(database, audit, lambda *_: session, lambda _: 2.0, lambda: 7.0)
    decisions = Decisions(lambda _, name: frozenset({name}))
    yield DashboardRequests(
        database, audit, boards, decisions, Webhook(database, None), lambda: 7.0
    )
    session.close()
    database.close()


def test_it_is_asked_once_and_decided_once(requests: DashboardRequests) -> None:
    asked = requests.ask("visits", DASHBOARD_REQUESTS_HOURLY, DASHBOARD_REQUESTS_ADA)
    assert (asked.state, asked.asked_by, asked.asked_at) == ("waiting", "ada", 7.0)
    assert (
        requests.ask("visits", DASHBOARD_REQUESTS_HOURLY, RITA) == asked
    )  # whoever asks for it again
    assert requests.undecided() == [asked]
    with pytest.raises(Problem, match="does not decide"):
        requests.approve(asked, DASHBOARD_REQUESTS_ADA)
    requests.refuse(asked, RITA, "too dear")
    with pytest.raises(Problem, match="decided already"):
        requests.approve(asked, RITA)
    again = requests.ask("visits", DASHBOARD_REQUESTS_HOURLY, DASHBOARD_REQUESTS_ADA)
    assert (again.state, again.reason) == ("waiting", None)
    requests.approve(again, RITA)
    assert requests.undecided() == []
    result = requests.find(again.id)
    assert result is not None
    assert result.state == "approved"


def test_what_cannot_be_paid_any_more_waits_on(requests: DashboardRequests) -> None:
    first = requests.ask("visits", DASHBOARD_REQUESTS_HOURLY, DASHBOARD_REQUESTS_ADA)
    other = requests.ask(
        "visits",
        Counted(**{**DASHBOARD_REQUESTS_HOURLY.to_json(), "tag": "2"}),
        DASHBOARD_REQUESTS_ADA,
    )
    requests.approve(first, RITA)
    with pytest.raises(BudgetError):
        requests.approve(other, RITA)
    result = requests.find(other.id)
    assert result is not None
    assert result.state == "waiting"
    with pytest.raises(BudgetError, match="nothing was spent"):
        requests.ask(
            "visits",
            Counted(**{**DASHBOARD_REQUESTS_HOURLY.to_json(), "tag": "3"}),
            DASHBOARD_REQUESTS_ADA,
        )


# Whole numbers that count time: exact both ways, never early.


LAST = 253_402_300_799  # the last second of the year 9999


@given(st.sampled_from(sorted(UNITS)), st.data())
def test_a_number_is_reached_when_its_time_comes_and_not_before(
    unit: str, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, int(LAST / UNITS[unit])))
    due = when(number, unit)
    assert Fraction(due) >= number * UNITS[unit]
    assert reached(due, unit) == number
    assert reached(due - float(UNITS[unit]) / 2, unit) == number - 1


@given(st.sampled_from(sorted(UNITS)), st.data())
def test_what_is_shown_is_read_again(unit: str, data: st.DataObject) -> None:
    most = int(LAST / UNITS[unit])
    number = data.draw(st.integers(-most // 200, most))
    if unit == "milliseconds":
        number -= number % 1000  # a start is given in whole seconds
    assert as_number(shown(number, unit), unit, "start") == number


@pytest.mark.parametrize(("text", "unit"), [("90s", "minutes"), ("1h", "days"), ("x", "days")])
def test_lengths_that_are_no_whole_number(text: str, unit: str) -> None:
    with pytest.raises(UsageError, match="every"):
        as_length(text, unit, "every")
    assert as_length("2d", "hours", "every") == 48
