"""An hourly dashboard over a year: its error against the prediction, and other ways in one run.

The published numbers of an empty table are the noise itself.  The other ways pay the same epsilon
for the year: the two-branched counter of running totals
(tacit.mechanisms.continual_counting), and a release for each hour, added up.  Then the
time of an update, against the plain count by hour in the same engine.  Run it from the root of the
repository:

    python benchmarks/counts_over_time.py
    python benchmarks/counts_over_time.py --runs 50 --rows 10000000
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator

import duckdb
import numpy as np

import tacit as tc
from tacit.mechanisms.continual_counting import Counter

HOURS = 24 * 365
Errors = tuple[np.ndarray, np.ndarray]


def dashboard(branching: int | None, **amount: object) -> tuple[Callable[[], Errors], str]:
    """Return a way to publish a year of nothing, and what its preview says."""
    connection = duckdb.connect()
    connection.execute("create table visits (hour bigint)")

    def counter(tag: str) -> tc.tables.TimeCounter:
        budget = tc.rho(1) if "rho" in amount else tc.epsilon(1)
        session = tc.Session(connection, unit=tc.one_row_each, table="visits", budget=budget)
        asked = {"start": 0, "every": 1, "periods": HOURS, "branching": branching, "tag": tag}
        return session.count_over_time("hour", **asked, **amount)

    def publish() -> Errors:
        answer = counter("run").update(now=HOURS)
        return tuple(np.array(answer.column(c)["value"]) for c in ("count", "total"))

    shown = counter("look").preview()
    return publish, f"{shown.count_error:.2f} / {shown.total_error:.1f}"


def framework() -> Errors:
    """Return the errors of the two-branched counter: its totals, and their differences."""
    counter = Counter(HOURS, scale=HOURS.bit_length())
    totals = np.array([counter.next(0) for _ in range(HOURS)])
    return np.diff(totals, prepend=0), totals


def hour_by_hour() -> Errors:
    """Return the errors of a release for each hour, at an equal share of epsilon 1."""
    counts = np.asarray(tc.noise.discrete_laplace(HOURS, HOURS))
    return counts, np.cumsum(counts)


def ways() -> Iterator[tuple[str, Callable[[], Errors], str]]:
    """Yield the name of each way, how it publishes a year, and its predicted errors."""
    yield "dashboard, epsilon 1", *dashboard(None, epsilon=1)
    yield "dashboard, days as blocks", *dashboard(24, epsilon=1)
    yield "dashboard, rho 1/10", *dashboard(None, rho="1/10")
    yield "two branches, totals alone", framework, ""
    far = HOURS * math.sqrt(2)
    yield "a release an hour", hour_by_hour, f"{far:.0f} / {far * math.sqrt((HOURS + 1) / 2):.0f}"


def errors(runs: int) -> None:
    """Print the root mean square error of counts and of totals."""
    print("| a year of hours | count | total | predicted |\n|---|---|---|---|")
    for name, publish, predicted in ways():
        found = [publish() for _ in range(runs)]
        count, total = (
            math.sqrt(np.mean([np.mean(np.square(run[i], dtype=float)) for run in found]))
            for i in (0, 1)
        )
        print(f"| {name} | {count:.2f} | {total:.1f} | {predicted} |")


def cpu(run: Callable[[], object]) -> float:
    """Return the CPU seconds of a run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def times(rows: int) -> None:
    """Print what updates cost, as multiples of the plain count by hour."""
    connection = duckdb.connect()
    connection.execute(
        f"create table visits as select (hash(range) % {HOURS})::bigint as hour, "
        f"(power((hash(range + 7) % 1000000) / 1e6, 2) * {rows // 10})::bigint as who "
        f"from range({rows})"
    )
    plain = cpu(lambda: connection.sql("select hour, count(*) from visits group by 1").fetchall())
    print(
        f"\n| {rows:,} rows, over the plain count ({plain:.2f} s) | one row each | 10 rows each |"
    )
    print("|---|---|---|")
    cells: dict[str, list[float]] = {"the first half year": [], "one hour more": []}
    for unit in (tc.one_row_each, tc.unit("who", rows=10)):
        session = tc.Session(connection, table="visits", unit=unit, budget=tc.epsilon(1))
        counter = session.count_over_time("hour", start=0, every=1, periods=HOURS, epsilon=1)
        for name, now in zip(cells, (HOURS // 2, HOURS // 2 + 1), strict=True):
            cells[name].append(
                cpu(lambda now=now, counter=counter: counter.update(now=now)) / plain
            )
    for name, found in cells.items():
        print(f"| {name} | {' | '.join(f'{ratio:.1f}x' for ratio in found)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    errors(options.runs)
    times(options.rows)
