"""The description of the API says what is open, and what a reply leads to."""

from __future__ import annotations

from pathlib import Path

from support.service.client import running


def test_open_routes_ask_for_no_token_and_the_others_do(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        paths = client.get("/openapi.json").json()["paths"]
        assert client.get("/openapi.json").json()["paths"] == paths
        for path in ("/healthz", "/readyz", "/v1/why"):
            assert "security" not in paths[path]["get"], path
        for path in ("/v1/me", "/v1/audit", "/metrics"):
            assert paths[path]["get"]["security"] == [{"HTTPBearer": []}], path


def test_links_lead_to_routes_that_are_there(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        paths = client.get("/openapi.json").json()["paths"]
    known = {said["operationId"] for methods in paths.values() for said in methods.values()}
    links = [
        link["operationId"]
        for methods in paths.values()
        for said in methods.values()
        for reply in said["responses"].values()
        for link in reply.get("links", {}).values()
    ]
    assert set(links) <= known


def test_an_address_names_all_its_methods(tmp_path: Path) -> None:
    with running(tmp_path) as client:
        reply = client.request("PATCH", "/v1/datasets/visits/refresh")
        assert reply.status_code == 405
        assert reply.headers["allow"] == "POST"
        reply = client.request("PATCH", "/v1/tokens")
        assert reply.headers["allow"] == "GET, POST"
