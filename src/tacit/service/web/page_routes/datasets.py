"""The pages of data sets: what they hold, and asking them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tacit.errors import TacitError
from tacit.service.access import Caller, decide
from tacit.service.pages.frame import bar, page
from tacit.service.pages.views import (
    LOSSES,
    STATISTICS,
    card,
    expected,
    home_of,
    protection,
    questionable,
    shown_dataset,
    sql_of,
)
from tacit.service.problem import Problem
from tacit.service.web.problems import wrong as said_wrong
from tacit.service.web.routes import datasets, releases
from tacit.service.web.routing import (
    AskBody,
    CallerOf,
    Cursor,
    DatasetName,
    Form,
    FormOf,
    PreviewBody,
    needs,
)
from tacit.service.web.state import State, StateOf

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
_Seeing = Annotated[Caller, Depends(needs("see_dataset", on="name"))]
_Previewing = Annotated[Caller, Depends(needs("preview", on="name"))]
_Asking = Annotated[Caller, Depends(needs("ask", on="name"))]
_PAGE = 30
_CHOICE = ("statistic", "column", "by")


@router.get("/datasets")
def listed(caller: CallerOf, state: StateOf, cursor: Cursor = "") -> HTMLResponse:
    """Show the data sets that the caller may see."""
    found = datasets.datasets(caller, state, cursor, _PAGE)
    rows = []
    for item in found.items:
        said = item.model_dump()
        if decide(caller, "see_budget", item.name).allowed:
            said |= datasets.budget(item.name, caller, state).model_dump()
        rows.append(card(said, caller))
    more = None if not found.next else f"/datasets?cursor={quote(found.next, safe='')}"
    given = {"rows": rows, "next": more}
    return HTMLResponse(page("datasets.html", state.settings.title, caller, given))


@router.get("/datasets/{name}")
def dataset(name: DatasetName, caller: _Seeing, state: StateOf) -> HTMLResponse:
    """Show what a data set holds, whom it protects, and its budget."""
    said = datasets.dataset(name, caller, state).model_dump()
    if decide(caller, "see_budget", name).allowed:
        said |= datasets.budget(name, caller, state).model_dump()
    from_page = state.datasets.standing(name) is not None
    given = shown_dataset(said, caller, from_page=from_page)
    return HTMLResponse(page("dataset.html", state.settings.title, caller, given))


@router.get("/datasets/{name}/ask")
def ask(name: DatasetName, caller: _Previewing, state: StateOf) -> HTMLResponse:
    """Show where a question is written."""
    return _asking(name, caller, state, Form({}), None, None)


@router.post("/datasets/{name}/ask")
def asked(name: DatasetName, caller: _Previewing, state: StateOf, form: FormOf) -> HTMLResponse:
    """Write a question that was chosen by clicking in SQL, or preview one; nothing is spent."""
    said = datasets.dataset(name, caller, state).model_dump()
    wrong, shown, sql = None, None, form.one("sql")
    try:
        untouched = not sql.strip() or sql.split() == form.one("written").split()
        if form.one("action") == "write" or (untouched and form.one("statistic")):
            sql = _chosen(form, str(said["table"]))
        if form.one("action") == "write":
            return _asking(name, caller, state, form, None, None, sql=sql)
        body = PreviewBody(**_body(form, said["budget"]["kind"], sql))
        told = datasets.preview(name, body, caller, state).model_dump()
        shown = expected(
            told,
            approval=bool(said["approval"]),
            may_ask=decide(caller, "ask", name).allowed,
            key=secrets.token_urlsafe(18),
        )
    except (TacitError, ValueError) as error:
        wrong = said_wrong(error)
    return _asking(name, caller, state, form, shown, wrong, sql=sql)


@router.post("/datasets/{name}/release")
def release(name: DatasetName, caller: _Asking, state: StateOf, form: FormOf) -> Response:
    """Ask for a release, and go to its page."""
    try:
        kind = datasets.dataset(name, caller, state).budget["kind"]
        body = AskBody(**_body(form, kind))
        made = releases.submit(name, body, caller, state, form.one("key")[:200] or None)
    except (TacitError, ValueError) as error:
        return _asking(name, caller, state, form, None, said_wrong(error))
    return RedirectResponse(f"/releases/{made.id}?wait=5", status_code=303)


def _chosen(form: Form, table: str) -> str:
    """Return in SQL what was chosen by clicking."""
    statistic, column, by = (form.one(field) for field in _CHOICE)
    if statistic not in ("", "count") and not column:
        words = dict(STATISTICS).get(statistic, "this")
        raise Problem("invalid_request", f"choose the column: {words} is of a column")
    return sql_of(table, statistic, column, by)


def _body(form: Form, kind: str, sql: str | None = None) -> dict[str, Any]:
    """Return the fields of a request that a form holds."""
    free = form.one("free") == "yes"
    price = {
        LOSSES[kind]: form.one("amount").strip() or None,
        "delta": form.one("delta").strip() or None,
    }
    given = {
        "sql": (form.one("sql") if sql is None else sql).strip() or None,
        "tag": form.one("tag").strip() or None,
        **({"free": True} if free else price),
    }
    return {name: value for name, value in given.items() if value is not None}


def _asking(
    name: str,
    caller: Caller,
    state: State,
    form: Form,
    preview: Mapping[str, Any] | None,
    wrong: object,
    sql: str | None = None,
) -> HTMLResponse:
    said = datasets.dataset(name, caller, state).model_dump()
    kind = said["budget"]["kind"]
    text = form.one("sql") if sql is None else sql
    chosen = {field: form.one(field) for field in _CHOICE}
    given = {
        "name": name,
        "home": home_of(name),
        "protects": protection(said["protects"]),
        "whole": bar(said["budget"], said["remaining"]),
        "statistics": STATISTICS,
        "written": text if text.split() == sql_of(said["table"], *chosen.values()).split() else "",
        "chosen": chosen,
        **questionable(said),
        "sql": text,
        "loss": LOSSES[kind],
        "kind": kind,
        "amount": form.one("amount") or "0.1",
        "delta": form.one("delta") if kind == "approximate" else None,
        "tag": form.one("tag"),
        "preview": preview,
        "wrong": wrong,
    }
    return HTMLResponse(page("ask.html", state.settings.title, caller, given))
