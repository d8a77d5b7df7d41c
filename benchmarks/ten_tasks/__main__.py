"""Run the ten tasks in each library that is there, and write what came out.

    python -m benchmarks.ten_tasks --out benchmarks/results/ten_tasks.json

Each library works in an interpreter of its own, which `python -m benchmarks.peers.setup opendp
diffprivlib` makes, on the bundled table with one row a unit, and on a small file of visits by date.
A task is a function of its file; its lines are those of the function's body without comments, and
its seconds are CPU time of all threads, the median of `--rounds` after one that is not counted,
from the file to the answer.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import inspect
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIBRARIES = ("tacit", "opendp", "diffprivlib")
TASKS = {
    "counts_by_unlisted_categories": "counts by categories that nobody listed",
    "mean_by_group": "a mean by group",
    "quantiles": "three quantiles",
    "range_of_dates": "a range of dates",
    "derived_column": "counts by a derived column",
    "two_grouping_columns": "two grouping columns",
    "histogram_as_a_picture": "a histogram as a picture",
    "three_statistics_by_weights": "three statistics by weights",
    "epsilon_for_an_error": "the epsilon for an error of 50",
    "spreadsheet": "a spreadsheet of the answer",
}


def lines(function: Callable[..., object]) -> int:
    """The lines of a function's body, without comments and blank lines."""
    body = inspect.getsource(function).splitlines()[1:]
    return sum(1 for line in body if line.strip() and not line.strip().startswith("#"))


def measured(task: Callable[..., object], table: Path, out: Path, rounds: int) -> dict[str, Any]:
    """The seconds of a task, or what it failed with."""
    seconds = []
    try:
        for _ in range(rounds + 1):
            start = time.process_time()
            task(table, out)
            seconds.append(time.process_time() - start)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {str(error).strip()[:200]}"}
    return {"seconds": round(statistics.median(seconds[1:]), 3), "first": round(seconds[0], 3)}


def inside(library: str, table: Path, out: Path, rounds: int) -> dict[str, Any]:
    """All tasks of a library, in the interpreter that has it."""
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != HERE]
    spec = importlib.util.spec_from_file_location(f"tasks_of_{library}", HERE / f"{library}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Any] = {}
    for name in TASKS:
        task = getattr(module, name, None)
        if task is None:
            found[name] = {"not offered": module.NOT_OFFERED[name]}
        else:
            found[name] = {"lines": lines(task), **measured(task, table, out, rounds)}
    return {"version": version({"tacit": "tacit-dp"}.get(library, library)), "tasks": found}


def run(library: str, rounds: int) -> dict[str, Any] | None:
    """The tasks of a library in a process of its own; None where it is not installed."""
    from benchmarks.peers import setup

    from tacit.data import health_insurance

    interpreter = setup.interpreter(library)
    if interpreter is None:
        print(f"left out: {library} is not installed", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "health_insurance.parquet"
        shutil.copy(health_insurance(), table)
        days = [f"{p},2024-{month:02}-15" for p in range(400) for month in (1, 2, 3, 4)]
        (Path(folder) / "visits.csv").write_text("\n".join(["person,day", *days]) + "\n")
        command = [interpreter, str(Path(__file__).resolve()), "--inside", library]
        done = subprocess.run(
            [*command, "--folder", folder, "--rounds", str(rounds)],
            env={**os.environ, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            check=True,
        )
    return dict(json.loads(done.stdout))


def table_of(results: dict[str, Any]) -> str:
    """The results as a table in Markdown."""
    libraries = results["libraries"]
    head = [f"{name} {one['version']}" for name, one in libraries.items()]
    rows = [f"| task | {' | '.join(head)} |", f"|---|{'---|' * len(head)}"]
    for task, words in TASKS.items():
        cells = [_cell(one["tasks"][task]) for one in libraries.values()]
        rows.append(f"| {words} | {' | '.join(cells)} |")
    total = [[t for t in one["tasks"].values() if "seconds" in t] for one in libraries.values()]
    sums = [
        f"{sum(t['lines'] for t in some)} lines, {sum(t['seconds'] for t in some):.2f} s"
        for some in total
    ]
    return "\n".join([*rows, f"| together | {' | '.join(sums)} |"]) + "\n"


def _cell(task: dict[str, Any]) -> str:
    if "seconds" in task:
        return f"{task['lines']} lines, {task['seconds']:.2f} s"
    return "not offered" if "not offered" in task else "fails"


def main() -> None:
    """Run, print the table, write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ten_tasks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--inside", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        warnings.simplefilter("ignore")
        table = chosen.folder / "health_insurance.parquet"
        with contextlib.redirect_stdout(io.StringIO()):
            found = inside(chosen.inside, table, chosen.folder, chosen.rounds)
        print(json.dumps(found))
        return
    libraries = {name: run(name, chosen.rounds) for name in LIBRARIES}
    results = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rounds": chosen.rounds,
        "libraries": {name: one for name, one in libraries.items() if one},
    }
    print(table_of(results))
    if chosen.out:
        chosen.out.parent.mkdir(exist_ok=True)
        chosen.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
