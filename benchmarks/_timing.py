"""Time candidates side by side: thread-CPU time, interleaved, medians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import thread_time


def interleaved(candidates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of CPU of each candidate over rounds that run all of them.

    Each is called once before, untimed, so that tables are built and caches are warm.
    """
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = thread_time()
            run()
            seconds[name].append(thread_time() - start)
    return {name: median(times) for name, times in seconds.items()}
