"""The exact integer plan on Spark against Spark's own float aggregate, in one run.

Ten million rows of a million people in a Parquet file, a Spark in local mode with two cores.
Processor time of the Java machine (its compiler and collector too).  Spark's compiler makes a first
run several times dearer, so each line is asked three times, in turn with the plain aggregate, and
the best of three is put beside the best of those three.  What the first question of a Spark costs,
as it is met by who asks one question, stands below, beside a plain aggregate asked first.  Run:
``python benchmarks/tables_spark.py [rows] [file]``; it needs Java and ``pip install
'tacit-dp[spark]'``.  The file is made unless it is there.

Where another Python has tumult-analytics, name it in ``PEER_PYTHON_TUMULT``, and the same file is
asked there for count, sum and mean by group, with one row each and with ten rows a person; see
``benchmarks/peers/tumult_tables.py``.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, Rows, Total

KEYS = [f"group {i}" for i in range(14)]
GRID = Grid.for_bounds(0, 100)
COUNT = [Rows()]
MEAN = [Rows(), Moments(col("age"), GRID, squares=False)]
SUM = [Total(col("age"), GRID)]
EDGES = tuple(GRID.offset(e) for e in range(0, 101, 2))
HISTOGRAM = [Bins(col("age"), GRID, EDGES)]
MEDIAN = [Cells(col("age"), GRID, shift=15)]
BY = {"occupation": col("occupation")}
PEOPLE = PersonUnit("person", rows=10)
PLAIN = "select occupation, count(*), count(age), sum(age), avg(age) from rows group by 1"
OWN_MEDIAN = "select occupation, percentile(age, 0.5) from rows group by 1"
PARTS: dict[str, tuple[Any, bool, list[Any]]] = {
    "one row each: count by group": (OneRowEach(), True, COUNT),
    "one row each: count, mean": (OneRowEach(), False, MEAN),
    "one row each: count, mean by group": (OneRowEach(), True, MEAN),
    "one row each: sum by group": (OneRowEach(), True, SUM),
    "one row each: histogram of 50 by group": (OneRowEach(), True, HISTOGRAM),
    "one row each: median cells by group": (OneRowEach(), True, MEDIAN),
    "10 rows each: count": (PEOPLE, False, COUNT),
    "10 rows each: sum": (PEOPLE, False, SUM),
    "10 rows each: count, mean": (PEOPLE, False, MEAN),
    "10 rows each: count by group": (PEOPLE, True, COUNT),
    "10 rows each: sum by group": (PEOPLE, True, SUM),
    "10 rows each: count, mean by group": (PEOPLE, True, MEAN),
    "10 rows each: histogram by group": (PEOPLE, True, HISTOGRAM),
    "10 rows each: median cells by group": (PEOPLE, True, MEDIAN),
}


def generate(path: Path, rows: int) -> None:
    duckdb.connect().execute(
        f"""copy (select cast(floor({rows // 10} * pow(random(), 2)) as bigint) as person,
        'group ' || cast(floor(random() * 14) as int) as occupation,
        case when random() > 0.01 then round(random() * 120 - 10, 3) end as age,
        from range({rows})) to '{path}'"""
    )


def java_seconds() -> float:
    """The processor time of this process's Java machine."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        if name.endswith("(java") and int(fields[1]) == os.getpid():
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def best(*runs: Callable[[], object], times: int = 3) -> list[tuple[float, float]]:
    """The least processor time of each, and the least time on the clock, asked in turn."""
    found: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(times):
        for run, times_of_it in zip(runs, found, strict=True):
            begin, clock = java_seconds(), time.perf_counter()
            run()
            times_of_it.append((java_seconds() - begin, time.perf_counter() - clock))
    return [(min(s for s, _ in times), min(c for _, c in times)) for times in found]


def told(name: str, seconds: float, base: float, clock: float) -> str:
    return f"{name:42s} {seconds:6.2f} s {base:6.2f} s {seconds / base:6.1f}x {clock:6.2f} s"


def session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tacit benchmark")
    for name, value in {
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": folder,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    if shutil.which("java") is None or importlib.util.find_spec("pyspark") is None:
        print("left out: Spark needs Java and pip install 'tacit-dp[spark]'", file=sys.stderr)
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory(prefix="tacit-benchmark-") as folder:
        path = Path(sys.argv[2] if len(sys.argv) > 2 else f"{folder}/rows.parquet")
        if not path.exists():
            generate(path, rows)
        spark = session(folder)
        frame = spark.read.parquet(str(path))
        frame.createOrReplaceTempView("rows")

        def plain() -> object:
            return spark.sql(PLAIN).collect()

        best(plain)
        print(f"{rows:,} rows; seconds of the processor, those of the plain aggregate by group, ")
        print("their ratio, and seconds on the clock", flush=True)
        (base, _), (seconds, clock) = best(plain, lambda: spark.sql(OWN_MEDIAN).collect())
        print(told("Spark's own median by group", seconds, base, clock), flush=True)
        ours: dict[str, float] = {}
        for name, (unit, grouped, asked) in PARTS.items():
            grouping = {"by": BY, "keys": KEYS} if grouped else {}

            def run(unit: Any = unit, how: Any = grouping, asked: Any = asked) -> object:
                with open_source(frame) as source:
                    return IntegerQuery(source, unit, **how).run(asked)

            (base, _), (seconds, clock) = best(plain, run)
            ours[name] = seconds
            print(told(name, seconds, base, clock), flush=True)
        spark.stop()
        first_questions(path)
        tumult(path, ours)


def first_question(path: str, name: str | None, told: multiprocessing.Queue[float]) -> None:
    """Ask one thing of a Spark that has just started: the plain aggregate without a name."""
    with tempfile.TemporaryDirectory(prefix="tacit-benchmark-") as folder:
        spark = session(folder)
        frame = spark.read.parquet(path)
        frame.createOrReplaceTempView("rows")
        begin = java_seconds()
        if name is None:
            spark.sql(PLAIN).collect()
        else:
            unit, grouped, asked = PARTS[name]
            with open_source(frame) as source:
                grouping = {"by": BY, "keys": KEYS} if grouped else {}
                IntegerQuery(source, unit, **grouping).run(asked)
        told.put(java_seconds() - begin)
        spark.stop()


def first_questions(path: Path, times: int = 2) -> None:
    """Tell what the first question of a Spark costs: one is asked once, and then replayed."""
    context = multiprocessing.get_context("spawn")

    def asked(name: str | None) -> float:
        found = []
        for _ in range(times):
            told: Any = context.Queue()
            process = context.Process(target=first_question, args=(str(path), name, told))
            process.start()
            found.append(told.get())
            process.join()
        return min(found)

    base = asked(None)
    print(f"the first question of a Spark; the plain aggregate {base:.2f} s", flush=True)
    for name in (name for name, (unit, _, _) in PARTS.items() if unit is PEOPLE):
        seconds = asked(name)
        print(f"{name:42s} {seconds:6.2f} s {seconds / base:6.1f}x", flush=True)


PEERS = {
    "tumult count by group": "one row each: count by group",
    "tumult sum by group": "one row each: sum by group",
    "tumult mean by group": "one row each: count, mean by group",
    "tumult count by group, 10 rows a person": "10 rows each: count by group",
    "tumult sum by group, 10 rows a person": "10 rows each: sum by group",
    "tumult mean by group, 10 rows a person": "10 rows each: count, mean by group",
}


def tumult(path: Path, ours: dict[str, float]) -> None:
    """Ask the same file by tumult-analytics, in the Python that has it."""
    python = os.environ.get("PEER_PYTHON_TUMULT")
    if not python:
        print("left out: tumult-analytics (name its Python in PEER_PYTHON_TUMULT)", file=sys.stderr)
        return
    script = Path(__file__).resolve().with_name("peers") / "tumult_tables.py"
    environment = {**os.environ, "PYSPARK_PYTHON": python}
    done = subprocess.run(
        [python, str(script), str(path.resolve())],
        cwd=path.parent,  # some libraries write into the working directory
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in done.stdout.splitlines():
        name, seconds, clock = line.split("\t")
        ratio = float(seconds) / ours[PEERS[name]]
        print(f"{name:42s} {seconds:>6} s, {ratio:.0f} times ours; {clock:>6} s")


if __name__ == "__main__":
    main()
