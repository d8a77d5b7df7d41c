"""The application, its description, and the server that runs it."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

import tacit
from tacit.errors import UsageError
from tacit.outside import is_loopback
from tacit.service.problem import Problem
from tacit.service.settings import Settings
from tacit.service.telemetry import Observe, configure
from tacit.service.web.guard import Guard
from tacit.service.web.page_routes import datasets as dataset_pages
from tacit.service.web.page_routes import declare as declare_pages
from tacit.service.web.page_routes import entry as entry_pages
from tacit.service.web.page_routes import live as live_pages
from tacit.service.web.page_routes import releases as release_pages
from tacit.service.web.page_routes import schedules as schedule_pages
from tacit.service.web.problems import handle_problems, rendered
from tacit.service.web.routes import (
    access,
    collections,
    dashboards,
    datasets,
    declarations,
    feed,
    operation,
    releases,
    saved,
    schedules,
)
from tacit.service.web.routing import (
    RequestThreads,
    caller_of,
    cookie_name,
    declared_right,
    signed_in,
)
from tacit.service.web.state import ServiceState

if TYPE_CHECKING:
    from tacit.service.wire.server import WireServer

# The description of the API: what the framework writes, with what it cannot know.
#
# - Routes that declare ``anyone`` are described as open; the framework sees their optional token.
# - A requested release links to its operations, by its number.
# - Questions and dashboards have an example.


_RELEASE = {"release": "$response.body#/id"}
_OF_A_RELEASE = {
    "look": ("get", "/v1/releases/{release}", _RELEASE),
    "answer": ("get", "/v1/releases/{release}/answer", _RELEASE),
    "certificate": ("get", "/v1/releases/{release}/certificate", _RELEASE),
    "cancel": ("post", "/v1/releases/{release}/cancel", _RELEASE),
    "approve": ("post", "/v1/releases/{release}/approve", _RELEASE),
    "refuse": ("post", "/v1/releases/{release}/refuse", _RELEASE),
}
_LINKS = {
    "post /v1/datasets/{name}/releases": _OF_A_RELEASE,
    "post /v1/datasets/{name}/plans": _OF_A_RELEASE,
    "post /v1/datasets/{name}/dashboards": {
        "look": ("get", "/v1/dashboards/{id}", {"id": "$response.body#/id"}),
        "withdraw": ("delete", "/v1/dashboards/{id}", {"id": "$response.body#/id"}),
    },
    "post /v1/datasets/{name}/schedules": {
        "look": ("get", "/v1/schedules/{id}", {"id": "$response.body#/id"}),
        "cancel": ("delete", "/v1/schedules/{id}", {"id": "$response.body#/id"}),
    },
}
_COUNT = {"sql": "select count(*) as n from visits", "epsilon": "1/10"}
_PLAN = {
    "questions": [
        {"sql": "select count(*) as n from visits"},
        {"sql": "select site, count(*) as by_site from visits group by site"},
    ],
    "epsilon": "1/10",
}
_DAILY = {
    "column": "arrived",
    "start": "2026-01-01",
    "every": "1d",
    "periods": 365,
    "epsilon": "1/2",
}
_MONTHLY = {
    "request": {**_COUNT, "tag": "beds"},
    "start": "2126-01-01",
    "every": "1mo",
    "times": 12,
}
# The bodies of requests, each as someone would send it.
_EXAMPLES = {
    "/v1/datasets/{name}/preview": _COUNT,
    "/v1/datasets/{name}/releases": _COUNT,
    "/v1/datasets/{name}/plans/preview": _PLAN,
    "/v1/datasets/{name}/plans": _PLAN,
    "/v1/datasets/{name}/dashboards/preview": _DAILY,
    "/v1/datasets/{name}/dashboards": _DAILY,
    "/v1/datasets/{name}/schedules/preview": _MONTHLY,
    "/v1/datasets/{name}/schedules": _MONTHLY,
}


def describe(app: FastAPI) -> None:
    """Have an application serve the completed description."""
    made = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            for route in app.state.every_route:
                if isinstance(route, APIRoute) and route.include_in_schema and _open(route):
                    for method in route.methods or ():
                        schema["paths"][route.path][method.lower()].pop("security", None)
            order = dict.fromkeys(route.path for route in app.state.every_route)
            schema["paths"] = {n: schema["paths"][n] for n in order if n in schema["paths"]}
            _link(schema["paths"])
            for path in _EXAMPLES.keys() & schema["paths"].keys():
                body = schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]
                body["examples"] = {"one": {"value": _EXAMPLES[path]}}
        return app.openapi_schema or {}

    app.openapi = completed  # type: ignore[method-assign]


def _open(route: APIRoute) -> bool:
    rights = {declared_right(one.call) for one in route.dependant.dependencies}
    return "anyone" in rights


def _link(paths: dict[str, Any]) -> None:
    for name, links in _LINKS.items():
        method, path = name.split(" ")
        replies = paths.get(path, {}).get(method, {}).get("responses", {})
        for status in [s for s in replies if s.startswith("2")]:
            replies[status]["links"] = {
                word: {"operationId": paths[to][how]["operationId"], "parameters": given}
                for word, (how, to, given) in links.items()
            }


# The application: its routes, its guard and its errors, over one state.


# Every router of the service, in the order of the documentation.
ROUTERS: tuple[APIRouter, ...] = (
    operation.health_router,
    access.router,
    access.tokens_router,
    access.sign_in_router,
    datasets.router,
    declarations.router,
    releases.router,
    feed.router,
    saved.router,
    datasets.refresh_router,
    collections.router,
    dashboards.router,
    schedules.router,
    operation.router,
    entry_pages.router,
    dataset_pages.router,
    release_pages.router,
    declare_pages.router,
    live_pages.router,
    schedule_pages.router,
)
# What is asked most: the framework tries one route after the other.
_OFTEN = ("/v1/datasets/{name}/preview", "/v1/datasets/{name}/releases", "/v1/releases/{release}")
# The beginnings of paths that take the reports of many devices at once.
LARGE = ("/v1/collections/",)


def create_app(
    given: Settings | ServiceState, tls: tuple[str, str] | None = None, *, shared: bool = False
) -> FastAPI:
    """Return the application; with ``shared`` its wire listens at one port with others."""
    state = given if isinstance(given, ServiceState) else ServiceState(given)
    wire = _wire(state, tls)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[dict[str, int]]:
        await asyncio.to_thread(state.start)
        try:
            if wire is not None:
                await wire.start(shared=shared)
                app.state.wire = wire
            yield {"header_seconds": state.settings.limits.header_seconds}
        finally:
            if wire is not None:
                await wire.stop()
            app.state.threads.close()
            await asyncio.to_thread(state.close)

    app = FastAPI(
        title=state.settings.title,
        version=tacit.__version__,
        description="Statistics of sensitive tables, with differential privacy.",
        lifespan=running,
        docs_url=None,  # their page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # its redirects follow the header Host
    )
    app.state.tacit, app.state.threads = state, RequestThreads()
    app.state.every_route = [route for router in ROUTERS for route in router.routes]
    handle_problems(app, signed_in)
    # as they are: to include a router is to build each of its routes again
    app.router.routes.extend(sorted(app.state.every_route, key=_often, reverse=True))
    describe(app)
    app.add_middleware(
        Guard, settings=state.settings, cookie=cookie_name(state.settings.secure), large=LARGE
    )
    app.add_middleware(Observe, metrics=state.metrics, traces=state.traces)
    return app


def _often(route: BaseRoute) -> bool:
    return getattr(route, "path", None) in _OFTEN


def _wire(state: ServiceState, tls: tuple[str, str] | None) -> WireServer | None:
    """Return the wire of a service, where its settings have one."""
    if state.settings.wire is None:
        return None
    from tacit.service.wire.queries import Parts
    from tacit.service.wire.server import WireServer

    parts = Parts(
        state.datasets,
        state.release_service,
        partial(caller_of, state),
        state.tokens.still,
        state.note_denial,
        state.clock,
    )
    certificate, key = tls or (None, None)
    return WireServer(parts, state.settings.wire, state.settings.limits, certificate, key)


# The server that runs the application: one process or many, with TLS of its own or behind a proxy.
#
# Each process of many opens the folder again; what they share is in the database and the
# ledgers.


_FOLDER, _TLS = "TACIT_SERVICE_FOLDER", "TACIT_SERVICE_TLS"
_HEAD_BYTES = 16_384
_IDLE_SECONDS = 15
_SEND_SECONDS = 60.0  # until a reader took what was sent
_LENGTHS = {b"content-length", b"transfer-encoding"}


_BUSY = Problem(
    "unavailable", "the service has its maximum number of connections", "try again in a moment"
)
_TWO_LENGTHS = Problem(
    "invalid_request",
    "the request states the length of its body in two ways",
    "send Content-Length or Transfer-Encoding, and not both",
)
_NO_HTTP = Problem("invalid_request", "what was sent is not a request of HTTP/1.1")


@dataclass(frozen=True)
class ServerOptions:
    """Address, TLS files and processes of the server."""

    host: str = "127.0.0.1"  # the address; ``127.0.0.1`` is this machine alone
    port: int = 8000
    # the file of the TLS certificate, with ``key``, where the server has one itself
    certificate: str | None = None
    key: str | None = None  # the file of its key
    processes: int = 1  # how many serve together

    @property
    def address(self) -> str:
        """The address for a browser on this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    def refuse_plain(self, settings: Settings) -> None:
        """Raise if tokens would cross a network in plain text."""
        if not (is_loopback(self.host) or self.certificate or settings.secure):
            raise UsageError(
                f"at {self.host} tokens and answers would cross the network in plain text: put a "
                "proxy with TLS in front and set url = 'https://...' in service.toml, or give "
                "--tls-certificate and --tls-key"
            )

    def refuse_taken(self, settings: Settings | None = None) -> None:
        """Raise if it cannot listen at its address, or at that of its settings' wire."""
        _refuse_taken(self.host, self.port, "--port or --host")
        wire = None if settings is None else settings.wire
        if wire is not None:
            _refuse_taken(wire.host, wire.port, "port of [wire] in service.toml")


def _refuse_taken(host: str, port: int, where: str) -> None:
    """Raise if an address cannot be listened at; its port is free again afterwards."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        if os.name == "posix":  # what ended just now does not count, as for the server itself
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"the service cannot listen at {host}, port {port}: {error.strerror}; choose "
                f"another: {where}"
            ) from None


class _BoundedServer(H11Protocol):
    """HTTP with a timeout for the head of a request, and a limit on connections."""

    # What the server itself refuses in plain text is refused in the shape of all errors.  A request
    # whose length is given in two ways ends its connection (RFC 9112, section 6.1): a proxy in
    # front could take the rest of its body for the request of someone else.

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._max_connections, self.limit_concurrency = self.limit_concurrency, None
        self._within, self.app = self.app, self._bounded

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it: too many connections, or two lengths."""
        lengths = {name for name, _ in scope["headers"]} & _LENGTHS
        if self._max_connections is not None and len(self.connections) > self._max_connections:
            await rendered(_BUSY, Connection="close")(scope, receive, send)
        elif len(lengths) > 1:
            await rendered(_TWO_LENGTHS, Connection="close")(scope, receive, send)
        else:
            await self._within(scope, receive, send)

    def send_400_response(self, msg: str) -> None:
        """ReplyModel 400 to what is not HTTP; a reply that has started ends there."""
        reply = rendered(_NO_HTTP, Connection="close")
        with suppress(h11.LocalProtocolError):
            head = h11.Response(status_code=400, headers=reply.raw_headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=bytes(reply.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio sets this but where it does not know that a socket is TCP, as that of several
        # processes: a reply, which is written in parts, would wait for the client's delayed ACK.
        if (connection := transport.get_extra_info("socket")) is not None:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting: asyncio.TimerHandle | None = None
        self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(_SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.cancel()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()  # a part of a head: the clock that started continues
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
    certificate, _, key = os.environ.get(_TLS, "").partition(os.pathsep)
    tls = (certificate, key) if certificate else None
    app = create_app(Settings.load(os.environ[_FOLDER]), tls, shared=True)
    _keep_imported()
    return app


def _end_with_parent() -> None:
    """Stop this process when the one that started it is gone, also where that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def run(given: Settings | ServiceState, server: ServerOptions) -> None:
    """Serve until the process is stopped."""
    settings = given.settings if isinstance(given, ServiceState) else given
    server.refuse_plain(settings)
    options = _options(settings, server)
    configure()
    tls = None if server.certificate is None else (server.certificate, server.key or "")
    if server.processes == 1:
        app = create_app(given, tls)
        _keep_imported()
        uvicorn.run(app, **options)
        return
    # What cannot be opened is reported once, and not by every process.
    (given if isinstance(given, ServiceState) else ServiceState(given)).close()
    os.environ[_FOLDER] = str(Path(settings.folder).resolve())
    if tls is not None:
        os.environ[_TLS] = os.pathsep.join(str(Path(one).resolve()) for one in tls)
    uvicorn.run(
        "tacit.service.web.server:application", factory=True, workers=server.processes, **options
    )


def _keep_imported() -> None:
    """Spare the garbage collector what was imported: it stays as long as the process."""
    gc.freeze()
    gc.enable()  # the command disables it while it imports


def _options(settings: Settings, server: ServerOptions) -> dict[str, Any]:
    return {
        "host": server.host,
        "port": server.port,
        "http": _BoundedServer,
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
        "ssl_certfile": server.certificate,
        "ssl_keyfile": server.key,
    }
