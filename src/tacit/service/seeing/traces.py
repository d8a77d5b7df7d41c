"""Traces for OpenTelemetry, of which no span is as long as an engine worked.

Two kinds of spans:

- A *request*, from its arrival to the end of its reply.  A reply that waits for a release leaves at
  a tick, so its span ends on the tick.  The attributes are method, route (the pattern), status and
  the number of the request.
- A *release*, from when it was asked to the tick at which its outcome became visible, written at
  that tick with both times given.  What a worker did in between is no span.

Without a provider of the OpenTelemetry SDK, which ``opentelemetry-instrument`` or the host's own
code sets, nothing is recorded.  The automatic instruments for databases (SQLAlchemy, psycopg) time
each query of an engine: leave them out (``OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=all``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tacit.errors import MissingExtraError, need

__all__ = ["Traces"]

_NAME = "tacit.service"


class Traces:
    """Makes spans, where a provider for them is set.

    Example:
        >>> with Traces().request("GET", {}) as span:
        ...     span.end("/v1/me", 200, "r1")
    """

    def __init__(self) -> None:
        try:
            self._trace: Any = need("opentelemetry.trace", "serve")
            self._propagate: Any = need("opentelemetry.propagate", "serve")
        except MissingExtraError:
            self._trace = None

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """Open the span of a request, below the one that its headers name."""
        if self._trace is None:
            yield RequestSpan(None)
            return
        tracer = self._trace.get_tracer(_NAME)
        above = self._propagate.extract(headers)
        # No exception is recorded: its text may quote what must not leave.
        with tracer.start_as_current_span(
            method,
            context=above,
            kind=self._trace.SpanKind.SERVER,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield RequestSpan(span)

    def release(self, number: str, dataset: str, state: str, asked: float, visible: float) -> None:
        """Record the span of a release; called at the tick at which its outcome became visible.

        Args:
            number: of the release.
            dataset: its name.
            state: as the API says it.
            asked: seconds since 1970 at which it was asked.
            visible: those of its tick.
        """
        if self._trace is None:
            return
        span = self._trace.get_tracer(_NAME).start_span(
            "release",
            start_time=int(asked * 1e9),
            attributes={
                "tacit.release": number,
                "tacit.dataset": dataset,
                "tacit.state": state,
            },
        )
        span.end(end_time=int(visible * 1e9))


class RequestSpan:
    """The span of one request."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def end(self, route: str, status: int, request: str) -> None:
        """Name the span after its route, and say how the request ended."""
        if self._span is None:
            return
        method = getattr(self._span, "name", "")
        self._span.update_name(f"{method} {route}".strip())
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        self._span.set_attribute("tacit.request", request)
