"""Requests to a service, and its refusals."""

from __future__ import annotations

import os
import re
import ssl
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tacit
from tacit.errors import (
    AccessError,
    BudgetError,
    RefusedError,
    ServiceError,
    TacitError,
    UnsupportedQueryError,
    UsageError,
    need,
)
from tacit.outside import MAX_BYTES, is_loopback, read_json

# Where a service is, and with which token it is asked.


TOKEN = "TACIT_TOKEN"  # the environment variable that holds a token
_LONGEST = 4096


def read_address(url: str) -> str:
    """Return the address of a service without a slash at its end, or refuse an unsafe one.

    >>> read_address("https://statistics.example/")
    'https://statistics.example'
    >>> read_address("http://statistics.example")
    Traceback (most recent call last):
    tacit.errors.UsageError: http://statistics.example would send your token unencrypted: ...
    """
    # A token over plain HTTP could be read on the way, so that is for this machine alone.
    example = "such as 'https://statistics.example'"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (ValueError, AttributeError, TypeError):
        raise UsageError(f"the address of a service is text {example}") from None
    if parts.scheme not in ("https", "http") or not host:
        raise UsageError(f"the address of a service starts with https://, {example}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"leave names and passwords out of the address: give a token, {example}")
    if parts.query or parts.fragment:
        raise UsageError(f"the address of a service has no ? and no #, {example}")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(
            f"http://{host} would send your token unencrypted: use https://; http:// is for a "
            "service on this machine, http://127.0.0.1:8000"
        )
    return url.rstrip("/")


def read_token(token: str | None, file: str | os.PathLike[str] | None) -> str:
    """Return the token that is given, in a file, or in the environment variable TACIT_TOKEN.

    >>> read_token("tacit_abc ", None)
    'tacit_abc'
    """
    if token is not None and file is not None:
        raise UsageError("give a token or a file that contains one, not both")
    if file is not None:
        token = _from_file(Path(os.path.expanduser(file)))
    if token is None:
        token = os.environ.get(TOKEN)
    if token is None:
        raise UsageError(
            "give a token: token='...', token_file='...', or the environment variable TACIT_TOKEN; "
            "the operator of the service creates a token with tacit token create"
        )
    token = token.strip()
    if not token or len(token) > _LONGEST or not token.isascii() or not token.isprintable():
        raise UsageError("the token must be one line of letters and digits")
    return token


def _from_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        with path.open(encoding="ascii") as opened:
            text = opened.read(_LONGEST + 2)
    except OSError as error:
        raise UsageError(f"the file of the token cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} contains no token") from None
    if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(
            f"others on this machine can read the file of the token (mode {mode & 0o777:o}): run "
            f"chmod 600 {path}; if someone may have read it, have the token revoked and ask for a "
            "new one"
        )
    return text


# What a service refuses, as the exception that a session would raise.


_WRONG = ("invalid_request", "not_found", "too_large", "gone")
_LATER = ("not_ready", "too_many", "unavailable", "internal")
# The codes after which the same request may be sent again.
LATER = ("not_ready", "too_many", "unavailable")
_POSITION_PREFIX = re.compile(r"line \d+, column \d+: ")


def refusal(error: Mapping[str, Any]) -> TacitError:
    """Return the exception of an error in the one shape that a service sends.

    >>> refusal({"code": "budget_exceeded", "message": "too much", "remedy": "ask for less"})
    BudgetError('too much; ask for less')
    """
    code, details = str(error.get("code")), error.get("details")
    details = details if isinstance(details, Mapping) else {}
    parts = [str(error.get(part) or "").strip() for part in ("message", "remedy")]
    message = "; ".join(part for part in parts if part) or f"the service refused ({code})"
    if code == "unsupported_query":
        return UnsupportedQueryError(_POSITION_PREFIX.sub("", message, count=1), _position(details))
    if code == "budget_exceeded":
        return BudgetError(message)
    if code in ("unauthenticated", "forbidden"):
        return AccessError(message)
    if code in _WRONG:
        return UsageError(message)
    if code in _LATER:
        return ServiceError(message, _seconds(details.get("retry_after")))
    return RefusedError(message)


def _position(details: Mapping[str, Any]) -> tuple[int, int] | None:
    index = details.get("position")
    if not isinstance(index, Mapping):
        return None
    line, column = index.get("line"), index.get("column")
    return (line, column) if isinstance(line, int) and isinstance(column, int) else None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 86_400 else None


# Requests to a service: over TLS, tried again where that can charge nothing twice.


_TRIES = 4
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 10.0
_CONNECT, _READ = 10.0, 90.0


class Transport:
    """Asks a service, with a token that nothing here shows."""

    # token_file: a file that holds the token instead.

    def __init__(
        self,
        url: str,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self.url = read_address(url)
        headers = {
            "Authorization": f"Bearer {read_token(token, token_file)}",
            "User-Agent": f"tacit/{tacit.__version__}",
        }
        httpx = need("httpx", "client")
        host = httpx.URL(self.url).host
        self._failed: type[Exception] = httpx.TransportError
        self._client = httpx.Client(
            base_url=self.url,
            headers=headers,
            verify=_trusted(ca_file),
            timeout=httpx.Timeout(_READ, connect=_CONNECT),
            trust_env=not is_loopback(host),  # a proxy in between cannot reach this machine
            follow_redirects=False,
        )

    def get(self, path: str, **query: Any) -> Any:
        """Return what a route says, as plain JSON values."""
        given = {name: value for name, value in query.items() if value is not None}
        return self._request("GET", path, {"params": given})

    def post(self, path: str, body: Any, key: str | None = None) -> Any:
        """Send a body, and return what the route says."""
        # key: an idempotency key, by which the service knows a request that it had already.
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._request("POST", path, {"json": body, "headers": headers})

    def delete(self, path: str) -> Any:
        """Delete something, and return what the route says."""
        return self._request("DELETE", path, {})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
        pause = _FIRST_PAUSE
        for left in reversed(range(_TRIES)):
            try:
                status, data = self._sent(method, path, given)
                return self._read(status, data)
            except self._failed as error:
                # by its kind alone: the text of such an error may quote what was sent
                failed = ServiceError(
                    f"{self.url} does not answer ({type(error).__name__}): ask again; the same "
                    "question is not charged twice"
                )
            except _LaterError as later:
                failed = later.error
            if not left:
                raise failed from None
            time.sleep(min(failed.retry_after or pause, _LONGEST_PAUSE))
            pause *= 2
        raise AssertionError("a request is tried at least once")

    def _sent(self, method: str, path: str, given: Mapping[str, Any]) -> tuple[int, bytes]:
        with self._client.stream(method, path, **given) as reply:
            chunks, size = [], 0
            for part in reply.iter_bytes():
                size += len(part)
                if size > MAX_BYTES:
                    raise UsageError(f"{self.url} sent more than {MAX_BYTES} bytes")
                chunks.append(part)
            return reply.status_code, b"".join(chunks)

    def _read(self, status: int, data: bytes) -> Any:
        try:
            body = read_json(data, "the reply") if data else {}
        except UsageError:
            body = None
        if 200 <= status < 300 and body is not None:
            return body
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(error, dict):
            made = ServiceError(
                f"{self.url} answered with status {status}, and not like a service of Tacit: is "
                "it the right address?"
            )
            raise _LaterError(made) if status in (502, 503, 504) else made
        refused = refusal(error)
        if isinstance(refused, ServiceError) and error.get("code") in LATER:
            raise _LaterError(refused)
        raise refused


class _LaterError(Exception):
    """The same request may be sent again."""

    def __init__(self, error: ServiceError) -> None:
        super().__init__()
        self.error = error


def _trusted(ca_file: str | os.PathLike[str] | None) -> ssl.SSLContext:
    """Return whose certificates are trusted: those of the system, and of a file."""
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=os.path.expanduser(ca_file))
        except (OSError, ssl.SSLError) as error:
            reason = "no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            raise UsageError(f"{os.fspath(ca_file)} cannot be trusted: {reason}") from None
    return context
