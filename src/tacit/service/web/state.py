"""The state of a running service: its parts, their readiness and gauges."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from tacit import __version__ as version
from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import float_down, float_up
from tacit.errors import TacitError
from tacit.service.access import Caller, Decisions
from tacit.service.audit_log import AuditLog, BatchWriter, noted_in
from tacit.service.database import Database, Together
from tacit.service.folder import declarations, open_store
from tacit.service.hosting.datasets import Datasets, Hosted
from tacit.service.hosting.declaring import LATEST
from tacit.service.hosting.saved import SavedQuestions
from tacit.service.jobs.queue import Queue
from tacit.service.jobs.release_service import ReleaseService
from tacit.service.jobs.webhook import Webhook
from tacit.service.jobs.workers import ReleaseRecords, Workers
from tacit.service.problem import Problem
from tacit.service.refresh.collection import ReportStore, collections_of
from tacit.service.refresh.dashboards import DashboardRequests, Dashboards
from tacit.service.refresh.refreshes import SUMMARY, Refreshes, Scheduler, schedules_of
from tacit.service.refresh.schedules import ReleaseSchedules, ScheduleRequests
from tacit.service.settings import Settings
from tacit.service.telemetry import Metrics, Sample, Traces
from tacit.service.tokens import TOKEN, Tokens, behind
from tacit.service.web.problems import FailedTokens

if TYPE_CHECKING:
    from tacit.service.login import Provider

# Readiness of a process: its database, its workers, the ledgers and the tables.
#
# What is said is how many of them can be used, and never which, how large they are or how long they
# took: everybody may ask.  A look at the ledgers and tables is remembered for some seconds, and for
# longer where they are many, so that who asks often costs no more; no row is read.


_FRESH = 10.0  # seconds for which a check of the ledgers and tables is cached, at least
_SHARE = 20.0  # times as long as it took: they take a twentieth of the time of a thread at most


class ReadinessChecks:
    """Checks of what a process needs."""

    # clock: seconds that never go back.

    def __init__(
        self,
        database: Database,
        datasets: Datasets,
        workers: Workers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._datasets, self._workers = database, datasets, workers
        self._clock, self._lock = clock, threading.Lock()
        self._looked: dict[str, str] = {}
        self._next = float("-inf")

    def parts(self) -> dict[str, str]:
        """Return the state of each part: ``ready``, ``in part`` or ``failing``."""
        if not self._database.reachable():
            return {"database": "failing"}
        parts = {"database": "ready", "workers": "ready" if self._workers.alive() else "failing"}
        with self._lock:
            if (start := self._clock()) >= self._next:
                self._looked = self._behind()
                end = self._clock()
                self._next = end + max(_FRESH, _SHARE * (end - start))
            return parts | self._looked

    def _behind(self) -> dict[str, str]:
        """Check the ledgers and the tables of all data sets."""
        try:
            every = [self._datasets.of(name) for name in self._datasets.names]
        except TacitError:
            return {"ledgers": "failing", "tables": "failing"}
        return {
            "ledgers": _summary([_works(hosted.check_ledgers) for hosted in every]),
            "tables": _summary([_works(hosted.check_tables) for hosted in every]),
        }


def _works(check: Callable[[], None]) -> bool:
    try:
        check()
    except TacitError:
        return False
    return True


def _summary(good: list[bool]) -> str:
    """Summarise how many work.

    >>> _summary([]), _summary([True, False]), _summary([False])
    ('ready', 'in part', 'failing')
    """
    if all(good):
        return "ready"
    return "in part" if any(good) else "failing"


# The gauges of a service: releases by state, budgets, and the length of the audit log.
#
# Each is read from the store and the ledgers when it is asked for, so it is the same in every
# process, and after a restart.


_BUDGETS = {
    "total": ("tacit_budget", "The total budget"),
    "spent": ("tacit_budget_spent", "What is spent of the budget"),
    "remaining": ("tacit_budget_remaining", "What remains of the budget"),
}
_LABELS = ("of", "team", "unit")


def add_gauges(metrics: Metrics, audit: AuditLog, queue: Queue, datasets: Datasets) -> None:
    """Add the gauges to the metrics of a process."""
    metrics.gauge(
        "tacit_audit_events", "Events in the audit log", (), lambda: [({}, audit.length())]
    )
    metrics.gauge(
        "tacit_releases",
        "Releases, as requesters see them now",
        ("dataset", "state"),
        lambda: [
            ({"dataset": name, "state": state}, number)
            for (name, state), number in queue.count_by_state().items()
        ],
    )
    for part, (name, about) in _BUDGETS.items():
        metrics.gauge(name, about, _LABELS, lambda part=part: _budgets(datasets, part))  # type: ignore[misc]


def _budgets(datasets: Datasets, part: str) -> Iterator[Sample]:
    """Yield a part of the budget of each ledger that exists, each once."""
    seen: set[str] = set()
    for name in datasets.names:
        hosted = datasets.of(name)
        owner = hosted.owner
        for team in hosted.teams():
            key = owner.key(team)
            if key in seen:
                continue
            seen.add(key)
            try:
                amounts = _part(hosted, team, part)
            except TacitError:  # a ledger that is away takes no other one with it
                continue
            labels = {"of": owner.key(None), "team": team or ""}
            for unit, amount in amounts.items():
                yield {**labels, "unit": unit}, amount


def _part(hosted: Hosted, team: str | None, part: str) -> dict[str, float]:
    """Return a part of a budget by its units, rounded against those who ask."""
    budget: Budget = getattr(hosted.ledger(team), part)
    as_float = float_up if part == "spent" else float_down
    unit = "rho" if budget.kind == "concentrated" else "epsilon"
    amounts = {unit: as_float(budget.amount)}
    if budget.kind == "approximate":
        amounts["delta"] = as_float(budget.delta)
    return amounts


# The state that all routes share.


_OF_A_REQUEST = Together(TOKEN, LATEST, SUMMARY)
_MAX_DENIALS = 20  # a minute and a token, in the audit log


class ServiceState:
    """The parts of a running service; nothing runs before :meth:`start`."""

    # clock: seconds since 1970.

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.settings, self.clock = settings, clock
        self.declared = declarations(settings)  # the data sets of the folder, by name
        # the questions of the local model, by name
        self.collections = collections_of(settings.collections, settings.folder)
        self.database, key = open_store(settings)
        self.audit = AuditLog(self.database)
        self.batch_writer = BatchWriter(self.audit)  # of what threads do at once
        self.metrics = Metrics(version, self.database)
        self.traces = Traces()  # the spans of this process
        self.tokens = Tokens(self.database, key, clock, noted_in(self.audit))
        self.provider: Provider | None = None  # the organisation's own login
        if settings.login is not None:
            from tacit.service.login import Provider

            self.provider = Provider(settings.login, f"{settings.url}/sign-in/back", clock)
        # addresses that send tokens which are none
        self.failures = FailedTokens(settings.limits.failed_tokens, time.monotonic)
        # tokens that ask for what they may not do; beyond some a minute the audit log is spared
        self.denials = FailedTokens(_MAX_DENIALS, time.monotonic)
        self.reports = ReportStore(self.database)  # what devices answered
        # when data sets that grow were read again
        self.refreshes = Refreshes(self.database, self.audit, clock)
        self.datasets = Datasets(
            self.declared, settings, self.database, lambda n: self.refreshes.current(n).number
        )
        self.saved = SavedQuestions(self.database, clock)
        queue = Queue(self.database, clock)
        self.webhook = Webhook(self.database, settings.webhook, settings.url, clock)
        self.records = ReleaseRecords(queue, self.audit, self.metrics, self.traces, self.webhook)
        decisions = Decisions(partial(behind, self.database))
        waiting_limit = settings.limits.waiting_jobs
        self.release_service = ReleaseService(
            queue, self.datasets.of, self.records.acted, waiting_limit, clock, decisions
        )
        self.workers = Workers(
            queue, self.release_service.work, self.records.report_outcomes, settings.workers
        )
        self.release_service.wake = self.workers.wake
        self.dashboards = Dashboards(
            self.database, self.audit, self.datasets.session, self.datasets.latency, clock
        )
        # the dashboards that wait for a decision
        self.dashboard_requests = DashboardRequests(
            self.database, self.audit, self.dashboards, decisions, self.webhook, clock
        )
        self.schedules = ReleaseSchedules(
            self.database,
            self.audit,
            queue,
            self.datasets.of,
            self.release_service.hides,
            self.refreshes,
            self.records.acted,
            clock,
            self.datasets.refuse_overlaps,
            self.metrics.refreshed,
        )
        self.schedules.wake = self.workers.wake
        self.release_service.scheduled = self.schedules.reserves
        self.schedule_requests = ScheduleRequests(
            self.database, self.audit, self.schedules, decisions, self.webhook, clock
        )
        schedules_of(self.datasets.refreshed_when())
        self.scheduler = Scheduler(
            lambda: schedules_of(self.datasets.refreshed_when()),
            self.refreshes,
            self.dashboards,
            self.metrics.refreshed,
            self.datasets.refuse_overlaps,
            self.metrics.note,
            self.schedules.release_due,
        )
        self.readiness = ReadinessChecks(self.database, self.datasets, self.workers)
        self.refreshes.begin(*self.declared)
        add_gauges(self.metrics, self.audit, queue, self.datasets)

    def start(self) -> None:
        self.workers.start()
        self.scheduler.start()
        self.webhook.start()

    def ahead(self, token: str, dataset: str) -> AbstractContextManager[None]:
        """Read at once what a request with a token to a data set is going to read."""
        identifier = self.tokens.signed(token)
        if identifier is None:
            return nullcontext()
        return self.database.ahead(_OF_A_REQUEST, identifier=identifier, dataset=dataset)

    def note_denial(self, caller: Caller, action: str, problem: Problem) -> None:
        """Record that a caller asked for something that they may not do."""
        try:
            self.denials.note(caller.token_id)
        except Problem:
            return
        self.audit.acted(
            "denied",
            caller,
            outcome="refused",
            details={"action": action, "because": problem.message},
        )

    def close(self) -> None:
        """Stop what runs, and close all parts."""
        if self.provider is not None:
            self.provider.close()
        self.webhook.stop()
        self.scheduler.stop()
        self.workers.stop()
        self.datasets.close()
        self.database.close()


def state_of(request: Request) -> ServiceState:
    """Return the parts of the service that a request came to."""
    state: ServiceState = request.app.state.tacit
    return state


async def _state_of(request: Request) -> ServiceState:
    return state_of(request)


StateOf = Annotated[ServiceState, Depends(_state_of)]  # a route's parameter: ``state: StateOf``
