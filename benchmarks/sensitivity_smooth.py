"""Smooth sensitivity and distance to instability against one sort of the same array.

Run: ``python benchmarks/sensitivity_smooth.py [records]``.  One thread, the best of a few runs of
processor time, each from the unsorted array: the sort is included.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tacit.statistics.smooth import distance_to_instability, smooth_sensitivity

LIMIT = 15


def seconds(run: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    best, found = float("inf"), None
    for _ in range(times):
        start = time.thread_time()
        found = run()
        best = min(best, time.thread_time() - start)
    return best, found


def main(records: int) -> int:
    rng = np.random.default_rng(1)
    columns: dict[str, tuple[np.ndarray[Any, Any], tuple[Any, Any]]] = {
        "lognormal floats": (rng.lognormal(size=records), (0, 100)),
        "whole numbers 0..99": (rng.integers(0, 100, size=records), (0, 100)),
    }
    over = 0
    for name, (data, bounds) in columns.items():
        sort, _ = seconds(partial(np.sort, data))
        print(f"\n{name}, n = {records:,}; numpy.sort {1000 * sort:.1f} ms")
        print(f"{'question':<42}{'ms':>9}{'x sort':>9}  value")
        for statistic in ("median", "percentile(10)", "percentile(37)", "max", "mean"):
            for relation in ("bounded", "unbounded"):
                for beta in (Fraction(1, 10), Fraction(1, 10_000)):
                    took, found = seconds(
                        partial(smooth_sensitivity, statistic, data, bounds, beta, relation), 2
                    )
                    ratio = took / sort
                    label = f"smooth {statistic}, {relation}, beta {float(beta):g}"
                    print(f"{label:<42}{1000 * took:>9.1f}{ratio:>9.1f}  {found:.4g}")
                    if statistic == "median" and relation == "bounded":
                        over += ratio > LIMIT
        for relation in ("bounded", "unbounded"):
            took, found = seconds(
                partial(distance_to_instability, "median", data, bounds, 1, relation), 1
            )
            print(
                f"{f'instability median, {relation}, bound 1':<42}{1000 * took:>9.1f}"
                f"{took / sort:>9.1f}  {found}"
            )
    print(f"\nsmooth median under bounded below {LIMIT}x the sort: {'no' if over else 'yes'}")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
