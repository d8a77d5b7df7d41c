"""Local mechanisms: nanoseconds of CPU a report, client and server, against two libraries.

The peers run in an environment of their own, in the same run, in turns with ours, twice each:

    python -m venv peers
    peers/bin/pip install pure-ldp==1.2.0 multi-freq-ldpy==0.2.5 numpy==2.4.6 xxhash==3.5.0
    peers/bin/pip install scikit-learn statsmodels
    python benchmarks/local.py --peers peers/bin/python

Every figure is the best of both turns, that of the peers the best of both libraries, on as many
reports as they have the patience for; ours are of a million reports.  Goals, at 1,024 items and
epsilon 1: client 50x (GRR), 15x (unary), 200x (hashing), 500x (Hadamard), 8x (subset); server 50x,
40x, 500x (hashing), 1,000x (subset).  Without ``--peers`` only our own figures are printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import thread_time

import numpy as np

from tacit.local import (
    DirectEncoding,
    FrequencyOracle,
    HadamardResponse,
    OptimizedLocalHashing,
    SubsetSelection,
    UnaryEncoding,
)

K, EPSILON = 1024, 1
REPORTS = 10**6
ORACLES: dict[str, FrequencyOracle] = {
    "GRR": DirectEncoding(K, epsilon=EPSILON),
    "unary": UnaryEncoding(K, epsilon=EPSILON),
    "hashing": OptimizedLocalHashing(K, epsilon=EPSILON),
    "hadamard": HadamardResponse(K, epsilon=EPSILON),
    "subset": SubsetSelection(K, epsilon=EPSILON),
}
GOALS = {
    "GRR": (50, 50),
    "unary": (15, 40),
    "hashing": (200, 500),
    "hadamard": (500, None),
    "subset": (8, 1000),
}
BATCH = 10**5


def timed(run: Callable[[], object], rounds: int) -> float:
    """The least nanoseconds of CPU a report over some rounds, after one that warms up."""
    run()
    best = np.inf
    for _ in range(rounds):
        start = thread_time()
        run()
        best = min(best, thread_time() - start)
    return float(best / REPORTS * 1e9)


def ours(rounds: int) -> dict[str, tuple[float, float]]:
    """Our nanoseconds a report, by mechanism: client and server."""
    answers = np.random.default_rng(0).integers(0, K, REPORTS)
    found = {}
    for name, oracle in ORACLES.items():
        reports = oracle.perturb_many(answers)
        client = timed(lambda o=oracle: o.perturb_many(answers), rounds)
        server = timed(lambda o=oracle, r=reports: o.aggregate(r), rounds)
        found[name] = client, server
    return found


def peers(python: str) -> dict[str, dict[str, list[float]]]:
    """The figures of the peers' own process."""
    script = str(Path(__file__).with_name("local_peers.py"))
    command = [python, script, str(K), str(EPSILON)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def memory() -> None:
    """Add up unary reports in batches; print the most memory that the server takes meanwhile."""
    oracle = ORACLES["unary"]
    batch = oracle.perturb_many(np.random.default_rng(0).integers(0, K, BATCH))
    state = oracle.empty()
    tracemalloc.start()
    for batches in range(1, 101):
        state += oracle.aggregate(batch)
        if batches in (1, 10, 100):
            peak = tracemalloc.get_traced_memory()[1]
            print(f"most memory of the server up to report {state.n:,}: {peak:,} bytes")
    tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="the Python of the peers' environment")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    runs, mine = [], dict.fromkeys(ORACLES, (np.inf, np.inf))
    for _ in range(2):
        runs += [peers(options.peers)] if options.peers else []
        for name, (client, server) in ours(options.rounds).items():
            mine[name] = min(mine[name][0], client), min(mine[name][1], server)
    print("| mechanism | side | Tacit, ns | best peer, ns | times | goal |")
    print("|---|---|---|---|---|---|")
    good = True
    for name, figures in mine.items():
        for side, figure, goal in zip(("client", "server"), figures, GOALS[name], strict=True):
            theirs = min((t for run in runs for t in run.get(name, {}).get(side, [])), default=None)
            times = "" if theirs is None else f"{theirs / figure:,.0f}x"
            shown = "" if theirs is None else f"{theirs:,.0f}"
            good &= theirs is None or goal is None or theirs >= goal * figure
            want = "" if goal is None else f"{goal}x"
            print(f"| {name} | {side} | {figure:,.2f} | {shown} | {times} | {want} |", flush=True)
    if runs:
        print(f"\nall goals met: {'yes' if good else 'NO'}")
    memory()


if __name__ == "__main__":
    main()
