"""Actions of other processes in the tests of the service: ``python other_process.py ACTION ...``.

It prints lines of JSON, and reads a line where it waits for the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

sys.path.insert(0, str(Path(__file__).parents[2]))

from support.service.client import running
from tacit.accounting import ledger_postgres as postgres_store
from tacit.accounting import ledger_sqlite as sqlite_store
from tacit.accounting.ledger import Ledger
from tacit.service.access import Caller, Grant
from tacit.service.hosting.ask import Ask
from tacit.service.jobs import queue as job_module
from tacit.service.jobs import queue as queue_module
from tacit.service.jobs import release_service
from tacit.service.jobs.queue import Job, Queue
from tacit.service.jobs.release_service import ReleaseService
from tacit.service.refresh.refreshes import Refreshes
from tacit.service.refresh.schedules import ReleaseSchedules, Scheduled
from tacit.service.settings import Settings
from tacit.service.web.server import create_app
from tacit.service.web.state import ServiceState
from tacit.tables import question as question_module
from tacit.tables.release.release import Charge, PlanRunner

ADA = Caller("ada", "oncology", (Grant("analyst", "*"),), "t", 0)


def tell(value: object) -> None:
    print(json.dumps(value), flush=True)


def serve(folder: str, ticks: str, slow: str = "", seconds: str = "0") -> None:
    """Serve a folder over a socket; without ``ticks`` an outcome is shown when it is there.

    What is asked of the data set ``slow`` takes its worker so many seconds more.
    """
    work = ReleaseService.work

    def slower(release_service: ReleaseService, job: Job) -> Any:
        if job.dataset == slow:
            time.sleep(float(seconds))
        return work(release_service, job)

    ReleaseService.work = slower  # type: ignore[method-assign]
    if ticks == "without":
        queue_module.tick_after = lambda _asked, _latency, done: done  # type: ignore[attr-defined]
        for module in (queue_module, job_module):
            module.next_tick = lambda _asked, _latency, now: now + 0.0005  # type: ignore[attr-defined]
    state = ServiceState(Settings.load(folder))
    token, _ = state.tokens.create("ada", [Grant("analyst", "*")], 36_000)

    async def run() -> None:
        app = create_app(state)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        tell([server.servers[0].sockets[0].getsockname()[1], token])
        await asyncio.to_thread(sys.stdin.readline)
        server.should_exit = True
        await task

    asyncio.run(run())


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def _before(owner: Any, name: str) -> None:
    setattr(owner, name, _die)


def _after(owner: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    def done_then_dead(*given: Any, **more: Any) -> None:
        original(*given, **more)
        _die()

    setattr(owner, name, done_then_dead)


def _inside(nth: int) -> None:
    """Die in the middle of the nth transaction of a ledger, once it has written its event."""
    left = [nth]

    def dying(append: Callable[..., None]) -> Callable[..., None]:
        def appended(self: Any, *given: Any, head: Any) -> None:
            append(self, *given, head=head)
            left[0] -= 1
            if not left[0]:
                _die()

        return appended

    kinds: tuple[Any, ...] = sqlite_store._SqliteTransaction, postgres_store._PostgresTransaction
    for kind in kinds:
        kind.append = dying(kind.append)


PLACES: dict[str, Callable[[], None]] = {
    "before the charge": lambda: _before(release_service, "charge_each"),
    "in the charge": lambda: _inside(1),
    "charged": lambda: _after(release_service, "charge_each"),
    "asked": lambda: _after(ReleaseService, "submit"),
    "claimed": lambda: _before(ReleaseService, "work"),
    "before reading": lambda: _before(PlanRunner, "collect"),
    "read": lambda: _after(PlanRunner, "collect"),
    "noise drawn": lambda: _after(question_module, "release_answer"),
    "before recording": lambda: _before(Ledger, "record"),
    "in recording": lambda: _inside(2),
    "recorded": lambda: _after(Ledger, "record"),
    "answered": lambda: _after(ReleaseService, "work"),
    "before the outcome": lambda: _before(Queue, "finish"),
    "outcome written": lambda: _after(Queue, "finish"),
}
"""Where a worker is killed, in the order of a release."""


SCHEDULE_PLACES: dict[str, Callable[[], None]] = {
    "row written": lambda: _after(ReleaseSchedules, "_insert"),
    "a charge": lambda: _after(Charge, "pay"),
    "all charged": lambda: _before(ReleaseSchedules, "_set"),
    "paid": lambda: _after(ReleaseSchedules, "begin"),
    "read again": lambda: _after(Refreshes, "since"),
    "job written": lambda: _after(ReleaseSchedules, "_add"),
    "released": lambda: _after(ReleaseSchedules, "_release"),
}
"""Where a process is killed that starts a schedule, or makes its releases, in their order."""


def killed_in_a_schedule(folder: str, place: str, now: str, body: str) -> None:
    """Start a schedule, make the release that is due, and be killed on the way."""
    SCHEDULE_PLACES[place]()
    state = ServiceState(Settings.load(folder), lambda: float(now))
    state.schedules.begin("visits", Scheduled.from_json(json.loads(body)), ADA)
    state.schedules.release_due()


QUESTION = {"sql": "select site, count(*) as n from visits group by site", "epsilon": 1}


def killed(folder: str, place: str) -> None:
    """Ask a question and answer it, and be killed on the way."""
    PLACES[place]()
    state = ServiceState(Settings.load(folder))
    state.release_service.submit("visits", ADA, Ask.from_json(QUESTION), "once")
    state.workers.start()
    time.sleep(60)


def killed_in_turn() -> None:
    """Have processes killed that begin as this one is: nothing is open, and all is imported.

    Each line names an action and what it is given; the answer is how the process for it ended.
    """
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            action, *given = json.loads(line)
            globals()[action](*given)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        tell(os.waitstatus_to_exitcode(status))


class Mortals:
    """Processes that are killed, one after the other; what they import is imported once."""

    def __init__(self) -> None:
        command = [sys.executable, __file__, "killed_in_turn"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def end(self, action: str, *given: str) -> int:
        """How a process ended whose action was to be killed on the way."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([action, *given]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def race_together(folder: str, times: str, *names: str) -> None:
    """Have as many processes ask at once as there are names; each says what it was granted."""
    gate, opened = os.pipe()
    for name in names:
        ready, seen = os.pipe()
        if os.fork() == 0:
            os.close(opened)
            race(folder, name, times, lambda seen=seen: os.write(seen, b"r"), gate)  # type: ignore[misc]
            os._exit(0)
        os.close(seen)
        os.read(ready, 1)
    os.close(opened)  # all of them go
    for _ in names:
        os.wait()


def race(folder: str, name: str, times: str, ready: Callable[[], object], gate: int) -> None:
    """Ask many questions at once, over the whole application, and answer them here too."""
    granted = refused = 0
    with running(Path(folder)) as client:
        token = client.token("analyst", "visits", name, team="oncology")
        ready()
        os.read(gate, 1)
        links = []
        for k in range(int(times)):
            ask = {"sql": "select count(*) as n from visits", "epsilon": 1, "tag": f"{name}/{k}"}
            reply = client.post("/v1/datasets/visits/releases", json=ask, token=token)
            if reply.status_code == 202:
                links.append(reply.json()["href"])
            else:
                assert reply.json()["error"]["code"] in ("budget_exceeded", "too_many"), reply.text
                refused += 1
        for href in links:
            while (release := client.get(f"{href}?wait=10", token=token).json())[
                "state"
            ] == "running":
                pass
            granted += release["state"] == "done"
            refused += release["state"] == "failed"
            if release["state"] == "failed":
                assert release["error"]["code"] == "budget_exceeded", release
    tell([granted, refused])


def full_disk(folder: str) -> None:
    """Ask until no file may grow any more, make room again, and ask the same once more."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    state = ServiceState(Settings.load(folder))
    state.workers.start()
    release_service = state.release_service

    def one(tag: str, seconds: float = 30) -> str:
        try:
            job = release_service.submit("visits", ADA, Ask.from_json({**QUESTION, "tag": tag}))
        except Exception as error:
            return type(error).__name__
        end = time.time() + seconds
        while (now := release_service.queue.find(job.id)) is not None and now.shown(
            state.clock()
        ) == "running":
            if time.time() > end:
                return "running"
            time.sleep(0.02)
        assert now is not None
        return now.shown(state.clock())

    outcomes = [one("first")]
    largest = max(path.stat().st_size for path in Path(folder).iterdir() if path.is_file())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 40_000, hard))
    outcomes += [one(str(k), 1) for k in range(12)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    again = [one(str(k)) for k in range(12)]
    state.close()
    tell([outcomes, again])


if __name__ == "__main__":
    threading.excepthook = lambda args: tell(repr(args.exc_value))
    globals()[sys.argv[1]](*sys.argv[2:])
