"""The login against providers that lie: wrong keys, tokens of others, addresses without TLS."""

from __future__ import annotations

import base64
import hmac
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt

from support.service.client import running
from support.service.hosting import hosted_clinic, released
from support.service.provider import (
    BACK,
    GRANT,
    ISSUER,
    KEY,
    NOW,
    OTHER,
    SECRET,
    FakeProvider,
    begin,
    client,
    finish,
    refused,
)
from tacit.errors import UsageError
from tacit.service.login import Provider
from tacit.service.problem import Problem
from tacit.service.settings import Login, Settings
from tacit.service.web.state import State


@pytest.fixture
def fake() -> FakeProvider:
    return FakeProvider()


def test_a_sign_in(fake: FakeProvider, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s:ecr&et\n")
    found = finish(client(fake, secret_file=tmp_path / "secret", team_claim="sub"), fake)
    assert (found.name, found.team, found.grants) == ("login:ada", "ada", (GRANT,))
    form = fake.asked[-1]
    assert b"code_verifier=" in form.content
    assert b"ecr" not in form.content
    assert form.headers["authorization"].startswith("Basic ")


def test_what_the_browser_takes_along_tells_nothing_of_the_secret(fake: FakeProvider) -> None:
    asked = begin(client(fake))
    assert asked["code_challenge_method"] == "S256"
    assert asked["scope"] == "openid profile"
    assert asked["redirect_uri"] == BACK
    values = [asked[name] for name in ("state", "nonce", "code_challenge")]
    assert len(set(values)) == 3
    assert all(len(value) == 43 and SECRET not in value for value in values)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iss", "https://evil.example"),
        ("aud", "another"),
        ("aud", ["tacit", "another"]),
        ("exp", NOW - 61),
        ("exp", None),
        ("iat", None),
        ("iat", NOW + 1000),
        ("nbf", NOW + 1000),
        ("nonce", "another"),
        ("nonce", None),
        ("sub", None),
        ("sub", 5),
        ("sub", "a\nb"),
        ("sub", ""),
        ("sub", "a" * 200),
    ],
)
def test_claims_that_do_not_hold(fake: FakeProvider, name: str, value: Any) -> None:
    provider = client(fake)
    fake.claims["nonce"] = begin(provider)["nonce"]
    fake.claims[name] = value
    fake.claims = {k: v for k, v in fake.claims.items() if v is not None}
    if name == "nonce" and value is None:
        fake.claims["nonce"] = ""
    assert refused(provider, fake).code == "unauthenticated"


def test_a_token_for_several_that_names_us_holds(fake: FakeProvider) -> None:
    fake.claims |= {"aud": ["tacit", "another"], "azp": "tacit"}
    assert finish(client(fake), fake).name == "login:ada"


def test_a_token_signed_with_another_key(fake: FakeProvider) -> None:
    fake.key = OTHER
    assert refused(client(fake), fake).code == "unauthenticated"


def test_a_token_signed_with_the_public_key_as_a_shared_secret(fake: FakeProvider) -> None:
    provider = client(fake)
    fake.claims["nonce"] = begin(provider)["nonce"]
    parts = [{"alg": "HS256", "kid": "one"}, fake.claims]
    told = b".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=") for p in parts)
    signature = hmac.digest(KEY.as_pem(private=False), told, "sha256")
    fake.token = (told + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()
    assert refused(provider, fake).code == "unauthenticated"


@pytest.mark.parametrize("token", ["", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "x" * 2000])
def test_tokens_that_are_none(fake: FakeProvider, token: str) -> None:
    fake.token = token
    assert refused(client(fake), fake).code in ("unauthenticated", "unavailable")


def test_a_token_without_a_signature(fake: FakeProvider) -> None:
    provider = client(fake)
    whole = jwt.encode({"alg": "RS256", "kid": "one"}, {**fake.claims, "nonce":
        begin(provider)["nonce"]}, KEY)  # fmt: skip
    fake.token = "eyJhbGciOiJub25lIn0." + whole.split(".")[1] + "."
    assert refused(provider, fake).code == "unauthenticated"


def test_keys_that_change_are_fetched_again(fake: FakeProvider) -> None:
    now = [float(NOW)]
    login = Login(ISSUER, "tacit", grants={"doctors": (GRANT,)})
    transport = httpx.MockTransport(fake)
    provider = Provider(login, BACK, lambda: now[0], httpx.Client(transport=transport))
    assert finish(provider, fake).name == "login:ada"
    fake.key = fake.shown = OTHER
    assert refused(provider, fake).code == "unauthenticated"  # asked a moment ago
    now[0] += 40
    assert finish(provider, fake).name == "login:ada"


@pytest.mark.parametrize("state", ["", "x", "é" * 43])
def test_a_reply_that_began_elsewhere(fake: FakeProvider, state: str) -> None:
    assert refused(client(fake), fake, state=state).code == "unauthenticated"
    assert not [one for one in fake.asked if one.url.path.endswith("token")]


def test_a_reply_of_another_provider(fake: FakeProvider) -> None:
    assert refused(client(fake), fake, iss="https://evil.example").code == "unauthenticated"
    fake.description["authorization_response_iss_parameter_supported"] = True
    assert refused(client(fake), fake).code == "unauthenticated"
    assert finish(client(fake), fake, iss=ISSUER).name == "login:ada"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("issuer", "https://evil.example"),
        ("token_endpoint", "http://login.example/token"),
        ("authorization_endpoint", "javascript:alert(1)"),
        ("jwks_uri", "file:///etc/passwd"),
        ("jwks_uri", None),
    ],
)
def test_descriptions_that_lie(fake: FakeProvider, name: str, value: Any) -> None:
    fake.description[name] = value
    with pytest.raises(Problem) as caught:
        client(fake).start(SECRET)
    assert caught.value.code == "unavailable"


def test_a_provider_that_is_down_is_left_alone_for_a_while(fake: FakeProvider) -> None:
    fake.down = True
    provider = client(fake)
    for _ in range(5):
        with pytest.raises(Problem) as caught:
            provider.start(SECRET)
        assert caught.value.code == "unavailable"
        assert "secret.example" not in caught.value.message
    assert len(fake.asked) == 1
    assert client(fake).end() is None


@pytest.mark.parametrize("status", [400, 401, 500, 302])
def test_a_code_that_the_provider_refuses(fake: FakeProvider, status: int) -> None:
    fake.status = status
    code = "unauthenticated" if status in (400, 401) else "unavailable"
    assert refused(client(fake), fake).code == code


def test_who_has_no_group_has_no_right(fake: FakeProvider) -> None:
    for groups in ([], ["nurses"], "nurses", [5], None):
        fake.claims["groups"] = groups
        assert refused(client(fake), fake).code == "forbidden"


def test_the_end_is_at_the_issuer_or_nowhere(fake: FakeProvider) -> None:
    end = client(fake).end()
    assert end is not None
    assert end.startswith(f"{ISSUER}/end?client_id=tacit&post_logout_redirect_uri=")
    fake.description["end_session_endpoint"] = "https://evil.example/end"
    assert client(fake).end() is None


API = "https://statistics.example/api"


def sent(fake: FakeProvider, **claims: Any) -> str:
    """A token for the API, as the provider makes it."""
    whole = {**fake.claims, "aud": API, **claims}
    said = {name: value for name, value in whole.items() if value is not None}
    return str(jwt.encode(fake.header, said, fake.key, algorithms=["RS256"]))


def test_a_program_sends_a_token_of_the_provider(fake: FakeProvider) -> None:
    provider = client(fake, api_audience=API, team_claim="team")
    token = sent(fake, team="oncology")
    assert provider.reads(token)
    assert not provider.reads("tacit_" + "A" * 96)
    assert not client(fake).reads(token)  # where the operator does not say so
    found = provider.caller(token)
    assert (found.name, found.team, found.grants) == ("login:ada", "oncology", (GRANT,))
    assert (found.expires, found.issued_by, len(found.token_id)) == (NOW + 60, "login:", 32)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "tacit"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"exp": NOW - 61},
        {"exp": None},
        {"iat": None},
        {"nbf": NOW + 1000},
        {"exp": NOW + 100_000},
    ],
)
def test_a_token_of_the_provider_that_does_not_hold(
    fake: FakeProvider, claims: dict[str, Any]
) -> None:
    with pytest.raises(Problem) as caught:
        client(fake, api_audience=API).caller(sent(fake, **claims))
    assert caught.value.code == "unauthenticated"


def test_a_token_for_the_api_that_the_provider_did_not_sign(fake: FakeProvider) -> None:
    provider = client(fake, api_audience=API)
    shared = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    good = sent(fake)
    fake.key = OTHER
    for token in (sent(fake), f"{shared}.{good.split('.')[1]}.", "a.b.c", good[:-4] + "AAAA"):
        with pytest.raises(Problem) as caught:
            provider.caller(token)
        assert caught.value.code == "unauthenticated"


def test_an_account_without_a_right_sends_a_token_in_vain(fake: FakeProvider) -> None:
    with pytest.raises(Problem) as caught:
        client(fake, api_audience=API).caller(sent(fake, groups=["visitors"]))
    assert caught.value.code == "forbidden"


@pytest.mark.full
def test_it_is_asked_over_http_like_any_other(fake: FakeProvider, tmp_path: Path) -> None:
    text = f"""url = "https://statistics.example"
    [login]
    issuer = "{ISSUER}"
    client_id = "tacit"
    api_audience = "{API}"
    [login.grants]
    doctors = {{ role = "analyst", dataset = "visits" }}
    """
    hosted_clinic(tmp_path, text)
    state = State.open(Settings.load(tmp_path))
    state.provider = client(fake, api_audience=API)
    fake.claims |= {"iat": NOW, "exp": NOW + 3600}
    with running(state) as here:
        token = sent(fake)
        assert here.get("/v1/me", token=token).json()["name"] == "login:ada"
        assert released(here, token)["state"] == "done"
        assert here.get("/v1/tokens", token=token).status_code == 403
        made = here.post("/v1/tokens/narrow", json={"days": 1}, token=token)
        assert made.status_code == 401
        assert here.get("/v1/me", token=sent(fake, aud="tacit")).status_code == 401


def test_the_audience_of_the_api_is_not_that_of_sign_ins(tmp_path: Path) -> None:
    said = {"issuer": ISSUER, "client_id": "tacit", "api_audience": "tacit"}
    with pytest.raises(UsageError, match="differ from client_id"):
        Login.from_fields(said, tmp_path)
