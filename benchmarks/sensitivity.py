"""Exact sensitivities: against sorting the same array, and against nested loops over combinations.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/sensitivity.py [records]

1. Mean, median and the other statistics of ranks over a million records, one thread, reading and
   sorting included; goal for mean and median: below twice ``numpy.sort`` on the same array.
2. Any function by exhaustive search: 18 distinct records, 9 released, one substituted, for a
   batched function.  The textbook way forms every pair of neighbours by nested loops over
   combinations; goal: 500 times faster.  The nested loops are timed on a sample of the shared
   parts and scaled up, as they take about a minute (``--whole`` runs them all).

``benchmarks/sensitivity_var.py`` and ``benchmarks/sensitivity_smooth.py`` go on from here.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable

import numpy as np

from tacit.statistics import Records, sensitivity
from tacit.statistics.search import batched

TARGETS = {"mean": 2.0, "median": 2.0}
STATISTICS = ("mean", "median", "percentile(90)", "sum", "min", "max", "count")
POPULATIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "normal at 1e9": lambda rng, size: 1e9 + rng.normal(size=size),
    "ages (ties)": lambda rng, size: rng.integers(17, 91, size),
}


def fastest(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def against_sorting(size: int) -> None:
    for name, draw in POPULATIONS.items():
        data = draw(np.random.default_rng(7), size)
        sort = fastest(lambda data=data: np.sort(data), 15)
        print(f"{name}: {size:,} records, numpy.sort {sort * 1e3:.2f} ms")
        for statistic, relation in itertools.product(STATISTICS, ("unbounded", "bounded")):

            def ask(statistic: str = statistic, relation: str = relation, data=data) -> object:
                return sensitivity(statistic, over=Records(data, size=size // 2), relation=relation)

            took = fastest(ask, 9)
            target = TARGETS.get(statistic)
            verdict = "" if target is None else f"  goal {target:g}x"
            if target is not None:
                verdict += ", met" if took < target * sort else ", NOT met"
            line = f"  {statistic:15} {relation:10} {took * 1e3:8.2f} ms {took / sort:6.2f}x"
            print(line + verdict)


def nested_loops(population: list[int], n: int, k: int, whole: bool) -> tuple[float, float]:
    """Seconds and value of the textbook way; on a sample of the shared parts unless whole."""
    cores = list(itertools.combinations(range(len(population)), n - k))
    sampled = cores if whole else cores[:: max(1, len(cores) // 400)]
    worst, start = 0.0, time.process_time()
    for core in sampled:
        kept = [population[i] for i in core]
        others = [population[i] for i in range(len(population)) if i not in core]
        near = [kept + list(c) for c in itertools.combinations(others, k)]
        for i in range(len(near) - 1):
            for j in range(i + 1, len(near)):  # as printed: both are evaluated for every pair
                worst = max(worst, abs(np.var(near[i]) - np.var(near[j])))
    return (time.process_time() - start) * len(cores) / len(sampled), float(worst)


def any_function(whole: bool) -> None:
    population = [i * i for i in range(18)]
    variance = batched(lambda rows: rows.var(axis=1))
    over = Records(population, size=9)
    took = fastest(lambda: sensitivity(variance, over=over, relation="bounded"), 5)
    found = sensitivity(variance, over=over, relation="bounded")
    loops, worst = nested_loops(population, 9, 1, whole)
    note = "" if whole else " (scaled up from a sample)"
    print("any batched function: 18 records, 9 released, 1 substituted")
    print(f"  nested loops {loops:8.2f} s{note}, largest seen {worst:.4f}")
    print(
        f"  exhaustive   {took:8.4f} s, {found.evaluations:,} evaluations, {float(found):.4f}: "
        f"{loops / took:.0f}x, goal 500x, {'met' if loops > 500 * took else 'NOT met'}"
    )


if __name__ == "__main__":
    numbers = [a for a in sys.argv[1:] if a.isdigit()]
    against_sorting(int(numbers[0]) if numbers else 1_000_000)
    any_function("--whole" in sys.argv)
