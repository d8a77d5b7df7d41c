"""Privacy losses of many releases together, beside ``dp_accounting``, in one run.

First how precise Tacit is: the width of each enclosure, over its upper end, for 10,000 equal
releases at three deltas; and how far the upper end is above the truth where that has a closed form.

Then epsilon at delta 1e-6 of 10,000 equal releases, and of many different ones with Laplace noise:
what Tacit encloses, what the other accountant reports, and the seconds of processor time of both:
the least of three runs, building included.

Run: ``python benchmarks/accounting.py [--different 2000 10000] [--out results.json]``.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import math
import os
import platform
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # so that no time is spent on waiting threads

import tacit as tc
from tacit.core import LInfinityDistance, Space, Vector, compose
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.composition import ComposedLosses
from tacit.core.losses.distribution import dominating_pair
from tacit.core.losses.groups import sampled_groups
from tacit.core.losses.sampling import sampled, sampled_without_replacement
from tacit.mechanisms.noisy_max import Exponential, PermuteAndFlip

DELTA = "1e-6"
DELTAS = ("1e-6", "1e-10", "1e-15")
TIMES = 10_000
FINE = 1000
"""Whole units in a sensitivity: as good as the real line."""
LONG = 5
"""What takes so many seconds is run once."""


def equal() -> dict[str, tuple[Callable[[], PrivacyLoss], Callable[[Any], Any] | None]]:
    """Return the single releases, by name: ours, and how the other accountant makes it."""
    return {
        "Laplace, epsilon 0.01": (
            lambda: LaplaceShift(Fraction(100 * FINE), FINE),
            lambda pld: pld.from_laplace_mechanism(100),
        ),
        "Gaussian, sigma 100": (
            lambda: GaussianShift(Fraction(100 * FINE), FINE),
            lambda pld: pld.from_gaussian_mechanism(100),
        ),
        "Gaussian, sigma 1, of a sample of 1%": (
            lambda: _sampled(1),
            lambda pld: pld.from_gaussian_mechanism(1, sampling_prob=0.01),
        ),
        "Gaussian, sigma 1 of 1,000 units, of a sample of 1%": (
            lambda: _sampled(FINE),
            lambda pld: pld.from_gaussian_mechanism(1, sampling_prob=0.01),
        ),
        "discrete Laplace, scale 100": (lambda: LaplaceShift(Fraction(100), 1), None),
        "discrete Gaussian, sigma 100": (lambda: GaussianShift(Fraction(100), 1), None),
        "of which epsilon 0.01 is known": (lambda: dominating_pair(Fraction(1, 100)), None),
    }


def precise() -> dict[str, tuple[Callable[[], PrivacyLoss], Callable[[float], float] | None]]:
    """Return single releases, by name, and the epsilon of all at a delta by a closed form."""
    units = {"1 unit": 1, "1,000 units": FINE, "100,000 units": 100_000}
    return {
        "Laplace, epsilon 0.01": (lambda: LaplaceShift(Fraction(100 * FINE), FINE), None),
        "Gaussian, sigma 100": (lambda: GaussianShift(Fraction(100 * FINE), FINE), gaussian_truth),
        "of which epsilon 0.01 is known": (lambda: dominating_pair(Fraction(1, 100)), pure_truth),
        **{
            f"Gaussian, sigma 1 of {name}, Poisson sample of 1%": (lambda n=n: _sampled(n), None)
            for name, n in units.items()
        },
        **{
            f"the same of {name}, without replacement": (lambda n=n: _exchanged(n), None)
            for name, n in units.items()
        },
    }


def of_groups(times: int = 50) -> list[list[float]]:
    """Print and return both ends at each distance up to 10: Gaussian noise on a sample of 2%."""
    print(f"\n| records | {times} releases, epsilon at {DELTA} | s |\n|---:|---|---:|")
    rows = []
    for distance in range(2, 11):
        groups = sampled_groups(
            [GaussianShift(Fraction(1), k) for k in range(1, distance + 1)], Fraction(1, 50)
        )
        assert groups is not None
        start = time.process_time()
        found: Any = groups.self_compose(times).epsilon(DELTA)
        seconds = time.process_time() - start
        rows.append([float(found.lower), float(found.upper)])
        print(
            f"| {distance} | {rows[-1][0]:.6f} to {rows[-1][1]:.6f} | {seconds:.2f} |", flush=True
        )
    return rows


def of_selection() -> list[list[Any]]:
    """Print and return both ends of compositions that select among scores, and what they take.

    The time is that over the same number of releases of Laplace noise of the same scales.
    """
    space = Space(Vector(int, size=5), LInfinityDistance())
    print("\n| scales 20, 31, 47 | mechanism | epsilon | ratio | s | over Laplace |")
    print("|---|---|---|---:|---:|---:|")
    rows: list[list[Any]] = []
    for times in ((3, 0, 0), (10, 0, 0), (100, 0, 0), (1, 1, 1), (10, 10, 10), (100, 30, 10)):
        counts = list(zip((20, 31, 47), times, strict=True))
        start = time.process_time()
        ComposedLosses.of(
            [(LaplaceShift(Fraction(scale * FINE, 2), FINE), k) for scale, k in counts if k]
        ).epsilon(DELTA)
        laplace = time.process_time() - start
        for step in (Exponential, PermuteAndFlip):
            parts = [part for scale, k in counts for part in [space >> step(scale)] * k]
            start = time.process_time()
            found: Any = compose(parts).epsilon(DELTA)
            seconds = time.process_time() - start
            ends = [float(found.lower), float(found.upper)]
            rows.append([times, step.name, *ends, seconds, seconds / laplace])
            print(
                f"| {times} | {step.name} | {ends[0]:.4f} to {ends[1]:.4f} "
                f"| {ends[1] / ends[0]:.4f} | {seconds:.2f} | {seconds / laplace:.1f} |",
                flush=True,
            )
    return rows


def gaussian_truth(delta: float) -> float:
    """Return epsilon of all Gaussian releases on the real line: that of one with mu of one."""

    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    return _root(lambda e: tail(e - 0.5) - math.exp(e) * tail(e + 0.5) - delta)


def pure_truth(delta: float) -> float:
    """Return epsilon of all releases of epsilon 0.01 (Kairouz, Oh, Viswanath), in 60 digits."""
    decimal.getcontext().prec = 60
    step = decimal.Decimal("0.01").exp()
    weights, one = [], step**TIMES / (1 + step) ** TIMES
    for k in range(TIMES // 2 + 1):  # so many of the losses are below zero
        weights.append(one)
        one = one * (TIMES - k) / (k + 1) / step

    def excess(epsilon: float) -> float:
        power, total = decimal.Decimal(epsilon).exp() / step**TIMES, decimal.Decimal(0)
        for weight in weights:
            total += max(weight * (1 - power), decimal.Decimal(0))
            power *= step * step
        return float(total - decimal.Decimal(delta))

    return _root(excess)


def _root(falling: Callable[[float], float]) -> float:
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


def _exchanged(units: int) -> PrivacyLoss:
    found = sampled_without_replacement(GaussianShift(Fraction(units), units), Fraction(1, 100))
    assert found is not None
    return found


def _sampled(units: int) -> PrivacyLoss:
    found = sampled(GaussianShift(Fraction(units), units), Fraction(1, 100))
    assert found is not None
    return found


def different(count: int) -> list[Fraction]:
    """Return so many different epsilons between 0.01 and 0.02."""
    return [Fraction(1, 100) + Fraction(place, 100 * count) for place in range(count)]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what is made, and the seconds of processor time that it took: the least of three."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
        if seconds[0] > LONG:
            break
    return found, min(seconds)


def row(name: str, ours: Callable[[], Any], theirs: Callable[[], Any] | None) -> dict[str, Any]:
    """Print a line of the table, and return it."""
    found, seconds = timed(ours)
    low, high = float(found.lower), float(found.upper)
    other, other_seconds = timed(theirs) if theirs else (None, None)
    told = "none | " if other is None else f"{other:.9f} | {other_seconds:.2f}"
    print(f"| {name} | {low:.9f} to {high:.9f} | {seconds:.2f} | {told} |")
    return {
        "lower": low,
        "upper": high,
        "seconds": round(seconds, 3),
        "dp_accounting": other,
        "dp_accounting seconds": other_seconds and round(other_seconds, 3),
    }


def precision() -> dict[str, Any]:
    """Print how wide each enclosure is, and how far above the truth; return the table."""
    print("| 10,000 releases | " + " | ".join(f"at {delta} | s" for delta in DELTAS) + " |")
    print("|---" * (1 + 2 * len(DELTAS)) + "|")
    rows: dict[str, Any] = {}
    for name, (make, truth) in precise().items():
        cells, rows[name] = [], {}
        for delta in DELTAS:
            start = time.process_time()
            found: Any = make().self_compose(TIMES).epsilon(delta)
            seconds = time.process_time() - start
            low, high = float(found.lower), float(found.upper)
            over = None if truth is None else high / truth(float(delta)) - 1
            rows[name][delta] = {
                "lower": low,
                "upper": high,
                "relative width": (high - low) / high,
                "above the truth": over,
                "seconds": round(seconds, 3),
            }
            above = "" if over is None else f" ({over:+.1e})"
            cells.append(f"{high:.7f}, {(high - low) / high:.1e}{above} | {seconds:.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    return rows


def composed(pld: Any, epsilons: list[Fraction]) -> float:
    """Return what the other accountant reports of different Laplace releases."""
    whole = pld.from_laplace_mechanism(1 / float(epsilons[0]))
    for epsilon in epsilons[1:]:
        whole = whole.compose(pld.from_laplace_mechanism(1 / float(epsilon)))
    return float(whole.get_epsilon_for_delta(float(DELTA)))


def main() -> None:
    """Run all, and write the results where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--different", type=int, nargs="*", default=[2000, 10_000])
    parser.add_argument("--most-theirs", type=int, default=2000, help="the other runs up to here")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    given = parser.parse_args()
    precise_rows = precision()
    group_rows, selection_rows = of_groups(), of_selection()
    print()
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        pld = None
        print("dp_accounting is not here (pip install dp-accounting): Tacit alone\n")

    print("| releases | Tacit, epsilon at 1e-6 | s | dp_accounting | s |\n|---|---|---:|---:|---:|")
    rows = {}
    for name, (ours, theirs) in equal().items():

        def other(make: Any = theirs) -> float:
            whole = make(pld).self_compose(TIMES)
            return float(whole.get_epsilon_for_delta(float(DELTA)))

        def mine(make: Callable[[], PrivacyLoss] = ours) -> Any:
            return make().self_compose(TIMES).epsilon(DELTA)

        title = f"{TIMES:,} equal ones: {name}"
        rows[title] = row(title, mine, other if theirs and pld else None)
    for count in given.different:
        epsilons = different(count)

        def summed(epsilons: list[Fraction] = epsilons) -> Any:
            return ComposedLosses.of([(LaplaceShift(FINE / e, FINE), 1) for e in epsilons]).epsilon(
                DELTA
            )

        def peer(epsilons: list[Fraction] = epsilons) -> float:
            return composed(pld, epsilons)

        title = f"{count:,} different ones: Laplace"
        rows[title] = row(title, summed, peer if pld and count <= given.most_theirs else None)
    if given.out:
        results = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "python": platform.python_version(),
            "tacit": tc.__version__,
            "delta": DELTA,
            "rows": rows,
            "precision": precise_rows,
            "groups": group_rows,
            "selection": selection_rows,
        }
        given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
