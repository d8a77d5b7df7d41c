"""The pages for everyone: signing in, checking a certificate, the explorer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tacit.errors import TacitError, UsageError
from tacit.outside import read_json
from tacit.report import Certificate
from tacit.service.pages.frame import STATIC, page, static_file
from tacit.service.pages.live_view import HIGHEST, KNOWN, LOWEST, explored, read_values
from tacit.service.problem import Problem
from tacit.service.web.problems import form_problem
from tacit.service.web.routing import Anyone, CallerOf, FormOf, MaybeCaller
from tacit.service.web.state import StateOf

router = APIRouter(include_in_schema=False)
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
