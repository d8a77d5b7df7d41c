"""Routes: their bodies and forms, and who may ask them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args
from urllib.parse import parse_qs

from fastapi import Depends, Path, Query, Request, params
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError, to_json

from tacit.errors import TacitError, did_you_mean
from tacit.service.access import Caller, demand
from tacit.service.database import Later
from tacit.service.hosting.ask import MAX_QUESTIONS, Ask
from tacit.service.problem import Problem
from tacit.service.tokens import BEARER, SESSION
from tacit.service.web.guard import READ
from tacit.service.web.state import ServiceState, StateOf, state_of

_T = TypeVar("_T")

# Shapes that several routes share: the error, and what a field of a request may hold.


DatasetName = Annotated[str, Path(min_length=1, max_length=100, description="of the data set")]
Cursor = Annotated[
    str, Query(max_length=200, description="`next` of the previous page; empty at first")
]
Limit = Annotated[int, Query(ge=1, le=1000, description="maximum number of items")]


class Body(BaseModel):
    """The body of a request: no unknown fields, and no conversion of values."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ReplyModel(BaseModel):
    """A reply of the service."""

    model_config = ConfigDict(extra="forbid")


def iso_time(seconds: float) -> str:
    """Return a time in UTC, as ISO 8601 writes it.

    >>> iso_time(1801353600.25)
    '2027-01-31T00:00:00Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


class _Error(ReplyModel):
    code: str
    message: str
    remedy: str
    details: dict[str, Any]


class ErrorBody(ReplyModel):
    """The one shape of every error."""

    error: _Error


# What every route of a router may reply besides its own.
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorBody, "description": "The request is refused"},
    "5XX": {"model": ErrorBody, "description": "The service failed"},
}


# The body of a request that asks: a question, and what it may spend.


def _line(text: str) -> str:
    # Some invisible characters turn round the words that a page writes next to the text.
    if not text.isprintable():
        raise PydanticCustomError("line", "write a line of text without invisible characters")
    return text


Line: TypeAlias = Annotated[str, AfterValidator(_line)]
_Exact: TypeAlias = Annotated[
    str | int | float, Field(description="such as 1, 0.5 or '1/3'; read exactly")
]
_Amount: TypeAlias = Annotated[
    _Exact | dict[str, _Exact],
    Field(description="an amount, or of each label the weight by which they share the total"),
]


class AskBody(Body):
    """A question, in exactly one of three ways, and its price.

    >>> AskBody(sql="select count(*) from visits", epsilon=0.5).to_fields()
    {'sql': 'select count(*) from visits', 'epsilon': 0.5}
    """

    sql: str | None = Field(None, max_length=100_000, description="one query")
    question: dict[str, Any] | None = Field(
        None, description="the fields of a [[question]] in a plan: answers, where, by, keys, ..."
    )
    described: dict[str, Any] | None = Field(
        None, description="the question as a program describes it; tc.connect sends it"
    )
    epsilon: _Amount | None = None
    delta: _Exact | None = None
    rho: _Amount | None = None
    total: _Exact | None = Field(None, description="what weights split")
    tag: str | None = Field(
        None, max_length=200, description="a label that makes it a new, separately paid release"
    )
    free: bool | None = Field(
        None, description="true answers from releases that you may see: no price, and no charge"
    )
    table: str | None = Field(
        None, max_length=100, description="the protected table; the first where it is left out"
    )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields that are set, for :meth:`tacit.service.hosting.ask.Ask.from_json`."""
        return _fields_of(self, AskBody)


class _Expected(Body):
    """The sizes of a group for which errors are shown, and the level of the intervals."""

    rows: list[Annotated[int, Field(ge=1, le=10**12)]] = Field(
        [100, 1_000, 10_000], min_length=1, max_length=10, description="sizes of a group"
    )
    confidence: _Exact | None = Field("0.95", description="the level of the intervals")


class PreviewBody(AskBody, _Expected):
    """A question, its price, and for which sizes of a group its errors are shown."""


class MemberBody(Body):
    """A question of a plan, in exactly one of three ways; the plan has the price."""

    sql: str | None = Field(None, max_length=100_000, description="one query")
    question: dict[str, Any] | None = Field(None, description="the fields of a [[question]]")
    described: dict[str, Any] | None = Field(None, description="as a program describes it")


class AimBody(Body):
    """Targets of the answers, by which the parts of a plan share its loss."""

    targets: dict[str, _Exact] = Field(description="of each label how far its interval may reach")
    confidence: _Exact = Field("0.95", description="the level of the intervals")
    rows: int = Field(1000, ge=1, le=10**12, description="the size of the table")


class PlanBody(Body):
    """Several questions that are answered together, and the price of all of them."""

    questions: list[MemberBody] = Field(min_length=1, max_length=MAX_QUESTIONS)
    weights: dict[str, int] | None = Field(
        None, description="of a label the weight of its squared errors; 1 by default"
    )
    least: Literal["total", "relative", "worst"] | None = Field(
        None, description="which error of the counts is minimised; the total by default"
    )
    unlisted: Literal["count", "drop"] | None = Field(
        None, description="what becomes of rows that are in no listed group or bin"
    )
    nonnegative: bool | None = Field(None, description="whether no count may be below zero")
    cheapest: AimBody | None = None
    epsilon: _Exact | None = None
    delta: _Exact | None = None
    rho: _Exact | None = None
    tag: str | None = Field(
        None, max_length=200, description="a label that makes it a new, separately paid release"
    )
    table: str | None = Field(
        None, max_length=100, description="the protected table; the first where it is left out"
    )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields that are set, for :meth:`tacit.service.hosting.ask.Ask.from_json`."""
        fields = _fields_of(self, PlanBody)
        fields["questions"] = [_fields_of(one, MemberBody) for one in self.questions]
        if self.cheapest is not None:
            fields["cheapest"] = _fields_of(self.cheapest, AimBody)
        return fields


class PlanPreviewBody(PlanBody, _Expected):
    """A plan, its price, and for which sizes of a group its errors are shown."""


def _kind_of(body: Any) -> str:
    planned = isinstance(body, PlanBody) or (isinstance(body, Mapping) and "questions" in body)
    return "PlanBody" if planned else "AskBody"


# A question or a plan, told apart by the field that only a plan has: an error is of that one alone.
AskOrPlan = Annotated[
    Annotated[AskBody, Tag("AskBody")] | Annotated[PlanBody, Tag("PlanBody")],
    Discriminator(_kind_of),
]


def ask_of(body: AskBody | PlanBody, state: ServiceState) -> Ask:
    """Return the question or the plan of a body.

    Raises:
        Problem: more questions than the service plans at once.
    """
    limit = state.settings.limits.plan_questions
    if isinstance(body, PlanBody) and len(body.questions) > limit:
        raise Problem(
            "too_large",
            f"the plan has {len(body.questions)} questions, and the service plans {limit} at once",
            "plan fewer questions",
        )
    return Ask.from_json(body.to_fields())


def _fields_of(body: Body, kind: type[Body]) -> dict[str, Any]:
    """Return the fields of a body that are set, as far as a kind has them."""
    values = {name: getattr(body, name) for name in kind.model_fields}
    return {name: value for name, value in values.items() if value is not None}


# Forms of the pages: the fields of a body that a browser sends.


class Form:
    """The fields of a form.

    >>> form = Form({"token": ["abc"], "dataset": ["a", "b"]})
    >>> form.one("token"), form.one("name"), form.all("dataset")
    ('abc', '', ['a', 'b'])
    """

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    def one(self, name: str) -> str:
        """Return the last value of a field; empty where there is none."""
        return self._fields.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        return self._fields.get(name, [])

    def whole(self, name: str, label: str) -> int:
        """Return a field as a whole number; the label is what its reader sees beside it."""
        text = self.one(name).strip()
        if not re.fullmatch(r"-?[0-9]{1,9}", text):
            raise Problem("invalid_request", f"{label}: write a whole number, such as 12")
        return int(text)


def _form(limit: int) -> Callable[[Request], Awaitable[Form]]:
    """Return a dependency that gives a form of a number of fields at most."""

    async def read(request: Request) -> Form:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise Problem("invalid_request", "a form is sent as application/x-www-form-urlencoded")
        try:
            text = (await request.body()).decode("ascii")
            fields = parse_qs(text, keep_blank_values=True, max_num_fields=limit, errors="strict")
        except ValueError:
            raise Problem("invalid_request", "the form cannot be read") from None
        return Form(fields)

    return read


FormOf = Annotated[Form, Depends(_form(200))]  # a route's parameter: ``form: FormOf``
# The same for a form with several fields of each column of a table.
LargeFormOf = Annotated[Form, Depends(_form(1200))]


# Routes in one thread: a thread from the pool serves a request from its token to its reply.
#
# FastAPI would send a request to a thread for each dependency, for the function of the route and
# for the check of its reply, and each way there and back takes longer than most of them work.  All
# that it awaits is there already: the guard has read the body, and what waits for the database or
# a table is an ordinary function.


#
# Most of the time of a preview was the framework's own, which resolves each parameter anew.  So a
# question to a data set, whose parameters are few and of known kinds, is read without it.  What is
# not in order goes the way of the framework, which says what is wrong.  A function that writes
# returns its reply as :class:`Later`: the loop waits for the commit, and not the thread.


_THREADS = 40  # that serve requests at once
_AT_ONCE = 0.002  # seconds for which the loop waits for a request


class RequestThreads:
    """Threads that serve the requests of an application.

    >>> asyncio.run(RequestThreads().run(max, 1, 2))
    2
    """

    # Most requests are over in half a millisecond, and the loop waits for them: where both go on,
    # they take the interpreter from each other at each statement of the database, and a request
    # takes half as long again; so it is where the database is a server on the same machine.  One
    # that takes longer, as it plans or waits for a far server, continues beside the loop.  The
    # thread that was free last is the next, while its memory is in the cache.

    def __init__(self) -> None:
        self._left, self._free = asyncio.Semaphore(_THREADS), list[ThreadPoolExecutor]()

    async def run(self, call: Callable[..., _T], *given: Any) -> _T:
        """Call a function that may wait, in a thread."""
        async with self._left:
            thread = self._free.pop() if self._free else ThreadPoolExecutor(1, "tacit request")
            work = thread.submit(copy_context().run, call, *given)
            try:
                try:
                    return work.result(_AT_ONCE)
                except TimeoutError:  # or its own, which comes again
                    return await asyncio.wrap_future(work)
            finally:
                if work.done():
                    self._free.append(thread)
                else:  # no one waits for it any more: it ends with its work
                    thread.shutdown(wait=False)

    def close(self) -> None:
        for thread in self._free:
            thread.shutdown(wait=False)


class Route(APIRoute):
    """A route whose function may wait, with its dependencies, in one thread."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        if iscoroutinefunction(self.endpoint):
            return super().get_route_handler()
        self.dependant.call = _called_at_once(self.endpoint)
        handle, direct = super().get_route_handler(), _Direct.of(self)

        def served(request: Request) -> Response | Later[Response]:
            given = None if direct is None else direct.read(request)
            if direct is None or given is None:
                return _finished(handle(request))
            return direct.reply(request, given)

        async def handled(request: Request) -> Response:
            threads: RequestThreads = request.app.state.threads
            reply = await threads.run(served, request)
            return await reply.waited() if isinstance(reply, Later) else reply

        return handled


def _called_at_once(call: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(call)
    async def called(*given: Any, **named: Any) -> Any:
        made = call(*given, **named)
        return made.wait() if isinstance(made, Later) else made

    return called


class _Direct:
    """A route of a data set that takes its name, a body, the caller and the state."""

    # Headers that it may take are not among what is read here: a request that has one goes the way
    # of the framework.

    def __init__(self, route: APIRoute, kinds: Mapping[str, Any]) -> None:
        self._call, self._status = route.endpoint, route.status_code or 200
        self._names = {n: TypeAdapter(kind) for n, kind in kinds.items() if kind == DatasetName}
        self._bodies = {n: kind for n, kind in kinds.items() if _is_body(kind)}
        self._callers = {n: right for n, kind in kinds.items() if (right := _right_in(kind))}
        self._states = [name for name, kind in kinds.items() if kind == StateOf]
        self._headers = [header for kind in kinds.values() if (header := _header_in(kind))]

    @classmethod
    def of(cls, route: APIRoute) -> _Direct | None:
        """Return how to read the requests of a route; None where it has other parameters."""
        every = signature(route.endpoint, eval_str=True).parameters
        direct = cls(route, {name: one.annotation for name, one in every.items()})
        parts = direct._names, direct._bodies, direct._callers, direct._states, direct._headers
        several = len(direct._bodies) == 1 and len(direct._callers) == 1
        return direct if several and sum(map(len, parts)) == len(every) else None

    def read(self, request: Request) -> dict[str, Any] | None:
        """Return the name and the body of a request; None where something else is in it."""
        scope, headers = request.scope, request.headers
        if scope["query_string"] or headers.get("content-type") != "application/json":
            return None
        if READ not in scope or any(header in headers for header in self._headers):
            return None
        try:
            path = scope["path_params"]
            given = {name: kind.validate_python(path[name]) for name, kind in self._names.items()}
            return given | {n: kind.model_validate(scope[READ]) for n, kind in self._bodies.items()}
        except ValidationError:
            return None

    def reply(self, request: Request, given: dict[str, Any]) -> Response | Later[Response]:
        """Check the caller, and call the function."""
        state, sent = state_of(request), _finished(_bearer(request))
        token = "" if sent is None else sent.credentials
        with state.ahead(token, next((given[name] for name in self._names), "")):
            for name, (action, on) in self._callers.items():
                given[name] = _allowed(request, _authenticated(request, sent), action, on)
            made = self._call(**given, **dict.fromkeys(self._states, state))
        return made.then(self._response) if isinstance(made, Later) else self._response(made)

    def _response(self, made: BaseModel | Mapping[str, Any]) -> Response:
        # A reply that is no model yet is checked against that of the route by tests alone.
        text = to_json(made, inf_nan_mode="null")
        return Response(text, self._status, media_type="application/json")


def _is_body(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Body)


def _right_in(kind: Any) -> tuple[str | None, str | None] | None:
    """Return the right that a parameter for a caller demands, and of what."""
    for one in get_args(kind)[1:]:
        if isinstance(one, params.Depends) and one.dependency in _demanded:
            return _demanded[one.dependency]
    return None


def _header_in(kind: Any) -> str | None:
    found = [one.alias for one in get_args(kind)[1:] if isinstance(one, params.Header)]
    return found[0] if found else None


def _finished(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never waits for another one."""
    try:
        work.send(None)
    except StopIteration as end:
        reply: _T = end.value
        return reply
    work.close()
    raise RuntimeError("a route that runs in a thread waits for the loop")


async def _in_thread(call: Callable[..., _T], *given: Any) -> _T:
    """Call a function that may wait: here where this is a thread of the pool, else in one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call(*given)
    return await run_in_threadpool(call, *given)


# Rights of routes: each route declares a right, or that anyone may call it.
#
# ``tests/service/web/test_routing.py`` walks the application and fails for a route that
# declares nothing.


_bearer = HTTPBearer(auto_error=False, description="a token of tacit token create")
_Sent = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
_declared: dict[object, str] = {}
_demanded: dict[object, tuple[str | None, str | None]] = {}  # the right, and what it is on


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
    address = "" if request.client is None else request.client.host
    return caller_of(state_of(request), text, address, kind)


def caller_of(state: ServiceState, text: str, address: str, kind: str = BEARER) -> Caller:
    """Return whose token a text is, of this service or of its login."""
    with _counted(state, text, address):
        if kind == BEARER and state.provider is not None and state.provider.reads(text):
            return state.provider.caller(text)
        return state.tokens.check(text, kind)


@contextmanager
def counted(request: Request, text: str) -> Iterator[None]:
    """Count a failure of the address if a token is a guess."""
    address = "" if request.client is None else request.client.host
    with _counted(state_of(request), text, address):
        yield


@contextmanager
def _counted(state: ServiceState, text: str, address: str) -> Iterator[None]:
    # One that this service signed is not a guess, also where it is void by now.
    try:
        yield
    except Problem as problem:
        if problem.code == "unauthenticated" and not state.tokens.signed(text):
            state.failures.note(address)
        raise


def _refuse_unknown_parameters(request: Request) -> None:
    """Raise if an address of the API has parameters that its route does not take."""
    # Links to pages may have some of others, by which these follow their readers.
    if not request.query_params or not request.url.path.startswith("/v1/"):
        return
    known = list(_parameters_of(request.scope["route"].dependant))
    for name in request.query_params:
        if name not in known:
            raise Problem(
                "invalid_request",
                f"there is no parameter {name!r} here; {did_you_mean(name, known)}",
                "GET /openapi.json says what each route takes",
            )


def _parameters_of(dependant: Dependant) -> Iterator[str]:
    yield from (one.alias for one in dependant.query_params)
    for one in dependant.dependencies:
        yield from _parameters_of(one)


def needs(action: str | None, on: str | None = None) -> Callable[..., Awaitable[Caller]]:
    """Return a dependency that gives the caller, once they may do what the route does."""
    # action: the right, one of :data:`tacit.service.access.ACTIONS`; None asks only that someone
    #   is signed in.
    # on: the parameter in the path that names the data set; None asks for the right on any one, and
    #   the route then calls :func:`tacit.service.access.demand` for the one that it finds.

    async def check(request: Request, sent: _Sent) -> Caller:
        caller = await _in_thread(_authenticated, request, sent)
        return _allowed(request, caller, action, on)

    _declared[check], _demanded[check] = action or "signed in", (action, on)
    return check


def _allowed(request: Request, caller: Caller | None, action: str | None, on: str | None) -> Caller:
    """Return a caller who may do what the route does, or raise."""
    if caller is None:
        raise Problem(
            "unauthenticated",
            "no one is signed in",
            "send a token, Authorization: Bearer ..., or sign in to the pages",
        )
    request.state.caller = caller  # the logs name them, also where they are refused
    if action is not None:
        demand(caller, action, None if on is None else request.path_params[on])
    _refuse_unknown_parameters(request)
    return caller


async def anyone(request: Request, sent: _Sent) -> Caller | None:
    """Give the caller, or None: the route is for everybody."""
    # Where a token was sent that does not hold, :func:`refused` says why.
    _refuse_unknown_parameters(request)
    try:
        return await _in_thread(_authenticated, request, sent)
    except Problem as problem:
        request.state.refused = problem
        return None


def signed_in(request: Request) -> Caller | None:
    try:
        return _authenticated(request, None)
    except TacitError:
        return None


def refused(request: Request) -> Problem | None:
    """Return why the token of a request that is for everybody does not hold; None where it does."""
    problem: Problem | None = getattr(request.state, "refused", None)
    return problem


_declared[anyone] = "anyone"


def declared_right(dependency: object) -> str | None:
    return _declared.get(dependency)


# A route's parameter for whoever is signed in: ``caller: CallerOf``.
CallerOf = Annotated[Caller, Depends(needs(None))]
# A route's parameter for whoever calls: ``caller: MaybeCaller``.
MaybeCaller = Annotated[Caller | None, Depends(anyone)]
Anyone = Depends(anyone)  # for ``dependencies=[Anyone]`` of a route that does not ask who calls
