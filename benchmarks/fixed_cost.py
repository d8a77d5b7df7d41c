"""What a question costs beside the engine's own query: 32,561 rows in memory, where data are cheap.

For each question, the median milliseconds of wall time and of CPU and the least of CPU, over rounds
that run all of them in turn, on a connection that is open: DuckDB's query of what the answer is
made of, such as the count and the sum of values held within their bounds, of the listed groups
alone; and a plain one, such as an average, which has neither bounds nor keys.  Then what Tacit
takes beyond the first, for a question in an open session, for one with a session of its own, and
for one whose ledger is a file (which is synced to the disk when it is charged and when it is
answered: two commits of SQLite stand beside it).  Every question has another epsilon, so that none
is answered twice and nothing that depends on the noise is at hand.  A median by group draws three
times for each of the 14 groups, which is no fixed cost: the same of one group stands beside it.
The goal stands below each table: 2 ms in an open session, 5 ms with one of its own.

Run: ``python benchmarks/fixed_cost.py [rows] [rounds]``.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa

import tacit as tc

GROUPS = 14
BUDGET = tc.epsilon(10**6)
HELD = "case when {0} > {1} then {1} when {0} < 0 then 0 else {0} end"
HOURS, AGE = HELD.format("hours", 99), HELD.format("age", 100)
ASKED = {
    "count": ("count(*)", "count(*)", tc.count()),
    "sum": ("sum(hours)", f"sum({HOURS})", tc.sum("hours", 0, 99)),
    "mean": ("avg(age)", f"count(*), count(age), sum({AGE})", tc.mean("age", 0, 100)),
    "variance": (
        "var_pop(age)",
        f"count(*), count(age), sum({AGE}), sum(({AGE}) * ({AGE}))",
        tc.var("age", 0, 100),
    ),
    "median": ("median(age)", f"{AGE} as held, count(age)", tc.median("age", 0, 100)),
}
WAYS = ("engine's own", "plain query", "open session", "own session", "ledger in a file")
GOALS = {"open session": "at most 2", "own session": "at most 5"}

Run = Callable[[], object]


def table(rows: int) -> pa.Table:
    """Return people with an age, hours of work a week and an occupation."""
    draw = np.random.default_rng(20)
    age = np.clip(np.floor(17 + draw.gamma(2.6, 8.4, rows)), 17, 90).astype(np.int64)
    hours = np.clip(np.rint(draw.normal(40, 15, rows)), 1, 99).astype(np.int64)
    return pa.table({"age": age, "hours": hours, "occupation": draw.integers(0, GROUPS, rows)})


def questions(people: pa.Table, folder: Path) -> Iterator[tuple[str, dict[str, Run]]]:
    """Return each question, and the ways in which it is asked."""
    engine = duckdb.connect()
    engine.register("people", people)
    memory = tc.Session(people, unit=tc.one_row_each, budget=BUDGET)
    file = tc.Session(people, unit=tc.one_row_each, budget=BUDGET, ledger=folder / "people.ledger")
    number = count(1)

    def ways(name: str, groups: int) -> dict[str, Run]:
        sql, parts, aggregate = ASKED[name]
        plain, bounded = f"select {sql} from people", f"select {parts} from people"
        by = ["held"] if name == "median" else []
        if groups:
            plain = f"select occupation, {sql} from people group by occupation"
            bounded = f"select occupation, {parts} from people"
            bounded += f" where occupation between 0 and {groups - 1}"
            by.append("occupation")
        bounded += f" group by {', '.join(by)}" if by else ""

        def ask(session: tc.Session) -> object:
            epsilon = 1 + Fraction(next(number), 10**4)
            if groups:
                asked = session.group_by("occupation", keys=range(groups)).agg(x=aggregate)
            else:
                asked = session.agg(x=aggregate)
            return asked.release(epsilon).to_dict()

        def own() -> object:
            with tc.Session(people, unit=tc.one_row_each, budget=BUDGET) as session:
                return ask(session)

        runs: tuple[Run, ...] = (
            lambda: engine.execute(bounded).fetchall(),
            lambda: engine.execute(plain).fetchall(),
            lambda: ask(memory),
            own,
            lambda: ask(file),
        )
        return dict(zip(WAYS, runs, strict=True))

    for groups, said in ((0, ""), (GROUPS, " by group"), (1, " of a group")):
        for name in ASKED if groups != 1 else ["median"]:
            yield name + said, ways(name, groups)
    yield "(two commits)", {"ledger in a file": two_commits(folder / "commits.sqlite")}


def two_commits(path: Path) -> Run:
    """Return two commits of SQLite, synced as those of a ledger are."""
    connection = sqlite3.connect(path, isolation_level=None)
    for setup in ("journal_mode = wal", "synchronous = extra", "fullfsync = on"):
        connection.execute(f"pragma {setup}")
    connection.execute("create table event (body text)")

    def commit() -> None:
        for _ in range(2):
            connection.execute("insert into event values ('charged')")

    return commit


def main() -> None:
    """Measure and print."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 32_561
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    spent: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="tacit-benchmark-") as folder:
        asked = list(questions(table(rows), Path(folder)))
        for turn in range(rounds + 1):
            for name, ways in asked:
                for way, run in ways.items():
                    begun = time.perf_counter(), time.process_time()
                    run()
                    took = time.perf_counter() - begun[0], time.process_time() - begun[1]
                    if turn:
                        spent[name, way].append(took)
    best = "least CPU"  # what a busy machine adds to is least in it
    for clock, title in enumerate(("median wall", "median CPU", best)):
        typical = min if title == best else median
        print(f"\n{rows:,} rows, {title} milliseconds of {rounds}; beyond the engine's own")
        print(f"{'':20s}" + "".join(f"{way:>18s}" for way in WAYS))
        for name, ways in asked:
            each = {way: [t[min(clock, 1)] for t in spent[name, way]] for way in ways}
            took = {way: 1e3 * typical(times) for way, times in each.items()}
            own = took.get("engine's own", 0.0)
            cells = [took.get(w, np.nan) - own * (w not in WAYS[:2]) for w in WAYS]
            print(f"{name:20s}" + "".join(f"{cell:18.2f}" for cell in cells).replace("nan", "  -"))
        print(f"{'(the goal)':20s}" + "".join(f"{GOALS.get(way, '-'):>18s}" for way in WAYS))


if __name__ == "__main__":
    main()
