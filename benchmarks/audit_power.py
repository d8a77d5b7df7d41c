"""What an audit can prove of the published mechanisms, and what ours proves.

    python benchmarks/audit_power.py [samples] [--seeds 1] [--only SVT3 ...] [--out results.json]

For each row of the published table, from the chances of all outputs of both neighbours:

- *best bet*: the largest epsilon against which the bet that grows fastest is expected to reach 100
  times its money, which refutes with 99% confidence at any time.  Its growth is the least
  KL(p | P) + KL(q | Q) over all pairs (P, Q) within the claim.
- *no test*: above it no test of so many runs, sequential or not, refutes with 99% confidence in
  half of its uses.  A test that does has n (KL(p | P) + KL(q | Q)) >= kl(1/2 | 1/100) = 1.61 for
  every (P, Q) within the claim: what it decides tells no more than the outputs (data processing).
- *ours*: the bound of ``tacit.audit.sampled``, the median over the repetitions, with the claim that
  is under audit; it knows nothing of the distributions.

All of that at so many runs on each side, and at half as many: so many on both sides together.
0 samples leave ours out.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from numpy.typing import NDArray

import _published_distributions as exact
import tacit as tc
from support.audit import published_mechanisms as mechanisms
from tacit.audit import sampled
from tacit.audit.bets import payoffs

REFUTES = math.log(100)
LEAST = 0.5 * math.log(0.5 / 0.01) + 0.5 * math.log(0.5 / 0.99)
CELLS = 6000
RATIOS = 25.0
"""Logarithms of ratios are cut there: a chance of 0 is not to be divided by."""


class Row(NamedTuple):
    """A mechanism, its neighbours, and what is known of it."""

    mechanism: Any
    u: list[float]
    v: list[float]
    chances: Callable[[], exact.Chances]
    true: str
    published: float


LOW, HIGH = [0] * 5, [1] * 5
U3, V3 = [0] * 9 + [1], [1] * 9 + [0]
U4, V4 = [0] * 4 + [1], [1] * 4 + [0]
ROWS = {
    "noisy histogram": Row(mechanisms.histogram, LOW, [1, 0, 0, 0, 0], exact.histogram, "10", 10.0),
    "noisy max with value, Laplace": Row(
        mechanisms.largest_with_laplace,
        LOW,
        HIGH,
        lambda: exact.largest(LOW, HIGH, one_sided=False),
        "0.25",
        0.248,
    ),
    "noisy max with value, exponential": Row(
        mechanisms.largest_with_exponential,
        LOW,
        HIGH,
        lambda: exact.largest(LOW, HIGH, one_sided=True),
        "infinite",
        0.35,
    ),
    "SVT3": Row(
        mechanisms.svt3, U3, V3, lambda: (exact.svt3(U3), exact.svt3(V3)), "unbounded", 0.18
    ),
    "SVT4": Row(mechanisms.svt4, U4, V4, lambda: exact.svt4(U4, V4), "0.1725", 0.172),
    "SVT5": Row(
        mechanisms.svt5, LOW + HIGH, HIGH + LOW, lambda: exact.svt5(LOW, HIGH), "infinite", 14.3
    ),
    "SVT6": Row(mechanisms.svt6, LOW + HIGH, HIGH + LOW, lambda: exact.svt6(5), "0.420", 0.32),
    "SVT6, 20 answers": Row(
        mechanisms.svt6, 2 * LOW + 2 * HIGH, 2 * HIGH + 2 * LOW, lambda: exact.svt6(10), "", 0.32
    ),
    "prefix sums": Row(mechanisms.prefix_sums, 2 * LOW, 2 * HIGH, exact.prefix_sums, "1.0", 0.50),
    "RAPPOR": Row(
        mechanisms.rappor,
        mechanisms.ITEM,
        mechanisms.OTHER,
        lambda: exact.rappor(once=False),
        "0.40",
        0.29,
    ),
    "one-time RAPPOR": Row(
        mechanisms.rappor_once,
        mechanisms.ITEM,
        mechanisms.OTHER,
        lambda: exact.rappor(once=True),
        "0.80",
        0.60,
    ),
    "float Laplace": Row(
        mechanisms.float_laplace, [0.0], [1.0], lambda: reachable(200_000), "infinite", 0.25
    ),
}


def reachable(runs: int) -> exact.Chances:
    """Which outputs of float Laplace noise only one of the two centres can give, by a sample.

    An output y of centre c comes of one of the uniform numbers next to exp(-|y - c| / 10); all that
    can round to it are tried.
    """
    only = []
    for centre, other in ((0.0, 1.0), (1.0, 0.0)):
        y = np.array(mechanisms.float_laplace([centre], runs))
        near = np.rint(np.exp(-np.abs(y - other) / 10) * 2.0**52)
        sign = np.sign(y - other)
        hit = np.zeros(runs, dtype=bool)
        for step in range(-8, 9):
            uniform = np.clip(near + step, 1, 2.0**52) / 2**52
            hit |= other + sign * -np.log(uniform) * 10 == y
        only.append(1 - hit.mean())
    p, q = only
    return np.array([p, 1 - p, 0.0]), np.array([0.0, 1 - q, q])


def gathered(chances: exact.Chances) -> exact.Chances:
    """Join outputs of nearly the same ratio: the ratio is all that a test needs to know."""
    p, q = (one / one.sum() for one in chances)
    p, q = p[p + q > 0], q[p + q > 0]
    with np.errstate(divide="ignore"):
        ratio = np.clip(np.log(p) - np.log(q), -RATIOS, RATIOS)
    if len(p) > CELLS:
        # by ranks of the mass, and of the ratio where there is little mass
        order = np.argsort(ratio)
        share = np.empty(len(p))
        share[order] = np.cumsum((p + q)[order]) / 2
        spread = (ratio - ratio.min()) / (np.ptp(ratio) + 1e-12)
        cell = np.floor(share * CELLS) + np.floor(spread * CELLS)
        _, cell = np.unique(cell, return_inverse=True)
        p, q = np.bincount(cell, p), np.bincount(cell, q)
    return np.maximum(p, q * math.exp(-RATIOS)), np.maximum(q, p * math.exp(-RATIOS))


def growth(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    """The mean logarithm of the best factor of a round against a claim."""
    a, b = payoffs(p, q, np.array([epsilon]))
    return float(p @ np.log(np.maximum(a[0], 1e-300)) + q @ np.log(np.maximum(b[0], 1e-300)))


def reached(p: NDArray[np.float64], q: NDArray[np.float64], runs: int, goal: float) -> float:
    """The largest claim against which so many runs grow to the goal."""
    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if runs * growth(p, q, middle) >= goal else (low, middle)
    return low


def ours(row: Row, samples: int, repeats: int) -> dict[str, Any]:
    """The bounds of our audit after half of the runs and after all."""
    half, whole, took = [], [], []
    for _ in range(repeats):
        start = time.process_time()
        found = sampled(row.mechanism, row.u, row.v, batch=True, samples=samples)
        took.append(time.process_time() - start)
        half.append(max((bound for n, bound in found.path if n <= samples / 2), default=0.0))
        whole.append(found.lower)
    return {
        "ours at half": median(half),
        "ours": median(whole),
        "ours, least": min(whole),
        "seconds": median(took),
    }


def written(path: Path, runs: int, rows: dict[str, dict[str, Any]]) -> None:
    """Put rows beside those that a file has; what a row was not asked for stays."""
    known = json.loads(path.read_text())["rows"] if path.exists() else {}
    text = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "tacit": tc.__version__,
        "runs on each side": runs,
        "rows": known | {name: known.get(name, {}) | row for name, row in rows.items()},
    }
    path.write_text(json.dumps(text, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", nargs="?", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="repetitions of ours")
    parser.add_argument("--only", nargs="*", default=list(ROWS))
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    runs = asked.samples or 2_100_000
    print("| | true | published | best bet, half | no test, half | best bet | no test ", end="")
    print("| ours, half | ours | least | s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in asked.only:
        row = ROWS[name]
        p, q = gathered(row.chances())
        found: dict[str, Any] = {"true": row.true, "published": row.published}
        for label, count in (("at half", runs // 2), ("", runs)):
            found[f"best bet {label}".strip()] = reached(p, q, count, REFUTES)
            found[f"no test {label}".strip()] = reached(p, q, count, LEAST)
        if asked.samples:
            found |= ours(row, asked.samples, asked.seeds)
        shown = [f"{x:.3f}" if isinstance(x, float) else x for x in found.values()]
        print(f"| {name} | {' | '.join(shown)} |", flush=True)
        if asked.out:
            written(asked.out, runs, {name: found})


if __name__ == "__main__":
    main()
