"""What a caller sees of a job at a moment."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.service.jobs.queue import Job

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
