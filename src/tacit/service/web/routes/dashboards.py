"""Dashboards of counts over time: previewed, created and read."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Response
from fastapi import Path as InPath
from pydantic import BeforeValidator, Field

from tacit.accounting.budget import Budget
from tacit.report.odds import odds_words
from tacit.service.access import Caller, decide, demand, requester_of
from tacit.service.problem import Problem
from tacit.service.refresh.dashboards import Counted, Dashboard, answer_json, preview_json
from tacit.service.refresh.requests import ApprovalRequest
from tacit.service.web.routes.releases import (
    Refusal,
    Release,
    demand_own,
    earlier_releases,
    may_see,
)
from tacit.service.web.routing import (
    ERRORS,
    Body,
    CallerOf,
    DatasetName,
    Line,
    ReplyModel,
    Route,
    needs,
)
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, tags=["dashboards"], responses=ERRORS)

_Text = Annotated[str, Field(min_length=1, max_length=200)]
_Number = Annotated[
    str,
    BeforeValidator(lambda v: repr(v) if type(v) in (int, float) else v),
    Field(pattern=r"^[0-9./e-]{1,40}$", description="such as 1, 0.5 or '1/3'; read exactly"),
]
_Clock = Literal["days", "hours", "minutes", "seconds", "milliseconds"]


class DashboardBody(Body):
    """A count by periods, and its price."""

    column: _Text
    start: _Text
    every: _Text
    periods: Annotated[int, Field(ge=1, le=1_000_000)]
    epsilon: _Number | None = None
    rho: _Number | None = None
    grace: _Text | None = None
    table: _Text | None = None
    tag: Annotated[Line, Field(min_length=1, max_length=200)] | None = None
    title: Annotated[Line, Field(max_length=200)] = ""
    clock: _Clock | None = Field(
        None, description="unit in which the column counts the time since 1970"
    )

    def counted(self) -> Counted:
        """Return it as the dashboards take it."""
        return Counted(**self.model_dump())


class DashboardPreview(ReplyModel):
    """The cost of a dashboard, once for all periods, and its expected errors."""

    cost: dict[str, Any]
    remaining: dict[str, Any] = Field(description="the least that any limit leaves the caller")
    limited_by: list[str]
    affordable: bool
    periods: int
    count_error: float
    count_half_width: float
    total_error: float
    largest_total_error: float
    text: str


class DashboardReview(ReplyModel):
    """What a reviewer decides by; nothing is read or spent for it."""

    preview: DashboardPreview
    odds: str
    earlier: list[Release]


class Counts(ReplyModel):
    """The counts so far, with their errors: one list per column, in the order of the periods."""

    periods: list[str]
    columns: dict[str, dict[str, list[float]]]


class DashboardReply(ReplyModel):
    """A dashboard."""

    id: str
    dataset: str
    counted: dict[str, Any]
    asked_by: str
    state: str
    reason: str | None = None
    created: float
    periods_shown: int
    counts: Counts | None = None


class DashboardList(ReplyModel):
    """The dashboards that the caller may see."""

    items: list[DashboardReply]


@router.post("/v1/datasets/{name}/dashboards/preview")
def preview_dashboard(
    name: DatasetName,
    body: DashboardBody,
    caller: Annotated[Caller, Depends(needs("preview", on="name"))],
    state: StateOf,
) -> DashboardPreview:
    """Preview the cost and the expected errors of a dashboard; reads no row."""
    return _expected(name, body.counted(), caller, state)


def _expected(name: str, counted: Counted, caller: Caller, state: ServiceState) -> DashboardPreview:
    expected = state.dashboards.preview(name, counted, caller)
    left = state.datasets.of(name).left(caller)
    shown = preview_json(replace(expected, remaining=left.remaining))
    shown |= {"limited_by": list(left.limits), "affordable": left.covers(expected.cost)}
    return DashboardPreview(**shown)


@router.post(
    "/v1/datasets/{name}/dashboards",
    status_code=201,
    responses={202: {"model": DashboardReply, "description": "It waits for a decision"}},
)
def begin_dashboard(
    name: DatasetName,
    body: DashboardBody,
    caller: Annotated[Caller, Depends(needs("ask", on="name"))],
    state: StateOf,
    response: Response,
) -> DashboardReply:
    """Start a dashboard: all its periods are paid for now, and published as each is over.

    The same request again returns the same dashboard, at no cost.  Where questions are approved it
    waits (202), and is paid for once someone approved it.
    """
    counted = body.counted()
    if state.datasets.of(name).settings.approval and not _exists(state, name, counted, caller):
        response.status_code = 202
        return _waiting(state.dashboard_requests.ask(name, counted, caller))
    return _reply(state.dashboards.begin(name, counted, caller))


@router.get("/v1/dashboards")
def dashboards(caller: CallerOf, state: StateOf) -> DashboardList:
    """List the dashboards that the caller may see, without their counts."""
    seen = [_reply(one) for one in state.dashboards.all() if readable(state, caller, one)]
    requests = state.dashboard_requests.undecided()
    waiting = [_waiting(one) for one in requests if may_see(state, caller, one)]
    return DashboardList(items=seen + waiting)


_Id = Annotated[str, InPath(min_length=1, max_length=100)]


@router.get("/v1/dashboards/{id}")
def dashboard(id: _Id, caller: CallerOf, state: StateOf) -> DashboardReply:
    """Give the counts of the periods that are over, and running totals, with their intervals."""
    request = state.dashboard_requests.find(id)
    if request is not None and request.state != "approved":
        return _waiting(wanted(state, caller, id))
    board = state.dashboards.find(id)
    if not readable(state, caller, board):
        raise _nowhere()
    return _reply(board, Counts(**answer_json(board.counted, state.dashboards.answer(board))))


@router.delete("/v1/dashboards/{id}")
def withdraw_dashboard(
    id: _Id, caller: Annotated[Caller, Depends(needs("ask"))], state: StateOf
) -> DashboardReply:
    """Withdraw one's own dashboard while it waits for a decision; nothing was spent.

    One that has started stays: all its periods are paid for.
    """
    if dashboard(id, caller, state).state == "running":
        raise Problem("conflict", "this dashboard has started, and all its periods are paid for")
    request = wanted(state, caller, id)
    demand_own(state, caller, request)
    state.dashboard_requests.withdraw(request, caller)
    return _waiting(request).model_copy(update={"state": "cancelled"})


_Deciding = Annotated[Caller, Depends(needs("approve"))]


@router.get("/v1/dashboards/{id}/review")
def review_dashboard(id: _Id, caller: _Deciding, state: StateOf) -> DashboardReview:
    """Show a waiting dashboard's errors, what is left for its requester, and the odds.

    `earlier` has the latest releases of the data set: who asked what.
    """
    request = wanted(state, caller, id)
    demand(caller, "approve", request.dataset)
    if request.state != "waiting":
        raise Problem("conflict", f"the dashboard is {request.state} already")
    preview = _expected(request.dataset, request.content, requester_of(request), state)
    return DashboardReview(
        preview=preview,
        odds=odds_words(Budget.from_json(preview.cost), "all periods together"),
        earlier=earlier_releases(state, caller, request.dataset),
    )


@router.post("/v1/dashboards/{id}/approve")
def approve_dashboard(id: _Id, caller: _Deciding, state: StateOf) -> DashboardReply:
    """Approve exactly this count, at this price for all its periods; not one's own."""
    request = wanted(state, caller, id)
    demand(caller, "approve", request.dataset)
    state.dashboard_requests.approve(request, caller)
    return _reply(state.dashboards.find(id))


@router.post("/v1/dashboards/{id}/refuse")
def refuse_dashboard(id: _Id, body: Refusal, caller: _Deciding, state: StateOf) -> DashboardReply:
    """Refuse a dashboard, with a reason for who asked; nothing is spent."""
    request = wanted(state, caller, id)
    demand(caller, "approve", request.dataset)
    state.dashboard_requests.refuse(request, caller, body.validated())
    return _waiting(wanted(state, caller, id))


def wanted(state: ServiceState, caller: Caller, id: str) -> ApprovalRequest[Counted]:
    """Return a requested dashboard, if a caller may see it."""
    request = state.dashboard_requests.find(id)
    if request is None or not may_see(state, caller, request):
        raise _nowhere()
    return request


def _exists(state: ServiceState, name: str, counted: Counted, caller: Caller) -> bool:
    try:
        state.dashboards.find(state.dashboards.identity(name, counted, caller))
    except Problem:
        return False
    return True


def _nowhere() -> Problem:
    return Problem("not_found", "there is no such dashboard", "GET /v1/dashboards lists all")


def _waiting(request: ApprovalRequest[Counted]) -> DashboardReply:
    return DashboardReply(
        id=request.id,
        dataset=request.dataset,
        counted=request.content.to_json(),
        asked_by=request.asked_by,
        state=request.state,
        reason=request.reason,
        created=request.asked_at,
        periods_shown=0,
    )


def readable(state: ServiceState, caller: Caller, board: Dashboard) -> bool:
    """Return True if a caller may see a dashboard: anyone who may ask the data set may."""
    # With ledgers per team it is visible to its own team, and to those who may see all answers.
    if decide(caller, "see_releases", board.dataset).allowed:
        return True
    per_team = state.datasets.of(board.dataset).owner.per_team
    return decide(caller, "ask", board.dataset).allowed and not (
        per_team and caller.team != board.team
    )


def _reply(board: Dashboard, counts: Counts | None = None) -> DashboardReply:
    return DashboardReply(
        id=board.id,
        dataset=board.dataset,
        counted=board.counted.to_json(),
        asked_by=board.who,
        state="running",
        created=board.created,
        periods_shown=board.shown,
        counts=counts,
    )
