"""A job: a release that somebody asked for, and what of it is seen at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.service.jobs.ticks import next_tick, ticks_late

__all__ = ["STATES", "Job", "Outcome"]

STATES = ("waiting", "running", "done", "refused", "failed", "cancelled")
"""What a caller sees."""


@dataclass(frozen=True)
class Outcome:
    """How a job came out: done, or failed with an error in the one shape."""

    done: bool
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Job:
    """A release that somebody asked for.

    Attributes:
        number: its place in the order of asking.
        id: what callers call it.
        dataset: the name of the data set.
        asked_by: who asked.
        team: theirs.
        token: the public name of the token that they came with.
        asked: when, in seconds since 1970.
        body: the request, as JSON.
        words: what is asked, in words.
        cost: what it was priced at, as JSON of a budget.
        key: what the ledger knows it by.
        once: its idempotency key.
        state: in the queue; callers see :meth:`shown`.
        started: since when its clock runs: when it was asked, or approved.
        latency: between two ticks at first, in seconds.
        worker: who holds it.
        attempts: how often it was begun.
        outcome: ``done`` or ``failed``, once it is over.
        visible: from when on its outcome is shown.
        error: why it failed.
        replayed: whether its answer was there to see when it was asked.
        decided_by: who approved or refused it, or cancelled it.
        decided: when.
        reason: why it was refused.
    """

    number: int
    id: str
    dataset: str
    asked_by: str
    team: str | None
    token: str
    asked: float
    body: str
    words: str
    cost: str
    key: str
    once: str | None
    state: str
    started: float
    latency: float
    worker: str | None
    attempts: int
    outcome: str | None
    visible: float | None
    error: str | None
    replayed: bool
    decided_by: str | None
    decided: float | None
    reason: str | None

    def shown(self, now: float) -> str:
        """Return the state that a caller sees at a moment: one of :data:`STATES`."""
        if self.state in ("waiting", "refused", "cancelled"):
            return self.state
        return str(self.outcome) if self.is_visible(now) else "running"

    def is_visible(self, now: float) -> bool:
        """Return whether its outcome is shown at a moment."""
        return self.state == "over" and self.visible is not None and now >= self.visible

    def ready_at(self, now: float) -> float | None:
        """Return when to look next; None where no clock runs."""
        if self.state in ("waiting", "refused", "cancelled"):
            return None
        if self.is_visible(now):
            return self.visible
        return next_tick(self.started, self.latency, now)

    def progress(self, now: float) -> float:
        """Return how much of the wait for the next tick is over, by the public clock alone."""
        shown, ready = self.shown(now), self.ready_at(now)
        if shown != "running" or ready is None:
            return 0.0 if shown == "waiting" else 1.0
        passed = max(0.0, now - self.started) / (ready - self.started)
        return round(min(passed, 1.0), 2)

    @property
    def late(self) -> int:
        """By how many ticks its outcome came after the first."""
        return 0 if self.visible is None else ticks_late(self.started, self.latency, self.visible)
