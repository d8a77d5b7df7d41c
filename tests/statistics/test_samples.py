"""Records that are counted say what the same records say when they are written out."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.statistics import lookup
from tacit.statistics.samples import CountedSample, Ranks, Sample, Sums
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
