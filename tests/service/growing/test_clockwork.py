"""What is due is done, whatever else fails."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import DataSourceError
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database
from tacit.service.growing.refreshes import Clockwork, Refreshes, Schedule


class Boards:
    """Stands for the dashboards: counts the looks, and fails where it is told to."""

    def __init__(self) -> None:
        self.looks, self.broken, self.looked = 0, False, threading.Event()

    def update_due(self) -> int:
        self.looks += 1
        self.looked.set()
        if self.broken:
            raise RuntimeError("4711")
        return 0


def test_each_schedule_is_kept_and_a_failure_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    now = [0.0]
    refreshes = Refreshes(database, AuditLog(database), lambda: now[0])
    for name in ("births", "visits"):
        refreshes.begin(name)
    boards: Any = Boards()
    schedules = {"births": Schedule(3600), "visits": Schedule(7200)}
    told: list[str] = []
    clockwork = Clockwork(lambda: schedules, refreshes, boards, told.append)
    for hour in range(5):
        now[0] = hour * 3600.0
        clockwork.look()
        clockwork.look()
    assert [refreshes.current(name).number for name in schedules] == [5, 3]
    assert told.count("births") == 5

    due = refreshes.when_due

    def away(name: str, schedule: Schedule, allowed: Any) -> Any:
        if name == "births":
            raise DataSourceError("4711")
        return due(name, schedule, allowed)

    monkeypatch.setattr(refreshes, "when_due", away)
    boards.broken, now[0] = True, 6 * 3600.0
    clockwork.look()
    assert refreshes.current("visits").number == 4
    assert boards.looks == 11
    assert "4711" not in str([getattr(r, "tacit_fields", None) for r in caplog.records])
    database.close()


def test_what_was_counted_is_noted_by_the_clock_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tacit.service.growing.refreshes._CLOCKWORK_EVERY", 0.001)
    boards: Any = Boards()
    noted: list[int] = []
    twice = threading.Event()

    def note() -> None:
        noted.append(boards.looks)
        if len(noted) == 2:
            twice.set()
        if len(noted) == 1:
            raise OSError("4711")

    none: Any = Refreshes(None, None, None)  # type: ignore[arg-type]
    clockwork = Clockwork(dict, none, boards, print, note=note)
    clockwork.start()
    assert twice.wait(10)
    clockwork.stop()
    assert noted[:2] == [5, 10]
    assert noted[-1] == boards.looks


def test_it_looks_until_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.service.growing.refreshes._CLOCKWORK_EVERY", 0.01)
    boards: Any = Boards()
    clockwork = Clockwork(dict, Refreshes(None, None, None), boards, print)  # type: ignore[arg-type]
    clockwork.stop()  # before it began
    clockwork = Clockwork(dict, Refreshes(None, None, None), boards, print)  # type: ignore[arg-type]
    clockwork.start()
    assert boards.looked.wait(10)
    clockwork.stop()
    looks = boards.looks
    assert not boards.looked.clear()
    assert not boards.looked.wait(0.05)
    assert boards.looks == looks
