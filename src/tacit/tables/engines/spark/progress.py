"""How far Spark is, on a terminal; and anywhere, in the log, that nothing goes on."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["is_connect", "shown"]

_PATIENCE = 1.0
"""Seconds before a query is worth a line, and between two looks at it."""
_STANDSTILL = 30.0
"""Seconds without any task that runs, while some are to, until that is reported."""
_NOBODY = (
    "Spark has tasks to do and has run none for %d seconds: no executor takes the work. Spark "
    "waits for one without end; add workers, end the question with Ctrl-C, or give each query "
    "a time, as in tc.Session(..., timeout=600)"
)
_LOG = logging.getLogger(__name__)
_now = time.monotonic


def is_connect(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in f"{type(session).__module__}."


@contextlib.contextmanager
def shown(session: Any) -> Iterator[None]:
    """Show how many of the tasks are done while the block runs, where a person can see it.

    Numbers of tasks are those of files and partitions.  They go to the terminal of the curator, who
    may see the data, and nowhere else.

    Where no task runs for long, a warning with no number of the data goes to Python's log, terminal
    or not.  Connect does not report tasks unless the server answers, so nothing is shown there.
    """
    connect = is_connect(session)
    with contextlib.ExitStack() as block:
        show = block.enter_context(_line()) if sys.stderr.isatty() else None
        if not connect:
            block.enter_context(_follow_classic(session, show))
        elif show is not None:
            block.enter_context(_follow_connect(session, show))
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
def _follow_classic(session: Any, show: Callable[[int, int], None] | None) -> Iterator[None]:
    """Look at the status of the jobs now and then, from a thread."""
    over = threading.Event()

    def look() -> None:
        warn = _Standstill().look
        with contextlib.suppress(Exception):  # the context may end meanwhile
            while not over.wait(_PATIENCE):
                stages = _stages(session.sparkContext.statusTracker())
                if show is not None:
                    show(sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))
                warn(stages)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _stages(tracker: Any) -> list[Any]:
    """Return the stages of the jobs that run."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    numbers = [stage for job in jobs if job is not None for stage in job.stageIds]
    return [stage for stage in map(tracker.getStageInfo, numbers) if stage is not None]


class _Standstill:
    """Warns once of each while in which tasks wait and none runs.

    The tasks are those of every job of the user's context: one that runs shows that an executor
    takes work, and the others wait for their turn.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self._told = False

    def look(self, stages: Sequence[Any]) -> None:
        """Take notice of the stages as they are now."""
        waits = any(s.numCompletedTasks < s.numTasks for s in stages)
        if not waits or any(s.numActiveTasks for s in stages):
            self._since, self._told = None, False
        elif self._since is None:
            self._since = _now()
        elif not self._told and _now() - self._since >= _STANDSTILL:
            self._told = True
            _LOG.warning(_NOBODY, _STANDSTILL)


@contextlib.contextmanager
def _follow_connect(session: Any, show: Callable[[int, int], None]) -> Iterator[None]:
    """Let the server report, as it does."""

    def handler(*, stages: Any, **more: Any) -> None:
        listed = list(stages or ())
        show(sum(s.num_completed_tasks for s in listed), sum(s.num_tasks for s in listed))

    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)
