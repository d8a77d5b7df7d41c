"""Races for a budget over HTTP, a server that restarts, a disk that is full, a clock set back."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.clinic import DECLARED
from support.servers.postgres_server import Database
from support.service import other_process
from support.service.client import Client, running
from support.service.hosting import COUNT, finished, hosted_clinic
from support.service.other_process import ADA
from tacit.accounting import epsilon
from tacit.accounting.ledger import Ledger
from tacit.service.hosting.ask import Ask
from tacit.service.settings import Settings
from tacit.service.web.state import State

SCRIPT = Path(other_process.__file__)
ASK = "/v1/datasets/visits/releases"
SMALL = DECLARED.replace("epsilon = 1000", "epsilon = 20")


def start(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def consistent(ledger: Ledger) -> None:
    """Every charge counts, each key once, and at most one answer each."""
    history = ledger.history()
    assert len({entry.key for entry in history}) == len(history)
    assert ledger.spent.amount == sum((e.cost.amount for e in history), Fraction(0))
    assert ledger.total.covers(ledger.spent)
    ledger.verify_chain()


@pytest.mark.full
def test_threads_that_race_over_http_never_pass_the_budget_nor_a_cap(tmp_path: Path) -> None:
    caps = "caps = { each_analyst = { epsilon = 8 } }"
    with running(hosted_clinic(tmp_path, caps, SMALL)) as client:
        tokens = {name: client.token("analyst", "visits", name) for name in ("ada", "eve", "bob")}
        found: list[str] = []

        def ask(name: str) -> None:
            for k in range(10):
                said = {**COUNT, "epsilon": 1, "tag": f"{name}/{k}"}
                reply = client.post(ASK, json=said, token=tokens[name])
                assert reply.status_code in (202, 402), reply.text
                if reply.status_code == 202:
                    found.append(finished(client, tokens[name], reply.json()["id"])["state"])

        threads = [threading.Thread(target=ask, args=(name,)) for name in tokens]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger = client.state.datasets.of("visits").ledger(None)
        consistent(ledger)
        assert found.count("done") == 20
        assert ledger.remaining.is_nothing
        spent = {a.name: a.spent for a in client.state.datasets.of("visits").all_accounts(None)}
        assert all(amount.amount <= 8 for name, amount in spent.items() if name != "analyst:*")


@pytest.mark.full
def test_processes_that_race_over_http_never_pass_the_budget_nor_a_cap(tmp_path: Path) -> None:
    caps = "caps = { teams = { oncology = { epsilon = 15 } } }\nlimits = { waiting_jobs = 1000 }"
    hosted_clinic(tmp_path, caps, SMALL)
    State.open(Settings.load(tmp_path)).database.close()
    crew = start("race_together", tmp_path, 60, "ada", "eve", "bob")
    outcomes = [told(crew) for _ in range(3)]
    crew.communicate(timeout=60)
    assert crew.returncode == 0
    assert all(granted + refused == 60 for granted, refused in outcomes)
    assert sum(granted for granted, _ in outcomes) == 15
    state = State.open(Settings.load(tmp_path))
    ledger = state.datasets.of("visits").ledger(None)
    consistent(ledger)
    assert ledger.spent == epsilon(15)
    state.datasets.close()
    state.database.close()


@pytest.mark.full
def test_a_full_disk_forgets_no_charge_and_shows_no_second_noise(tmp_path: Path) -> None:
    hosted_clinic(tmp_path)
    process = start("full_disk", tmp_path)
    outcomes, again = told(process)
    process.communicate(timeout=30)
    assert outcomes[0] == "done"
    assert set(outcomes[1:]) - {"done"}, "the disk was never full"
    assert set(again) == {"done"}
    state = State.open(Settings.load(tmp_path))
    ledger = state.datasets.of("visits").ledger(None)
    consistent(ledger)
    assert ledger.spent == epsilon(13)
    state.datasets.close()
    state.database.close()


@pytest.mark.full
def test_a_database_server_that_restarts_in_mid_request(tmp_path: Path, postgres: Database) -> None:
    hosted_clinic(tmp_path)
    address = postgres.dsn()
    (tmp_path / "service.toml").write_text(f'latency = "1/20"\ndatabase = "{address}"\n')
    found: dict[str, Any] = {}
    with running(tmp_path) as client:
        token = client.token("analyst", "visits", "ada")
        thread = threading.Thread(target=_keep_asking, args=(client, token, 8, found))
        thread.start()
        for _ in range(3):  # each time in the midst of what comes after one more answer
            _until_more(found, len(found))
            postgres.server.restart("immediate")
        thread.join(180)
        assert not thread.is_alive()
        done = dict(found)
        assert len(done) == 8
        for tag, found in done.items():
            again = _until_done(client, token, tag)
            assert again["answer"] == found["answer"]
        ledger = client.state.datasets.of("visits").ledger(None)
        consistent(ledger)
        assert ledger.spent.amount == len(ledger.history())


def _keep_asking(client: Client, token: str, times: int, done: dict[str, Any]) -> None:
    for k in range(times):
        done[str(k)] = _until_done(client, token, str(k))


def _until_more(found: Mapping[str, Any], than: int) -> None:
    end = time.monotonic() + 60
    while len(found) <= than:
        assert time.monotonic() < end
        time.sleep(0.01)


def _until_done(client: Client, token: str, tag: str) -> Any:
    """Ask the same under one idempotency key until it is answered, whatever is away."""
    end = time.monotonic() + 60
    attempt = 0
    while time.monotonic() < end:
        said = {**COUNT, "epsilon": 1, "tag": tag}
        headers = {"Idempotency-Key": f"{tag}/{attempt}"}
        reply = client.post(ASK, json=said, token=token, headers=headers)
        if reply.status_code == 202:
            found = client.get(f"{reply.json()['href']}?wait=5", token=token)
            if found.status_code == 200 and found.json()["state"] == "done":
                return found.json()
            if found.status_code == 200 and found.json()["state"] == "failed":
                assert found.json()["error"]["code"] == "unavailable", found.text
                attempt += 1
        else:
            assert reply.json()["error"]["code"] in ("unavailable", "unauthenticated"), reply.text
        time.sleep(0.1)
    raise AssertionError(f"never answered: {tag}")


def test_a_clock_set_back_charges_nothing_twice(tmp_path: Path) -> None:
    now = [time.time()]

    def clock() -> float:
        return now[0] + time.monotonic() % 1e-3

    state = State.open(Settings.load(hosted_clinic(tmp_path)), clock)
    ledger = state.datasets.of("visits").ledger(None)
    first = state.desk.submit("visits", ADA, Ask.from_json(COUNT))
    claimed = state.desk.queue.claim("w")
    assert claimed is not None
    state.desk.queue.finish(claimed, state.desk.work(claimed))
    now[0] -= 86_400
    shown = state.desk.queue.find(first.id)
    assert shown is not None
    assert shown.shown(clock()) == "running"
    again = state.desk.submit("visits", ADA, Ask.from_json(COUNT))
    assert json.loads(again.cost)["epsilon"] == "0"
    claimed = state.desk.queue.claim("w")
    assert claimed is not None
    assert claimed.id == again.id
    state.desk.queue.finish(claimed, state.desk.work(claimed))
    assert shown.shown(clock() + 1) == "running"
    found = state.desk.queue.find(again.id)
    assert found is not None
    assert found.shown(clock() + 1) == "done"
    assert state.desk.answer(found).value("n") == state.desk.answer(shown).value("n")
    assert ledger.spent == epsilon("1/2")
    state.datasets.close()
    state.database.close()
