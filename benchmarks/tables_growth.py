"""How the time and memory of the exact plan grow with the table, under one limit of memory.

A person has ten rows on average.  Each question runs in a process of its own that may grow by the
limit; the plain aggregate of the engine runs beside it, under the same limit, and so does its own
grouping by person (and group), which may run out of memory.  Prints CPU seconds, the ratio to the
plain aggregate and to the same without a limit, and the peak of memory, and draws both.

Run: ``python benchmarks/tables_growth.py [largest rows] [limit] [picture.png]``, by default
100,000,000 rows (1.2 GB on disk) in 4GB.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

from tables_engine import BY, EDGES, GRID, KEYS, MEAN, MEDIAN, PEOPLE, SUM, generate
from tacit.expressions.expression import col
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.open_source import open_source
from tacit.tables.query.integer_query import PartedQuery
from tacit.tables.query.requests import Bins, People

GROUPED = {"by": BY, "keys": KEYS}
QUESTIONS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "sum": (SUM, {}),
    "count, mean": (MEAN, {}),
    "count, mean by group": (MEAN, GROUPED),
    "histogram by group": ([Bins(col("age"), GRID, EDGES)], GROUPED),
    "median by group": (MEDIAN, GROUPED),
    "people by group": ([People()], GROUPED),
}
PLAIN = "plain aggregate by group"
BY_PERSON = "(select person{by}, count(*) as c, sum(age) as s from '{path}' group by person{by})"
OWN = {
    PLAIN: "select occupation, count(*), count(age), sum(age) from '{path}' group by 1",
    "own: sum": f"select sum(least(s, 1000)) from {BY_PERSON.replace('{by}', '')}",
    "own: count, mean by group": "select occupation, sum(c), sum(s) from "
    f"{BY_PERSON.replace('{by}', ', occupation')} group by 1",
    "own: people by group": "select occupation, count(distinct person) from '{path}' group by 1",
}


def task(name: str, path: Path, limit: str | None) -> Callable[[], object]:
    if name in OWN:
        engine = DuckEngine(memory_limit=limit)
        return lambda: engine.rows(OWN[name].format(path=path))
    asked, grouping = QUESTIONS[name]
    source = open_source(path, memory_limit=limit)
    return lambda: PartedQuery(source, PEOPLE, **grouping).run(asked)


def measure(name: str, path: Path, limit: str | None, results: Connection) -> None:
    run = task(name, path, limit)
    begin = time.process_time()
    try:
        run()
        seconds = time.process_time() - begin
    except EngineMemoryError:
        seconds = float("nan")
    results.send((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def measured(name: str, path: Path, limit: str | None) -> tuple[float, float]:
    """Return the CPU seconds and the peak memory in MB: not numbers where the process was ended."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(name, path, limit, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:  # as by the kernel, where memory is short
        return float("nan"), float("nan")
    finally:
        process.join()


def draw(found: dict[str, list[tuple[int, float, float]]], limit: str, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for name, points in found.items():
        rows, seconds, memory = zip(*points, strict=True)
        style = {"marker": "o", "color": "black" if name == PLAIN else None, "label": name}
        left.plot(rows, seconds, **style)
        right.plot(rows, memory, **style)
    left.set(xscale="log", yscale="log", xlabel="rows", ylabel="CPU seconds")
    right.set(xscale="log", xlabel="rows", ylabel="peak of the process, MB", ylim=(0, None))
    right.set_title(f"memory_limit = {limit}")
    left.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def main() -> None:
    largest = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000
    limit = sys.argv[2] if len(sys.argv) > 2 else "4GB"
    picture = sys.argv[3] if len(sys.argv) > 3 else ""

    found: dict[str, list[tuple[int, float, float]]] = {}
    print(f"DuckDB {duckdb.__version__}, limit {limit}; a person has ten rows, and ten count")
    for rows in (largest // 100, largest // 10, largest):
        with tempfile.TemporaryDirectory(prefix="tacit-benchmark-") as folder:
            path = Path(folder) / "rows.parquet"
            generate(path, rows)
            base = 0.0
            for name in (*OWN, *QUESTIONS):
                free, _ = measured(name, path, None)
                seconds, memory = measured(name, path, limit)
                base = base or seconds
                found.setdefault(name, []).append((rows, seconds, memory))
                ratio = f"{seconds / base:6.1f}x {seconds / free:5.2f}x"
                print(
                    f"{rows:>12,} {name:26s} {seconds:7.2f} s {ratio} {memory:6.0f} MB", flush=True
                )
    if picture:
        draw(found, limit, picture)


if __name__ == "__main__":
    main()
