"""The queue: asked once, claimed by one, shown at its tick."""

from __future__ import annotations

import io
import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import exc

from support.servers.postgres_server import Database as KilledWorkersDatabase
from support.service.client import Client, running
from support.service.clock import Clock
from support.service.hosting import COUNT, DECLARED, hosted_clinic, released
from support.service.jobs import LATENCY, add, find, hides, unfinished
from support.service.other_process import ADA, PLACES, QUESTION, Mortals
from support.service.pages import Browser
from support.threads import at_once
from tacit.accounting import epsilon
from tacit.errors import BudgetError
from tacit.service.database import Database, Prepared
from tacit.service.hosting.ask import Ask
from tacit.service.jobs import workers as module
from tacit.service.jobs.queue import (
    KEY_SECONDS,
    LEASE,
    MAX_ATTEMPTS,
    Job,
    JobScope,
    Outcome,
    Queue,
    margin,
    next_tick,
    tick_after,
    ticks_late,
)
from tacit.service.jobs.workers import ReleaseRecords, Workers
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.service.telemetry import configure
from tacit.service.web.state import ServiceState

DONE = Outcome(True)


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture(params=["sqlite", "postgres"])
def queue(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Queue]:
    address = f"sqlite:///{tmp_path / 'service.db'}"
    if request.param == "postgres":
        address = request.getfixturevalue("postgres").dsn()
    database = Database(address)
    database.create()
    yield Queue(database, clock)
    database.close()


def test_a_job_is_claimed_once_and_in_order(queue: Queue) -> None:
    first, second = add(queue), add(queue)
    claimed = [queue.claim("w"), queue.claim("v"), queue.claim("w")]
    assert [job and job.id for job in claimed] == [first.id, second.id, None]
    assert [job and job.worker for job in claimed] == ["w", "v", None]


def test_many_threads_claim_each_job_once(queue: Queue) -> None:
    names = {add(queue).id for _ in range(12)}
    result: list[str] = []

    def work(name: str) -> None:
        while (job := queue.claim(name)) is not None:
            result.append(job.id)

    at_once(work, (str(k) for k in range(4)))
    assert sorted(result) == sorted(names)


def test_until_its_tick_every_look_is_the_same(queue: Queue, clock: Clock) -> None:
    job = add(queue)

    def look() -> tuple[str, float | None, float]:
        result = find(queue, job)
        return result.shown(clock.now), result.ready_at(clock.now), result.progress(clock.now)

    clock.now = 1001.0
    looks = {look()}
    claimed = queue.claim("w")
    assert claimed is not None
    looks.add(look())
    assert queue.finish(claimed, DONE)
    looks.add(look())
    assert looks == {("running", 1002.0, 0.5)}
    clock.now = 1002.0
    assert look() == ("done", 1002.0, 1.0)


@pytest.mark.parametrize("outcome", [DONE, Outcome(False, {"error": {"code": "internal"}})])
def test_whatever_the_outcome_is_it_waits_for_its_tick(
    queue: Queue, clock: Clock, outcome: Outcome
) -> None:
    job = add(queue)
    claimed = queue.claim("w")
    assert claimed is not None
    clock.now = 1002.0 - margin(LATENCY) / 2  # too late to be sure of the first tick
    queue.finish(claimed, outcome)
    clock.now = 1003.99
    assert find(queue, job).shown(clock.now) == "running"
    assert find(queue, job).ready_at(clock.now) == 1004.0
    clock.now = 1004.0
    result = find(queue, job)
    assert result.shown(clock.now) == ("done" if outcome.done else "failed")
    assert result.late == 1
    assert (result.error is None) is outcome.done


def test_a_slow_database_moves_an_outcome_to_the_next_tick(queue: Queue, clock: Clock) -> None:
    job = add(queue)
    claimed = queue.claim("w")
    assert claimed is not None
    write = queue._database.alone

    def slow(*given: Any, **values: Any) -> Any:
        clock.now = 1002.5
        return write(*given, **values)

    queue._database.alone = slow  # type: ignore[method-assign]
    clock.now = 1001.0
    queue.finish(claimed, DONE)
    assert find(queue, job).shown(1003.0) == "running"
    assert find(queue, job).shown(1004.0) == "done"


def test_a_worker_that_stops_leaves_its_job_to_others(queue: Queue, clock: Clock) -> None:
    job = add(queue)
    first = queue.claim("dead")
    assert first is not None
    clock.now += LEASE - 1
    assert queue.claim("w") is None
    queue.renew("dead", [job.id])
    clock.now += LEASE - 1
    assert queue.claim("w") is None
    clock.now += 2
    again = queue.claim("w")
    assert again is not None
    assert (again.id, again.attempts) == (job.id, 2)
    assert not queue.finish(first, Outcome(False))
    assert queue.finish(again, DONE)
    assert find(queue, job).outcome == "done"


def test_a_clock_set_back_holds_no_job(queue: Queue, clock: Clock) -> None:
    add(queue)
    assert queue.claim("dead") is not None
    clock.now -= 100_000
    assert queue.claim("w") is not None


def test_an_idempotency_key_is_used_once_a_person(queue: Queue) -> None:
    job = add(queue, once="a")
    assert queue.find_by_key("ada", "a") == find(queue, job)
    assert queue.find_by_key("eve", "a") is None
    add(queue, once="a", asked_by="eve")
    with pytest.raises(exc.IntegrityError):
        add(queue, once="a")
    add(queue), add(queue)


def test_a_state_changes_only_from_where_it_may(queue: Queue) -> None:
    job = add(queue, state="waiting")
    assert queue.claim("w") is None
    with queue.transaction() as run:
        assert queue.change(run, job.id, ("queued",), state="cancelled") is None
        changed = queue.change(run, job.id, ("waiting",), state="refused", reason="no")
    assert changed is not None
    assert (changed.shown(0), changed.reason, changed.ready_at(0)) == ("refused", "no", None)
    assert changed.progress(0) == 1.0
    with queue.transaction() as run:
        assert queue.change(run, job.id, ("waiting",), state="queued") is None


def test_lists_are_in_pages_and_by_who_may_see(queue: Queue, clock: Clock) -> None:
    jobs = [add(queue, asked_by=who) for who in ("ada", "eve", "ada")]
    add(queue, dataset="births")
    everything = queue.listed([JobScope("visits")])
    assert [job.id for job in everything] == [job.id for job in reversed(jobs)]
    own = queue.listed([JobScope("visits", "ada")])
    assert [job.id for job in own] == [jobs[2].id, jobs[0].id]
    page = queue.listed([JobScope("visits")], limit=2)
    rest = queue.listed([JobScope("visits")], limit=2, before=page[-1].number)
    assert [job.id for job in [*page, *rest]] == [job.id for job in everything]
    assert queue.listed([]) == []


def test_where_teams_stand_apart_each_has_its_own(queue: Queue, clock: Clock) -> None:
    """A charge that is left open is so until the same team has its answer, not another one."""
    failed = [add(queue, team=team) for team in (None, "a", "b")]
    for job in failed:
        claimed = queue.claim("w")
        assert claimed is not None
        assert claimed.id == job.id
        queue.finish(claimed, Outcome(False, {"error": {"code": "internal"}}))
    add(queue, team="b", started=1001.0)
    claimed = queue.claim("w")
    assert claimed is not None
    queue.finish(claimed, DONE)
    clock.now += 1000
    every = [JobScope("visits")]
    assert queue.listed(every, left_open=True) == []
    left = queue.listed(every, left_open=True, per_team=["visits"])
    assert [job.team for job in left] == ["a", None]
    for team in (None, "a", "b"):
        own = queue.listed([JobScope("visits", "ada", (team,))])
        assert {job.team for job in own} == {team}


def test_a_list_by_state_follows_the_ticks(queue: Queue, clock: Clock) -> None:
    job = add(queue)
    add(queue, state="waiting")
    claimed = queue.claim("w")
    assert claimed is not None
    queue.finish(claimed, DONE)

    def states() -> dict[str, int]:
        all_of = [JobScope("visits")]
        shown = {s: len(queue.listed(all_of, state=s)) for s in ("running", "done", "waiting")}
        assert {("visits", state): n for state, n in shown.items() if n} == queue.count_by_state()
        return shown

    assert states() == {"running": 1, "done": 0, "waiting": 1}
    assert unfinished(queue, "ada") == 2  # it is done, and nobody can see that yet
    clock.now = 1002.0
    assert states() == {"running": 0, "done": 1, "waiting": 1}
    assert unfinished(queue, "ada") == 1
    assert find(queue, job).shown(clock.now) == "done"


def test_an_outcome_is_told_once_and_not_before_its_tick(queue: Queue, clock: Clock) -> None:
    error = {"error": {"code": "unavailable"}}
    for outcome in (DONE, Outcome(False, error)):
        add(queue)
        claimed = queue.claim("w")
        assert claimed is not None
        queue.finish(claimed, outcome)
    assert list(queue.newly_visible()) == []
    clock.now = 1002.0
    told = [job for _, jobs in queue.newly_visible() for job in jobs]
    assert [job.outcome for job in told] == ["done", "failed"]
    assert json.loads(str(told[1].error)) == error
    assert list(queue.newly_visible()) == []


def test_an_answer_is_hidden_until_a_tick_of_its_question(queue: Queue, clock: Clock) -> None:
    assert not hides(queue, "visits", "k")  # nobody asked here: what the ledger holds may be seen
    job = add(queue, key="k")
    add(queue, key="other")
    assert hides(queue, "visits", "k")
    claimed = queue.claim("w")
    assert claimed is not None
    assert claimed.id == job.id
    queue.finish(claimed, DONE)
    assert hides(queue, "visits", "k")
    clock.now = 1002.0
    assert not hides(queue, "visits", "k")
    add(queue, key="k")
    assert not hides(queue, "visits", "k")  # it was seen, and stays so
    add(queue, key="k", dataset="births", team="a")
    assert hides(queue, "births", "k")  # the same question to another data set is another one
    assert hides(queue, "births", "k", ("a",))
    assert not hides(queue, "births", "k", ("b",))


@pytest.mark.parametrize("queue", ["sqlite"], indirect=True)  # whose steps can be counted
def test_a_question_that_was_asked_often_takes_no_longer(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [0]
    done = Prepared.done

    def counted(statement: Prepared, connection: Any, *values: Any, **more: Any) -> Any:
        connection.set_progress_handler(lambda: steps.append(steps.pop() + 1), 1)
        return done(statement, connection, *values, **more)

    def asked(times: int) -> dict[str, int]:
        for _ in range(times):
            job = add(queue, key="k")
            claimed = queue.claim("w")
            assert claimed is not None
            queue.finish(claimed, DONE)
        clock.now += 1000
        list(queue.newly_visible())
        every = {
            "hides": lambda: hides(queue, "visits", "k"),
            "first": lambda: queue.first_done(job, of_team=False),
            "unfinished": lambda: unfinished(queue, "ada"),
            "claim": lambda: queue.claim("w"),
        }
        took = {}
        with monkeypatch.context() as patch:
            patch.setattr(Prepared, "done", counted)
            for name, call in every.items():
                steps[:] = [0]
                call()
                took[name] = steps[0]
        assert min(took.values()) > 0
        return took

    few = asked(20)
    many = asked(400)
    assert all(many[name] <= 1.5 * few[name] for name in few), (few, many)


def test_an_answer_to_a_question_that_was_given_up_stays_hidden(queue: Queue, clock: Clock) -> None:
    job = add(queue, key="k")
    with queue.transaction() as run:
        queue.change(run, job.id, ("queued",), state="cancelled")
    clock.now += 1000
    assert hides(queue, "visits", "k")


def test_a_key_stands_for_its_request_for_a_week(queue: Queue, clock: Clock) -> None:
    clock.now = 1e6
    first = add(queue, once="k", asked_at=clock.now)
    clock.now += KEY_SECONDS - 1
    assert queue.find_by_key("ada", "k") == first
    with pytest.raises(exc.IntegrityError):
        add(queue, once="k", asked_at=clock.now)
    clock.now += 1
    assert queue.find_by_key("ada", "k") is None
    other = add(queue, once="k", asked_at=clock.now)
    assert queue.find_by_key("ada", "k") == other
    assert queue.find(first.id) is not None


# A process that is killed at any place of a release: one charge, one noise, and it goes on.


def later() -> float:
    """A clock of a machine on which the lease of the dead is over."""
    return time.time() + 3 * LEASE / 2


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_place(tmp_path: Path, mortals: Mortals, place: str) -> None:
    goes_on(hosted_clinic(tmp_path), mortals, place)


IN_SHORT = ("in the charge",)


@pytest.mark.parametrize(
    "place", [p if p in IN_SHORT else pytest.param(p, marks=pytest.mark.slow) for p in PLACES]
)
def test_killed_at_every_place_on_postgresql(
    tmp_path: Path, postgres: KilledWorkersDatabase, mortals: Mortals, place: str
) -> None:
    """The database of the service and the ledger are on a server, which lives on."""
    dsn = postgres.dsn()
    ledger = f"{dsn}{'&' if '?' in dsn else '?'}ledger=visits"
    folder = hosted_clinic(tmp_path, f"database = '{dsn}'\n", f"ledger = '{ledger}'\n{DECLARED}")
    goes_on(folder, mortals, place)


def goes_on(folder: Path, mortals: Mortals, place: str) -> None:
    """A process is killed at a place, and another one goes on with what it left."""
    settings = Settings.load(folder)
    first = ServiceState(settings)
    assert first.datasets.of("visits").ledger(None).spent.is_nothing
    first.datasets.close()
    first.database.close()
    assert mortals.end("killed", str(folder), place) == -signal.SIGKILL
    state = ServiceState(settings, later)
    ledger = state.datasets.of("visits").ledger(None)
    before = ledger.history()
    assert len(before) <= 1
    job = state.release_service.submit("visits", ADA, Ask.from_json(QUESTION), "once")
    state.workers.start()
    end = time.monotonic() + 90
    while (result := state.release_service.queue.find(job.id)) is None or result.state != "over":
        assert time.monotonic() < end, result
        time.sleep(0.02)
    (entry,) = ledger.history()
    assert result.outcome == "done"
    assert ledger.spent == epsilon(1)
    assert (
        state.release_service.answer(result).to_dict()["n"] == entry.answer["columns"][0]["value"]
    )  # type: ignore[index]
    if before and before[0].answer is not None:
        assert before[0].answer == entry.answer
    assert [event.event for event in ledger.events()].count("answer") == 1
    ledger.verify_chain()
    state.close()


# Ticks: an outcome becomes visible as a function of the public clock.


TIMES = st.floats(min_value=0, max_value=1e6)
LATENCIES = st.floats(min_value=0.01, max_value=3600)


@given(TIMES, LATENCIES, TIMES)
def test_a_tick_is_a_power_of_two_of_the_latency(asked: float, latency: float, took: float) -> None:
    tick = next_tick(asked, latency, asked + took)
    assert tick > asked + took
    power = math.log2((tick - asked) / latency)
    assert abs(power - round(power)) < 1e-6
    assert round(power) >= 0


@given(TIMES, LATENCIES, TIMES, TIMES)
def test_what_is_done_within_the_latency_is_shown_at_the_same_moment(
    asked: float, latency: float, one: float, other: float
) -> None:
    within = [asked + (took % 1) * (latency - margin(latency)) * 0.999 for took in (one, other)]
    ticks = {tick_after(asked, latency, done) for done in within}
    assert ticks == {asked + latency}


@given(LATENCIES, st.floats(min_value=1, max_value=1e5))
def test_time_tells_few_bits(latency: float, slowest: float) -> None:
    """Of engine times up to a factor of the latency, at most log2 of it ticks can be told apart."""
    ticks = {tick_after(0, latency, latency * slowest * k / 500) for k in range(501)}
    assert len(ticks) <= math.log2(slowest) + 3


@given(LATENCIES)
def test_an_outcome_is_written_down_before_its_tick(latency: float) -> None:
    assert 0 < margin(latency) <= latency / 2
    just_too_late = latency - margin(latency) * 0.99
    assert tick_after(0, latency, just_too_late) == 2 * latency


def test_how_late_a_tick_is() -> None:
    assert [ticks_late(10, 2, visible) for visible in (10, 12, 14, 18, 26)] == [0, 0, 1, 2, 3]


# What a caller sees of a job at a moment.


ASKED: dict[str, Any] = dict.fromkeys(Job.__dataclass_fields__) | {
    "state": "queued",
    "started": 100.0,
    "latency": 2.0,
}


def job(**changes: Any) -> Job:
    return Job(**{**ASKED, **changes})


@pytest.mark.parametrize(
    ("changes", "now", "shown", "ready", "progress"),
    [
        ({"state": "waiting"}, 101, "waiting", None, 0.0),
        ({}, 101, "running", 102, 0.5),
        ({"state": "over", "outcome": "done", "visible": 104.0}, 103, "running", 104, 0.75),
        ({"state": "over", "outcome": "done", "visible": 104.0}, 104, "done", 104, 1.0),
        ({"state": "over", "outcome": "failed", "visible": 102.0}, 105, "failed", 102, 1.0),
        ({"state": "cancelled"}, 105, "cancelled", None, 1.0),
    ],
)
def test_before_its_tick_it_is_under_way(
    changes: Any, now: float, shown: str, ready: Any, progress: float
) -> None:
    one = job(**changes)
    assert (one.shown(now), one.ready_at(now), one.progress(now)) == (shown, ready, progress)


def test_it_is_late_by_ticks_that_double() -> None:
    assert [job(visible=at).late for at in (None, 102.0, 104.0, 108.0)] == [0, 0, 1, 2]


# Workers: threads that answer, and say nothing of how long they took.


@pytest.fixture
def workers_queue(tmp_path: Path) -> Iterator[Queue]:
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    database.create()
    yield Queue(database, time.time)
    database.close()


def over(queue: Queue, job: Job) -> Job:
    end = time.monotonic() + 20
    while (result := find(queue, job)).state != "over":
        assert time.monotonic() < end
        time.sleep(0.01)
    return result


def test_they_answer_wake_up_and_stop(workers_queue: Queue) -> None:
    told = threading.Event()
    workers = Workers(workers_queue, lambda _: Outcome(True), told.set, 2)
    workers.start()
    job = add(workers_queue, started=time.time())
    workers.wake()
    assert over(workers_queue, job).outcome == "done"
    assert told.wait(10)
    workers.stop()
    late = add(workers_queue)
    time.sleep(0.05)
    assert find(workers_queue, late).state == "queued"


def test_a_job_that_comes_while_a_worker_looks_does_not_wait_for_its_pause(
    workers_queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 3_600.0)
    claim, added = workers_queue.claim, list[Job]()

    def comes_late(worker: str) -> Job | None:
        """Look, and only then have the job added: its call finds no one who waits."""
        found = claim(worker)
        if not added:
            added.append(add(workers_queue))
            workers.wake()
        return found

    monkeypatch.setattr(workers_queue, "claim", comes_late)
    workers = Workers(workers_queue, lambda _: Outcome(True), lambda: None, 1)
    workers.start()
    while not added:
        time.sleep(0.001)
    try:
        assert over(workers_queue, added[0]).outcome == "done"
    finally:
        workers.stop()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BudgetError("more than remains"), "budget_exceeded"),
        (Problem("conflict", "declared anew"), "conflict"),
        (ValueError("ada has HIV"), "internal"),
        (MemoryError("ada has HIV"), "internal"),
    ],
)
def test_an_error_becomes_an_outcome_without_the_words_of_an_engine(
    workers_queue: Queue, error: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_job: Job) -> Outcome:
        raise error

    workers = Workers(workers_queue, fail, lambda: None, 1)
    workers.start()
    job = add(workers_queue)
    workers.wake()
    result = over(workers_queue, job)
    workers.stop()
    assert result.outcome == "failed"
    assert json.loads(str(result.error))["error"]["code"] == code
    assert "HIV" not in str(result.error)


def test_a_job_that_kills_its_workers_is_given_up(workers_queue: Queue) -> None:
    job = add(workers_queue, attempts=MAX_ATTEMPTS)
    workers = Workers(workers_queue, lambda _: Outcome(True), lambda: None, 1)
    workers.start()
    result = over(workers_queue, job)
    workers.stop()
    assert result.outcome == "failed"
    assert "stopped 5 times" in str(result.error)


def test_a_database_that_is_away_is_waited_for(
    workers_queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    lost: list[str] = []
    errors = [Problem("unavailable", "the database failed"), RuntimeError("ada has HIV")]

    def away(name: str) -> None:
        whole = getattr(workers_queue, name)

        def fails(*given: Any) -> Any:
            if lost.count(name) < 3:
                lost.append(name)
                raise errors[lost.count(name) % 2]
            return whole(*given)

        monkeypatch.setattr(workers_queue, name, fails)

    away("claim")
    away("finish")
    workers = Workers(workers_queue, lambda _: Outcome(True), lambda: None, 1)
    workers.start()
    job = add(workers_queue)
    assert over(workers_queue, job).outcome == "done"
    workers.stop()
    assert [lost.count(name) for name in ("claim", "finish")] == [3, 3]


def test_a_lease_is_renewed_for_what_is_worked_on_and_nothing_else(
    workers_queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    monkeypatch.setattr(module, "LEASE", 0.03)
    renewed: list[list[str]] = []
    monkeypatch.setattr(workers_queue, "renew", lambda _worker, names: renewed.append(names))
    go_on = threading.Event()

    def work(_job: Job) -> Outcome:
        go_on.wait(20)
        return Outcome(True)

    workers = Workers(workers_queue, work, lambda: None, 1)
    job = add(workers_queue)
    workers.start()
    end = time.monotonic() + 20
    while [job.id] not in renewed:
        assert time.monotonic() < end
        time.sleep(0.01)
    go_on.set()
    over(workers_queue, job)
    time.sleep(0.1)
    workers.stop()
    assert renewed[-1] == []


# A curator makes a second name, which decides on nothing that the first one asked.


HERE = "/v1/datasets/visits/releases"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path, "approval = true")) as client:
        yield client


def second(client: Client, maker: str, name: str, role: str = "curator") -> str:
    body = {"name": name, "grants": [{"role": role, "dataset": "visits"}], "days": 1}
    text: str = client.post("/v1/tokens", json=body, token=maker).json()["token"]
    return text


def asked(client: Client, token: str, tag: str) -> str:
    reply: Any = client.post(HERE, json={**COUNT, "tag": tag}, token=token).json()
    return str(reply["id"])


@pytest.mark.full
def test_a_second_name_decides_on_nothing_of_its_maker(client: Client) -> None:
    cleo = client.token("curator", "visits", "cleo")
    rita = client.token("reviewer", "visits", "rita")
    ada, hand = second(client, cleo, "ada", "analyst"), second(client, cleo, "hand")
    third = second(client, hand, "third")
    body = {"grants": [{"role": "curator", "dataset": "visits"}], "days": 1}
    narrowed = client.post("/v1/tokens/narrow", json=body, token=hand).json()["token"]
    release = asked(client, cleo, "1")
    of_ada = asked(client, ada, "2")
    for token in (hand, third, narrowed, cleo):
        for one in (release, of_ada):
            for act, said in (("approve", None), ("refuse", {"reason": "no"})):
                reply = client.post(f"/v1/releases/{one}/{act}", json=said, token=token)
                assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
        assert "Nothing waits" in Browser(client, token).get("/approvals").text
    by_hand = asked(client, third, "3")
    assert client.post(f"/v1/releases/{by_hand}/approve", token=cleo).status_code == 403
    assert "Nothing waits" not in Browser(client, rita).get("/approvals").text
    for one in (release, of_ada, by_hand):
        assert client.post(f"/v1/releases/{one}/approve", token=rita).status_code == 200


# What is recorded of releases, and when.


@pytest.mark.full
def test_an_outcome_is_recorded_once_and_after_its_tick(tmp_path: Path) -> None:
    out = io.StringIO()
    handler = configure(out)
    folder = hosted_clinic(tmp_path)
    with running(folder) as one, running(folder) as other:
        token = one.token("analyst", "visits", "ada", team="oncology")
        result = released(one, token)
        for client in (one, other):
            client.state.workers.stop()
        for _ in range(3):
            one.state.records.report_outcomes()
            other.state.records.report_outcomes()
        for client in (one, other):  # as their clocks do: either may have recorded it
            client.state.metrics.note()
        events = [e for e in one.state.audit.read(0, 100) if e.subject == result["id"]]
        asked, answered = events
        assert (asked.action, asked.who, asked.team) == ("release_asked", "ada", "oncology")
        assert (answered.action, answered.outcome) == ("release_answered", "done")
        assert answered.details == {"cost": result["cost"], "replayed": False}
        texts = [client.state.metrics.text() for client in (one, other)]
        for text in texts:  # counted once among all processes, and shown by each
            assert 'tacit_outcomes_total{dataset="visits",state="done"} 1.0' in text
    handler.close()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    told = [line for line in lines if line["event"] == "release"]
    assert [(line["release"], line["state"]) for line in told] == [(result["id"], "done")]
    assert COUNT["sql"] not in out.getvalue()


def test_what_may_be_done_again_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    """The claim and the outcome of a job; what callers were told does."""
    with Database(f"sqlite:///{tmp_path}/service.db") as database:
        database.create()
        levels: list[tuple[str, int]] = []

        def note(connection: sa.Connection, *_: Any) -> None:
            raw = connection.connection.driver_connection
            assert raw is not None
            levels.append(("commit", raw.execute("PRAGMA synchronous").fetchone()[0]))

        sa.event.listen(database._engine, "commit", note)
        clock = Clock(1000.0)
        queue = Queue(database, clock)
        job = add(queue)
        claimed = queue.claim("w")
        assert claimed is not None
        queue.renew("w", [job.id])
        assert queue.finish(claimed, DONE)
        assert levels == [("commit", 2), *3 * [("commit", 1)]]
        clock.now = 1002.0
        levels.clear()
        assert [one.id for _, jobs in queue.newly_visible() for one in jobs] == [job.id]
        assert levels == [("commit", 2)]


def test_many_outcomes_are_reported_together(queue: Queue, clock: Clock) -> None:
    for _ in range(130):
        add(queue)
        claimed = queue.claim("w")
        assert claimed is not None
        queue.finish(claimed, DONE)
    clock.now += 2
    assert [len(jobs) for _, jobs in queue.newly_visible()] == [100, 30]
    assert list(queue.newly_visible()) == []


def test_who_finds_that_another_process_was_first_reports_nothing(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path}/service.db") as database:
        database.create()
        clock = Clock(1000.0)
        one, other = Queue(database, clock), Queue(database, clock)
        add(one)
        claimed = one.claim("w")
        assert claimed is not None
        one.finish(claimed, DONE)
        clock.now += 2
        scalar = other._database.scalar

        def late(*query: Any, **values: Any) -> Any:
            due = scalar(*query, **values)
            assert [len(jobs) for _, jobs in one.newly_visible()] == ([] if due is None else [1])
            return due

        other._database = type(
            "Late", (), {"scalar": staticmethod(late), "begin": database.begin}
        )()  # type: ignore[assignment]
        one._database = database
        assert list(other.newly_visible()) == []


def test_a_database_that_goes_away_while_outcomes_are_reported_is_an_error_in_its_place() -> None:
    away = Problem("unavailable", "the database went away", "")

    class Failing:
        def newly_visible(self) -> Iterator[tuple[None, list[Job]]]:
            try:
                yield None, []
            finally:
                raise away  # of the transaction, whose connection is gone too

        def write_together(self, *_: object) -> None:
            raise RuntimeError("the audit log cannot be written")

    failing: Any = Failing()
    with pytest.raises(Problem, match="went away"):  # and none that nobody sees
        ReleaseRecords(failing, failing, failing, failing, failing).report_outcomes()
