"""The login against providers that lie: wrong keys, tokens of others, addresses without TLS."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwe, jws, jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from support.oidc_provider import missing, provider, signed_in_at
from support.servers.left_out import reason
from support.service.client import ADDRESS, Client, running
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
from tacit.service.access import Grant
from tacit.service.login import Provider
from tacit.service.problem import Problem
from tacit.service.settings import Login, Settings
from tacit.service.web.state import ServiceState


@pytest.fixture
def fake() -> FakeProvider:
    return FakeProvider()


def test_a_sign_in(fake: FakeProvider, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s:ecr&et\n")
    result = finish(client(fake, secret_file=tmp_path / "secret", team_claim="sub"), fake)
    assert (result.name, result.team, result.grants) == ("login:ada", "ada", (GRANT,))
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
    result = provider.caller(token)
    assert (result.name, result.team, result.grants) == ("login:ada", "oncology", (GRANT,))
    assert (result.expires, result.issued_by, len(result.token_id)) == (NOW + 60, "login:", 32)


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
    state = ServiceState(Settings.load(tmp_path))
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


# Attacks on the login by tokens that nearly hold: every trick with a header, a key or a claim.
#
# The provider of these tests is the attacker's where it can be (what a token says of itself), and
# honest where it must be (the keys at its own address).


EC = ECKey.generate_key("P-256", {"kid": "one"}, auto_kid=False)


def letters(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claimed(fake: FakeProvider, **more: Any) -> dict[str, Any]:
    """What a token for this sign-in claims."""
    return {**fake.claims, "nonce": begin(client(fake))["nonce"], **more}


def signed(header: dict[str, Any], claims: dict[str, Any], key: Any, **more: Any) -> str:
    registry = jws.JWSRegistry(algorithms=[header["alg"]], strict_check_header=False)
    return jws.serialize_compact(header, json.dumps(claims).encode(), key, registry=registry)


def rejected(fake: FakeProvider, token: str) -> None:
    """Refuse a token, at a sign-in and at the API alike, with nothing of it in the words."""
    fake.token = token
    problem = refused(client(fake), fake)
    assert problem.code == "unauthenticated", problem
    with pytest.raises(Problem) as caught:
        client(fake, api_audience=API).caller(token)
    assert caught.value.code == "unauthenticated"
    for said in (problem, caught.value):
        assert "ada" not in str(said.to_json())


def test_the_plain_token_of_these_tests_holds(fake: FakeProvider) -> None:
    fake.token = signed(fake.header, claimed(fake), KEY)
    assert finish(client(fake), fake).name == "login:ada"


@pytest.mark.parametrize(
    "header",
    [
        {"jwk": OTHER.as_dict(private=False)},
        {"jku": "https://evil.example/keys"},
        {"x5u": "https://evil.example/chain"},
        {"x5c": ["MIIB"]},
        {"kid": "../../../../dev/null"},
        {"kid": "one' or '1'='1"},
        {"kid": "https://evil.example/keys#one"},
        {"kid": ["one"]},
        {"kid": {"one": 1}},
        {"kid": ""},
        {"kid": None},
        {"kid": 1},
    ],
    ids=lambda header: "-".join(map(str, header)),
)
def test_a_header_does_not_bring_its_own_key(fake: FakeProvider, header: dict[str, Any]) -> None:
    """Signed with the attacker's key, which the header names, holds or tries to look up."""
    whole = {"alg": "RS256", "kid": "one", **header}
    text = f"{letters(json.dumps(whole).encode())}.{letters(json.dumps(claimed(fake)).encode())}"
    signature = signed({"alg": "RS256"}, {}, OTHER).rsplit(".", 1)[1]
    rejected(fake, f"{text}.{signature}")
    asked = {request.url.host for request in fake.asked}
    assert asked == {"login.example"}  # nobody was asked but the issuer


@pytest.mark.parametrize("alg", ["none", "None", "nOnE", "HS256", "HS512", "RS256 ", "", "XX", 5])
@pytest.mark.parametrize("signature", ["", "AAAA", "one of the key"])
def test_an_algorithm_that_is_none_of_ours(fake: FakeProvider, alg: Any, signature: str) -> None:
    good = signed(fake.header, claimed(fake), KEY)
    _, body, right = good.split(".")
    header = letters(json.dumps({"alg": alg, "kid": "one"}).encode())
    rejected(fake, f"{header}.{body}.{right if signature == 'one of the key' else signature}")


def test_a_shared_key_among_those_of_the_provider_signs_nothing(fake: FakeProvider) -> None:
    """Also where a provider shows one by mistake."""
    shared = OctKey.import_key("a" * 64, {"kid": "shared"})
    claims = claimed(fake)

    def shows(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("keys"):
            keys = [KEY.as_dict(private=False), shared.as_dict(private=True)]
            return httpx.Response(200, json={"keys": keys})
        return fake(request)

    fake.token = jwt.encode({"alg": "HS256", "kid": "shared"}, claims, shared)
    with pytest.raises(Problem) as caught:
        finish(client(shows), fake)
    assert caught.value.code == "unauthenticated"


def test_a_signature_of_zeros_or_of_another_curve(fake: FakeProvider) -> None:
    fake.shown = EC
    claims = claimed(fake)
    header = {"alg": "ES256", "kid": "one"}
    good = signed(header, claims, EC)
    fake.token = good
    assert finish(client(fake), fake).name == "login:ada"
    start = good.rsplit(".", 1)[0]
    for signature in (
        b"\0" * 64,
        b"\xff" * 64,
        b"\0" * 63,
        b"\0" * 65,
        b"0\x06\x02\x01\0\x02\x01\0",
    ):
        rejected(fake, f"{start}.{letters(signature)}")
    rejected(fake, signed({"alg": "RS256", "kid": "one"}, claims, KEY))  # a key of another kind


def test_what_must_be_understood_is_understood_or_refused(fake: FakeProvider) -> None:
    """RFC 7515, section 4.1.11, and RFC 7797: a critical header that nobody here reads."""
    good = signed(fake.header, claimed(fake), KEY)
    _, body, _ = good.split(".")
    for more in ({"crit": ["exp"], "exp": 1}, {"crit": ["b64"], "b64": False}, {"crit": []}):
        header = letters(json.dumps({**fake.header, **more}).encode())
        key = signed({"alg": "RS256", "kid": "one"}, {}, KEY).rsplit(".", 1)[1]
        rejected(fake, f"{header}.{body}.{key}")


def test_an_encrypted_token_and_other_forms_are_none(fake: FakeProvider) -> None:
    good = signed(fake.header, claimed(fake), KEY)
    header, body, signature = good.split(".")
    sealed = jwe.encrypt_compact(
        {"alg": "RSA-OAEP", "enc": "A128GCM"},
        good.encode(),
        KEY,
        algorithms=["RSA-OAEP", "A128GCM"],
    )
    general = json.dumps({"payload": body, "protected": header, "signature": signature})
    for token in (
        sealed,
        general,
        f"{good}.",
        f".{good}",
        f"{header}.{body}",
        f"{header}..{signature}",
        f"{header}.{body}.{signature} ",
        f" {good}",
        f"{header}.{body}.{signature[:-2]}",
        f"{header}.{body}=.{signature}",
        f"{header}.{body[:-1]}.{signature}",
    ):
        rejected(fake, token)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": f"{ISSUER}/"},
        {"iss": ISSUER.upper()},
        {"iss": [ISSUER]},
        {"iss": ["https://evil.example", ISSUER]},
        {"iss": None},
        {"aud": []},
        {"aud": ["another"]},
        {"aud": "tacit "},
        {"aud": "TACIT"},
        {"aud": {"tacit": 1}},
        {"aud": ["tacit", "another"], "azp": "another"},
        {"aud": ["tacit", "another"], "azp": ["tacit"]},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": [NOW + 60]},
        {"exp": -1},
        {"exp": 0},
        {"iat": "now"},
        {"nbf": "later"},
        {"nonce": ["x"]},
        {"nonce": True},
        {"sub": ["ada"]},
        {"sub": "ada\u200b"},
        {"sub": " ada"},
        {"sub": "*"},
        {"sub": "ada:*"},
    ],
    ids=str,
)
def test_claims_of_another_kind_do_not_hold(fake: FakeProvider, claims: dict[str, Any]) -> None:
    fake.token = signed(fake.header, claimed(fake, **claims), KEY)
    assert refused(client(fake), fake).code == "unauthenticated"


@pytest.mark.parametrize("twice", ["aud", "iss", "sub", "exp", "nonce"])
def test_a_claim_that_stands_twice(fake: FakeProvider, twice: str) -> None:
    """Of two, the provider may have meant the other one."""
    claims = claimed(fake)
    text = json.dumps(claims)[:-1] + f', "{twice}": {json.dumps(claims[twice])}}}'
    registry = jws.JWSRegistry(algorithms=["RS256"])
    fake.token = jws.serialize_compact(fake.header, text.encode(), KEY, registry=registry)
    assert refused(client(fake), fake).code == "unauthenticated"


def test_names_of_one_account_are_those_of_no_other(fake: FakeProvider) -> None:
    """An account that is called like a token, or like an account of the login."""
    for name in ("login:ada", "ADA", "\u0430da", "operator", "analyst:ada"):
        fake.token = signed(fake.header, claimed(fake, sub=name), KEY)
        assert finish(client(fake), fake).name == f"login:{name}"


@pytest.mark.parametrize(
    "groups", [{"doctors": 1}, "doctors doctors", ["doctors "], ["DOCTORS"], [["doctors"]], True, 1]
)
def test_groups_of_another_kind_grant_nothing(fake: FakeProvider, groups: Any) -> None:
    fake.token = signed(fake.header, claimed(fake, groups=groups), KEY)
    assert refused(client(fake), fake).code == "forbidden"


def test_a_sign_in_of_one_browser_is_none_in_another(fake: FakeProvider) -> None:
    """The nonce and the state are those of one cookie: a token or a reply of another fails."""
    provider = client(fake)
    own = begin(provider)
    theirs = dict(httpx.URL(provider.start("the cookie of another browser")).params)
    assert not {own[name] for name in ("state", "nonce", "code_challenge")} & set(theirs.values())
    fake.token = signed(fake.header, {**fake.claims, "nonce": theirs["nonce"]}, KEY)
    assert refused(provider, fake).code == "unauthenticated"  # a token injected from elsewhere
    fake.token = signed(fake.header, {**fake.claims, "nonce": own["nonce"]}, KEY)
    with pytest.raises(Problem) as caught:
        provider.finish(SECRET, {"state": theirs["state"], "code": "c"})
    assert caught.value.code == "unauthenticated"
    assert finish(provider, fake).grants == (GRANT,)


def test_a_token_of_a_sign_in_is_none_for_the_api_and_the_other_way(fake: FakeProvider) -> None:
    both = client(fake, api_audience=API)
    with pytest.raises(Problem) as caught:
        both.caller(signed(fake.header, claimed(fake), KEY))
    assert caught.value.code == "unauthenticated"
    fake.token = signed(fake.header, claimed(fake, aud=API), KEY)
    assert refused(both, fake).code == "unauthenticated"
    assert both.caller(fake.token).grants == (Grant("analyst", "visits"),)


def test_keys_that_are_none_sign_nobody_in(fake: FakeProvider) -> None:
    fake.token = signed(fake.header, claimed(fake), KEY)
    for keys in ({}, {"keys": {}}, {"keys": ["x"]}, {"keys": [{"kty": "RSA"}]}, [], "keys", None):

        def shows(request: httpx.Request, keys: Any = keys) -> httpx.Response:
            if request.url.path.endswith("keys"):
                return httpx.Response(200, json=keys)
            return fake(request)

        with pytest.raises(Problem) as caught:
            client(shows).start(SECRET)
        assert caught.value.code == "unavailable"
    empty = KeySet([RSAKey.generate_key(2048, {"kid": "other"}, auto_kid=False)])
    fake.shown = empty.keys[0]
    assert refused(client(fake), fake).code == "unauthenticated"


# Signing in with a certified provider of OpenID Connect (npm's oidc-provider, on loopback).


LACKING = missing()
LOGIN_PROVIDER_SECRET = "a secret & of: the client"
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
    with provider(ADDRESS, LOGIN_PROVIDER_SECRET, ACCOUNTS) as issuer:
        yield issuer


@pytest.fixture
def login_provider_client(issuer: str, tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "service.toml").write_text(SETTINGS.format(home=ADDRESS, issuer=issuer))
    (tmp_path / "login.secret").write_text(LOGIN_PROVIDER_SECRET + "\n")
    with running(tmp_path) as client:
        yield client


def login_provider_begin(client: Client) -> tuple[str, str]:
    """The cookie of a browser that begins to sign in, and the address that it is sent to."""
    reply = client.get("/sign-in/login")
    assert reply.status_code == 303
    return reply.headers["set-cookie"].partition(";")[0], reply.headers["location"]


def back_from(client: Client, account: str) -> tuple[str, str]:
    """The cookie, and the address with which the provider sends the browser back."""
    cookie, address = login_provider_begin(client)
    with httpx.Client(timeout=20) as browser:
        return cookie, signed_in_at(browser, address, account, ADDRESS)


def cookies(reply: httpx.Response) -> dict[str, str]:
    pairs = [one.partition(";")[0].partition("=") for one in reply.headers.get_list("set-cookie")]
    return {name: value for name, _, value in pairs}


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_a_person_signs_in_asks_who_they_are_and_signs_out(
    login_provider_client: Client, issuer: str
) -> None:
    cookie, back = back_from(login_provider_client, "mia")
    reply = login_provider_client.get(back, headers={"Cookie": cookie})
    assert reply.status_code == 303
    assert reply.headers["location"] == "/"
    signed = {"Cookie": f"tacit={cookies(reply)['tacit']}"}
    me = login_provider_client.get("/v1/me", headers=signed).json()
    assert (me["name"], me["team"]) == ("login:mia", "statistics")
    assert me["grants"] == [{"role": "curator", "dataset": "*"}]
    out = login_provider_client.post("/sign-out", headers={**signed, "Origin": ADDRESS})
    assert out.headers["location"].startswith(f"{issuer}/session/end?")
    policy = out.headers["content-security-policy"]
    assert f"form-action 'self' {issuer};" in policy
    assert (
        httpx.get(out.headers["location"]).status_code == 200
    )  # it asks whether to sign out there
    assert login_provider_client.get("/v1/me", headers=signed).status_code == 401


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_groups_decide_what_may_be_done(login_provider_client: Client) -> None:
    cookie, back = back_from(login_provider_client, "ada")
    reply = login_provider_client.get(back, headers={"Cookie": cookie})
    signed = {"Cookie": f"tacit={cookies(reply)['tacit']}"}
    assert (
        login_provider_client.get("/v1/me", headers=signed).json()["rights"][-1]
        == "see_own_releases"
    )
    assert login_provider_client.get("/v1/tokens", headers=signed).status_code == 403


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
@pytest.mark.parametrize("account", ["eve", "bob"])
def test_an_account_without_a_group_that_is_known_may_do_nothing(
    login_provider_client: Client, account: str
) -> None:
    cookie, back = back_from(login_provider_client, account)
    reply = login_provider_client.get(back, headers={"Cookie": cookie})
    assert reply.status_code == 403
    assert "tacit" not in cookies(reply)


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_a_code_is_good_once(login_provider_client: Client) -> None:
    cookie, back = back_from(login_provider_client, "ada")
    assert login_provider_client.get(back, headers={"Cookie": cookie}).status_code == 303
    assert login_provider_client.get(back, headers={"Cookie": cookie}).status_code == 401


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_a_code_is_good_in_its_own_browser_alone(login_provider_client: Client) -> None:
    _, back = back_from(login_provider_client, "ada")
    other, _ = login_provider_begin(login_provider_client)
    for headers in ({}, {"Cookie": other}):
        assert login_provider_client.get(back, headers=headers).status_code == 401


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_a_code_of_another_sign_in_fails_at_the_provider(login_provider_client: Client) -> None:
    """With a state that fits, the verifier of PKCE is still that of the other sign-in."""
    _, stolen = back_from(login_provider_client, "mia")
    cookie, own = back_from(login_provider_client, "ada")
    codes = [httpx.URL(one).params["code"] for one in (stolen, own)]
    reply = login_provider_client.get(own.replace(codes[1], codes[0]), headers={"Cookie": cookie})
    assert reply.status_code == 401


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_who_refuses_at_the_provider_is_not_signed_in(login_provider_client: Client) -> None:
    cookie, address = login_provider_begin(login_provider_client)
    state = httpx.URL(address).params["state"]
    reply = login_provider_client.get(
        f"/sign-in/back?error=access_denied&error_description=secret&state={state}",
        headers={"Cookie": cookie},
    )
    assert reply.status_code == 401
    assert "secret" not in reply.text


@pytest.mark.full
@pytest.mark.skipif(LACKING is not None, reason=reason(*(LACKING or ("", ""))))
def test_a_wrong_secret_signs_nobody_in(login_provider_client: Client, tmp_path: Path) -> None:
    (tmp_path / "login.secret").write_text("another")
    cookie, back = back_from(login_provider_client, "ada")
    reply = login_provider_client.get(back, headers={"Cookie": cookie})
    assert reply.status_code == 401
    assert "another" not in reply.text
