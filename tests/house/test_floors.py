"""The floors of the house: a room imports from its own floor or from those below, never above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from house.project import PACKAGE, sources

FLOORS = {
    1: {"errors", "plotting", "outside", "data"},
    2: {"arithmetic"},
    3: {"noise", "expressions"},
    4: {"core", "statistics"},
    5: {"local", "transformations", "accounting"},
    6: {"mechanisms"},
    7: {"report", "tables", "audit"},
    8: {"cli", "service"},
}
FLOOR = {room: floor for floor, rooms in FLOORS.items() for room in rooms}


def is_type_checking(node: ast.AST) -> bool:
    """Whether the node is ``if TYPE_CHECKING:``, whose imports never happen."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import that can happen, those inside functions among them."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield node
    children = node.orelse if is_type_checking(node) else ast.iter_child_nodes(node)  # type: ignore[attr-defined]
    for child in children:
        yield from imports(child)


def imported_rooms(text: str) -> set[str]:
    """The rooms of Tacit that a module imports from.

    >>> sorted(imported_rooms("from tacit.core.chain.space import Space; import tacit.noise"))
    ['core', 'noise']
    """
    names: list[str] = []
    for node in imports(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif node.level:
            raise AssertionError("relative import: write the full name")
        elif node.module == "tacit":
            names += [f"tacit.{alias.name}" for alias in node.names]
        else:
            names.append(node.module or "")
    return {name.split(".")[1] for name in names if name.startswith("tacit.")}


def room_of(path: Path) -> str:
    """The room that a file stands in: a folder of the package, or a module at its top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in sources()} - {"__init__", "__main__"}
    assert rooms <= set(FLOOR), f"give these a floor: {sorted(rooms - set(FLOOR))}"


def test_no_room_imports_from_above() -> None:
    climbing = []
    for path in sources():
        room = room_of(path)
        if room in {"__init__", "__main__"}:
            continue
        for other in imported_rooms(path.read_text(encoding="utf-8")):
            if FLOOR.get(other, 99) > FLOOR[room]:
                climbing.append(f"{path.relative_to(PACKAGE)} imports from {other}")
    assert sorted(climbing) == []


def test_the_reader_of_imports_sees_them_all() -> None:
    text = """
from typing import TYPE_CHECKING
from tacit import noise
if TYPE_CHECKING:
    from tacit.service.app import App
else:
    import tacit.core
def late():
    from tacit.report.page.page import page
"""
    assert imported_rooms(text) == {"noise", "core", "report"}
