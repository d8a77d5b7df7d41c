"""How far Spark is: one line on a terminal, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["is_connect", "shown"]

_PATIENCE = 1.0
"""Seconds before a query is worth a line, and between two looks at it."""


def is_connect(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in f"{type(session).__module__}."


@contextlib.contextmanager
def shown(session: Any) -> Iterator[None]:
    """Show how many of the tasks are done while the block runs, where a person can see it.

    Numbers of tasks are those of files and partitions.  They go to the terminal of the curator, who
    may see the data, and nowhere else.
    """
    if not sys.stderr.isatty():
        yield
        return
    with _line() as show:
        follow = _follow_connect if is_connect(session) else _follow_classic
        with follow(session, show):
            yield


@contextlib.contextmanager
def _line() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("Spark"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Spark", total=None, visible=False)

        def show(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total or None, visible=total > 0)

        yield show


@contextlib.contextmanager
def _follow_classic(session: Any, show: Callable[[int, int], None]) -> Iterator[None]:
    """Look at the status of the jobs now and then, from a thread."""
    tracker, over = session.sparkContext.statusTracker(), threading.Event()

    def look() -> None:
        with contextlib.suppress(Exception):  # the context may end meanwhile
            while not over.wait(_PATIENCE):
                show(*_tasks(tracker))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _tasks(tracker: Any) -> tuple[int, int]:
    """Return how many tasks are done, and how many there are, in the jobs that run."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    numbers = [stage for job in jobs if job is not None for stage in job.stageIds]
    stages = [stage for stage in map(tracker.getStageInfo, numbers) if stage is not None]
    return sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages)


@contextlib.contextmanager
def _follow_connect(session: Any, show: Callable[[int, int], None]) -> Iterator[None]:
    """Let the server tell, as it does."""

    def handler(*, stages: Any, **more: Any) -> None:
        listed = list(stages or ())
        show(sum(s.num_completed_tasks for s in listed), sum(s.num_tasks for s in listed))

    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)
