"""A folder with a data set to host, and questions to it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support.clinic import DECLARED, make_clinic
from support.service.client import Client
from support.service.clock import Clock, at
from tacit.service.jobs.queue import Job, Outcome

__all__ = ["COUNT", "DECLARED", "finished", "hosted_clinic", "release_due", "released"]

COUNT = {"sql": "select count(*) as n from visits", "epsilon": "1/2"}


def hosted_clinic(folder: Path, settings: str = "", declared: str = DECLARED) -> Path:
    """Write a data set and the settings of a service that answers every twentieth of a second."""
    make_clinic(folder, declared)
    (folder / "service.toml").write_text(f'latency = "1/20"\n{settings}')
    return folder


def finished(client: Client, token: str, name: str, seconds: float = 30) -> dict[str, Any]:
    """Wait for the outcome of a release."""
    end = time.monotonic() + seconds
    while True:
        release: dict[str, Any] = client.get(f"/v1/releases/{name}?wait=5", token=token).json()
        if release["state"] not in ("running", "waiting"):
            return release
        assert time.monotonic() < end, release


def released(
    client: Client,
    token: str,
    ask: dict[str, Any] = COUNT,
    where: str = "visits",
    **more: Any,
) -> Any:
    """Ask for a release, and wait for it."""
    reply = client.post(f"/v1/datasets/{where}/releases", json=ask, token=token, **more)
    assert reply.status_code == 202, reply.text
    return finished(client, token, reply.json()["id"])


def release_due(client: Client, clock: Clock, when: str) -> None:
    """Let a time come, and the release that a schedule makes then be answered and shown."""
    queue, done = client.state.release_service.queue, threading.Event()
    finish = queue.finish

    def finish_and_tell(job: Job, outcome: Outcome) -> bool:
        written = finish(job, outcome)
        done.set()
        return written

    with pytest.MonkeyPatch.context() as patch:
        # A worker looks at the clock again after it wrote an outcome, so the clock waits for it.
        patch.setattr(queue, "finish", finish_and_tell)
        clock.now = at(when)
        assert client.state.schedules.release_due() == 1
        assert done.wait(30)
    clock.now += 1
