"""Scheduled releases: paid once at the beginning, each made once when it is due."""

from __future__ import annotations

import calendar as months
import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.service.clinic import FAST, write_clinic
from support.service.clock import at
from support.service.other_process import Mortals
from tacit.accounting.budget import Budget
from tacit.errors import BudgetError, LedgerError, UsageError
from tacit.service.access import Caller
from tacit.service.hosting.ask import Ask, preview_of
from tacit.service.jobs.queue import Job
from tacit.service.pages.views import expected
from tacit.service.problem import Problem
from tacit.service.refresh.requests import WAITING
from tacit.service.refresh.schedules import MAX_TAG, MAX_TIMES, Calendar, Scheduled
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState
from tacit.tables.release.release import Charge

ADA, BOB = Caller("ada", "oncology", (), "t1", 0), Caller("bob", None, (), "t2", 0)
COUNT = {"sql": "select count(*) as n from visits", "epsilon": 2, "tag": "beds"}
QUARTER = Scheduled(Ask.from_json(COUNT), Calendar("2026-01-31", "1mo", 4), "Beds")


class Clinic:
    """A folder with a growing table, a clock, and as many processes as one likes."""

    def __init__(self, folder: Path, settings: str = FAST) -> None:
        self.folder = write_clinic(folder / "clinic", settings)
        self.now = at("2026-01-10")
        self.states: list[ServiceState] = []
        self.one = self.process()

    def process(self) -> ServiceState:
        self.states.append(ServiceState(Settings.load(self.folder), lambda: self.now))
        return self.states[-1]

    def stop(self) -> None:
        for state in self.states:
            state.close()

    def begin(self, scheduled: Scheduled = QUARTER, caller: Caller = ADA) -> str:
        return self.one.schedules.begin("visits", scheduled, caller).id

    def release(self) -> int:
        return sum(state.schedules.release_due() for state in self.states)

    def states_of(self, identity: str) -> list[str]:
        return [one.state for one in self.calendar(identity)]

    def calendar(self, identity: str) -> Any:
        return self.one.schedules.calendar(self.one.schedules.find(identity))

    def jobs(self) -> list[Job]:
        with self.one.database.read() as run:
            names = run.exec_driver_sql("select id from job order by number").scalars().all()
        found = self.one.release_service.queue.find_all(names)
        return [found[name] for name in names]

    def work(self) -> list[Any]:
        """Answer what is queued, as the workers do; return the answers once they are shown."""
        service, answers = self.one.release_service, []
        while (job := service.queue.claim("w")) is not None:
            service.queue.finish(job, self.one.workers._outcome(job))
            self.now += 1
            shown = service.queue.find(job.id)
            assert shown is not None
            done = shown.shown(self.now) == "done"
            answers.append(service.answer(shown) if done else json.loads(shown.error or "{}"))
        return answers

    @property
    def spent(self) -> Budget:
        return self.one.datasets.of("visits").ledger(None).spent

    def arrive(self, people: int) -> None:
        with (self.folder / "visits.csv").open("a") as file:
            file.writelines(f"new{n},north,5,2026-03-01 01:00:00\n" for n in range(people))


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    made = Clinic(tmp_path)
    yield made
    made.stop()


# The calendar: months of their own length, counted from the first.


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2300, 1, 1)),
    st.integers(1, 30),
    st.sampled_from(["mo", "y"]),
    st.integers(1, 40),
)
def test_months_and_years_keep_their_day_or_end_with_their_month(
    start: datetime, number: int, unit: str, times: int
) -> None:
    start = start.replace(microsecond=0)
    moments = Calendar(start.isoformat(), f"{number}{unit}", times).moments
    assert moments[0] == start.replace(tzinfo=UTC)
    step = number * (12 if unit == "y" else 1)
    for index, one in enumerate(moments):
        assert one.year * 12 + one.month == start.year * 12 + start.month + index * step
        assert one.day == min(start.day, months.monthrange(one.year, one.month)[1])
        assert one.time() == start.time()


@pytest.mark.parametrize(
    ("start", "every", "tags"),
    [
        ("2026-08-31", "3mo", ["2026-08-31", "2026-11-30", "2027-02-28", "2027-05-31"]),
        ("2027-11-30 06:30", "1mo", ["2027-11-30 06:30", "2027-12-30 06:30", "2028-01-30 06:30",
                                     "2028-02-29 06:30"]),
        ("2026-12-29", "1d", ["2026-12-29", "2026-12-30", "2026-12-31", "2027-01-01"]),
        ("2026-02-23", "1w", ["2026-02-23", "2026-03-02", "2026-03-09", "2026-03-16"]),
        ("2026-01-01T00:00:30+02:00", "1d", ["2025-12-31 22:00:30", "2026-01-01 22:00:30",
                                             "2026-01-02 22:00:30", "2026-01-03 22:00:30"]),
    ],
)  # fmt: skip
def test_calendars_in_utc(start: str, every: str, tags: list[str]) -> None:
    made = Calendar(start, every, 4)
    assert made.tags(None) == tags
    assert made.due == sorted(made.due)
    assert made.tags("x") == [f"x {tag}" for tag in tags]


@pytest.mark.parametrize(
    ("start", "every", "times", "message"),
    [
        ("2026-01-01", "1mo", 0, "at least 1"),
        ("2026-01-01", "1mo", 10**9, f"at most {MAX_TIMES} releases"),
        ("2026-01-01", "1h", 2, "every is how far apart"),
        ("2026-01-01", "0d", 2, "every is how far apart"),
        ("2026-01-01", "1 fortnight", 2, "every is how far apart"),
        ("soon", "1d", 2, "start is a time such as"),
        ("2026-02-30", "1d", 2, "start is a time such as"),
        ("9999-06-01", "1y", 2, "beyond the year 9999"),
        ("9999-12-31", "1d", 2, "beyond the year 9999"),
        ("0001-01-01T00:00+14:00", "1d", 2, "beyond the year 9999"),
    ],
)
def test_what_is_no_calendar(start: str, every: str, times: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Calendar(start, every, times)


def test_a_schedule_survives_its_own_json() -> None:
    again = Scheduled.from_json(json.loads(json.dumps(QUARTER.to_json())))
    assert again == QUARTER
    assert QUARTER.identity("visits", "L", ADA) != QUARTER.identity("visits", "L", BOB)


# Paid at the beginning, once.


def test_all_releases_are_paid_at_the_beginning_and_once(clinic: Clinic) -> None:
    identity = clinic.begin()
    assert clinic.begin() == identity
    assert clinic.spent == tc.epsilon(8)
    assert [one.id for one in clinic.one.schedules.all()] == [identity]
    tags = [
        entry.question["tag"] for entry in clinic.one.datasets.of("visits").ledger(None).history()
    ]
    assert tags == ["beds 2026-01-31", "beds 2026-02-28", "beds 2026-03-31", "beds 2026-04-30"]
    (event,) = [e for e in clinic.one.audit.read() if e.action == "schedule_begun"]
    assert (event.who, event.subject, event.details["cost"]["epsilon"]) == ("ada", identity, "8")
    assert clinic.states_of(identity) == ["planned"] * 4
    assert clinic.jobs() == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("ask", "start", "times", "error", "message"),
    [
        (COUNT, "2026-02-01", 6, BudgetError, "these 6 releases cost epsilon 12 together"),
        (COUNT, "2026-01-09", 2, UsageError, "start is in the past"),
        (
            {**COUNT, "sql": "select cost from visits"},
            "2026-02-01",
            2,
            UsageError,
            "rows of a private table",
        ),
        ({**COUNT, "epsilon": None}, "2026-02-01", 2, UsageError, "say what this release may"),
    ],
)
def test_what_cannot_start_costs_nothing(
    clinic: Clinic, ask: Any, start: str, times: int, error: type[Exception], message: str
) -> None:
    request = {name: value for name, value in ask.items() if value is not None}
    with pytest.raises(error, match=message):
        clinic.begin(Scheduled(Ask.from_json(request), Calendar(start, "1mo", times)))
    assert clinic.spent.is_nothing
    assert clinic.one.schedules.all() == []


@pytest.mark.parametrize(
    "times", [Calendar("2026-01-31", "1mo", 3), Calendar("2026-02-01", "1w", 2)], ids=str
)
def test_other_times_of_the_same_question_are_a_change_and_no_second_schedule(
    clinic: Clinic, times: Calendar
) -> None:
    written = {**COUNT, "sql": "SELECT count(*) AS n FROM visits", "epsilon": "2.0"}
    first, changed = clinic.begin(), Scheduled(Ask.from_json(written), times)
    with pytest.raises(Problem, match="you have a schedule of this question") as refused:
        clinic.begin(changed)
    assert "'Beds', 4 times from 2026-01-31 on, every 1mo" in refused.value.message
    assert refused.value.details == {"schedule": first}
    assert clinic.spent == tc.epsilon(8)
    clinic.begin(replace(QUARTER, ask=Ask.from_json({**COUNT, "tag": "b", "epsilon": "1/4"})))
    clinic.one.schedules.cancel(clinic.one.schedules.find(first), ADA)
    before = clinic.spent
    clinic.begin(replace(QUARTER, calendar=Calendar("2026-01-31", "1mo", 3)))
    assert clinic.spent == before  # its dates were paid for


def test_a_change_of_a_schedule_that_waits_is_refused(clinic: Clinic) -> None:
    first = clinic.one.schedule_requests.ask("visits", QUARTER, ADA)
    changed = replace(QUARTER, calendar=Calendar("2026-01-31", "1mo", 3))
    with pytest.raises(Problem, match="you have a schedule of this question"):
        clinic.one.schedule_requests.ask("visits", changed, ADA)
    assert clinic.one.schedule_requests.ask("visits", QUARTER, ADA).id == first.id
    assert clinic.one.schedule_requests.ask("visits", changed, BOB).id != first.id
    clinic.one.schedule_requests.withdraw(first, ADA)
    clinic.one.schedule_requests.ask("visits", changed, ADA)


def test_a_free_question_and_a_long_tag_are_none() -> None:
    free = Ask.from_json({"sql": COUNT["sql"], "free": True})
    with pytest.raises(UsageError, match="leave free out"):
        Scheduled(free, QUARTER.calendar)
    with pytest.raises(UsageError, match=f"at most {MAX_TAG} characters"):
        Scheduled(Ask.from_json({**COUNT, "tag": "x" * (MAX_TAG + 1)}), QUARTER.calendar)


@pytest.mark.full
def test_a_cap_counts_all_releases_together(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path, FAST + "[caps.analysts]\nada = { epsilon = 7 }\n")
    with pytest.raises(BudgetError, match="the cap of analyst:ada; nothing was spent"):
        clinic.begin()
    assert clinic.spent.is_nothing
    clinic.begin(caller=BOB)
    assert clinic.spent == tc.epsilon(8)
    clinic.begin()  # the same releases: they are paid for
    assert clinic.spent == tc.epsilon(8)
    clinic.stop()


@pytest.mark.full
def test_of_small_releases_a_budget_with_delta_bears_more_than_they_add_up_to(
    tmp_path: Path,
) -> None:
    clinic = Clinic(tmp_path)
    declared = (clinic.folder / "visits.toml").read_text()
    (clinic.folder / "visits.toml").write_text(
        declared.replace("epsilon = 10", 'epsilon = 1, delta = "1e-6"')
    )
    clinic.stop()
    clinic.states.clear()
    clinic.one = clinic.process()
    ask = Ask.from_json({**COUNT, "epsilon": "1/50"})
    priced = clinic.one.schedules.priced(
        "visits", Scheduled(ask, Calendar("2026-02-01", "1d", 60)), ADA
    )
    assert priced.cost.amount > 1
    assert priced.affordable(clinic.one.datasets.of("visits"), ADA)
    clinic.stop()


class Dead(BaseException):
    """A process that was killed."""


def dies_at(patch: pytest.MonkeyPatch, owner: Any, name: str, nth: int, after: bool) -> None:
    """Have a process die at the nth call of a function, before or after it is done."""
    original: Callable[..., Any] = getattr(owner, name)
    left = [nth]

    def dying(*given: Any, **more: Any) -> Any:
        left[0] -= 1
        if not left[0] and not after:
            raise Dead
        result = original(*given, **more)
        if not left[0]:
            raise Dead
        return result

    patch.setattr(owner, name, dying)


@pytest.mark.few(6)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("nth", [1, 3, 4])
def test_a_process_that_dies_while_it_pays_charges_nothing_twice(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch, nth: int, after: bool
) -> None:
    with monkeypatch.context() as patch:
        dies_at(patch, Charge, "pay", nth, after)
        with pytest.raises(Dead):
            clinic.begin()
    (one,) = clinic.one.schedules.all()
    assert (one.state, clinic.one.schedules.paid(one)) == ("paying", nth - 1 + after)
    clinic.now = at("2026-02-01")  # the first was due meanwhile
    assert clinic.release() == 0
    assert clinic.begin() == one.id
    assert clinic.spent == tc.epsilon(8)
    assert clinic.release() == 1
    assert clinic.states_of(one.id) == ["running", "planned", "planned", "planned"]


@pytest.mark.full
@pytest.mark.parametrize("where", ["_insert", "_set"])
def test_a_process_that_dies_around_its_row_loses_nothing(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    with monkeypatch.context() as patch:
        dies_at(patch, type(clinic.one.schedules), where, 1, after=False)
        with pytest.raises(Dead):
            clinic.begin()
    assert clinic.spent.amount == (8 if where == "_set" else 0)
    clinic.begin()
    assert clinic.spent == tc.epsilon(8)


@pytest.mark.full
def test_what_is_spent_meanwhile_stops_the_payment_which_continues_later(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay, other = Charge.pay, Ask.from_json({**COUNT, "epsilon": 5, "tag": "other"})
    paid: list[int] = []

    def overtaken(charge: Any) -> None:
        paid.append(1)
        if len(paid) == 3:
            clinic.process().release_service.submit("visits", BOB, other)
        pay(charge)

    with monkeypatch.context() as patch:
        patch.setattr(Charge, "pay", overtaken)
        with pytest.raises(Problem, match="2 of the 4 releases are paid for") as stopped:
            clinic.begin()
    assert stopped.value.code == "budget_exceeded"
    assert "nothing was spent" not in str(stopped.value)
    identity = stopped.value.details["schedule"]
    assert clinic.spent == tc.epsilon(9)  # of 10
    with pytest.raises(Problem, match="2 of the 4 releases are paid for"):
        clinic.begin()
    assert clinic.one.schedules.find(identity).state == "paying"
    clinic.one.datasets.of("visits").ledger(None).extend(tc.epsilon(13), "for the beds")
    assert clinic.begin() == identity
    assert clinic.spent == tc.epsilon(13)
    assert clinic.one.schedules.find(identity).state == "running"


@pytest.mark.full
def test_what_another_process_paid_for_meanwhile_is_not_asked_for_again(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = clinic.one.schedules, clinic.process().schedules
    check = one.check

    def late(*given: Any) -> None:
        other.begin("visits", QUARTER, ADA)
        check(*given)

    monkeypatch.setattr(one, "check", late)
    assert clinic.begin() == other.begin("visits", QUARTER, ADA).id
    assert clinic.spent == tc.epsilon(8)


def test_of_two_schedules_of_a_question_at_one_instant_the_second_is_refused(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = clinic.one.schedules, clinic.process().schedules
    changed = replace(QUARTER, calendar=Calendar("2026-01-31", "1mo", 3))
    check = one.check

    def early(*given: Any) -> None:
        check(*given)
        other.begin("visits", changed, ADA)

    monkeypatch.setattr(one, "check", early)
    with pytest.raises(Problem, match="you have a schedule of this question"):
        clinic.begin()
    assert [each.scheduled.calendar.times for each in one.all()] == [3]
    assert clinic.spent == tc.epsilon(6)


def test_processes_that_start_it_at_once_pay_once(clinic: Clinic) -> None:
    states = [clinic.one, clinic.process()]
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda n: states[n % 2].schedules.begin("visits", QUARTER, ADA), range(4))
        )
    assert len({one.id for one in made}) == 1
    assert clinic.spent == tc.epsilon(8)
    assert [e.action for e in clinic.one.audit.read()].count("schedule_begun") == 1


# Released by the clock: each once, of the rows as they are then.


def test_each_release_is_made_once_of_the_rows_of_its_day(clinic: Clinic) -> None:
    identity = clinic.begin()
    clinic.process()
    clinic.now = at("2026-01-31") - 1
    assert clinic.release() == 0
    clinic.now = at("2026-01-31")
    assert clinic.release() == 1
    assert clinic.release() == 0
    (first,) = clinic.work()
    clinic.arrive(300)
    clinic.now = at("2026-02-28 00:00:01")
    with ThreadPoolExecutor(4) as pool:
        looks = [clinic.states[n % 2].schedules.release_due for n in range(8)]
        assert sum(pool.map(lambda look: look(), looks)) == 1
    (second,) = clinic.work()
    assert 250 < second.value("n") - first.value("n") < 350
    assert second.certificate.body["question"]["tag"] == "beds 2026-02-28"
    assert clinic.states_of(identity) == ["done", "done", "planned", "planned"]
    job = clinic.jobs()[1]
    assert (job.asked_by, job.team, job.words.endswith("; tagged 'beds 2026-02-28'")) == (
        *("ada", "oncology", True),
    )
    assert [one.way for one in clinic.one.refreshes.history("visits")] == [
        "first",
        "clock",
        "clock",
    ]
    assert clinic.one.schedules.of_job(job.id) == identity
    assert clinic.spent == tc.epsilon(8)
    asked = [e.details["schedule"] for e in clinic.one.audit.read() if e.action == "release_asked"]
    assert asked == [identity] * 2


def test_of_times_that_were_missed_the_latest_is_made_up_for(clinic: Clinic) -> None:
    identity = clinic.begin()
    clinic.now = at("2026-04-02")
    assert clinic.release() == 1
    assert clinic.states_of(identity) == ["missed", "missed", "running", "planned"]
    assert len(clinic.work()) == 1
    missed = clinic.one.release_service.submit("visits", BOB, QUARTER.asks("beds 2026-01-31"))
    assert json.loads(missed.cost)["epsilon"] == "0"  # it was paid for
    clinic.now = at("2027-01-01")
    assert clinic.release() == 1
    assert clinic.one.schedules.find(identity).state == "done"
    assert clinic.one.schedules.find(identity).due is None
    assert clinic.spent == tc.epsilon(8)


@pytest.mark.full
def test_a_clock_that_is_set_back_or_forth_makes_no_release_twice(clinic: Clinic) -> None:
    identity = clinic.begin()
    for now, made in (
        *(("2026-02-01", 1), ("2026-01-01", 0), ("2026-02-01", 0), ("2026-03-01", 1)),
        *(("2026-01-30", 0), ("2026-03-02", 0), ("2026-04-01", 1)),
    ):
        clinic.now = at(now)
        assert clinic.release() == made, now
        clinic.work()
    assert clinic.states_of(identity) == ["done", "done", "done", "planned"]
    assert len(clinic.jobs()) == 3


@pytest.mark.full
def test_a_process_that_dies_while_it_makes_a_release_leaves_it_to_another(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = clinic.begin()
    clinic.now = at("2026-02-01")
    for name in ("_add", "_set"):
        for after in (False, True):
            with monkeypatch.context() as patch:
                dies_at(patch, type(clinic.one.schedules), name, 1, after)
                with pytest.raises(Dead):
                    clinic.release()
            assert clinic.jobs() == []
            assert clinic.states_of(identity)[0] == "due"
    assert clinic.process().schedules.release_due() == 1
    assert len(clinic.jobs()) == 1
    # what the first attempt had read again is not read again for the same time
    assert len(clinic.one.refreshes.history("visits")) == 2


@pytest.mark.full
def test_processes_that_are_killed_lose_nothing_and_charge_nothing_twice(
    clinic: Clinic, mortals: Mortals
) -> None:
    body = json.dumps(QUARTER.to_json())

    def killed(place: str) -> None:
        given = str(clinic.folder), place, str(clinic.now), body
        assert mortals.end("killed_in_a_schedule", *given) == -signal.SIGKILL

    for place, charges in (("row written", 0), ("a charge", 1), ("all charged", 4), ("paid", 4)):
        killed(place)
        assert clinic.spent.amount == 2 * charges, place
    identity = clinic.begin()
    clinic.now = at("2026-02-01")
    for place, jobs in (("read again", 0), ("job written", 0), ("released", 1)):
        killed(place)
        assert len(clinic.jobs()) == jobs, place
    assert clinic.release() == 0
    assert len(clinic.work()) == 1
    assert clinic.states_of(identity) == ["done", "planned", "planned", "planned"]
    assert clinic.spent == tc.epsilon(8)


@pytest.mark.full
def test_what_cannot_be_read_again_now_is_tried_again_later(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = clinic.begin()
    clinic.now, tries = at("2026-02-01"), []

    def refused() -> None:
        tries.append(1)
        raise Problem("conflict", "two data sets read one file")

    with monkeypatch.context() as patch:
        patch.setattr(clinic.one.schedules, "_allowed", refused)
        assert [clinic.release() for _ in range(3)] == [0] * 3
        clinic.now += 61
        assert clinic.release() == 0
    assert len(tries) == 2
    clinic.now += 61
    assert clinic.release() == 1
    assert clinic.states_of(identity)[0] == "running"


@pytest.mark.full
def test_no_one_asks_ahead_of_the_schedule(clinic: Clinic) -> None:
    identity = clinic.begin()
    ahead = QUARTER.asks("beds 2026-02-28")
    service, hosted = clinic.one.release_service, clinic.one.datasets.of("visits")
    for caller in (ADA, BOB):
        with pytest.raises(Problem, match="a schedule makes this release, on 2026-02-28 at 00:00"):
            service.submit("visits", caller, ahead)
        shown = preview_of(
            ahead, hosted, caller, waits=lambda key, who=caller: service.waits(hosted, who, key)
        )
        assert (shown["affordable"], shown["open"]) == (False, False)
        assert shown["scheduled"] == "a schedule makes this release, on 2026-02-28 at 00:00 UTC"
        seen = expected(shown, approval=False, may_ask=True, key="k")
        assert not seen["may_release"]
        assert "on 2026-02-28 at 00:00 UTC. Wait for it" in seen["verdict"]
    clinic.now = at("2026-02-28")
    clinic.release()
    (answer,) = clinic.work()
    again = clinic.one.release_service.submit("visits", BOB, ahead)
    assert again.replayed
    assert clinic.one.release_service.answer(again).value("n") == answer.value("n")
    clinic.one.schedules.cancel(clinic.one.schedules.find(identity), ADA)
    clinic.one.release_service.submit("visits", BOB, QUARTER.asks("beds 2026-04-30"))
    assert clinic.spent == tc.epsilon(8)


@pytest.mark.full
def test_a_tag_that_was_released_before_is_refused(clinic: Clinic) -> None:
    clinic.one.release_service.submit("visits", BOB, QUARTER.asks("beds 2026-03-31"))
    clinic.work()
    with pytest.raises(Problem, match="released before, with the tag 'beds 2026-03-31'"):
        clinic.begin()
    assert clinic.spent == tc.epsilon(2)


@pytest.mark.full
def test_after_it_is_cancelled_nothing_is_released_and_all_stays_paid(clinic: Clinic) -> None:
    identity = clinic.begin()
    clinic.now = at("2026-01-31")
    clinic.release()
    clinic.one.schedules.cancel(clinic.one.schedules.find(identity), ADA)
    assert len(clinic.work()) == 1  # what was made is answered
    clinic.now = at("2026-06-01")
    assert clinic.release() == 0
    assert clinic.states_of(identity) == ["done", *["cancelled"] * 3]
    for again in (
        lambda: clinic.one.schedules.cancel(clinic.one.schedules.find(identity), ADA),
        clinic.begin,
    ):
        with pytest.raises(Problem, match="cancelled") as conflict:
            again()
        assert conflict.value.code == "conflict"
    assert clinic.spent == tc.epsilon(8)


@pytest.mark.full
def test_a_schedule_that_is_cancelled_while_a_release_is_made_makes_none(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = clinic.one.schedules.find(clinic.begin())
    clinic.now = at("2026-01-31")
    cancel = clinic.one.schedules.cancel
    monkeypatch.setattr(clinic.one.refreshes, "since", lambda *_: cancel(schedule, ADA))
    assert clinic.release() == 0
    assert clinic.jobs() == []


def test_what_was_approved_is_what_starts(clinic: Clinic) -> None:
    priced = clinic.one.schedules.priced("visits", QUARTER, ADA).scheduled
    with pytest.raises(Problem, match="it is another question now"):
        clinic.begin(replace(priced, key="0" * 64))
    assert clinic.spent.is_nothing
    clinic.begin(priced)


@pytest.mark.full
def test_an_approved_schedule_whose_payment_stopped_is_continued_by_its_owner(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, rita = clinic.one.schedule_requests, Caller("rita", None, (), "t3", 0)
    asked = requests.ask("visits", QUARTER, ADA)
    assert (asked.state, requests.decidable(asked.id, ADA)) == (WAITING, False)
    with monkeypatch.context() as patch:

        def unreachable(_: Any) -> None:
            raise LedgerError("4711")

        patch.setattr(Charge, "pay", unreachable)
        with pytest.raises(Problem, match=r"0 of the 4 releases .* ledger") as stopped:
            requests.approve(asked, rita)
    assert (stopped.value.code, "4711" in str(stopped.value)) == ("unavailable", False)
    assert requests.undecided() == []  # it was decided, and has no other decision
    assert clinic.begin() == asked.id
    assert clinic.spent == tc.epsilon(8)
    assert clinic.one.schedules.find(asked.id).asked_by == "ada"


@pytest.mark.full
def test_a_schedule_that_is_cancelled_while_it_is_paid_pays_no_more(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay = Charge.pay

    def cancelled(charge: Any) -> None:
        pay(charge)
        for one in clinic.one.schedules.all():
            clinic.one.schedules.cancel(one, ADA)

    monkeypatch.setattr(Charge, "pay", cancelled)
    with pytest.raises(Problem, match=r"1 of the 4 .* cancelled meanwhile"):
        clinic.begin()
    assert clinic.spent == tc.epsilon(2)


@pytest.mark.full
def test_a_data_set_that_was_declared_anew_is_not_charged_for_another_question(
    clinic: Clinic,
) -> None:
    mean = {**COUNT, "sql": "select avg(cost) as m from visits"}
    identity = clinic.begin(Scheduled(Ask.from_json(mean), QUARTER.calendar))
    declared = (clinic.folder / "visits.toml").read_text()
    (clinic.folder / "visits.toml").write_text(declared.replace("[0, 1000]", "[0, 900]"))
    clinic.stop()
    clinic.states.clear()
    clinic.one = clinic.process()
    clinic.now = at("2026-01-31")
    assert clinic.release() == 1
    (error,) = clinic.work()
    assert "it is another question now" in error["error"]["message"]
    assert clinic.states_of(identity) == ["failed", *["planned"] * 3]
    assert clinic.spent == tc.epsilon(8)


@pytest.mark.full
def test_a_worker_charges_nothing_that_the_ledger_does_not_have(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Charge, "pay", lambda _: None)  # as if the ledger were one of before
        clinic.begin()
    clinic.now = at("2026-01-31")
    clinic.release()
    (error,) = clinic.work()
    assert "no longer has the charge" in error["error"]["message"]
    assert clinic.spent.is_nothing


@pytest.mark.full
def test_a_data_set_that_is_gone_holds_up_no_other_one(clinic: Clinic) -> None:
    identity = clinic.begin()
    (clinic.folder / "visits.toml").rename(clinic.folder / "aside")
    other = clinic.process()
    clinic.now = at("2026-02-01")
    assert other.schedules.release_due() == 0
    assert other.schedules.find(identity).state == "running"
    (clinic.folder / "aside").rename(clinic.folder / "visits.toml")
    clinic.now += 61
    assert clinic.process().schedules.release_due() == 1


def test_in_postgresql_processes_pay_and_release_once(tmp_path: Path, postgres: Any) -> None:
    clinic = Clinic(tmp_path, f"{FAST}database = '{postgres.dsn()}'\n")
    states = [clinic.one, clinic.process()]
    with ThreadPoolExecutor(4) as pool:
        begin = [state.schedules.begin for state in states * 2]
        made = list(pool.map(lambda one: one("visits", QUARTER, ADA), begin))
        assert len({one.id for one in made}) == 1
        assert clinic.spent == tc.epsilon(8)
        clinic.now = at("2026-02-01")
        looks = [state.schedules.release_due for state in states * 4]
        assert sum(pool.map(lambda look: look(), looks)) == 1
    assert len(clinic.work()) == 1
    assert clinic.states_of(made[0].id) == ["done", "planned", "planned", "planned"]
    clinic.one.schedules.cancel(clinic.one.schedules.find(made[0].id), ADA)
    assert clinic.one.audit.verify() == 4
    clinic.stop()
