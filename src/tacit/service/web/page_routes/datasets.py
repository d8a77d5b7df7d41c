"""The pages of data sets, of questions to them, and of their budgets."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tacit.errors import TacitError
from tacit.service.access import Caller, decide
from tacit.service.hosting.ask import capped_words
from tacit.service.jobs.queue import JobScope
from tacit.service.pages.frame import bar, page
from tacit.service.pages.views import (
    LOSSES,
    STATISTICS,
    account_in,
    card,
    expected,
    home_of,
    protection,
    questionable,
    shown_budget,
    shown_dataset,
    sql_of,
)
from tacit.service.problem import Problem
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import datasets, releases, saved
from tacit.service.web.routing import (
    AskBody,
    CallerOf,
    Cursor,
    DatasetName,
    Form,
    FormOf,
    MemberBody,
    PlanBody,
    PlanPreviewBody,
    PreviewBody,
    Route,
    needs,
)
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, include_in_schema=False)
_Seeing = Annotated[Caller, Depends(needs("see_dataset", on="name"))]
_Previewing = Annotated[Caller, Depends(needs("preview", on="name"))]
_Asking = Annotated[Caller, Depends(needs("ask", on="name"))]
_PAGE = 30
_CHOICE = ("statistic", "column", "by")


@router.get("/datasets")
def listed(caller: CallerOf, state: StateOf, cursor: Cursor = "") -> HTMLResponse:
    """Show the data sets that the caller may see."""
    listing = datasets.datasets(caller, state, cursor, _PAGE)
    rows = []
    for item in listing.items:
        fields = item.model_dump()
        try:
            if decide(caller, "see_budget", item.name).allowed:
                fields |= datasets.budget(item.name, caller, state).model_dump()
        except TacitError as error:  # the others can be used all the same
            fields["wrong"] = form_problem(error).message
        rows.append(card(fields, caller))
    more = None if not listing.next else f"/datasets?cursor={quote(listing.next, safe='')}"
    given = {"rows": rows, "next": more}
    return HTMLResponse(page("datasets.html", state.settings.title, caller, given))


@router.get("/datasets/{name}")
def dataset(name: DatasetName, caller: _Seeing, state: StateOf) -> HTMLResponse:
    """Show the contents of a data set, whom it protects, and its budget."""
    reply = datasets.dataset(name, caller, state).model_dump()
    if decide(caller, "see_budget", name).allowed:
        reply |= datasets.budget(name, caller, state).model_dump()
    from_page = state.datasets.curator_declaration(name) is not None
    given = shown_dataset(reply, caller, from_page=from_page)
    return HTMLResponse(page("dataset.html", state.settings.title, caller, given))


_Saved = Annotated[
    str,
    Query(
        alias="saved",
        pattern="^([0-9a-f]{32})?$",
        description="a saved question to fill the form with",
    ),
]


@router.get("/datasets/{name}/ask")
def ask(
    name: DatasetName, caller: _Previewing, state: StateOf, chosen: _Saved = ""
) -> HTMLResponse:
    """Show the form of a question."""
    return _asking(name, caller, state, _filled(name, caller, state, chosen), None, None)


@router.post("/datasets/{name}/ask")
def preview_question(
    name: DatasetName, caller: _Previewing, state: StateOf, form: FormOf
) -> HTMLResponse:
    """Write the chosen question in SQL, or preview one; nothing is spent."""
    reply = datasets.dataset(name, caller, state).model_dump()
    wrong, shown, sql = None, None, form.one("sql")
    try:
        untouched = not sql.strip() or sql.split() == form.one("written").split()
        if form.one("action") == "write" or (untouched and form.one("statistic")):
            sql = _chosen(form, str(reply["table"]))
        if form.one("action") == "write":
            return _asking(name, caller, state, form, None, None, sql=sql)
        body = PreviewBody(**ask_body(form, reply["budget"]["kind"], sql))
        preview = datasets.preview(name, body, caller, state).wait()
        shown = expected(
            preview,
            approval=bool(reply["approval"]),
            may_ask=decide(caller, "ask", name).allowed,
            key=secrets.token_urlsafe(18),
        )
    except (TacitError, ValueError) as error:
        wrong = form_problem(error)
    return _asking(name, caller, state, form, shown, wrong, sql=sql)


@router.post("/datasets/{name}/release")
def release(name: DatasetName, caller: _Asking, state: StateOf, form: FormOf) -> Response:
    """Ask for a release, and go to its page."""
    try:
        kind = datasets.dataset(name, caller, state).budget["kind"]
        body = AskBody(**ask_body(form, kind))
        made = releases.submit(name, body, caller, state, form.one("key")[:200] or None).wait()
    except (TacitError, ValueError) as error:
        return _asking(name, caller, state, form, None, form_problem(error))
    return RedirectResponse(f"/releases/{made.id}?wait=5", status_code=303)


# The page of several questions together: their strategy and errors, before they are released.


_AIMS = (
    ("total", "in total"),
    ("relative", "relative to the counts"),
    ("worst", "of the answer with the largest"),
)


@router.get("/datasets/{name}/plan")
def plan(
    name: DatasetName, caller: _Previewing, state: StateOf, chosen: _Saved = ""
) -> HTMLResponse:
    """Show the form of several questions."""
    return _planning(name, caller, state, _filled(name, caller, state, chosen), None, None)


@router.post("/datasets/{name}/plan")
def preview_plan(
    name: DatasetName, caller: _Previewing, state: StateOf, form: FormOf
) -> HTMLResponse:
    """Preview several questions together, or add one to the form; nothing is spent."""
    if form.one("action") == "add":
        return _planning(name, caller, state, form, None, None)
    try:
        reply = datasets.dataset(name, caller, state)
        body = PlanPreviewBody(**plan_body(form, reply.budget["kind"]))
        shown = expected(
            datasets.preview_plan(name, body, caller, state).wait(),
            approval=reply.approval,
            may_ask=decide(caller, "ask", name).allowed,
            key=secrets.token_urlsafe(18),
        )
    except (TacitError, ValueError) as error:
        return _planning(name, caller, state, form, None, form_problem(error))
    return _planning(name, caller, state, form, shown, None)


@router.post("/datasets/{name}/plan/release")
def release_plan(name: DatasetName, caller: _Asking, state: StateOf, form: FormOf) -> Response:
    """Ask for the release of several questions together, and go to its page."""
    try:
        kind = datasets.dataset(name, caller, state).budget["kind"]
        body = PlanBody(**plan_body(form, kind))
        key = form.one("key")[:200] or None
        made = releases.submit_plan(name, body, caller, state, key).wait()
    except (TacitError, ValueError) as error:
        return _planning(name, caller, state, form, None, form_problem(error))
    return RedirectResponse(f"/releases/{made.id}?wait=5", status_code=303)


def questions_in(form: Form) -> list[str]:
    return [text for text in form.all("sql") if text.strip()]


def plan_body(form: Form, kind: str) -> dict[str, Any]:
    questions = questions_in(form)
    if not questions:
        raise Problem("invalid_request", "there is no question", "write one, in SQL")
    price = ask_body(form, kind, sql="")
    members = [MemberBody(sql=text.strip(), question=None, described=None) for text in questions]
    return {**price, "questions": members, "least": form.one("least") or None}


def _caps(name: str, caller: Caller, state: ServiceState) -> str:
    """Return the caps that leave a caller less than the budget does, in words."""
    with suppress(Problem):  # a caller without a team, where each has a budget
        return " ".join(capped_words(state.datasets.of(name).left(caller)))
    return ""


def _planning(
    name: str,
    caller: Caller,
    state: ServiceState,
    form: Form,
    preview: Mapping[str, Any] | None,
    wrong: object,
) -> HTMLResponse:
    reply = datasets.dataset(name, caller, state).model_dump()
    kind, most = reply["budget"]["kind"], state.settings.limits.plan_questions
    written = questions_in(form)
    blank = 1 if written and form.one("action") != "add" else 2
    questions = [*written, *[""] * min(blank, most - len(written))]
    given = {
        "name": name,
        "home": home_of(name),
        "protects": protection(reply["protects"]),
        "whole": bar(reply["budget"], reply["remaining"]),
        "capped": _caps(name, caller, state),
        "questions": questions,
        "full": len(questions) >= most,
        "most": most,
        "loss": LOSSES[kind],
        "amount": form.one("amount") or "0.1",
        "delta": form.one("delta") if kind == "approximate" else None,
        "aims": _AIMS,
        "least": form.one("least"),
        "tag": form.one("tag"),
        "saved": _saved_rows(name, caller, state),
        "preview": preview,
        "wrong": wrong,
    }
    return HTMLResponse(page("plan.html", state.settings.title, caller, given))


# Saved questions: the forms of questions and plans, filled in again.


@router.post("/datasets/{name}/saved")
def save(name: DatasetName, caller: _Previewing, state: StateOf, form: FormOf) -> Response:
    """Save a question or a plan as it was written, and return to the form."""
    many = form.one("kind") == "plan"
    try:
        kind = datasets.dataset(name, caller, state).budget["kind"]
        body = PlanBody(**plan_body(form, kind)) if many else AskBody(**ask_body(form, kind))
        title = form.one("title").strip()
        saved.save(name, saved.SaveBody(title=title, request=body), caller, state)
    except (TacitError, ValueError) as error:
        shown = _planning if many else _asking
        return shown(name, caller, state, form, None, form_problem(error))
    return RedirectResponse(f"{home_of(name)}/{'plan' if many else 'ask'}", status_code=303)


@router.post("/datasets/{name}/saved/{one}/delete")
def delete_saved(
    name: DatasetName, one: saved.SavedName, caller: _Previewing, state: StateOf
) -> Response:
    """Delete a saved question."""
    saved.delete(name, one, caller, state)
    return RedirectResponse(f"{home_of(name)}/ask", status_code=303)


def _filled(name: str, caller: Caller, state: ServiceState, one: str) -> Form:
    """Return the fields of a saved question; none without one."""
    if not one:
        return Form({})
    ask = state.saved.find(state.datasets.of(name), caller, one).ask
    price: Any = ask.price
    members = ask.content["questions"] if ask.is_plan else [{ask.way: ask.content}]
    fields = {
        "sql": [member.get("sql", "") for member in members],
        "amount": [str(price.get("epsilon") or price.get("rho") or "")],
        "delta": [str(price.get("delta") or "")],
        "tag": [price.get("tag") or ""],
        "least": [ask.content.get("least", "") if ask.is_plan else ""],
    }
    return Form(fields)


def _saved_rows(name: str, caller: Caller, state: ServiceState) -> list[dict[str, Any]]:
    """Return the saved questions of a caller; those in SQL can be opened in a form."""
    rows = []
    for item in saved.saved(name, caller, state).items:
        many = "questions" in item.request
        members = item.request["questions"] if many else [item.request]
        # A form has fields for these alone: what it left out would be another question.
        known = {"sql", "questions", "epsilon", "delta", "rho", "tag", "least", "free"}
        sql = all("sql" in one for one in members) and known.issuperset(item.request)
        sql = sql and not any(isinstance(item.request.get(n), dict) for n in ("epsilon", "rho"))
        form = f"{home_of(name)}/{'plan' if many else 'ask'}?saved={item.id}" if sql else None
        row = {"id": item.id, "title": item.title, "question": item.question, "form": form}
        rows.append(row)
    return rows


def _chosen(form: Form, table: str) -> str:
    statistic, column, by = (form.one(field) for field in _CHOICE)
    if statistic not in ("", "count") and not column:
        words = dict(STATISTICS).get(statistic, "this")
        raise Problem("invalid_request", f"choose the column: {words} is of a column")
    return sql_of(table, statistic, column, by)


def ask_body(form: Form, kind: str, sql: str | None = None) -> dict[str, Any]:
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
    state: ServiceState,
    form: Form,
    preview: Mapping[str, Any] | None,
    wrong: object,
    sql: str | None = None,
) -> HTMLResponse:
    reply = datasets.dataset(name, caller, state).model_dump()
    kind = reply["budget"]["kind"]
    text = form.one("sql") if sql is None else sql
    chosen = {field: form.one(field) for field in _CHOICE}
    given = {
        "name": name,
        "home": home_of(name),
        "protects": protection(reply["protects"]),
        "whole": bar(reply["budget"], reply["remaining"]),
        "capped": _caps(name, caller, state),
        "statistics": STATISTICS,
        "written": text if text.split() == sql_of(reply["table"], *chosen.values()).split() else "",
        "chosen": chosen,
        **questionable(reply),
        "sql": text,
        "loss": LOSSES[kind],
        "kind": kind,
        "amount": form.one("amount") or "0.1",
        "delta": form.one("delta") if kind == "approximate" else None,
        "tag": form.one("tag"),
        "saved": _saved_rows(name, caller, state),
        "preview": preview,
        "wrong": wrong,
    }
    return HTMLResponse(page("ask.html", state.settings.title, caller, given))


# The page of a budget: curators raise it, set caps, and see charges without an answer.


_Setting = Annotated[Caller, Depends(needs("set_budget", on="name"))]
_MAX_LISTED = 100


@router.get("/datasets/{name}/budget")
def budget(name: DatasetName, caller: _Setting, state: StateOf) -> HTMLResponse:
    """Show a budget, its caps, and the forms to change them."""
    return _budget_page(name, caller, state)


@router.post("/datasets/{name}/budget")
def change(name: DatasetName, caller: _Setting, state: StateOf, form: FormOf) -> HTMLResponse:
    """Raise a budget, or set a cap."""
    try:
        done = _changed(name, caller, state, form)
    except (TacitError, ValueError) as error:
        return _budget_page(name, caller, state, wrong=form_problem(error))
    return _budget_page(name, caller, state, done=done)


def _changed(name: str, caller: Caller, state: ServiceState, form: Form) -> str:
    kind = datasets.budget(name, caller, state).budget["kind"]
    loss = "rho" if kind == "concentrated" else "epsilon"
    values: dict[str, Any] = {loss: form.one("amount").strip(), "delta": form.one("delta").strip()}
    amounts = {field: text for field, text in values.items() if text}
    reason = form.one("reason").strip()
    if form.one("action") == "raise":
        team = form.one("team").strip() or None
        raised = datasets.BudgetBody(**amounts, reason=reason, team=team)
        datasets.raise_budget(name, raised, caller, state)
        return "The budget is raised; the ledger and the audit log record by whom and why."
    account = account_in(form.one)
    cap = datasets.LossBody(**amounts) if amounts else None
    datasets.set_caps(name, datasets.CapsBody(caps={account: cap}, reason=reason), caller, state)
    return f"The cap of {account} is {'set' if amounts else 'removed'}."


def _budget_page(
    name: str, caller: Caller, state: ServiceState, *, done: str | None = None, wrong: object = None
) -> HTMLResponse:
    reply = datasets.budget(name, caller, state).model_dump()
    left: list[dict[str, Any]] = []
    if decide(caller, "see_releases", name).allowed:
        jobs = state.release_service.queue.listed(
            [JobScope(name)],
            left_open=True,
            per_team=[name] if state.datasets.of(name).owner.per_team else [],
            limit=_MAX_LISTED,
        )
        left = [releases.shown_release(state, job).model_dump() for job in jobs]
    given = shown_budget(name, reply, left, state.datasets.of(name).owner.per_team)
    given |= {"done": done, "wrong": wrong}
    return HTMLResponse(page("budget.html", state.settings.title, caller, given))
