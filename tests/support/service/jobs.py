"""Jobs in a queue."""

from __future__ import annotations

from typing import Any

from tacit.service.jobs.queue import Job, Queue

__all__ = ["LATENCY", "add", "find", "hides", "unfinished"]

LATENCY = 2.0


def add(queue: Queue, **more: Any) -> Job:
    values = {
        "dataset": "visits",
        "asked_by": "ada",
        "team": None,
        "token": "t",
        "asked_at": 1000.0,
        "body": "{}",
        "words": "The number of rows",
        "cost": "{}",
        "key": "k",
        "once": None,
        "state": "queued",
        "started": 1000.0,
        "latency": LATENCY,
    }
    with queue.transaction() as run:
        (job,) = queue.add(run, {**values, **more})
        return job


def find(queue: Queue, job: Job) -> Job:
    found = queue.find(job.id)
    assert found is not None
    return found


def unfinished(queue: Queue, who: str) -> int:
    with queue.transaction() as run:
        return queue.unfinished_of(run, [who])[who]


def hides(queue: Queue, dataset: str, key: str, team: tuple[str | None] | None = None) -> bool:
    """Whether an answer that the ledger may have must not be seen yet."""
    any_job, any_seen = queue.asked_and_seen(dataset, key, team)
    return any_job and not any_seen
