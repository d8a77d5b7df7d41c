"""How long the same question takes: interleaved runs, medians, and ratios within one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.peers import report
from benchmarks.peers.adapters.base import TASKS
from benchmarks.peers.client import Peer

Times = dict[str, dict[str, dict[str, list[float]]]]
"""Seconds by library, task and clock."""

CLOCKS = ("wall", "cpu", "thread")


def measure(peers: Sequence[Peer], rounds: int, epsilon: float, tasks: Sequence[str]) -> Times:
    """Ask every library every task, round by round, after one unrecorded round of each."""
    times: Times = {peer.name: defaultdict(lambda: defaultdict(list)) for peer in peers}
    for turn in range(rounds + 1):
        for task in tasks:
            for peer in peers:
                answer = peer.ask(task, epsilon)
                if answer is not None and turn > 0:
                    for clock in CLOCKS:
                        if answer[clock] is not None:
                            times[peer.name][task][clock].append(answer[clock])
    return times


def medians(times: Times, clock: str) -> dict[str, dict[str, float | None]]:
    """The median of each library and task, None where there is no run."""
    return {
        name: {task: median(tasks[task][clock]) if tasks[task][clock] else None for task in TASKS}
        for name, tasks in times.items()
    }


def ratios(
    middle: dict[str, dict[str, float | None]], subject: str = "tacit"
) -> dict[str, dict[str, float | None]]:
    """The subject's time over each other library's: below 1 where the subject is faster."""

    def ratio(task: str, other: float | None) -> float | None:
        own = middle[subject][task]
        return None if own is None or not other else own / other

    return {
        name: {task: ratio(task, other) for task, other in tasks.items()}
        for name, tasks in middle.items()
        if name != subject
    }


def show(title: str, figures: dict[str, dict[str, float | None]]) -> None:
    """Print one table of libraries by tasks."""
    rows = [[name, *(report.number(row[task]) for task in TASKS)] for name, row in figures.items()]
    report.table(title, ["library", *TASKS], rows)


def run(
    peers: Sequence[Peer], rows: int, rounds: int, epsilon: float, tasks: Sequence[str]
) -> dict[str, Any]:
    """Measure, print, and return the results for the file."""
    times = measure(peers, rounds, epsilon, tasks)
    report.libraries(peers)
    for clock, words in (("wall", "wall seconds"), ("cpu", "CPU seconds, all threads")):
        middle = medians(times, clock)
        show(f"{rows} rows, epsilon {epsilon:g}, median {words} of {rounds} runs", middle)
        if "tacit" in middle:
            show(f"tacit over each library, {words}", ratios(middle))
    return {"kind": "speed", "rows": rows, "rounds": rounds, "epsilon": epsilon, "times": times}
