"""Errors and intervals of what is made of other mechanisms: covered as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.errors import RefusedError, UsageError
from tacit.local import (
    CountMeanSketch,
    HadamardCountMeanSketch,
    HierarchicalRanges,
    KeyValue,
    PrefixExtending,
    Rappor,
    SquareWave,
)


def coverage(held: list, level: float) -> None:
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share


@pytest.mark.full
def test_the_linear_estimate_of_a_square_wave():
    wave = SquareWave(0, 1, epsilon=2, bins=12)
    values = np.minimum(np.random.default_rng(5).beta(2, 5, 3000), 0.999)
    places = wave.read(values)
    for edges in (None, [0, 3, 6, 12], [2, 5]):
        cuts = list(range(13)) if edges is None else edges
        true = np.histogram(values, np.array(cuts) / 12)[0]
        z, held = [], []
        with reproducible(31):
            for _ in range(120):
                e = wave.estimate(wave._draw(places), unbiased=True, edges=edges)
                low, high = e.interval("0.9")
                z.append((e.counts - true) / e.standard_error)
                held.append((low <= true) & (true <= high))
        assert e.method == "unbiased"
        assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(120)
        assert 0.85 < np.std(z) < 1.15
        coverage(held, 0.9)
        assert np.mean(held) < 0.95
    assert len(wave.estimate(wave.perturb_many(values), unbiased=True).items) == 12


def test_the_likeliest_square_wave_says_that_it_has_no_errors():
    wave = SquareWave(0, 1, epsilon=2, bins=12)
    state = wave.aggregate(wave.perturb_many([0.2] * 500))
    for smooth in (True, False):
        with pytest.raises(RefusedError, match="no known error"):
            wave.estimate(state, smooth=smooth).interval()
    for edges in ([0], [3, 3], [5, 2], [0, 13], [-1, 5], [0.5, 2]):
        with pytest.raises(UsageError):
            wave.estimate(state, unbiased=True, edges=edges)
    with pytest.raises(UsageError, match="unbiased=True"):
        wave.estimate(state, edges=[0, 12])
    with pytest.raises(UsageError, match="no reports"):
        wave.estimate(wave.empty(), unbiased=True)


@pytest.mark.full
def test_ranges_have_errors_that_hold():
    oracle = HierarchicalRanges(64, epsilon=1)
    values = (np.arange(6000) ** 2 // 7) % 50
    ranges = [(0, 63), (0, 0), (10, 20), (3, 58), (50, 63)]
    true = np.array([np.sum((values >= a) & (values <= b)) for a, b in ranges])
    z, held = [], []
    with reproducible(32):
        for _ in range(100):
            e = oracle.estimate_ranges(oracle.perturb_many(values), ranges)
            low, high = e.interval("0.9")
            z.append((e.counts - true) / e.standard_error)
            held.append((low <= true) & (true <= high))
    assert e.items == tuple(ranges)
    assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(100)
    assert 0.6 < np.std(z, axis=0).min() <= np.std(z, axis=0).max() < 1.3
    coverage(held, 0.9)
    state = oracle.aggregate(oracle.perturb_many(values))
    assert oracle.share(state, 10, 20) == oracle.estimate_ranges(state, [(10, 20)]).frequencies[0]
    with pytest.raises(UsageError, match="at least one range"):
        oracle.estimate_ranges(state, [])


@pytest.mark.full
def test_keys_and_values_have_errors_that_hold():
    oracle = KeyValue(["film", "book", "game"], 1, 5, epsilon=2)
    people = [{"film": 5}, {"film": 2, "book": 4}, {}, {"film": 2, "book": 4.5}] * 1500
    frequency = {"film": 0.75, "book": 0.5, "game": 0}
    mean = {"film": 3, "book": 4.25}
    places = oracle.read(people)
    z, shares, means = [], [], []
    with reproducible(33):
        for _ in range(120):
            found = oracle.estimate(oracle._draw(places))
            for name, e in found.items():
                low, high = e.interval("0.9")
                shares.append(low <= frequency[name] <= high)
                z.append((e.frequency - frequency[name]) / e.frequency_error)
                if name in mean:
                    low, high = e.mean_interval("0.9")
                    means.append(low <= mean[name] <= high)
    assert abs(np.mean(z)) < 5 / math.sqrt(len(z))
    coverage(shares, 0.9)
    coverage(means, 0.9)
    assert np.mean(shares) < 0.96
    assert np.mean(means) < 0.97
    nothing = oracle.estimate(oracle.empty())["film"]
    assert math.isnan(nothing.mean)


@pytest.mark.full
@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
def test_intervals_of_sketches_hold_where_some_words_are_frequent(kind):
    """A word of half the people raises all that share its columns; the errors know of it."""
    oracle, n = kind(epsilon=4, functions=16, buckets=64), 20_000
    z, held, wrong, pairs = [], [], [], []
    with reproducible(35):
        for run in range(60):
            words = [f"{run} {i}" for i in range(12)]
            counts = np.array([n // 2, n // 4, n // 8, *[0] * 8, n - n // 2 - n // 4 - n // 8])
            places = np.repeat(oracle.read(words), counts)
            state = oracle.aggregate(oracle._draw(places))
            e = oracle.estimate(state, words)
            low, high = e.interval("0.9")
            z.append((e.counts - counts) / e.standard_error)
            held.append((low <= counts) & (counts <= high))
            bare = math.sqrt(oracle.variance(n))  # as if all words were rare
            wrong.append(np.abs(e.counts - counts)[3:11] > 1.645 * bare)
            pairs.append(oracle.pairs(state) / float((counts**2).sum()))
    assert abs(np.mean(z)) < 5 / math.sqrt(60)
    coverage(held, 0.9)
    assert np.mean(held) < 0.97
    assert np.mean(wrong) > 0.3
    assert 0.7 < np.mean(pairs) < 1.3


@pytest.mark.full
def test_plain_regression_of_rappor_has_errors_that_hold():
    oracle = Rappor(bloom_bits=64, hashes=2, cohorts=16, f="1/4", p="1/4", q="3/4")
    words = [f"word {i}" for i in range(8)]
    true = np.array([900, 500, 300, 200, 100, 0, 0, 0])
    places = np.repeat(oracle.read(words), true)
    z, held = [], []
    with reproducible(36):
        for _ in range(120):
            e = oracle.estimate(oracle._draw(places), words, nonnegative=False)
            low, high = e.interval("0.9")
            z.append((e.counts - true) / e.standard_error)
            held.append((low <= true) & (true <= high))
    assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(120)
    coverage(held, 0.9)


@pytest.mark.full
def test_intervals_of_heavy_hitters_hold_although_they_were_chosen():
    """The five largest of some thousands of words: all intervals hold at once, with 90%."""
    oracle = PrefixExtending(16, epsilon=4, step=8, functions=64, buckets=256)
    source = np.random.default_rng(34)
    together, errors = 0, []
    with reproducible(34):
        for _ in range(60):
            heavy = source.choice(1 << 16, 3, replace=False)
            people = np.concatenate(
                [np.repeat(heavy, [1500, 1000, 600]), source.integers(0, 1 << 16, 3000)]
            )
            values, counts = np.unique(people, return_counts=True)
            true = dict(zip(values.tolist(), counts.tolist(), strict=True))
            e = oracle.heaviest(oracle.perturb_many(people), 5)
            assert e.n == len(people)
            assert e.method == "the largest of many"
            assert e.chosen_from == 20 * 256
            asked = np.array([true.get(item, 0) for item in e.items])
            low, high = e.interval("0.9")
            together += bool(np.all((low <= asked) & (asked <= high)))
            assert np.array_equal(low, e.simultaneous("0.9")[0])
            chosen = {item: i for i, item in enumerate(e.items)}
            errors += [
                (e.counts[chosen[h]] - true[h]) / e.standard_error[chosen[h]]
                for h in heavy.tolist()
                if h in chosen
            ]
    assert together >= 60 * 0.9 - 5 * math.sqrt(60 * 0.09)
    assert len(errors) > 100
    assert 0.6 < np.std(errors) < 1.4
    assert e.plot().axes
