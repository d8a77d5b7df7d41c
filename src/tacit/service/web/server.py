"""The server that runs the application: one process or many, with TLS of its own or behind a proxy.

Each process of many opens the folder anew; what they share stands in the database and the ledgers.
"""

from __future__ import annotations

import asyncio
import ipaddress
import multiprocessing
import os
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.errors import UsageError
from tacit.service.problem import Problem
from tacit.service.seeing.logs import configure
from tacit.service.settings import Settings
from tacit.service.web.app import create_app
from tacit.service.web.problems import rendered
from tacit.service.web.state import State

__all__ = ["Place", "application", "loopback", "run"]

_FOLDER = "TACIT_SERVICE_FOLDER"
_HEAD_BYTES = 16_384
_IDLE_SECONDS = 15
_LENGTHS = {b"content-length", b"transfer-encoding"}


_BUSY = Problem(
    "unavailable", "the service has as many connections as it may have", "try again in a moment"
)
_TWO_LENGTHS = Problem(
    "invalid_request",
    "the request says in two ways how long its body is",
    "send Content-Length or Transfer-Encoding, and not both",
)
_NO_HTTP = Problem("invalid_request", "what was sent is not a request of HTTP/1.1")


@dataclass(frozen=True)
class Place:
    """Where the server listens.

    Attributes:
        host: the address; ``127.0.0.1`` is this machine alone.
        port: the port.
        certificate: the file of the TLS certificate, with ``key``, where the server has one itself.
        key: the file of its key.
        processes: how many serve together.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    key: str | None = None
    processes: int = 1

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    def refuse_plain(self, settings: Settings) -> None:
        """Refuse to carry tokens over a network in plain text.

        Raises:
            UsageError: others can reach the address, and nothing says that there is TLS.
        """
        if not (loopback(self.host) or self.certificate or settings.secure):
            raise UsageError(
                f"at {self.host} tokens and answers would cross the network in plain text: put a "
                "proxy with TLS in front and say url = 'https://...' in service.toml, or give "
                "--tls-certificate and --tls-key"
            )


def loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> loopback("127.0.0.1"), loopback("::1"), loopback("localhost"), loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _PatientServer(H11Protocol):
    """HTTP, with an end to the wait for the head of a request, and to how many come at once.

    What the server itself refuses in plain text is refused in the shape of all errors.  A request
    whose length is said in two ways ends its connection (RFC 9112, section 6.1): a proxy in front
    could take the rest of its body for the request of somebody else.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._within, self.app = self.app, self._bounded

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it: too many connections, or two lengths."""
        lengths = {name for name, _ in scope["headers"]} & _LENGTHS
        if self._most is not None and len(self.connections) > self._most:
            await rendered(_BUSY, Connection="close")(scope, receive, send)
        elif len(lengths) > 1:
            await rendered(_TWO_LENGTHS, Connection="close")(scope, receive, send)
        else:
            await self._within(scope, receive, send)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; where a reply is under way it ends there."""
        reply = rendered(_NO_HTTP, Connection="close")
        with suppress(h11.LocalProtocolError):
            head = h11.Response(status_code=400, headers=reply.raw_headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=bytes(reply.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting: asyncio.TimerHandle | None = None
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()  # a part of a head: the clock that started goes on
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            seconds = self.app_state["header_seconds"]
            self._waiting = self.loop.call_later(seconds, self.transport.close)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def application() -> FastAPI:
    """Return the application of the folder that the environment names: one process of several."""
    configure()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return create_app(Settings.load(os.environ[_FOLDER]))


def _end_with_parent() -> None:
    """Stop this process when the one that started it is gone, also where that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def run(given: Settings | State, place: Place) -> None:
    """Serve until the process is told to stop.

    Raises:
        UsageError: a part of the service cannot be opened.
    """
    settings = given.settings if isinstance(given, State) else given
    place.refuse_plain(settings)
    options = _options(settings, place)
    configure()
    if place.processes == 1:
        uvicorn.run(create_app(given), **options)
        return
    # What cannot be opened is said once, and not by every process.
    (given if isinstance(given, State) else State.open(given)).close()
    os.environ[_FOLDER] = str(Path(settings.folder).resolve())
    uvicorn.run(
        "tacit.service.web.server:application",
        factory=True,
        workers=place.processes,
        **options,
    )


def _options(settings: Settings, place: Place) -> dict[str, Any]:
    return {
        "host": place.host,
        "port": place.port,
        "http": _PatientServer,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": True,
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": list(settings.trusted_proxies),
        "limit_concurrency": settings.limits.connections,
        "h11_max_incomplete_event_size": _HEAD_BYTES,
        "timeout_keep_alive": _IDLE_SECONDS,
        "timeout_graceful_shutdown": 30,
        "timeout_worker_healthcheck": 60,  # a process that imports on a busy machine is not dead
        "ssl_certfile": place.certificate,
        "ssl_keyfile": place.key,
    }
