"""The pages for everyone, and those of tokens and of the audit log."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tacit.errors import TacitError, UsageError
from tacit.outside import read_json
from tacit.report import Certificate
from tacit.service.access import EVERYTHING, Caller, decide
from tacit.service.pages.frame import STATIC, page, static_file
from tacit.service.pages.live_view import HIGHEST, KNOWN, LOWEST, explored, read_values
from tacit.service.pages.views import event, roles, token
from tacit.service.problem import Problem
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import access, operation
from tacit.service.web.routing import Anyone, CallerOf, Cursor, FormOf, MaybeCaller, Route, needs
from tacit.service.web.state import ServiceState, StateOf

# Signing in, checking a certificate, the explorer.


router = APIRouter(route_class=Route, include_in_schema=False)
_FIRST = "1, 2, 5, 7, 9"


@router.get("/")
def home(caller: MaybeCaller) -> RedirectResponse:
    """Go to the data sets, or to the sign-in."""
    return RedirectResponse("/sign-in" if caller is None else "/datasets", status_code=303)


@router.get("/static/{file}", dependencies=[Anyone])
def static(file: Annotated[str, Path(max_length=40)]) -> Response:
    """Give a style sheet, a script or the icon of the pages."""
    content = static_file(file)
    if content is None:
        raise Problem("not_found", "there is no such file")
    headers = {"Cache-Control": "public, max-age=300"}
    return Response(content, media_type=STATIC[file], headers=headers)


@router.get("/sign-in")
def way_in(caller: MaybeCaller, state: StateOf) -> Response:
    """Show the sign-in."""
    if caller is not None:
        return RedirectResponse("/datasets", status_code=303)
    given = {"wrong": None, "login": state.settings.login}
    return HTMLResponse(page("sign_in.html", state.settings.title, None, given))


@router.get("/explorer")
def explorer(
    caller: MaybeCaller,
    state: StateOf,
    statistic: Annotated[str, Query(max_length=20)] = "mean",
    values: Annotated[str, Query(max_length=200)] = _FIRST,
) -> HTMLResponse:
    """Show how far a statistic of made-up people moves where one joins or leaves."""
    given: dict[str, Any] = {"statistics": KNOWN, "statistic": statistic, "values": values}
    given |= {"picture": None, "wrong": None, "lowest": LOWEST, "highest": HIGHEST}
    try:
        given |= explored(statistic, read_values(values))
    except UsageError as error:
        given["wrong"] = form_problem(error)
    return HTMLResponse(page("explorer.html", state.settings.title, caller, given))


@router.get("/verify")
def verify(caller: CallerOf, state: StateOf) -> HTMLResponse:
    """Show the form to check a certificate."""
    given = {"wrong": None, "report": None}
    return HTMLResponse(page("verify.html", state.settings.title, caller, given))


@router.post("/verify")
def verified(caller: CallerOf, state: StateOf, form: FormOf) -> HTMLResponse:
    """Check a certificate, without the data."""
    shown_report, wrong = None, None
    try:
        body = read_json(form.one("certificate"), "the certificate")
        if not isinstance(body, dict):
            raise UsageError("a certificate is JSON that starts with {")
        report = Certificate(body).verify()
        lists = [("Failed", report.failures), ("Checked", report.checked)]
        lists.append(("Cannot be checked from here", report.unchecked))
        many = f"{len(report.checked)} checks passed, {len(report.failures)} failed."
        shown = [(title, list(dict.fromkeys(claims))) for title, claims in lists if claims]
        shown_report = {"holds": bool(report), "words": many, "lists": shown}
    except TacitError as error:
        wrong = form_problem(error)
    given = {"wrong": wrong, "report": shown_report}
    return HTMLResponse(page("verify.html", state.settings.title, caller, given))


# Tokens and the audit log.


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
        grant = access.GrantFields(role=form.one("role"), dataset=form.one("dataset"))
        days = form.whole("days", "Days")
        name, team = form.one("name").strip(), form.one("team").strip() or None
        body = access.NewToken(name=name, team=team, grants=[grant], days=days)
        made = {"name": name, "token": access.create(body, state, caller).token}
    except (TacitError, ValueError) as error:
        wrong = form_problem(error)
    return _tokens(caller, state, "", made=made, wrong=wrong)


@router.post("/tokens/{id}/revoke")
def revoke(id: access.TokenName, caller: CallerOf, state: StateOf) -> Response:
    """Make a token void."""
    try:
        access.revoke(id, state, caller)
    except TacitError as error:
        return _tokens(caller, state, "", wrong=form_problem(error))
    return RedirectResponse("/tokens", status_code=303)


@router.get("/audit")
def log(
    caller: Annotated[Caller, Depends(needs("audit"))], state: StateOf, cursor: Cursor = ""
) -> HTMLResponse:
    """Show who did what, the latest first."""
    events = operation.audit(caller, state, cursor, _PAGE, True)
    more = None if not events.next else f"/audit?cursor={quote(events.next, safe='')}"
    given = {"rows": [event(one.model_dump()) for one in events.items], "next": more}
    return HTMLResponse(page("audit.html", state.settings.title, caller, given))


def _tokens(
    caller: Caller,
    state: ServiceState,
    cursor: str,
    *,
    made: dict[str, Any] | None = None,
    wrong: object = None,
) -> HTMLResponse:
    grants = roles(caller)
    rows, more = [], None
    if grants:
        stored = access.listed(state, caller, cursor, _PAGE)
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
