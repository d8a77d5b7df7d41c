"""The caller, and why they may do something or not."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from tacit.service.access import ACTIONS, RIGHTS, decide
from tacit.service.web.routing import CallerOf, MaybeCaller, Reply, refused

router = APIRouter(tags=["access"])


class GrantReply(Reply):
    """A role, and the data set that it is granted for."""

    role: str
    dataset: str


class Me(Reply):
    """The caller, as the service knows them."""

    name: str
    team: str | None
    grants: list[GrantReply]
    rights: list[str]
    token: str
    expires: float
    issued_by: str


class Why(Reply):
    """A decision and its reason."""

    allowed: bool
    because: str
    remedy: str


@router.get("/v1/me")
def me(caller: CallerOf) -> Me:
    """Describe the caller, their grants, and until when (seconds since 1970, UTC)."""
    rights = {action for role in caller.roles for action in RIGHTS[role]}
    return Me(
        name=caller.name,
        team=caller.team,
        grants=[GrantReply(role=grant.role, dataset=grant.dataset) for grant in caller.grants],
        rights=[action for action in ACTIONS if action in rights],
        token=caller.token_id,
        expires=caller.expires,
        issued_by=caller.issued_by,
    )


_Action = Annotated[str, Query(max_length=40, description="what to do, such as `ask`")]
_Dataset = Annotated[str | None, Query(max_length=100, description="where; any where left out")]


@router.get("/why", include_in_schema=False)
@router.get("/v1/why")
def why(request: Request, caller: MaybeCaller, action: _Action, dataset: _Dataset = None) -> Why:
    """Explain whether the caller may do something on a data set, and what would change it."""
    decision, void = decide(caller, action, dataset), refused(request)
    if void is not None:
        return Why(allowed=False, because=void.message, remedy=void.remedy)
    return Why(allowed=decision.allowed, because=decision.because, remedy=decision.remedy)
