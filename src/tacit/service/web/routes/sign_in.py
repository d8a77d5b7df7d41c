"""Signing in to the pages with a token, a link or the organisation's login; signing out."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse

from tacit.service.access import Caller
from tacit.service.login import Provider
from tacit.service.problem import Problem
from tacit.service.tokens import LOGIN_NAMES, SESSION
from tacit.service.web.routing import Anyone, CallerOf, FormOf, checked, cookie_name, counted
from tacit.service.web.state import State, StateOf

router = APIRouter(tags=["sign in"], include_in_schema=False)
_HOME = "/"
_ATTEMPT_SECONDS = 600


def signed_in(state: State, made: tuple[str, Caller]) -> RedirectResponse:
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


@router.post("/sign-in", dependencies=[Anyone])
def sign_in(request: Request, state: StateOf, form: FormOf) -> RedirectResponse:
    """Sign in with a token: the cookie is one that was narrowed from it, and ends with it."""
    caller = checked(request, form.one("token").strip())
    seconds = state.settings.session_hours * 3600
    return signed_in(state, state.tokens.narrow(caller, None, seconds, SESSION))


@router.get("/sign-in/once", dependencies=[Anyone])
def once(
    request: Request, state: StateOf, code: Annotated[str, Query(max_length=200)]
) -> RedirectResponse:
    """Sign in with a link that opens once."""
    with counted(request, code):
        made = state.tokens.use_once(code, state.settings.session_hours * 3600)
    return signed_in(state, made)


@router.post("/sign-out")
def sign_out(state: StateOf, caller: CallerOf) -> RedirectResponse:
    """Sign out: the cookie becomes void; a sign-in by the login ends there as well."""
    state.tokens.revoke(caller.token_id, by=caller.name)
    there = None
    if state.provider is not None and caller.issued_by == LOGIN_NAMES:
        there = state.provider.end()
    reply = RedirectResponse(there or "/sign-in", status_code=303)
    reply.delete_cookie(cookie_name(state.settings.secure), path="/")
    return reply


@router.get("/sign-in/login", dependencies=[Anyone])
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


@router.get("/sign-in/back", dependencies=[Anyone])
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


def _provider(state: State) -> Provider:
    if state.provider is None:
        raise Problem("not_found", "this service has no login of an organisation", "use a token")
    return state.provider


def _attempt(state: State) -> str:
    return f"{cookie_name(state.settings.secure)}-login"
