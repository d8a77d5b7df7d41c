"""All marginals of one and two declared columns of adult in Tacit and its peers, in one run.

    python -m benchmarks.peers.marginals adult.csv --out benchmarks/results/marginals.json

OpenDP and Tumult count each marginal by itself, with an even split of the budget; mbi fits a table
of the rows without other values to marginals that were measured so.  Each is asked once at each
budget; the error is the root of the mean square over the listed cells of all marginals, or of those
that were answered at the limit of time (the noise of each count is the same).
"""

from __future__ import annotations

import argparse
import csv
import datetime
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers import setup
from benchmarks.plans import ADULT, adult

import tacit as tc
from tacit.audit.attack_suite.run import end_group

LIMITS = {"mbi": 180, "opendp": 60, "tumult": 60}
"""Seconds for each answer, beside a minute to start in."""
BUDGETS = {"rho 0.1": ("rho", "0.1"), "epsilon 1": ("epsilon", "1")}


def coded(path: Path, folder: Path) -> dict[str, Any]:
    """Write the declared columns as numbers of their values; say what is asked."""
    keys = {name: listed.split("|") for name, listed in ADULT.items()}
    number = {name: {key: i for i, key in enumerate(listed)} for name, listed in keys.items()}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            [number[name].get(row[name], len(keys[name])) for name in keys]
            for row in csv.DictReader(file)
        ]
    with (folder / "codes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(keys), *rows])
    sets = [list(s) for ways in (1, 2) for s in itertools.combinations(keys, ways)]
    cells = {name: len(listed) for name, listed in keys.items()}
    return {"file": str(folder / "codes.csv"), "cells": cells, "sets": sets}


def truths(task: dict[str, Any], complete: bool) -> list[Any]:
    """The counts of the listed cells of each marginal, of all rows or those with listed values."""
    table = np.loadtxt(task["file"], delimiter=",", skiprows=1, dtype=int)
    if complete:
        table = table[(table < list(task["cells"].values())).all(axis=1)]
    columns = dict(zip(task["cells"], table.T, strict=True))
    found = []
    for chosen in task["sets"]:
        counts = np.zeros([task["cells"][name] + 1 for name in chosen], dtype=int)
        np.add.at(counts, tuple(columns[name] for name in chosen), 1)
        found.append(counts[tuple(slice(task["cells"][name]) for name in chosen)].ravel())
    return found


def ask(name: str, task: dict[str, Any], limit: float) -> list[dict[str, Any]]:
    """What the library says within the limit, line by line: its version, then its answers."""
    interpreter = setup.interpreter(name)
    if interpreter is None:
        print(f"{name} left out: not installed", file=sys.stderr)
        return []
    spark = {"PYSPARK_PYTHON": interpreter, "PYSPARK_DRIVER_PYTHON": interpreter}
    errors = (Path(task["file"]).parent / f"{name}.log").open("wb")
    process = subprocess.Popen(
        [interpreter, str(setup.HERE / f"{name}_marginals.py")],
        cwd=Path(task["file"]).parent,  # some libraries write into the working directory
        env={**os.environ, **spark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
    )
    errors.close()  # the process has it
    try:
        told, _ = process.communicate(json.dumps(task).encode(), timeout=limit)
    except subprocess.TimeoutExpired:
        end_group(process)
        told, _ = process.communicate()
    return [json.loads(line) for line in told.splitlines()]


def error(answers: list[list[float]], truth: list[Any]) -> float:
    """The root mean square error over all cells that were answered."""
    off = np.concatenate([np.subtract(a, t) for a, t in zip(answers, truth, strict=False)])
    return float(np.sqrt(np.mean(off**2)))


def main() -> None:
    """Measure all, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adult", type=Path, help="the table adult.csv")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    chosen = parser.parse_args()
    versions = {"Tacit": tc.__version__}
    errors: dict[str, dict[str, Any]] = {budget: {} for budget in BUDGETS}
    with tempfile.TemporaryDirectory() as folder:
        task = coded(chosen.adult, Path(folder))
        of_all, of_complete = truths(task, False), truths(task, True)
        for name, (budget, (kind, amount)) in itertools.product(LIMITS, BUDGETS.items()):
            start = time.perf_counter()
            priced = {**task, "kind": kind, "amount": amount, "limit": LIMITS[name]}
            told = ask(name, priced, LIMITS[name] + 60)
            if len(told) < 2:
                print(f"{name}, {budget}: no answer in {LIMITS[name]} s", file=sys.stderr)
                continue
            versions[name] = told[0]["version"]
            answers = told[-1].pop("answers")
            measured = error(answers, of_complete if name == "mbi" else of_all)
            errors[budget][name] = {"error": measured, "marginals": len(answers), **told[-1]}
            took = time.perf_counter() - start
            print(f"{name}, {budget}: {errors[budget][name]}, {took:.0f} s in all", flush=True)
    results = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": versions,
        "marginals": len(task["sets"]),
        "cells": sum(map(len, of_all)),
        "seconds of limit": LIMITS,
        "peers": errors,
        "tacit": adult(chosen.adult),
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
