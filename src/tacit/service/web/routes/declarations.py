"""Declarations of data sets: read, checked, made and changed by curators."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Response
from pydantic import Field

from tacit.accounting.ledger_chain import canonical
from tacit.arithmetic.exact import show
from tacit.errors import DataSourceError
from tacit.report.text import protects_line
from tacit.service.access import Caller, demand
from tacit.service.hosting.declaring import HOSTING, SentDeclaration, changes_of, notes_on
from tacit.service.problem import Problem
from tacit.service.refresh.refreshes import Schedule
from tacit.service.settings import Caps, DatasetSettings
from tacit.service.web.routes.datasets import DatasetReply, dataset
from tacit.service.web.routing import ERRORS, Body, DatasetName, ReplyModel, Route, needs
from tacit.service.web.state import ServiceState, StateOf
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.draft import shapes_of

router = APIRouter(route_class=Route, tags=["data sets"], responses=ERRORS)
_Json = dict[str, Any]
_Declaring = Annotated[Caller, Depends(needs("declare", on="name"))]


class DeclarationBody(Body):
    """A declaration, and how its data set is hosted."""

    declaration: _Json = Field(description="the fields of a declaration, as its file has them")
    hosting: _Json = Field(
        default_factory=dict,
        description=f"those of {', '.join(HOSTING)} that differ from the defaults",
    )
    replaces: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="the number of the declaration that this one changes"
    )


class DeclarationReply(ReplyModel):
    """The declaration in force: a curator's has a number, the operator's file has none."""

    name: str
    number: int | None
    declared_by: str
    declared_at: float | None
    declaration: _Json
    hosting: _Json


class DeclarationCheck(ReplyModel):
    """The result of a checked declaration; nothing is written."""

    name: str
    protects: str
    budget: _Json
    tables: dict[str, _Json]
    hosting: _Json
    changes: list[str]
    notes: list[str]


@router.get("/v1/datasets/{name}/declaration")
def declaration(name: DatasetName, caller: _Declaring, state: StateOf) -> DeclarationReply:
    """Show how a data set is declared and hosted, and the number to change it by."""
    hosted = state.datasets.of(name)
    made = state.datasets.curator_declaration(name)
    by_operator = made is None
    if made is None:
        fields, how = _plain(hosted.dataset.to_fields()), hosting_json(hosted.settings)
        made = SentDeclaration(name, fields, how, "operator", 0.0)
    return DeclarationReply(
        name=name,
        number=None if by_operator else made.number,
        declared_by=made.who,
        declared_at=None if by_operator else made.at,
        declaration=dict(made.fields),
        hosting=dict(made.hosting),
    )


@router.post("/v1/datasets/{name}/declaration/check")
def check(
    name: DatasetName, body: DeclarationBody, caller: _Declaring, state: StateOf
) -> DeclarationCheck:
    """Check a declaration against its tables, and show its result; writes nothing."""
    made = _made(name, body, caller, state)
    dataset, how = _checked(made, body, caller, state)
    existing = state.datasets.curator_declaration(name)
    budget = dataset.whole_budget
    assert budget is not None
    return DeclarationCheck(
        name=name,
        protects=protects_line(dataset.unit_of(dataset.protected[0]).describe()),
        budget=budget.to_json(),
        tables={table: shape.to_json() for table, shape in shapes_of(dataset).items()},
        hosting=hosting_json(how),
        changes=[] if existing is None else _changes(existing, made),
        notes=notes_on(dataset, how),
    )


@router.put(
    "/v1/datasets/{name}",
    status_code=201,
    responses={200: {"model": DatasetReply, "description": "It replaces a declaration"}},
)
def declare(
    name: DatasetName, body: DeclarationBody, caller: _Declaring, state: StateOf, response: Response
) -> DatasetReply:
    """Declare a data set whose tables are files in the data folder, or declare it again.

    A declaration in force is changed by naming it in `replaces`; its unit, its people, its
    files and its budget stay, because the ledger counts in them.
    """
    made = _made(name, body, caller, state)
    _checked(made, body, caller, state)
    existing = state.datasets.curator_declaration(name)
    if body.replaces is not None:
        _refuse_while_running(state, name)
        response.status_code = 200
    changes = [] if existing is None else _changes(existing, made)
    digest = hashlib.sha256(canonical([made.fields, made.hosting], "it").encode()).hexdigest()

    def note(run: sa.Connection) -> None:
        state.audit.acted(
            "declaration_changed",
            caller,
            dataset=name,
            details={"digest": digest, "changes": changes},
            connection=run,
        )

    state.datasets.declare(made, body.replaces, note)
    if body.replaces is None:
        state.refreshes.begin(name)
    else:  # its tables are opened again
        state.refreshes.ask(name, caller.name, token=caller.token_id)
    return dataset(name, caller, state)


def hosting_json(how: DatasetSettings) -> _Json:
    """Return the hosting of a data set, as :class:`DeclarationBody` has it."""
    fields = {
        "latency": show(how.latency),
        "approval": how.approval,
        "people": how.people,
        "refresh": how.refresh,
        "caps": _caps(how.caps),
    }
    return {name: value for name, value in fields.items() if value not in (None, {}, False)}


def _caps(caps: Caps) -> _Json:
    def amounts(cap: Any) -> _Json:
        return {n: v for n, v in cap.to_json().items() if n != "kind"}

    each = {"each_team": caps.each_team, "each_analyst": caps.each_analyst}
    named = {"teams": caps.teams, "analysts": caps.analysts}
    fields: _Json = {name: amounts(cap) for name, cap in each.items() if cap is not None}
    return fields | {k: {n: amounts(cap) for n, cap in of.items()} for k, of in named.items() if of}


def _made(name: str, body: DeclarationBody, caller: Caller, state: ServiceState) -> SentDeclaration:
    return SentDeclaration(name, body.declaration, body.hosting, caller.name, state.clock())


def _checked(
    made: SentDeclaration, body: DeclarationBody, caller: Caller, state: ServiceState
) -> tuple[Dataset, DatasetSettings]:
    """Raise if a declaration is invalid, or shares a budget that the caller may not set."""
    try:
        dataset, how = state.datasets.check(made, body.replaces)
    except DataSourceError:  # whose message may quote the data
        raise Problem(
            "invalid_request",
            "a table cannot be opened as it is declared",
            "look at its path, which begins with data/, and at how the file is read; the operator "
            "puts files there, and sees more with tacit check",
        ) from None
    if how.refresh is not None:
        Schedule.parse(how.refresh)
    if how.people is not None:
        for other in state.datasets.names:
            if state.datasets.of(other).settings.people == how.people:
                demand(caller, "set_budget", other)
    return dataset, how


def _refuse_while_running(state: ServiceState, name: str) -> None:
    """Raise if answers of a data set are being computed: a change would lose them."""
    running = state.release_service.queue.count_by_state().get((name, "running"), 0)
    if running:
        raise Problem(
            "conflict",
            f"{running} questions to {name!r} are being answered under its present declaration",
            "try again after their tick",
            {"running": running},
        )


def _changes(existing: SentDeclaration, made: SentDeclaration) -> list[str]:
    before = {"declaration": existing.fields, "hosting": existing.hosting}
    return changes_of(before, {"declaration": made.fields, "hosting": made.hosting})


def _plain(value: Any) -> Any:
    """Return the fields of a declaration as JSON."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return show(value) if isinstance(value, Fraction) else str(value)
