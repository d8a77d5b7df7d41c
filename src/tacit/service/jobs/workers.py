"""Workers of the queue, and what is recorded of their jobs."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from tacit.service.access import Caller
from tacit.service.audit_log import AuditLog
from tacit.service.jobs.queue import LEASE, MOST_ATTEMPTS, Job, Outcome, Queue
from tacit.service.problem import Problem, problem_of
from tacit.service.telemetry import Metrics, Traces, log

__all__ = [
    "Records",
    "Workers",
]

# Workers: the threads of a process that answer the jobs of the queue.
#
# One more thread keeps house: it renews the leases of what the process works on, and reports, at
# its tick, each job whose outcome became visible.  It reports nothing earlier, because a line in a
# log at the moment when an engine is done would say how long it took.


_T = TypeVar("_T")
_PAUSE = 0.5  # seconds between two looks for what other processes were asked


class Workers:
    """The workers of one process."""

    # tell: reports, once among all processes, the jobs whose tick came.

    def __init__(
        self,
        queue: Queue,
        answer: Callable[[Job], Outcome],
        tell: Callable[[], None],
        count: int,
    ) -> None:
        self._queue, self._answer, self._tell, self._count = queue, answer, tell, count
        self._name = secrets.token_hex(16)
        self._stopping = threading.Event()
        self._work = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._held: set[str] = set()

    def start(self) -> None:
        """Start the threads."""
        names = [(f"tacit worker {k}", self._work_on) for k in range(self._count)]
        for name, run in [*names, ("tacit worker house", self._keep_house)]:
            thread = threading.Thread(target=run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def alive(self) -> bool:
        """Return whether all threads are at work."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def wake(self) -> None:
        """Say that there is a new job."""
        with self._work:
            self._work.notify()

    def stop(self, seconds: float = 10.0) -> None:
        """Stop: what is worked on is finished, or left to the others after its lease."""
        self._stopping.set()
        with self._work:
            self._work.notify_all()
        for thread in self._threads:
            thread.join(seconds)
        self._threads.clear()

    def _work_on(self) -> None:
        while not self._stopping.is_set():
            # A claim that was made before the database went away ends with its lease.
            job = _patiently(lambda: self._queue.claim(self._name))
            if job is not None:
                self._held.add(job.id)
                self._finish(job, self._outcome(job))
                self._held.discard(job.id)
                continue
            with self._work:
                if not self._stopping.is_set():
                    self._work.wait(_PAUSE)

    def _finish(self, job: Job, outcome: Outcome) -> None:
        """Write an outcome down, as soon as the database is there."""
        while _patiently(lambda: self._queue.finish(job, outcome)) is None:
            if self._stopping.wait(_PAUSE):
                return  # its lease ends, and whoever claims it finds the answer in the ledger

    def _outcome(self, job: Job) -> Outcome:
        try:
            if job.attempts > MOST_ATTEMPTS:
                raise Problem(
                    "internal",
                    f"the workers stopped {MOST_ATTEMPTS} times over this question",
                    "its charge, if any, is kept, and the same question asked again costs no "
                    "more; tell the operator",
                )
            return self._answer(job)
        except Exception as error:
            problem = problem_of(error)
            if problem.code == "internal":
                log("unexpected", error=True)
            return Outcome(False, problem.to_json())

    def _keep_house(self) -> None:
        waited = 0.0
        while not self._stopping.wait(_PAUSE):
            waited += _PAUSE
            _patiently(self._tell)
            if waited >= LEASE / 3:
                waited = 0.0
                _patiently(lambda: self._queue.renew(self._name, list(self._held)))


def _patiently(ask: Callable[[], _T]) -> _T | None:
    """Return what the database says; None where it is away, and a line in the log says so."""
    try:
        return ask()
    except Problem:
        log("worker", state="no database")
    except Exception:  # a thread that ends would leave all questions waiting
        log("unexpected", error=True)
    return None


# What is recorded of releases: who asked and decided, and, at its tick, how each came out.


class Records:
    """Writes to the audit log, the log, the metrics and the traces of a service."""

    def __init__(self, queue: Queue, audit: AuditLog, metrics: Metrics, traces: Traces) -> None:
        self._queue, self._audit, self._metrics, self._traces = queue, audit, metrics, traces

    def acted(
        self,
        action: str,
        run: sa.Connection,
        job: Job,
        caller: Caller,
        details: Mapping[str, Any],
    ) -> None:
        """Write down what somebody did, in the transaction that does it."""
        self._audit.acted(
            action,
            caller,
            dataset=job.dataset,
            subject=job.id,
            details=dict(details),
            connection=run,
        )

    def tell(self) -> None:
        """Record the outcome of each job whose tick came, once among all processes."""
        for run, job in self._queue.newly_visible():
            state = str(job.outcome)
            details: dict[str, Any] = {"cost": json.loads(job.cost), "replayed": job.replayed}
            if job.error is not None:
                details["code"] = json.loads(job.error)["error"]["code"]
            self._audit.write(
                "release_answered",
                job.asked_by,
                outcome=state,
                team=job.team,
                token=job.token,
                dataset=job.dataset,
                subject=job.id,
                details=details,
                connection=run,
            )
            log("release", release=job.id, dataset=job.dataset, state=state)
            self._metrics.release(job.dataset, state)
            if job.late:
                self._metrics.late(job.dataset, job.late)
            assert job.visible is not None
            self._traces.release(job.id, job.dataset, state, asked=job.asked, visible=job.visible)
