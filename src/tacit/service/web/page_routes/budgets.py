"""The page of a budget: curators raise it, set caps, and see charges without an answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse

from tacit.errors import TacitError
from tacit.service.access import Caller, decide
from tacit.service.jobs.queue import JobScope
from tacit.service.pages.frame import page
from tacit.service.pages.views import account_in, shown_budget
from tacit.service.web.problems import form_problem
from tacit.service.web.routes import datasets, releases
from tacit.service.web.routing import DatasetName, Form, FormOf, needs
from tacit.service.web.state import State, StateOf

router = APIRouter(include_in_schema=False)
_Setting = Annotated[Caller, Depends(needs("set_budget", on="name"))]
_MAX_LISTED = 100


@router.get("/datasets/{name}/budget")
def budget(name: DatasetName, caller: _Setting, state: StateOf) -> HTMLResponse:
    """Show a budget, its caps, and the forms to change them."""
    return _page(name, caller, state)


@router.post("/datasets/{name}/budget")
def change(name: DatasetName, caller: _Setting, state: StateOf, form: FormOf) -> HTMLResponse:
    """Raise a budget, or set a cap."""
    try:
        done = _changed(name, caller, state, form)
    except (TacitError, ValueError) as error:
        return _page(name, caller, state, wrong=form_problem(error))
    return _page(name, caller, state, done=done)


def _changed(name: str, caller: Caller, state: State, form: Form) -> str:
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


def _page(
    name: str, caller: Caller, state: State, *, done: str | None = None, wrong: object = None
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
