"""The public face: every class and function that a user of ``import tacit as tc`` can get hold of.

It starts with the names of the package and of its public packages, and follows what functions,
methods, properties and fields return: what :meth:`tacit.Session.agg` returns is as public as the
session.  How such a thing is made is not: nobody calls the constructor of an answer.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tacit as tc

PACKAGES = (
    tc,
    tc.framework,
    tc.accounting,
    tc.statistics,
    tc.tables,
    tc.local,
    tc.noise,
    tc.errors,
    tc.data,
)
HOOKS = ("__init__", "__call__", "__rshift__")
"""Methods with an underscore that a user sees the signature of."""


@dataclass(frozen=True)
class Place:
    """One annotation of the public face: of an argument, a result, an attribute."""

    where: str
    text: str
    module: str
    returned: bool = False
    defined: str = ""


@cache
def names_of(module: str) -> dict[str, Any]:
    """Return the objects of the names of a module, including those imported for type checkers."""
    names = dict(vars(sys.modules[module]))
    source = Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and str(line.module).startswith("tacit"):
                    exec(ast.unparse(line), names)
    return names


def parts(text: str) -> Iterator[str]:
    """The names in an annotation."""
    for node in ast.walk(ast.parse(text.strip("'\""), mode="eval")):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.isidentifier()
        ):
            yield node.value


def annotations(name: str, function: Any) -> Iterator[Place]:
    """The annotations of a function, unwrapped; one without any is ``nothing``."""
    plain = inspect.unwrap(function)
    signature = inspect.signature(plain)
    for place, parameter in enumerate(signature.parameters.values()):
        if place == 0 and parameter.name in ("self", "cls"):
            continue
        note = parameter.annotation
        text = "nothing" if note is parameter.empty else _text(note)
        own = f"{plain.__qualname__}({parameter.name})"
        yield Place(f"{name}({parameter.name})", text, plain.__module__, defined=own)
    note = signature.return_annotation
    if not name.endswith(".__init__"):
        text = "nothing" if note is signature.empty else _text(note)
        own = f"{plain.__qualname__} ->"
        yield Place(f"{name} ->", text, plain.__module__, returned=True, defined=own)


def _text(note: Any) -> str:
    return note if isinstance(note, str) else getattr(note, "__name__", str(note))


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, its own and those of its bases in Tacit."""
    seen = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("tacit"):
            continue
        for name, value in vars(base).items():
            if name in seen or (name.startswith("_") and name not in HOOKS):
                continue
            seen.add(name)
            yield name, value


def callables(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A function, or the methods and properties of a class, each as a function."""
    made = name.startswith("tc.")
    if isinstance(thing, types.FunctionType):
        yield name, thing
    elif isinstance(thing, type):
        for inner, value in members(thing):
            if inner == "__init__" and not made:
                continue
            if isinstance(value, property):
                yield f"{name}.{inner}", value.fget
            elif isinstance(value, (classmethod, staticmethod)):
                yield f"{name}.{inner}", value.__func__
            elif isinstance(value, types.FunctionType):
                yield f"{name}.{inner}", value
            elif hasattr(value, "func"):  # a cached property
                yield f"{name}.{inner}", value.func


def places(name: str, thing: Any) -> Iterator[Place]:
    """Every annotation of a public thing."""
    for inner, function in callables(name, thing):
        yield from annotations(inner, function)
    if isinstance(thing, type):
        for base in thing.__mro__:
            if base.__module__.startswith("tacit"):
                for field, note in vars(base).get("__annotations__", {}).items():
                    if not field.startswith("_"):
                        own = f"{base.__name__}.{field}"
                        yield Place(f"{name}.{field}", _text(note), base.__module__, True, own)


@cache
def face() -> dict[str, Any]:
    """Every public thing by a name that says where it was found."""
    waiting = [
        # what is in tc.tables is given, and not made by a user
        (
            f"{package.__name__.replace('tacit', 'tc', package is not tc.tables)}.{name}",
            getattr(package, name),
        )
        for package in PACKAGES
        for name in package.__all__
    ]
    faces: dict[str, Any] = {}
    seen: set[int] = set()
    while waiting:
        name, thing = waiting.pop(0)
        if not isinstance(thing, (type, types.FunctionType)):
            thing = type(thing)
        if isinstance(thing, types.ModuleType) or id(thing) in seen or thing is types.ModuleType:
            continue
        seen.add(id(thing))
        faces[name] = thing
        for place in filter(lambda place: place.returned, places(name, thing)):
            for part in parts(place.text):
                named = names_of(place.module).get(part)
                if isinstance(named, type) and named.__module__.startswith("tacit"):
                    waiting.append((f"{named.__module__}.{named.__name__}", named))
    return faces
