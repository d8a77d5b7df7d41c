"""Forms of a browser: read within limits."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from support.service.client import Client, running
from support.service.clinic import SECRET_COST, VISITS, write_clinic
from support.service.hosting import COUNT, hosted_clinic, released
from support.service.pages import browser
from tacit.service.access import ACTIONS, RIGHTS
from tacit.service.database import Database
from tacit.service.web import routing
from tacit.service.web import state as readiness
from tacit.service.web.routing import RequestThreads, Route, declared_right
from tacit.service.web.server import ROUTERS


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("clinic")) as client:
        yield client


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"token=x", "text/plain"),
        (b"token=x", "multipart/form-data; boundary=a"),
        (b'{"token": "x"}', "application/json"),
        (b"token=%ff", "application/x-www-form-urlencoded"),
        ("token=ä".encode(), "application/x-www-form-urlencoded"),
        (b"&".join(b"a%d=1" % i for i in range(300)), "application/x-www-form-urlencoded"),
    ],
)
def test_forms_that_are_none(client: Client, body: bytes, kind: str) -> None:
    reply = client.post("/sign-in", content=body, headers={"Content-Type": kind})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/v1/releases?lft_open=true", "no parameter 'lft_open' here; did you mean 'left_open'?"),
        ("/v1/datasets?limt=3&cursor=", "no parameter 'limt' here; did you mean 'limit'?"),
        ("/v1/why?action=ask&to=x", "known: 'action', 'dataset'"),
        ("/v1/datasets/visits?full=1", "no parameter 'full' here; there are none"),
        ("/v1/feed?limit=1", "no parameter 'limit' here"),
    ],
)
def test_parameters_that_a_route_does_not_take_are_refused(
    client: Client, address: str, said: str
) -> None:
    reply = client.get(address, token=client.token("curator"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_request")
    assert said in reply.json()["error"]["message"]


def test_links_to_pages_may_have_parameters_of_others(client: Client) -> None:
    assert browser(client, "curator").get("/releases?utm_source=mail").status_code == 200
    assert client.get("/healthz?now=1").status_code == 200
    assert client.get("/v1/releases?x=1").status_code == 401  # who calls is found out first


def test_a_form_without_the_field(client: Client) -> None:
    assert client.post("/sign-in", data={"other": "x"}).status_code == 401


def test_only_the_form_of_a_declaration_has_many_fields(client: Client) -> None:
    page = browser(client, "curator")
    for many, status in ((1000, 200), (1300, 400)):
        fields = {f"a{n}": "1" for n in range(many)}
        assert page.post("/declare", name="x", file="data/x.csv", **fields).status_code == status
        assert page.post("/verify", **fields).status_code == 400


# Every route declares who may call it, and keeps to it for every role.


FOR_ALL = {
    "GET /healthz",
    "GET /readyz",
    "GET /v1/why",
    "GET /why",
    "GET /",
    "GET /explorer",
    "GET /sign-in",
    "GET /static/{file}",
}
"""What somebody without a token may call."""
SIGNING_IN = {
    "POST /sign-in",
    "GET /sign-in/once",
    "GET /sign-in/login",
    "GET /sign-in/back",
}
"""What everybody may call, and what asks for a token or a link itself."""
FREE = FOR_ALL | SIGNING_IN


def routes() -> dict[str, APIRoute]:
    """Every route of the application by its method and path."""
    result: dict[str, APIRoute] = {}
    for router in ROUTERS:
        result |= of_router(router)
    return result


def of_router(router: APIRouter) -> dict[str, APIRoute]:
    return {
        f"{method} {route.path}": route
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }


ROUTES = routes()


def right(route: APIRoute) -> str | None:
    """The right that a route declares."""
    result = {declared_right(inner.call) for inner in route.dependant.dependencies} - {None}
    if len(result) > 1:
        result.discard("anyone")
    return next(iter(result)) if len(result) == 1 else None


@pytest.fixture(scope="module")
def every_route_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "service.toml").write_text("limits = { failed_tokens = 1000 }")
    with running(folder) as client:
        yield client


def test_there_are_routes() -> None:
    assert len(ROUTES) >= 5
    every = [route for router in ROUTERS for route in router.routes]
    assert all(isinstance(route, APIRoute) for route in every)


@pytest.mark.parametrize("name", ROUTES)
def test_it_declares_a_right(name: str) -> None:
    result = right(ROUTES[name])
    assert result in {*ACTIONS, "signed in", "anyone"}
    assert (result == "anyone") == (name in FREE)


def test_a_route_without_a_right_is_noticed() -> None:
    router = APIRouter()

    @router.get("/open")
    def opened() -> None: ...

    assert right(of_router(router)["GET /open"]) is None


def place(name: str) -> tuple[str, str]:
    """A method, and the path with something in its places."""
    method, path = name.split(" ")
    return method, re.sub(r"{name}", "visits", re.sub(r"{(?!name})[^}]*}", "0" * 32, path))


@pytest.mark.parametrize("name", sorted(set(ROUTES) - SIGNING_IN))
def test_nobody_comes_in_without_a_token(name: str, every_route_client: Client) -> None:
    reply = every_route_client.request(*place(name))
    assert (reply.status_code == 401) == (name not in FOR_ALL)


@pytest.mark.parametrize("name", sorted(set(ROUTES) - FREE))
def test_a_token_that_is_none_is_refused(name: str, every_route_client: Client) -> None:
    reply = every_route_client.request(*place(name), token="tacit_" + "A" * 96)
    assert reply.status_code == 401
    assert reply.json()["error"]["code"] == "unauthenticated"


@pytest.mark.few(4)
@pytest.mark.parametrize("role", RIGHTS)
@pytest.mark.parametrize("name", sorted(set(ROUTES) - FREE))
def test_every_role_is_let_in_by_the_table_alone(
    name: str, role: str, every_route_client: Client
) -> None:
    wanted = right(ROUTES[name])
    reply = every_route_client.request(*place(name), token=every_route_client.token(role))
    lacks = wanted in ACTIONS and wanted not in RIGHTS[role]
    assert (reply.status_code == 403) == lacks, reply.text
    if lacks:
        error = reply.json()["error"]
        assert error["code"] == "forbidden"
        asked = {"action": wanted, **({"dataset": "visits"} if "{name}" in name else {})}
        why = every_route_client.get(
            "/why", params=asked, token=every_route_client.token(role)
        ).json()
        assert why == {"allowed": False, "because": error["message"], "remedy": error["remedy"]}


@pytest.mark.parametrize("name", sorted(n for n in ROUTES if "{name}" in n))
def test_a_role_elsewhere_is_no_role_here(name: str, every_route_client: Client) -> None:
    for role in RIGHTS:
        reply = every_route_client.request(
            *place(name), token=every_route_client.token(role, "births")
        )
        assert reply.status_code == 403, role


def test_the_description_of_the_api_is_whole(every_route_client: Client) -> None:
    result = every_route_client.get("/openapi.json").json()
    assert result["openapi"].startswith("3.1")
    for path, methods in result["paths"].items():
        for method, said in methods.items():
            assert {"4XX", "5XX"} <= set(said["responses"]), f"{method} {path}"
            assert "422" not in said["responses"], f"{method} {path}"
            assert said.get("summary"), f"{method} {path}"


def test_an_address_that_does_not_exist(every_route_client: Client) -> None:
    for method, path, status in (("GET", "/v1/nothere", 404), ("POST", "/healthz", 405)):
        reply = every_route_client.request(method, path)
        assert reply.status_code == status
        assert set(reply.json()["error"]) == {"code", "message", "remedy", "details"}


def test_the_folder_of_the_data_sets_is_not_served(
    every_route_client: Client, tmp_path: Path
) -> None:
    for path in (
        "/service.key",
        "/service.db",
        "/../service.key",
        "/%2e%2e/service.key",
        "/%2fetc",
    ):
        assert every_route_client.get(path).status_code == 404


# Gauges of releases and budgets: right in every process, public, rounded to the safe side.


SLOW = 'latency = "1/5"\n'
ASK = {"sql": "select count(*) as n from visits", "epsilon": "1/3"}
APART = f"{SLOW}collusion = 'teams apart'\n"


def numbers(text: str, metric: str) -> dict[str, float]:
    """The numbers of a metric by its labels."""
    result = re.findall(rf"^{metric}(\{{.*\}})? (\S+)$", text, flags=re.MULTILINE)
    return {labels: float(number) for labels, number in result}


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
        job = client.state.release_service.queue.find(ask(client, analyst).rsplit("/", 1)[1])
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


# What starts: only what the settings ask for is imported.


def test_a_service_without_login_webhook_and_wire_imports_none_of_them() -> None:
    run = (
        "import sys, tacit.service.web.server\n"
        "print({'httpx', 'joserfc', 'cryptography', 'tacit.service.login', "
        "'tacit.service.wire.server', 'jinja2', 'sqlglot'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# What a balancer is told: which parts can be used, and nothing of what they hold.


@pytest.fixture
def readiness_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(readiness, "_FRESH", 0.0)
    monkeypatch.setattr(readiness, "_SHARE", 0.0)
    with running(hosted_clinic(tmp_path)) as client:
        yield client


def looked(client: Client) -> tuple[int, Any]:
    reply = client.get("/readyz")
    result = reply.json()
    parts = result["parts"] if "parts" in result else result["error"]["details"]["parts"]
    return reply.status_code, {n: told for n, told in parts.items() if told != "ready"}


def test_each_part_is_looked_at_and_nothing_more_is_said(
    readiness_client: Client, tmp_path: Path
) -> None:
    assert readiness_client.get("/readyz").json() == {
        "status": "ready",
        "parts": dict.fromkeys(("database", "workers", "ledgers", "tables"), "ready"),
    }
    aside = (tmp_path / "visits.csv").rename(tmp_path / "aside.csv")
    assert looked(readiness_client) == (503, {"tables": "failing"})
    assert "visits" not in readiness_client.get("/readyz").text
    aside.rename(tmp_path / "visits.csv")
    readiness_client.state.workers.stop()
    assert looked(readiness_client) == (503, {"workers": "failing"})


@pytest.mark.full
class SlowDatasets:
    """Data sets that take some seconds to look at."""

    def __init__(self) -> None:
        self.now, self.looks = 0.0, 0

    @property
    def names(self) -> list[str]:
        self.looks, self.now = self.looks + 1, self.now + 4
        return []


def test_many_tables_are_looked_at_less_often(database: Database) -> None:
    datasets: Any = SlowDatasets()
    workers: Any = SimpleNamespace(alive=lambda: True)
    checks = readiness.ReadinessChecks(database, datasets, workers, lambda: datasets.now)
    looks = []
    for second in (0, 4, 83, 84, 100, 167, 168):
        datasets.now = max(datasets.now, second)
        checks.parts()
        looks.append(datasets.looks)
    assert looks == [1, 1, 1, 2, 2, 2, 3]


def test_a_ledger_that_is_gone(readiness_client: Client, tmp_path: Path) -> None:
    assert (
        released(readiness_client, readiness_client.token("analyst", name="ada"))["state"] == "done"
    )
    text = (tmp_path / "visits.toml").read_text().replace('name = "visits"', 'name = "twin"')
    for name in ("visits", "patients", "sites"):
        shutil.copy(tmp_path / f"{name}.csv", tmp_path / f"twin-{name}.csv")
        text = text.replace(f'path = "{name}.csv"', f'path = "twin-{name}.csv"')
    (tmp_path / "twin.toml").write_text(text)
    assert looked(readiness_client) == (200, {})
    aside = (tmp_path / "visits.ledger").rename(tmp_path / "aside.ledger")
    assert looked(readiness_client) == (200, {"ledgers": "in part"})
    assert readiness_client.get("/readyz").json()["status"] == "ready in part"
    aside.rename(tmp_path / "visits.ledger")


def test_a_look_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        assert looked(client) == (200, {})
        (tmp_path / "visits.csv").unlink()
        assert looked(client) == (200, {})


# One thread for each request.

THREADS: list[int] = []


async def who() -> str:
    THREADS.append(threading.get_ident())
    return "ada"


async def late() -> str:
    await asyncio.sleep(0)
    return "late"


Who = Annotated[str, Depends(who)]
Late = Annotated[str, Depends(late)]
ordinary = APIRouter(route_class=Route)


@ordinary.get("/name")
def name_of(who: Who) -> dict[str, str]:
    THREADS.append(threading.get_ident())
    return {"name": who}


@ordinary.get("/loop")
async def name_on_the_loop(who: Who) -> dict[str, str]:
    THREADS.append(threading.get_ident())
    return {"name": who}


@ordinary.get("/late")
def late_name(late: Late) -> str:
    return late


def asked(path: str) -> bytes:
    app = FastAPI()
    app.state.threads = RequestThreads()
    app.router.routes.extend(ordinary.routes)
    THREADS.clear()

    async def ask() -> bytes:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return (await client.get(path)).content

    return asyncio.run(ask())


def test_a_request_is_in_one_thread_from_its_token_to_its_reply() -> None:
    assert asked("/name") == b'{"name":"ada"}'
    first, second = THREADS
    assert first == second != threading.get_ident()
    assert asked("/loop") == b'{"name":"ada"}'
    assert set(THREADS) == {threading.get_ident()}


def test_what_waits_for_the_loop_is_none_of_an_ordinary_function() -> None:
    with pytest.raises(RuntimeError, match="waits for the loop"):
        asked("/late")


def test_a_request_that_waits_holds_up_no_other_one() -> None:
    """Also where who waits for it is gone: its thread is not given another one meanwhile."""
    gone, may_end = threading.Event(), threading.Event()

    async def ask() -> tuple[int, int, int]:
        threads = RequestThreads()
        first = await threads.run(threading.get_ident)
        slow = [asyncio.create_task(threads.run(may_end.wait, 60)) for _ in range(2)]
        await asyncio.sleep(0)
        slow[0].cancel()
        slow[0].add_done_callback(lambda _: gone.set())
        second, third = await threads.run(threading.get_ident), await threads.run(gone.wait, 60)
        assert third
        third = await threads.run(threading.get_ident)
        may_end.set()
        assert await slow[1]
        threads.close()
        return first, second, third

    first, second, third = asyncio.run(ask())
    assert second == third != first


def test_an_error_of_a_request_is_its_own() -> None:
    def late() -> None:
        time.sleep(0.01)
        raise TimeoutError("its own")

    def at_once() -> None:
        raise TimeoutError("its own")

    async def ask(call: Any) -> None:
        await RequestThreads().run(call)

    for call in (late, at_once):
        with pytest.raises(TimeoutError, match="its own"):
            asyncio.run(ask(call))


# A question to a data set is read without the framework, and what is not in order is read with it.

HERE = "/v1/datasets/visits"
GOOD: list[tuple[str, dict[str, Any]]] = [
    (f"{HERE}/preview", {**COUNT, "rows": [10], "confidence": 0.9}),
    (f"{HERE}/releases", COUNT),
    (f"{HERE}/plans/preview", {"questions": [{"sql": COUNT["sql"]}], "epsilon": "1/10"}),
]
WRONG: list[tuple[str, Any]] = [
    (f"{HERE}/preview", {**COUNT, "epsilom": 1}),
    (f"{HERE}/preview", {**COUNT, "rows": ["10"]}),
    (f"{HERE}/preview", [COUNT]),
    (f"{HERE}/preview", {"sql": "select secret from visits", "epsilon": 1}),
    (f"{HERE}/preview?wait=1", COUNT),
    (f"{HERE}/releases", {**COUNT, "tag": 1}),
    (f"/v1/datasets/{'v' * 101}/preview", COUNT),
    ("/v1/datasets/births/preview", COUNT),
]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path_factory.mktemp("asked"))) as client:
        yield client


@pytest.fixture
def by_the_framework(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note of each request that the framework reads which address it has."""
    seen: list[str] = []
    finished = routing._finished

    def noted(work: Any) -> Any:
        if work.cr_code.co_name == "app":
            seen.append(work.cr_frame.f_locals["request"].url.path)
        return finished(work)

    monkeypatch.setattr(routing, "_finished", noted)
    return seen


def both(client: Client, path: str, body: Any, token: str | None) -> list[Any]:
    """The replies to a request, read directly where it is in order, and by the framework."""
    kinds = ("application/json", "application/json; charset=utf-8")
    sent = json.dumps(body)
    return [
        client.post(path, content=sent, headers={"Content-Type": kind}, token=token)
        for kind in kinds
    ]


def shown(reply: Any) -> tuple[int, dict[str, str], Any]:
    changing = ("id", "href", "ready_at")
    content = {n: value for n, value in reply.json().items() if n not in changing}
    heads = {n: v for n, v in reply.headers.items() if n not in ("x-request-id", "content-length")}
    return reply.status_code, heads, content


@pytest.mark.parametrize(("path", "body"), GOOD)
def test_a_reply_is_the_same_without_the_framework(
    clinic: Client, by_the_framework: list[str], path: str, body: Any
) -> None:
    token = clinic.token("analyst", name=f"for {path}")
    assert released(clinic, token, COUNT)["state"] == "done"
    by_the_framework.clear()
    direct, framework = both(clinic, path, body, token)
    assert direct.status_code < 300, direct.text
    assert by_the_framework == [path]
    assert list(direct.json()) == list(framework.json())
    assert shown(direct) == shown(framework)


@pytest.mark.parametrize(("path", "body"), WRONG)
def test_a_refusal_is_the_same_without_the_framework(clinic: Client, path: str, body: Any) -> None:
    for token in (clinic.token("analyst", "visits"), clinic.token("reviewer"), None, "tacit_x"):
        direct, framework = both(clinic, path, body, token)
        assert direct.status_code >= 400
        assert shown(direct) == shown(framework)


def test_a_key_for_a_request_is_read_with_the_framework(
    clinic: Client, by_the_framework: list[str]
) -> None:
    token, headers = clinic.token("analyst", name="ada"), {"Idempotency-Key": "k1"}
    made = [
        clinic.post(f"{HERE}/releases", json=COUNT, token=token, headers=headers) for _ in range(2)
    ]
    assert by_the_framework == [f"{HERE}/releases"] * 2
    assert made[0].json()["id"] == made[1].json()["id"]
