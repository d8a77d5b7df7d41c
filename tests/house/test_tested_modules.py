"""The tests mirror the package: a module with logic is tested in the test folder of its package.

What is asked of a module grows with what can be wrong in it.  One of more than ``MUCH`` statements
in its functions is imported by a test file of its folder (``src/tacit/core/space.py`` by a file of
``tests/core``).  A smaller one
is too, or has an example in a docstring, which runs with the tests, or any test file imports it;
for those that people meet only through another door, the list below says which test file runs
them.  The folders of the tests are those of the package, or of one of its modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from house.project import PACKAGE, ROOT, modules

TESTS = ROOT / "tests"
NOT_MIRRORED = {"docs", "golden", "house", "laws", "slow", "support"}
"""Folders of tests that mirror none of the package."""

THROUGH: dict[str, tuple[str, ...]] = {
    "service/web/test_routing.py": ("service.web.routes.operation",),
}
"""The modules that a test file runs without importing them: through the command line, a session, a
chain, a certificate or the name of a statistic."""
MUCH = 40
"""From more statements on than these, neither an example nor a test of something else is enough: it
is more than a function of a dozen lines and its checks, of which half of the package is made."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions and methods with a body beyond their docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            plain = [s for s in node.body if not isinstance(s, ast.Expr)]
            if plain or len(node.body) > 1:
                yield node


def has_logic(text: str) -> bool:
    r"""Return True if a module has a function, or a class with a method.

    >>> has_logic('def f():\n    return 1'), has_logic('def f():\n    "Says what."\nX = 1')
    (True, False)
    """
    return any(True for _ in functions(ast.parse(text)))


@cache
def imported_by_tests(folder: Path = TESTS) -> set[str]:
    """The modules that some test file of a folder imports, by name or for one of their names."""
    names = set()
    for path in folder.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
    return names


def untested() -> set[str]:
    """The modules with logic that have no example, no test file, and that no test file imports."""
    modules_without_tests = set()
    for name, path in modules().items():
        text = path.read_text(encoding="utf-8")
        alone = ">>>" not in text and name not in imported_by_tests()
        alone = alone and not has_tests(name, path)
        if path.name not in ("__init__.py", "__main__.py") and alone and has_logic(text):
            modules_without_tests.add(name.removeprefix("tacit."))
    return modules_without_tests


def statements(tree: ast.Module) -> int:
    r"""Return the number of statements in the functions of a module, without docstrings.

    >>> statements(ast.parse('X = 1\ndef f():\n    "Says."\n    if X:\n        return 1'))
    2
    """
    lines = set()
    for function in functions(tree):
        for node in (n for part in function.body for n in ast.walk(part)):
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if (
                isinstance(node, ast.stmt)
                and not is_docstring
                and not isinstance(node, ast.FunctionDef)
            ):
                lines.add(node)
    return len(lines)


def own_folder(path: Path) -> Path:
    """The folder of the tests of a module."""
    return (TESTS / path.relative_to(PACKAGE)).parent


def has_tests(name: str, path: Path) -> bool:
    """Return True if a test file of a module's folder has its name, or imports it."""
    own = own_folder(path) / f"test_{path.stem}.py"
    return own.is_file() or name in imported_by_tests(own_folder(path))


def untested_beside() -> set[str]:
    """The modules with much logic that no test file of their folder imports."""
    return {
        name.removeprefix("tacit.")
        for name, path in modules().items()
        if not has_tests(name, path)
        and statements(ast.parse(path.read_text(encoding="utf-8"))) > MUCH
    }


def test_a_module_with_much_logic_is_tested_in_its_folder() -> None:
    assert untested_beside() == set()


@pytest.mark.full
def test_every_module_with_logic_is_tested() -> None:
    assert untested() == {name for names in THROUGH.values() for name in names}


@pytest.mark.parametrize("place", THROUGH)
def test_what_runs_a_module_is_a_test_file(place: str) -> None:
    assert "\ndef test_" in (TESTS / place).read_text(encoding="utf-8")


def test_the_folders_of_the_tests_are_those_of_the_package() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    alone = [
        folder
        for folder in folders
        if not (PACKAGE / folder).is_dir()
        and not (PACKAGE / folder).with_suffix(".py").is_file()
        and not NOT_MIRRORED & set(folder.parts[:1])
    ]
    assert alone == []
