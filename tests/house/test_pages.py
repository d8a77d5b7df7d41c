"""Pages are true: the tests that they name are there, and the loggers are those that they list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from house.project import PACKAGE, ROOT, sources

TABLES = {"service-security.md": ("attack", 3, 20), "known-vulnerabilities.md": ("weakness", 4, 10)}
"""Pages with a table of attacks: the head of the table, its columns, and more rows than these.

The last column of a row names its tests, the others say what the attack is, and what is done.
"""
TEST = re.compile(r"`(tests/[\w/]+\.py)::(?:\w+::)?(\w+)`")


def rows(page: str) -> list[list[str]]:
    """The cells of each row of the table of a page."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    heads = (f"| {TABLES[page][0]}", "|---")
    rows = [line for line in lines if line.startswith("| ") and not line.startswith(heads)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in rows]


def names_in(path: str) -> set[str]:
    """The names of the functions in a file of tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", TABLES)
def test_the_tables_are_read(page: str) -> None:
    assert len(rows(page)) > TABLES[page][2]


@pytest.mark.parametrize(
    ("page", "row"),
    [pytest.param(page, row, id=row[0][:40]) for page in TABLES for row in rows(page)],
)
def test_a_row_says_what_is_done_and_names_tests_that_exist(page: str, row: list[str]) -> None:
    assert len(row) == TABLES[page][1], row
    assert all(row[1:-1])
    named = TEST.findall(row[-1])
    assert named, "name a test: `tests/...py::test_...`"
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert name in names_in(path), f"{path}::{name}"
        assert name.startswith("test_")


def loggers(path: Path) -> Iterator[str]:
    """The names that a module gives to ``getLogger``, where they are Tacit's own."""
    text = path.read_text(encoding="utf-8")
    if "getLogger" not in text:
        return
    tree = ast.parse(text)
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    known = {"__name__": module.removesuffix(".__init__")}
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
            known |= {t.id: str(line.value.value) for t in line.targets if isinstance(t, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger"):
            for given in node.args:
                name = known.get(given.id, "") if isinstance(given, ast.Name) else ""
                name = str(given.value) if isinstance(given, ast.Constant) else name
                if name.split(".")[0] == "tacit":
                    yield name


def test_the_docs_list_every_logger() -> None:
    page = (ROOT / "docs" / "service-seeing.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(tacit(?:\.\w+)*)` \|", page, re.MULTILINE))
    assert listed == {name for path in sources() for name in loggers(path)}


def test_a_logger_is_found_however_it_is_named() -> None:
    path = PACKAGE / "service" / "telemetry.py"
    assert set(loggers(path)) == {"tacit.service"}
    path = PACKAGE / "tables" / "engines" / "spark.py"
    assert set(loggers(path)) == {"tacit.tables.engines.spark"}
