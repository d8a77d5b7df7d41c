"""The page of declarations: a curator declares a data set, or changes what a curator declared."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tacit.errors import TacitError
from tacit.service.access import EVERYTHING, Caller, decide, demand
from tacit.service.hosting.declaring import columns_of
from tacit.service.hosting.declaring import files_to_declare as data_files
from tacit.service.pages.declare_view import added, checked, declared_in, form_of
from tacit.service.pages.frame import budget_of, page
from tacit.service.pages.views import home_of, protection
from tacit.service.problem import Problem
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import datasets, declarations
from tacit.service.web.routing import DatasetName, Form, LargeFormOf, Route, needs
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, include_in_schema=False)
_Declaring = Annotated[Caller, Depends(needs("declare"))]
_Changing = Annotated[Caller, Depends(needs("declare", on="name"))]
_Word = Annotated[str, Query(max_length=300)]


@router.get("/declare")
def begin(caller: _Declaring, state: StateOf, name: _Word = "", file: _Word = "") -> HTMLResponse:
    """Show the form for a name and a file; then for its columns."""
    given: dict[str, Any] = {"name": name}
    if not (name and file):
        return _page(caller, state, given)
    try:
        demand(caller, "declare", name)
        state.datasets.refuse_taken(name)
        columns = columns_of(file, state.settings)
    except TacitError as error:
        return _page(caller, state, given, wrong=error)
    form = form_of(_new(name, file), {}, {name: columns})
    return _page(caller, state, given, form=form)


@router.post("/declare")
def declare(caller: _Declaring, state: StateOf, form: LargeFormOf) -> Response:
    """Check the declaration of a new data set, or make it."""
    name = form.one("name")
    demand(caller, "declare", name)
    return _sent(name, caller, state, form, None, None)


@router.get("/datasets/{name}/declaration")
def declaration(name: DatasetName, caller: _Changing, state: StateOf) -> HTMLResponse:
    """Show a curator's declaration, to change it."""
    existing = _existing(name, caller, state)
    form = _form(existing.declaration, existing.hosting, state, existing)
    return _page(caller, state, _fixed_fields(existing, caller, state), form=form)


@router.post("/datasets/{name}/declaration")
def change(name: DatasetName, caller: _Changing, state: StateOf, form: LargeFormOf) -> Response:
    """Check a change of a declaration, or make it."""
    existing = _existing(name, caller, state)
    text = form.one("number")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return _sent(name, caller, state, form, existing, number or 1)


def _sent(
    name: str,
    caller: Caller,
    state: ServiceState,
    form: Form,
    existing: declarations.DeclarationReply | None,
    number: int | None,
) -> Response:
    """Handle a form; it is shown again with the result."""
    if existing is None:
        fields, how = declared_in(form.one, _new(name, form.one("file")), {})
    else:
        fields, how = declared_in(form.one, existing.declaration, existing.hosting)
    wrong, check = None, None
    try:
        if form.one("action") == "add":
            columns_of(form.one("newfile"), state.settings)
            shown = _form(added(fields, form.one), how, state, existing)
            given = _given(name, caller, state, existing) | {"number": number}
            return _page(caller, state, given, form=shown)
        body = declarations.DeclarationBody(declaration=fields, hosting=how, replaces=number)
        if form.one("action") == "declare":
            declarations.declare(name, body, caller, state, Response())
            return RedirectResponse(home_of(name), status_code=303)
        check = checked(declarations.check(name, body, caller, state).model_dump())
    except (TacitError, ValueError) as error:
        wrong = error
    shown = _form(fields, how, state, existing)
    given = _given(name, caller, state, existing)
    return _page(caller, state, given, form=shown, wrong=wrong, check=check)


def _new(name: str, file: str) -> dict[str, Any]:
    return {"tables": {name: {"path": file}}}


def _form(
    fields: Mapping[str, Any],
    how: Mapping[str, Any],
    state: ServiceState,
    existing: declarations.DeclarationReply | None,
) -> dict[str, Any]:
    """Return the contents of the form, with the columns of each table as they are read."""
    names: dict[str, list[str]] = {}
    stays: list[str] = []
    if existing is not None:
        hosted = state.datasets.of(existing.name)
        shapes = hosted.shapes()
        names = {name: [n for n, _ in shape.schema.kinds()] for name, shape in shapes.items()}
        stays = list(hosted.dataset.protected)
    for name, table in fields["tables"].items():
        if name not in names:
            names[name] = list(table.get("columns") or {})
            with suppress(TacitError):
                names[name] = columns_of(str(table.get("path", "")), state.settings)
    return form_of(fields, how, names, stays)


def _given(
    name: str, caller: Caller, state: ServiceState, existing: declarations.DeclarationReply | None
) -> dict[str, Any]:
    if existing is None:
        return {"name": name}
    return _fixed_fields(_existing(name, caller, state), caller, state)


def _existing(name: str, caller: Caller, state: ServiceState) -> declarations.DeclarationReply:
    reply = declarations.declaration(name, caller, state)
    if reply.number is None:
        raise Problem(
            "conflict",
            f"{name!r} is declared in a file of the folder",
            "the operator changes it there",
        )
    return reply


def _fixed_fields(
    existing: declarations.DeclarationReply, caller: Caller, state: ServiceState
) -> dict[str, Any]:
    """Return the fields of a declared data set that cannot change."""
    reply = datasets.dataset(existing.name, caller, state)
    fixed = [
        ("Protects", protection(reply.protects).removeprefix("Answers protect ")),
        ("Budget", f"{budget_of(reply.budget)}; it is raised on its own page"),
        ("Table", reply.table),
        ("Declared by", existing.declared_by),
    ]
    return {
        "name": existing.name,
        "number": existing.number,
        "fixed": fixed,
        "approval_required": bool(existing.hosting.get("approval")),
    }


def _page(
    caller: Caller,
    state: ServiceState,
    given: Mapping[str, Any],
    *,
    form: Mapping[str, Any] | None = None,
    wrong: Exception | None = None,
    check: Mapping[str, Any] | None = None,
) -> HTMLResponse:
    every = decide(caller, "declare", EVERYTHING).allowed
    name = str(given["name"])
    context = {
        "number": None,
        "fixed": [],
        "approval_required": state.settings.default.approval,
        "home": home_of(name),
        "files": data_files(state.settings.folder) if every else [],
        "latency": f"{float(state.settings.default.latency):g}",
        "form": form,
        "check": check,
        "wrong": None if wrong is None else form_problem(wrong),
        **given,
    }
    context["action"] = f"{home_of(name)}/declaration" if context["number"] else "/declare"
    return HTMLResponse(page("declare.html", state.settings.title, caller, context))
