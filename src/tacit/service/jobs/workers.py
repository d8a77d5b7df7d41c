"""Workers of the queue, and the records of their jobs."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, TypeVar

import sqlalchemy as sa

from tacit.service.audit_log import About, AuditLog
from tacit.service.jobs.queue import LEASE, MAX_ATTEMPTS, Act, Job, Outcome, Queue
from tacit.service.jobs.webhook import EVENTS, Webhook
from tacit.service.problem import Problem, problem_of
from tacit.service.telemetry import Metrics, Traces, log

# Workers: the threads of a process that answer the jobs of the queue.
#
# One more thread renews the leases of what the process works on, and reports, at
# its tick, each job whose outcome became visible.  It reports nothing earlier, because a line in a
# log at the moment when an engine is done would reveal how long it took.


_T = TypeVar("_T")
_PAUSE = 0.5  # seconds between two looks for jobs of other processes


class Workers:
    # report: records, once among all processes, the jobs whose tick came.

    def __init__(
        self, queue: Queue, answer: Callable[[Job], Outcome], report: Callable[[], None], count: int
    ) -> None:
        self._queue, self._answer, self._report, self._count = queue, answer, report, count
        self._name = secrets.token_hex(16)
        self._stopping = threading.Event()
        self._work = threading.Condition()
        self._woken = 0  # how often; so that no call between a look and a wait is lost
        self._threads: list[threading.Thread] = []
        self._claimed: set[str] = set()

    def start(self) -> None:
        names = [(f"tacit worker {k}", self._work_on) for k in range(self._count)]
        for name, run in [*names, ("tacit worker upkeep", self._maintain)]:
            thread = threading.Thread(target=run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def alive(self) -> bool:
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def wake(self) -> None:
        """Wake a worker: there is a new job."""
        with self._work:
            self._woken += 1
            self._work.notify()

    def stop(self, seconds: float = 10.0) -> None:
        """Stop: jobs in progress are finished, or left to other processes after their lease."""
        self._stopping.set()
        with self._work:
            self._work.notify_all()
        for thread in self._threads:
            thread.join(seconds)
        self._threads.clear()

    def _work_on(self) -> None:
        while not self._stopping.is_set():
            woken = self._woken
            # A claim made before the database became unavailable ends with its lease.
            job = _try_database(lambda: self._queue.claim(self._name))
            if job is not None:
                self._claimed.add(job.id)
                self._finish(job, self._outcome(job))
                self._claimed.discard(job.id)
                continue
            with self._work:
                if self._woken == woken and not self._stopping.is_set():
                    self._work.wait(_PAUSE)

    def _finish(self, job: Job, outcome: Outcome) -> None:
        """Write an outcome once the database is reachable."""
        while _try_database(lambda: self._queue.finish(job, outcome)) is None:
            if self._stopping.wait(_PAUSE):
                return  # its lease ends, and the next claim finds the answer in the ledger

    def _outcome(self, job: Job) -> Outcome:
        try:
            if job.attempts > MAX_ATTEMPTS:
                raise Problem(
                    "internal",
                    f"the workers stopped {MAX_ATTEMPTS} times over this question",
                    "its charge, if any, stays, and the same question asked again costs no "
                    "more; tell the operator",
                )
            return self._answer(job)
        except Exception as error:
            problem = problem_of(error)
            if problem.code == "internal":
                log("unexpected", error=True)
            return Outcome(False, problem.to_json())

    def _maintain(self) -> None:
        waited = 0.0
        while not self._stopping.wait(_PAUSE):
            waited += _PAUSE
            _try_database(self._report)
            if waited >= LEASE / 3:
                waited = 0.0
                _try_database(lambda: self._queue.renew(self._name, list(self._claimed)))


def _try_database(call: Callable[[], _T]) -> _T | None:
    """Return the result of a call to the database; None, and a line in the log, if it fails."""
    try:
        return call()
    except Problem:
        log("worker", state="no database")
    except Exception:  # a thread that ends would leave all questions waiting
        log("unexpected", error=True)
    return None


# Records of releases: who asked and decided, and, at its tick, the outcome.


class ReleaseRecords:
    """Writes to the audit log, the log, the metrics, the traces and the webhook of a service."""

    def __init__(
        self, queue: Queue, audit: AuditLog, metrics: Metrics, traces: Traces, webhook: Webhook
    ) -> None:
        self._queue, self._audit, self._metrics, self._traces = queue, audit, metrics, traces
        self._webhook = webhook

    def acted(self, action: str, run: sa.Connection, acts: Sequence[Act]) -> None:
        """Write acts on jobs to the audit log, in the transaction that does them."""
        events: list[tuple[str, str, About]] = []
        for job, caller, details in acts:
            about: About = {
                "team": caller.team,
                "token": caller.token_id,
                "dataset": job.dataset,
                "subject": job.id,
                "details": dict(details),
            }
            events.append((action, caller.name, about))
            if _is_over(action, job):
                events.append(_answered(job))
        self._audit.write_together(events, run)
        for job, _, _ in acts:
            if _is_over(action, job):
                self._report(run, job)
            elif action != "release_asked" or job.state == "waiting":
                self._webhook.note(run, EVENTS[action], job, job.decided_by)

    def report_outcomes(self) -> None:
        """Record the outcome of each job whose tick came, once among all processes."""
        # closed here: the end of a transaction that failed may fail too, of a server that is away
        with closing(self._queue.newly_visible()) as visible:
            for run, jobs in visible:
                self._audit.write_together([_answered(job) for job in jobs], run)
                for job in jobs:
                    self._report(run, job)

    def _report(self, run: sa.Connection, job: Job) -> None:
        state = str(job.outcome)
        self._webhook.note(run, state, job, job.decided_by)
        log("release", release=job.id, dataset=job.dataset, state=state)
        self._metrics.release(job.dataset, state)
        if job.late:
            self._metrics.late(job.dataset, job.late)
        assert job.visible is not None
        self._traces.release(job.id, job.dataset, state, asked_at=job.asked_at, visible=job.visible)


def _is_over(action: str, job: Job) -> bool:
    """Return True if a job was answered at once."""
    return action == "release_asked" and job.state == "over"


def _answered(job: Job) -> tuple[str, str, About]:
    """Return the event of an outcome that became visible."""
    details: dict[str, Any] = {"cost": json.loads(job.cost), "replayed": job.replayed}
    if job.error is not None:
        details["code"] = json.loads(job.error)["error"]["code"]
    return (
        "release_answered",
        job.asked_by,
        {
            "outcome": str(job.outcome),
            "team": job.team,
            "token": job.token,
            "dataset": job.dataset,
            "subject": job.id,
            "details": details,
        },
    )
