"""The exact integer plan against the engine's own float aggregate, in one run.

Ten million rows of a million people in a Parquet file; CPU time, best of three; the peak memory of
each part in a process of its own.  Run: ``python benchmarks/tables_engine.py [rows]``.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, Rows, Total

KEYS = [f"group {i}" for i in range(14)]
GRID = Grid.for_bounds(0, 100)
MEAN = [Rows(), Moments(col("age"), GRID, squares=False)]
SUM = [Total(col("age"), GRID)]
EDGES = tuple(GRID.offset(e) for e in range(0, 101, 2))
ROWS_OF = [Bins(col("age"), GRID, EDGES)]
MEDIAN = [Cells(col("age"), GRID, shift=15)]
BY = {"occupation": col("occupation")}
PEOPLE = PersonUnit("person", rows=10)


def generate(path: Path, rows: int) -> None:
    duckdb.connect().execute(
        f"""copy (select cast(floor({rows // 10} * pow(random(), 2)) as bigint) as person,
        'group ' || cast(floor(random() * 14) as int) as occupation,
        case when random() > 0.01 then round(random() * 120 - 10, 3) end as age,
        from range({rows})) to '{path}'"""
    )


def plain(path: Path) -> Callable[[], object]:
    connection = duckdb.connect()
    sql = f"""select occupation, count(*), count(age), sum(age), avg(age) from '{path}'
        group by occupation"""
    return lambda: connection.execute(sql).fetchall()


def ours(path: Path, unit: object, by: bool, asked: list) -> Callable[[], object]:
    source = open_source(path)
    grouping = {"by": BY, "keys": KEYS} if by else {}
    return lambda: IntegerQuery(source, unit, **grouping).run(asked)


def second(path: Path, first: list, asked: list) -> Callable[[], object]:
    query = IntegerQuery(open_source(path), PEOPLE, by=BY, keys=KEYS)
    query.run(first)
    return lambda: query.run(asked)


PARTS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "plain float aggregate by group": plain,
    "one row each: count, mean": lambda p: ours(p, OneRowEach(), False, MEAN),
    "one row each: count, mean by group": lambda p: ours(p, OneRowEach(), True, MEAN),
    "one row each: sum by group": lambda p: ours(p, OneRowEach(), True, SUM),
    "one row each: histogram of 50 by group": lambda p: ours(p, OneRowEach(), True, ROWS_OF),
    "one row each: median cells by group": lambda p: ours(p, OneRowEach(), True, MEDIAN),
    "10 rows each: sum": lambda p: ours(p, PEOPLE, False, SUM),
    "10 rows each: sum by group": lambda p: ours(p, PEOPLE, True, SUM),
    "10 rows each: count, mean": lambda p: ours(p, PEOPLE, False, MEAN),
    "10 rows each: count, mean by group": lambda p: ours(p, PEOPLE, True, MEAN),
    "10 rows each: histogram by group": lambda p: ours(p, PEOPLE, True, ROWS_OF),
    "10 rows each: median cells by group": lambda p: ours(p, PEOPLE, True, MEDIAN),
    "  then: count, mean by group": lambda p: second(p, MEAN, MEAN),
    "  then: median cells by group": lambda p: second(p, MEAN, MEDIAN),
}


def measure(name: str, path: Path, results: multiprocessing.Queue) -> None:
    run, best = PARTS[name](path), float("inf")
    for _ in range(3):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    results.put((best, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="tacit-benchmark-") as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, rows)
        print(f"{rows:,} rows; CPU seconds, ratio to the plain aggregate, peak memory")
        base = 0.0
        for name in PARTS:
            results = context.Queue()
            process = context.Process(target=measure, args=(name, path, results))
            process.start()
            seconds, memory = results.get()
            process.join()
            base = base or seconds
            print(f"{name:42s} {seconds:6.2f} s {seconds / base:6.1f}x {memory:6.0f} MB")


if __name__ == "__main__":
    main()
