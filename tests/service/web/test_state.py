"""Gauges of releases and budgets: right in every process, public, rounded to the safe side."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from support.service.client import Client, running
from support.service.clinic import SECRET_COST, VISITS, write_clinic

SLOW = 'latency = "1/5"\n'
ASK = {"sql": "select count(*) as n from visits", "epsilon": "1/3"}
APART = f"{SLOW}collusion = 'teams apart'\n"


def numbers(text: str, metric: str) -> dict[str, float]:
    """The numbers of a metric by its labels."""
    found = re.findall(rf"^{metric}(\{{.*\}})? (\S+)$", text, flags=re.MULTILINE)
    return {labels: float(number) for labels, number in found}


def ask(client: Client, token: str, **more: object) -> str:
    reply = client.post("/v1/datasets/visits/releases", json={**ASK, **more}, token=token)
    assert reply.status_code == 202, reply.text
    return str(reply.json()["href"])


@pytest.mark.full
def test_every_process_shows_the_numbers_of_the_service(tmp_path: Path) -> None:
    folder = write_clinic(tmp_path, SLOW)
    with running(folder) as one, running(folder) as other:
        auditor, analyst = one.token("auditor"), one.token("analyst")
        before = numbers(one.get("/metrics", token=auditor).text, "tacit_requests_total")
        for client in (one, other, other):
            href = ask(client, analyst)
            client.get(f"{href}?wait=20", token=analyst)
        other.state.metrics.note()  # what the clock does every five seconds
        texts = [client.get("/metrics", token=auditor).text for client in (one, other)]
    submitted = '{method="POST",route="/v1/datasets/{name}/releases",status="202"}'
    assert submitted not in before
    for text in texts:
        assert numbers(text, "tacit_requests_total")[submitted] == 3
        states = numbers(text, "tacit_releases")
        assert states == {'{dataset="visits",state="done"}': 3}
        labels = '{of="dataset visits",team="",unit="epsilon"}'
        assert numbers(text, "tacit_budget")[labels] == 10
        spent = numbers(text, "tacit_budget_spent")[labels]
        remaining = numbers(text, "tacit_budget_remaining")[labels]
        assert 0 <= Fraction(spent) - Fraction(1, 3) < Fraction(1, 10**15)
        assert 0 <= Fraction(29, 3) - Fraction(remaining) < Fraction(1, 10**14)
        assert str(SECRET_COST) not in text


def test_before_its_tick_an_outcome_counts_as_running(tmp_path: Path) -> None:
    with running(write_clinic(tmp_path, "latency = 600\n")) as client:
        auditor, analyst = client.token("auditor"), client.token("analyst")
        asked = client.get("/metrics", token=auditor).text
        assert numbers(asked, "tacit_releases") == {}
        assert numbers(asked, "tacit_budget_spent") in ({}, budget_of("visits", 0.0))
        job = client.state.desk.queue.find(ask(client, analyst).rsplit("/", 1)[1])
        assert job is not None
        client.state.workers.stop(60)  # done with it by then, and before that looked at
        texts = {
            re.sub(
                r"(?m)^tacit_(requests|audit).*\n", "", client.get("/metrics", token=auditor).text
            )
            for _ in range(2)
        }
        (text,) = texts
        assert numbers(text, "tacit_releases") == {'{dataset="visits",state="running"}': 1}
        assert list(numbers(text, "tacit_budget_spent")) == list(budget_of("visits", 0.0))
        assert numbers(text, "tacit_outcomes_total") == {}


def budget_of(name: str, amount: float, team: str = "") -> dict[str, float]:
    return {f'{{of="dataset {name}",team="{team}",unit="epsilon"}}': amount}


def test_a_budget_that_two_data_sets_share_stands_once(tmp_path: Path) -> None:
    folder = write_clinic(
        tmp_path,
        f'{SLOW}[datasets.visits]\npeople = "patients"\n[datasets.again]\npeople = "patients"\n',
    )
    (folder / "again.toml").write_text(VISITS.replace('name = "visits"', 'name = "again"'))
    with running(folder) as client:
        auditor, analyst = client.token("auditor"), client.token("analyst")
        client.get(f"{ask(client, analyst)}?wait=20", token=analyst)
        text = client.get("/metrics", token=auditor).text
    (labels,) = numbers(text, "tacit_budget")
    assert labels == '{of="people patients",team="",unit="epsilon"}'


@pytest.mark.full
def test_teams_apart_have_a_budget_each(tmp_path: Path) -> None:
    with running(write_clinic(tmp_path, APART)) as client:
        auditor = client.token("auditor")
        for team in ("oncology", "surgery"):
            analyst = client.token("analyst", name=team, team=team)
            client.get(f"{ask(client, analyst)}?wait=20", token=analyst)
        text = client.get("/metrics", token=auditor).text
    assert numbers(text, "tacit_budget") == {
        **budget_of("visits", 10.0, "oncology"),
        **budget_of("visits", 10.0, "surgery"),
    }
