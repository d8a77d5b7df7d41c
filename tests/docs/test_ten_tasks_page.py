"""The table of the ten tasks on the page is that of a run, and its lines are those of the code."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "ten_tasks"
RESULTS = json.loads((ROOT / "benchmarks" / "results" / "ten_tasks.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "coming-from" / "ten-tasks.md").read_text(encoding="utf-8")


def lines_of(library: str) -> dict[str, int]:
    """The lines of each function of a file, counted from its text."""
    text = (FOLDER / f"{library}.py").read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            body = text.splitlines()[node.lineno : node.end_lineno]
            found[node.name] = sum(bool(re.match(r"\s*[^#\s]", line)) for line in body)
    return found


@pytest.mark.parametrize("library", ["tacit", "opendp", "diffprivlib"])
def test_the_lines_are_those_of_the_code(library: str) -> None:
    stated = RESULTS["libraries"][library]["tasks"]
    assert {n: task["lines"] for n, task in stated.items() if "lines" in task} == lines_of(library)
    assert all({"seconds", "not offered"} & set(task) for task in stated.values())
    assert len(stated) == 10


def test_the_table_is_that_of_the_run() -> None:
    rows = re.findall(r"^\| (.*) \|$", PAGE.partition("<!-- ten tasks -->")[2], re.MULTILINE)
    shown = [row.split(" | ") for row in rows if not row.startswith(("task", "together"))]
    for place, (name, one) in enumerate(RESULTS["libraries"].items(), 1):
        assert f"{name} {one['version']}" in rows[0]
        for row, task in zip(shown, one["tasks"].values(), strict=True):
            cell = f"{task['lines']} lines, {task['seconds']:.2f} s" if "lines" in task else ""
            assert row[place] == (cell or "not offered"), row[0]


@pytest.mark.full
def test_the_tasks_run_in_tacit(tmp_path: Path) -> None:
    from tacit.data import health_insurance

    (tmp_path / "visits.csv").write_text("person,day\n1,2024-02-15\n2,2024-05-15\n")
    table = tmp_path / "health_insurance.parquet"
    table.write_bytes(Path(health_insurance()).read_bytes())
    command = [sys.executable, str(FOLDER / "__main__.py"), "--inside", "tacit", "--rounds", "1"]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)], capture_output=True, text=True, check=True
    )
    tasks = json.loads(done.stdout)["tasks"]
    assert [name for name, task in tasks.items() if "seconds" not in task] == []
