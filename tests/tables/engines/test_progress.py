"""That no executor takes the work is told, once, and only where it is so."""

from __future__ import annotations

import logging
import threading
import types

import pytest

from tacit.tables.engines import spark as spark_progress

LOOKS = 12
APART = 10.0


def stage(active, done):
    """A stage of four tasks."""
    return types.SimpleNamespace(numTasks=4, numActiveTasks=active, numCompletedTasks=done)


class Status:
    """A context whose only job has, at each look, the next stages; looks are ten seconds apart."""

    def __init__(self, *stages):
        self._stages, self.looks, self.over = stages, 0, threading.Event()

    def statusTracker(self):
        self.looks += 1
        if self.looks >= LOOKS:
            self.over.set()
        return self

    def getActiveJobsIds(self):
        return [1] if self._now() is not None else []

    def getJobInfo(self, job):
        return types.SimpleNamespace(stageIds=[7, 8])

    def getStageInfo(self, number):
        return self._now() if number == 7 else None

    def seconds(self):
        return self.looks * APART

    def _now(self):
        return self._stages[min(self.looks, len(self._stages)) - 1]


def told(status, monkeypatch, caplog):
    """The warnings while a block runs."""
    monkeypatch.setattr(spark_progress, "_PATIENCE", 0.001)
    monkeypatch.setattr(spark_progress, "_now", status.seconds)
    session = types.SimpleNamespace(sparkContext=status)
    with caplog.at_level(logging.WARNING), spark_progress.shown(session):
        assert status.over.wait(60)
    return [record.getMessage() for record in caplog.records]


def test_tasks_that_nobody_takes_are_told_once(monkeypatch, caplog):
    (said,) = told(Status(stage(active=0, done=1)), monkeypatch, caplog)
    for word in ("none for 30 seconds", "no executor", "workers", "Ctrl-C", "timeout="):
        assert word in said


def test_and_once_more_when_they_were_lost_anew(monkeypatch, caplog):
    lost, runs = stage(active=0, done=1), stage(active=1, done=1)
    assert len(told(Status(*[lost] * 5, runs, lost), monkeypatch, caplog)) == 2


@pytest.mark.parametrize(
    "stages",
    [
        [None],
        [stage(active=1, done=0)],
        [stage(active=0, done=4)],
        [stage(active=0, done=1), stage(active=0, done=1), stage(active=1, done=1)] * LOOKS,
        [*[stage(active=0, done=1), None] * LOOKS],
    ],
    ids=["no-job", "runs", "all-done", "runs-now-and-then", "between-jobs"],
)
def test_nothing_is_told_where_work_goes_on(monkeypatch, caplog, stages):
    assert told(Status(*stages), monkeypatch, caplog) == []


def test_connect_is_not_asked():
    session = type("Session", (), {"__module__": "pyspark.sql.connect.session"})()
    with spark_progress.shown(session):  # it has no sparkContext, and no handler is registered
        pass
