"""Schedules of releases: previewed, started, looked at and cancelled."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi import Path as InPath
from pydantic import Field

from tacit.errors import BudgetError, TacitError
from tacit.report.odds import odds_words
from tacit.service.access import Caller, demand, requester_of
from tacit.service.hosting.ask import preview_of
from tacit.service.problem import Problem, problem_of
from tacit.service.refresh.requests import ApprovalRequest
from tacit.service.refresh.schedules import (
    MAX_TIMES,
    Calendar,
    CalendarEntry,
    ReleaseSchedule,
    Scheduled,
)
from tacit.service.web.routes.datasets import previewed
from tacit.service.web.routes.releases import (
    Refusal,
    Release,
    demand_own,
    earlier_releases,
    may_see,
)
from tacit.service.web.routing import (
    ERRORS,
    AskOrPlan,
    Body,
    CallerOf,
    DatasetName,
    Line,
    PlanBody,
    PlanPreviewBody,
    PreviewBody,
    ReplyModel,
    Route,
    ask_of,
    iso_time,
    needs,
)
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, tags=["schedules"], responses=ERRORS)

_Text = Annotated[str, Field(min_length=1, max_length=40)]


class ScheduleBody(Body):
    """A question or a plan with the price of each release, and when it is released."""

    request: AskOrPlan = Field(
        description="the body of a release or of a plan; its tag begins the tags of the releases"
    )
    start: _Text = Field(description="when the first is due, UTC: 2026-01-01, 2026-01-01 06:00")
    every: _Text = Field(description="how far apart they are: 1d, 1w, 1mo, 3mo, 1y")
    times: int = Field(ge=1, le=MAX_TIMES, description="how many; all are paid for at once")
    title: Line = Field("", max_length=200)

    def scheduled(self, state: ServiceState) -> Scheduled:
        """Return it as the schedules take it."""
        times = Calendar(self.start, self.every, self.times)
        return Scheduled(ask_of(self.request, state), times, self.title.strip())


class EntryReply(ReplyModel):
    """A release of a schedule; `release` is its number once it was made.

    It is `planned`, `due` and not made yet, `missed`, `cancelled`, or in the state of its release.
    """

    number: int
    due: float = Field(description="seconds since 1970")
    when: str = Field(description="the same, as ISO 8601 in UTC")
    tag: str
    state: str
    release: str | None
    href: str | None


class SchedulePreview(ReplyModel):
    """What a schedule costs, its calendar, and the expected errors of each release."""

    text: str
    cost: dict[str, Any]
    total: dict[str, Any]
    remaining: dict[str, Any]
    limited_by: list[str]
    affordable: bool
    problem: str | None
    calendar: list[EntryReply]
    preview: dict[str, Any]


class ScheduleReview(SchedulePreview):
    """What a reviewer decides by: a preview for the requester, and who asked what before."""

    odds: str = Field(description="of all releases together")
    earlier: list[Release]


class ScheduleReply(ReplyModel):
    """A schedule of releases: what it costs, and how far it is.

    It is `waiting` for a reviewer, `refused`, `paying` (continue with the same request), `running`,
    `done` or `cancelled`.
    """

    id: str
    dataset: str
    title: str
    question: str
    request: dict[str, Any]
    start: str
    every: str
    times: int
    cost: dict[str, Any]
    total: dict[str, Any]
    asked_by: str
    team: str | None
    created: float
    state: str
    reason: str | None = None
    paid: int | None
    made: int
    next: float | None = Field(description="when the next release is due, seconds since 1970")
    next_when: str | None = Field(None, description="the same, as ISO 8601 in UTC")
    calendar: list[EntryReply] | None = None


class ScheduleList(ReplyModel):
    """The schedules that the caller may see, without their calendars."""

    items: list[ScheduleReply]


@router.post("/v1/datasets/{name}/schedules/preview")
def preview_schedule(
    name: DatasetName,
    body: ScheduleBody,
    caller: Annotated[Caller, Depends(needs("preview", on="name"))],
    state: StateOf,
) -> SchedulePreview:
    """Show the calendar and the cost of a schedule, and its errors; free, and no row is read.

    `problem` says why it could not start now.
    """
    scheduled = body.scheduled(state)
    first = body.request.model_copy(update={"tag": scheduled.tags[0]}).model_dump()
    kind = PlanPreviewBody if isinstance(body.request, PlanBody) else PreviewBody
    preview = previewed(name, kind.model_validate(first), caller, state).wait()
    return _expected(state, name, scheduled, caller, preview)


def _expected(
    state: ServiceState, name: str, scheduled: Scheduled, caller: Caller, preview: dict[str, Any]
) -> SchedulePreview:
    hosted = state.datasets.of(name)
    priced = state.schedules.priced(name, scheduled, caller)
    problem, affordable = None, True
    try:
        state.schedules.check(name, priced, caller)
    except TacitError as error:
        shown = problem_of(error).in_fields()
        problem = "; ".join(filter(None, (shown.message, shown.remedy)))
        affordable = not isinstance(error, BudgetError) and priced.affordable(hosted, caller)
    left = hosted.left(caller)
    return SchedulePreview(
        text=priced.scheduled.words,
        cost=dict(priced.scheduled.cost),
        total=priced.cost.to_json(),
        remaining=left.remaining.to_json(),
        limited_by=list(left.limits),
        affordable=affordable,
        problem=problem,
        calendar=_planned(scheduled),
        preview=preview,
    )


@router.post(
    "/v1/datasets/{name}/schedules",
    status_code=201,
    responses={202: {"model": ScheduleReply, "description": "It waits for a decision"}},
)
def begin_schedule(
    name: DatasetName,
    body: ScheduleBody,
    caller: Annotated[Caller, Depends(needs("ask", on="name"))],
    state: StateOf,
    response: Response,
) -> ScheduleReply:
    """Start a schedule: all its releases are paid for now, and each is made when it is due.

    The same request again returns the same schedule, at no cost.  Where questions are approved it
    waits (202), and is paid for once someone approved it; each release needs no other approval.
    """
    scheduled = body.scheduled(state)
    if state.datasets.of(name).settings.approval:
        identity = state.schedules.priced(name, scheduled, caller).identity
        if not state.schedules.known(identity):
            response.status_code = 202
            return _waiting(state.schedule_requests.ask(name, scheduled, caller), calendar=True)
    return _reply(state, state.schedules.begin(name, scheduled, caller), calendar=True)


@router.get("/v1/schedules")
def schedules(caller: CallerOf, state: StateOf) -> ScheduleList:
    """List the schedules that the caller may see: their own, or all of a data set."""
    made = state.schedules.made()
    items = [
        _reply(state, one, made) for one in state.schedules.all() if may_see(state, caller, one)
    ]
    requests = state.schedule_requests.undecided()
    items += [_waiting(one) for one in requests if may_see(state, caller, one)]
    return ScheduleList(items=items)


ScheduleName = Annotated[str, InPath(min_length=1, max_length=100, description="of the schedule")]


@router.get("/v1/schedules/{id}")
def schedule(id: ScheduleName, caller: CallerOf, state: StateOf) -> ScheduleReply:
    """Show a schedule with its calendar: the date, the tag and the release of each entry."""
    request = state.schedule_requests.find(id)
    if request is not None and request.state != "approved":
        return _waiting(wanted(state, caller, id), calendar=True)
    return _reply(state, seen(state, caller, id), calendar=True)


@router.delete("/v1/schedules/{id}")
def cancel_schedule(
    id: ScheduleName, caller: Annotated[Caller, Depends(needs("ask"))], state: StateOf
) -> ScheduleReply:
    """Cancel one's own schedule: no further release is made, and what was paid stays paid.

    What was paid can be asked with the tags of the calendar, at no further cost.  A schedule that
    waits for a decision is withdrawn; nothing was spent.
    """
    request = state.schedule_requests.find(id)
    if request is not None and request.state != "approved":
        request = wanted(state, caller, id)
        demand_own(state, caller, request)
        state.schedule_requests.withdraw(request, caller)
        return _waiting(request).model_copy(update={"state": "cancelled"})
    one = seen(state, caller, id)
    demand_own(state, caller, one)
    state.schedules.cancel(one, caller)
    return _reply(state, state.schedules.find(id), calendar=True)


_Deciding = Annotated[Caller, Depends(needs("approve"))]


@router.get("/v1/schedules/{id}/review")
def review_schedule(id: ScheduleName, caller: _Deciding, state: StateOf) -> ScheduleReview:
    """Show a waiting schedule's errors, what is left for its requester, and the odds.

    `earlier` has the latest releases of the data set: who asked what.
    """
    request = wanted(state, caller, id)
    demand(caller, "approve", request.dataset)
    hosted, asker, scheduled = (
        state.datasets.of(request.dataset),
        requester_of(request),
        request.content,
    )
    preview = preview_of(
        scheduled.asks(scheduled.tags[0]),
        hosted,
        asker,
        hides=lambda key: state.release_service.hides(hosted, asker, key),
    )
    made = _expected(state, request.dataset, scheduled, asker, preview)
    return ScheduleReview(
        **made.model_dump(),
        odds=odds_words(scheduled.total, "all of them together"),
        earlier=earlier_releases(state, caller, request.dataset),
    )


@router.post("/v1/schedules/{id}/approve")
def approve_schedule(id: ScheduleName, caller: _Deciding, state: StateOf) -> ScheduleReply:
    """Approve exactly this question at this price, all its releases; not one's own."""
    request = wanted(state, caller, id)
    demand(caller, "approve", request.dataset)
    state.schedule_requests.approve(request, caller)
    return _reply(state, state.schedules.find(id), calendar=True)


@router.post("/v1/schedules/{id}/refuse")
def refuse_schedule(
    id: ScheduleName, body: Refusal, caller: _Deciding, state: StateOf
) -> ScheduleReply:
    """Refuse a schedule, with a reason for who asked; nothing is spent."""
    request = wanted(state, caller, id)
    demand(caller, "approve", request.dataset)
    state.schedule_requests.refuse(request, caller, body.validated())
    return _waiting(wanted(state, caller, id), calendar=True)


def wanted(state: ServiceState, caller: Caller, id: str) -> ApprovalRequest[Scheduled]:
    """Return a requested schedule, if a caller may see it."""
    request = state.schedule_requests.find(id)
    if request is None and seen(state, caller, id):
        raise Problem("conflict", "the schedule was started already, and waits for no decision")
    if request is None or not may_see(state, caller, request):
        raise _nowhere()
    return request


def seen(state: ServiceState, caller: Caller, id: str) -> ReleaseSchedule:
    """Return a schedule that was started, if a caller may see it."""
    if state.schedules.known(id):
        one = state.schedules.find(id)
        if may_see(state, caller, one):
            return one
    raise _nowhere()


def _nowhere() -> Problem:
    return Problem("not_found", "there is no such schedule", "GET /v1/schedules lists all")


def _entry(one: CalendarEntry) -> EntryReply:
    return EntryReply(
        number=one.number,
        due=one.due,
        when=iso_time(one.due),
        tag=one.tag,
        state=one.state,
        release=one.job,
        href=None if one.job is None else f"/v1/releases/{one.job}",
    )


def _planned(scheduled: Scheduled) -> list[EntryReply]:
    pairs = zip(scheduled.calendar.due, scheduled.tags, strict=True)
    return [
        _entry(CalendarEntry(number, due, tag, "planned", None))
        for number, (due, tag) in enumerate(pairs, 1)
    ]


def _fields(scheduled: Scheduled) -> dict[str, Any]:
    return {
        "title": scheduled.title,
        "question": scheduled.words,
        "request": scheduled.ask.to_json(),
        "start": scheduled.calendar.start,
        "every": scheduled.calendar.every,
        "times": scheduled.calendar.times,
        "cost": dict(scheduled.cost),
        "total": scheduled.total.to_json(),
    }


def _waiting(request: ApprovalRequest[Scheduled], *, calendar: bool = False) -> ScheduleReply:
    return ScheduleReply(
        id=request.id,
        dataset=request.dataset,
        **_fields(request.content),
        asked_by=request.asked_by,
        team=request.team,
        created=request.asked_at,
        state=request.state,
        reason=request.reason,
        paid=0,
        made=0,
        next=None,
        calendar=_planned(request.content) if calendar else None,
    )


def _reply(
    state: ServiceState,
    one: ReleaseSchedule,
    made: dict[str, int] | None = None,
    *,
    calendar: bool = False,
) -> ScheduleReply:
    entries = state.schedules.calendar(one) if calendar else None
    if entries is None:
        count = 0 if made is None else made.get(one.id, 0)
    else:
        count = sum(entry.job is not None for entry in entries)
    return ScheduleReply(
        id=one.id,
        dataset=one.dataset,
        **_fields(one.scheduled),
        asked_by=one.asked_by,
        team=one.team,
        created=one.asked_at,
        state=one.state,
        paid=state.schedules.paid(one) if calendar else None,
        made=count,
        next=one.due,
        next_when=None if one.due is None else iso_time(one.due),
        calendar=None if entries is None else [_entry(entry) for entry in entries],
    )
