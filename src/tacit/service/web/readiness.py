"""Whether a process can answer: its database, its workers, and the ledgers and tables behind it.

What is said is how many of them can be used, and never which, how large they are or how long they
took: everybody may ask.  A look at a ledger or a table is remembered for some seconds, so that who
asks often costs no more; no row is read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tacit.errors import TacitError
from tacit.service.hosting.datasets import Datasets
from tacit.service.jobs.workers import Workers
from tacit.service.store.database import Database

__all__ = ["Readiness"]

_FRESH = 10.0
"""Seconds for which a look at the ledgers and tables is believed."""


class Readiness:
    """Looks at what a process needs.

    Args:
        database: of the service.
        datasets: of the service.
        workers: of the process.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        database: Database,
        datasets: Datasets,
        workers: Workers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._datasets, self._workers = database, datasets, workers
        self._clock, self._lock = clock, threading.Lock()
        self._looked: tuple[float, dict[str, str]] | None = None

    def parts(self) -> dict[str, str]:
        """Return of each part whether it can be used: ``ready``, ``in part`` or ``failing``."""
        if not self._database.reachable():
            return {"database": "failing"}
        found = {"database": "ready", "workers": "ready" if self._workers.alive() else "failing"}
        with self._lock:
            if self._looked is None or self._clock() - self._looked[0] >= _FRESH:
                self._looked = self._clock(), self._behind()
            return found | self._looked[1]

    def _behind(self) -> dict[str, str]:
        """Look at the ledgers and the tables of all data sets."""
        try:
            every = [self._datasets.of(name) for name in self._datasets.names]
        except TacitError:
            return {"ledgers": "failing", "tables": "failing"}
        return {
            "ledgers": _told([_works(hosted.check_ledgers) for hosted in every]),
            "tables": _told([_works(hosted.check_tables) for hosted in every]),
        }


def _works(check: Callable[[], None]) -> bool:
    try:
        check()
    except TacitError:
        return False
    return True


def _told(good: list[bool]) -> str:
    """Say how many work.

    >>> _told([]), _told([True, False]), _told([False])
    ('ready', 'in part', 'failing')
    """
    if all(good):
        return "ready"
    return "in part" if any(good) else "failing"
