"""Tokens: created by curators, narrowed by their owners, listed and revoked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path
from pydantic import Field

from tacit.service.access import Caller, Grant, decide, demand
from tacit.service.problem import Problem
from tacit.service.tokens import Stored
from tacit.service.web.routing import Body, CallerOf, Cursor, Limit, Reply, needs
from tacit.service.web.state import State, StateOf

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])
_DAY = 24 * 3600

_Days = Annotated[float, Field(gt=0, le=366, description="how long the token lives")]
TokenName = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="the public name of a token")]


class GrantFields(Body):
    """A role, and the data set that it is for; `*` for all."""

    role: Annotated[str, Field(max_length=40)]
    dataset: Annotated[str, Field(min_length=1, max_length=100)]


class NewToken(Body):
    """Owner and grants of a new token."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    team: Annotated[str | None, Field(min_length=1, max_length=100)] = None
    grants: Annotated[list[GrantFields], Field(min_length=1, max_length=100)]
    days: _Days = 90


class NarrowToken(Body):
    """Grants of the new token: no more than yours, and no longer."""

    grants: Annotated[list[GrantFields] | None, Field(min_length=1, max_length=100)] = None
    days: _Days = 1


class TokenInfo(Reply):
    """A token as stored, without its text."""

    id: str
    kind: str
    name: str
    team: str | None
    grants: list[GrantFields]
    parent: str | None
    issued_by: str
    created: float
    expires: float
    ended: str | None


class TokenMade(Reply):
    """A new token: its text is shown here, and never again."""

    token: str
    id: str
    expires: float


class Revoked(Reply):
    """Number of tokens made void: that one, and all that were narrowed from it."""

    revoked: int


class TokenList(Reply):
    """A page of a list; `next` is the cursor of the next page, and empty at the end."""

    items: list[TokenInfo]
    next: str


@router.post("", status_code=201)
def create(
    body: NewToken, state: StateOf, caller: Annotated[Caller, Depends(needs("tokens"))]
) -> TokenMade:
    """Make a token for data sets of which the caller is curator."""
    grants = _grants(body.grants)
    for grant in grants:
        demand(caller, "tokens", grant.dataset)
    text, made = state.tokens.create(
        body.name, grants, body.days * _DAY, team=body.team, issued_by=caller.name
    )
    return TokenMade(token=text, id=made.token_id, expires=made.expires)


@router.post("/narrow", status_code=201)
def narrow(body: NarrowToken, state: StateOf, caller: CallerOf) -> TokenMade:
    """Make a token from one's own that allows less; what it spends counts as the caller's."""
    grants = None if body.grants is None else _grants(body.grants)
    text, made = state.tokens.narrow(caller, grants, body.days * _DAY)
    return TokenMade(token=text, id=made.token_id, expires=made.expires)


@router.get("")
def listed(
    state: StateOf,
    caller: Annotated[Caller, Depends(needs("tokens"))],
    cursor: Cursor = "",
    limit: Limit = 100,
) -> TokenList:
    """List the tokens for data sets of which the caller is curator."""
    stored: list[Stored] = []
    last = cursor
    wanted = min(limit, state.settings.limits.page)
    while len(stored) < wanted:
        more = state.tokens.listed(last, limit=wanted)
        for one in more:
            last = one.caller.token_id
            if _curated(caller, one.caller.grants):
                stored.append(one)
            if len(stored) == wanted:
                return TokenList(items=list(map(_info, stored)), next=last)
        if len(more) < wanted:
            break
    return TokenList(items=list(map(_info, stored)), next="")


@router.delete("/narrow", include_in_schema=False)
def no_token(_caller: CallerOf) -> None:
    """Reply 405: the next route would take ``narrow`` for the identifier of a token."""
    raise HTTPException(405)


@router.delete("/{id}")
def revoke(id: TokenName, state: StateOf, caller: CallerOf) -> Revoked:
    """Make a token void, with all that were narrowed from it: a curator's, or one's own."""
    stored = state.tokens.get(id)
    own = stored is not None and _is_own(state, caller, stored)
    if stored is None or not (own or _curated(caller, stored.caller.grants)):
        raise Problem("not_found", "there is no such token that you may revoke")
    return Revoked(revoked=state.tokens.revoke(id, by=caller.name))


def _grants(given: Iterable[GrantFields]) -> list[Grant]:
    return [Grant.from_fields(one.model_dump()) for one in given]


def _curated(caller: Caller, grants: Iterable[Grant]) -> bool:
    return all(decide(caller, "tokens", grant.dataset).allowed for grant in grants)


def _is_own(state: State, caller: Caller, stored: Stored | None) -> bool:
    """Return whether a token is the caller's, or was narrowed from it."""
    while stored is not None:
        if stored.caller.token_id == caller.token_id:
            return True
        stored = None if stored.parent is None else state.tokens.get(stored.parent)
    return False


def _info(one: Stored) -> TokenInfo:
    return TokenInfo(
        id=one.caller.token_id,
        kind=one.kind,
        name=one.caller.name,
        team=one.caller.team,
        grants=[GrantFields(**grant.to_fields()) for grant in one.caller.grants],
        parent=one.parent,
        issued_by=one.caller.issued_by,
        created=one.created,
        expires=one.caller.expires,
        ended=one.why,
    )
