"""Local mechanisms: nanoseconds of CPU a report, client and server, against two libraries.

The peers run in an environment of their own, in the same run, before and after ours:

    python -m venv peers
    peers/bin/pip install pure-ldp==1.2.0 multi-freq-ldpy==0.2.5 numpy==2.4.6 xxhash==3.5.0
    peers/bin/pip install scikit-learn statsmodels
    python benchmarks/local.py --peers peers/bin/python

Each peer figure is the best of both libraries over both runs.  Goals, at 1,024 items and epsilon 1:
client 50x (GRR), 15x (unary), 200x (hashing), 500x (Hadamard), 8x (subset); server 50x, 40x, 500x
(hashing), 1,000x (subset).  Without ``--peers`` only our own figures are printed.
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
ORACLES: dict[str, tuple[FrequencyOracle, int, int]] = {
    "GRR": (DirectEncoding(K, epsilon=EPSILON), 10**6, 10**6),
    "unary": (UnaryEncoding(K, epsilon=EPSILON), 10**5, 10**5),
    "hashing": (OptimizedLocalHashing(K, epsilon=EPSILON), 10**6, 10**5),
    "hadamard": (HadamardResponse(K, epsilon=EPSILON), 10**6, 10**6),
    "subset": (SubsetSelection(K, epsilon=EPSILON), 20_000, 10**5),
}
GOALS = {
    "GRR": (50, 50),
    "unary": (15, 40),
    "hashing": (200, 500),
    "hadamard": (500, None),
    "subset": (8, 1000),
}
TEN_MILLION = 10**7


def timed(run: Callable[[], object], reports: int, rounds: int) -> float:
    """The least nanoseconds of CPU a report over some rounds, after one that warms up."""
    run()
    best = np.inf
    for _ in range(rounds):
        start = thread_time()
        run()
        best = min(best, thread_time() - start)
    return float(best / reports * 1e9)


def ours(rounds: int) -> dict[str, tuple[float, float]]:
    """Our nanoseconds a report, by mechanism: client and server."""
    answers = np.random.default_rng(0).integers(0, K, 10**6)
    found = {}
    for name, (oracle, sent, added) in ORACLES.items():
        reports = oracle.perturb_many(answers[:added])
        client = timed(lambda o=oracle, n=sent: o.perturb_many(answers[:n]), sent, rounds)
        server = timed(lambda o=oracle, r=reports: o.aggregate(r), added, rounds)
        found[name] = client, server
    return found


def peers(python: str) -> dict[str, dict[str, list[float]]]:
    """The figures of the peers' own process."""
    script = str(Path(__file__).with_name("local_peers.py"))
    command = [python, script, str(K), str(EPSILON)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def many_batches() -> None:
    """Add up 10**7 unary reports in batches; print time, and memory by number of batches."""
    oracle, _, _ = ORACLES["unary"]
    batch = oracle.perturb_many(np.random.default_rng(0).integers(0, K, 10**5))
    state = oracle.empty()
    tracemalloc.start()
    start = thread_time()
    peaks = []
    for _ in range(TEN_MILLION // len(batch)):
        state += oracle.aggregate(batch)
        peaks.append(tracemalloc.get_traced_memory()[1])
    took = thread_time() - start
    tracemalloc.stop()
    print(f"\n{state.n:,} unary reports in packed batches: {took / state.n * 1e9:.1f} ns a report")
    print(f"most memory after 1 batch {peaks[0]:,} bytes, after {len(peaks)}: {peaks[-1]:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", help="the Python of the peers' environment")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    runs = [peers(options.peers)] if options.peers else []
    mine = ours(options.rounds)
    runs += [peers(options.peers)] if options.peers else []
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
    many_batches()


if __name__ == "__main__":
    main()
