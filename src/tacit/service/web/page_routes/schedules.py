"""The pages of schedules: the list, one with its calendar, and the form of a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tacit.errors import TacitError
from tacit.service.access import Caller, decide
from tacit.service.pages.frame import bar, page
from tacit.service.pages.schedule_view import (
    LENGTHS,
    expected_schedule,
    schedule_card,
    shown_schedule,
)
from tacit.service.pages.views import LOSSES, home_of, protection, row
from tacit.service.problem import Problem
from tacit.service.web.page_routes.datasets import ask_body, plan_body, questions_in
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import datasets, releases, schedules
from tacit.service.web.routing import (
    AskBody,
    CallerOf,
    DatasetName,
    Form,
    FormOf,
    PlanBody,
    Route,
    needs,
)
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, include_in_schema=False)
_Previewing = Annotated[Caller, Depends(needs("preview", on="name"))]
_Deciding = Annotated[Caller, Depends(needs("approve"))]
_Asking = Annotated[Caller, Depends(needs("ask"))]
_FIRST = {"every": "1mo", "times": "12", "amount": "0.1"}
_FIELDS = ("start", "every", "times", "title", "tag", "amount")


@router.get("/schedules")
def listed(caller: CallerOf, state: StateOf) -> HTMLResponse:
    """Show the schedules that the caller may see, and where to start one."""
    names = [n for n in state.datasets.names if decide(caller, "preview", n).allowed]
    given = {
        "rows": [
            schedule_card(one.model_dump()) for one in schedules.schedules(caller, state).items
        ],
        "datasets": [(name, f"{home_of(name)}/schedule") for name in names],
    }
    return HTMLResponse(page("schedules.html", state.settings.title, caller, given))


@router.get("/schedules/{id}")
def shown(id: schedules.ScheduleName, caller: CallerOf, state: StateOf) -> HTMLResponse:
    """Show a schedule, and its calendar."""
    return _page(id, caller, state, None)


@router.post("/schedules/{id}/cancel")
def cancel(id: schedules.ScheduleName, caller: _Asking, state: StateOf) -> Response:
    """Cancel a schedule, or withdraw one that waits."""
    try:
        schedules.cancel_schedule(id, caller, state)
    except TacitError as error:
        return _page(id, caller, state, form_problem(error))
    withdrawn = not state.schedules.known(id)
    return RedirectResponse("/schedules" if withdrawn else f"/schedules/{id}", status_code=303)


@router.post("/schedules/{id}/approve")
def approve(id: schedules.ScheduleName, caller: _Deciding, state: StateOf) -> Response:
    """Approve exactly this schedule, at this price."""
    return _decided(id, caller, state, lambda: schedules.approve_schedule(id, caller, state))


@router.post("/schedules/{id}/refuse")
def refuse(id: schedules.ScheduleName, caller: _Deciding, state: StateOf, form: FormOf) -> Response:
    """Refuse a schedule, with a reason."""
    why = releases.Refusal(reason=form.one("reason"))
    return _decided(id, caller, state, lambda: schedules.refuse_schedule(id, why, caller, state))


@router.get("/datasets/{name}/schedule")
def empty(name: DatasetName, caller: _Previewing, state: StateOf) -> HTMLResponse:
    """Show the form of a schedule."""
    return _form(name, caller, state, Form({n: [value] for n, value in _FIRST.items()}))


@router.post("/datasets/{name}/schedule")
def filled(name: DatasetName, caller: _Previewing, state: StateOf, form: FormOf) -> Response:
    """Preview a schedule, or start it, or add a question to the form."""
    if form.one("action") == "add":
        return _form(name, caller, state, form)
    try:
        reply = datasets.dataset(name, caller, state)
        body = _body(form, reply.budget["kind"])
        allowed = decide(caller, "ask", name)
        if form.one("action") == "begin":
            if not allowed.allowed:
                raise Problem("forbidden", allowed.because, allowed.remedy)
            made = schedules.begin_schedule(name, body, caller, state, Response())
            return RedirectResponse(f"/schedules/{made.id}", status_code=303)
        preview = expected_schedule(
            schedules.preview_schedule(name, body, caller, state).model_dump(),
            approval=reply.approval,
            may_ask=allowed.allowed,
        )
    except (TacitError, ValueError) as error:
        return _form(name, caller, state, form, wrong=form_problem(error))
    return _form(name, caller, state, form, preview)


def _body(form: Form, kind: str) -> schedules.ScheduleBody:
    questions = questions_in(form)
    request: AskBody | PlanBody
    if len(questions) == 1:
        request = AskBody(**ask_body(form, kind, questions[0]))
    else:
        request = PlanBody(**plan_body(form, kind))
    when: dict[str, Any] = {n: form.one(n).strip() for n in ("start", "every", "title")}
    times = form.whole("times", "How many times")
    return schedules.ScheduleBody(request=request, times=times, **when)


def _form(
    name: str,
    caller: Caller,
    state: ServiceState,
    form: Form,
    preview: Mapping[str, Any] | None = None,
    wrong: object = None,
) -> HTMLResponse:
    reply = datasets.dataset(name, caller, state).model_dump()
    kind, most = reply["budget"]["kind"], state.settings.limits.plan_questions
    written = questions_in(form)
    blank = 1 if not written or form.one("action") == "add" else 0
    questions = [*written, *[""] * min(blank, most - len(written))]
    given = {
        "name": name,
        "home": home_of(name),
        "protects": protection(reply["protects"]),
        "whole": bar(reply["budget"], reply["remaining"]),
        "questions": questions,
        "full": len(questions) >= most,
        "most": most,
        "lengths": LENGTHS,
        "loss": LOSSES[kind],
        "delta": form.one("delta") if kind == "approximate" else None,
        "form": {field: form.one(field) for field in _FIELDS},
        "preview": preview,
        "wrong": wrong,
    }
    return HTMLResponse(page("new_schedule.html", state.settings.title, caller, given))


def _decided(id: str, caller: Caller, state: ServiceState, act: Callable[[], object]) -> Response:
    try:
        act()
    except TacitError as error:
        return _page(id, caller, state, form_problem(error))
    return RedirectResponse(f"/schedules/{id}", status_code=303)


def _page(id: str, caller: Caller, state: ServiceState, wrong: object) -> HTMLResponse:
    one = schedules.schedule(id, caller, state)
    given = shown_schedule(
        one.model_dump(),
        may_cancel=releases.may_withdraw(state, caller, one),
        decides=state.schedule_requests.decidable(id, caller),
    )
    if given["decide"]:
        given["review"] = _review(id, caller, state)
    given |= {"entries": given.pop("calendar"), "wrong": wrong}
    return HTMLResponse(page("schedule.html", state.settings.title, caller, given))


def _review(id: str, caller: Caller, state: ServiceState) -> dict[str, Any] | None:
    """Return what a reviewer decides by."""
    try:
        reply = schedules.review_schedule(id, caller, state).model_dump()
    except TacitError:  # the data set was declared again: approving says so
        return None
    shown = expected_schedule(reply, approval=True, may_ask=False)
    return {**shown, "earlier": [row(one) for one in reply["earlier"]]}
