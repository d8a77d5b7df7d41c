"""The pages of tokens and of the audit log."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tacit.errors import TacitError
from tacit.service.access import EVERYTHING, Caller, decide
from tacit.service.pages.frame import page
from tacit.service.pages.views import event, roles, token
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import audit, tokens
from tacit.service.web.routing import CallerOf, Cursor, FormOf, needs
from tacit.service.web.state import State, StateOf

router = APIRouter(include_in_schema=False)
_PAGE = 50


@router.get("/tokens")
def listed(caller: CallerOf, state: StateOf, cursor: Cursor = "") -> HTMLResponse:
    """Show the tokens that the caller may revoke, and the form for a new one."""
    return _tokens(caller, state, cursor)


@router.post("/tokens")
def create(
    caller: Annotated[Caller, Depends(needs("tokens"))], state: StateOf, form: FormOf
) -> HTMLResponse:
    """Make a token; it is shown once."""
    made, wrong = None, None
    try:
        grant = tokens.GrantFields(role=form.one("role"), dataset=form.one("dataset"))
        days = int(form.one("days") or "0")
        name, team = form.one("name").strip(), form.one("team").strip() or None
        body = tokens.NewToken(name=name, team=team, grants=[grant], days=days)
        made = {"name": name, "token": tokens.create(body, state, caller).token}
    except (TacitError, ValueError) as error:
        wrong = form_problem(error)
    return _tokens(caller, state, "", made=made, wrong=wrong)


@router.post("/tokens/{id}/revoke")
def revoke(id: tokens.TokenName, caller: CallerOf, state: StateOf) -> Response:
    """Make a token void."""
    try:
        tokens.revoke(id, state, caller)
    except TacitError as error:
        return _tokens(caller, state, "", wrong=form_problem(error))
    return RedirectResponse("/tokens", status_code=303)


@router.get("/audit")
def log(
    caller: Annotated[Caller, Depends(needs("audit"))], state: StateOf, cursor: Cursor = ""
) -> HTMLResponse:
    """Show who did what, the latest first."""
    events = audit.audit(caller, state, cursor, _PAGE, True)
    more = None if not events.next else f"/audit?cursor={quote(events.next, safe='')}"
    given = {"rows": [event(one.model_dump()) for one in events.items], "next": more}
    return HTMLResponse(page("audit.html", state.settings.title, caller, given))


def _tokens(
    caller: Caller,
    state: State,
    cursor: str,
    *,
    made: dict[str, Any] | None = None,
    wrong: object = None,
) -> HTMLResponse:
    grants = roles(caller)
    rows, more = [], None
    if grants:
        stored = tokens.listed(state, caller, cursor, _PAGE)
        rows = [token(one.model_dump(), state.clock()) for one in stored.items]
        more = f"/tokens?cursor={quote(stored.next, safe='')}" if stored.next else None
    names = [n for n in state.datasets.names if decide(caller, "tokens", n).allowed]
    if decide(caller, "tokens", EVERYTHING).allowed:
        names.append(EVERYTHING)
    given = {
        "rows": rows,
        "next": more,
        "roles": grants,
        "datasets": names,
        "may_create": bool(grants),
        "made": made,
        "wrong": wrong,
    }
    return HTMLResponse(page("tokens.html", state.settings.title, caller, given))
