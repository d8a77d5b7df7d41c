"""Where the project is, and which module imports which, for the tests that read it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tacit"


def sources() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


@cache
def tracked() -> list[Path]:
    """Every file that belongs to the project (all files of an unpacked source archive)."""
    if (ROOT / ".git").exists():
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout
        paths = [ROOT / name for name in listing.split("\0") if name]
    else:
        skip = {".venv", "__pycache__"}
        paths = [p for p in ROOT.rglob("*") if p.is_file() and not skip & set(p.parts)]
    return [path for path in sorted(paths) if path.is_file()]


def script(path: str) -> Any:
    """Return a script of the tools or the benchmarks as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Graph = dict[str, set[str]]


def module_of(path: Path) -> str:
    """The module that a file of the package is: ``tacit.core.space``."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Every module with its file; those of sub-packages too."""
    return {module_of(path): path for path in sources()}


def imported(text: str, known: Mapping[str, object]) -> set[str]:
    """The modules among ``known`` that a module imports.

    >>> known = dict.fromkeys(["tacit.core", "tacit.core.step", "tacit.noise", "tacit.late"])
    >>> text = "from tacit.core import step, Space"
    >>> sorted(imported(text, known))
    ['tacit.core', 'tacit.core.step']
    >>> text = "def f():\\n    import tacit.noise\\n    importlib.import_module('tacit.late')"
    >>> sorted(imported(text, known))
    ['tacit.late', 'tacit.noise']
    >>> sorted(imported("if TYPE_CHECKING:\\n    from tacit.core.step import Step", known))
    ['tacit.core.step']
    """
    return {name for name in named(ast.parse(text)) if name in known}


def named(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise AssertionError("relative import: write the full name")
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from inner
            if not all(name in modules() for name in inner):
                yield str(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


@cache
def graph() -> Graph:
    """Each module with those that it imports."""
    known = modules()
    return {
        module: imported(path.read_text(encoding="utf-8"), known) - {module}
        for module, path in known.items()
    }


def circles(of: Graph) -> list[list[str]]:
    """Groups of modules each of which reaches all others of its group.

    >>> circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})
    [['b', 'c']]
    """
    order: list[str] = []
    seen: set[str] = set()
    for start in of:
        _finish(of, start, seen, order)
    back: Graph = {module: set() for module in of}
    for module, others in of.items():
        for other in others & set(of):
            back[other].add(module)
    seen, groups = set(), []
    for start in reversed(order):
        group: list[str] = []
        _finish(back, start, seen, group)
        if len(group) > 1:
            groups.append(sorted(group))
    return sorted(groups)


def _finish(of: Graph, start: str, seen: set[str], order: list[str]) -> None:
    """Add what ``start`` reaches to ``order``, each after all that it reaches itself."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(sorted(of[start])))]
    while path:
        module, others = path[-1]
        following = next((o for o in others if o in of and o not in seen), None)
        if following is None:
            order.append(module)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(sorted(of[following]))))
