"""A provider of OpenID Connect in memory, of which every part can be bent, and a client of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from tacit.service.access import Grant
from tacit.service.login import Provider
from tacit.service.problem import Problem
from tacit.service.settings import Login

ISSUER = "https://login.example/realm"
BACK = "https://statistics.example/sign-in/back"
NOW = 1_800_000_000
SECRET = "the cookie of a browser"
KEY = RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
OTHER = RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
GRANT = Grant("analyst", "visits")


class FakeProvider:
    """A provider in memory, of which every part can be bent."""

    def __init__(self) -> None:
        self.description: dict[str, Any] = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/auth",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "end_session_endpoint": f"{ISSUER}/end",
        }
        self.key: Any = KEY
        self.shown: Any = KEY
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "one"}
        self.claims: dict[str, Any] = {
            "iss": ISSUER,
            "aud": "tacit",
            "sub": "ada",
            "iat": NOW,
            "exp": NOW + 60,
            "groups": ["doctors"],
        }
        self.token: str | None = None
        self.status = 200
        self.down = False
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.down:
            raise httpx.ConnectError("secret.example refused", request=request)
        if request.url.path.endswith("openid-configuration"):
            return httpx.Response(200, json=self.description)
        if request.url.path.endswith("keys"):
            return httpx.Response(200, json=KeySet([self.shown]).as_dict(private=False))
        token = self.token
        if token is None:
            token = jwt.encode(self.header, self.claims, self.key, algorithms=["RS256"])
        return httpx.Response(self.status, json={"id_token": token, "token_type": "Bearer"})


def client(fake: Callable[[httpx.Request], httpx.Response], **more: Any) -> Provider:
    login = Login(ISSUER, "tacit", roles_claim="groups", grants={"doctors": (GRANT,)}, **more)
    return Provider(login, BACK, lambda: NOW, httpx.Client(transport=httpx.MockTransport(fake)))


def begin(provider: Provider) -> dict[str, str]:
    """Return the parameters that the browser sends to the provider."""
    return dict(httpx.URL(provider.start(SECRET)).params)


def finish(provider: Provider, fake: FakeProvider, **reply: str) -> Any:
    parameters = begin(provider)
    fake.claims.setdefault("nonce", parameters["nonce"])
    return provider.finish(SECRET, {"state": parameters["state"], "code": "c", **reply})


def refused(provider: Provider, fake: FakeProvider, **reply: str) -> Problem:
    with pytest.raises(Problem) as caught:
        finish(provider, fake, **reply)
    return caught.value
