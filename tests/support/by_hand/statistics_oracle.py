"""Sensitivities by plain enumeration in exact rationals: slow, and obviously right.

Nothing here is shared with the package: values, neighbours and maxima are written out again from
the definitions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

Release = tuple[Fraction, ...]
Value = Callable[[Release], Fraction]


def mean(x: Release) -> Fraction:
    return sum(x, Fraction(0)) / len(x)


def variance(x: Release) -> Fraction:
    centre = mean(x)
    return sum(((v - centre) ** 2 for v in x), Fraction(0)) / len(x)


def quantile(q: Fraction) -> Value:
    def value(x: Release) -> Fraction:
        ordered, place = sorted(x), q * (len(x) - 1)
        rank = math.floor(place)
        if rank == place:
            return ordered[rank]
        return ordered[rank] + (place - rank) * (ordered[rank + 1] - ordered[rank])

    return value


def trimmed_mean(share: Fraction) -> Value:
    def value(x: Release) -> Fraction:
        cut = math.floor(share * len(x))
        return mean(tuple(sorted(x)[cut : len(x) - cut]))

    return value


def interquartile_range(x: Release) -> Fraction:
    return quantile(Fraction(3, 4))(x) - quantile(Fraction(1, 4))(x)


def winsorized_mean(share: Fraction) -> Value:
    def value(x: Release) -> Fraction:
        cut, ordered = math.floor(share * len(x)), sorted(x)
        least, most = ordered[cut], ordered[len(x) - 1 - cut]
        return mean(tuple(min(max(v, least), most) for v in x))

    return value


def mad(x: Release) -> Fraction:
    median = quantile(Fraction(1, 2))
    centre = median(x)
    return median(tuple(abs(v - centre) for v in x))


def gini(x: Release) -> Fraction:
    x = tuple(max(v, Fraction(0)) for v in x)
    differences = sum((abs(a - b) for a in x for b in x), Fraction(0))
    return differences / (2 * len(x) ** 2 * mean(x)) if any(x) else Fraction(0)


def mode(x: Release) -> Fraction:
    return max(sorted(set(x)), key=x.count)


VALUES: dict[str, Value] = {
    "count": lambda x: Fraction(len(x)),
    "sum": lambda x: sum(x, Fraction(0)),
    "mean": mean,
    "median": quantile(Fraction(1, 2)),
    "percentile(25)": quantile(Fraction(1, 4)),
    "percentile(75)": quantile(Fraction(3, 4)),
    "percentile(90)": quantile(Fraction(9, 10)),
    "percentile(62)": quantile(Fraction(31, 50)),
    "min": min,
    "max": max,
    "var": variance,
    "interquartile_range": interquartile_range,
    "trimmed_mean(0.25)": trimmed_mean(Fraction(1, 4)),
    "winsorized_mean(0.25)": winsorized_mean(Fraction(1, 4)),
    "range": lambda x: max(x) - min(x),
    "mad": mad,
    "gini": gini,
    "mode": mode,
}
"""Every statistic that is a fraction, by a name that it is asked for with, written out again."""

ON_EMPTY = ("count", "sum")
"""Those that have a value on no records: the empty release is a neighbour then."""

ROOTS: dict[str, Value] = {"std": variance}
"""Every statistic that is a square root, with what it is the root of."""

HELD_BESIDE = {
    "Histogram": "tests/statistics/test_counts_and_sums.py",
    "Function": "tests/statistics/test_search.py",
}
"""The statistics that are no number or have no formula, and the file that enumerates them."""


def is_asked(removed: int, added: int, k: int, relation: str, within: bool) -> bool:
    """Return True if a data set with this many records removed and added is a neighbour."""
    if removed == added == 0:
        return False
    if relation == "bounded":
        return removed == added and (removed <= k if within else removed == k)
    if relation == "add":
        return removed == 0 and (added <= k if within else added == k)
    if relation == "remove":
        return added == 0 and (removed <= k if within else removed == k)
    if within:
        return removed + added <= k
    return (removed, added) in ((k, 0), (0, k))


def subsets(n: int, sizes: Sequence[int]) -> Iterator[frozenset[int]]:
    for size in sizes:
        yield from map(frozenset, itertools.combinations(range(n), size))


def over_records(
    value: Value,
    population: Sequence[Fraction],
    size: int | None,
    k: int,
    relation: str,
    within: bool,
    at: frozenset[int] | None = None,
    *,
    fewest: int = 1,
) -> Fraction:
    """The sensitivity over a population whose records are told apart by their index."""
    n = len(population)
    everything = list(subsets(n, range(fewest, n + 1)))
    known = {s: value(tuple(population[i] for i in sorted(s))) for s in everything}
    if at is not None:
        starts = [at]
    else:
        starts = everything if size is None else [s for s in everything if len(s) == size]
    return max(
        (
            abs(known[x] - known[y])
            for x in starts
            for y in everything
            if is_asked(len(x - y), len(y - x), k, relation, within)
        ),
        default=Fraction(0),
    )


def over_values(
    value: Value,
    values: Sequence[Fraction],
    sizes: Sequence[int],
    k: int,
    relation: str,
    within: bool,
    at: Release | None = None,
    *,
    fewest: int = 1,
) -> Fraction:
    """The sensitivity over releases that hold each value as often as they like."""
    values = sorted(set(values))
    within = within or relation == "bounded"  # a substitute may have an equal value
    largest = max(sizes) + k
    everything = [
        (Counter(c), value(c))
        for size in range(fewest, largest + 1)
        for c in itertools.combinations_with_replacement(values, size)
    ]
    starts = [e for e in everything if e[0].total() in sizes]
    if at is not None:
        starts = [(Counter(at), value(tuple(at)))]
    return max(
        (
            abs(fx - fy)
            for x, fx in starts
            for y, fy in everything
            if is_asked((x - y).total(), (y - x).total(), k, relation, within)
        ),
        default=Fraction(0),
    )
