"""Every route declares who may call it, and keeps to it for every role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from support.service.client import Client, running
from tacit.service.access import ACTIONS, RIGHTS
from tacit.service.web.routing import declared_right
from tacit.service.web.server import ROUTERS

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
    found: dict[str, APIRoute] = {}
    for router in ROUTERS:
        found |= of_router(router)
    return found


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
    found = {declared_right(inner.call) for inner in route.dependant.dependencies} - {None}
    if len(found) > 1:
        found.discard("anyone")
    return next(iter(found)) if len(found) == 1 else None


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
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
    found = right(ROUTES[name])
    assert found in {*ACTIONS, "signed in", "anyone"}
    assert (found == "anyone") == (name in FREE)


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
def test_nobody_comes_in_without_a_token(name: str, client: Client) -> None:
    reply = client.request(*place(name))
    assert (reply.status_code == 401) == (name not in FOR_ALL)


@pytest.mark.parametrize("name", sorted(set(ROUTES) - FREE))
def test_a_token_that_is_none_is_refused(name: str, client: Client) -> None:
    reply = client.request(*place(name), token="tacit_" + "A" * 96)
    assert reply.status_code == 401
    assert reply.json()["error"]["code"] == "unauthenticated"


@pytest.mark.few(4)
@pytest.mark.parametrize("role", RIGHTS)
@pytest.mark.parametrize("name", sorted(set(ROUTES) - FREE))
def test_every_role_is_let_in_by_the_table_alone(name: str, role: str, client: Client) -> None:
    wanted = right(ROUTES[name])
    reply = client.request(*place(name), token=client.token(role))
    lacks = wanted in ACTIONS and wanted not in RIGHTS[role]
    assert (reply.status_code == 403) == lacks, reply.text
    if lacks:
        error = reply.json()["error"]
        assert error["code"] == "forbidden"
        asked = {"action": wanted, **({"dataset": "visits"} if "{name}" in name else {})}
        why = client.get("/why", params=asked, token=client.token(role)).json()
        assert why == {"allowed": False, "because": error["message"], "remedy": error["remedy"]}


@pytest.mark.parametrize("name", sorted(n for n in ROUTES if "{name}" in n))
def test_a_role_elsewhere_is_no_role_here(name: str, client: Client) -> None:
    for role in RIGHTS:
        reply = client.request(*place(name), token=client.token(role, "births"))
        assert reply.status_code == 403, role


def test_the_description_of_the_api_is_whole(client: Client) -> None:
    found = client.get("/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    for path, methods in found["paths"].items():
        for method, said in methods.items():
            assert {"4XX", "5XX"} <= set(said["responses"]), f"{method} {path}"
            assert "422" not in said["responses"], f"{method} {path}"
            assert said.get("summary"), f"{method} {path}"


def test_an_address_that_does_not_exist(client: Client) -> None:
    for method, path, status in (("GET", "/v1/nothere", 404), ("POST", "/healthz", 405)):
        reply = client.request(method, path)
        assert reply.status_code == status
        assert set(reply.json()["error"]) == {"code", "message", "remedy", "details"}


def test_the_folder_of_the_data_sets_is_not_served(client: Client, tmp_path: Path) -> None:
    for path in (
        "/service.key",
        "/service.db",
        "/../service.key",
        "/%2e%2e/service.key",
        "/%2fetc",
    ):
        assert client.get(path).status_code == 404
