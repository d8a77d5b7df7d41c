"""The layer around every request: the same end in the reply, the log, the metrics and the trace."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any

import pytest

from tacit.service.telemetry import HEADER, Metrics, Observe, Traces, configure


class Route:
    path = "/v1/releases/{id}"


async def fine(scope: Any, receive: Any, send: Any) -> None:
    scope["route"] = Route()
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x", b"y")]})
    await send({"type": "http.response.body", "body": b"4711"})


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise ValueError("4711")


def ask(app: Any, metrics: Metrics, **changes: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/releases/4711",
        "query_string": b"token=4711",
        "headers": [(b"x-request-id", b"4711"), (b"authorization", b"Bearer 4711")],
        **changes,
    }
    asyncio.run(Observe(app, metrics, Traces())(scope, receive, send))
    return sent


def test_a_request_is_numbered_logged_and_counted_without_what_the_client_wrote() -> None:
    out, metrics = io.StringIO(), Metrics("1")
    handler = configure(out)
    try:
        sent = ask(fine, metrics)
        odd = ask(fine, metrics, method="4711")
    finally:
        logging.getLogger().removeHandler(handler)
    number = dict(sent[0]["headers"])[HEADER.encode()].decode()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[0]["request"] == number
    assert lines[0]["route"] == "/v1/releases/{id}"
    assert lines[0]["status"] == 201
    assert lines[1]["method"] == "other"
    assert dict(odd[0]["headers"])[HEADER.encode()].decode() != number
    text = metrics.text()
    assert 'method="GET",route="/v1/releases/{id}",status="201"} 1.0' in text
    assert "4711" not in text + out.getvalue()


def test_what_breaks_is_logged_by_kind_and_place_and_passed_on() -> None:
    out, metrics = io.StringIO(), Metrics("1")
    handler = configure(out)
    try:
        with pytest.raises(ValueError, match="4711"):
            ask(broken, metrics)
    finally:
        logging.getLogger().removeHandler(handler)
    assert "4711" not in out.getvalue()
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == [
        "unexpected",
        "request",
    ]
    assert 'route="(none)",status="500"} 1.0' in metrics.text()
