"""The queue: asked once, claimed by one, shown at its tick."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import exc

from support.service.jobs import LATENCY, add, find
from tacit.service.database import Database
from tacit.service.jobs.queue import KEY_SECONDS, LEASE, Outcome, Queue, Whose, margin

DONE = Outcome(True)


class Clock:
    """A clock that stands still."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


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
    found: list[str] = []

    def work(name: str) -> None:
        while (job := queue.claim(name)) is not None:
            found.append(job.id)

    threads = [threading.Thread(target=work, args=(str(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(names)


def test_until_its_tick_every_look_is_the_same(queue: Queue, clock: Clock) -> None:
    job = add(queue)

    def look() -> tuple[str, float | None, float]:
        found = find(queue, job)
        return found.shown(clock.now), found.ready_at(clock.now), found.progress(clock.now)

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
    found = find(queue, job)
    assert found.shown(clock.now) == ("done" if outcome.done else "failed")
    assert found.late == 1
    assert (found.error is None) is outcome.done


def test_a_slow_database_moves_an_outcome_to_the_next_tick(queue: Queue, clock: Clock) -> None:
    job = add(queue)
    claimed = queue.claim("w")
    assert claimed is not None
    begin = queue.transaction

    def slow() -> Any:
        clock.now = 1002.5
        return begin()

    queue.transaction = slow  # type: ignore[method-assign]
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
    assert queue.asked_once("ada", "a") == find(queue, job)
    assert queue.asked_once("eve", "a") is None
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
    everything = queue.listed([Whose("visits")])
    assert [job.id for job in everything] == [job.id for job in reversed(jobs)]
    own = queue.listed([Whose("visits", "ada")])
    assert [job.id for job in own] == [jobs[2].id, jobs[0].id]
    page = queue.listed([Whose("visits")], limit=2)
    rest = queue.listed([Whose("visits")], limit=2, before=page[-1].number)
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
    every = [Whose("visits")]
    assert queue.listed(every, left_open=True) == []
    left = queue.listed(every, left_open=True, apart=["visits"])
    assert [job.team for job in left] == ["a", None]
    for team in (None, "a", "b"):
        own = queue.listed([Whose("visits", "ada", (team,))])
        assert {job.team for job in own} == {team}


def test_a_list_by_state_follows_the_ticks(queue: Queue, clock: Clock) -> None:
    job = add(queue)
    add(queue, state="waiting")
    claimed = queue.claim("w")
    assert claimed is not None
    queue.finish(claimed, DONE)

    def states() -> dict[str, int]:
        all_of = [Whose("visits")]
        shown = {s: len(queue.listed(all_of, state=s)) for s in ("running", "done", "waiting")}
        assert {("visits", state): n for state, n in shown.items() if n} == queue.counted()
        return shown

    assert states() == {"running": 1, "done": 0, "waiting": 1}
    assert queue.unfinished("ada") == 2  # it is done, and nobody can see that yet
    clock.now = 1002.0
    assert states() == {"running": 0, "done": 1, "waiting": 1}
    assert queue.unfinished("ada") == 1
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
    told = [job for _, job in queue.newly_visible()]
    assert [job.outcome for job in told] == ["done", "failed"]
    assert json.loads(str(told[1].error)) == error
    assert list(queue.newly_visible()) == []


def test_an_answer_is_hidden_until_a_tick_of_its_question(queue: Queue, clock: Clock) -> None:
    assert not queue.hides("visits", "k")  # nobody asked here: what the ledger holds may be seen
    job = add(queue, key="k")
    add(queue, key="other")
    assert queue.hides("visits", "k")
    claimed = queue.claim("w")
    assert claimed is not None
    assert claimed.id == job.id
    queue.finish(claimed, DONE)
    assert queue.hides("visits", "k")
    clock.now = 1002.0
    assert not queue.hides("visits", "k")
    add(queue, key="k")
    assert not queue.hides("visits", "k")  # it was seen, and stays so
    add(queue, key="k", dataset="births", team="a")
    assert queue.hides("births", "k")  # the same question to another data set is another one
    assert queue.hides("births", "k", ("a",))
    assert not queue.hides("births", "k", ("b",))


def test_an_answer_to_a_question_that_was_given_up_stays_hidden(queue: Queue, clock: Clock) -> None:
    job = add(queue, key="k")
    with queue.transaction() as run:
        queue.change(run, job.id, ("queued",), state="cancelled")
    clock.now += 1000
    assert queue.hides("visits", "k")


def test_a_key_stands_for_its_request_for_a_week(queue: Queue, clock: Clock) -> None:
    clock.now = 1e6
    first = add(queue, once="k", asked=clock.now)
    clock.now += KEY_SECONDS - 1
    assert queue.asked_once("ada", "k") == first
    with pytest.raises(exc.IntegrityError):
        add(queue, once="k", asked=clock.now)
    clock.now += 1
    assert queue.asked_once("ada", "k") is None
    other = add(queue, once="k", asked=clock.now)
    assert queue.asked_once("ada", "k") == other
    assert queue.find(first.id) is not None
