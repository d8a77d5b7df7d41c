"""The exact integer plan in PostgreSQL against its own float aggregate, on one server, in one run.

Ten million rows of a million people, at most ten rows of a person counting.  The server is started
by this script from the programs on the machine, with the settings below, and removed at the end.
Told are seconds of CPU of all the server's processes and seconds on the clock, and both as
multiples of the plain aggregate of the same shape (with groups or without): each line takes turns
with its plain one, and of both the best counts.
Run: ``python benchmarks/tables_postgres.py [rows]``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.servers.postgres_server import PostgresServer, missing
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, Rows, Total

SETTINGS = {"shared_buffers": "1GB", "fsync": "off", "max_wal_size": "8GB", "log_statement": "none"}
WORK_MEMORY = "256MB"
KEYS = [f"group {i}" for i in range(14)]
GRID = Grid.for_bounds(0, 100)
COARSE = Grid.for_bounds(0, 100, bits=16)
ASKED: dict[str, list[Any]] = {
    "count": [Rows()],
    "sum": [Total(col("age"), GRID)],
    "count, mean": [Rows(), Moments(col("age"), GRID, squares=False)],
    "histogram of 50": [Bins(col("age"), GRID, tuple(GRID.offset(e) for e in range(0, 101, 2)))],
    "median": [Cells(col("age"), COARSE)],
}
PEOPLE = PersonUnit("person", rows=10)
PLAIN = "count(*), count(age), sum(age), avg(age) from public.visits"
OWN_MEDIAN = "percentile_cont(0.5) within group (order by age) from public.visits"
# What the server's own SQL takes that bounds each person: at 10 rows by weights, or by leaving rows
# out.  Ours is told as a multiple of it as well.
BY_PERSON = "from (select *, count(*) over (partition by person) as c from public.visits) as v"
FIRST_ROWS = (
    "from (select *, row_number() over (partition by person) as c from public.visits) as v "
    "where c <= 10"
)
PEOPLE_AND_GROUPS = (
    "select occupation, sum(c), sum(s) from (select person, occupation, count(*) as c, "
    "least(1, 10.0 / count(*)) * sum(age) as s from public.visits group by 1, 2) as p group by 1"
)
OWN = {
    "people": "select count(*), sum(least(c, 10)) from "
    "(select count(*) as c from public.visits group by person) as p",
    "histogram of 50": "select width_bucket(age, 0, 100, 50), sum(least(1, 10.0 / c)) "
    f"{BY_PERSON} group by 1",
    "median": f"select percentile_cont(0.5) within group (order by age) {FIRST_ROWS}",
}
OWN_BY_GROUP = {
    "count, mean": PEOPLE_AND_GROUPS,
    "histogram of 50": "select occupation, width_bucket(age, 0, 100, 50), "
    f"sum(least(1, 10.0 / c)) {BY_PERSON} group by 1, 2",
    "median": "select occupation, percentile_cont(0.5) within group (order by age) "
    f"{FIRST_ROWS} group by 1",
}
ROUNDS = 2


def generate(server: PostgresServer, rows: int) -> None:
    with server.connect() as connection:
        connection.execute(
            f"""create unlogged table visits as select
            cast(floor({rows // 10} * pow(random(), 2)) as bigint) as person,
            'group ' || cast(floor(random() * 14) as int) as occupation,
            case when random() > 0.01 then cast(round(cast(random() * 120 - 10 as numeric), 3)
            as double precision) end as age from generate_series(1, {rows})"""
        )
        connection.execute("vacuum analyze visits")


def candidates(source: Source) -> dict[str, tuple[bool, Callable[[], object]]]:
    """What is measured, by name: whether it has groups, and how to run it; the plain ones first."""

    def ours(unit: Any, asked: list[Any], by: bool) -> Callable[[], object]:
        grouping: dict[str, Any] = {"by": {"o": col("occupation")}, "keys": KEYS} if by else {}
        return lambda: IntegerQuery(source, unit, **grouping).run(asked)

    rows = source.engine.rows
    found: dict[str, tuple[bool, Callable[[], object]]] = {
        "plain": (False, lambda: rows(f"select {PLAIN}")),
        "plain by group": (True, lambda: rows(f"select occupation, {PLAIN} group by occupation")),
        "the server's own median": (False, lambda: rows(f"select {OWN_MEDIAN}")),
        "the server's own median by group": (
            True,
            lambda: rows(f"select occupation, {OWN_MEDIAN} group by occupation"),
        ),
    }
    for by, own in ((False, OWN), (True, OWN_BY_GROUP)):
        suffix = " by group" if by else ""
        for name, sql in own.items():
            found[f"own, 10 rows each: {name}{suffix}"] = by, partial(rows, sql)
    one = ASKED["count, mean"]
    for by, suffix in ((False, ""), (True, " by group")):
        found[f"one row each: count, mean{suffix}"] = by, ours(OneRowEach(), one, by)
        for name, asked in ASKED.items():
            found[f"10 rows each: {name}{suffix}"] = by, ours(PEOPLE, asked, by)
    return found


def cpu(server: PostgresServer, backend: int) -> float:
    """Seconds of CPU so far: of the connection's process, and of the helpers that have ended."""

    def spent(pid: int, fields: slice) -> float:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, told[fields])) / os.sysconf("SC_CLK_TCK")

    assert server.pid is not None
    return spent(backend, slice(11, 13)) + spent(server.pid, slice(13, 15))


def timed(server: PostgresServer, backend: int, run: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU and on the clock."""
    before, begin = cpu(server, backend), time.monotonic()
    run()
    clock = time.monotonic() - begin
    time.sleep(0.1)  # until the helpers have ended, and are counted
    return cpu(server, backend) - before, clock


def best(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    return min(c for c, _ in rounds), min(t for _, t in rounds)


def measure(server: PostgresServer, source: Source) -> None:
    ((backend,),) = source.engine.rows("select pg_backend_pid()")
    asked = candidates(source)
    for name, (by, run) in asked.items():
        plain = asked["plain by group" if by else "plain"][1]
        rounds = [[timed(server, backend, each) for each in (plain, run)] for _ in range(ROUNDS)]
        base, own = (best(list(each)) for each in zip(*rounds, strict=True))
        ratios = " ".join(
            f"{a:7.2f} s {a / max(b, 0.01):5.1f}x" for a, b in zip(own, base, strict=True)
        )
        print(f"{name:36s} {ratios}  (plain {base[0]:.2f} s, {base[1]:.2f} s)", flush=True)


def main() -> None:
    lacking = missing()
    if lacking is not None:
        print(f"left out for want of {lacking[0]}: {lacking[1]}")
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    server = PostgresServer(**SETTINGS)
    try:
        generate(server, rows)
        with open_source(server.dsn(), "visits", memory_limit=WORK_MEMORY) as source:
            ((version,),) = source.engine.rows("select current_setting('server_version')")
            told = ", ".join(f"{k} = {v}" for k, v in SETTINGS.items())
            print(f"PostgreSQL {version}; {told}, work_mem = {WORK_MEMORY}, others as they come")
            print(f"{rows:,} rows, {os.cpu_count()} cores; CPU and clock, each over the plain one")
            measure(server, source)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
