"""The outermost layer: checks of requests, headers of replies."""

# - The body of a request is bounded in bytes and in time.
# - A header that decides something comes once: of two a proxy could read the other one.
# - A request that changes something and comes by the cookie of a sign-in must come from our own
#   pages: the browser says so in ``Origin`` and ``Sec-Fetch-Site``, which no page of another site
#   can change.  (The cookie is ``SameSite=Lax`` next to that.)
# - Every reply has the headers that bind a browser: no script, style or frame of elsewhere.
# - An exception that no one foresaw ends here, named by its kind alone.

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import UsageError
from tacit.outside import read_json
from tacit.service.problem import Problem, problem_of
from tacit.service.settings import Settings
from tacit.service.telemetry import log, route_of
from tacit.service.web.problems import rendered, reply_to

_SAFE = ("GET", "HEAD", "OPTIONS")
_ONCE = (
    b"authorization",
    b"content-length",
    b"content-type",
    b"host",
    b"idempotency-key",
    b"origin",
)
_MAX_BUFFERED_BYTES = 1 << 27  # of the bodies that are being read or answered, in one process
READ = "tacit.json"  # in the scope of a request: its body, where that is said to be JSON
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With no-referrer a browser says Origin: null of our own forms, which could be any page.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
_STRICT_TRANSPORT = (b"strict-transport-security", b"max-age=31536000")


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self, app: ASGIApp, settings: Settings, cookie: str, large: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._limits = settings.limits
        self._url = settings.url
        self._cookie = cookie
        self._large = tuple(large)
        self._buffered = 0
        policy = (b"content-security-policy", _policy(settings).encode())
        self._headers = (*_HEADERS, policy, *((_STRICT_TRANSPORT,) if settings.secure else ()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and see to its reply."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # the service has no websockets
        started = False
        parts: list[bytes] = []  # of the body

        async def dressed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = {name.lower() for name, _ in message["headers"]}
                more = [header for header in self._headers if header[0] not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            _refuse_repeated(scope)
            self._refuse_other_sites(scope["method"], Headers(scope=scope))
            await self._read(scope, receive, parts)
            await self._app(scope, _again(b"".join(parts), receive), dressed)
        except Exception as error:
            # Passed on, it would be logged whole, and its text could quote the data.
            if not isinstance(error, (Problem, UsageError)):
                log("unexpected", level=logging.ERROR, error=True, route=route_of(scope))
            if not started:
                reply = await _shown(scope, problem_of(error))
                await reply(scope, receive, dressed)
        finally:
            self._buffered -= sum(map(len, parts))

    async def _read(self, scope: Scope, receive: Receive, parts: list[bytes]) -> None:
        """Read the body of a request within the limits, part by part into a list."""
        # It is read before anything else: what reads it later takes an error for a broken body.
        path: str = scope["path"]
        headers = Headers(scope=scope)
        large = path.startswith(self._large) if self._large else False
        limit = self._limits.report_bytes if large else self._limits.body_bytes
        length = headers.get("content-length", "0")
        if not (
            length.isascii() and length.isdigit() and len(length) < 18 and int(length) <= limit
        ):
            raise _too_large(limit)
        seen, more = 0, True
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while more:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    seen += len(parts[-1])
                    self._buffered += len(parts[-1])
                    more = message.get("more_body", False)
                    if seen > limit:
                        raise _too_large(limit)
                    if self._buffered > _MAX_BUFFERED_BYTES:
                        raise Problem("unavailable", "too much is being sent at once", "try again")
        except TimeoutError:
            raise Problem(
                "too_large", f"the body took more than {self._limits.body_seconds} s to come"
            ) from None
        if seen and "json" in headers.get("content-type", "").lower():
            # neither deeper nor longer than any question
            scope[READ] = read_json(b"".join(parts), "the body")

    def _refuse_other_sites(self, method: str, headers: Headers) -> None:
        """Raise if another site's page has a browser make a change."""
        if method in _SAFE or "authorization" in headers:
            return
        signing_in = self._cookie not in headers.get("cookie", "")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if signing_in and origin is None and site is None:
            return  # no browser
        if site not in (None, "same-origin", "none") or not self._own(origin, headers):
            raise Problem(
                "forbidden",
                "the request comes from a page of another site",
                "ask on the service's own pages, or send a token in the header",
            )

    def _own(self, origin: str | None, headers: Headers) -> bool:
        if origin is None:
            return False
        if self._url is not None:
            return origin == self._url
        return urlsplit(origin).netloc == headers.get("host", "")


async def _shown(scope: Scope, problem: Problem) -> Response:
    """Return a problem as a page for a browser, where one can be made now, and else as JSON."""
    try:
        return await reply_to(Request(scope), problem)
    except Exception:
        log("unexpected", level=logging.ERROR, error=True, route=route_of(scope))
        return rendered(problem)


def _refuse_repeated(scope: Scope) -> None:
    """Raise if a header that decides something is repeated."""
    names = [name for name, _ in scope["headers"]]
    for name in _ONCE:
        if names.count(name) > 1:
            title = name.decode().title()
            raise Problem("invalid_request", f"the header {title} is given twice", "send it once")


def _policy(settings: Settings) -> str:
    """Return what a page may load, and where its forms may lead: also on to the login's end."""
    login = ""
    if settings.login is not None:
        parts = urlsplit(settings.login.issuer)
        login = f" {parts.scheme}://{parts.netloc}"
    return (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        f"font-src 'self'; connect-src 'self'; form-action 'self'{login}; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that repeats a body that was read, then passes on what follows."""
    left = [body]

    async def read() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return read


def _too_large(limit: int) -> Problem:
    return Problem(
        "too_large",
        f"the body has more than {limit} bytes, or does not state its length",
        "send less at once",
        {"most_bytes": limit},
    )
