"""What a release from a join costs, over the engine's own plain join and aggregate of the tables.

Visits are joined with patients (one row for each of a tenth as many people) by the person, and with
a public table of 1000 sites by its key.  Each candidate runs in a process of its own, after one
round untimed; prints CPU seconds, the ratio to the plain join, and the peak of memory.

Run: ``python benchmarks/joins.py [rows of visits] [limit of memory]``, by default 1,000,000 rows in
4GB; the issue's case is 10000000.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import tacit as tc
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.plan.plan import Plan

DECLARED = """
name = "visits"
unit = {{ person = "person", rows = 20, groups = 5 }}
budget = {{ epsilon = 1000 }}
[tables.visits]
path = "visits.parquet"
memory_limit = "{limit}"
columns.cost = {{ bounds = [0, 1000] }}
[tables.patients]
path = "patients.parquet"
person = "id"
columns.age = {{ bounds = [0, 120] }}
[tables.sites]
path = "sites.parquet"
public = true
key = "site"
columns.region = {{ keys = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"] }}
"""
PEOPLE = "from 'visits.parquet' as v join 'patients.parquet' as p on v.person = p.id"
SITES = "from 'visits.parquet' as v left join 'sites.parquet' as s on v.site = s.site"
PLAIN = {
    "patients": f"select count(*), sum(age), sum(cost) {PEOPLE}",
    "patients by site": "select v.site % 10 as g, count(*), sum(age), sum(cost) "
    f"{PEOPLE} group by g",
    "sites": f"select region, count(*), sum(cost) {SITES} group by region",
}
ROUNDS = 3


def asked(name: str, session: tc.Session) -> Any:
    """Return the question that a plain query answers without privacy."""
    n = {"n": tc.count(), "cost": tc.mean("cost")}
    if name == "sites":
        return session.join("sites").group_by("region").agg(**n)
    joined = session.join("patients")
    if name == "patients by site":
        joined = joined.with_columns(g=tc.col("site").cut(range(0, 1001, 100)))
        keys = [f"[{low}, {low + 100}{')' if low < 900 else ']'}" for low in range(0, 1000, 100)]
        joined = joined.group_by("g", keys=keys)
    return joined.agg(**n, age=tc.mean("age"))


def task(name: str, ours: bool, folder: Path, limit: str) -> Callable[[], object]:
    """Return what one round runs: rows are read anew each time, and nothing stays in the engine."""
    if not ours:
        engine = DuckEngine(memory_limit=limit)
        files = (
            PLAIN[name].replace("from '", f"from '{folder}/").replace("join '", f"join '{folder}/")
        )
        return lambda: engine.rows(files)
    session = tc.open(folder / "visits.toml", ledger=tc.in_memory)
    question = asked(name, session)
    plan = Plan(question._query, tc.epsilon(1))

    def run() -> None:
        question._table.collector.forget()
        question._table.collector.collect(plan)

    return run


def measure(name: str, ours: bool, folder: Path, limit: str, results: Any) -> None:
    run = task(name, ours, folder, limit)
    run()
    seconds = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        run()
        seconds.append(time.process_time() - begin)
    results.put((sorted(seconds)[ROUNDS // 2], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def generate(folder: Path, rows: int) -> None:
    """Write the tables: ten visits a person on average, a few people with hundreds."""
    people = max(rows // 10, 1)
    connection = duckdb.connect()
    connection.execute("select setseed(0.5)")
    drawn = f"case when random() < 0.98 then random() * {people} else random() * 100 end"
    for name, sql in {
        "visits": f"select cast({drawn} as bigint) as person, "
        "cast(random() * 999 as integer) as site, "
        f"random() * 900 as cost from range({rows})",
        "patients": "select range as id, cast(random() * 99 as integer) as age "
        f"from range({people})",
        "sites": "select range as site, 'r' || range % 10 as region from range(1000)",
    }.items():
        connection.execute(f"copy ({sql}) to '{folder}/{name}.parquet'")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    limit = sys.argv[2] if len(sys.argv) > 2 else "4GB"
    processes = multiprocessing.get_context("spawn")
    print(f"{rows:,} visits joined; CPU seconds, median of {ROUNDS}; peak of the process, MB")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generate(folder, rows)
        (folder / "visits.toml").write_text(DECLARED.format(limit=limit))
        for name in PLAIN:
            found = []
            for ours in (False, True):
                results = processes.Queue()
                process = processes.Process(
                    target=measure, args=(name, ours, folder, limit, results)
                )
                process.start()
                found.append(results.get())
                process.join()
            (plain, before), (own, after) = found
            print(
                f"{name:18} plain {plain:7.3f} s {before / 1024:6.0f} MB   "
                f"release {own:7.3f} s {after / 1024:6.0f} MB   ratio {own / plain:5.2f}"
            )


if __name__ == "__main__":
    main()
