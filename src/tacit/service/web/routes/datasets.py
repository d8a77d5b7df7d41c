"""Data sets: their contents, budgets and refreshes, and previews of questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import Field

from tacit.accounting.budget import Budget
from tacit.accounting.ledger import accounts_of
from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.report.text import protects_line
from tacit.service.access import Caller, decide
from tacit.service.database import Later
from tacit.service.hosting.ask import preview_of
from tacit.service.hosting.datasets import Hosted
from tacit.service.hosting.declaring import collusion_words
from tacit.service.problem import Problem
from tacit.service.web.routing import (
    ERRORS,
    Body,
    CallerOf,
    Cursor,
    DatasetName,
    Limit,
    Line,
    PlanPreviewBody,
    PreviewBody,
    ReplyModel,
    Route,
    ask_of,
    needs,
)
from tacit.service.web.state import ServiceState, StateOf

router = APIRouter(route_class=Route, tags=["data sets"], responses=ERRORS)
_Json = dict[str, Any]


class DatasetItem(ReplyModel):
    """A data set in a list."""

    name: str
    purpose: str | None
    owner: str | None
    protects: str
    href: str


class DatasetList(ReplyModel):
    """A page of data sets, by name."""

    items: list[DatasetItem]
    next: str | None


class DatasetReply(ReplyModel):
    """The public description of a data set."""

    name: str
    identity: str
    purpose: str | None
    owner: str | None
    people: str | None
    protects: str
    unit: _Json | str
    table: str
    tables: dict[str, _Json]
    latency: float
    approval: bool
    collusion: str
    refreshes: str
    budget: _Json
    spent: _Json
    remaining: _Json


class AccountReply(ReplyModel):
    """A share of the budget."""

    name: str
    cap: _Json | None
    spent: _Json
    remaining: _Json | None


class BudgetReply(ReplyModel):
    """A budget, what is left of it, and the shares of it that the caller may see."""

    budget: _Json
    spent: _Json
    remaining: _Json
    belongs_to: str
    collusion: str
    accounts: list[AccountReply]


class PreviewReply(ReplyModel):
    """The cost of a release, and its expected errors."""

    cost: _Json
    remaining: _Json
    limited_by: list[str]
    affordable: bool
    replay: bool
    open: bool
    scheduled: str | None = Field(description="when a schedule makes it; it is not asked before")
    text: str
    protects: str
    rows: list[int]
    columns: list[_Json]
    notes: list[str]
    weak: str | None
    free: dict[str, _Json]
    preview: _Json


class LossBody(Body):
    """A privacy loss."""

    epsilon: str | int | float | None = None
    delta: str | int | float | None = None
    rho: str | int | float | None = None


class CapsBody(Body):
    """Caps of accounts, such as `team:oncology`; null takes one away."""

    caps: dict[str, LossBody | None] = Field(min_length=1, max_length=1000)
    reason: Line = Field(min_length=1, max_length=500)


class BudgetBody(LossBody):
    """The new total budget: it can only be raised."""

    reason: Line = Field(min_length=1, max_length=500)
    team: str | None = Field(None, max_length=100, description="where each team has its own budget")


@router.get("/v1/datasets")
def datasets(
    caller: CallerOf, state: StateOf, cursor: Cursor = "", limit: Limit = 100
) -> DatasetList:
    """List the data sets that the caller may see."""
    page_size = min(limit, state.settings.limits.page)
    names = [n for n in state.datasets.names if n > cursor]
    names = [n for n in names if decide(caller, "see_dataset", n).allowed]
    items = [_item(state.datasets.of(name)) for name in names[:page_size]]
    return DatasetList(items=items, next=names[page_size - 1] if len(names) > page_size else None)


@router.get("/v1/datasets/{name}")
def dataset(
    name: DatasetName,
    caller: Annotated[Caller, Depends(needs("see_dataset", on="name"))],
    state: StateOf,
) -> DatasetReply:
    """Describe a data set: its tables, whom it protects, and what is left of its budget."""
    hosted = state.datasets.of(name)
    declared = hosted.dataset
    ledger = hosted.ledger_shown(caller)
    total = ledger.total
    item = _item(hosted)
    return DatasetReply(
        name=name,
        identity=hosted.identity,
        purpose=item.purpose,
        owner=item.owner,
        people=hosted.settings.people,
        protects=item.protects,
        unit=declared.unit if isinstance(declared.unit, str) else dict(declared.unit),
        table=declared.table(),
        tables={table: shape.to_json() for table, shape in hosted.shapes().items()},
        latency=float(hosted.settings.latency),
        approval=hosted.settings.approval,
        collusion=collusion_words(hosted.owner),
        refreshes=state.refreshes.describe(name, total),
        budget=total.to_json(),
        spent=ledger.spent.to_json(),
        remaining=ledger.remaining.to_json(),
    )


@router.get("/v1/datasets/{name}/budget")
def budget(
    name: DatasetName,
    caller: Annotated[Caller, Depends(needs("see_budget", on="name"))],
    state: StateOf,
) -> BudgetReply:
    """Show the budget, what is spent of it, and the caps that the caller is under."""
    return _budget(state.datasets.of(name), caller, None)


@router.put("/v1/datasets/{name}/budget")
def raise_budget(
    name: DatasetName,
    body: BudgetBody,
    caller: Annotated[Caller, Depends(needs("set_budget", on="name"))],
    state: StateOf,
) -> BudgetReply:
    """Raise the budget, on record; all that was published is then protected by the new one."""
    hosted = state.datasets.of(name)
    _refuse_a_part(hosted, caller)
    if body.team is not None and not hosted.owner.per_team:
        raise Problem("invalid_request", "all teams share one budget here", "leave team out")
    ledger = hosted.ledger(body.team if body.team is not None else caller.team)
    total = _loss(body, ledger.total)
    ledger.extend(total, body.reason)
    details = {"budget": total.to_json(), "reason": body.reason}
    state.audit.acted("budget_raised", caller, dataset=name, details=details)
    return _budget(hosted, caller, body.team)


@router.put("/v1/datasets/{name}/caps")
def set_caps(
    name: DatasetName,
    body: CapsBody,
    caller: Annotated[Caller, Depends(needs("set_budget", on="name"))],
    state: StateOf,
) -> BudgetReply:
    """Set caps of teams and analysts: `team:NAME`, `analyst:NAME`, or `team:*` for all others."""
    hosted = state.datasets.of(name)
    _refuse_a_part(hosted, caller)
    total = hosted.ledger(hosted.team_shown(caller)).total
    caps = {
        account: None if loss is None else _loss(loss, total, zero=True)
        for account, loss in body.caps.items()
    }
    hosted.set_caps(caps, body.reason)
    recorded = {account: cap and cap.to_json() for account, cap in caps.items()}
    state.audit.acted("caps_changed", caller, dataset=name, details={"caps": recorded})
    return _budget(hosted, caller, None)


@router.post("/v1/datasets/{name}/preview", response_model=PreviewReply)
def preview(
    name: DatasetName,
    body: PreviewBody,
    caller: Annotated[Caller, Depends(needs("preview", on="name"))],
    state: StateOf,
) -> Later[_Json]:
    """Show the cost of a release and its expected errors; free, and no row is read."""
    return previewed(name, body, caller, state)


class PlanPreviewReply(PreviewReply):
    """The cost of a plan, its expected errors, its strategy, and what is free of it."""

    plan: _Json


@router.post("/v1/datasets/{name}/plans/preview", response_model=PlanPreviewReply)
def preview_plan(
    name: DatasetName,
    body: PlanPreviewBody,
    caller: Annotated[Caller, Depends(needs("preview", on="name"))],
    state: StateOf,
) -> Later[_Json]:
    """Show the errors of several questions together and one by one; free, and no row is read."""
    return previewed(name, body, caller, state)


def previewed(
    name: str, body: PreviewBody | PlanPreviewBody, caller: Caller, state: ServiceState
) -> Later[dict[str, Any]]:
    """Return the preview of a question or a plan, once it is on record."""
    hosted = state.datasets.of(name)
    notes = (collusion_words(hosted.owner), state.refreshes.describe(name, None))
    level = body.confidence
    ask = ask_of(body, state)
    reply = preview_of(
        ask,
        hosted,
        caller,
        rows=tuple(body.rows),
        confidence=None if level is None else str(level),
        notes=notes,
        hides=lambda key: state.release_service.hides(hosted, caller, key),
        waits=lambda key: state.release_service.waits(hosted, caller, key),
        free=lambda asked: state.release_service.free.errors(hosted, caller, asked, ask.tag),
    )
    details = {"cost": reply["cost"]}
    noted = state.batch_writer.begin("previewed", caller, dataset=name, details=details)
    return Later(noted, lambda _: reply)


def _item(hosted: Hosted) -> DatasetItem:
    declared = hosted.dataset
    unit = declared.unit_of(declared.protected[0])
    return DatasetItem(
        name=declared.name,
        purpose=declared.purpose if isinstance(declared.purpose, str) else None,
        owner=declared.owner if isinstance(declared.owner, str) else None,
        protects=protects_line(unit.describe()),
        href=f"/v1/datasets/{declared.name}",
    )


def _budget(hosted: Hosted, caller: Caller, team: str | None) -> BudgetReply:
    ledger = hosted.ledger_shown(caller) if team is None else hosted.ledger(team)
    owner = hosted.owner
    if hosted.shows_all(caller):
        accounts = accounts_of(ledger)
    else:
        accounts = [] if owner.per_team and caller.team is None else hosted.accounts(caller)
    return BudgetReply(
        budget=ledger.total.to_json(),
        spent=ledger.spent.to_json(),
        remaining=ledger.remaining.to_json(),
        belongs_to=f"the people {owner.name!r}" if owner.people else f"the data set {owner.name!r}",
        collusion=collusion_words(owner),
        accounts=[
            AccountReply(
                name=one.name,
                cap=None if one.cap is None else one.cap.to_json(),
                spent=one.spent.to_json(),
                remaining=None if one.remaining is None else one.remaining.to_json(),
            )
            for one in accounts
        ],
    )


def _refuse_a_part(hosted: Hosted, caller: Caller) -> None:
    """Raise if the caller is not curator of every data set that shares the budget."""
    if not all(decide(caller, "set_budget", name).allowed for name in hosted.sharing()):
        raise Problem(
            "forbidden",
            f"the budget belongs to the people {hosted.owner.name!r}, and other data sets share it",
            "ask a curator of all of them",
        )


def _loss(body: LossBody, like: Budget, zero: bool = False) -> Budget:
    """Return a loss, counted as a budget is."""
    given = {n: getattr(body, n) for n in ("epsilon", "delta", "rho")}
    exact = {
        n: as_fraction(repr(v) if isinstance(v, float) else v, n)
        for n, v in given.items()
        if v is not None
    }
    amount = "rho" if like.kind == "concentrated" else "epsilon"
    allowed = {amount, "delta"} if like.kind == "approximate" else {amount}
    if amount not in exact or set(exact) - allowed:
        raise UsageError(f"give it in the terms of the budget, {' and '.join(sorted(allowed))}")
    loss = Budget(like.kind, exact[amount], exact.get("delta", as_fraction(0)))
    if loss.is_nothing and not zero:
        raise Problem("invalid_request", "a budget is above zero")
    return loss


# Refreshes of data sets that grow: by call, and their history.


refresh_router = APIRouter(route_class=Route, tags=["refresh"], responses=ERRORS)


class RefreshReply(ReplyModel):
    """A refresh of a data set."""

    number: int
    at: float
    way: str


class Refreshed(ReplyModel):
    """All refreshes of a data set, and their meaning."""

    text: str
    schedule: str | None
    items: list[RefreshReply]


@refresh_router.post("/v1/datasets/{name}/refresh", status_code=202)
def refresh(
    name: DatasetName,
    caller: Annotated[Caller, Depends(needs("refresh", on="name"))],
    state: StateOf,
) -> RefreshReply:
    """Have a data set read again before its next question; the budget stays unchanged."""
    state.datasets.of(name)
    state.datasets.refuse_overlaps()
    made = state.refreshes.ask(name, caller.name, token=caller.token_id)
    state.metrics.refreshed(name)
    return RefreshReply(**asdict(made))


@refresh_router.get("/v1/datasets/{name}/refreshes")
def refreshes(
    name: DatasetName,
    _caller: Annotated[Caller, Depends(needs("see_dataset", on="name"))],
    state: StateOf,
) -> Refreshed:
    """List when a data set was read again (seconds since 1970, UTC), and by call or by clock."""
    hosted = state.datasets.of(name)
    return Refreshed(
        text=state.refreshes.describe(name, hosted.dataset.whole_budget),
        schedule=hosted.settings.refresh,
        items=[RefreshReply(**asdict(one)) for one in state.refreshes.history(name)],
    )
