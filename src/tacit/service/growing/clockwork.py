"""What a service does by the clock: refreshes that are due, and periods that are over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import count

from tacit.errors import TacitError
from tacit.service.growing.dashboards import Dashboards
from tacit.service.growing.refreshes import Refreshes
from tacit.service.growing.schedule import Schedule
from tacit.service.seeing.logs import log

__all__ = ["Clockwork"]

_EVERY = 1.0
"""Seconds between two looks at what is due."""
_NOTED = 5
"""After so many looks what this process counted is noted, whatever was due."""


class Clockwork:
    """A thread that looks each second at what is due; every process has one.

    Which process does what is settled in the store, so that more processes do nothing twice.

    Args:
        schedules: returns those of the data sets that have one, by name.
        refreshes: of all data sets.
        dashboards: of all data sets.
        refreshed: is called for each refresh, with the name of the data set.
        allowed: raises where data sets may not be read again now.
        note: notes what this process counted for the metrics.
    """

    def __init__(
        self,
        schedules: Callable[[], Mapping[str, Schedule]],
        refreshes: Refreshes,
        dashboards: Dashboards,
        refreshed: Callable[[str], None],
        allowed: Callable[[], None] = lambda: None,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        self._schedules, self._refreshes = schedules, refreshes
        self._dashboards, self._refreshed, self._allowed = dashboards, refreshed, allowed
        self._note = note
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, name="clockwork", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after what is being done."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        for looks in count(1):
            if self._stopping.wait(_EVERY):
                break
            self.look()
            if looks % _NOTED == 0:
                self._noted()
        self._noted()

    def _noted(self) -> None:
        try:
            self._note()
        except Exception as error:  # it is noted the next time
            log("metrics", outcome="failed", code=type(error).__name__)

    def look(self) -> None:
        """Do what is due; what fails is tried again at the next look."""
        try:
            schedules = self._schedules()
        except TacitError as error:
            log("refresh", way="clock", outcome="failed", code=type(error).__name__)
            return
        for name, schedule in schedules.items():
            try:
                made = self._refreshes.when_due(name, schedule, self._allowed)
            except TacitError as error:
                code = type(error).__name__
                log("refresh", dataset=name, way="clock", outcome="failed", code=code)
                continue
            if made is not None:
                log("refresh", dataset=name, way="clock", outcome="done", number=made.number)
                self._refreshed(name)
        try:
            self._dashboards.update_due()
        except Exception:
            log("unexpected", error=True)
