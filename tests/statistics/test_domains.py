"""The smallest and the largest records there are: sums and ranks, as of a written-out multiset."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.statistics import Interval, Records, Sample
from tacit.statistics.domains import Endless, Ends, Joined, Population, blocked_sum, pool_of

RECORDS = st.lists(st.integers(-9, 9), min_size=1, max_size=9).map(sorted)


@given(RECORDS, st.data())
def test_ends_are_the_smallest_and_the_largest_of_a_population(records, data):
    size = data.draw(st.integers(0, len(records)))
    count = data.draw(st.integers(0, size))
    ends = Ends(Population(Sample(records)), count, size)
    truth = records[:count] + records[len(records) - (size - count) :]
    assert [ends.rank(i) for i in range(size)] == truth
    start, stop = sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2)))
    assert ends.sum(start, stop) == sum(truth[start:stop])
    assert ends.rough_sum(start, stop) == sum(truth[start:stop])
    assert ends.sample(start, stop).fractions() == truth[start:stop]


@given(st.integers(0, 5), st.integers(0, 5))
def test_values_without_limit_hand_out_their_bounds(low, high):
    ends = Ends(Endless(Fraction(-2), Fraction(7, 2)), low, low + high)
    truth = [Fraction(-2)] * low + [Fraction(7, 2)] * high
    assert [ends.rank(i) for i in range(low + high)] == truth
    assert ends.sum(0, low + high) == sum(truth)
    assert ends.sample(0, low + high).fractions() == truth


@given(RECORDS, RECORDS, st.data())
def test_an_exchange_is_the_release_that_it_says(here, rest, data):
    removed = data.draw(st.integers(0, len(here)))
    added = data.draw(st.integers(0, len(rest)))
    for up in (True, False):
        leaving, coming = Population(Sample(here)), Population(Sample(rest))
        found = Joined.exchange(leaving, coming, (removed, added), up)
        if up:
            truth = sorted(here[removed:] + rest[len(rest) - added :])
        else:
            truth = sorted(here[: len(here) - removed] + rest[:added])
        assert len(found) == len(truth)
        assert [found.rank(i) for i in range(len(truth))] == truth
        assert found.sum(0, len(truth)) == sum(truth)
        assert found.sample().fractions() == truth


def test_long_sums_that_differ_little_are_derived_from_each_other_and_stay_exact():
    values = np.random.default_rng(2).integers(-(10**9), 10**9, 20_000)
    population = Population(Sample(values))
    ordered = np.sort(values).tolist()
    for start, stop in ((0, 9000), (3, 9001), (2, 8000), (0, 20_000), (11_000, 19_990)):
        assert population.sum_of(start, stop, from_top=False) == sum(ordered[start:stop])
        mirrored = sum(ordered[20_000 - stop : 20_000 - start])
        assert population.sum_of(start, stop, from_top=True) == mirrored


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 5000])
def test_float_sums_in_blocks_are_within_their_stated_error(size):
    values = np.random.default_rng(size).normal(size=size) * 1e6
    truth = sum(map(Fraction, values.tolist()), Fraction(0))
    error = (2048 + Fraction(size, 1024)) * Fraction(1, 2**53) * Fraction(float(abs(values).sum()))
    assert abs(Fraction(blocked_sum(values)) - truth) <= error


def test_the_pool_of_a_domain_is_its_records_or_its_bounds():
    known = pool_of(Records([3, 1, 2]))
    assert (known.low(0), known.high(0)) == (1, 3)
    fixed = pool_of(Records([3, 1, 2]), Sample([2]))
    assert (fixed.low(0), fixed.high(0)) == (2, 2)
    endless = pool_of(Interval(0, 5))
    assert (endless.low(10**9), endless.high(10**9)) == (0, 5)
