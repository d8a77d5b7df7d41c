"""The gauges of a service: releases by state, budgets, and the length of the audit log.

Each is read from the store and the ledgers when it is asked for, so it is the same in every
process, and after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import float_down, float_up
from tacit.errors import TacitError
from tacit.service.hosting.datasets import Datasets
from tacit.service.hosting.hosted import Hosted
from tacit.service.jobs.queue import Queue
from tacit.service.seeing.audit_log import AuditLog
from tacit.service.seeing.metrics import Metrics, Sample

__all__ = ["add_gauges"]

_BUDGETS = {
    "total": ("tacit_budget", "The whole budget"),
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
        "Releases, as whoever asked sees them now",
        ("dataset", "state"),
        lambda: [
            ({"dataset": name, "state": state}, number)
            for (name, state), number in queue.counted().items()
        ],
    )
    for part, (name, about) in _BUDGETS.items():
        metrics.gauge(name, about, _LABELS, lambda part=part: _budgets(datasets, part))  # type: ignore[misc]


def _budgets(datasets: Datasets, part: str) -> Iterator[Sample]:
    """Yield a part of the budget of each ledger that was begun; each once, whoever shares it."""
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
                found = _part(hosted, team, part)
            except TacitError:  # a ledger that is away takes no other one with it
                continue
            labels = {"of": owner.key(None), "team": team or ""}
            for unit, amount in found.items():
                yield {**labels, "unit": unit}, amount


def _part(hosted: Hosted, team: str | None, part: str) -> dict[str, float]:
    """Return a part of a budget by its units, rounded against those who ask."""
    budget: Budget = getattr(hosted.ledger(team), part)
    as_float = float_up if part == "spent" else float_down
    unit = "rho" if budget.kind == "concentrated" else "epsilon"
    found = {unit: as_float(budget.amount)}
    if budget.kind == "approximate":
        found["delta"] = as_float(budget.delta)
    return found
