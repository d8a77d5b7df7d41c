"""Login by OpenID Connect: the code flow with PKCE, as a confidential client."""

# *One secret a sign-in.*  The browser that starts is given a random cookie; the state, the nonce
# and the verifier of PKCE are derived from it, each under its own name.  So the reply of the
# provider is good only in the browser that began (state), the token was made for this sign-in
# (nonce), and the code is of use to no one else (verifier); and no machine has to remember
# anything.
#
# *The token* is read with the keys that the issuer's own description names: signature, by a public
# key alone, issuer, audience, times and nonce (OpenID Connect Core 1.0, section 3.1.3.7), and the
# issuer is in the reply where the provider says that it does (RFC 9207).
#
# *Names* of people that come by the login begin with ``login:``, which no token of a curator or an
# operator may: an account of the login is never that of a token.

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tacit.errors import UsageError
from tacit.outside import read_json
from tacit.service.access import Caller, Grant, plain_name
from tacit.service.problem import Problem
from tacit.service.settings import Login
from tacit.service.tokens import LOGIN_NAMES, base64url

_TIMEOUT = 10.0  # seconds for a reply of the provider
_FRESH = 600.0  # seconds for which its description is cached
_PAUSE = 5.0  # seconds for which a provider that failed is left alone
_RETRY = 30.0  # seconds until keys are fetched again
_LEEWAY = 60  # seconds by which clocks may differ
_MAX_BYTES = 1_000_000
_MAX_TOKEN_SECONDS = 24 * 3600.0  # seconds that a token of the provider may live
_MAX_TOKEN_LENGTH = 8_000  # characters of one
# Signatures by a public key; a shared secret or none at all is refused.
_SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "Ed25519")
# Errors of a token that is not valid.
_INVALID_TOKEN = (JoseError, UsageError, ValueError, TypeError, KeyError)


@dataclass(frozen=True)
class Identity:
    """The person who signed in, and what they are granted here."""

    name: str
    team: str | None
    grants: tuple[Grant, ...]


@dataclass(frozen=True)
class _Discovery:
    """The description of a provider, its keys, and when they were fetched."""

    fields: Mapping[str, Any]
    keys: KeySet
    when: float


class Provider:
    def __init__(
        self,
        login: Login,
        back: str,
        clock: Callable[[], float] = time.time,
        client: httpx.Client | None = None,
    ) -> None:
        self._login = login
        self._back = back
        self._clock = clock
        self._client = client or httpx.Client(timeout=_TIMEOUT, follow_redirects=False)
        self._lock = threading.Lock()
        self._discovery: _Discovery | None = None
        self._failed = -_PAUSE

    def start(self, secret: str) -> str:
        """Return the address at the provider where a sign-in begins."""
        fields = self._description().fields
        challenge = hashlib.sha256(_derived(secret, "verifier").encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": self._login.client_id,
            "redirect_uri": self._back,
            "scope": " ".join(self._login.scopes),
            "state": _derived(secret, "state"),
            "nonce": _derived(secret, "nonce"),
            "code_challenge": base64url(challenge),
            "code_challenge_method": "S256",
        }
        address = str(fields["authorization_endpoint"])
        return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"

    def finish(self, secret: str, reply: Mapping[str, str]) -> Identity:
        discovery = self._description()
        if not hmac.compare_digest(
            reply.get("state", "").encode(), _derived(secret, "state").encode()
        ):
            raise _incomplete("it did not begin in this browser")
        named = discovery.fields.get("authorization_response_iss_parameter_supported") is True
        if (named or "iss" in reply) and reply.get("iss") != self._login.issuer:
            raise _incomplete("it comes from another provider")
        if "code" not in reply:
            raise _incomplete("the provider refused it")
        token = self._token(discovery.fields, reply["code"], _derived(secret, "verifier"))
        return self._identity(self._claims(token, discovery, _derived(secret, "nonce")))

    def reads(self, text: str) -> bool:
        """Return whether a text could be a token of the provider that programs may send."""
        return self._login.api_audience is not None and text.count(".") == 2

    def caller(self, text: str) -> Caller:
        """Return whose token of the provider a program sent."""
        # It is one that the provider made for this service's API: held against its keys, issuer,
        # audience and times, and for at most a day, because no one can revoke it here.  A token of
        # a sign-in has another audience, and is refused.
        named = {"aud": {"essential": True, "value": self._login.api_audience}}
        read = self._verified_claims(text, self._description(), named)
        expires = float(read["exp"])
        if expires > self._clock() + _MAX_TOKEN_SECONDS or len(text) > _MAX_TOKEN_LENGTH:
            raise _void("it lives for more than a day")
        who = self._identity(read)
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        return Caller(who.name, who.team, who.grants, name, expires, LOGIN_NAMES)

    def end(self) -> str | None:
        """Return the address at the provider where a sign-in ends; None where it has none."""
        try:
            address = self._description().fields.get("end_session_endpoint")
        except Problem:
            return None
        if not isinstance(address, str) or _origin(address) != _origin(self._login.issuer):
            return None
        home = self._back.partition("/sign-in/")[0] + "/sign-in"
        parameters = {"client_id": self._login.client_id, "post_logout_redirect_uri": home}
        return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"

    def close(self) -> None:
        self._client.close()

    def _description(self, *, newer: bool = False) -> _Discovery:
        """Return the description of the provider, cached for a while."""
        with self._lock:
            now, discovery = self._clock(), self._discovery
            if discovery is not None and abs(now - discovery.when) < (_RETRY if newer else _FRESH):
                return discovery
            if abs(now - self._failed) < _PAUSE:
                raise _unavailable("it failed a moment ago")
            try:
                self._discovery = self._discover(now)
            except Problem:
                self._failed = now
                raise
            return self._discovery

    def _discover(self, now: float) -> _Discovery:
        issuer = self._login.issuer
        fields = self._fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if fields.get("issuer") != issuer:
            raise _unavailable("its description names another issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            self._refuse_plain(fields.get(name))
        try:
            given: Any = self._fetch(str(fields["jwks_uri"]))
            keys = KeySet.import_key_set(given)
        except (JoseError, ValueError, KeyError, TypeError):
            raise _unavailable("its keys cannot be read") from None
        return _Discovery(fields, keys, now)

    def _refuse_plain(self, address: object) -> None:
        """Raise if an address has no TLS and the issuer's has."""
        plain = not isinstance(address, str) or not address.startswith(("https://", "http://"))
        secure = self._login.issuer.startswith("https://")
        if plain or (secure and not str(address).startswith("https://")):
            raise _unavailable("its description names an address without TLS")

    def _fetch(self, address: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the JSON at an address of the provider."""
        try:
            if form is None:
                reply = self._client.get(address, headers={"Accept": "application/json"})
            else:
                reply = self._client.post(address, data=dict(form), headers=self._credentials())
        except (httpx.HTTPError, httpx.InvalidURL):
            raise _unavailable("it cannot be reached") from None
        if form is not None and reply.status_code in (400, 401):
            raise _incomplete("the provider does not accept the code as its own")
        if reply.status_code != 200 or len(reply.content) > _MAX_BYTES:
            raise _unavailable(f"it answers with {reply.status_code}")
        try:
            payload = read_json(reply.content, "its answer")
        except UsageError:
            payload = None
        if not isinstance(payload, dict):
            raise _unavailable("its answer is not JSON")
        return payload

    def _credentials(self) -> dict[str, str]:
        """Return the header that names this client, with its secret where it has one."""
        file = self._login.secret_file
        if file is None:
            return {}
        try:
            secret = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise _unavailable("the secret of this service cannot be read") from None
        pair = f"{quote_plus(self._login.client_id)}:{quote_plus(secret)}"
        basic = base64.b64encode(pair.encode()).decode()
        return {"Authorization": f"Basic {basic}"}

    def _token(self, fields: Mapping[str, Any], code: str, verifier: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "code_verifier": verifier,
        }
        if self._login.secret_file is None:
            form["client_id"] = self._login.client_id
        token = self._fetch(str(fields["token_endpoint"]), form).get("id_token")
        if not isinstance(token, str):
            raise _incomplete("the provider sent no token of a person")
        return token

    def _claims(self, token: str, discovery: _Discovery, nonce: str) -> Mapping[str, Any]:
        """Return the claims of a valid token: signature, issuer, audience, times, nonce."""
        mine = {"essential": True, "value": self._login.client_id}
        named = {"aud": mine, "nonce": {"essential": True, "value": nonce}}
        try:
            read = self._verified_claims(token, discovery, named)
        except Problem as error:
            if error.code == "unauthenticated":
                raise _incomplete("the token of the provider is not valid") from None
            raise
        parties = read["aud"] if isinstance(read["aud"], list) else [read["aud"]]
        if len(parties) > 1 and read.get("azp") != self._login.client_id:
            raise _incomplete("the token of the provider was made for another service")
        return read

    def _verified_claims(
        self, token: str, discovery: _Discovery, named: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the claims of a token after checking its signature, issuer, times and claims."""
        try:
            read = self._decoded(token, discovery)
            jwt.JWTClaimsRegistry(
                now=lambda: int(self._clock()),
                leeway=_LEEWAY,
                iss={"essential": True, "value": self._login.issuer},
                exp={"essential": True},
                iat={"essential": True},
                **named,
            ).validate(read)
        except _INVALID_TOKEN:
            raise _void("it is not valid") from None
        return read

    def _decoded(self, token: str, discovery: _Discovery) -> dict[str, Any]:
        """Read a token with the provider's keys; with newer ones where it has changed them."""
        try:
            return _signed(token, discovery.keys)
        except _INVALID_TOKEN:
            newer = self._description(newer=True)
            if newer is discovery:
                raise
            return _signed(token, newer.keys)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        account, login = claims.get(login_name := self._login.name_claim), self._login
        if not isinstance(account, str):
            raise _incomplete(f"the token of the provider has no claim {login_name!r}")
        team = claims.get(login.team_claim) if login.team_claim else None
        values = claims.get(login.roles_claim, [])
        values = values if isinstance(values, list) else [values]
        grants = {grant for value in values for grant in login.grants.get(str(value), ())}
        what = "the name of an account"
        try:
            name = plain_name(f"{LOGIN_NAMES}{plain_name(account, what)}", what)
            team = None if team is None else plain_name(str(team), "the team of an account")
        except UsageError:
            raise _incomplete("the name of the account cannot be shown") from None
        if not grants:
            raise Problem(
                "forbidden",
                f"the account {name!r} has no right here",
                "ask a curator; the operator grants rights in service.toml, [login.grants]",
            )
        return Identity(name, team, tuple(sorted(grants)))


def _signed(token: str, keys: KeySet) -> dict[str, Any]:
    """Return the claims of a token that one of the keys signed; each claim appears once."""
    payload = jws.deserialize_compact(token, keys, algorithms=list(_SIGNATURES)).payload
    claims = read_json(payload or b"", "a token")
    if not isinstance(claims, dict):
        raise ValueError("the claims of a token have names")
    return claims


def _derived(secret: str, name: str) -> str:
    """Return a text that only the holder of the secret can make, another for each name."""
    return base64url(hmac.digest(secret.encode(), f"tacit login {name}".encode(), "sha256"))


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc


def _void(why: str) -> Problem:
    return Problem(
        "unauthenticated", f"the token of the organisation's login: {why}", "get a new one"
    )


def _incomplete(why: str) -> Problem:
    return Problem("unauthenticated", f"the sign-in is incomplete: {why}", "begin it again")


def _unavailable(why: str) -> Problem:
    return Problem(
        "unavailable",
        f"the login of the organisation does not answer as it should: {why}",
        "try again in a minute, or sign in with a token",
    )
