"""What is recorded of releases, and when."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from support.service.client import running
from support.service.hosting import COUNT, hosted_clinic, released
from tacit.service.telemetry import configure


@pytest.mark.full
def test_an_outcome_is_recorded_once_and_after_its_tick(tmp_path: Path) -> None:
    out = io.StringIO()
    handler = configure(out)
    folder = hosted_clinic(tmp_path)
    with running(folder) as one, running(folder) as other:
        token = one.token("analyst", "visits", "ada", team="oncology")
        found = released(one, token)
        for client in (one, other):
            client.state.workers.stop()
        for _ in range(3):
            one.state.records.tell()
            other.state.records.tell()
        for client in (one, other):  # as their clocks do: either may have recorded it
            client.state.metrics.note()
        events = [e for e in one.state.audit.read(0, 100) if e.subject == found["id"]]
        asked, answered = events
        assert (asked.action, asked.who, asked.team) == ("release_asked", "ada", "oncology")
        assert (answered.action, answered.outcome) == ("release_answered", "done")
        assert answered.details == {"cost": found["cost"], "replayed": False}
        texts = [client.state.metrics.text() for client in (one, other)]
        for text in texts:  # counted once among all processes, and shown by each
            assert 'tacit_outcomes_total{dataset="visits",state="done"} 1.0' in text
    handler.close()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    told = [line for line in lines if line["event"] == "release"]
    assert [(line["release"], line["state"]) for line in told] == [(found["id"], "done")]
    assert COUNT["sql"] not in out.getvalue()
