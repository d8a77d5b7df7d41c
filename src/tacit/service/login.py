"""Login by OpenID Connect: the code flow with PKCE, as a confidential client."""

# *One secret a sign-in.*  The browser that begins is given a random cookie; the state, the nonce
# and the verifier of PKCE are derived from it, each under its own name.  So the reply of the
# provider is good only in the browser that began (state), the token was made for this sign-in
# (nonce), and the code is of use to nobody else (verifier); and no machine has to remember
# anything.
#
# *The token* is read with the keys that the issuer's own description names: signature, by a public
# key alone, issuer, audience, times and nonce (OpenID Connect Core 1.0, section 3.1.3.7), and the
# issuer stands in the reply where the provider says that it does (RFC 9207).
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
from tacit.service.tokens import LOGIN_NAMES

__all__ = ["Identity", "Provider"]

_PATIENCE = 10.0  # seconds for a reply of the provider
_FRESH = 600.0  # seconds for which its description is believed
_PAUSE = 5.0  # seconds for which a provider that failed is left alone
_RETRY = 30.0  # seconds until keys are looked for again
_LEEWAY = 60  # seconds by which clocks may differ
_MOST_BYTES = 1_000_000
_LONGEST = 24 * 3600.0  # seconds that a token of the provider may live
_MOST_TOKEN = 8_000  # characters of one
# Signatures by a public key; a shared secret or none at all is refused.
_SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "Ed25519")
# How a token that does not hold fails.
_BROKEN = (JoseError, UsageError, ValueError, TypeError, KeyError)


@dataclass(frozen=True)
class Identity:
    """Who signed in, and what they are granted here."""

    name: str
    team: str | None
    grants: tuple[Grant, ...]


@dataclass(frozen=True)
class _Described:
    """What a provider says of itself, and when it was asked."""

    said: Mapping[str, Any]
    keys: KeySet
    when: float


class Provider:
    """A provider of OpenID Connect."""

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
        self._client = client or httpx.Client(timeout=_PATIENCE, follow_redirects=False)
        self._lock = threading.Lock()
        self._described: _Described | None = None
        self._failed = -_PAUSE

    def start(self, secret: str) -> str:
        """Return the address at the provider where a sign-in begins."""
        said = self._description().said
        challenge = hashlib.sha256(_derived(secret, "verifier").encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._login.client_id,
            "redirect_uri": self._back,
            "scope": " ".join(self._login.scopes),
            "state": _derived(secret, "state"),
            "nonce": _derived(secret, "nonce"),
            "code_challenge": _letters(challenge),
            "code_challenge_method": "S256",
        }
        place = str(said["authorization_endpoint"])
        return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"

    def finish(self, secret: str, reply: Mapping[str, str]) -> Identity:
        """Return who signed in."""
        described = self._description()
        if not hmac.compare_digest(
            reply.get("state", "").encode(), _derived(secret, "state").encode()
        ):
            raise _broken("it did not begin in this browser")
        named = described.said.get("authorization_response_iss_parameter_supported") is True
        if (named or "iss" in reply) and reply.get("iss") != self._login.issuer:
            raise _broken("it comes from another provider")
        if "code" not in reply:
            raise _broken("the provider refused it")
        token = self._token(described.said, reply["code"], _derived(secret, "verifier"))
        return self._identity(self._claims(token, described, _derived(secret, "nonce")))

    def reads(self, text: str) -> bool:
        """Return whether a text could be a token of the provider that programs may send."""
        return self._login.api_audience is not None and text.count(".") == 2

    def caller(self, text: str) -> Caller:
        """Return whose token of the provider a program sent."""
        # It is one that the provider made for this service's API: held against its keys, issuer,
        # audience and times, and for at most a day, because nobody can revoke it here.  A token of
        # a sign-in has another audience, and is refused.
        named = {"aud": {"essential": True, "value": self._login.api_audience}}
        read = self._held(text, self._description(), named)
        expires = float(read["exp"])
        if expires > self._clock() + _LONGEST or len(text) > _MOST_TOKEN:
            raise _void("it lives for more than a day")
        who = self._identity(read)
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        return Caller(who.name, who.team, who.grants, name, expires, LOGIN_NAMES)

    def end(self) -> str | None:
        """Return the address at the provider where a sign-in ends; None where it has none."""
        try:
            place = self._description().said.get("end_session_endpoint")
        except Problem:
            return None
        if not isinstance(place, str) or _origin(place) != _origin(self._login.issuer):
            return None
        home = self._back.partition("/sign-in/")[0] + "/sign-in"
        asked = {"client_id": self._login.client_id, "post_logout_redirect_uri": home}
        return f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"

    def close(self) -> None:
        """Close the connections to the provider."""
        self._client.close()

    def _description(self, *, anew: bool = False) -> _Described:
        """Return what the provider says of itself: asked at most now and then."""
        with self._lock:
            now, found = self._clock(), self._described
            if found is not None and abs(now - found.when) < (_RETRY if anew else _FRESH):
                return found
            if abs(now - self._failed) < _PAUSE:
                raise _unavailable("it failed a moment ago")
            try:
                self._described = self._asked_anew(now)
            except Problem:
                self._failed = now
                raise
            return self._described

    def _asked_anew(self, now: float) -> _Described:
        issuer = self._login.issuer
        said = self._asked(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if said.get("issuer") != issuer:
            raise _unavailable("its description names another issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            self._refuse_plain(said.get(name))
        try:
            given: Any = self._asked(str(said["jwks_uri"]))
            keys = KeySet.import_key_set(given)
        except (JoseError, ValueError, KeyError, TypeError):
            raise _unavailable("its keys cannot be read") from None
        return _Described(said, keys, now)

    def _refuse_plain(self, place: object) -> None:
        """Refuse an address without TLS, where that of the issuer has it."""
        plain = not isinstance(place, str) or not place.startswith(("https://", "http://"))
        secure = self._login.issuer.startswith("https://")
        if plain or (secure and not str(place).startswith("https://")):
            raise _unavailable("its description names an address without TLS")

    def _asked(self, place: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the JSON at an address of the provider."""
        try:
            if form is None:
                reply = self._client.get(place, headers={"Accept": "application/json"})
            else:
                reply = self._client.post(place, data=dict(form), headers=self._credentials())
        except (httpx.HTTPError, httpx.InvalidURL):
            raise _unavailable("it cannot be reached") from None
        if form is not None and reply.status_code in (400, 401):
            raise _broken("the provider does not accept the code as its own")
        if reply.status_code != 200 or len(reply.content) > _MOST_BYTES:
            raise _unavailable(f"it answers with {reply.status_code}")
        try:
            found = read_json(reply.content, "its answer")
        except UsageError:
            found = None
        if not isinstance(found, dict):
            raise _unavailable("its answer is not JSON")
        return found

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

    def _token(self, said: Mapping[str, Any], code: str, verifier: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "code_verifier": verifier,
        }
        if self._login.secret_file is None:
            form["client_id"] = self._login.client_id
        found = self._asked(str(said["token_endpoint"]), form).get("id_token")
        if not isinstance(found, str):
            raise _broken("the provider sent no token of a person")
        return found

    def _claims(self, token: str, described: _Described, nonce: str) -> Mapping[str, Any]:
        """Return the claims of a token that holds: signature, issuer, audience, times, nonce."""
        mine = {"essential": True, "value": self._login.client_id}
        named = {"aud": mine, "nonce": {"essential": True, "value": nonce}}
        try:
            read = self._held(token, described, named)
        except Problem as error:
            if error.code == "unauthenticated":
                raise _broken("the token of the provider does not hold") from None
            raise
        parties = read["aud"] if isinstance(read["aud"], list) else [read["aud"]]
        if len(parties) > 1 and read.get("azp") != self._login.client_id:
            raise _broken("the token of the provider was made for another service")
        return read

    def _held(self, token: str, described: _Described, named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claims of a token whose signature, issuer, times and named claims hold."""
        try:
            read = self._decoded(token, described)
            jwt.JWTClaimsRegistry(
                now=lambda: int(self._clock()),
                leeway=_LEEWAY,
                iss={"essential": True, "value": self._login.issuer},
                exp={"essential": True},
                iat={"essential": True},
                **named,
            ).validate(read)
        except _BROKEN:
            raise _void("it does not hold") from None
        return read

    def _decoded(self, token: str, described: _Described) -> dict[str, Any]:
        """Read a token with the provider's keys; with newer ones where it has changed them."""
        try:
            return _signed(token, described.keys)
        except _BROKEN:
            newer = self._description(anew=True)
            if newer is described:
                raise
            return _signed(token, newer.keys)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        said, login = claims.get(login_name := self._login.name_claim), self._login
        if not isinstance(said, str):
            raise _broken(f"the token of the provider has no claim {login_name!r}")
        team = claims.get(login.team_claim) if login.team_claim else None
        values = claims.get(login.roles_claim, [])
        values = values if isinstance(values, list) else [values]
        grants = {grant for value in values for grant in login.grants.get(str(value), ())}
        what = "the name of an account"
        try:
            name = plain_name(f"{LOGIN_NAMES}{plain_name(said, what)}", what)
            team = None if team is None else plain_name(str(team), "the team of an account")
        except UsageError:
            raise _broken("the name of the account cannot be shown") from None
        if not grants:
            raise Problem(
                "forbidden",
                f"the account {name!r} has no right here",
                "ask a curator; the operator grants rights in service.toml, [login.grants]",
            )
        return Identity(name, team, tuple(sorted(grants)))


def _signed(token: str, keys: KeySet) -> dict[str, Any]:
    """Return the claims of a token that one of the keys signed; each claim stands there once."""
    payload = jws.deserialize_compact(token, keys, algorithms=list(_SIGNATURES)).payload
    claims = read_json(payload or b"", "a token")
    if not isinstance(claims, dict):
        raise ValueError("the claims of a token have names")
    return claims


def _derived(secret: str, name: str) -> str:
    """Return a text that only the holder of the secret can make, another for each name."""
    return _letters(hmac.digest(secret.encode(), f"tacit login {name}".encode(), "sha256"))


def _letters(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _origin(place: str) -> tuple[str, str]:
    parts = urlsplit(place)
    return parts.scheme, parts.netloc


def _void(why: str) -> Problem:
    return Problem(
        "unauthenticated", f"the token of the organisation's login: {why}", "get a new one"
    )


def _broken(why: str) -> Problem:
    return Problem("unauthenticated", f"the sign-in is incomplete: {why}", "begin it again")


def _unavailable(why: str) -> Problem:
    return Problem(
        "unavailable",
        f"the login of the organisation does not answer as it should: {why}",
        "try again in a minute, or sign in with a token",
    )
