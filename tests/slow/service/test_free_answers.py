"""Free answers of a service where several ask at once, reviewers decide, or teams stand apart."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.service.client import running
from support.service.free import FINE, ask, costs
from support.service.hosting import hosted_clinic, released
from tacit.accounting import epsilon
from tacit.accounting.ledger import Ledger
from tacit.report import Certificate
from tacit.service.problem import Problem

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("workers", [1, 2])
def test_two_analysts_at_once_are_answered_each_from_their_own(
    tmp_path: Path, workers: int
) -> None:
    """Ada asks by hundreds and Ben by 250: what follows from one does not follow from the other."""
    with running(hosted_clinic(tmp_path, f"workers = {workers}\n")) as client:
        edges = {"ada": range(0, 1001, 100), "ben": range(0, 1001, 250)}
        tokens = {name: client.token("analyst", "visits", name) for name in edges}
        fine = {name: costs(*each, epsilon="1/2") for name, each in edges.items()}

        def story(name: str) -> list[Any]:
            source = released(client, tokens[name], fine[name])
            found = []
            for edge in (300, 250, 500) * 4:
                reply = ask(client, tokens[name], costs(0, edge, 1000, free=True))
                free = edge in edges[name]
                assert reply.status_code == (202 if free else 400), reply.text
                if free:
                    shown = client.get(reply.json()["href"], token=tokens[name]).json()
                    (name_of,) = shown["follows_from"].values()
                    first = client.get(f"/v1/releases/{name_of}", token=tokens[name]).json()
                    assert (first["asked_by"], first["request"]) == (name, source["request"])
                    found.append(client.get(shown["links"]["certificate"], token=tokens[name]))
            return found

        with ThreadPoolExecutor(8) as pool:
            told = [one for each in pool.map(story, [*edges] * 4) for one in each]
        ledger = client.state.datasets.of("visits").ledger(None)
        assert ledger.spent == epsilon(1)
        for certificate in {one.text: one.json() for one in told}.values():
            assert Certificate(certificate).verify(ledger)
        noted = [event.body["part"]["digest"] for event in ledger.events() if event.event == "part"]
        assert len(noted) == len(set(noted)) == 4
        ledger.verify_chain()


def test_nobody_decides_on_what_was_approved_already(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path, "approval = true\n")) as client:
        ada = client.token("analyst", "visits", "ada")
        rita = client.token("reviewer", "visits", "rita")
        assert ask(client, ada).status_code == 400
        waiting = ask(client, ada, FINE).json()
        assert waiting["state"] == "waiting"
        assert ask(client, ada).status_code == 400
        client.post(f"{waiting['href']}/approve", token=rita)
        client.get(f"{waiting['href']}?wait=10", token=ada)
        made = ask(client, ada).json()
        assert made["state"] == "done"
        decided = client.post(f"/v1/releases/{made['id']}/approve", token=rita)
        assert (decided.status_code, decided.json()["error"]["code"]) == (409, "conflict")


def test_teams_apart_have_answers_apart(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path, 'collusion = "teams apart"\n')) as client:
        here, there = (client.token("analyst", "visits", "ada", team=t) for t in "ab")
        released(client, here, FINE)
        made = ask(client, here).json()
        assert made["state"] == "done"
        assert ask(client, there).status_code == 400
        assert client.get(made["href"], token=there).status_code == 404
        curator = client.token("curator", "visits", "cara", team="b")
        assert ask(client, curator).status_code == 400


def test_declared_anew_it_stands_as_it_was(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        ada = client.token("analyst", "visits", "ada")
        released(client, ada, FINE)
        made = ask(client, ada).json()
        first = client.get(made["href"], token=ada).json()
        shown = client.get(first["links"]["certificate"], token=ada).json()
    declared = tmp_path / "visits.toml"
    declared.write_text(declared.read_text().replace("cost = { kind", "price = { kind", 1))
    rows = (tmp_path / "visits.csv").read_text()
    (tmp_path / "visits.csv").write_text(rows.replace("cost", "price", 1))
    with running(tmp_path) as client:
        ada = client.token("analyst", "visits", "ada")
        assert ask(client, ada).status_code == 400  # there is no column of this name any more
        again = client.get(made["href"], token=ada).json()
        assert again["answer"]["columns"] == first["answer"]["columns"]
        assert client.get(first["links"]["certificate"], token=ada).json() == shown


def test_a_release_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        ada = client.token("analyst", "visits", "ada")
        released(client, ada, FINE)
        job = client.state.desk.queue.find(ask(client, ada).json()["id"])
        assert job is not None
        assert "released" not in json.dumps(client.state.desk.queue.free(job.id))
        monkeypatch.setattr(Ledger, "find", lambda *_: None)
        with pytest.raises(Problem, match="does not hold"):
            client.state.desk.answer(job)
