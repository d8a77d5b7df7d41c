"""A service in this process, asked over its whole application without a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tacit.client.transport import refusal
from tacit.service.access import Grant
from tacit.service.settings import Settings
from tacit.service.web.server import create_app
from tacit.service.web.state import ServiceState

ADDRESS = "http://127.0.0.1:8000"


class Client:
    """Asks an application that runs, and waits for the reply: ``client.get("/healthz")``."""

    def __init__(
        self, portal: BlockingPortal, client: httpx.AsyncClient, state: ServiceState
    ) -> None:
        self._portal = portal
        self._client = client
        self.state = state

    def request(self, method: str, url: str, *, token: str | None = None, **more: Any) -> Any:
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"

        async def call() -> httpx.Response:
            self._client.cookies.clear()  # a cookie is sent where a test says so
            return await self._client.request(method, url, headers=headers, **more)

        return self._portal.call(call)

    def get(self, url: str, **more: Any) -> Any:
        return self.request("GET", url, **more)

    def post(self, url: str, **more: Any) -> Any:
        return self.request("POST", url, **more)

    def put(self, url: str, **more: Any) -> Any:
        return self.request("PUT", url, **more)

    def delete(self, url: str, **more: Any) -> Any:
        return self.request("DELETE", url, **more)

    def token(self, role: str, dataset: str = "*", name: str = "", team: str | None = None) -> str:
        """A token of an hour; named after the role where no name is given."""
        grants = [Grant(role, dataset)]
        return self.state.tokens.create(name or role, grants, 3600, team=team)[0]


class InProcess:
    """Sends to a service in this process what a client sends over a socket."""

    url = "https://statistics.example"

    def __init__(self, client: Client, token: str) -> None:
        self.client, self.token, self.sent = client, token, list[tuple[str, Any]]()

    def get(self, path: str, **query: Any) -> Any:
        query = {name: value for name, value in query.items() if value is not None}
        return self._read(self.client.get(path, params=query, token=self.token))

    def post(self, path: str, body: Any, key: str | None = None) -> Any:
        self.sent.append((path, json.loads(json.dumps(body, allow_nan=False))))
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._read(self.client.post(path, json=body, token=self.token, headers=headers))

    def delete(self, path: str) -> Any:
        return self._read(self.client.delete(path, token=self.token))

    @staticmethod
    def _read(reply: Any) -> Any:
        if reply.status_code >= 400:
            raise refusal(reply.json()["error"])
        return reply.json()


@contextmanager
def running(given: Path | Settings | ServiceState) -> Iterator[Client]:
    """A service that runs until the end of the block."""
    settings = Settings.load(given) if isinstance(given, Path) else given
    app = create_app(settings)
    with start_blocking_portal() as portal:
        lifespan = app.router.lifespan_context(app)
        with portal.wrap_async_context_manager(lifespan):
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url=ADDRESS)
            with portal.wrap_async_context_manager(client):
                yield Client(portal, client, app.state.tacit)
