"""The public face is pinned, and every name of it explains itself."""

from __future__ import annotations

import ast
import inspect
import types
from pathlib import Path

import pytest

import tacit
from house.project import PACKAGE, sources

PINNED = [
    line
    for line in (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split("\n")
    if line and not line.startswith("#")
]


def test_public_names_are_pinned() -> None:
    assert sorted(getattr(tacit, "__all__", [])) == sorted(PINNED)


def test_dir_shows_every_public_name() -> None:
    assert set(PINNED) <= set(dir(tacit))


@pytest.mark.parametrize("name", PINNED)
def test_public_name_has_docstring_and_example(name: str) -> None:
    value = getattr(tacit, name)
    if isinstance(value, str):  # __version__
        return
    text = inspect.getdoc(value) or ""
    assert len(text) > 20, f"tacit.{name} has no docstring"
    no_example = isinstance(value, types.ModuleType) or (
        isinstance(value, type) and issubclass(value, BaseException)
    )
    assert no_example or ">>>" in text, f"the docstring of tacit.{name} has no example"


def exported(tree: ast.Module) -> set[str]:
    """The names in a module's ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            strings = (n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
            return {name for name in strings if isinstance(name, str)}
    return set()


@pytest.mark.full
def test_every_exported_name_of_a_room_has_a_docstring() -> None:
    silent = []
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = exported(tree)
        silent += [
            f"{path.relative_to(PACKAGE)}: {node.name}"
            for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and node.name in names
            and "overload" not in map(ast.unparse, node.decorator_list)
            and not ast.get_docstring(node)
        ]
    assert silent == []
