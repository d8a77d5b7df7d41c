"""What all routes share: the settings, the database, the tokens, and the parts of the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

from fastapi import Depends, Request

from tacit import __version__ as version
from tacit.service.access.caller import Caller
from tacit.service.access.decisions import Decisions
from tacit.service.access.token_table import behind
from tacit.service.access.tokens import Tokens
from tacit.service.folder import declarations, open_store
from tacit.service.growing.clockwork import Clockwork
from tacit.service.growing.collection import Collection, collections_of
from tacit.service.growing.dashboard_requests import DashboardRequests
from tacit.service.growing.dashboards import Dashboards
from tacit.service.growing.refreshes import Refreshes
from tacit.service.growing.report_store import ReportStore
from tacit.service.growing.schedule import schedules_of
from tacit.service.hosting.datasets import Datasets
from tacit.service.jobs.desk import Desk
from tacit.service.jobs.queue import Queue
from tacit.service.jobs.records import Records
from tacit.service.jobs.workers import Workers
from tacit.service.login import Provider
from tacit.service.problem import Problem
from tacit.service.seeing.audit_log import AuditLog
from tacit.service.seeing.gathered import Gathered
from tacit.service.seeing.metrics import Metrics
from tacit.service.seeing.token_notes import noted_in
from tacit.service.seeing.traces import Traces
from tacit.service.settings import Settings
from tacit.service.store.database import Database
from tacit.service.web.failures import FailedTokens
from tacit.service.web.gauges import add_gauges
from tacit.service.web.readiness import Readiness
from tacit.tables.dataset.declaration import Dataset

__all__ = ["State", "StateOf", "state_of"]

_MOST_DENIALS = 20  # a minute and a token, in the audit log


@dataclass
class State:
    """The parts of a running service.

    Attributes:
        settings: as the folder says.
        declared: the data sets, by name.
        database: what the service remembers.
        tokens: who may do what.
        provider: of the organisation's own login, or None.
        failures: of addresses that send tokens which are none.
        denials: of tokens that ask for what they may not do; beyond some a minute the audit log is
            spared.
        audit: who did what.
        metrics: the numbers of the service.
        traces: the spans of this process.
        refreshes: when data sets that grow were read again.
        collections: the questions of the local model, by name.
        reports: what devices answered.
        datasets: the data sets, open for questions.
        desk: takes and answers questions.
        workers: the threads that answer them.
        records: what is recorded of them.
        dashboards: counts over time.
        dashboard_requests: those that wait for a decision.
        clockwork: does what is due by the clock.
        clock: seconds since 1970.
        readiness: whether this process can answer.
        gathered: writes to the audit log what threads do at once.
    """

    settings: Settings
    declared: dict[str, Dataset]
    database: Database
    tokens: Tokens
    provider: Provider | None
    failures: FailedTokens
    denials: FailedTokens
    audit: AuditLog
    metrics: Metrics
    traces: Traces
    refreshes: Refreshes
    collections: dict[str, Collection]
    reports: ReportStore
    datasets: Datasets
    desk: Desk
    workers: Workers
    records: Records
    dashboards: Dashboards
    dashboard_requests: DashboardRequests
    clockwork: Clockwork
    clock: Callable[[], float] = time.time
    readiness: Readiness = field(init=False)
    gathered: Gathered = field(init=False)

    def __post_init__(self) -> None:
        self.gathered = Gathered(self.audit)
        self.readiness = Readiness(self.database, self.datasets, self.workers)

    @classmethod
    def open(cls, settings: Settings, clock: Callable[[], float] = time.time) -> State:
        """Open all parts; nothing runs before :meth:`start`.

        Raises:
            UsageError: a part cannot be opened.
        """
        declared = declarations(settings)
        collections = collections_of(settings.collections, settings.folder)
        database, key = open_store(settings)
        audit, metrics, traces = AuditLog(database), Metrics(version, database), Traces()
        refreshes = Refreshes(database, audit, clock)
        datasets = Datasets(declared, settings, database, lambda n: refreshes.current(n).number)
        queue = Queue(database, clock)
        records = Records(queue, audit, metrics, traces)
        most = settings.limits.waiting_jobs
        decisions = Decisions(partial(behind, database))
        desk = Desk(queue, datasets.of, records.acted, most, clock, decisions)
        workers = Workers(queue, desk.work, records.tell, settings.workers)
        desk.wake = workers.wake
        dashboards = Dashboards(database, audit, datasets.session, datasets.latency, clock)
        schedules_of(datasets.refreshed_when())
        clockwork = Clockwork(
            lambda: schedules_of(datasets.refreshed_when()),
            refreshes,
            dashboards,
            metrics.refreshed,
            datasets.refuse_overlaps,
            metrics.note,
        )
        made = cls(
            settings,
            declared,
            database,
            Tokens(database, key, clock, noted_in(audit)),
            _provider(settings, clock),
            FailedTokens(settings.limits.failed_tokens, time.monotonic),
            FailedTokens(_MOST_DENIALS, time.monotonic),
            audit,
            metrics,
            traces,
            refreshes,
            collections,
            ReportStore(database),
            datasets,
            desk,
            workers,
            records,
            dashboards,
            DashboardRequests(database, audit, dashboards, decisions, clock),
            clockwork,
            clock,
        )
        for name in declared:
            made.refreshes.begin(name)
        add_gauges(metrics, audit, queue, datasets)
        return made

    def start(self) -> None:
        """Start what runs beside the requests."""
        self.workers.start()
        self.clockwork.start()

    def note_denial(self, caller: Caller, action: str, problem: Problem) -> None:
        """Write down that somebody asked for what they may not do."""
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
        self.clockwork.stop()
        self.workers.stop()
        self.datasets.close()
        self.database.close()


def _provider(settings: Settings, clock: Callable[[], float]) -> Provider | None:
    if settings.login is None:
        return None
    return Provider(settings.login, f"{settings.url}/sign-in/back", clock)


def state_of(request: Request) -> State:
    """Return the parts of the service that a request came to."""
    state: State = request.app.state.tacit
    return state


StateOf = Annotated[State, Depends(state_of)]
"""A route's parameter: ``state: StateOf``."""
