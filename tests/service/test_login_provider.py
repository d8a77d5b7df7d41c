"""Signing in with a certified provider of OpenID Connect (npm's oidc-provider, on loopback)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.oidc_provider import missing, provider, signed_in_at
from support.servers.left_out import reason
from support.service.client import ADDRESS, Client, running

LACKING = missing()
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", "")))),
]
SECRET = "a secret & of: the client"
ACCOUNTS = {
    "mia": {"groups": ["curators", "other"], "department": "statistics"},
    "ada": {"groups": ["doctors"]},
    "eve": {"groups": ["visitors"]},
    "bob": {},
}
SETTINGS = """
url = "{home}"
[login]
issuer = "{issuer}"
client_id = "tacit"
secret_file = "login.secret"
team_claim = "department"
[login.grants]
curators = {{ role = "curator", dataset = "*" }}
doctors = {{ role = "analyst", dataset = "visits" }}
"""


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider(ADDRESS, SECRET, ACCOUNTS) as issuer:
        yield issuer


@pytest.fixture
def client(issuer: str, tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "service.toml").write_text(SETTINGS.format(home=ADDRESS, issuer=issuer))
    (tmp_path / "login.secret").write_text(SECRET + "\n")
    with running(tmp_path) as client:
        yield client


def begin(client: Client) -> tuple[str, str]:
    """The cookie of a browser that begins to sign in, and the address that it is sent to."""
    reply = client.get("/sign-in/login")
    assert reply.status_code == 303
    return reply.headers["set-cookie"].partition(";")[0], reply.headers["location"]


def back_from(client: Client, account: str) -> tuple[str, str]:
    """The cookie, and the address with which the provider sends the browser back."""
    cookie, address = begin(client)
    with httpx.Client(timeout=20) as browser:
        return cookie, signed_in_at(browser, address, account, ADDRESS)


def cookies(reply: httpx.Response) -> dict[str, str]:
    pairs = [one.partition(";")[0].partition("=") for one in reply.headers.get_list("set-cookie")]
    return {name: value for name, _, value in pairs}


def test_a_person_signs_in_asks_who_they_are_and_signs_out(client: Client, issuer: str) -> None:
    cookie, back = back_from(client, "mia")
    reply = client.get(back, headers={"Cookie": cookie})
    assert reply.status_code == 303
    assert reply.headers["location"] == "/"
    signed = {"Cookie": f"tacit={cookies(reply)['tacit']}"}
    me = client.get("/v1/me", headers=signed).json()
    assert (me["name"], me["team"]) == ("login:mia", "statistics")
    assert me["grants"] == [{"role": "curator", "dataset": "*"}]
    out = client.post("/sign-out", headers={**signed, "Origin": ADDRESS})
    assert out.headers["location"].startswith(f"{issuer}/session/end?")
    policy = out.headers["content-security-policy"]
    assert f"form-action 'self' {issuer};" in policy
    assert (
        httpx.get(out.headers["location"]).status_code == 200
    )  # it asks whether to sign out there
    assert client.get("/v1/me", headers=signed).status_code == 401


def test_groups_decide_what_may_be_done(client: Client) -> None:
    cookie, back = back_from(client, "ada")
    reply = client.get(back, headers={"Cookie": cookie})
    signed = {"Cookie": f"tacit={cookies(reply)['tacit']}"}
    assert client.get("/v1/me", headers=signed).json()["rights"][-1] == "see_own_releases"
    assert client.get("/v1/tokens", headers=signed).status_code == 403


@pytest.mark.parametrize("account", ["eve", "bob"])
def test_an_account_without_a_group_that_is_known_may_do_nothing(
    client: Client, account: str
) -> None:
    cookie, back = back_from(client, account)
    reply = client.get(back, headers={"Cookie": cookie})
    assert reply.status_code == 403
    assert "tacit" not in cookies(reply)


def test_a_code_is_good_once(client: Client) -> None:
    cookie, back = back_from(client, "ada")
    assert client.get(back, headers={"Cookie": cookie}).status_code == 303
    assert client.get(back, headers={"Cookie": cookie}).status_code == 401


def test_a_code_is_good_in_its_own_browser_alone(client: Client) -> None:
    _, back = back_from(client, "ada")
    other, _ = begin(client)
    for headers in ({}, {"Cookie": other}):
        assert client.get(back, headers=headers).status_code == 401


def test_a_code_of_another_sign_in_fails_at_the_provider(client: Client) -> None:
    """With a state that fits, the verifier of PKCE is still that of the other sign-in."""
    _, stolen = back_from(client, "mia")
    cookie, own = back_from(client, "ada")
    codes = [httpx.URL(one).params["code"] for one in (stolen, own)]
    reply = client.get(own.replace(codes[1], codes[0]), headers={"Cookie": cookie})
    assert reply.status_code == 401


def test_who_refuses_at_the_provider_is_not_signed_in(client: Client) -> None:
    cookie, address = begin(client)
    state = httpx.URL(address).params["state"]
    reply = client.get(
        f"/sign-in/back?error=access_denied&error_description=secret&state={state}",
        headers={"Cookie": cookie},
    )
    assert reply.status_code == 401
    assert "secret" not in reply.text


def test_a_wrong_secret_signs_nobody_in(client: Client, tmp_path: Path) -> None:
    (tmp_path / "login.secret").write_text("another")
    cookie, back = back_from(client, "ada")
    reply = client.get(back, headers={"Cookie": cookie})
    assert reply.status_code == 401
    assert "another" not in reply.text
