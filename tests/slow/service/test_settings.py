"""Free answers of a service where several ask at once, reviewers decide, or teams stand apart."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from support.service.client import running
from support.service.clinic import write_clinic
from support.service.free import FINE, ask, costs
from support.service.hosting import hosted_clinic, released
from support.service.server import Served, served
from support.threads import at_once
from tacit import local
from tacit.accounting import epsilon
from tacit.accounting.ledger import Ledger, accounts_of
from tacit.report import Certificate
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState

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
        job = client.state.release_service.queue.find(ask(client, ada).json()["id"])
        assert job is not None
        assert "released" not in json.dumps(client.state.release_service.queue.free(job.id))
        monkeypatch.setattr(Ledger, "find", lambda *_: None)
        with pytest.raises(Problem, match="does not hold"):
            client.state.release_service.answer(job)


# A service that is used for an hour takes no more memory at its end than at its beginning.
#
# ``TACIT_SOAK_SECONDS=60`` soaks for a minute; ``pytest -s`` shows the figures.


SECONDS = float(os.environ.get("TACIT_SOAK_SECONDS", "3600"))
PARTS = 6
SETTINGS = """
latency = 0.5
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
"""
SQL = "select site, sum(cost) as s, count(*) as n from visits group by site"


def memory(process: int) -> int:
    """The memory that a process holds, in kilobytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(process)


def moments(seen: list[int]) -> dict[str, float]:
    """The memory in the first, the middle and the last twentieth of the time: their medians."""
    wide = max(1, len(seen) // 40)
    places = {"at the start": wide, "at half": len(seen) // 2, "at the end": len(seen) - wide}
    return {name: median(seen[max(0, k - wide) : k + wide]) for name, k in places.items()}


def use(service: Served, end: float, number: int, failed: list[str], sent: Counter[int]) -> None:
    """Preview, release, replay, report and watch until the end; count what was sent."""
    oracle = local.DirectEncoding(["red", "green"], epsilon=1)
    wire, binary = local.Wire(oracle), {"content-type": "application/octet-stream"}
    device = service.token("device")
    curator = service.token("curator")
    n = 0
    with service.client(service.token("analyst", name=f"analyst {number}")) as client:
        while time.monotonic() < end:
            n += 1
            body = {"sql": SQL, "epsilon": "1/1000000"}
            where = "/v1/datasets/visits"
            replies = [
                client.post(f"{where}/preview", json={**body, "tag": f"p{n}"}),
                client.post(f"{where}/releases", json=body),
                client.get(f"{where}/budget"),
                client.get("/v1/releases?limit=20"),
                client.post(
                    "/v1/collections/colour/reports",
                    content=wire.encode(oracle.perturb("red")),
                    headers={**binary, "Authorization": f"Bearer {device}"},
                ),
                client.get("/v1/collections/colour/estimate"),
            ]
            if n % 5 == 0:
                made = client.post(f"{where}/releases", json={**body, "tag": f"{number}.{n}"})
                replies += [made, client.get(f"/v1/releases/{made.json().get('id')}?wait=5")]
            if n % 50 == 0:
                headers = {"Authorization": f"Bearer {curator}"}
                replies.append(client.post(f"{where}/refresh", headers=headers))
            sent[number] += len(replies)
            failed += [reply.text for reply in replies if reply.status_code >= 400]
            time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_memory_is_flat(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, SETTINGS)
    declared = folder / "visits.toml"
    declared.write_text(declared.read_text().replace("epsilon = 10", "epsilon = 1000000"))
    failed: list[str] = []
    sent: Counter[int] = Counter()
    with served(folder) as service:
        end = time.monotonic() + SECONDS
        users = [
            threading.Thread(target=use, args=(service, end, n, failed, sent), daemon=True)
            for n in range(3)
        ]
        for user in users:
            user.start()
        seen = []
        while time.monotonic() < end:
            seen.append(memory(service.process.pid))
            time.sleep(SECONDS / 600)
        for user in users:
            user.join(60)
    print(f"{sent.total():,} requests in {SECONDS:,.0f} s; memory in MB:", end=" ")
    print(", ".join(f"{moment} {figure / 1024:.1f}" for moment, figure in moments(seen).items()))
    assert failed == []
    size = len(seen) // PARTS
    parts = [median(seen[n * size : (n + 1) * size]) for n in range(PARTS)]
    # What is kept of plans and answers is bounded; it fills in the first parts.
    assert parts[-1] <= parts[2] * 1.05 + 5_000, parts


# Ten thousand requests race over HTTP for one budget, in two processes behind one port.
#
# Half of a thousand questions are asked by eight people, over and over and all at once.  Each is
# charged once, whoever is first, and as many as the budget holds; all who asked a question that was
# charged see its one answer.  ``TACIT_RACE_REQUESTS=600`` races with fewer.


REQUESTS = int(os.environ.get("TACIT_RACE_REQUESTS", "10000"))
PEOPLE = 8
QUESTIONS = max(40, REQUESTS // 20)
COST = Fraction(1, 20)
BUDGET = COST * (QUESTIONS * 2 // 5)
CAP = BUDGET / 4
RACE_SETTINGS = f"""
latency = "1/4"
caps = {{ each_analyst = {{ epsilon = "{CAP}" }} }}
limits = {{ waiting_jobs = 100000, connections = 200 }}
"""
ASK = {"sql": "select count(*) as n from visits", "epsilon": str(COST)}


def race(service: Served, number: int, found: dict[int, Any], wrong: list[str]) -> None:
    """Ask in an order of one's own; note the releases by question."""
    order = [k % QUESTIONS for k in range(REQUESTS // PEOPLE)]
    random.Random(number).shuffle(order)
    made: dict[int, str] = {}
    refused: Counter[int] = Counter()
    with service.client(service.token("analyst", name=f"analyst {number}")) as client:
        for k in order:
            reply = client.post("/v1/datasets/visits/releases", json={**ASK, "tag": f"{k}"})
            if reply.status_code == 202:
                made[k] = reply.json()["href"]
            elif reply.status_code == 402:
                refused[k] += 1
            else:
                wrong.append(reply.text)
        answers = {}
        for k, href in made.items():
            while (shown := client.get(f"{href}?wait=30").json())["state"] == "running":
                pass
            answers[k] = shown["answer"] if shown["state"] == "done" else wrong.append(str(shown))
    found[number] = answers, refused


def test_ten_thousand_requests_never_pass_the_budget_nor_a_cap(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, RACE_SETTINGS)
    declared = folder / "visits.toml"
    text = declared.read_text()
    assert "epsilon = 10 " in text
    declared.write_text(text.replace("epsilon = 10 ", f'epsilon = "{BUDGET}" '))
    found: dict[int, Any] = {}
    wrong: list[str] = []
    with served(folder, "--workers", "2") as service:
        at_once(lambda number: race(service, number, found, wrong), range(PEOPLE))
    assert wrong == []
    assert len(found) == PEOPLE
    answers = defaultdict(list)
    for mine, _ in found.values():
        for k, answer in mine.items():
            answers[k].append(answer)
    for every in answers.values():
        assert all(answer == every[0] for answer in every)  # one noise for all
    state = ServiceState(Settings.load(folder))
    hosted = state.datasets.of("visits")
    ledger = hosted.ledger(None)
    history = ledger.history()
    assert len({entry.key for entry in history}) == len(history) == len(answers)
    assert ledger.spent.amount == COST * len(history) <= BUDGET
    assert BUDGET - ledger.spent.amount < COST  # as many as it holds
    for account in accounts_of(hosted.ledger(None)):
        if account.name != "analyst:*":
            assert account.spent.amount <= CAP
    ledger.verify_chain()
    state.audit.verify()
    state.datasets.close()
    state.database.close()
