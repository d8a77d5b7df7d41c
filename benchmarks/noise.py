"""Nanoseconds of CPU a draw: Tacit's exact noise, OpenDP's exact noise, numpy's inexact noise.

All in one run, on vectors of whole numbers, interleaved.  Run it from the root of the
repository, in an environment that has Tacit and OpenDP (pip install . opendp):

    python benchmarks/noise.py
    python benchmarks/noise.py --draws 100000 --rounds 3 --peer-draws 20000
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from time import perf_counter

import numpy as np

import tacit.noise as tn
from _timing import interleaved
from tacit.noise.samplers import block_table, geometric_digits

SCALES = [1, 25, 1000, 10**6]
FACTOR = 400


def opendp_laws(peer_draws: int) -> dict[str, Callable[[int], Callable[[], object]]]:
    """Return how to make each law's draw of ``peer_draws`` whole numbers with OpenDP."""
    try:
        import opendp.prelude as dp
    except ImportError:
        sys.exit("This compares with OpenDP, which is not installed; run: pip install opendp")
    dp.enable_features("contrib")
    zeros = [0] * peer_draws
    domain = dp.vector_domain(dp.atom_domain(T=int))

    def laplace(scale: int) -> Callable[[], object]:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))
        return lambda: measurement(zeros)

    def gaussian(scale: int) -> Callable[[], object]:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
        return lambda: measurement(zeros)

    return {"laplace": laplace, "gaussian": gaussian}


def bulk(draws: int, peer_draws: int, rounds: int) -> bool:
    """Print the comparison in bulk; return whether every row is where it should be."""
    peers = opendp_laws(peer_draws)
    numpy_draws = np.random.default_rng()
    ours = {"laplace": tn.discrete_laplace, "gaussian": tn.discrete_gaussian}
    inexact = {"laplace": numpy_draws.laplace, "gaussian": numpy_draws.normal}
    print(f"{draws:,} draws (OpenDP {peer_draws:,}), ns of CPU a draw, median of {rounds}\n")
    print("| law | scale | Tacit | numpy (inexact) | OpenDP | OpenDP / Tacit | numpy / Tacit |")
    print("|---|---|---|---|---|---|---|")
    good = True
    for law, draw in ours.items():
        for scale in SCALES:
            seconds = interleaved(
                {
                    "tacit": lambda d=draw, s=scale: d(s, size=draws),
                    "numpy": lambda d=inexact[law], s=scale: d(0.0, s, size=draws),
                },
                rounds,
            ) | interleaved({"opendp": peers[law](scale)}, max(1, rounds // 3))
            tacit, plain = (seconds[name] / draws * 1e9 for name in ("tacit", "numpy"))
            peer = seconds["opendp"] / peer_draws * 1e9
            good &= peer >= FACTOR * tacit and plain >= tacit
            print(
                f"| {law} | {scale:,} | {tacit:.2f} | {plain:.2f} | {peer:,.0f} "
                f"| {peer / tacit:,.0f}x | {plain / tacit:.1f}x |",
                flush=True,
            )
    return good


def fresh_and_few() -> None:
    """Print what a scale never seen before costs, for one draw, a thousand and a million."""
    print("\nA scale never seen before, milliseconds of wall clock for the first call\n")
    print("| draw | 1 | 1,000 | 1,000,000 |")
    print("|---|---|---|---|")
    for name, draw in (("laplace", tn.discrete_laplace), ("gaussian", tn.discrete_gaussian)):
        for scale in (Fraction(25), Fraction(25 * 2**20, 3), Fraction(2**50)):
            times = []
            for size in (None, 1000, 10**6):
                geometric_digits.cache_clear()
                block_table.cache_clear()
                start = perf_counter()
                draw(scale, size=size)
                times.append(f"{(perf_counter() - start) * 1e3:.2f}")
            print(f"| {name} {scale} | {' | '.join(times)} |", flush=True)


def choices(rounds: int) -> None:
    """Print what one draw of the exponential mechanism costs, its preparation included."""
    print("\nExponential mechanism, one draw with its preparation, milliseconds of CPU\n")
    print("| candidates | ms |")
    print("|---|---|")
    random = np.random.default_rng()
    for n in (10**3, 10**5, 10**6):
        costs, weights = np.abs(np.arange(n) - n // 3), random.integers(0, 10**6, n)
        run = {"draw": lambda c=costs, w=weights: tn.exponential_choice(c, Fraction(1, 200), w)}
        print(f"| {n:,} | {interleaved(run, rounds)['draw'] * 1e3:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--peer-draws", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    good = bulk(options.draws, options.peer_draws, options.rounds)
    print(f"\nat least {FACTOR}x OpenDP and not slower than numpy: {'yes' if good else 'NO'}")
    fresh_and_few()
    choices(options.rounds)


if __name__ == "__main__":
    main()
