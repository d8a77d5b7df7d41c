"""The exact integer plan against the engine's own statistics, in one run.

Ten million rows of a million people in a Parquet file; CPU time, best of several runs; the peak
memory of each part in a process of its own.  Each part stands below the engine's own statistic of
the same rows: by group, or by person (and group) and then in total, where a person has ten rows.
Run: ``python benchmarks/tables_engine.py [rows] [runs]``.
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


def own(sql: str) -> Callable[[Path], Callable[[], object]]:
    def task(path: Path) -> Callable[[], object]:
        connection = duckdb.connect()
        return lambda: connection.execute(sql.format(path=path)).fetchall()

    return task


def ours(path: Path, unit: object, by: bool, asked: list) -> Callable[[], object]:
    source = open_source(path)
    grouping = {"by": BY, "keys": KEYS} if by else {}
    return lambda: IntegerQuery(source, unit, **grouping).run(asked)


def second(path: Path, first: list, asked: list) -> Callable[[], object]:
    query = IntegerQuery(open_source(path), PEOPLE, by=BY, keys=KEYS)
    query.run(first)
    return lambda: query.run(asked)


BY_PERSON = """select sum(least(s, 1000)) from
    (select sum(greatest(least(age, 100), 0)) as s from '{path}' group by person)"""
BY_PERSON_AND_GROUP = """select occupation, sum(c), sum(n), sum(s) from
    (select person, occupation, count(*) as c, count(age) as n, sum(age) as s from '{path}'
    group by person, occupation) group by occupation"""
# A part that begins with "own" is the peer of those below it.
PARTS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "own: count, mean by group": own(
        "select occupation, count(*), count(age), sum(age), avg(age) from '{path}' group by 1"
    ),
    "one row each: count, mean": lambda p: ours(p, OneRowEach(), False, MEAN),
    "one row each: count, mean by group": lambda p: ours(p, OneRowEach(), True, MEAN),
    "one row each: sum by group": lambda p: ours(p, OneRowEach(), True, SUM),
    "own: histogram of 50 by group": own(
        "select occupation, cast(floor(age / 2) as utinyint), count(*) from '{path}'"
        " where age between 0 and 100 group by 1, 2"
    ),
    "one row each: histogram of 50 by group": lambda p: ours(p, OneRowEach(), True, ROWS_OF),
    "own: median by group": own("select occupation, median(age) from '{path}' group by 1"),
    "one row each: median cells by group": lambda p: ours(p, OneRowEach(), True, MEDIAN),
    "own: sum by person, then total": own(BY_PERSON),
    "10 rows each: sum": lambda p: ours(p, PEOPLE, False, SUM),
    "10 rows each: count, mean": lambda p: ours(p, PEOPLE, False, MEAN),
    "own: count, mean by person and group": own(BY_PERSON_AND_GROUP),
    "10 rows each: sum by group": lambda p: ours(p, PEOPLE, True, SUM),
    "10 rows each: count, mean by group": lambda p: ours(p, PEOPLE, True, MEAN),
    "10 rows each: histogram by group": lambda p: ours(p, PEOPLE, True, ROWS_OF),
    "10 rows each: median cells by group": lambda p: ours(p, PEOPLE, True, MEDIAN),
    "  then: count, mean by group": lambda p: second(p, MEAN, MEAN),
    "  then: median cells by group": lambda p: second(p, MEAN, MEDIAN),
}


def measure(name: str, path: Path, runs: int, results: multiprocessing.Queue) -> None:
    run, best = PARTS[name](path), float("inf")
    for _ in range(runs):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    results.put((best, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="tacit-benchmark-") as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, rows)
        print(f"{rows:,} rows; CPU seconds, ratio to the engine's own statistic, peak memory")
        base = 0.0
        for name in PARTS:
            results = context.Queue()
            process = context.Process(target=measure, args=(name, path, runs, results))
            process.start()
            seconds, memory = results.get()
            process.join()
            base = seconds if name.startswith("own") else base
            ratio = f"{seconds / base:6.2f}x {memory:6.0f} MB"
            print(f"{name:42s} {seconds:6.3f} s {ratio}", flush=True)


if __name__ == "__main__":
    main()
