"""What ``tc.audit.compare`` costs, beside a loop of single releases that would tell the same.

Run: ``python benchmarks/compare.py [records] [runs]``.  One process, processor time, the best of
three rounds that take turns.  The column is like the ages of a census, whole numbers from 17 to 90.
The peer releases the same statistic by the same mechanisms, ready built, ``runs`` times each; it is
timed on a few releases and scaled up, and it predicts nothing.  Ten thousand numpy draws of Laplace
noise are the yardstick.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from time import process_time

import numpy as np

import tacit as tc

BINS, EPSILON, FEW = (83, 303, 1112), 1, 2
GOAL = 5
STATISTICS = ("median", "mean", "var")


def mechanisms(statistic: str, ages: np.ndarray, delta: Fraction) -> list[Callable[..., object]]:  # type: ignore[type-arg]
    """Return what the comparison runs, but for its settings of propose-test-release: three."""
    bounds = (0, 100)
    smooth = [
        tc.smooth_noise(statistic, bounds, EPSILON, delta, like=ages),
        *(
            tc.smooth_noise(statistic, bounds, EPSILON, distribution=name, like=ages)
            for name in ("cauchy", "student_t")
        ),
        *(
            tc.smooth_noise(statistic, bounds, rho="1/70", distribution=name, like=ages)
            for name in ("laplace_log_normal", "uniform_log_normal", "arsinh_normal")
        ),
    ]
    tested = [tc.propose_test_release(statistic, bounds, b, EPSILON, delta) for b in (1, 2, 4)]
    ends = (0, 2500) if statistic == "var" else bounds
    asked = {"median": np.median, "mean": np.mean, "var": np.var}[statistic]
    bins = [tc.sample_and_aggregate(asked, k, ends, EPSILON) for k in BINS]
    return [*smooth, *tested, *bins]


def seconds(run: Callable[[], object]) -> float:
    start = process_time()
    run()
    return process_time() - start


def main(records: int, runs: int) -> int:
    rng = np.random.default_rng(1994)
    ages = np.clip(np.rint(17 + rng.gamma(2.4, 9.2, size=records)), 17, 90)
    delta = Fraction(1, records**2)
    draws = min(seconds(lambda: rng.laplace(size=10_000)) for _ in range(9))
    print(f"{records:,} ages, epsilon = {EPSILON}, {runs} runs; seconds of CPU, best of 3")
    print(f"10,000 draws of numpy's Laplace noise: {1e3 * draws:.2f} ms\n")
    print("| statistic | tc.audit.compare | single releases | releases / compare | goal |")
    print("|---|---|---|---|---|")
    good = True
    for statistic in STATISTICS:
        built = mechanisms(statistic, ages, delta)

        def ours(name: str = statistic) -> None:
            tc.audit.compare(name, (0, 100), EPSILON, delta, like=ages, bins=BINS, runs=runs)

        def peer(ways: list[Callable[..., object]] = built) -> None:
            for release in ways:
                for _ in range(FEW):
                    release(ages)

        both = [(seconds(ours), seconds(peer) * runs / FEW) for _ in range(3)]
        mine, other = (min(times) for times in zip(*both, strict=True))
        good &= other >= GOAL * mine
        print(f"| {statistic} | {mine:.2f} | {other:.1f} | {other / mine:.1f}x | {GOAL}x |")
    print(f"\nevery goal met: {'yes' if good else 'NO'}")
    return int(not good)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [32_561, 200][len(given) :])))
