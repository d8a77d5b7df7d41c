"""Attacks on a running service: names that are paths, SQL that hides, watching, odd text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.clinic import SECRET_COST, SECRET_NAMES, write_clinic
from tacit.report import Certificate

COUNT = {"sql": "select count(*) as n from visits", "epsilon": "1/10"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(write_clinic(tmp_path_factory.mktemp("clinic"))) as client:
        yield client


def spent(client: Client) -> Any:
    return client.get("/v1/datasets/visits/budget", token=client.token("curator")).json()["spent"]


NAMES = (
    *("..", ".", "../service.key", "..%2fservice.key", "visits/../../etc/passwd", "/etc/passwd"),
    *("C:\\windows", "visits.toml", "visits\x00", "visits\n", ".hidden", "service.key", "NUL"),
    *("ｖisits", "vis\u200bits", "vi\u0455its", "VISITS", "visits ", "%", "%00", "a" * 101),
    *("'; drop table token; --", "{name}", "${jndi:ldap://x}", "<script>", "\u202evisits", "🙂"),
)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_path_and_nothing_but_itself(name: str, client: Client) -> None:
    curator = client.token("curator")
    sent = "".join(f"%{byte:02x}" for byte in name.encode())  # or the client tidies it up
    for method, path in (
        ("GET", f"/v1/datasets/{sent}"),
        ("GET", f"/v1/datasets/{sent}/budget"),
        ("POST", f"/v1/datasets/{sent}/refresh"),
        ("GET", f"/v1/collections/{sent}/estimate"),
        ("GET", f"/v1/dashboards/{sent}"),
        ("GET", f"/v1/releases/{sent}"),
        ("GET", f"/static/{sent}"),
    ):
        reply = client.request(method, path, token=curator)
        assert reply.status_code in (307, 400, 403, 404, 405), (path, reply.text)
        assert "tacit_" not in reply.text
        assert "budget" not in reply.text


HIDDEN = (
    "select count(*) as n from read_csv('/etc/passwd')",
    "select count(*) as n from 'visits.csv'",
    "select count(*) as n from visits; drop table visits",
    "select count(*) as n from visits -- \n; attach 'x.db'",
    "copy visits to '/tmp/x.csv'",
    "attach 'service.db' as s",
    "pragma database_list",
    "install httpfs",
    "select * from visits",
    "select person from visits",
    "select cost, count(*) as n from visits group by cost",
    "select count(*) as n from visits where 1/(cost - 731.4159) > 0 or error('x')",
    "select count(*) as n from information_schema.tables",
    "select count(*) as n from duckdb_settings()",
    "select getenv('HOME') as n from visits",
    "select count(*) as n from sqlite_master",
    "select count(*) as n, random() as r from visits",
    "select string_agg(person, ',') as n from visits",
    "with v as (select * from visits) select list(cost) as n from v",
    "select count(*) as n from ｖisits",
    "select count(*) as n from visits where person = (select person from visits limit 1)",
    "select count(*) as n from visits limit (select count(*) from visits)",
    "select count(*) as n from visits union all select 1",
    "explain analyze select count(*) as n from visits",
    "set threads = 1",
    "",
    " ",
    ";",
    "--",
    "/*",
    "(" * 5000,
    "select " + "-" * 5000 + "1 as n from visits",
    "\x00",
    "sélect count(*)",
)


@pytest.mark.few(4)
@pytest.mark.parametrize("sql", HIDDEN, ids=[str(n) for n in range(len(HIDDEN))])
def test_what_is_no_question_is_refused_at_once_and_costs_nothing(sql: str, client: Client) -> None:
    before = spent(client)
    for path in ("preview", "releases"):
        reply = client.post(
            f"/v1/datasets/visits/{path}",
            json={"sql": sql, "epsilon": "1/10"},
            token=client.token("analyst"),
        )
        assert reply.status_code == 400, reply.text
        for name in (*SECRET_NAMES, str(SECRET_COST)):
            assert name not in reply.text
    assert spent(client) == before


ODD = ("\x00", "\u202e", "\ufeff", "é", "e\u0301", "𝕏", "' or 1=1 --", "<b>", "\r\nset-cookie: a=b")


@pytest.mark.parametrize("text", ODD, ids=[ascii(t) for t in ODD])
def test_odd_text_in_a_label_or_a_filter_comes_back_as_it_was_or_is_refused(
    text: str, client: Client
) -> None:
    sql = f"""select count(*) as "n{text}" from visits where site = 'x{text.replace("'", "''")}'"""
    reply = client.post(
        "/v1/datasets/visits/preview",
        json={"sql": sql, "epsilon": "1/10", "tag": f"t{text}"},
        token=client.token("analyst"),
    )
    assert reply.status_code in (200, 400), reply.text
    assert "set-cookie" not in reply.headers
    if reply.status_code == 200:
        assert f"n{text}" in [column["label"] for column in reply.json()["columns"]]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"sql": 5}',
        b'{"sql": "x", "question": {}}',
        b'{"sql": "select count(*) as n from visits", "epsilon": 1e999}',
        b'{"sql": "select count(*) as n from visits", "epsilon": NaN}',
        b'{"sql": "select count(*) as n from visits", "epsilon": -1}',
        b'{"sql": "select count(*) as n from visits", "epsilon": "1/0"}',
        b'{"sql": "select count(*) as n from visits", "epsilon": "1/' + b"9" * 300 + b'"}',
        b'{"sql": "select count(*) as n from visits", "epsilon": true}',
        b'{"sql": "select count(*) as n from visits", "epsilon": ' + b"9" * 5000 + b"}",
        b'{"sql": "select count(*) as n from visits", "sql": "x", "epsilon": 1}',
        b'{"described": {"__class__": "os.system"}, "epsilon": 1}',
        b'{"question": {"answers": {"n": {"statistic": "__import__"}}}, "epsilon": 1}',
        b'{"question": {"answers": {"n": {"statistic": "count"}}, "keys_file": "/etc/passwd", '
        b'"by": ["site"]}, "epsilon": 1}',
        b'{"question": {"answers": {"n": {"statistic": "count"}}, "certificate": ["/tmp/x"]}, '
        b'"epsilon": 1}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"\xff\xfe",
    ],
)
def test_bodies_that_are_no_question_are_refused(body: bytes, client: Client) -> None:
    before = spent(client)
    headers = {"content-type": "application/json"}
    for path in ("preview", "releases"):
        reply = client.post(
            f"/v1/datasets/visits/{path}",
            content=body,
            headers=headers,
            token=client.token("analyst"),
        )
        assert reply.status_code == 400, reply.text[:300]
        assert set(reply.json()) == {"error"}
    assert spent(client) == before


def ask(client: Client, token: str, body: Any = None, **more: Any) -> Any:
    return client.post("/v1/datasets/visits/releases", json=body or COUNT, token=token, **more)


def test_other_peoples_releases_are_as_if_they_were_not_there(client: Client) -> None:
    ada, eve = (client.token("analyst", name=name) for name in ("ada", "eve"))
    made = ask(client, ada, {**COUNT, "tag": "own"}).json()
    for path in ("", "/answer", "/certificate"):
        missing = client.get(f"/v1/releases/{'0' * 32}{path}", token=eve)
        other = client.get(f"/v1/releases/{made['id']}{path}", token=eve)
        assert (other.status_code, other.json()) == (missing.status_code, missing.json())
    assert client.post(f"/v1/releases/{made['id']}/cancel", token=eve).status_code in (403, 404)
    listed = client.get("/v1/releases", token=eve).json()["items"]
    assert made["id"] not in [one["id"] for one in listed]


def looks_before(client: Client, tag: str) -> dict[str, set[str]]:
    """What anybody saw, at each look between a question and its tick."""
    body = {**COUNT, "tag": tag}
    ada, eve = (client.token("analyst", name=name) for name in ("ada", "eve"))
    curator = client.token("curator")
    made = ask(client, ada, body).json()
    seen: dict[str, set[str]] = {}
    while time.time() < made["ready_at"] - 0.02:
        looks = {
            "own": client.get(f"/v1/releases/{made['id']}", token=ada).json(),
            "budget": client.get("/v1/datasets/visits/budget", token=curator).json(),
            "preview": client.post("/v1/datasets/visits/preview", json=body, token=eve).json(),
        }
        looks["own"].pop("progress")
        if time.time() < made["ready_at"] - 0.02:
            for name, look in looks.items():
                seen.setdefault(name, set()).add(json.dumps(look, sort_keys=True))
    return seen


def test_nobody_learns_from_others_looks_when_an_engine_was_done(client: Client) -> None:
    """Between the question and its tick everything that anybody can ask stays the same."""
    assert client.state.settings.dataset("visits").latency > 0
    for asked in range(20):  # a machine that is busy may not look even once before a tick
        if seen := looks_before(client, f"watched {asked}"):
            break
    assert {name: len(texts) for name, texts in seen.items()} == dict.fromkeys(seen, 1), seen
    assert len(seen) == 3


def test_the_same_question_of_another_person_does_not_outrun_the_tick(client: Client) -> None:
    body = {**COUNT, "tag": "outrun"}
    ada, eve = (client.token("analyst", name=name) for name in ("ada", "eve"))
    made = ask(client, ada, body).json()
    while time.time() < made["ready_at"] - 0.05:
        other = ask(client, eve, body).json()
        if time.time() < made["ready_at"] - 0.02:
            assert other["state"] in ("queued", "running"), other
        time.sleep(0.01)


def test_the_answer_of_a_release_has_a_size_that_no_row_changes(client: Client) -> None:
    """Numbers take their room as text; the shape, the keys and the columns are public."""
    analyst = client.token("analyst")
    sql = "select site, count(*) as n from visits group by site"
    made = ask(client, analyst, {"sql": sql, "epsilon": "1/10"}).json()
    reply = client.get(f"/v1/releases/{made['id']}?wait=5", token=analyst).json()
    assert reply["state"] == "done"
    text = json.dumps(reply["answer"])
    assert "north" in text
    assert "south" in text


def test_no_certificate_tells_where_in_the_chain_the_answers_of_others_stand(
    client: Client,
) -> None:
    ada, curator = client.token("analyst", name="ada"), client.token("curator")
    certificates = []
    for tag in ("before", "after"):
        ask = {**COUNT, "tag": f"place in the chain {tag}"}
        made = client.post("/v1/datasets/visits/releases", json=ask, token=ada).json()
        found = client.get(f"/v1/releases/{made['id']}?wait=20", token=ada).json()
        assert found["state"] == "done"
        certificates.append(client.get(found["links"]["certificate"], token=curator).json())
    ledger = client.state.datasets.of("visits").ledger(None)
    with ledger.chain.read() as (transaction, _):
        hashes = [event.hash for event in transaction.events()]
    assert len(hashes) >= 5
    for body in certificates:
        assert (body["ledger"]["sequence"], body["ledger"]["hash"]) == (None, None)
        assert not any(digest in json.dumps(body) for digest in hashes)
        assert Certificate(body).verify(ledger)
        assert "its question" in Certificate(body).to_html()
    first, second = certificates
    swapped = {**first, "answer": second["answer"]}
    assert not Certificate(swapped).verify(ledger)
