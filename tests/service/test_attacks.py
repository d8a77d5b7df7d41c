"""Attacks on a running service: names that are paths, SQL that hides, watching, odd text."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.servers.left_out import leave_out
from support.servers.tls_proxy import HOST, Proxy, missing, tls_proxy
from support.service.client import Client, running
from support.service.clinic import SECRET_COST, SECRET_NAMES, write_clinic
from support.service.hosting import COUNT as OUTSIDER_COUNT
from support.service.hosting import released
from support.service.server import Served, free_port, served
from tacit import local
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
        result = client.get(f"/v1/releases/{made['id']}?wait=20", token=ada).json()
        assert result["state"] == "done"
        certificates.append(client.get(result["links"]["certificate"], token=curator).json())
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


# What an analyst with a token of their own learns of the others: nothing beyond the budget.
#
# Of each law there is an outsider who asks, and somebody else whose work must not show.


ASK = "/v1/datasets/visits/releases"
FAST = 'latency = "1/20"\n'
COLLECTION = """
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
per_token = 3
"""


@pytest.fixture(scope="module")
def outsider_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = write_clinic(tmp_path_factory.mktemp("clinic"), FAST + COLLECTION)
    with running(folder) as client:
        yield client


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = write_clinic(tmp_path_factory.mktemp("apart"), f"{FAST}collusion = 'teams apart'\n")
    with running(folder) as client:
        yield client


def listed(client: Client, token: str, query: str = "") -> Any:
    return client.get(f"/v1/releases?{query}", token=token).json()


def asked(client: Client, token: str, tag: str, **more: Any) -> Any:
    result = released(client, token, {**OUTSIDER_COUNT, "epsilon": "1/1000", "tag": tag}, **more)
    assert result["state"] == "done", result
    return result


def test_a_cursor_does_not_tell_how_much_the_others_asked(outsider_client: Client) -> None:
    eve, ada = (outsider_client.token("analyst", name=name) for name in ("eve pages", "ada pages"))
    seen = []
    for k in range(3):
        mine = asked(outsider_client, eve, f"pages {k}")["id"]
        page = listed(outsider_client, eve, "limit=1")
        assert page["items"][0]["id"] == mine
        assert page["next"] == mine  # and no place among the releases of all
        seen.append(mine)
        for other in range(k):
            asked(outsider_client, ada, f"pages of ada {k} {other}")
    rest = listed(outsider_client, eve, f"limit=5&cursor={seen[-1]}")
    assert [one["id"] for one in rest["items"]] == seen[-2::-1]


def test_the_release_of_another_is_no_cursor(outsider_client: Client) -> None:
    eve, ada = (
        outsider_client.token("analyst", name=name) for name in ("eve cursor", "ada cursor")
    )
    other = asked(outsider_client, ada, "cursor")["id"]
    replies = [
        outsider_client.get(f"/v1/releases?cursor={cursor}", token=eve)
        for cursor in (other, "0" * 32)
    ]
    assert [reply.status_code for reply in replies] == [400, 400]
    assert replies[0].json() == replies[1].json()


LIKE_ADA = (
    "Ada",
    "ad\u0430",  # the last letter is Cyrillic
    "\uff41da",  # the first one is as wide as two
    unicodedata.normalize("NFD", "ad\u00e1"),
    unicodedata.normalize("NFC", "ad\u00e1"),
    "ada2",
)


@pytest.mark.parametrize("name", LIKE_ADA)
def test_a_name_that_looks_like_anothers_is_another(name: str, outsider_client: Client) -> None:
    ada, other = (outsider_client.token("analyst", name=who) for who in ("ada", name))
    once = {"headers": {"Idempotency-Key": "same for both"}}
    ask = {**OUTSIDER_COUNT, "epsilon": "1/1000"}
    of_ada = outsider_client.post(ASK, json={**ask, "tag": "names"}, token=ada, **once)
    assert of_ada.status_code == 202, of_ada.text
    # The key of another person stands for nothing of one's own.
    mine = outsider_client.post(ASK, json={**ask, "tag": f"names of {name}"}, token=other, **once)
    assert mine.status_code == 202, mine.text
    assert mine.json()["id"] != of_ada.json()["id"]
    reply = outsider_client.get(of_ada.json()["href"], token=other)
    missing = outsider_client.get(f"/v1/releases/{'0' * 32}", token=other)
    assert (reply.status_code, reply.json()) == (404, missing.json())
    assert of_ada.json()["id"] not in [one["id"] for one in listed(outsider_client, other)["items"]]


@pytest.mark.parametrize(
    "name", ["ada\u200b", "ada\u202e", "ada\n", " ada", "ada ", "", "*", "ada:*"]
)
def test_no_token_has_a_name_that_cannot_be_told_from_another(
    name: str, outsider_client: Client
) -> None:
    body = {"name": name, "grants": [{"role": "analyst", "dataset": "visits"}], "days": 1}
    reply = outsider_client.post("/v1/tokens", json=body, token=outsider_client.token("curator"))
    assert reply.status_code == 400, reply.text


def test_replies_about_what_is_anothers_have_the_size_and_headers_of_nothing(
    outsider_client: Client,
) -> None:
    eve, ada = (outsider_client.token("analyst", name=name) for name in ("eve sizes", "ada sizes"))
    made = asked(outsider_client, ada, "sizes")
    for end in ("", "?wait=1", "/answer", "/answer?format=csv", "/certificate"):
        there, missing = (
            outsider_client.get(f"/v1/releases/{name}{end}", token=eve)
            for name in (made["id"], "0" * 32)
        )
        assert there.content == missing.content
        drop = {"x-request-id", "date"}
        heads = [{k: v for k, v in r.headers.items() if k not in drop} for r in (there, missing)]
        assert heads[0] == heads[1]
    own = outsider_client.get(f"/v1/releases/{made['id']}", token=ada)
    assert own.headers["cache-control"] == "no-store"
    assert not {"etag", "last-modified"} & set(own.headers)  # nothing to ask for by its digest


def test_ada_of_another_team_is_another_person_where_teams_stand_apart(apart: Client) -> None:
    here, there = (apart.token("analyst", name="ada", team=team) for team in ("a", "b"))
    once = {"headers": {"Idempotency-Key": "mine"}}
    made = asked(apart, here, "teams", **once)
    assert made["id"] in [one["id"] for one in listed(apart, here)["items"]]
    assert listed(apart, there) == {"items": [], "next": None}
    missing = apart.get(f"/v1/releases/{'0' * 32}", token=there).json()
    for end in ("", "/answer", "/certificate"):
        reply = apart.get(f"/v1/releases/{made['id']}{end}", token=there)
        assert (reply.status_code, reply.json()) == (404, missing)
    assert apart.post(f"/v1/releases/{made['id']}/cancel", token=there).status_code == 404
    ask = {**OUTSIDER_COUNT, "epsilon": "1/1000", "tag": "teams"}
    again = apart.post(ASK, json=ask, token=there, **once)
    assert again.status_code == 409
    assert made["id"] not in again.text
    fresh = asked(apart, there, "teams")  # the same question, paid by this team
    assert not fresh["replayed"]


def test_in_one_budget_for_all_ada_is_ada_in_any_team(outsider_client: Client) -> None:
    before, after = (
        outsider_client.token("analyst", name="moved", team=team) for team in ("a", "b")
    )
    made = asked(outsider_client, before, "moved")
    assert (
        outsider_client.get(f"/v1/releases/{made['id']}", token=after).json()["answer"]
        == made["answer"]
    )


def test_a_device_does_not_multiply_its_share_by_narrowing_its_token(
    outsider_client: Client,
) -> None:
    oracle = local.DirectEncoding(["red", "green"], epsilon=1)
    wire = local.Wire(oracle)

    def post(token: str, n: int) -> Any:
        sent = b"".join(wire.encode(oracle.perturb("red")) for _ in range(n))
        kind = {"content-type": "application/octet-stream"}
        return outsider_client.post(
            "/v1/collections/colour/reports", content=sent, headers=kind, token=token
        ).json()

    device = outsider_client.token("device", "colour", name="one device")
    narrow = "/v1/tokens/narrow"
    child = outsider_client.post(narrow, json={"days": 0.01}, token=device).json()["token"]
    grandchild = outsider_client.post(narrow, json={"days": 0.005}, token=child).json()["token"]
    assert post(child, 2)["accepted"] == 2
    assert post(device, 2) == {"accepted": 1, "refused": {"limit": 1}}
    assert post(grandchild, 1) == {"accepted": 0, "refused": {"limit": 1}}
    other = outsider_client.token("device", "colour", name="another device")
    assert post(other, 4) == {"accepted": 3, "refused": {"limit": 1}}


# A service behind nginx with TLS, as its page in the docs says to set both up.


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Proxy]]:
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "service.toml").write_text(
        f'url = "https://{HOST}"\ntrusted_proxies = ["127.0.0.1"]\n[limits]\nfailed_tokens = 5\n'
    )
    with (
        served(folder) as service,
        tls_proxy(tmp_path_factory.mktemp("proxy"), free_port(), service.port) as proxy,
    ):
        yield service, proxy


@pytest.mark.full
def test_a_token_works_through_tls_and_browsers_are_told_to_keep_to_it(
    both: tuple[Served, Proxy],
) -> None:
    service, proxy = both
    with proxy.client(Authorization=f"Bearer {service.token('analyst', name='ada')}") as client:
        reply = client.get("/v1/me")
    assert reply.json()["name"] == "ada"
    assert reply.headers["strict-transport-security"].startswith("max-age=")


@pytest.mark.full
def test_a_sign_in_is_bound_to_this_host_and_to_tls(both: tuple[Served, Proxy]) -> None:
    service, proxy = both
    own, other = f"https://{HOST}", "https://elsewhere.example"
    with proxy.client() as client:
        sent = {"token": service.token("analyst")}
        refused = client.post("/sign-in", data=sent, headers={"Origin": other})
        assert refused.status_code == 403
        assert "set-cookie" not in refused.headers
        reply = client.post("/sign-in", data=sent, headers={"Origin": own})
    cookie = reply.headers["set-cookie"].lower()
    assert cookie.startswith("__host-tacit=")
    for word in ("secure", "httponly", "samesite", "path=/"):
        assert word in cookie, word
    assert "domain=" not in cookie


@pytest.mark.full
def test_nobody_borrows_another_address(both: tuple[Served, Proxy]) -> None:
    """Guesses are counted by the address that the proxy saw, whatever the caller writes."""
    _, proxy = both
    result = []
    with proxy.client() as client:
        for n in range(12):
            headers = {
                "Authorization": "Bearer tacit_" + "A" * 96,
                "X-Forwarded-For": f"10.0.0.{n}",
                "X-Real-IP": f"10.0.0.{n}",
                "Forwarded": f"for=10.0.0.{n}",
            }
            result.append(client.get("/v1/me", headers=headers).status_code)
    assert result[0] == 401
    assert result[-1] == 429


@pytest.mark.full
def test_links_lead_to_the_public_address(both: tuple[Served, Proxy]) -> None:
    _, proxy = both
    with proxy.client() as client:
        reply = client.get("/", follow_redirects=False)
        text = str(reply.headers) + reply.text
    assert "127.0.0.1" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "")


@pytest.mark.full
def test_without_the_certificate_nobody_is_believed(both: tuple[Served, Proxy]) -> None:
    _, proxy = both
    with pytest.raises(httpx.ConnectError, match="certificate"):
        httpx.get(f"https://127.0.0.1:{proxy.port}/healthz")


# Data that grows behind a service: a folder that gets files, and a table in PostgreSQL.


DECLARED = """
name = "visits"
unit = {{ person = "person", rows = 1 }}
budget = {{ epsilon = 10000 }}
[tables.visits]
{place}
[tables.visits.columns]
person = {{ kind = "text" }}
"""


def growth_ask(client: Client, tag: str) -> dict[str, Any]:
    """Release the number of people, with next to no noise."""
    body = {"sql": "select count(*) as n from visits", "epsilon": 1000, "tag": tag}
    token = client.token("analyst")
    made = client.post("/v1/datasets/visits/releases", json=body, token=token).json()
    result: dict[str, Any] = client.get(f"/v1/releases/{made['id']}?wait=20", token=token).json()
    assert result["state"] == "done", result
    return result


def count(found: dict[str, Any]) -> int:
    (column,) = found["answer"]["columns"]
    return round(float(column["value"][0]))


def grows(folder: Path, place: str, add: Callable[[int, int], None]) -> None:
    """Ask, let the table grow, ask again: the old answer is free, a tag buys a new one."""
    (folder / "visits.toml").write_text(DECLARED.format(place=place))
    (folder / "service.toml").write_text("latency = 0.3\n")
    add(0, 3)
    with running(folder) as client:
        assert count(growth_ask(client, "first")) == 3
        add(3, 8)
        refreshed = client.post("/v1/datasets/visits/refresh", token=client.token("curator"))
        assert refreshed.status_code == 202
        again = growth_ask(client, "first")
        assert (count(again), again["replayed"]) == (3, True)
        new = growth_ask(client, "second")
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
