"""The structured log: listed events with listed fields, and no text of an exception."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from support.service.client import Client, running
from support.service.clinic import FAST, SECRET_COST, SECRET_NAMES, write_clinic
from support.threads import at_once
from tacit import local
from tacit.errors import UsageError
from tacit.service.database import Database
from tacit.service.problem import Problem
from tacit.service.telemetry import (
    HEADER,
    Counters,
    JsonLines,
    Metrics,
    Observe,
    Traces,
    configure,
    log,
)
from tacit.tables.release.release import PlanRunner


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    out = io.StringIO()
    handler = configure(out)
    yield out
    logging.getLogger().removeHandler(handler)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.disabled, logger.propagate = False, True


def test_a_line_is_json_and_holds_its_fields(written: io.StringIO) -> None:
    log("release", release="r1", dataset="visits\nforged: line", state="done")
    (line,) = written.getvalue().splitlines()
    assert json.loads(line)["dataset"] == "visits\nforged: line"


@pytest.mark.parametrize("fields", [{"answer": 5}, {"release": "r", "seconds": 1.5}])
def test_what_is_not_listed_is_not_logged(written: io.StringIO, fields: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        log("release", **fields)
    with pytest.raises(UsageError):
        log("answer")
    assert written.getvalue() == ""


def test_of_an_exception_only_kinds_and_places_are_logged(written: io.StringIO) -> None:
    try:
        try:
            int("4711 of the patient")
        except ValueError as error:
            raise RuntimeError("Conversion Error: 4711 of the patient") from error
    except RuntimeError:
        log("unexpected", level=logging.ERROR, error=True, request="r", route="/v1/me")
    text = written.getvalue()
    assert "4711" not in text
    assert [e.split()[0] for e in json.loads(text)["error"]] == ["RuntimeError", "ValueError"]
    assert "test_telemetry.py:" in text


def test_what_libraries_say_is_left_out(written: io.StringIO) -> None:
    logging.getLogger("some.driver").warning("row %s", "4711")
    logging.getLogger("some.driver").warning("row 4711")
    try:
        int("4711 of the patient")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("in the application: 4711")
    logging.getLogger("uvicorn.access").info("GET /?token=4711")
    text = written.getvalue()
    assert "4711" not in text
    assert len(text.splitlines()) == 3


def test_the_server_may_say_that_it_started(written: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").info("Application startup complete.")
    assert json.loads(written.getvalue())["message"] == "Application startup complete."


def test_a_second_configuration_takes_the_place_of_the_first(written: io.StringIO) -> None:
    again = io.StringIO()
    configure(again)
    log("stopped")
    assert written.getvalue() == ""
    assert len(again.getvalue().splitlines()) == 1
    handlers = logging.getLogger().handlers
    for handler in [h for h in handlers if isinstance(h.formatter, JsonLines)]:
        logging.getLogger().removeHandler(handler)


# Everything that a service writes while it is used is searched for what must stand nowhere.


PLANTED = "planted-secret-4711"
COLLECTION = """
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
"""
VALUES = (*SECRET_NAMES, str(SECRET_COST))


@pytest.fixture
def nothing_leaks_log() -> Iterator[io.StringIO]:
    out = io.StringIO()
    configure(out, logging.DEBUG)
    yield out
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h.formatter, JsonLines)]:
        root.removeHandler(handler)
    logging.getLogger("uvicorn.access").disabled = False


def use(client: Client, replies: list[str]) -> list[str]:
    """Use all of it, rightly and wrongly; return the secrets that were in use."""
    tokens = {role: client.token(role, name=f"{role} one") for role in ROLES}

    def call(method: str, path: str, role: str | None = None, **more: Any) -> Any:
        reply = client.request(method, path, token=None if role is None else tokens[role], **more)
        replies.append(f"{reply.status_code} {reply.headers} {reply.text}")
        return reply

    sql = "select site, sum(cost) as s, count(*) as n from visits group by site"
    good = {"sql": sql, "epsilon": "1/2"}
    call("GET", "/openapi.json")
    call("GET", f"/v1/me?token={PLANTED}", headers={"Authorization": f"Bearer {PLANTED}"})
    call("GET", "/v1/me", headers={"Authorization": f"Basic {PLANTED}", "Cookie": f"a={PLANTED}"})
    call("GET", f"/v1/nothere/{PLANTED}", "curator")
    for role in ROLES:
        call("GET", "/v1/me", role)
        call("GET", "/v1/datasets/visits", role)
        call("POST", "/v1/datasets/visits/preview", role, json=good)
    call("POST", "/v1/datasets/visits/preview", "analyst", content=PLANTED.encode())
    call("POST", "/v1/datasets/visits/releases", "analyst", json={"sql": f"select {PLANTED}"})
    made = call("POST", "/v1/datasets/visits/releases", "analyst", json=good).json()
    dear = {**good, "epsilon": 1000}
    call("POST", "/v1/datasets/visits/releases", "analyst", json=dear)
    where = f"/v1/releases/{made['id']}"
    call("GET", f"{where}?wait=5", "analyst")
    for end in ("/answer", "/answer?format=csv", "/certificate"):
        call("GET", where + end, "analyst")
    call("POST", "/v1/datasets/visits/refresh", "curator")
    oracle = client.state.collections["colour"].oracle
    report = local.Wire(oracle).encode(oracle.perturb("red"))
    binary = {"content-type": "application/octet-stream"}
    for sent in (report, report, PLANTED.encode()):
        call("POST", "/v1/collections/colour/reports", "device", content=sent, headers=binary)
    call("GET", "/v1/collections/colour/estimate", "analyst")
    call("GET", "/v1/audit", "auditor")
    call("GET", "/metrics", "auditor")
    return [*tokens.values(), PLANTED]


ROLES = ("curator", "analyst", "reviewer", "auditor", "device")


def everywhere(folder: Path) -> dict[str, str]:
    """What the service wrote to disk: its store, ledgers and all else but the table and its key."""
    own = {"visits.csv", "visits.toml", "service.toml", "service.key"}
    files = [p for p in folder.rglob("*") if p.is_file() and p.name not in own]
    assert {p.suffix for p in files} >= {".db"}
    return {p.name: p.read_bytes().decode("latin-1") for p in files}


def test_no_secret_and_no_value_stands_in_what_is_written(
    tmp_path: Path, nothing_leaks_log: Any
) -> None:
    folder, replies = write_clinic(tmp_path, FAST + COLLECTION), []
    with running(folder) as client:
        secrets = use(client, replies)
        texts = {"log": nothing_leaks_log.getvalue(), "metrics": client.state.metrics.text()}
        texts["audit"] = json.dumps([e.to_json() for e in client.state.audit.read(limit=1000)])
    texts |= everywhere(folder)
    for place, text in texts.items():
        for secret in (*secrets, *VALUES):
            # The text of a question is public: a ledger and a job hold it, and the log does not.
            assert secret not in text or (secret == PLANTED and place == "service.db"), place
    assert [json.loads(line)["when"] for line in texts["log"].splitlines()]
    for reply in replies:
        for secret in (*secrets[:-1], *VALUES, str(folder)):
            assert secret not in reply, reply
    assert "unexpected" not in texts["log"]


@pytest.mark.full
def test_an_engine_that_fails_with_a_value_in_its_message_tells_it_to_nobody(
    tmp_path: Path, nothing_leaks_log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"Conversion Error: {SECRET_NAMES[0]} {SECRET_COST}")

    folder, replies = write_clinic(tmp_path), []
    monkeypatch.setattr(PlanRunner, "collect", fails, raising=True)
    with running(folder) as client:
        analyst = client.token("analyst")
        body = {"sql": "select sum(cost) as s from visits", "epsilon": "1/2"}
        made = client.post("/v1/datasets/visits/releases", json=body, token=analyst)
        shown = client.get(f"/v1/releases/{made.json()['id']}?wait=20", token=analyst)
        replies += [made.text, shown.text]
        assert shown.json()["state"] == "failed"
        audit = json.dumps([e.to_json() for e in client.state.audit.read(limit=1000)])
    texts = {
        **everywhere(folder),
        "log": nothing_leaks_log.getvalue(),
        "audit": audit,
        "replies": str(replies),
    }
    for place, text in texts.items():
        for value in VALUES:
            assert value not in text, place


# The layer around every request: the same end in the reply, the log, the metrics and the trace.


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


# Counters that are added up over processes.


@pytest.fixture
def store(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path}/service.db"
    database = Database(address)
    database.create()
    database.close()
    return address


def test_any_process_tells_the_counts_of_all_and_they_never_go_back(store: str) -> None:
    one, other = Counters(Database(store)), Counters(Database(store))
    key, seen = ("n", ("visits", "done")), []
    for k in range(4):
        (one, other)[k % 2].add(*key, k + 1)
        seen.append((one, other)[k % 2].totals()[key])
    assert seen == [1, 3, 6, 10]
    other.add(*key)
    assert one.totals()[key] == 10  # the other one has not noted it yet
    other.note()
    assert one.totals()[key] == other.totals()[key] == 11
    assert Counters(Database(store)).totals()[key] == 11  # one that is started later


def test_a_store_that_is_away_loses_nothing(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(store)
    counters = Counters(database)
    counters.add("n", ())
    begin = database.begin

    def away(**_: Any) -> Any:
        raise Problem("unavailable", "away", "")

    monkeypatch.setattr(database, "begin", away)
    for _ in range(2):
        with pytest.raises(Problem):
            counters.totals()
    counters.add("n", (), 2)
    monkeypatch.setattr(database, "begin", begin)
    assert counters.totals() == {("n", ()): 3}


def test_threads_and_processes_race(store: str) -> None:
    every = [Counters(Database(store)) for _ in range(3)]

    def count(counters: Counters) -> None:
        for k in range(30):
            counters.add("n", (str(k % 3),))
            if k % 7 == 0:
                counters.note()
        counters.note()

    at_once(count, [*every, *every])
    assert every[0].totals() == {("n", (str(k),)): 60 for k in range(3)}


def test_labels_are_kept_as_they_are(store: str) -> None:
    odd = ("visits", "a,b", '"', "\N{GREEK SMALL LETTER ALPHA}")
    counters = Counters(Database(store))
    counters.add("n", odd)
    counters.add("n", ("visits,a", "b", '"', "\N{GREEK SMALL LETTER ALPHA}"))
    assert counters.totals()["n", odd] == 1
    with Database(store).read() as run:
        assert run.execute(sa.text("select count(*) from tally")).scalar() == 2


# Metrics: what is counted, and that nothing of the process itself is.


def names(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+)", text, flags=re.MULTILINE))


def test_nothing_else_is_measured() -> None:
    """No processor time, memory or garbage of the process: they depend on the rows."""
    metrics = Metrics("1")
    metrics.gauge("tacit_audit_events", "Events", (), lambda: [({}, 3.0)])
    result = names(metrics.text())
    assert (
        result
        == {
            "tacit_requests_total",
            "tacit_requests_created",
            "tacit_outcomes_total",
            "tacit_outcomes_created",
            "tacit_late_ticks_total",
            "tacit_late_ticks_created",
            "tacit_refreshes_total",
            "tacit_refreshes_created",
            "tacit_reports_total",
            "tacit_reports_created",
            "tacit_build_info",
            "tacit_audit_events",
        }
        & result
    )
    assert not any(re.search(r"seconds|bytes|python|process", name) for name in result)
    assert "tacit_audit_events 3.0" in metrics.text()


def test_counts_stand_by_their_labels() -> None:
    metrics = Metrics("1")
    metrics.release("visits", "done")
    metrics.refreshed("visits")
    metrics.reports("colour", "replay", 3)
    text = metrics.text()
    assert 'tacit_outcomes_total{dataset="visits",state="done"} 1.0' in text
    assert 'tacit_refreshes_total{dataset="visits"} 1.0' in text
    assert 'tacit_reports_total{collection="colour",outcome="replay"} 3.0' in text


def test_two_services_in_one_process_count_apart() -> None:
    one, two = Metrics("1"), Metrics("1")
    one.request("/v1/me", "GET", 200)
    assert "/v1/me" not in two.text()


def test_a_store_that_is_away_takes_no_other_metric_with_it() -> None:
    def broken() -> list[tuple[dict[str, str], float]]:
        raise OSError("4711")

    metrics = Metrics("1")
    metrics.gauge("tacit_releases", "By state", ("state",), broken)
    assert "tacit_build_info" in metrics.text()
    assert "tacit_releases{" not in metrics.text()


def test_the_docstring_says_of_every_metric_why_it_is_public() -> None:
    text = Metrics("1").text()
    told = set(re.findall(r"``(tacit_\w+)``", Metrics.__doc__ or ""))
    public = {name for name in names(text) if not name.endswith("_created")}
    assert public <= told


# Traces, recorded by the SDK of OpenTelemetry: which spans there are, and how long they are.


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Any, ...]]]:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="pip install opentelemetry-sdk")
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
