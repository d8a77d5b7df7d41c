"""A service behind nginx with TLS, as its page in the docs says to set both up."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from support.servers.left_out import leave_out
from support.servers.tls_proxy import HOST, Proxy, missing, tls_proxy
from support.service.server import Served, free_port, served

pytestmark = pytest.mark.full


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


def test_a_token_works_through_tls_and_browsers_are_told_to_keep_to_it(
    both: tuple[Served, Proxy],
) -> None:
    service, proxy = both
    with proxy.client(Authorization=f"Bearer {service.token('analyst', name='ada')}") as client:
        reply = client.get("/v1/me")
    assert reply.json()["name"] == "ada"
    assert reply.headers["strict-transport-security"].startswith("max-age=")


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


def test_nobody_borrows_another_address(both: tuple[Served, Proxy]) -> None:
    """Guesses are counted by the address that the proxy saw, whatever the caller writes."""
    _, proxy = both
    found = []
    with proxy.client() as client:
        for n in range(12):
            headers = {
                "Authorization": "Bearer tacit_" + "A" * 96,
                "X-Forwarded-For": f"10.0.0.{n}",
                "X-Real-IP": f"10.0.0.{n}",
                "Forwarded": f"for=10.0.0.{n}",
            }
            found.append(client.get("/v1/me", headers=headers).status_code)
    assert found[0] == 401
    assert found[-1] == 429


def test_links_lead_to_the_public_address(both: tuple[Served, Proxy]) -> None:
    _, proxy = both
    with proxy.client() as client:
        reply = client.get("/", follow_redirects=False)
        text = str(reply.headers) + reply.text
    assert "127.0.0.1" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "")


def test_without_the_certificate_nobody_is_believed(both: tuple[Served, Proxy]) -> None:
    _, proxy = both
    with pytest.raises(httpx.ConnectError, match="certificate"):
        httpx.get(f"https://127.0.0.1:{proxy.port}/healthz")
