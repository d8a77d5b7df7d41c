"""Logs, metrics and traces of a service."""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import sqlalchemy as sa

from tacit.errors import MissingExtraError, UsageError, need
from tacit.noise import random_bytes
from tacit.service.database import Database, metadata

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# Structured logs: one JSON object per line, with only the fields listed here.
#
# A line has the time, the level, the event, and the fields that :data:`EVENTS` lists for it.
# Nothing else can be written: an event or a field that is not on the list is an error of the
# program, which the tests find.  Fields are public: a request's route (its pattern, not the address
# that was sent), status and number, a data set's name, a release's number.  The text of a question
# is not logged: the audit log and the ledger have it, for those who may read them.  How long an
# engine worked is not logged either, and an event about a release is written when its outcome
# becomes visible to the requester, so that the time of a line reveals no more than the service
# does.
#
# What other libraries log passes :class:`JsonLines` as well, and keeps its logger, its level and
# its position in the program.  Its text is left out, except for the server's own notices, because
# an engine's message may quote a value; of an exception the kinds and the places are written, not
# the text.


# Events, and the fields that each has.
EVENTS: Mapping[str, frozenset[str]] = {
    event: frozenset(fields.split())
    for event, fields in {
        "started": "version processes datasets",
        "stopped": "",
        "request": "request method route status who",
        "unexpected": "request route",
        "audit": "action outcome after hash",
        "release": "release dataset state",
        "refresh": "dataset number way outcome code",
        "dashboard": "dashboard dataset outcome code",
        "schedule": "schedule dataset outcome code",
        "worker": "state",
        "webhook": "outcome attempts",
        "metrics": "outcome code",
    }.items()
}

LOGGER = "tacit.service"
_FIELDS = "tacit_fields"
# Loggers whose messages are about the server's own start and stop.
_LOGGED_WITH_TEXT = ("uvicorn.error",)


def log(event: str, *, level: int = logging.INFO, error: bool = False, **fields: Any) -> None:
    """Write one line.

    >>> import io
    >>> out = io.StringIO()
    >>> _ = configure(out)
    >>> log("request", method="GET", route="/v1/me", status=200)
    >>> line = json.loads(out.getvalue())
    >>> line["event"], line["route"], line["status"]
    ('request', '/v1/me', 200)
    """
    if event not in EVENTS or not EVENTS[event].issuperset(fields):
        raise UsageError(f"the log has no event {event!r} with the fields {sorted(fields)}")
    current = sys.exc_info()[1] if error else None
    if current is not None:
        # Not as exc_info: a handler of someone else would write the text as well.
        fields["error"] = exception_locations(current)
    logger = logging.getLogger(LOGGER)
    if logger.isEnabledFor(level):  # made here: to look for the line that called takes longer
        record = logging.LogRecord(LOGGER, level, __file__, 0, event, (), None, "log")
        setattr(record, _FIELDS, fields)
        logger.handle(record)


class JsonLines(logging.Formatter):
    """Turns a record of :mod:`logging` into one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"when": when, "level": record.levelname.lower()}
        fields = getattr(record, _FIELDS, None)
        if isinstance(fields, dict):
            line |= {"event": record.msg, **fields}
        else:
            line |= {"event": "library", "logger": record.name}
            line["place"] = f"{record.module}:{record.lineno}"
            if record.name in _LOGGED_WITH_TEXT and not record.exc_info:
                line["message"] = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = exception_locations(record.exc_info[1])
        return _LINE.encode(line)


_LINE = json.JSONEncoder(separators=(",", ":"), default=lambda value: type(value).__name__)


def exception_locations(error: BaseException) -> list[str]:
    """Return the kinds of an exception and of its causes, each with where it arose; no text.

    >>> try:
    ...     int("a secret")
    ... except ValueError as error:
    ...     exception_locations(error)[0].startswith("ValueError at ")
    True
    """
    locations: list[str] = []
    current: BaseException | None = error
    while current is not None and len(locations) < 10:
        frames = traceback.extract_tb(current.__traceback__)
        where = " < ".join(
            f"{frame.filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame.lineno}"
            for frame in reversed(frames[-8:])
        )
        locations.append(f"{type(current).__name__} at {where or 'an unknown place'}")
        current = current.__cause__ or current.__context__
    return locations


def configure(stream: TextIO | None = None, level: int = logging.INFO) -> logging.Handler:
    """Send all logs, of Tacit and of the libraries, to one stream as lines of JSON."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    for former in [h for h in root.handlers if isinstance(h.formatter, JsonLines)]:
        root.removeHandler(former)
    root.addHandler(handler)
    logging.getLogger(LOGGER).setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        library = logging.getLogger(name)
        library.handlers, library.propagate = [], name != "uvicorn.access"
    # An access line has the whole address, and a token may be in one.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn").setLevel(level)
    return handler


# Counters of a service, added up over all its processes and machines in the store.
#
# Each process counts in memory and adds what it counted to the store every few seconds, and
# whenever its metrics are asked for.  So whichever process is asked, the counters are those of the
# service: they never go back when another process answers, nor when one is started again.  What a
# process counted since its last entry is lost where it is killed, and stands a few seconds late
# where it lives.  The moments of the entries are those of a clock, whatever was counted.


Key = tuple[str, tuple[str, ...]]

_counts = sa.Table(
    "tally",
    metadata,
    sa.Column("name", sa.String(60), primary_key=True),
    sa.Column("labels", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)


class Counters:
    """Counts by name and labels; threads may share one.

    >>> counters = Counters(None)
    >>> counters.add("refreshes", ("visits",))
    >>> counters.add("refreshes", ("visits",), 2)
    >>> counters.totals()
    {('refreshes', ('visits',)): 3}
    """

    def __init__(self, database: Database | None) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._fresh: Counter[Key] = Counter()

    def add(self, name: str, labels: tuple[str, ...], number: int = 1) -> None:
        with self._lock:
            self._fresh[name, labels] += number

    def note(self) -> None:
        """Add the counts since the last time to the store."""
        if self._database is None:
            return
        with self._lock:
            taken, self._fresh = self._fresh, Counter()
        if not taken:
            return
        try:
            with self._database.begin(lock="counters") as run:
                for (name, labels), number in sorted(taken.items()):
                    _add(run, name, json.dumps(labels), number)
        except BaseException:
            with self._lock:
                self._fresh.update(taken)
            raise

    def totals(self) -> Mapping[Key, int]:
        """Return the counts of the service, including those of this process."""
        if self._database is None:
            with self._lock:
                return dict(self._fresh)
        self.note()
        rows = self._database.rows(sa.select(_counts).order_by(_counts.c.name, _counts.c.labels))
        return {(row.name, tuple(json.loads(row.labels))): row.number for row in rows}


def _add(run: sa.Connection, name: str, labels: str, number: int) -> None:
    own = sa.and_(_counts.c.name == name, _counts.c.labels == labels)
    changed = run.execute(_counts.update().where(own).values(number=_counts.c.number + number))
    if not changed.rowcount:
        run.execute(_counts.insert().values(name=name, labels=labels, number=number))


Sample = tuple[Mapping[str, str], float]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_COUNTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "tacit_requests": ("Requests by route, method and status", ("route", "method", "status")),
    "tacit_outcomes": ("Outcomes of releases, at their ticks", ("dataset", "state")),
    "tacit_late_ticks": ("Ticks by which outcomes were late", ("dataset",)),
    "tacit_refreshes": ("Refreshes", ("dataset",)),
    "tacit_reports": ("Local reports by outcome", ("collection", "outcome")),
}


class Metrics:
    r"""The metrics of a service for Prometheus; no number depends on a row of a data set.

    ======================================  ====================================================
    ``tacit_requests_total``                requests by route, method and status.  Who sent a
                                            request saw its status, and a status that depends on
                                            data is fixed at a tick that is known before
    ``tacit_outcomes_total``                outcomes of releases by data set and state, counted
                                            when they become visible to the requester, at a tick
    ``tacit_late_ticks_total``              ticks by which outcomes were late.  An engine that took
                                            longer than the declared latency is seen by the
                                            requester, too: log-many bits, see
                                            ``docs/service-security.md``
    ``tacit_refreshes_total``               refreshes by data set: by clock or by call
    ``tacit_reports_total``                 local reports by collection and outcome: a report was
                                            made random on the device and is public from there on
    ``tacit_releases``                      releases by data set and state, as requesters see
                                            them now: before its tick an outcome counts as running
    ``tacit_budget``                        the whole budget of each ledger, in epsilon or rho and
                                            delta
    ``tacit_budget_spent``                  what is spent of it, rounded up: a charge is made when
                                            a question is asked or approved, and of public facts
                                            alone
    ``tacit_budget_remaining``              what remains, rounded down
    ``tacit_audit_events``                  events in the audit log
    ``tacit_build_info``                    the version
    ======================================  ====================================================

    What is left out, because it depends on the rows: seconds of an engine, the processor time and
    the memory of the process (the usual collectors of the Prometheus client have both and are not
    registered), sizes of answers, numbers of rows.

    All numbers are those of the whole service: counters are added up in its store, and the others
    are read from it.  So it does not matter which process a balancer sends Prometheus to.

    Args:
        version: that of Tacit.
        database: the store of the service; None counts in this process alone.

    Example:
        >>> metrics = Metrics("0.1")
        >>> metrics.request("/v1/me", "GET", 200)
        >>> metrics.late("visits", 2)
        >>> "tacit_late_ticks_total{dataset=\"visits\"} 2.0" in metrics.text()
        True
    """

    def __init__(self, version: str, database: Database | None = None) -> None:
        client: Any = need("prometheus_client", "serve")
        # A registry of its own: the default one has the time and memory of the process.
        self.registry: CollectorRegistry = client.CollectorRegistry(auto_describe=False)
        self._client, self._core = client, need("prometheus_client.core", "serve")
        self._counters = Counters(database)
        self.registry.register(_Collected(self._totals))
        build = client.Gauge("tacit_build_info", "The version", ["version"], registry=self.registry)
        build.labels(version).set(1)

    def request(self, route: str, method: str, status: int) -> None:
        """Count a request, by the pattern of its route."""
        self._counters.add("tacit_requests", (route, method, str(status)))

    def release(self, dataset: str, state: str) -> None:
        """Count the outcome of a release; called when it becomes visible, at its tick."""
        self._counters.add("tacit_outcomes", (dataset, state))

    def late(self, dataset: str, ticks: int) -> None:
        """Count ticks by which an outcome was late; called at the tick."""
        self._counters.add("tacit_late_ticks", (dataset,), ticks)

    def refreshed(self, dataset: str) -> None:
        self._counters.add("tacit_refreshes", (dataset,))

    def reports(self, collection: str, outcome: str, number: int) -> None:
        """Count local reports of one outcome: ``accepted``, or why they were refused."""
        self._counters.add("tacit_reports", (collection, outcome), number)

    def note(self) -> None:
        """Add the counts of this process to those of the service; called by the scheduler.

        Raises:
            Problem: the store is unavailable; the counts are added the next time.
        """
        self._counters.note()

    def gauge(
        self, name: str, about: str, labels: tuple[str, ...], read: Callable[[], Iterable[Sample]]
    ) -> None:
        """Add a number that is read from the store each time the metrics are collected.

        Args:
            name: of the metric.
            about: its description.
            labels: their names.
            read: returns the labels' values with the number; where it fails the metric is absent.
        """
        self.registry.register(_Collected(lambda: self._gauge(name, about, labels, read)))

    def _totals(self) -> Iterator[Any]:
        """Yield the counters with their current numbers; none if the store is unavailable."""
        try:
            totals = self._counters.totals()
        except Exception:  # a counter read as 0 would look like a restart
            return
        for counter, (about, names) in _COUNTERS.items():
            family = self._core.CounterMetricFamily(counter, about, labels=names)
            for (name, labels), number in totals.items():
                if name == counter:
                    family.add_metric(labels, number)
            yield family

    def _gauge(
        self, name: str, about: str, labels: tuple[str, ...], read: Callable[[], Iterable[Sample]]
    ) -> Iterator[Any]:
        family = self._core.GaugeMetricFamily(name, about, labels=labels)
        try:
            for values, number in read():
                family.add_metric([values[label] for label in labels], number)
        except Exception:  # an unavailable store must not remove the other metrics
            return
        yield family

    def text(self) -> str:
        made: bytes = self._client.generate_latest(self.registry)
        return made.decode()


class _Collected:
    """What the client asks for its metrics each time that they are read."""

    def __init__(self, collect: Callable[[], Iterable[Any]]) -> None:
        self.collect = collect

    def describe(self) -> list[Any]:
        return []  # the contents are known when they are read


# Traces for OpenTelemetry, of which no span is as long as an engine worked.
#
# Two kinds of spans:
#
# - A *request*, from its arrival to the end of its reply.  A reply that waits for a release
#   leaves at a tick, so its span ends on the tick.  The attributes are method, route (the
#   pattern), status and the number of the request.
# - A *release*, from when it was asked to the tick at which its outcome became visible, written at
#   that tick with both times given.  What a worker did in between is not a span.
#
# Without a provider of the OpenTelemetry SDK, which ``opentelemetry-instrument`` or the host's own
# code sets, nothing is recorded.  The automatic instruments for databases (SQLAlchemy, psycopg)
# time each query of an engine: leave them out (``OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=all``).


_NAME = "tacit.service"


class Traces:
    """Makes spans, where a provider for them is set.

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
        tracer = None if self._trace is None else self._trace.get_tracer(_NAME)
        if tracer is None or isinstance(tracer, self._trace.ProxyTracer):  # there is no provider
            yield RequestSpan(None)
            return
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

    def release(
        self, number: str, dataset: str, state: str, asked_at: float, visible: float
    ) -> None:
        """Record the span of a release; called at the tick at which its outcome became visible."""
        if self._trace is None:
            return
        span = self._trace.get_tracer(_NAME).start_span(
            "release",
            start_time=int(asked_at * 1e9),
            attributes={"tacit.release": number, "tacit.dataset": dataset, "tacit.state": state},
        )
        span.end(end_time=int(visible * 1e9))


class RequestSpan:
    def __init__(self, span: Any) -> None:
        self._span = span

    def end(self, route: str, status: int, request: str) -> None:
        """Name the span after its route, and record how the request ended."""
        if self._span is None:
            return
        method = getattr(self._span, "name", "")
        self._span.update_name(f"{method} {route}".strip())
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        self._span.set_attribute("tacit.request", request)


# The layer around every request: it numbers it, and logs, counts and traces how it ended.


Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# The header of every reply with the number of its request, as the log has it.
HEADER = "x-request-id"

NO_ROUTE = "(none)"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Observe:
    """An ASGI application around another one."""

    # The number of a request is drawn here and never taken from the client, so that no one can
    # plant text in the log.  The route is the pattern that the request matched, such as
    # ``/v1/releases/{id}``: the address itself, which a client wrote, is not logged.

    def __init__(self, app: App, metrics: Metrics, traces: Traces) -> None:
        self._app, self._metrics, self._traces = app, metrics, traces

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
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
    """Return the two headers that continue a trace."""
    wanted = {b"traceparent", b"tracestate"}
    return {k.decode(): v.decode("latin-1") for k, v in scope["headers"] if k in wanted}
