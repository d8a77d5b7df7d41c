"""Statistics, neighbours and local sensitivities of small domains, written out from definitions.

Nothing here comes from the library: it is what the library's mechanisms are held against.  A data
set is a sorted tuple; a statistic is a function of one, and the empty data set has a public value.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import pytest

Data: TypeAlias = tuple[Fraction, ...]
Statistic: TypeAlias = Callable[[Data], Any]


def quantile(q: Fraction) -> Statistic:
    """The quantile that is interpolated linearly between the two nearest records."""

    def of(data: Data) -> Fraction:
        place = q * (len(data) - 1)
        low = math.floor(place)
        high = min(low + 1, len(data) - 1)
        return data[low] + (place - low) * (data[high] - data[low])

    return of


def mean(data: Data) -> Fraction:
    return sum(data, Fraction(0)) / len(data)


def variance(data: Data) -> Fraction:
    return mean(tuple(x * x for x in data)) - mean(data) ** 2


def trimmed_mean(share: Fraction) -> Statistic:
    """The mean without the floor(share n) smallest and as many largest."""

    def of(data: Data) -> Fraction:
        cut = math.floor(share * len(data))
        return mean(data[cut : len(data) - cut])

    return of


STATISTICS: dict[str, Statistic] = {
    "median": quantile(Fraction(1, 2)),
    "percentile(30)": quantile(Fraction(3, 10)),
    "percentile(90)": quantile(Fraction(9, 10)),
    "min": min,
    "max": max,
    "mean": mean,
    "sum": lambda data: sum(data, Fraction(0)),
    "var": variance,
    "std": lambda data: math.sqrt(variance(data)),
    "interquartile_range": lambda data: (
        quantile(Fraction(3, 4))(data) - quantile(Fraction(1, 4))(data)
    ),
    "trimmed_mean(1/4)": trimmed_mean(Fraction(1, 4)),
    "count": lambda data: Fraction(len(data)),
}
BOUNDED_ALONE = ("trimmed_mean(1/4)",)
"""Where records join, the number that is trimmed jumps: offered on known values alone."""


def most_change(name: str, low: Fraction, high: Fraction, relation: str) -> Fraction:
    """Return the maximum change of the statistic, including the empty data set's public value."""
    span = high - low
    bounded = relation == "bounded"
    special = {
        "count": Fraction(1),
        "sum": span if bounded else max(abs(low), abs(high)),
        "var": span**2 / 4,
        "std": span / 2,
        "mean": span if bounded else span / 2,
    }
    return special.get(name, span)


def of_nobody(name: str, low: Fraction, high: Fraction) -> Fraction:
    """The public value of the empty data set."""
    zero = name in ("count", "sum", "var", "std", "interquartile_range")
    return Fraction(0) if zero else (low + high) / 2


def data_sets(values: Iterable[Any], sizes: Iterable[int]) -> list[Data]:
    """Every multiset of the values, of the given sizes."""
    points = sorted(map(Fraction, values))
    return [
        data for size in sizes for data in itertools.combinations_with_replacement(points, size)
    ]


def neighbours(data: Data, values: tuple[Fraction, ...], relation: str) -> set[Data]:
    """Every neighbour of a data set, itself among them where one record may stay as it is."""
    less = {data[:i] + data[i + 1 :] for i in range(len(data))}
    if relation == "bounded":
        return {tuple(sorted((*kept, v))) for kept in less for v in values}
    return less | {tuple(sorted((*data, v))) for v in values}


@lru_cache(maxsize=64)
def pairs(listed: tuple[Data, ...], relation: str, apart: int = 1) -> list[tuple[int, int]]:
    """Every ordered pair of data sets of a list that are so many steps apart, by their places."""
    return [
        (i, j)
        for (i, one), (j, other) in itertools.permutations(enumerate(listed), 2)
        if steps(one, other, relation) == apart
    ]


def steps(one: Data, other: Data, relation: str) -> int | None:
    """Return the numbers of records to add and remove, or to exchange; None if impossible."""
    ours, theirs = Counter(one), Counter(other)
    gone, come = (ours - theirs).total(), (theirs - ours).total()
    if relation == "bounded":
        return gone if gone == come else None
    return gone + come


class Enumerated:
    """Local sensitivity at every distance, by walking over every data set of a grid of values.

    Args:
        statistic: defined on data sets that are not empty.
        values: what a record may be.
        relation: ``"unbounded"`` or ``"bounded"``.
        full: the sensitivity that holds for all data sets, and from where the empty one is near.
    """

    def __init__(
        self, statistic: Statistic, values: Iterable[Any], relation: str, full: Fraction
    ) -> None:
        self.statistic, self.relation, self.full = statistic, relation, full
        self.values = tuple(sorted(map(Fraction, values)))
        self._value = lru_cache(maxsize=None)(statistic)
        self._near = lru_cache(maxsize=None)(
            lambda data: [d for d in neighbours(data, self.values, relation) if d]
        )
        self._at = lru_cache(maxsize=None)(self._by_walking)

    def _by_walking(self, data: Data, distance: int) -> Any:
        """The largest change from a data set within the distance to one of its neighbours."""
        if distance:
            return max(self._at(near, distance - 1) for near in (data, *self._near(data)))
        return max(abs(self._value(data) - self._value(near)) for near in self._near(data))

    def at(self, data: Data, distance: int) -> Any:
        """A(t), and ``full`` from where the walk could end at the empty data set."""
        if self.relation == "unbounded" and distance >= len(data) - 1:
            return self.full
        return self._at(data, min(distance, len(data)))

    def smooth(self, data: Data, beta: float) -> float:
        """The largest ``exp(-beta t) A(t)``; nothing changes beyond n steps."""
        return max(math.exp(-beta * t) * float(self.at(data, t)) for t in range(len(data) + 1))

    def distance(self, data: Data, bound: Fraction) -> int | None:
        """The steps until the local sensitivity is above the bound; None where it never is."""
        for t in range(len(data) + 1):
            if self.at(data, t) > bound:
                return t
        return None


# Every data set of a few records, and every way to bin them.


WHOLE = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
"""On data sets of a few records, and in the full run on those of one or two more."""


def largest(relation: str, whole: bool) -> int:
    """How many records there are at most: of few records, three that are exchanged or two."""
    return 4 if whole else 3 if relation == "bounded" else 2


def multisets(values: list[Any], relation: str, most: int) -> list[list[Any]]:
    """Every multiset of the values: of each size up to ``most``, or of that size alone."""
    sizes = range(most + 1) if relation == "unbounded" else [most]
    return [
        list(m) for size in sizes for m in itertools.combinations_with_replacement(values, size)
    ]


def ways(n, bins):
    """Every order of n records and every way to bin them, as the ordered contents."""
    for order in itertools.permutations(range(n)):
        for places in itertools.product(range(bins), repeat=n):
            yield tuple(
                tuple(r for r, place in zip(order, places, strict=True) if place == b)
                for b in range(bins)
            )
