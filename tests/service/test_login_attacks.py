"""Attacks on the login by tokens that nearly hold: every trick with a header, a key or a claim.

The provider of these tests is the attacker's where it can be (what a token says of itself), and
honest where it must be (the keys at its own address).
"""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest
from joserfc import jwe, jws, jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from support.service.provider import (
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
from tacit.service.access import Grant
from tacit.service.problem import Problem

API = "https://statistics.example/api"
EC = ECKey.generate_key("P-256", {"kid": "one"}, auto_kid=False)


@pytest.fixture
def fake() -> FakeProvider:
    return FakeProvider()


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
