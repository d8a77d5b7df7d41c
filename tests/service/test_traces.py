"""Traces, recorded by the SDK of OpenTelemetry: which spans there are, and how long they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tacit.service.telemetry import Traces

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="pip install opentelemetry-sdk")


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Any, ...]]]:
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter.get_finished_spans
    provider.shutdown()


def test_a_request_is_a_span_with_its_route(spans: Any) -> None:
    above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with Traces().request("GET", {"traceparent": above}) as span:
        span.end("/v1/releases/{id}", 200, "r1")
    (one,) = spans()
    assert one.name == "GET /v1/releases/{id}"
    assert dict(one.attributes) == {
        "http.route": "/v1/releases/{id}",
        "http.response.status_code": 200,
        "tacit.request": "r1",
    }
    assert format(one.parent.span_id, "016x") == "b7ad6b7169203331"


def test_an_exception_leaves_no_text_in_a_span(spans: Any) -> None:
    with pytest.raises(ValueError, match="4711"), Traces().request("GET", {}):
        raise ValueError("4711")
    (one,) = spans()
    assert one.events == ()
    assert "4711" not in one.to_json()


def test_a_release_is_as_long_as_from_the_question_to_its_tick(spans: Any) -> None:
    Traces().release("r1", "visits", "done", asked_at=1000.0, visible=1002.0)
    (one,) = spans()
    assert one.end_time - one.start_time == 2_000_000_000
    assert set(one.attributes) == {"tacit.release", "tacit.dataset", "tacit.state"}
