"""Errors as answers, and their log."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, get_args

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from tacit.errors import RefusedError, TacitError, UsageError, did_you_mean
from tacit.service.access import Caller
from tacit.service.pages.frame import page
from tacit.service.problem import Problem, problem_of
from tacit.tables.question_formats import PRICE

# Every error as a reply of one shape; what is not ours is named by its kind alone.
#
# A message of an engine, of the database or of Python could quote a value, so only exceptions of
# Tacit, which are made of public facts, speak for themselves.


_log = logging.getLogger("tacit.service")
_UNPRICED = re.compile(r'say what this release may spend: "(epsilon|rho)": .*')
# What the forms call fields whose labels are other words.
_LABELS = {
    "clock": "Contents",
    "periods": "How many",
    "grace": "Wait for late rows",
    "start": "From",
    "times": "How many times",
}
_CLIENT = "tacit/"  # as tc.connect names itself: its reader writes Python


def rendered(problem: Problem, status: int | None = None, **headers: str) -> JSONResponse:
    if problem.code == "unauthenticated":
        headers["WWW-Authenticate"] = 'Bearer realm="tacit"'
    if problem.code in ("too_many", "unavailable", "not_ready"):
        headers.setdefault("Retry-After", str(problem.details.get("retry_after", 5)))
    return JSONResponse(problem.to_json(), status or problem.status, headers)


def form_problem(error: Exception) -> Problem:
    """Return the problem that a page shows for an error in a form."""
    if isinstance(error, ValidationError):
        (first, *_) = error.errors(include_input=False)
        field = str(first["loc"][0])
        message = f"{_LABELS.get(field, field)}: {_wrong_field([first], None)}"
        return Problem("invalid_request", message)
    if isinstance(error, ValueError) and not isinstance(error, TacitError):
        return Problem("invalid_request", "a field of the form has a value of the wrong kind")
    problem = problem_of(error).in_fields()
    field, is_, rest = problem.message.partition(" is a ")
    if is_ and field in _LABELS:
        return Problem(problem.code, f"{_LABELS[field]}: a {rest}", problem.remedy, problem.details)
    unpriced = _UNPRICED.fullmatch(problem.message)
    if unpriced is None:
        return problem
    return Problem(problem.code, f"fill in {unpriced[1]}: what this release may spend, such as 1/2")


def handle_problems(app: FastAPI, signed_in: Callable[[Request], Caller | None]) -> None:
    """Have an application answer every error in the one shape."""
    app.state.signed_in = signed_in
    app.add_exception_handler(TacitError, _of_tacit)
    app.add_exception_handler(RequestValidationError, _of_fields)
    app.add_exception_handler(HTTPException, _of_http)


async def _of_tacit(request: Request, error: Exception) -> Response:
    caller = getattr(request.state, "caller", None)
    if isinstance(error, Problem) and error.code == "forbidden" and caller is not None:
        route = getattr(request.scope.get("route"), "path", "")
        action = f"{request.method} {route}"
        with suppress(Problem):  # it is refused, also where the log cannot be written
            await run_in_threadpool(request.app.state.tacit.note_denial, caller, action, error)
    if not isinstance(error, (Problem, UsageError, RefusedError)):
        _log.error("a request failed: %s", type(error).__name__)
    problem = problem_of(error)
    if not request.headers.get("user-agent", "").startswith(_CLIENT):
        problem = problem.in_fields()
    return await reply_to(request, problem)


async def _of_fields(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if any(one["loc"][0] == "path" for one in error.errors()):  # a name that nothing can have
        return await reply_to(request, Problem("not_found", "there is nothing of this name"))
    if isinstance(error.body, bytes):  # the framework reads JSON only where it is said to be that
        message = "the body is not said to be JSON"
        remedy = "send the header Content-Type: application/json"
        return await reply_to(request, Problem("invalid_request", message, remedy))
    return await reply_to(request, _wrong_fields(error.errors(), error.body, _body_of(request)))


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 404:
        problem = Problem(
            "not_found", "there is no such address", "GET /openapi.json lists all addresses"
        )
        return await reply_to(request, problem)
    if error.status_code == 405:
        methods = _methods(request)
        message = f"this address does not take {request.method}"
        problem = Problem("invalid_request", message, f"it takes {methods}" if methods else "")
        return await reply_to(request, problem, 405, **{**headers, "Allow": methods})
    problem = Problem("invalid_request", "the request cannot be read")
    return await reply_to(request, problem, error.status_code)


async def reply_to(
    request: Request, problem: Problem, status: int | None = None, **headers: str
) -> Response:
    """Return a problem as a page for browsers, and as JSON for other clients."""
    reads = "text/html" in request.headers.get("accept", "")
    if not reads or request.url.path.startswith("/v1/"):
        return rendered(problem, status, **headers)
    signing_in = f"{request.url.path}/".startswith("/sign-in/")
    if problem.code == "unauthenticated" and request.method == "GET" and not signing_in:
        return RedirectResponse("/sign-in", status_code=303)
    settings = request.app.state.tacit.settings
    message = "; ".join(_in_address(problem)) or problem.message
    if signing_in:
        link = request.url.path == "/sign-in/once"
        remedy = "Sign in with a token, or ask for a new link." if link else ""
        wrong = {"message": message, "remedy": remedy}
        text = page("sign_in.html", settings.title, None, {"wrong": wrong, "login": settings.login})
    else:
        given = {"heading": _HEADINGS.get(problem.code, "That did not work")}
        for_programs = problem.remedy.startswith("GET ")
        given |= {"message": message, "remedy": "" if for_programs else problem.remedy}
        given["back"] = request.url.path if message != problem.message else ""  # a route of ours
        caller = getattr(request.state, "caller", None)
        if caller is None:  # an address that does not exist asks no one who calls
            caller = await run_in_threadpool(request.app.state.signed_in, request)
        text = page("error.html", settings.title, caller, given)
    return HTMLResponse(text, status or problem.status, headers)


def _in_address(problem: Problem) -> Iterator[str]:
    """Yield what is wrong in the address of a page, for someone who followed a link."""
    for one in problem.details.get("fields", ()):
        source, _, name = one["field"].partition(".")
        if source == "query":
            yield f"{name} in the address: {one['wrong']}"


_HEADINGS = {
    "not_found": "Not found",
    "forbidden": "Not for you",
    "unauthenticated": "Sign in again",
    "too_many": "Too many requests",
    "unavailable": "Not available now",
}


def _wrong_fields(errors: Iterable[Mapping[str, Any]], sent: Any, body: Any = None) -> Problem:
    """Describe which fields are wrong and how, without repeating their values."""
    wrong: dict[str, list[Mapping[str, Any]]] = {}
    for one in errors:
        wrong.setdefault(_place(one, sent), []).append(one)
    fields = [
        {"field": name, "wrong": _wrong_field(several, body)} for name, several in wrong.items()
    ][:20]
    first = f"{fields[0]['field']}: {fields[0]['wrong']}" if fields else "it cannot be read"
    return Problem(
        "invalid_request",
        f"the request is not in the form that the service reads: {first}",
        "GET /openapi.json says what each route takes",
        {"fields": fields},
    )


def _place(error: Mapping[str, Any], sent: Any) -> str:
    """Return where the field of an error is in what was sent."""
    # The framework also names the alternative that it read a value by, such as ``str``.
    source, *way = error["loc"]
    place, value = [str(source)], sent if source == "body" else dict.fromkeys(way)
    for part in way:
        try:
            value = value[part]
        except (LookupError, TypeError):
            if error["type"] != "missing" or part != way[-1]:
                continue
        place.append(str(part))
    return ".".join(place)


_LIMITS = {
    "greater_than_equal": "write {ge} or more",
    "less_than_equal": "write {le} or less",
    "string_too_short": "it is empty, or too short",
    "string_pattern_mismatch": "it is blank, or has not the form of this field",
    "string_too_long": "write at most {max_length} characters",
    "too_short": "give {min_length} or more",
    "too_long": "give at most {max_length}",
    "missing": "it is missing",
    "literal_error": "write {expected}",
}
_AN_OBJECT = "a JSON object"
# What such an object is like, by the field that holds it.
_EXAMPLES = {
    "questions": '{"sql": "select ..."}',
    "caps": '{"epsilon": 1}',
    "grants": '{"role": "analyst", "dataset": "visits"}',
}
_KINDS = {
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "list_type": "a list",
    **dict.fromkeys(("model_attributes_type", "model_type", "dict_type"), _AN_OBJECT),
}


def _wrong_field(errors: Sequence[Mapping[str, Any]], body: Any) -> str:
    """Describe the errors of one field, which are several where it may be of several kinds."""
    error = errors[0]
    priced = error["loc"][-1] in PRICE and "questions" in error["loc"]
    if error["type"] == "extra_forbidden" and priced:
        return "the price is of the whole plan: write it beside questions"
    if error["type"] == "extra_forbidden":
        known = _known_fields(error["loc"], body)
        near = f"; {did_you_mean(str(error['loc'][-1]), known)}" if known else ""
        return f"there is no field of this name{near}"
    limit = _LIMITS.get(error["type"])
    if limit is not None:
        return limit.format(**error.get("ctx", {}))
    kinds = dict.fromkeys(_KINDS[one["type"]] for one in errors if one["type"] in _KINDS)
    inside = next((_EXAMPLES[part] for part in error["loc"] if part in _EXAMPLES), '{"name": ...}')
    example = f", as in {inside}" if _AN_OBJECT in kinds else ""
    return f"write {' or '.join(kinds)}{example}" if kinds else str(error["msg"])


def _known_fields(location: Sequence[str | int], body: Any) -> list[str]:
    """Return the names of the fields of the object that a field was sent in."""
    _, *way, _ = location
    models = list(_models_in(body))
    for part in way:
        models = [model for model in models if model.__name__ == part] or models
        annotations = [m.model_fields[part].annotation for m in models if part in m.model_fields]
        models = [each for one in annotations for each in _models_in(one)] or models
    return list(models[0].model_fields) if models else []


def _models_in(annotation: Any) -> Iterator[Any]:
    """Yield the models that a field may hold: itself, or one of many, or one or none."""
    if hasattr(annotation, "model_fields"):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _body_of(request: Request) -> Any:
    """Return what the body of the route is read as that a request came to."""
    field = getattr(request.scope.get("route"), "body_field", None)
    return None if field is None else field.field_info.annotation


def _methods(request: Request) -> str:
    """Return all methods that an address takes: the framework names those of one route alone."""
    routes = [one for one in request.app.state.every_route if one.include_in_schema]
    fitting = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    literal = [route for route in fitting if "{" not in route.path]
    return ", ".join(sorted({m for route in literal or fitting for m in route.methods or ()}))


# Wrong tokens per address: after a number of them it must wait.


_SPAN = 60.0  # seconds
_MAX_ADDRESSES = 10_000


class FailedTokens:
    """The failures of the last minute, by address, in the memory of one process."""

    # A token cannot be guessed, so this is not a lock: it keeps one address from filling the log,
    # and shows the operator that someone tries.  Whoever sends a good token is never held up, also
    # where many people share an address.
    #
    # clock: seconds that never go back.

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, int]] = {}
        self._cleared = clock()

    def note(self, address: str) -> None:
        """Count a failure of an address."""
        now = self._clock()
        with self._lock:
            since, number = self._seen.get(address, (now, 0))
            if now - since >= _SPAN:
                since, number = now, 0
            if now - self._cleared >= _SPAN:
                self._cleared = now
                self._seen = {a: one for a, one in self._seen.items() if now - one[0] < _SPAN}
            if len(self._seen) < _MAX_ADDRESSES or address in self._seen:
                self._seen[address] = since, number + 1
        if number >= self._limit:
            wait = max(1, round(since + _SPAN - now))
            raise Problem(
                "too_many",
                "too many tokens from this address were not of this service",
                f"wait {wait} s, and look at the token",
                {"retry_after": wait},
            )
