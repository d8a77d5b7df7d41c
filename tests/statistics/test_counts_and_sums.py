"""Histograms against enumeration: L1 over every relation, with and without a size."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.result import differing_pair


class Counts(tuple[int, ...]):
    """A vector of counts whose absolute value is its L1 norm."""

    def __sub__(self, other: tuple[int, ...]) -> Counts:
        return Counts(a - b for a, b in zip(self, other, strict=True))

    def __abs__(self) -> Fraction:
        return Fraction(sum(map(abs, self)))


def counts_of(edges: list[int]) -> Any:
    def count(x: tuple[Fraction, ...]) -> Counts:
        found = [0] * (len(edges) - 1)
        for v in x:
            found[sum(v >= e for e in edges[1:-1])] += 1
        return Counts(found)

    return count


edges_of = st.sets(st.integers(-1, 11), min_size=2, max_size=5).map(sorted)
RELATIONS = st.sampled_from(["unbounded", "add", "remove", "bounded"])


@examples(5)
@given(
    edges_of,
    st.lists(st.integers(0, 10), min_size=1, max_size=6).map(sorted),
    RELATIONS,
    st.booleans(),
    st.data(),
)
def test_population(
    edges: list[int], population: list[int], relation: Any, within: bool, data: Any
) -> None:
    n = len(population)
    size = data.draw(st.one_of(st.none(), st.integers(1, n)))
    k = data.draw(st.integers(1, n))
    at = None
    if data.draw(st.booleans()):
        at = frozenset(data.draw(st.permutations(range(n)))[: size or 1])
    release = None if at is None else [population[i] for i in at]
    try:
        found = ts.sensitivity(
            ts.Histogram(edges), ts.Records(population, size=size), release, k, relation, within
        )
    except InfeasibleError:
        return
    count = counts_of(edges)
    exact = [Fraction(v) for v in population]
    truth = oracle.over_records(count, exact, size, k, relation, within, at, fewest=0)
    assert found.value == truth
    if found.witness is None:
        assert truth == 0
        assert differing_pair(found.question, 0) is None
        return
    x, y = (tuple(map(Fraction, side)) for side in found.witness)
    assert abs(count(x) - count(y)) == truth


@examples(2.5)
@given(edges_of, st.sets(st.integers(0, 10), min_size=1, max_size=3), RELATIONS, st.data())
def test_values(edges: list[int], values: set[int], relation: Any, data: Any) -> None:
    size = data.draw(st.one_of(st.none(), st.integers(1, 3)))
    k = data.draw(st.integers(1, 3))
    sizes = [size] if size else range(k + 2)
    try:
        found = ts.sensitivity(ts.Histogram(edges), ts.Values(values, size=size), None, k, relation)
    except InfeasibleError:
        return
    exact = [Fraction(v) for v in sorted(values)]
    count = counts_of(edges)
    truth = oracle.over_values(count, exact, sizes, k, relation, True, fewest=0)
    assert found.value == truth
    if len(values) == 2:  # an interval reaches more bins than its ends do
        over = ts.Interval(min(values), max(values), size=size)
        grid = [Fraction(v) for v in range(min(values), max(values) + 1)][:6]
        if len(grid) < 5:
            wider = ts.sensitivity(ts.Histogram(edges), over, None, k, relation)
            truth = oracle.over_values(count, grid, sizes, k, relation, True, fewest=0)
            assert wider.value == truth


def test_every_record_is_counted() -> None:
    h = ts.Histogram([0, 10, 20])
    assert h.exact([Fraction(v) for v in (-5, 0, 9, 10, 20, 99)]) == (3, 3)
    assert h(np.array([1.0, 12.0, 13.0])).tolist() == [1, 2]
    with pytest.raises(UsageError, match="ascending"):
        ts.Histogram([1, 1])
    with pytest.raises(UsageError, match="single value"):
        h.batch(np.zeros((1, 1)))


@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
def test_histogram_within_bounds_agrees_with_a_search_over_values(relation: Any) -> None:
    for edges in ([0, 4, 8], [0, 2, 4, 6, 8], [0, 8], [-9, -5, 20]):
        histogram = tc.histogram(edges=edges)
        for distance in (0, 1):
            truth = tc.local_sensitivity_at(
                histogram, [1, 5], distance=distance, relation=relation, values=[0, 1, 3, 5, 8]
            )
            found = tc.local_sensitivity_at(histogram, [1, 5], (0, 8), distance, relation)
            assert found == truth
