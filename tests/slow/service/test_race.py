"""Ten thousand requests race over HTTP for one budget, in two processes behind one port.

Half of a thousand questions are asked by eight people, over and over and all at once.  Each is
charged once, whoever is first, and as many as the budget holds; all who asked a question that was
charged see its one answer.  ``TACIT_RACE_REQUESTS=600`` races with fewer.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.service.clinic import write_clinic
from support.service.server import Served, served
from tacit.service.settings import Settings
from tacit.service.web.state import State

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("TACIT_RACE_REQUESTS", "10000"))
PEOPLE = 8
QUESTIONS = max(40, REQUESTS // 20)
COST = Fraction(1, 20)
BUDGET = COST * (QUESTIONS * 2 // 5)
CAP = BUDGET / 4
SETTINGS = f"""
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
    folder = write_clinic(tmp_path, SETTINGS)
    declared = folder / "visits.toml"
    text = declared.read_text()
    assert "epsilon = 10 " in text
    declared.write_text(text.replace("epsilon = 10 ", f'epsilon = "{BUDGET}" '))
    found: dict[int, Any] = {}
    wrong: list[str] = []
    with served(folder, "--workers", "2") as service:
        people = [
            threading.Thread(target=race, args=(service, number, found, wrong))
            for number in range(PEOPLE)
        ]
        for one in people:
            one.start()
        for one in people:
            one.join()
    assert wrong == []
    assert len(found) == PEOPLE
    answers = defaultdict(list)
    for mine, _ in found.values():
        for k, answer in mine.items():
            answers[k].append(answer)
    for every in answers.values():
        assert all(answer == every[0] for answer in every)  # one noise for all
    state = State.open(Settings.load(folder))
    hosted = state.datasets.of("visits")
    ledger = hosted.ledger(None)
    history = ledger.history()
    assert len({entry.key for entry in history}) == len(history) == len(answers)
    assert ledger.spent.amount == COST * len(history) <= BUDGET
    assert BUDGET - ledger.spent.amount < COST  # as many as it holds
    for account in hosted.all_accounts(None):
        if account.name != "analyst:*":
            assert account.spent.amount <= CAP
    ledger.verify_chain()
    state.audit.verify()
    state.datasets.close()
    state.database.close()
