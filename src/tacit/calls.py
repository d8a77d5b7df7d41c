"""Answer a call whose arguments do not fit, or a name that is not there, in a sentence."""

# What is wrong with a call is said in Python's words (:meth:`inspect.Signature.bind`).  What users
# call is marked :func:`public`: such a call ends in a :class:`~tacit.errors.CallError`, which adds
# what Python leaves out: the signature, and the nearest argument (Python gives it from 3.13 on, and
# the nearest attribute only in a terminal: a notebook shows the bare message).  No value of an
# argument is in it.

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from typing import Any, TypeVar

from tacit.errors import CallError, ShortTraceback, UsageError, did_you_mean

T = TypeVar("T")

# A call that a message shows, such as ``tc.mean('age', 0, 100)``, or of several columns
# ``tc.covariance(..., bounds={'age': (0, 100)})``.
_SHOWN = re.compile(r"tc\.([a-z_]+)\(((?:bounds=\{[^{}]*\}|[^()])*)\)")
_BOUNDS = re.compile(r"(?:\{|, )(['\"])(.*?)\1: \(([^()]*), ([^()]*)\)")
Spelling = Callable[[str, list[str], Mapping[str, tuple[str, str]]], str | None]

_SUGGESTIONS = "__instead__"
_OWN = "_instead_of"


def rewritten(message: str, write: Spelling) -> str:
    """Return a message of Python in which ``write`` spells the calls, as a flag or in SQL."""
    # It gets the name, the arguments, and the bounds by column, where these are one of them.

    def spelled(call: re.Match[str]) -> str:
        before, _, named = call[2].partition("bounds=")
        bounds = {column: (low, high) for _, column, low, high in _BOUNDS.findall(named)}
        lists = re.sub(r"\[([^\]]*)\]", lambda inner: inner[1].replace(", ", ","), before)
        given = re.sub(r"['\"]|, $", "", lists)
        replacement = write(call[1], given.split(", ") if given else [], bounds)
        return call[0] if replacement is None else replacement

    return _SHOWN.sub(spelled, message)


def public(thing: T) -> T:
    """Decorate a function that users call, or a class whose methods they call."""
    if isinstance(thing, type):
        _wrap_methods(thing)
        return thing
    return _with_plain_errors(thing, getattr(thing, "__name__", "it"))  # type: ignore[return-value,arg-type]


def instead(**texts: str) -> Callable[[T], T]:
    """Decorate a public class: say what to write for a name that people look for in vain."""
    # The suggestion for a method (``__init__`` for the class) ends the error of a wrong call of it.
    # The method ``_instead_of(name)`` of a class suggests for names that depend on an object, such
    # as those of its columns.

    def mark(kind: T) -> T:
        setattr(kind, _SUGGESTIONS, texts)
        return kind

    return mark


# What to write for an argument of other libraries, where a function takes the first one.
_ARGUMENTS = {
    "bounds": ("lower", "the bounds are two arguments: lower=0, upper=100"),
    "range": ("lower", "the bounds are two arguments: lower=0, upper=100"),
    "clip": ("lower", "the bounds are two arguments: lower=0, upper=100"),
    "min": ("lower", "the bounds are lower=0, upper=100"),
    "max": ("upper", "the bounds are lower=0, upper=100"),
    "by": ("label", "group first: session.group_by('site').agg(...)"),
    "epsilon": (
        "method",
        "an answer is paid where it is released: question.release(epsilon='1/2')",
    ),
    "bins": ("edges", "the edges of the bins are public, and given: edges=[0, 20, 40]"),
    "axis": ("column", "statistics are of one column, over its rows: leave axis out"),
    "skipna": ("column", "missing values are left out always: leave skipna out"),
    "na_rm": ("column", "missing values are left out always: leave na_rm out"),
}


def listed(given: Iterable[T], instead_of: str) -> tuple[T, ...]:
    """Return what was given as a tuple; say what to give where it is no list."""
    try:  # an array of no dimension has an __iter__ that raises
        each = iter(given) if isinstance(given, Iterable) else None
    except TypeError:
        each = None
    if each is None:  # a question has brackets that raise, and is not a list either
        raise UsageError(instead_of)
    return tuple(each)


def calls_inside() -> int:
    """Return how many calls up the user's line is, for :func:`warnings.warn`."""
    # ``skip_file_prefixes`` of warnings.warn does this from Python 3.12 on.
    level, frame = 1, inspect.currentframe()
    frame = frame and frame.f_back
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _wrap_methods(kind: type) -> None:
    """Have the methods of a class answer, and the class itself for names that it has not."""
    for name, value in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        shown = kind.__name__ if name == "__init__" else name
        if inspect.isfunction(value):
            setattr(
                kind,
                name,
                _with_plain_errors(value, shown, vars(kind).get(_SUGGESTIONS, {}).get(name, "")),
            )
        elif isinstance(value, (classmethod, staticmethod)):
            setattr(kind, name, type(value)(_with_plain_errors(value.__func__, shown)))
    if not hasattr(kind, "__getattr__"):
        kind.__getattr__ = _no_attribute  # type: ignore[attr-defined]


def _with_plain_errors(function: Callable[..., T], shown: str, more: str = "") -> Callable[..., T]:
    typed = "Unpack[" in str(function.__annotations__)

    @wraps(function)
    def call(*given: Any, **named: Any) -> T:
        # Python takes any name for ``**price``, and an error would come from deep within.
        if typed and not named.keys() <= _parameters(function).keys():
            raise CallError(_problem(function, shown, given, named) or "")
        try:
            return function(*given, **named)
        except TypeError as error:
            raised_within = error.__traceback__ is None or error.__traceback__.tb_next is not None
            problem = None if raised_within else _problem(function, shown, given, named)
            if problem is None:
                raise
        raise CallError(f"{problem}. {more}" if more else problem)

    return call


def _problem(
    function: Callable[..., object],
    shown: str,
    given: Sequence[object],
    named: Mapping[str, object],
) -> str | None:
    """Return what is wrong with the arguments of a call; None if they fit."""
    taken = list(_parameters(function).values())
    if taken and taken[0].name in ("self", "cls"):
        taken, given = taken[1:], given[1:]
    signature = inspect.Signature(taken)
    try:
        signature.bind(*given, **named)
        return None
    except TypeError as error:
        problem = str(error)
    # bind names an argument that is missing before one that there is not, which is the reason.
    by_name = [p.name for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [name for name in named if name not in by_name]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in taken):
        near = did_you_mean(unknown[0], [name for name in by_name if name not in named])
        wanted, hint = _ARGUMENTS.get(unknown[0], ("", ""))
        problem = f"got an unexpected keyword argument {unknown[0]!r}; "
        problem += hint if wanted in by_name else near
    stop = "" if problem.endswith("?") else "."
    return f"{shown}(): {problem}{stop} Its signature is {shown}{signature}"


@cache
def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, by name; those of ``**price: Unpack[Price]`` as well."""
    taken: list[inspect.Parameter] = []
    for each in inspect.signature(function).parameters.values():
        typed = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if typed:
            options = inspect.unwrap(function).__globals__[typed[1]].__annotations__
            taken += [inspect.Parameter(name, each.KEYWORD_ONLY, default=None) for name in options]
        else:
            taken.append(each.replace(annotation=each.empty))
    return {each.name: each for each in taken}


class UnknownNameError(ShortTraceback, AttributeError):
    """A name that a module has not."""

    def __init__(self, message: str) -> None:
        # name=None: where Python sets it, 3.13 adds a suggestion of its own to that of the message.
        super().__init__(message, name=None)


class _NoSuchNameError(ShortTraceback, AttributeError):
    """A name that a public thing has not; what to write is looked up when the error is shown."""

    def __str__(self) -> str:
        kind, name = type(self.obj), str(self.args[0])
        text = f"{kind.__name__!r} object has no attribute {name!r}"
        if name.startswith("_"):
            return text
        known = sorted(each for each in object.__dir__(self.obj) if not each.startswith("_"))
        texts: Mapping[str, str] = getattr(kind, _SUGGESTIONS, {})
        own = ""
        with suppress(AttributeError):  # of an object that is not made yet
            own = getattr(kind, _OWN)(self.obj, name)
        return f"{text}; {own or texts.get(name) or did_you_mean(name, known)}"


def _no_attribute(self: object, name: str) -> Any:
    # name=None: as in UnknownNameError.
    raise _NoSuchNameError(name, name=None, obj=self)
