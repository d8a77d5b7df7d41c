"""The page of declarations: a curator declares a data set, or changes what a curator declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tacit.errors import TacitError
from tacit.service.access.caller import EVERYTHING, Caller
from tacit.service.access.policy import decide, demand
from tacit.service.hosting.declaring import columns_of, data_files
from tacit.service.pages.dataset_view import home_of, protection
from tacit.service.pages.declare_view import checked, declared_in, form_of
from tacit.service.pages.frame import budget_of, page
from tacit.service.problem import Problem
from tacit.service.web.forms import Form, LargeFormOf
from tacit.service.web.problems import wrong as said_wrong
from tacit.service.web.routes import datasets, declarations
from tacit.service.web.routing import needs
from tacit.service.web.schemas import DatasetName
from tacit.service.web.state import State, StateOf

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
_Declaring = Annotated[Caller, Depends(needs("declare"))]
_Changing = Annotated[Caller, Depends(needs("declare", on="name"))]
_Word = Annotated[str, Query(max_length=300)]


@router.get("/declare")
def begin(caller: _Declaring, state: StateOf, name: _Word = "", file: _Word = "") -> HTMLResponse:
    """Ask for a name and a file; then for what is public of its columns."""
    given: dict[str, Any] = {"name": name}
    if not (name and file):
        return _page(caller, state, given)
    try:
        demand(caller, "declare", name)
        columns = columns_of(file, state.settings)
    except TacitError as error:
        return _page(caller, state, given, wrong=error)
    form = form_of(_new(name, file), {}, columns)
    return _page(caller, state, given, form=form)


@router.post("/declare")
def declare(caller: _Declaring, state: StateOf, form: LargeFormOf) -> Response:
    """Check the declaration of a new data set, or make it."""
    name, file = form.one("name"), form.one("file")
    demand(caller, "declare", name)
    return _sent(name, caller, state, form, _new(name, file), {}, None)


@router.get("/datasets/{name}/declaration")
def declaration(name: DatasetName, caller: _Changing, state: StateOf) -> HTMLResponse:
    """Show what a curator declared, to change it."""
    found = _standing(name, caller, state)
    form = form_of(found.declaration, found.hosting, _columns(name, state))
    return _page(caller, state, _kept(found, caller, state), form=form)


@router.post("/datasets/{name}/declaration")
def change(name: DatasetName, caller: _Changing, state: StateOf, form: LargeFormOf) -> Response:
    """Check a change of a declaration, or make it."""
    found = _standing(name, caller, state)
    text = form.one("number")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return _sent(name, caller, state, form, found.declaration, found.hosting, number or 1)


def _sent(
    name: str,
    caller: Caller,
    state: State,
    form: Form,
    standing: Mapping[str, Any],
    hosting: Mapping[str, Any],
    number: int | None,
) -> Response:
    """Do what a form asks; it is shown again with what was found."""
    fields, how = declared_in(form.one, standing, hosting)
    wrong, told = None, None
    try:
        body = declarations.DeclarationBody(declaration=fields, hosting=how, replaces=number)
        if form.one("action") == "declare":
            declarations.declare(name, body, caller, state, Response())
            return RedirectResponse(home_of(name), status_code=303)
        told = checked(declarations.check(name, body, caller, state).model_dump())
    except (TacitError, ValueError) as error:
        wrong = error
    try:
        columns = columns_of(form.one("file"), state.settings)
    except TacitError:
        columns = [form.one(f"c{n}") for n in range(len(fields))]
    if number is not None:
        columns = _columns(name, state)
    shown = form_of(fields, how, [one for one in columns if one])
    given = {"name": name}
    if number is not None:
        given = _kept(_standing(name, caller, state), caller, state)
    return _page(caller, state, given, form=shown, wrong=wrong, check=told)


def _new(name: str, file: str) -> dict[str, Any]:
    return {"tables": {name: {"path": file}}}


def _columns(name: str, state: State) -> list[str]:
    hosted = state.datasets.of(name)
    shape = hosted.shapes()[hosted.dataset.table()]
    return [column for column, _ in shape.schema.kinds()]


def _standing(name: str, caller: Caller, state: State) -> declarations.DeclarationReply:
    found = declarations.declaration(name, caller, state)
    if found.number is None:
        raise Problem(
            "conflict",
            f"{name!r} is declared in a file of the folder",
            "the operator changes it there",
        )
    return found


def _kept(found: declarations.DeclarationReply, caller: Caller, state: State) -> dict[str, Any]:
    """Return what stays of a data set that is declared."""
    said = datasets.dataset(found.name, caller, state)
    fixed = [
        ("Protects", protection(said.protects).removeprefix("Answers protect ")),
        ("Budget", f"{budget_of(said.budget)}; it is raised on its own page"),
        ("Table", said.table),
        ("Declared by", found.declared_by),
    ]
    return {
        "name": found.name,
        "number": found.number,
        "fixed": fixed,
        "kept": bool(found.hosting.get("approval")),
    }


def _page(
    caller: Caller,
    state: State,
    given: Mapping[str, Any],
    *,
    form: Mapping[str, Any] | None = None,
    wrong: Exception | None = None,
    check: Mapping[str, Any] | None = None,
) -> HTMLResponse:
    every = decide(caller, "declare", EVERYTHING).allowed
    name = str(given["name"])
    whole = {
        "number": None,
        "fixed": [],
        "kept": state.settings.default.approval,
        "home": home_of(name),
        "files": data_files(state.settings.folder) if every else [],
        "latency": f"{float(state.settings.default.latency):g}",
        "form": form,
        "check": check,
        "wrong": None if wrong is None else said_wrong(wrong),
        **given,
    }
    whole["action"] = f"{home_of(name)}/declaration" if whole["number"] else "/declare"
    return HTMLResponse(page("declare.html", state.settings.title, caller, whole))
