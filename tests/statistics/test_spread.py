"""Range, MAD, Gini, mode and means of ranks, held against plain enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import support.by_hand.statistics_oracle as oracle
import tacit.statistics as ts
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.means import WinsorizedMean
from tacit.statistics.spread import Gini, MedianAbsoluteDeviation, Mode, Range

NAMES = ["range", "gini", "trimmed_mean(0.25)", "winsorized_mean(0.25)", "mad", "mode"]
RELATIONS = ["unbounded", "add", "remove", "bounded"]
LISTED = [Fraction(v) for v in (0, 1, 4)]


def asked(name: str, over: Any, k: int, relation: Any, within: bool) -> Any:
    try:
        return ts.sensitivity(name, over, None, k, relation, within)
    except InfeasibleError:
        return None


def check_pair(
    found: Any, name: str, size: int | None, k: int, relation: str, within: bool
) -> None:
    """The pair is one of neighbours, of that size, and attains the value."""
    if found.pair is None:  # there is no neighbour, or none with another value
        assert found.value == 0
        return
    x, y = (tuple(side.fractions()) for side in found.pair)
    lost, gained = (Counter(x) - Counter(y)).total(), (Counter(y) - Counter(x)).total()
    if x != y:
        assert oracle.is_asked(lost, gained, k, relation, within or relation == "bounded")
    assert size is None or len(x) == size
    assert abs(oracle.VALUES[name](x) - oracle.VALUES[name](y)) == found.value


@pytest.mark.few(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_over_listed_values_it_is_that_of_enumeration(name: str, relation: str) -> None:
    for size, k, within in itertools.product((1, 2, 3, 4), (1, 2), (True, False)):
        found = asked(name, ts.Values(LISTED, size=size), k, relation, within)
        if found is None:
            assert k >= size
            continue
        truth = oracle.over_values(oracle.VALUES[name], LISTED, [size], k, relation, within)
        assert found.value == truth, (size, k, within)
        assert found.exact


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_over_an_interval_a_pair_attains_it_and_no_pair_exceeds_it(
    name: str, relation: str
) -> None:
    fine = [Fraction(i, 2) for i in range(5)]
    for size, k, within in itertools.product((1, 2, 3, 5, 8), (1, 2, 4), (True, False)):
        found = asked(name, ts.Interval(0, 2, size=size), k, relation, within)
        if found is None:
            assert k >= size
            continue
        assert found.exact
        check_pair(found, name, size, k, relation, within)
        if size + k <= 3:
            truth = oracle.over_values(oracle.VALUES[name], fine, [size], k, relation, within)
            assert truth <= found.value, (size, k, within)


@pytest.mark.parametrize("name", ["range", "mad", "mode"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_of_every_size_it_is_that_of_the_worst(name: str, relation: str) -> None:
    for k, within in itertools.product((1, 2, 3), (True, False)):
        found = asked(name, ts.Interval(-1, 3), k, relation, within)
        assert found.value == (2 if name == "mad" else 4)
        check_pair(found, name, None, k, relation, within)


@pytest.mark.parametrize("relation", RELATIONS)
def test_from_a_release_the_range_moves_as_enumeration_says(relation: str) -> None:
    for at in ([1], [0, 4], [1, 1], [0, 1, 1], [1, 4, 4]):
        release = tuple(map(Fraction, at))
        for k, within in itertools.product((1, 2), (True, False)):
            try:
                found = ts.sensitivity("range", ts.Values(LISTED), at, k, relation, within)
            except InfeasibleError:
                assert k >= len(at)
                continue
            truth = oracle.over_values(
                oracle.VALUES["range"], LISTED, [len(at)], k, relation, within, release
            )
            assert found.value == truth, (at, k, within)
            check_pair(found, "range", len(at), k, relation, within)


def test_what_no_closed_form_answers_is_searched_or_refused() -> None:
    with pytest.raises(UsageError):
        ts.sensitivity("gini", over=ts.Interval(1, 2, size=3))
    with pytest.raises(UsageError):
        ts.sensitivity("mad", over=ts.Interval(0, 2), at=[0, 1, 2])
    people = [Fraction(v) for v in (1, 2, 3, 10, 11)]
    for name in NAMES:
        found = ts.sensitivity(name, over=ts.Records(people, size=3), relation="bounded")
        value = oracle.VALUES[name]
        assert found.value == oracle.over_records(value, people, 3, 1, "bounded", True)


def test_values_are_those_of_the_definition() -> None:
    draw = np.random.default_rng(4)
    for size in range(1, 8):
        rows = draw.integers(0, 5, (20, size)).astype(float)
        for name in NAMES:
            statistic = lookup(name)
            batch = statistic.batch(rows)
            for row, value in zip(rows, batch, strict=True):
                exact = tuple(map(Fraction, row.tolist()))
                truth = oracle.VALUES[name](exact)
                assert statistic.exact(sorted(exact)) == truth
                assert value == pytest.approx(float(truth))
    assert [str(s) for s in (Range(), MedianAbsoluteDeviation(), Gini(), Mode())] == [
        *("range", "mad", "gini", "mode")
    ]
    assert str(lookup("winsorized_mean:0.2")) == "winsorized_mean(0.2)"
    assert Gini().exact([Fraction(-1), Fraction(0)]) == 0
    with pytest.raises(UsageError, match="below 1/2"):
        WinsorizedMean(Fraction(1, 2))


def test_the_range_at_a_distance_bounds_what_enumeration_finds() -> None:
    listed = [Fraction(i) for i in range(5)]
    data = [Fraction(1), Fraction(2), Fraction(2)]
    for t in range(2):
        bound = ts.local_sensitivity_at("range", data, (0, 4), t)
        start = Counter(data)
        near = [
            x
            for size in range(2, 5)
            for x in itertools.combinations_with_replacement(listed, size)
            if (start - Counter(x)).total() + (Counter(x) - start).total() <= t
        ]
        worst = max(
            oracle.over_values(oracle.VALUES["range"], listed, [len(x)], 1, "unbounded", True, x)
            for x in near
        )
        assert worst <= bound <= 4
