"""Callers: their rights, tokens and sign-in."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import RedirectResponse
from pydantic import Field

from tacit.service.access import ACTIONS, RIGHTS, Caller, Grant, decide, demand
from tacit.service.problem import Problem
from tacit.service.tokens import LOGIN_NAMES, SESSION, Stored
from tacit.service.web.routing import (
    ERRORS,
    Anyone,
    Body,
    CallerOf,
    Cursor,
    FormOf,
    Limit,
    MaybeCaller,
    ReplyModel,
    Route,
    checked,
    cookie_name,
    counted,
    needs,
    refused,
)
from tacit.service.web.state import ServiceState, StateOf

if TYPE_CHECKING:
    from tacit.service.login import Provider

# The caller, and why they may do something or not.


router = APIRouter(route_class=Route, tags=["access"], responses=ERRORS)


class GrantReply(ReplyModel):
    """A role, and the data set that it is granted for."""

    role: str
    dataset: str


class Me(ReplyModel):
    """The caller, as the service knows them."""

    name: str
    team: str | None
    grants: list[GrantReply]
    rights: list[str]
    token: str
    expires: float
    issued_by: str


class Why(ReplyModel):
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


# Tokens: created by curators, narrowed by their owners, listed and revoked.


tokens_router = APIRouter(route_class=Route, prefix="/v1/tokens", tags=["tokens"], responses=ERRORS)
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


class TokenInfo(ReplyModel):
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


class TokenMade(ReplyModel):
    """A new token: its text is shown here, and never again."""

    token: str
    id: str
    expires: float


class Revoked(ReplyModel):
    """Number of tokens made void: that one, and all that were narrowed from it."""

    revoked: int


class TokenList(ReplyModel):
    """A page of a list; `next` is the cursor of the next page, and empty at the end."""

    items: list[TokenInfo]
    next: str


@tokens_router.post("", status_code=201)
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


@tokens_router.post("/narrow", status_code=201)
def narrow(body: NarrowToken, state: StateOf, caller: CallerOf) -> TokenMade:
    """Make a token from one's own that allows less; what it spends counts as the caller's."""
    grants = None if body.grants is None else _grants(body.grants)
    text, made = state.tokens.narrow(caller, grants, body.days * _DAY)
    return TokenMade(token=text, id=made.token_id, expires=made.expires)


@tokens_router.get("")
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


@tokens_router.delete("/narrow", include_in_schema=False)
def no_token(_caller: CallerOf) -> None:
    """ReplyModel 405: the next route would take ``narrow`` for the identifier of a token."""
    raise HTTPException(405)


@tokens_router.delete("/{id}")
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


def _is_own(state: ServiceState, caller: Caller, stored: Stored | None) -> bool:
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


# Signing in to the pages with a token, a link or the organisation's login; signing out.


sign_in_router = APIRouter(route_class=Route, tags=["sign in"], include_in_schema=False)
_HOME = "/"
_ATTEMPT_SECONDS = 600


def signed_in(state: ServiceState, made: tuple[str, Caller]) -> RedirectResponse:
    """Return a redirect to the pages, with the cookie of a new sign-in."""
    text, caller = made
    reply = RedirectResponse(_HOME, status_code=303)
    reply.set_cookie(
        cookie_name(state.settings.secure),
        text,
        max_age=max(1, int(caller.expires - state.clock())),
        path="/",
        secure=state.settings.secure,
        httponly=True,
        samesite="lax",
    )
    return reply


@sign_in_router.post("/sign-in", dependencies=[Anyone])
def sign_in(request: Request, state: StateOf, form: FormOf) -> RedirectResponse:
    """Sign in with a token: the cookie is one that was narrowed from it, and ends with it."""
    caller = checked(request, form.one("token").strip())
    seconds = state.settings.session_hours * 3600
    return signed_in(state, state.tokens.narrow(caller, None, seconds, SESSION))


@sign_in_router.get("/sign-in/once", dependencies=[Anyone])
def once(
    request: Request, state: StateOf, code: Annotated[str, Query(max_length=200)]
) -> RedirectResponse:
    """Sign in with a link that opens once."""
    with counted(request, code):
        made = state.tokens.use_once(code, state.settings.session_hours * 3600)
    return signed_in(state, made)


@sign_in_router.post("/sign-out")
def sign_out(state: StateOf, caller: CallerOf) -> RedirectResponse:
    """Sign out: the cookie becomes void; a sign-in by the login ends there as well."""
    state.tokens.revoke(caller.token_id, by=caller.name)
    there = None
    if state.provider is not None and caller.issued_by == LOGIN_NAMES:
        there = state.provider.end()
    reply = RedirectResponse(there or "/sign-in", status_code=303)
    reply.delete_cookie(cookie_name(state.settings.secure), path="/")
    return reply


@sign_in_router.get("/sign-in/login", dependencies=[Anyone])
def begin(state: StateOf) -> RedirectResponse:
    """Begin a sign-in at the organisation's own login."""
    secret = secrets.token_urlsafe(32)
    reply = RedirectResponse(_provider(state).start(secret), status_code=303)
    reply.set_cookie(
        _attempt(state),
        secret,
        max_age=_ATTEMPT_SECONDS,
        path="/",
        secure=state.settings.secure,
        httponly=True,
        samesite="lax",
    )
    return reply


@sign_in_router.get("/sign-in/back", dependencies=[Anyone])
def back(request: Request, state: StateOf) -> RedirectResponse:
    """End a sign-in that the organisation's own login sends back."""
    secret = request.cookies.get(_attempt(state))
    if secret is None:
        raise Problem(
            "unauthenticated",
            "the sign-in is incomplete: it did not begin in this browser, or took too long",
            "begin it again",
        )
    who = _provider(state).finish(secret, dict(request.query_params))
    made = state.tokens.create(
        who.name,
        who.grants,
        state.settings.session_hours * 3600,
        team=who.team,
        issued_by=LOGIN_NAMES,
        kind=SESSION,
    )
    reply = signed_in(state, made)
    reply.delete_cookie(_attempt(state), path="/")
    return reply


def _provider(state: ServiceState) -> Provider:
    if state.provider is None:
        raise Problem("not_found", "this service has no login of an organisation", "use a token")
    return state.provider


def _attempt(state: ServiceState) -> str:
    return f"{cookie_name(state.settings.secure)}-login"
