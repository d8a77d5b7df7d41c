"""Answer a call whose arguments do not fit, or a name that is not there, in a sentence."""

# Python refuses a wrong call with a ``TypeError`` that names one argument and does not say what the
# function takes.  What users call is marked :func:`public`: such a call ends in a
# :class:`~tacit.errors.CallError`, which names the nearest argument and the form of the call.  No
# value of an argument is in it.

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

from tacit.errors import CallError, ShortTraceback, UsageError, did_you_mean

__all__ = ["UnknownNameError", "calls_inside", "instead", "listed", "public", "rewritten"]

T = TypeVar("T")

# A call that a message shows, such as ``tc.mean('age', 0, 100)``.
_SHOWN = re.compile(r"tc\.([a-z_]+)\(([^()]*)\)")

_INSTEAD = "__instead__"
_OWN = "_instead_of"


def rewritten(message: str, write: Callable[[str, list[str]], str | None]) -> str:
    """Return a message of Python in which ``write`` spells the calls, as a flag or in SQL.

    >>> rewritten("give tc.mean('age', 0, 100)", lambda name, given: f"{name} of {given[0]}")
    'give mean of age'
    """
    # message: what an error says, with calls such as ``tc.mean('age', 0, 100)``.

    def spelled(call: re.Match[str]) -> str:
        lists = re.sub(r"\[([^\]]*)\]", lambda inner: inner[1].replace(", ", ","), call[2])
        given = re.sub(r"['\"]", "", lists)
        found = write(call[1], given.split(", ") if given else [])
        return call[0] if found is None else found

    return _SHOWN.sub(spelled, message)


def public(thing: T) -> T:
    """Decorate a function that users call, or a class whose methods they call.

    >>> @public
    ... def mean(column, lower=0, *, method="global"): ...
    >>> mean("age", lowr=3)
    Traceback (most recent call last):
    tacit.errors.CallError: mean() takes no argument 'lowr'; did you mean 'lower'? Its form is
    mean(column, lower=0, *, method='global')
    """
    if isinstance(thing, type):
        _tell_all(thing)
        return thing
    return _told(thing, getattr(thing, "__name__", "it"))  # type: ignore[return-value,arg-type]


def instead(**texts: str) -> Callable[[T], T]:
    """Decorate a public class: say what to write for a name that people look for in vain.

    >>> @public
    ... @instead(where="it is called filter(...)")
    ... class Table: ...
    >>> Table().where
    Traceback (most recent call last):
    tacit.calls._NoSuchNameError: 'Table' object has no attribute 'where'; it is called filter(...)
    """
    # What stands for the name of a method (``__init__`` for the class) is said where a call of it
    # does not fit.  A class with a method ``_instead_of(name)`` says more of names that depend on
    # an object, such as those of its columns.

    def mark(kind: T) -> T:
        setattr(kind, _INSTEAD, texts)
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
    """Return what was given as a tuple; say what to give where it is no list.

    >>> listed(3, "rows is a list of sizes, such as [100]")
    Traceback (most recent call last):
    tacit.errors.UsageError: rows is a list of sizes, such as [100]
    """
    try:  # an array of no dimension has an __iter__ that raises
        each = iter(given) if isinstance(given, Iterable) else None
    except TypeError:
        each = None
    if each is None:
        raise UsageError(instead_of)
    return tuple(each)


def calls_inside() -> int:
    """Return how many calls up the user's line is, for :func:`warnings.warn` where this is called.

    >>> calls_inside() > 0
    True
    """
    level, frame = 1, inspect.currentframe()
    frame = frame and frame.f_back
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _tell_all(kind: type) -> None:
    """Have the methods of a class answer, and the class itself for names that it has not."""
    for name, value in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        shown = kind.__name__ if name == "__init__" else name
        if inspect.isfunction(value):
            setattr(kind, name, _told(value, shown, vars(kind).get(_INSTEAD, {}).get(name, "")))
        elif isinstance(value, (classmethod, staticmethod)):
            setattr(kind, name, type(value)(_told(value.__func__, shown)))
    if not hasattr(kind, "__getattr__"):
        kind.__getattr__ = _no_attribute  # type: ignore[attr-defined]


def _told(function: Callable[..., T], shown: str, more: str = "") -> Callable[..., T]:
    @wraps(function)
    def call(*given: Any, **named: Any) -> T:
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
    """Say what is wrong with the arguments of a call; None where they fit."""
    taken = dict(inspect.signature(function).parameters)
    if next(iter(taken), None) in ("self", "cls"):
        taken.pop(next(iter(taken)))
        given = given[1:]
    form = f"Its form is {_form(shown, list(taken.values()))}"
    kinds = inspect.Parameter
    several = any(p.kind is kinds.VAR_POSITIONAL for p in taken.values())
    placed = [n for n, p in taken.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [n for n, p in taken.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if not any(p.kind is kinds.VAR_KEYWORD for p in taken.values()):
        for name in named:
            if name not in by_name:
                near = did_you_mean(name, [n for n in by_name if n not in named])
                wanted, told = _ARGUMENTS.get(name, ("", ""))
                near = told if wanted in by_name else near
                near = near if near.endswith("?") else f"{near}."
                return f"{shown}() takes no argument {name!r}; {near} {form}"
    if len(given) > len(placed) and not several:
        most = f"at most {len(placed)}" if placed else "none"
        return f"{shown}() takes {most} of its arguments without a name, not {len(given)}. {form}"
    first = placed[: len(given)]
    for name in first:
        if name in named:
            return f"{shown}() was given {name!r} twice, by its place and by its name. {form}"
    lacking = [
        n
        for n, p in taken.items()
        if p.default is kinds.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        and n not in first
        and n not in named
    ]
    return f"{shown}() lacks {' and '.join(map(repr, lacking))}. {form}" if lacking else None


def _form(shown: str, taken: Sequence[inspect.Parameter]) -> str:
    """Return how a function is called, without types."""
    bare = [p.replace(annotation=p.empty) for p in taken]
    return f"{shown}{inspect.Signature(bare)}"


class UnknownNameError(ShortTraceback, AttributeError):
    """A name that a module has not."""


class _NoSuchNameError(ShortTraceback, AttributeError):
    """A name that a public thing has not; what to write is looked up when the error is shown."""

    def __str__(self) -> str:
        kind, name = type(self.obj), str(self.name)
        text = f"{kind.__name__!r} object has no attribute {name!r}"
        if name.startswith("_"):
            return text
        known = sorted(each for each in object.__dir__(self.obj) if not each.startswith("_"))
        texts: Mapping[str, str] = getattr(kind, _INSTEAD, {})
        own = ""
        with suppress(AttributeError):  # of an object that is not made yet
            own = getattr(kind, _OWN)(self.obj, name)
        return f"{text}; {own or texts.get(name) or did_you_mean(name, known)}"


def _no_attribute(self: object, name: str) -> Any:
    raise _NoSuchNameError(name=name, obj=self)
