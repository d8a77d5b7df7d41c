"""Data that grows behind a service: a folder that gets files, and a table in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running

DECLARED = """
name = "visits"
unit = {{ person = "person", rows = 1 }}
budget = {{ epsilon = 10000 }}
[tables.visits]
{place}
[tables.visits.columns]
person = {{ kind = "text" }}
"""


def ask(client: Client, tag: str) -> dict[str, Any]:
    """Release the number of people, with next to no noise."""
    body = {"sql": "select count(*) as n from visits", "epsilon": 1000, "tag": tag}
    token = client.token("analyst")
    made = client.post("/v1/datasets/visits/releases", json=body, token=token).json()
    found: dict[str, Any] = client.get(f"/v1/releases/{made['id']}?wait=20", token=token).json()
    assert found["state"] == "done", found
    return found


def count(found: dict[str, Any]) -> int:
    (column,) = found["answer"]["columns"]
    return round(float(column["value"][0]))


def grows(folder: Path, place: str, add: Callable[[int, int], None]) -> None:
    """Ask, let the table grow, ask again: the old answer is free, a tag buys a new one."""
    (folder / "visits.toml").write_text(DECLARED.format(place=place))
    (folder / "service.toml").write_text("latency = 0.3\n")
    add(0, 3)
    with running(folder) as client:
        assert count(ask(client, "first")) == 3
        add(3, 8)
        refreshed = client.post("/v1/datasets/visits/refresh", token=client.token("curator"))
        assert refreshed.status_code == 202
        again = ask(client, "first")
        assert (count(again), again["replayed"]) == (3, True)
        new = ask(client, "second")
        assert (count(new), new["replayed"]) == (8, False)
        shown = client.get("/v1/datasets/visits", token=client.token("analyst")).json()
        assert "refreshed once" in shown["refreshes"]
        assert "is not given back" in shown["refreshes"]
        assert shown["spent"]["epsilon"] == "2000"
        preview = client.post(
            "/v1/datasets/visits/preview",
            json={"sql": "select count(*) as n from visits", "epsilon": 1},
            token=client.token("analyst"),
        ).json()
        assert any("refreshed once" in note for note in preview["notes"])


@pytest.mark.full
def test_a_folder_that_gets_new_files(tmp_path: Path) -> None:
    (tmp_path / "visits").mkdir()

    def add(first: int, end: int) -> None:
        lines = ["person", *(f"p{n}" for n in range(first, end))]
        (tmp_path / "visits" / f"from{first}.csv").write_text("\n".join(lines) + "\n")

    grows(tmp_path, 'path = "visits/*.csv"', add)


def test_a_table_in_postgresql(tmp_path: Path, postgres: Any) -> None:
    postgres.run("create table visits (person text)")

    def add(first: int, end: int) -> None:
        rows = ", ".join(f"('p{n}')" for n in range(first, end))
        postgres.run(f"insert into visits values {rows}")

    place = f'url = "{postgres.dsn()}"\ntable = "visits"'
    (tmp_path / "service.toml").touch()
    grows(tmp_path, place, add)
