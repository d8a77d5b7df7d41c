"""Top-level definitions are used in the package, or are public."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from house.project import modules
from tacit.audit.attack_suite.run import SYSTEMS
from tacit.statistics.global_sensitivity import _MODULES

KEPT = {
    "tacit.audit.attack_suite.run.OURS": "the systems that the tests attack",
    "tacit.audit.attack_suite.run.answer_request": "the process of a system runs it",
    **{
        f"tacit.audit.attack_suite.system.{name}": "adapters of other libraries use it"
        for name in ("InstalledLibrary", "refuse_texts")
    },
    "tacit.mechanisms.worker_process.serve": "the worker's process runs it",
    "tacit.sql.select.question_of": "a session, in the layer below, loads it by its name",
    "tacit.service.web.server.application": "each process of several loads it by its name",
    "tacit.tables.engines.csv.parse": "the definition that the reading of files is held to",
    **{
        f"tacit.audit.attack_suite.systems.{module}.SYSTEM": "loaded by the name of the system"
        for module, _ in SYSTEMS.values()
    },
}
"""Names used only by another process or a test, each with the reason."""

ADORNED = ("dataclass", "cache", "lru_cache", "contextmanager", "public")
"""Decorators that do not make what they stand on known to anyone."""


@cache
def trees() -> dict[str, ast.Module]:
    """Each module of the package, parsed."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules().items()}


def defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The functions, classes and constants at the top of a module, but those that are registered.

    >>> text = "A = 1\\n@register\\ndef f(): ...\\n@cache\\ndef g(): ..."
    >>> [name for name, _ in defined(ast.parse(text))]
    ['A', 'g']
    """
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            by = {ast.unparse(d).partition("(")[0].split(".")[-1] for d in node.decorator_list}
            if by <= set(ADORNED):
                yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((t.id, node) for t in targets if isinstance(t, ast.Name))


@cache
def asked() -> frozenset[tuple[str, str]]:
    """Return the names that a module imports, or reads from imported modules."""
    # a statistic is loaded by its name, from the table in which it is registered
    names = {(f"tacit.statistics.{module}", name) for module, name in _MODULES.values()}
    for tree in trees().values():
        alias: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names |= {(str(node.module), a.name) for a in node.names}
                alias |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            elif isinstance(node, ast.Import):
                alias |= {a.asname or a.name: a.name for a in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                names.add((alias.get(ast.unparse(node.value), ""), node.attr))
    return frozenset(names)


@cache
def public() -> frozenset[str]:
    """The names that a package gives out, imported late or at once."""
    names: set[str] = set()
    for name, path in modules().items():
        if path.name == "__init__.py" or name == "tacit.framework":
            nodes = ast.walk(trees()[name])
            names |= {str(n.value) for n in nodes if isinstance(n, ast.Constant)}
    return frozenset(names)


def used_within(tree: ast.Module, name: str, own: ast.stmt) -> bool:
    """Return True if a module uses a name outside of its definition."""
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for statement in tree.body
        if statement is not own
        for node in ast.walk(statement)
    )


@pytest.mark.full
def test_nothing_is_defined_that_nobody_uses() -> None:
    unused = {
        f"{module}.{name}"
        for module, tree in trees().items()
        for name, own in defined(tree)
        if not (name.startswith("__") and name.endswith("__"))
        and (module, name) not in asked()
        and name not in public()
        and not used_within(tree, name, own)
    }
    assert unused == set(KEPT)
