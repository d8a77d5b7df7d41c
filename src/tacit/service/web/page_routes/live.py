"""The pages of dashboards and of collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, RedirectResponse

from tacit.errors import TacitError
from tacit.service.access import Caller, decide
from tacit.service.pages.frame import bar, page
from tacit.service.pages.live_view import (
    board_card,
    collection_card,
    expected_board,
    reviewed_board,
    shown_board,
    shown_estimate,
)
from tacit.service.pages.views import LOSSES, home_of, protection
from tacit.service.problem import Problem
from tacit.service.refresh.dashboards import UNITS
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import collections, dashboards, datasets, releases
from tacit.service.web.routing import CallerOf, DatasetName, Form, FormOf, Route, needs
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, include_in_schema=False)
_Seeing = Annotated[Caller, Depends(needs("see_dataset", on="name"))]
_Asking = Annotated[Caller, Depends(needs("ask"))]
_Deciding = Annotated[Caller, Depends(needs("approve"))]
_Previewing = Annotated[Caller, Depends(needs("preview", on="name"))]
_Board = Annotated[str, InPath(min_length=1, max_length=100)]
_LENGTHS = (("1h", "an hour"), ("1d", "a day"), ("1w", "a week"), ("15min", "15 minutes"))
_TIMES = ("date", "timestamp", "integer")
_CLOCKS = (("", "a time or a date"), *((unit, f"{unit} since 1970") for unit in UNITS))
_FIELDS = ("column", "start", "every", "periods", "title", "grace", "amount", "clock")
_TEXT_FIELDS = ("column", "start", "every", "grace", "clock")
_FIRST = {"every": "1d", "periods": "365", "amount": "0.5"}


@router.get("/dashboards")
def boards(caller: CallerOf, state: StateOf) -> HTMLResponse:
    """Show the dashboards that the caller may see, and the forms to start one."""
    listing = dashboards.dashboards(caller, state)
    names = [n for n in state.datasets.names if decide(caller, "preview", n).allowed]
    given = {
        "rows": [board_card(one.model_dump()) for one in listing.items],
        "datasets": [(name, f"{home_of(name)}/count") for name in names],
    }
    return HTMLResponse(page("dashboards.html", state.settings.title, caller, given))


@router.get("/dashboards/{id}")
def board(id: _Board, caller: CallerOf, state: StateOf) -> HTMLResponse:
    """Show the counts of a dashboard."""
    return _board(id, caller, state, None)


@router.post("/dashboards/{id}/withdraw")
def withdraw(id: _Board, caller: _Asking, state: StateOf) -> Response:
    """Withdraw a dashboard that waits."""
    try:
        dashboards.withdraw_dashboard(id, caller, state)
    except TacitError as error:
        return _board(id, caller, state, form_problem(error))
    return RedirectResponse("/dashboards", status_code=303)


@router.post("/dashboards/{id}/approve")
def approve(id: _Board, caller: _Deciding, state: StateOf) -> Response:
    """Approve exactly this count, at this price."""
    return _decided(id, caller, state, lambda: dashboards.approve_dashboard(id, caller, state))


@router.post("/dashboards/{id}/refuse")
def refuse(id: _Board, caller: _Deciding, state: StateOf, form: FormOf) -> Response:
    """Refuse a dashboard, with a reason."""
    why = releases.Refusal(reason=form.one("reason"))
    return _decided(id, caller, state, lambda: dashboards.refuse_dashboard(id, why, caller, state))


@router.get("/datasets/{name}/count")
def count(name: DatasetName, caller: _Previewing, state: StateOf) -> HTMLResponse:
    """Show the form of a dashboard."""
    return _counting(name, caller, state, _FIRST, None, None)


@router.post("/datasets/{name}/count")
def counted(name: DatasetName, caller: _Previewing, state: StateOf, form: FormOf) -> Response:
    """Preview a dashboard, or start it."""
    values = {field: form.one(field).strip() for field in _FIELDS}
    shown, wrong = None, None
    try:
        body = _body(form, datasets.dataset(name, caller, state).budget["kind"])
        if form.one("action") == "begin":
            if not (allowed := decide(caller, "ask", name)).allowed:
                raise Problem("forbidden", allowed.because, allowed.remedy)
            made = dashboards.begin_dashboard(name, body, caller, state, Response())
            return RedirectResponse(f"/dashboards/{made.id}", status_code=303)
        reply = dashboards.preview_dashboard(name, body, caller, state)
        shown = expected_board(reply.model_dump())
    except (TacitError, ValueError) as error:
        wrong = form_problem(error)
    return _counting(name, caller, state, values, shown, wrong)


_Candidates = Annotated[str, Query(max_length=2000)]
_Poisoned = Annotated[str, Query(max_length=20)]


@router.get("/collections")
def listed(caller: CallerOf, state: StateOf) -> HTMLResponse:
    """Show the questions of the local model that the caller may answer or see."""
    listing = collections.collections(caller, state)
    rows = [
        {
            **collection_card(one.model_dump()),
            "seen": decide(caller, "see_dataset", one.name).allowed,
        }
        for one in listing.items
    ]
    return HTMLResponse(page("collections.html", state.settings.title, caller, {"rows": rows}))


@router.get("/collections/{name}")
def collection(
    name: DatasetName,
    caller: _Seeing,
    state: StateOf,
    candidates: _Candidates = "",
    poisoned: _Poisoned = "",
) -> HTMLResponse:
    """Show the live estimate of a collection."""
    labels = [one.strip() for one in candidates.split(",") if one.strip()]
    card = collection_card(collections.question(name, caller, state).model_dump())
    given: dict[str, Any] = {**card, "estimate": None, "wrong": None, "moved": []}
    try:
        many = int(poisoned) if poisoned.strip() else None
        if many is not None and not 1 <= many <= 10**9:
            raise ValueError
        reply = collections.estimate(
            name, caller, state, candidates=labels or None, poisoned=many
        ).model_dump()
        given["estimate"] = shown_estimate(reply)
        given["moved"] = (reply.get("poisoned") or {}).get("text", [])
    except (TacitError, ValueError) as error:
        if not (isinstance(error, Problem) and error.code == "not_ready"):
            given["wrong"] = form_problem(error)
    given |= {"options": True, "candidates": candidates, "poisoned": poisoned}
    return HTMLResponse(page("collection.html", state.settings.title, caller, given))


def _decided(id: str, caller: Caller, state: ServiceState, act: Callable[[], object]) -> Response:
    try:
        act()
    except TacitError as error:
        return _board(id, caller, state, form_problem(error))
    return RedirectResponse(f"/dashboards/{id}", status_code=303)


def _board(id: str, caller: Caller, state: ServiceState, wrong: object) -> HTMLResponse:
    one = dashboards.dashboard(id, caller, state).model_dump()
    request = state.dashboard_requests.find(id) if one["state"] == "waiting" else None
    given = {
        **shown_board(one),
        "wrong": wrong,
        "decide": request is not None and state.dashboard_requests.decidable(id, caller),
        "withdraw": request is not None and releases.may_withdraw(state, caller, request),
        "review": None,
    }
    if given["decide"]:
        with suppress(TacitError):  # the data set was declared again: approving says so
            review = dashboards.review_dashboard(id, caller, state)
            given["review"] = reviewed_board(review.model_dump())
    return HTMLResponse(page("dashboard.html", state.settings.title, caller, given))


def _body(form: Form, kind: str) -> dashboards.DashboardBody:
    fields: dict[str, Any] = {n: form.one(n).strip() for n in _TEXT_FIELDS}
    fields |= {"title": form.one("title").strip(), LOSSES[kind]: form.one("amount").strip()}
    given = {name: value for name, value in fields.items() if value}
    return dashboards.DashboardBody(**given, periods=form.whole("periods", "How many"))


def _counting(
    name: str,
    caller: Caller,
    state: ServiceState,
    values: Mapping[str, str],
    preview: object,
    wrong: object,
) -> HTMLResponse:
    reply = datasets.dataset(name, caller, state).model_dump()
    columns = reply["tables"][reply["table"]]["columns"]
    given = {
        "name": name,
        "home": home_of(name),
        "protects": protection(reply["protects"]),
        "whole": bar(reply["budget"], reply["remaining"]),
        "columns": [one["name"] for one in columns if one["kind"] in _TIMES],
        "lengths": _LENGTHS,
        "clocks": _CLOCKS if any(one["kind"] == "integer" for one in columns) else (),
        "loss": LOSSES[reply["budget"]["kind"]],
        "form": {field: values.get(field, "") for field in _FIELDS},
        "preview": preview,
        "may_ask": decide(caller, "ask", name).allowed,
        "approval": reply["approval"],
        "wrong": wrong,
    }
    return HTMLResponse(page("count.html", state.settings.title, caller, given))
