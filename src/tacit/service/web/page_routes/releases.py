"""The pages of releases: lists, approvals, answers and certificates."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tacit.errors import TacitError
from tacit.report import Certificate
from tacit.service.access import Caller, decide
from tacit.service.hosting.ask import query_words
from tacit.service.pages.frame import page
from tacit.service.pages.live_view import board_card
from tacit.service.pages.schedule_view import schedule_card
from tacit.service.pages.views import answered, programs, reviewed, row, shown_release
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import dashboards, releases, schedules
from tacit.service.web.routing import Cursor, FormOf, Route, needs
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, include_in_schema=False)
_Seeing = Annotated[Caller, Depends(needs("see_own_releases"))]
_Deciding = Annotated[Caller, Depends(needs("approve"))]
_PAGE = 30
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_ADDRESS = re.compile(r"https?://[\w.-]+(:\d+)?|https?://\[[0-9a-f:]+\](:\d+)?", re.ASCII)


async def _address(request: Request, state: StateOf) -> str:
    """Return where people reach the service: as it is declared, or as this request has it."""
    asked = str(request.base_url).rstrip("/")
    # The address stands in commands to copy: it is none that a shell would read otherwise.
    return state.settings.url or (asked if _ADDRESS.fullmatch(asked) else "")


_Here = Annotated[str, Depends(_address)]


@router.get("/releases")
def listed(
    caller: _Seeing,
    state: StateOf,
    dataset: Annotated[str | None, Query(max_length=100)] = None,
    cursor: Cursor = "",
) -> HTMLResponse:
    """Show the releases that the caller may see."""
    listing = releases.releases(caller, state, dataset, None, False, cursor, _PAGE)
    rows = [row(one.model_dump()) for one in listing.items]
    query = {"dataset": dataset} if dataset else {}
    given = {"rows": rows, "dataset": dataset, "next": _more("/releases", listing.next, query)}
    return HTMLResponse(page("releases.html", state.settings.title, caller, given))


@router.get("/approvals")
def approvals(caller: _Deciding, state: StateOf, cursor: Cursor = "") -> HTMLResponse:
    """Show what waits for a decision of the caller."""
    listing = releases.releases(caller, state, None, "waiting", False, cursor, _PAGE)
    mine: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for one in listing.items:
        decides = _may_decide(caller, state, one.dataset, one.id)
        (mine if decides else others).append(row(one.model_dump()))
    boards = [
        (board_card(one.model_dump()), state.dashboard_requests.decidable(one.id, caller))
        for one in dashboards.dashboards(caller, state).items
        if one.state == "waiting"
    ]
    planned = [
        (schedule_card(one.model_dump()), state.schedule_requests.decidable(one.id, caller))
        for one in schedules.schedules(caller, state).items
        if one.state == "waiting"
    ]
    kinds = [("Dashboards", boards), ("Schedules", planned)]
    waiting = [(heading, [card for card, own in cards if own]) for heading, cards in kinds]
    elsewhere = [card for _, cards in kinds for card, own in cards if not own]
    given = {
        "rows": mine,
        "others": others,
        "elsewhere": elsewhere,
        "waiting": [(heading, cards) for heading, cards in waiting if cards],
        "next": _more("/approvals", listing.next, {}),
    }
    return HTMLResponse(page("approvals.html", state.settings.title, caller, given))


@router.get("/releases/{release}")
async def release(
    release: releases.ReleaseName,
    caller: _Seeing,
    state: StateOf,
    here: _Here,
    wait: Annotated[int, Query(ge=0, le=60)] = 0,
    part: Annotated[int, Query(ge=1, le=10**9)] = 1,
    first: Annotated[int, Query(ge=1, le=10**9)] = 1,
) -> HTMLResponse:
    """Show a release: its progress, or its answer, one question of it from a group on."""
    reply = await releases.release(release, caller, state, wait)
    shown = (reply.model_dump(), caller, state, here, None, part, first)
    return await run_in_threadpool(_page, *shown)


@router.get("/releases/{release}/certificate")
def certificate(release: releases.ReleaseName, caller: _Seeing, state: StateOf) -> HTMLResponse:
    """Show the certificate of a release."""
    text = _certificate(release, caller, state).to_html()
    style = _STYLE.search(text)
    digest = hashlib.sha256((style[1] if style else "").encode()).digest()
    allowed = f"'sha256-{base64.b64encode(digest).decode()}'"
    policy = f"default-src 'none'; style-src {allowed}; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


@router.post("/releases/{release}/cancel")
def cancel(
    release: releases.ReleaseName,
    caller: Annotated[Caller, Depends(needs("ask"))],
    state: StateOf,
    here: _Here,
) -> Response:
    """Cancel a question."""
    return _done(release, caller, state, here, lambda: releases.cancel(release, caller, state))


@router.post("/releases/{release}/approve")
def approve(
    release: releases.ReleaseName, caller: _Deciding, state: StateOf, here: _Here
) -> Response:
    """Approve exactly this question at this price."""
    return _done(release, caller, state, here, lambda: releases.approve(release, caller, state))


@router.post("/releases/{release}/refuse")
def refuse(
    release: releases.ReleaseName, caller: _Deciding, state: StateOf, form: FormOf, here: _Here
) -> Response:
    """Refuse a question, with a reason."""
    reason = releases.Refusal(reason=form.one("reason"))
    return _done(
        release, caller, state, here, lambda: releases.refuse(release, reason, caller, state)
    )


def _done(release: str, caller: Caller, state: ServiceState, here: str, act: Any) -> Response:
    """Do an action, and return to the page of the release."""
    try:
        act()
    except TacitError as error:
        job = releases.seen(state, caller, release)
        shown = releases.shown_release(state, job, with_answer=True).model_dump()
        return _page(shown, caller, state, here, form_problem(error))
    return RedirectResponse(f"/releases/{release}", status_code=303)


def _page(
    one: dict[str, Any],
    caller: Caller,
    state: ServiceState,
    here: str,
    wrong: object,
    part: int = 1,
    first: int = 1,
) -> HTMLResponse:
    name = str(one["dataset"])
    own = one["asked_by"] == caller.name
    given = {
        **shown_release(
            one,
            may_cancel=own and decide(caller, "ask", name).allowed,
            may_decide=_may_decide(caller, state, name, str(one["id"])),
        )
    }
    if given["decide"]:
        given["review"] = _review(str(one["id"]), caller, state)
    if one.get("answer") is not None or one.get("answers") is not None:
        job = releases.seen(state, caller, str(one["id"]))
        queries = [
            (answer.question, query_words(answer.question))
            for answer in state.release_service.answers(job) or ()
        ]
        sealed = _certificate(str(one["id"]), caller, state)
        given |= answered(one, sealed, queries, part=part, first=first)
        for each in given["parts"]:
            csv = next(link for link, _ in each["downloads"] if "format=csv" in link)
            each["programs"] = programs(f"{here}{csv}")
    if wrong is not None:
        given["wrong"] = wrong
    return HTMLResponse(page("release.html", state.settings.title, caller, given))


def _review(release: str, caller: Caller, state: ServiceState) -> dict[str, Any] | None:
    """Return what a reviewer decides by."""
    try:
        return reviewed(releases.review(release, caller, state).model_dump())
    except TacitError:  # the data set was declared again: approving says so
        return None


def _certificate(release: str, caller: Caller, state: ServiceState) -> Certificate:
    return Certificate(json.loads(bytes(releases.certificate(release, caller, state).body)))


def _may_decide(caller: Caller, state: ServiceState, dataset: str, release: str) -> bool:
    if not decide(caller, "approve", dataset).allowed:
        return False
    job = state.release_service.queue.find(release)
    return job is not None and not state.release_service.decisions.is_own(job, caller)


def _more(path: str, cursor: str | None, query: dict[str, str]) -> str | None:
    return f"{path}?{urlencode({**query, 'cursor': cursor})}" if cursor else None
