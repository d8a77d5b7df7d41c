"""The requests on the pages for analysts and reviewers are sent, and the service takes them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import finished
from tacit.data import health_insurance

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```http\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DECLARED = """
name = "visits"
unit = { person = "person", rows = 5, groups = 1 }
budget = { epsilon = 5 }
[tables.visits]
path = "health_insurance.parquet"
[tables.visits.columns]
site = { kind = "integer", keys = [1, 2, 3, 4, 5, 6] }
visits = { kind = "integer", bounds = [0, 20] }
"""


def requests(page: str) -> list[tuple[str, str, dict[str, str], Any]]:
    """The method, the path, the headers and the body of every request on a page."""
    found = []
    for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        head, _, body = block.strip().partition("\n\n")
        first, *headers = head.splitlines()
        method, path = first.split(" ")
        said = dict(line.split(": ", 1) for line in headers)
        found.append((method, path, said, json.loads(body) if body else None))
    return found


@pytest.fixture
def client(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Client]:
    shutil.copy(health_insurance(), tmp_path)
    (tmp_path / "visits.toml").write_text(DECLARED)
    (tmp_path / "service.toml").write_text(f'latency = "1/20"\napproval = {request.param}\n')
    with running(tmp_path) as client:
        yield client


@pytest.mark.parametrize("client", ["false"], indirect=True)
def test_the_page_for_analysts(client: Client) -> None:
    token, release = client.token("analyst", "visits", "ada"), ""
    asked = requests("service-for-analysts.md")
    assert len(asked) == 13
    for method, path, headers, body in asked:
        path = path.replace("{id}", release)
        reply = client.request(method, path, token=token, headers=headers, json=body)
        assert reply.status_code in (200, 201, 202), reply.text
        if reply.status_code == 202:
            release = reply.json()["id"]
            assert finished(client, token, release)["state"] == "done"


@pytest.mark.parametrize("client", ["true"], indirect=True)
def test_the_page_for_reviewers(client: Client) -> None:
    ada, rita = client.token("analyst", "visits", "ada"), client.token("reviewer", "visits", "rita")

    def ask(tag: str) -> str:
        said = {"sql": "select count(*) as n from visits", "epsilon": 1, "tag": tag}
        reply = client.post("/v1/datasets/visits/releases", json=said, token=ada)
        return str(reply.json()["id"])

    first, second = ask("first"), ask("second")
    asked = requests("service-for-reviewers.md")
    assert len(asked) == 5
    for method, path, headers, body in asked:
        path = path.replace("{id}", second if body else first)
        if "certificate" in path:
            assert finished(client, ada, first)["state"] == "done"
        reply = client.request(method, path, token=rita, headers=headers, json=body)
        assert reply.status_code == 200, reply.text
    assert finished(client, ada, second)["state"] == "refused"


PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"
ADDRESS = "postgresql://reader@db.example/clinic"


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language on the page."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\b[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_page_s_statements_and_snippets_run(postgres, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reader = postgres.server.role("reader")
    (granted,) = blocks("sql")
    create, *grants = granted.strip().split("\n")
    assert create == f"CREATE ROLE {reader} LOGIN;"  # which the tests' server has
    postgres.run(
        "create schema care",
        "create table care.visits as select i / 3 as patient, i % 7 as visits, "
        "case when i % 2 = 0 then 'north' else 'south' end as ward from generate_series(1, 90) i",
        *grants,
    )
    names: dict[str, object] = {}
    python = blocks("python")
    for block in python:
        assert ADDRESS in block
        exec(compile(block.replace(ADDRESS, postgres.dsn(reader)), str(PAGE), "exec"), names)
    assert len(python) == 2
    assert "north" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["timeout", "memory_limit", "threads"])
def test_the_page_names_every_option_of_the_engine(option):
    assert f"`{option}=" in PAGE.read_text(encoding="utf-8")
