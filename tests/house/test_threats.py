"""The page of threats is true: every test that it names is there, and every threat names one."""

from __future__ import annotations

import ast
import re

import pytest

from house.project import ROOT

PAGE = ROOT / "docs" / "service-security.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| attack", "|---"))
]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def in_file(path: str) -> set[str]:
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_there_are_threats() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_threat_has_a_defence_and_a_test_that_exists(row: list[str]) -> None:
    assert len(row) == 3, row
    assert row[1]
    named = TEST.findall(row[2])
    assert named, "name a test: `tests/...py::test_...`"
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert name in in_file(path), f"{path}::{name}"
        assert name.startswith("test_")
