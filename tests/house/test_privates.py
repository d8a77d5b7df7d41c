"""A name with a leading underscore belongs to the module that it stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from house.project import modules


def private(name: str) -> bool:
    """Return True if a name is private: one leading underscore, and not one of Python's own.

    >>> private("_seen"), private("__init__"), private("_"), private("seen")
    (True, False, False, False)
    """
    return name.startswith("_") and name.strip("_") != "" and not name.endswith("__")


def defined(tree: ast.Module) -> set[str]:
    """The names that a module or its classes give: functions, classes, assigned names and fields.

    >>> sorted(defined(ast.parse("class A:\\n    _x: int\\n    def _f(self): self._y = 1")))
    ['A', '_f', '_x', '_y']
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and _is_own(node.value):
            if isinstance(node.ctx, ast.Store):
                names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("__setattr__"):
            names |= {a.value for a in node.args[:2] if isinstance(a, ast.Constant)}
    return names


def reached(tree: ast.Module) -> Iterator[str]:
    """The private names of others that a module imports or asks an object for.

    What a class of the module defines itself it may ask another object of its kind for.

    >>> list(reached(ast.parse("from tacit.core import _x, Space")))
    ['tacit.core._x']
    >>> list(reached(ast.parse("self._x = other._x + other._y + self._z")))
    ['other._y']
    """
    own = defined(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{a.name}" for a in node.names if private(a.name))
        elif (
            isinstance(node, ast.Attribute)
            and private(node.attr)
            and node.attr not in own
            and not _is_own(node.value)
        ):
            yield ast.unparse(node)


def _is_own(value: ast.expr) -> bool:
    """Return True if an object is the one that defines the code."""
    return ast.unparse(value) in ("self", "cls", "super()")


@pytest.mark.full
def test_no_module_reaches_into_the_privates_of_another() -> None:
    found = {
        module: names
        for module, path in modules().items()
        if (names := list(reached(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert not found
