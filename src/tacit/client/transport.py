"""Requests to a service: over TLS, tried again where that can charge nothing twice."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Mapping
from typing import Any

import tacit
from tacit.client.address import is_loopback, read_address, read_token
from tacit.client.refusal import LATER, refusal
from tacit.errors import ServiceError, UsageError, need
from tacit.outside import MOST_BYTES, read_json

__all__ = ["Transport"]

_TRIES = 4
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 10.0
_CONNECT, _READ = 10.0, 90.0


class Transport:
    """Asks a service, with a token that nothing here shows.

    Args:
        url: of the service.
        token: who asks.
        token_file: a file that holds the token instead.
        ca_file: a file of certificates that are trusted besides, of an authority of one's own.

    Raises:
        UsageError: an unsafe address, no token, or a file that cannot be read.
        MissingExtraError: httpx is not installed.
    """

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
        return self._asked("GET", path, {"params": given})

    def post(self, path: str, body: Any, key: str | None = None) -> Any:
        """Send a body, and return what the route says.

        Args:
            path: of the route.
            body: plain JSON values.
            key: an idempotency key, by which the service knows a request that it had already.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._asked("POST", path, {"json": body, "headers": headers})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _asked(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
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
            found, size = [], 0
            for part in reply.iter_bytes():
                size += len(part)
                if size > MOST_BYTES:
                    raise UsageError(f"{self.url} sent more than {MOST_BYTES} bytes")
                found.append(part)
            return reply.status_code, b"".join(found)

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
        found = refusal(error)
        if isinstance(found, ServiceError) and error.get("code") in LATER:
            raise _LaterError(found)
        raise found


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
            told = "no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            raise UsageError(f"{os.fspath(ca_file)} cannot be trusted: {told}") from None
    return context
