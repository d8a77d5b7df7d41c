"""Liveness and readiness, the audit log, and the metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse, PlainTextResponse

from tacit.service.access import Caller
from tacit.service.problem import Problem
from tacit.service.telemetry import CONTENT_TYPE
from tacit.service.web.problems import rendered
from tacit.service.web.routing import ERRORS, Anyone, Cursor, Limit, ReplyModel, Route, needs
from tacit.service.web.state import StateOf

health_router = APIRouter(
    route_class=Route, tags=["health"], dependencies=[Anyone], responses=ERRORS
)


class Health(ReplyModel):
    """ServiceState of the process, for a balancer."""

    status: str


@health_router.get("/healthz")
def healthz() -> Health:
    """Report that the process is alive; checks nothing else."""
    return Health(status="alive")


class Readiness(Health):
    """ServiceState of each part: `ready`, `in part` or `failing`."""

    parts: dict[str, str]


@health_router.get("/readyz", response_model=Readiness)
def readyz(state: StateOf) -> Readiness | JSONResponse:
    """Report whether the process can answer: its database, workers, ledgers and tables.

    A part of which some work is ready in part: the other data sets are answered.
    """
    parts = state.readiness.parts()
    failing = [name for name, state_of_part in parts.items() if state_of_part == "failing"]
    if failing:
        message = f"not usable now: {', '.join(failing)}"
        return rendered(Problem("unavailable", message, "", {"parts": parts}))
    status = "ready" if set(parts.values()) == {"ready"} else "ready in part"
    return Readiness(status=status, parts=parts)


router = APIRouter(route_class=Route, tags=["audit"], responses=ERRORS)


class EventReply(ReplyModel):
    """An event of the audit log."""

    sequence: int
    when: str
    who: str
    team: str | None
    token: str | None
    action: str
    outcome: str
    dataset: str | None
    subject: str | None
    details: dict[str, Any]
    previous: str
    hash: str


class Events(ReplyModel):
    """A page of the audit log."""

    items: list[EventReply]
    next: str | None


_Order = Annotated[bool, Query(description="from the latest event backwards")]


@router.get("/v1/audit")
def audit(
    _caller: Annotated[Caller, Depends(needs("audit"))],
    state: StateOf,
    cursor: Cursor = "",
    limit: Limit = 100,
    newest_first: _Order = False,
) -> Events:
    """List who did what and when; every event has the hash of the one before it."""
    if cursor and not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise Problem(
            "invalid_request",
            "the cursor is not valid",
            "send the value of `next`, or leave it out",
        )
    events = state.audit.read(int(cursor or 0), limit, newest_first=newest_first)
    more = str(events[-1].sequence) if len(events) == limit else None
    return Events(items=[EventReply(**event.to_json()) for event in events], next=more)


@router.get(
    "/metrics",
    response_model=None,
    responses={200: {"content": {"text/plain": {}}, "description": "The metrics"}},
)
def metrics(
    _caller: Annotated[Caller, Depends(needs("observe"))], state: StateOf
) -> PlainTextResponse:
    """Give the metrics of the service in the text format of Prometheus; no number is private."""
    return PlainTextResponse(state.metrics.text(), media_type=CONTENT_TYPE)
