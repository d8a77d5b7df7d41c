"""Records that are counted say what the same records say when they are written out."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UsageError
from tacit.statistics import Interval, Records, lookup
from tacit.statistics import Sample as DomainsSample
from tacit.statistics.domains import (
    Endless,
    ExtremeRecords,
    Joined,
    Population,
    blocked_sum,
    pool_of,
)
from tacit.statistics.samples import CountedSample, Ranks, Sample, Sums, exact_float_sum, merge
from tacit.statistics.smooth import at_distance

STATISTICS = ("mean", "median", "percentile(30)", "max", "var", "std")


def both(seed):
    rng = np.random.default_rng(seed)
    points = np.sort(rng.choice(11 if seed % 2 else 1000, rng.integers(1, 6), replace=False))
    values = points * (1.0 if seed % 2 else 0.01)
    counts = rng.integers(1, 6, len(values))
    return CountedSample(Sample(values), counts), Sample(np.repeat(values, counts))


@pytest.mark.few(30)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("name", STATISTICS)
def test_counted_records_are_as_sensitive_as_listed_ones(name, relation):
    for seed in range(12):
        counted, listed = both(seed)
        if relation == "remove" and len(listed) < 2:
            continue
        one, other = (at_distance(name, sample, (0, 12), relation) for sample in (counted, listed))
        for t in range(len(listed) + 2):
            assert one.at(t) == other.at(t)
        for beta in (Fraction(1, 3), Fraction(1, 50)):
            assert one.smooth(beta) == other.smooth(beta)
        bounds = [Fraction(1, 5), Fraction(1), Fraction(3)]
        assert one.instabilities(bounds) == other.instabilities(bounds)


@pytest.mark.parametrize("name", STATISTICS)
def test_counted_records_have_the_same_value(name):
    for seed in range(20):
        counted, listed = both(seed)
        found = lookup(name)
        assert repr(found.of(counted)) == repr(found.of(listed))


def test_counted_records_are_a_sample():
    for seed in range(20):
        counted, listed = both(seed)
        assert counted == listed
        assert len(counted) == len(listed)
        assert [counted[i] for i in range(-len(listed), len(listed))] == 2 * listed.fractions()
        assert counted.slice(1, len(listed) - 1) == listed.slice(1, len(listed) - 1)
        assert counted.total(1, -1) == listed.total(1, -1)
        assert counted.mirrored() == listed.mirrored()
        with pytest.raises(IndexError):
            counted[len(listed)]


def test_nothing_is_written_out_for_what_a_table_asks(monkeypatch):
    def written(*_):
        raise AssertionError("a record a place")

    counted = CountedSample(Sample(np.array([1.0, 2.0, 7.5])), np.array([10**9, 10**9, 10**8]))
    monkeypatch.setattr(np, "repeat", written)
    for name in STATISTICS:
        found = at_distance(name, counted, (0, 8), "unbounded")
        assert found.smooth(Fraction(1, 10)) >= 0
        found.instabilities([Fraction(1, 10**6), Fraction(1, 10)])
        lookup(name).of(counted)


@pytest.mark.parametrize("largest", [9, 1 << 31, (1 << 61) - 1, 1 << 90])
@pytest.mark.parametrize("counts", [None, [3, 1, 2, 5], [1 << 29, 1, 1 << 30, 2]])
def test_running_sums_are_exact(largest, counts):
    numbers = sorted({0, largest // 3, largest - 1, largest})
    values = np.array(numbers, dtype=np.int64 if largest < 1 << 61 else object)
    ends = None if counts is None else np.cumsum(counts)
    sums = Sums(values, ends)
    times = [1] * len(numbers) if counts is None else counts
    for asked in {0, 1, 2, 4, sum(times) // 2, sum(times) - 1, sum(times)}:
        left, total = asked, 0
        for number, many in zip(numbers, times, strict=True):
            total, left = total + number * min(left, many), left - min(left, many)
        if not left:
            assert sums(asked) == total


def test_ranks_are_an_array():
    ranks = Ranks(np.array([0, 4, 9]), np.array([2, 3, 7]))
    listed = np.array([0, 0, 4, 9, 9, 9, 9])
    index = np.array([[0, 3], [-1, 2]])
    assert (ranks[index] == listed[index]).all()
    assert (ranks[1:5] == listed[1:5]).all()
    assert int(ranks[-2]) == 9
    assert ranks.astype(object)[2] == 4
    assert len(ranks) == 7


# A sample holds exactly what was given, of any kind of number.


finite = st.floats(allow_nan=False, allow_infinity=False)
exact = st.one_of(
    finite,
    st.integers(-(2**70), 2**70),
    st.fractions(-99, 99, max_denominator=12),
    st.decimals("-9", "9", places=3),
)
SETTINGS = examples(1.5)


@SETTINGS
@given(st.lists(exact, min_size=1, max_size=20), st.data())
def test_a_sample_holds_exactly_what_was_given(
    values: list[float | int | Fraction | Decimal], data: st.DataObject
) -> None:
    truth = sorted(map(Fraction, values))
    sample = Sample(values)
    assert sample.fractions() == truth
    assert [sample[i] for i in range(len(truth))] == truth
    integers, grain = sample.on_grid
    assert [int(v) * grain for v in integers] == truth
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(truth))] * 2)))
    assert sample.total(start, stop) == sum(truth[start:stop])
    assert all(isinstance(v, int) or v.denominator > 1 for v in sample.values())


@SETTINGS
@given(st.lists(exact, min_size=1, max_size=12), st.lists(exact, max_size=6))
def test_multisets_join_and_part(a: list[Fraction], b: list[Fraction]) -> None:
    one, two = Sample(a), Sample(b, allow_empty=True)
    both = merge(one, two)
    assert both.fractions() == sorted([*one.fractions(), *two.fractions()])
    rest = both.without(two)
    assert rest is not None
    assert rest.fractions() == one.fractions()
    values, counts = both.distinct()
    assert dict(zip(values.fractions(), counts.tolist(), strict=True)) == Counter(both.fractions())
    missing = Counter(two.fractions()) - Counter(one.fractions())
    assert (one.without(two) is None) == bool(missing)
    joined = Joined(one, two, both.total)
    assert [joined.rank(i) for i in range(len(joined))] == both.fractions()


def test_arrays_of_every_kind() -> None:
    for kind in (np.int8, np.uint8, np.uint64, np.float32, np.float64, object):
        assert Sample(np.array([3, 1, 2], dtype=kind)).values() == (1, 2, 3)
    huge = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert Sample(huge)[1] == 2**64 - 1
    assert Sample(np.array([2**62, 2**62 - 1])).total() == 2**63 - 1
    assert Sample([-0.0, 0.0, 1e300, 1e300]).total() == 2 * Fraction(1e300)
    for wrong in (np.array([True]), [True], [None], np.array([1j]), [1, [2]]):
        with pytest.raises(UsageError):
            Sample(wrong)


# Sums of floats are exact.


EXACT_SUM_SETTINGS = examples(1.5)


@EXACT_SUM_SETTINGS
@given(st.lists(finite, max_size=60))
def test_float_sums_are_exact(values: list[float]) -> None:
    assert exact_float_sum(np.array(values)) == sum(map(Fraction, values))


def test_long_float_sums_are_exact() -> None:
    values = np.random.default_rng(5).lognormal(0, 30, 70_001)
    values[::3] *= -1
    assert exact_float_sum(values) == sum(map(Fraction, values.tolist()))


# The smallest and the largest records there are: sums and ranks, as of a written-out multiset.


RECORDS = st.lists(st.integers(-9, 9), min_size=1, max_size=9).map(sorted)


@given(RECORDS, st.data())
def test_ends_are_the_smallest_and_the_largest_of_a_population(records, data):
    size = data.draw(st.integers(0, len(records)))
    count = data.draw(st.integers(0, size))
    ends = ExtremeRecords(Population(DomainsSample(records)), count, size)
    truth = records[:count] + records[len(records) - (size - count) :]
    assert [ends.rank(i) for i in range(size)] == truth
    start, stop = sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2)))
    assert ends.sum(start, stop) == sum(truth[start:stop])
    assert ends.rough_sum(start, stop) == sum(truth[start:stop])
    assert ends.sample(start, stop).fractions() == truth[start:stop]


@given(st.integers(0, 5), st.integers(0, 5))
def test_values_without_limit_hand_out_their_bounds(low, high):
    ends = ExtremeRecords(Endless(Fraction(-2), Fraction(7, 2)), low, low + high)
    truth = [Fraction(-2)] * low + [Fraction(7, 2)] * high
    assert [ends.rank(i) for i in range(low + high)] == truth
    assert ends.sum(0, low + high) == sum(truth)
    assert ends.sample(0, low + high).fractions() == truth


@given(RECORDS, RECORDS, st.data())
def test_an_exchange_is_the_release_that_it_says(here, rest, data):
    removed = data.draw(st.integers(0, len(here)))
    added = data.draw(st.integers(0, len(rest)))
    for up in (True, False):
        leaving, coming = Population(DomainsSample(here)), Population(DomainsSample(rest))
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
    population = Population(DomainsSample(values))
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
    fixed = pool_of(Records([3, 1, 2]), DomainsSample([2]))
    assert (fixed.low(0), fixed.high(0)) == (2, 2)
    endless = pool_of(Interval(0, 5))
    assert (endless.low(10**9), endless.high(10**9)) == (0, 5)
