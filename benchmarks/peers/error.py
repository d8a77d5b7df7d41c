"""How far the answers are from the truth: root mean square error over many runs."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.peers import data, report
from benchmarks.peers.adapters.base import AGE, HOURS, TASKS
from benchmarks.peers.client import Peer

Floats = npt.NDArray[np.float64]


LEAST = 10
"""Runs of an answer that the limit of time does not cut."""


def sample(peer: Peer, task: str, runs: int, epsilon: float, seconds: float) -> Floats | None:
    """Up to `runs` answers to one task, one row each, or None where the library has none.

    After so many seconds no more are asked, once there are `LEAST` (or `runs`).
    """
    answers: list[Floats] = []
    end = time.monotonic() + seconds
    while len(answers) < min(runs, LEAST) or (len(answers) < runs and time.monotonic() < end):
        answer = peer.ask(task, epsilon)
        if answer is None:
            return None
        answers.append(np.atleast_1d(np.asarray(answer["answer"], dtype=np.float64)))
    return np.stack(answers)


def rmse(answers: Floats, exact: Floats) -> Floats:
    """The root mean square error of each number of the answer."""
    return np.asarray(np.sqrt(np.mean((answers - exact) ** 2, axis=0)))


def laplace_unit(sizes: Floats, epsilon: float) -> Floats:
    """The deviation of Laplace noise of scale (U - L)/(n epsilon): the unit of the group means."""
    return np.asarray(math.sqrt(2) * (AGE[1] - AGE[0]) / (sizes * epsilon))


def summary(task: str, errors: Floats, exact: dict[str, Floats], epsilon: float) -> float:
    """One figure a task; for group means the median group, in units of its Laplace deviation.

    Groups of few rows have errors orders of magnitude larger (infinite, where a noisy size of 0
    divides), which would hide all others in a mean over the groups.
    """
    if task == "group_mean":
        return float(np.median(errors / laplace_unit(exact["group_count"], epsilon)))
    return float(np.sqrt(np.mean(errors**2)))


def exponential_median(age: npt.NDArray[np.int64], epsilon: float) -> float:
    """The error of the exponential mechanism on the integers within the bounds.

    A candidate's distance is how far the larger of the two sides (rows below, rows above) exceeds
    half the rows; adding or removing a row moves it by at most 1/2, so its weight is
    exp(-epsilon distance).
    """
    candidates = np.arange(AGE[0], AGE[1] + 1)
    ordered = np.sort(age)
    below = np.searchsorted(ordered, candidates, side="left")
    above = len(age) - np.searchsorted(ordered, candidates, side="right")
    distance = np.maximum(np.maximum(below, above) - len(age) / 2, 0)
    weights = np.exp(-epsilon * (distance - distance.min()))
    squares = (candidates - np.median(age)) ** 2
    return float(np.sqrt(np.sum(weights * squares) / np.sum(weights)))


def to_reach(table: data.Table, exact: dict[str, Floats], epsilon: float) -> dict[str, float]:
    """Errors to reach when one row is added or removed, computed for the best known noise.

    Count and sum: two-sided geometric noise on the sensitivity 1 and U. Mean: the one-sided sums
    of x - L and U - x, together of L1 sensitivity U - L, each with Laplace noise; to first order
    the ratio has deviation sqrt(2 ((1-m)^2 + m^2)) (U - L)/(n epsilon), m the mean's place.
    Median: the exponential mechanism on the integers.
    """

    def geometric(sensitivity: float) -> float:
        decay = math.exp(-epsilon / sensitivity)
        return math.sqrt(2 * decay) / (1 - decay)

    def place(mean: Floats) -> Floats:
        share = (mean - AGE[0]) / (AGE[1] - AGE[0])
        return np.asarray(np.sqrt((1 - share) ** 2 + share**2))

    whole = laplace_unit(exact["count"], epsilon) * place(exact["mean"])
    return {
        "count": geometric(1),
        "sum": geometric(HOURS[1]),
        "mean": float(whole[0]),
        "median": exponential_median(table["age"], epsilon),
        "group_count": geometric(1),
        "group_mean": float(np.median(place(exact["group_mean"]))),
    }


def run(
    peers: Sequence[Peer],
    table: data.Table,
    runs: int,
    epsilon: float,
    tasks: Sequence[str],
    seconds: float,
) -> dict[str, Any]:
    """Measure, print, and return the results for the file."""
    exact = data.truth(table)
    errors: dict[str, dict[str, list[float]]] = {peer.name: {} for peer in peers}
    figures: dict[str, dict[str, float]] = {peer.name: {} for peer in peers}
    done: dict[str, dict[str, int]] = {peer.name: {} for peer in peers}

    def measure(peer: Peer) -> None:
        for task in tasks:
            answers = sample(peer, task, runs, epsilon, seconds)
            if answers is not None:
                found = rmse(answers, exact[task])
                errors[peer.name][task] = found.tolist()
                figures[peer.name][task] = summary(task, found, exact, epsilon)
                done[peer.name][task] = len(answers)
            print(f"{peer.name}: {task} done", file=sys.stderr)

    # An error does not depend on what else runs, so libraries are measured side by side.
    with ThreadPoolExecutor(max_workers=3) as pool:
        list(pool.map(measure, peers))
    report.libraries(peers)
    rows = {**figures, "to reach": to_reach(table, exact, epsilon)}
    report.table(
        f"{len(table['age'])} rows, epsilon {epsilon:g} in total, root mean square error of {runs} "
        f"runs (sampling error about {100 * math.sqrt(5 / (4 * runs)):.0f}% for Laplace noise);\n"
        "group_mean: the median group, in units of sqrt(2) (U - L)/(n_g epsilon)",
        ["library", *TASKS],
        [[name, *(report.number(row.get(task)) for task in TASKS)] for name, row in rows.items()],
    )
    fewer = [
        f"{name}: {task} {found}"
        for name, of in done.items()
        for task, found in of.items()
        if found < runs
    ]
    if fewer:
        print(f"\nfewer runs, by the limit of {seconds:g} s: {', '.join(fewer)}")
    return {
        "kind": "error",
        "rows": len(table["age"]),
        "runs": done,
        "epsilon": epsilon,
        "exact": {task: values.tolist() for task, values in exact.items()},
        "errors": errors,
        "figures": rows,
    }
