"""The layer around every request: it numbers it, and logs, counts and traces how it ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tacit.noise import random_bytes
from tacit.service.seeing.logs import log
from tacit.service.seeing.metrics import Metrics
from tacit.service.seeing.traces import RequestSpan, Traces

__all__ = ["HEADER", "Observe", "route_of"]

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HEADER = "x-request-id"
"""The header of every reply with the number of its request, as the log has it."""

NO_ROUTE = "(none)"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Observe:
    """An ASGI application around another one.

    The number of a request is drawn here and never taken from the client, so that nobody can plant
    text in the log.  The route is the pattern that the request matched, such as
    ``/v1/releases/{id}``: the address itself, with what a client wrote in it, is not kept.

    Args:
        app: the application inside.
        metrics: those of the process.
        traces: those of the process.
    """

    def __init__(self, app: App, metrics: Metrics, traces: Traces) -> None:
        self._app, self._metrics, self._traces = app, metrics, traces

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = random_bytes(8).hex()
        scope.setdefault("state", {})["request_id"] = number
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (HEADER.encode(), number.encode()),
                ]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "other"
        with self._traces.request(method, _trace_headers(scope)) as span:
            try:
                await self._app(scope, receive, sending)
            except Exception:
                log(
                    "unexpected",
                    level=logging.ERROR,
                    error=True,
                    request=number,
                    route=route_of(scope),
                )
                raise
            finally:
                self._ended(scope, span, method, status, number)

    def _ended(
        self, scope: MutableMapping[str, Any], span: RequestSpan, method: str, status: int, n: str
    ) -> None:
        route = route_of(scope)
        who = getattr(scope.get("state", {}).get("caller"), "name", None)
        log("request", request=n, method=method, route=route, status=status, who=who)
        self._metrics.request(route, method, status)
        span.end(route, status, n)


def route_of(scope: MutableMapping[str, Any]) -> str:
    """Return the pattern of the route that a request matched, or ``(none)``."""
    return getattr(scope.get("route"), "path", None) or NO_ROUTE


def _trace_headers(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """Return the two headers by which a trace goes on, and no other."""
    wanted = {b"traceparent", b"tracestate"}
    return {k.decode(): v.decode("latin-1") for k, v in scope["headers"] if k in wanted}
