"""What a balancer is told: which parts can be used, and nothing of what they hold."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import hosted_clinic, released
from tacit.service.web import state as readiness


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(readiness, "_FRESH", 0.0)
    with running(hosted_clinic(tmp_path)) as client:
        yield client


def looked(client: Client) -> tuple[int, Any]:
    reply = client.get("/readyz")
    found = reply.json()
    parts = found["parts"] if "parts" in found else found["error"]["details"]["parts"]
    return reply.status_code, {n: told for n, told in parts.items() if told != "ready"}


def test_each_part_is_looked_at_and_nothing_more_is_said(client: Client, tmp_path: Path) -> None:
    assert client.get("/readyz").json() == {
        "status": "ready",
        "parts": dict.fromkeys(("database", "workers", "ledgers", "tables"), "ready"),
    }
    aside = (tmp_path / "visits.csv").rename(tmp_path / "aside.csv")
    assert looked(client) == (503, {"tables": "failing"})
    assert "visits" not in client.get("/readyz").text
    aside.rename(tmp_path / "visits.csv")
    client.state.workers.stop()
    assert looked(client) == (503, {"workers": "failing"})


@pytest.mark.full
def test_a_ledger_that_is_gone(client: Client, tmp_path: Path) -> None:
    assert released(client, client.token("analyst", name="ada"))["state"] == "done"
    text = (tmp_path / "visits.toml").read_text().replace('name = "visits"', 'name = "twin"')
    for name in ("visits", "patients", "sites"):
        shutil.copy(tmp_path / f"{name}.csv", tmp_path / f"twin-{name}.csv")
        text = text.replace(f'path = "{name}.csv"', f'path = "twin-{name}.csv"')
    (tmp_path / "twin.toml").write_text(text)
    assert looked(client) == (200, {})
    aside = (tmp_path / "visits.ledger").rename(tmp_path / "aside.ledger")
    assert looked(client) == (200, {"ledgers": "in part"})
    assert client.get("/readyz").json()["status"] == "ready in part"
    aside.rename(tmp_path / "visits.ledger")


def test_a_look_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        assert looked(client) == (200, {})
        (tmp_path / "visits.csv").unlink()
        assert looked(client) == (200, {})
