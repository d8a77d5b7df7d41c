"""Exact sensitivities of variance and standard deviation, against sorting the same array.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/sensitivity_var.py [records]

One thread, processor time of the fastest of several runs, reading and sorting the array included,
the pair of neighbours that attains the value not yet written out.  Half the records are in the
release; the other half are the rest of the population.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tacit.statistics import Records, Sample, Sensitivity, sensitivity

TARGETS = {
    ("var", "global", "unbounded"): 40,
    ("var", "global", "bounded"): 20,
    ("std", "global", "unbounded"): None,
    ("std", "global", "bounded"): 20,
    ("var", "local", "unbounded"): 10,
    ("var", "local", "bounded"): None,
    ("std", "local", "unbounded"): None,
}
POPULATIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "lognormal": lambda rng, size: rng.lognormal(size=size),
    "normal at 1e9": lambda rng, size: 1e9 + rng.normal(size=size),
    "uniform": lambda rng, size: rng.random(size),
    "ages (ties)": lambda rng, size: rng.integers(17, 91, size),
    "two values": lambda rng, size: rng.integers(0, 2, size),
}


def fastest(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def answer(statistic: str, scope: str, relation: str, data: np.ndarray) -> Sensitivity:
    half = len(data) // 2
    if scope == "global":
        return sensitivity(statistic, Records(data, size=half), None, 1, relation)
    return sensitivity(statistic, Records(data), Sample(data[:half]), 1, relation)


def main(size: int) -> None:
    for name, draw in POPULATIONS.items():
        data = draw(np.random.default_rng(7), size)
        sort = fastest(lambda data=data: np.sort(data), 15)
        print(f"{name}: {size:,} records, numpy.sort {sort * 1e3:.2f} ms")
        for (statistic, scope, relation), target in TARGETS.items():
            ask = partial(answer, statistic, scope, relation, data)
            took, found = fastest(ask, 5), ask()
            wanted = "" if target is None else f"(target {target})"
            print(
                f"  {scope:6} {statistic} {relation:9} {took * 1e3:8.1f} ms {took / sort:6.1f} x"
                f" {wanted:12} {float(found):.9g} {found.method}, {found.evaluations:,} pairs"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
