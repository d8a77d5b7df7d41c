"""Signing in to the pages: by a token, by a link that opens once; signing out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.service.client import ADDRESS, Client, running
from tacit.service.access import Grant
from tacit.service.settings import Settings
from tacit.service.tokens import ONCE


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(tmp_path) as client:
        yield client


def signed_in(client: Client, token: str) -> str:
    reply = client.post("/sign-in", data={"token": token}, headers={"Origin": ADDRESS})
    assert reply.status_code == 303
    assert reply.headers["location"] == "/"
    cookie: str = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    return cookie.partition(";")[0]


def me(client: Client, cookie: str) -> int:
    status: int = client.get("/v1/me", headers={"Cookie": cookie}).status_code
    return status


def test_with_a_token(client: Client) -> None:
    text, made = client.state.tokens.create("ada", [Grant("analyst", "*")], 3600)
    cookie = signed_in(client, text)
    assert text not in cookie
    assert client.get("/v1/me", headers={"Cookie": cookie}).json()["name"] == "ada"
    client.state.tokens.revoke(made.token_id)
    assert me(client, cookie) == 401  # the sign-in ends with the token


def test_signing_out_voids_the_cookie_and_leaves_the_token(client: Client) -> None:
    token = client.token("analyst")
    cookie = signed_in(client, token)
    reply = client.post("/sign-out", headers={"Cookie": cookie, "Origin": ADDRESS})
    assert reply.status_code == 303
    assert me(client, cookie) == 401
    assert client.get("/v1/me", token=token).status_code == 200


def test_a_token_is_no_cookie_and_a_cookie_no_token(client: Client) -> None:
    token = client.token("analyst")
    cookie = signed_in(client, token)
    assert me(client, f"tacit={token}") == 401
    assert client.get("/v1/me", token=cookie.partition("=")[2]).status_code == 401


def test_a_link_opens_once(client: Client) -> None:
    link, _ = client.state.tokens.create("ada", [Grant("analyst", "*")], 60, kind=ONCE)
    reply = client.get(f"/sign-in/once?code={link}")
    assert reply.status_code == 303
    assert me(client, reply.headers["set-cookie"].partition(";")[0]) == 200
    assert client.get(f"/sign-in/once?code={link}").status_code == 401
    assert client.get("/v1/me", token=link).status_code == 401


def test_a_bearer_token_in_a_link_does_not_sign_in(client: Client) -> None:
    assert client.get(f"/sign-in/once?code={client.token('analyst')}").status_code == 401


def test_behind_tls_the_cookie_is_this_hosts_alone(tmp_path: Path) -> None:
    settings = replace(Settings.load(tmp_path), url="https://statistics.example")
    with running(settings) as client:
        reply = client.post("/sign-in", data={"token": client.token("analyst")})
        cookie = reply.headers["set-cookie"]
        assert cookie.startswith("__Host-tacit=")
        assert "Secure" in cookie
        assert "Path=/" in cookie
        assert "Domain" not in cookie
        own = {"Cookie": cookie.partition(";")[0]}
        for origin, status in (("https://statistics.example", 303), (ADDRESS, 403)):
            reply = client.post("/sign-out", headers={**own, "Origin": origin})
            assert reply.status_code == (status if status == 403 else 303)


def test_a_sign_in_ends_after_its_hours(tmp_path: Path) -> None:
    settings = replace(Settings.load(tmp_path), session_hours=1)
    with running(settings) as client:
        text, _ = client.state.tokens.create("ada", [Grant("analyst", "*")], 30 * 3600)
        reply = client.post("/sign-in", data={"token": text})
        assert "Max-Age=3599" in reply.headers["set-cookie"] or "Max-Age=3600" in str(
            reply.headers["set-cookie"]
        )
