"""The framework against OpenDP, in one run: chains, maps, calibration, statistics in memory.

Thread-CPU time, interleaved, medians; both libraries are asked for the same release on the same
data: 32,561 values with public bounds.  Run it from the root of the repository, in an environment
that has Tacit and OpenDP (pip install . opendp):

    python benchmarks/framework.py
    python benchmarks/framework.py --rounds 5
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from _timing import interleaved
from tacit import framework as fw
from tacit.core import Space, SymmetricDistance, Vector
from tacit.transformations import Count, Histogram, Mean, Sum

SIZE = 32_561
BOUNDS = (17, 90)
GOALS = {
    "scalar release through a chain": 2.0,
    "m.map(1)": 10.0,
    "m.map of a new distance": 1.0,
    "calibration, Laplace": 10.0,
    "calibration, Gaussian to rho": 10.0,
}
"""How many times faster Tacit must be; everything else at least as fast."""


def repeated(run: Callable[[], object], times: int) -> Callable[[], None]:
    def many() -> None:
        for _ in range(times):
            run()

    return many


def opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        sys.exit("This compares with OpenDP, which is not installed; run: pip install opendp")
    dp.enable_features("contrib", "honest-but-curious")
    return dp


def chains(data: Any) -> dict[str, tuple[Callable[[], object], Callable[[], object], int]]:
    """Return, for each task, how Tacit does it, how OpenDP does it, and how often to repeat."""
    dp = opendp()
    listed = data.tolist()
    low, high = BOUNDS
    column = Space(Vector(int), SymmetricDistance())
    total = column >> fw.clamp(low, high) >> Sum()
    ours = {
        "count": column >> Count() >> fw.laplace(1),
        "sum": total >> fw.laplace(90),
        "mean": Space(Vector(int, size=SIZE), SymmetricDistance())
        >> fw.clamp(low, high)
        >> Mean()
        >> fw.laplace("1/100"),
        "median": column >> fw.clamp(low, high) >> fw.private_quantile("1/2", scale=2),
        "histogram": column >> Histogram(list(range(low, high + 2))) >> fw.laplace(2),
    }
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    peer_total = space >> dp.t.then_clamp(BOUNDS) >> dp.t.then_sum()
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=SIZE)
    edges = list(range(low + 1, high + 1))
    cells = list(range(low, high + 1))
    peers = {
        "count": space >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0),
        "sum": peer_total >> dp.m.then_laplace(scale=90.0),
        "mean": (floats, dp.symmetric_distance())
        >> dp.t.then_clamp((float(low), float(high)))
        >> dp.t.then_mean()
        >> dp.m.then_laplace(scale=0.01),
        "median": space
        >> dp.t.then_quantile_score_candidates(cells, alpha=0.5)
        >> dp.m.then_noisy_max(dp.max_divergence(), scale=2.0, negate=True),
        "histogram": space
        >> dp.t.then_find_bin(edges=edges)
        >> dp.t.then_count_by_categories(
            categories=list(range(len(edges) + 1)), null_category=False
        )
        >> dp.m.then_laplace(scale=2.0),
    }
    tasks: dict[str, Any] = {}
    one = [35]
    tasks["scalar release through a chain"] = (
        lambda: ours["sum"](one),
        lambda: peers["sum"](one),
        200,
    )
    tasks["m.map(1)"] = lambda: ours["sum"].map(1), lambda: peers["sum"].map(1), 500
    distances = iter(range(10**9))
    tasks["m.map of a new distance"] = (
        lambda: ours["sum"].map(next(distances)),
        lambda: peers["sum"].map(next(distances)),
        200,
    )
    tasks["calibration, Laplace"] = (
        lambda: fw.calibrate(total >> fw.laplace, d_in=1, d_out=1),
        lambda: dp.binary_search_param(
            lambda scale: peer_total >> dp.m.then_laplace(scale), d_in=1, d_out=1.0
        ),
        5,
    )
    tasks["calibration, Gaussian to rho"] = (
        lambda: fw.calibrate(total >> fw.gaussian, d_in=1, d_out="1/2"),
        lambda: dp.binary_search_param(
            lambda scale: peer_total >> dp.m.then_gaussian(scale),
            d_in=1,
            d_out=0.5,
        ),
        5,
    )
    for name in ("count", "sum", "mean", "histogram", "median"):
        # OpenDP takes arrays of its own 32-bit whole numbers, and a mean of floats only.
        array = data.astype(np.float64) if name == "mean" else data.astype(np.int32)
        pairs = {"an array": (data, array), "a list": (listed, array.tolist())}
        for kind, (mine, theirs) in pairs.items():
            tasks[f"{name} of {kind}"] = (
                lambda n=name, x=mine: ours[n](x),
                lambda n=name, x=theirs: peers[n](x),
                5,
            )
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    data = np.random.default_rng(0).integers(BOUNDS[0], BOUNDS[1] + 1, SIZE)
    print(f"{SIZE:,} values; microseconds of CPU a call, median of {options.rounds}\n")
    print("| task | Tacit | OpenDP | OpenDP / Tacit | goal |")
    print("|---|---|---|---|---|")
    good = True
    for name, (ours, peer, times) in chains(data).items():
        seconds = interleaved(
            {"tacit": repeated(ours, times), "opendp": repeated(peer, times)}, options.rounds
        )
        tacit, other = (seconds[key] / times * 1e6 for key in ("tacit", "opendp"))
        goal = GOALS.get(name, 1.0)
        good &= other >= goal * tacit
        print(f"| {name} | {tacit:,.2f} | {other:,.1f} | {other / tacit:,.1f}x | {goal:g}x |")
    print(f"\nevery goal met: {'yes' if good else 'NO'}")


if __name__ == "__main__":
    main()
