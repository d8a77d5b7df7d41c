"""What is recorded of releases: who asked and decided, and, at its tick, how each came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from tacit.service.access.caller import Caller
from tacit.service.jobs.queue import Job, Queue
from tacit.service.seeing.audit_log import AuditLog
from tacit.service.seeing.logs import log
from tacit.service.seeing.metrics import Metrics
from tacit.service.seeing.traces import Traces

__all__ = ["Records"]


class Records:
    """Writes to the audit log, the log, the metrics and the traces of a service.

    Args:
        queue: of the service.
        audit: the log of who did what.
        metrics: of this process.
        traces: of this process.
    """

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
