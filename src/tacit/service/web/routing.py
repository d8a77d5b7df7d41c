"""How a route says who may call it: each declares a right, or that everybody may.

``tests/service/web/test_every_route.py`` walks the application and fails for a route that declares
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tacit.errors import TacitError
from tacit.service.access.caller import Caller
from tacit.service.access.policy import demand
from tacit.service.access.tokens import BEARER, SESSION
from tacit.service.problem import Problem
from tacit.service.web.state import state_of

__all__ = [
    "Anyone",
    "CallerOf",
    "MaybeCaller",
    "anyone",
    "checked",
    "cookie_name",
    "counted",
    "declared_right",
    "needs",
    "refused",
    "signed_in",
]

_bearer = HTTPBearer(auto_error=False, description="a token of tacit token create")
_Sent = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
_declared: dict[object, str] = {}


def cookie_name(secure: bool) -> str:
    """Return the name of the cookie of a sign-in; over TLS browsers tie it to this host alone."""
    return "__Host-tacit" if secure else "tacit"


def _authenticated(request: Request, sent: HTTPAuthorizationCredentials | None) -> Caller | None:
    """Return who calls: by a token in the header, else by the cookie of a sign-in."""
    if sent is not None:
        return checked(request, sent.credentials)
    if "authorization" in request.headers:
        raise Problem("unauthenticated", "the header is written Authorization: Bearer TOKEN")
    state = state_of(request)
    cookie = request.cookies.get(cookie_name(state.settings.secure))
    return None if cookie is None else checked(request, cookie, SESSION)


def checked(request: Request, text: str, kind: str = BEARER) -> Caller:
    """Return whose token was sent.

    Raises:
        Problem: ``unauthenticated``, or ``too_many`` where an address guesses again and again.
    """
    provider = state_of(request).provider
    with counted(request, text):
        if kind == BEARER and provider is not None and provider.reads(text):
            return provider.caller(text)
        return state_of(request).tokens.check(text, kind)


@contextmanager
def counted(request: Request, text: str) -> Iterator[None]:
    """Count it for the address where a token turns out to be a guess.

    One that this service signed is no guess, also where it is void by now.

    Raises:
        Problem: ``too_many`` in place of ``unauthenticated``.
    """
    state = state_of(request)
    try:
        yield
    except Problem as problem:
        if problem.code == "unauthenticated" and not state.tokens.signed(text):
            state.failures.note("" if request.client is None else request.client.host)
        raise


def needs(action: str | None, on: str | None = None) -> Callable[..., Caller]:
    """Return a dependency that gives the caller, once they may do what the route does.

    Args:
        action: the right, one of :data:`tacit.service.access.roles.ACTIONS`; None asks only that
            somebody is signed in.
        on: the parameter in the path that names the data set; None asks for the right on any one,
            and the route then calls :func:`tacit.service.access.policy.demand` for the one that it
            finds.

    Raises:
        Problem: ``unauthenticated`` or ``forbidden``, when the route is called.
    """

    def check(request: Request, sent: _Sent) -> Caller:
        caller = _authenticated(request, sent)
        if caller is None:
            raise Problem(
                "unauthenticated",
                "nobody is signed in",
                "send a token, Authorization: Bearer ..., or sign in to the pages",
            )
        request.state.caller = caller  # the logs name them, also where they are refused
        if action is not None:
            demand(caller, action, None if on is None else request.path_params[on])
        return caller

    _declared[check] = action or "signed in"
    return check


def anyone(request: Request, sent: _Sent) -> Caller | None:
    """Give the caller, or None: the route is for everybody.

    Where a token was sent that does not hold, :func:`refused` says why.
    """
    try:
        return _authenticated(request, sent)
    except Problem as problem:
        request.state.refused = problem
        return None


def signed_in(request: Request) -> Caller | None:
    """Return who is signed in to the pages; None where nobody is."""
    try:
        return _authenticated(request, None)
    except TacitError:
        return None


def refused(request: Request) -> Problem | None:
    """Return why the token of a request that is for everybody does not hold; None where it does."""
    found: Problem | None = getattr(request.state, "refused", None)
    return found


_declared[anyone] = "anyone"


def declared_right(dependency: object) -> str | None:
    """Return the right that a dependency declares, or None."""
    return _declared.get(dependency)


CallerOf = Annotated[Caller, Depends(needs(None))]
"""A route's parameter for whoever is signed in: ``caller: CallerOf``."""
MaybeCaller = Annotated[Caller | None, Depends(anyone)]
"""A route's parameter for whoever calls: ``caller: MaybeCaller``."""
Anyone = Depends(anyone)
"""For ``dependencies=[Anyone]`` of a route that does not ask who calls."""
