"""The page of known vulnerabilities is true: the test of each weakness is there."""

from __future__ import annotations

import ast
import re

import pytest

from house.project import ROOT

PAGE = ROOT / "docs" / "known-vulnerabilities.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| weakness")
]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(?:\w+::)?(\w+)`")


def test_there_are_weaknesses() -> None:
    assert len(ROWS) > 10


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_weakness_has_an_effect_a_fix_and_a_test_that_exists(row: list[str]) -> None:
    assert len(row) == 4, row
    assert row[1]
    assert row[2]
    named = TEST.findall(row[3])
    assert named, "name a test: `tests/...py::test_...`"
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name.startswith("test_")
        assert name in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}, name
