"""Two machines on one PostgreSQL: one key, one set of tokens, one budget."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.servers.postgres_server import PostgresServer
from support.service.server import Served, served
from tacit.errors import UsageError
from tacit.service.database import open_store
from tacit.service.demo import write_demo
from tacit.service.settings import Settings

pytestmark = pytest.mark.full
SQL = "select site, count(*) as n from visits group by site"


def machine(folder: Path, dsn: str, like: Path | None = None) -> Path:
    """The folder of a machine; with the key of another one where that is named."""
    write_demo(folder)
    (folder / "service.toml").write_text(f"database = '{dsn}'\nlatency = '1/2'\n")
    ledger = f"{dsn}{'&' if '?' in dsn else '?'}ledger=visits"
    text = (folder / "visits.toml").read_text()
    (folder / "visits.toml").write_text(f"ledger = '{ledger}'\n{text}")
    if like is not None:
        shutil.copy(like / "service.key", folder)
    return folder


def answer(one: Served, token: str) -> Any:
    """What a release of one machine comes to."""
    with one.client(token) as client:
        body = {"sql": SQL, "epsilon": "1/2"}
        made = client.post("/v1/datasets/visits/releases", json=body)
        assert made.status_code == 202, made.text
        return client.get(f"/v1/releases/{made.json()['id']}?wait=30").json()


@pytest.fixture(scope="module")
def pair(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, Served]]:
    """Two machines that run, on one database."""
    place = tmp_path_factory.mktemp("machines")
    postgres_server.start()
    with postgres_server.database() as database:
        dsn = database.dsn()
        first = machine(place / "first", dsn)
        open_store(Settings.load(first))[0].close()
        second = machine(place / "second", dsn, like=first)
        for folder in (first, second):
            (folder / "data").mkdir()
            (folder / "data" / "stays.csv").write_text("person,cost\n1,20\n2,30\n")
        with served(first) as one, served(second) as other:
            yield one, other


def test_two_machines_are_one_service(pair: tuple[Served, Served]) -> None:
    one, other = pair
    token = one.token("analyst", name="ada")
    assert httpx.get(f"{other.address}/v1/me", headers=bearer(token)).json()["name"] == "ada"
    here, there = answer(one, token), answer(other, token)
    assert here["state"] == there["state"] == "done"
    assert here["answer"] == there["answer"]  # one noise: the other replayed it
    assert there["replayed"]
    curator = other.token("curator")
    with one.client(curator) as client:
        (made,) = [t for t in client.get("/v1/tokens").json()["items"] if t["name"] == "ada"]
        assert client.delete(f"/v1/tokens/{made['id']}").json() == {"revoked": 1}
    assert httpx.get(f"{other.address}/v1/me", headers=bearer(token)).status_code == 401


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_machine_with_another_key_does_not_start(postgres: Any, tmp_path: Path) -> None:
    first = machine(tmp_path / "first", postgres.dsn())
    open_store(Settings.load(first))[0].close()
    other = machine(tmp_path / "other", postgres.dsn())
    with pytest.raises(UsageError, match="another key") as caught:
        open_store(Settings.load(other))
    assert postgres.server.password not in str(caught.value)


def test_what_a_curator_declares_on_one_machine_every_machine_has(
    pair: tuple[Served, Served],
) -> None:
    one, other = pair
    columns = {"person": {"kind": "integer"}, "cost": {"kind": "float", "bounds": [0, 100]}}
    fields = {
        "unit": {"person": "person", "rows": 2},
        "budget": {"epsilon": 3},
        "tables": {"stays": {"path": "data/stays.csv", "columns": columns}},
    }
    with one.client(one.token("curator", name="cleo")) as here:
        sent = {"declaration": fields, "hosting": {"latency": 0.5}}
        assert here.put("/v1/datasets/stays", json=sent).status_code == 201
        with other.client(other.token("curator", name="carl")) as there:
            ask = {"sql": "select avg(cost) as cost from stays", "epsilon": 1}
            made = there.post("/v1/datasets/stays/releases", json=ask)
            assert made.status_code == 202, made.text
            found = there.get(f"/v1/releases/{made.json()['id']}?wait=30").json()
            assert found["state"] == "done"
            changed = {**sent, "declaration": {**fields, "purpose": "beds"}, "replaces": 1}
            assert there.put("/v1/datasets/stays", json=changed).status_code == 200
            assert there.put("/v1/datasets/stays", json=changed).status_code == 409
        seen = here.get("/v1/datasets/stays").json()
        assert (seen["purpose"], seen["spent"]["epsilon"]) == ("beds", "1")
