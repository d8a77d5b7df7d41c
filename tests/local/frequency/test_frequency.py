"""Oracles of the counts of listed items, and sketches of any: the laws of each kind of report."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from local.local_laws import coverage, holds_epsilon, moments, reproducible
from tacit import noise
from tacit.errors import UsageError
from tacit.local.frequency.bit_vectors import SummationHistogram, ThresholdHistogram, UnaryEncoding
from tacit.local.frequency.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from tacit.local.frequency.direct_encoding import SubsetSelection
from tacit.local.frequency.hadamard_response import HadamardResponse, hadamard_transform
from tacit.local.frequency.local_hashing import (
    BinaryLocalHashing,
    LocalHashing,
    OptimizedLocalHashing,
)


@pytest.mark.parametrize(
    ("oracle", "people", "words", "seed"),
    [
        (SummationHistogram(8, epsilon=2), 6000, 3, 5),
        (ThresholdHistogram(8, epsilon=2), 6000, 3, 5),
        (OptimizedLocalHashing(30, epsilon=2), 9000, 3, 3),
        (BinaryLocalHashing(30, epsilon=2), 9000, 3, 3),
        (HadamardResponse(20, epsilon=3), 20_000, 4, 2),
    ],
    ids=lambda given: None if isinstance(given, int) else type(given).__name__,
)
@pytest.mark.few(1)
def test_counts_are_found_again(oracle, people, words, seed):
    with reproducible(seed):
        found = oracle.estimate(oracle.perturb_many(np.arange(people) % words))
    real = np.where(np.arange(len(found.counts)) < words, people // words, 0)
    assert np.abs((found.counts - real) / found.standard_error).max() < 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: LocalHashing(9, p="1/4", buckets=4),  # every bucket is as likely
        lambda: LocalHashing(9, epsilon=1, p="1/2", buckets=4),
        lambda: LocalHashing(9, epsilon=1, buckets=1),
        lambda: LocalHashing(9, epsilon=1, buckets=4097),
        lambda: LocalHashing(9, epsilon=1, buckets=4, seed_bits=33),
        lambda: LocalHashing((1 << 24) + 1, epsilon=1, buckets=4),
        lambda: OptimizedLocalHashing(9, p="1/2"),
        lambda: BinaryLocalHashing(9, epsilon=1, buckets=3),
        lambda: LocalHashing(9, epsilon=1, buckets=4).distribution(0),  # 2^32 seeds
        lambda: HadamardResponse(9),
        lambda: HadamardResponse(9, epsilon=1, keep="1/2"),
        lambda: HadamardResponse(9, keep=1),
        lambda: HadamardResponse(9, keep=0),
        lambda: HadamardResponse(9, keep="1/2", blocks=3),
        lambda: HadamardResponse(9, keep="1/2", blocks=16),
        lambda: HadamardResponse(9, keep="1/2", blocks=0),
        lambda: SummationHistogram(4),
        lambda: SummationHistogram(4, epsilon=0),
        lambda: SummationHistogram(4, epsilon=25),
        lambda: SummationHistogram(4, epsilon=1, units=0),
        lambda: SummationHistogram(4, epsilon="1/1000000", units=1 << 40),
    ],
)
@pytest.mark.few(1)
def test_what_cannot_be_is_refused(make):
    with pytest.raises(UsageError):
        make()


def test_too_many_items_are_refused_with_what_counts_them():
    with pytest.raises(UsageError, match="OptimizedLocalHashing"):
        SummationHistogram(65_537, epsilon=1)
    with pytest.raises(UsageError, match="CountMeanSketch"):
        HadamardResponse((1 << 24) + 1, epsilon=1)


# Histogram encodings: noise on each entry, summed exactly or cut at a threshold.


@pytest.mark.parametrize("far", [10**9, -(10**9)])
def test_an_entry_is_of_a_fixed_size_whatever_the_noise(far, monkeypatch):
    """Noise that is far out is cut, and the report stays in its layout."""
    oracle = SummationHistogram(3, epsilon=4, units=2)
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size: np.full(size, far))
    report = oracle.perturb(1)
    assert set(report.tolist()) == {oracle.layout.limit - 1 if far > 0 else 0}


def test_sums_count_whole_units_and_merge_without_error():
    oracle = SummationHistogram(4, epsilon=1)
    reports = oracle.perturb_many([0, 1, 1, 3] * 50)
    whole = oracle.aggregate(reports)
    assert whole == oracle.aggregate(reports[:70]) + oracle.aggregate(reports[70:])
    by_hand = [sum(int(r[i]) - oracle.bound for r in reports) for i in range(4)]
    assert oracle.exact_counts(whole) == [Fraction(s, oracle.units) for s in by_hand]


def test_the_variance_is_that_of_the_noise_rounded_up():
    oracle = SummationHistogram(4, epsilon=2, units=64)
    q = math.exp(-1 / float(oracle.scale))
    assert float(oracle.variance(10)) == pytest.approx(10 * 2 * q / (1 - q) ** 2 / 64**2)
    assert oracle.variance(10, "1/2") == oracle.variance(10)  # whatever the share
    assert oracle.epsilon == 2
    assert float(oracle.ratio) == pytest.approx(math.exp(2))


def test_a_finer_grid_changes_the_error_hardly_and_the_loss_not():
    coarse, fine = (SummationHistogram(4, epsilon=1, units=units) for units in (4, 64))
    assert coarse.epsilon == fine.epsilon
    assert float(coarse.variance(1)) == pytest.approx(float(fine.variance(1)), rel=0.01)


@pytest.mark.parametrize("threshold", ["1/2", "3/5", 1])
def test_a_threshold_makes_unary_encoding_of_a_smaller_loss(threshold):
    oracle = ThresholdHistogram(6, epsilon=2, threshold=threshold)
    t = float(Fraction(threshold))
    assert float(oracle.q) == pytest.approx(math.exp(-t) / 2, rel=1e-5)
    assert float(oracle.p) == pytest.approx(1 - math.exp(t - 1) / 2, rel=1e-5)
    assert float(oracle.q) >= math.exp(-t) / 2  # rounded toward each other: never more loss
    assert float(oracle.p) <= 1 - math.exp(t - 1) / 2
    assert oracle.epsilon.upper if hasattr(oracle.epsilon, "upper") else oracle.epsilon < 2
    assert oracle.distribution(2) == UnaryEncoding(6, p=oracle.p, q=oracle.q).distribution(2)


def test_the_threshold_of_least_variance_is_taken():
    own = ThresholdHistogram(6, epsilon=2)
    others = [ThresholdHistogram(6, epsilon=2, threshold=Fraction(i, 20)) for i in range(10, 21)]
    assert own.variance(1) <= min(o.variance(1) for o in others) * Fraction(10001, 10000)
    for wrong in ("1/4", "5/4"):
        with pytest.raises(UsageError, match="threshold"):
            ThresholdHistogram(6, epsilon=2, threshold=wrong)


# Local hashing: a seed that says nothing, a bucket that is mostly the answer's own.


@pytest.mark.parametrize("buckets", [2, 3, 4, 7])
def test_reports_keep_epsilon_and_each_seed_is_as_likely(buckets):
    oracle = LocalHashing(5, p="3/4", buckets=buckets, seed_bits=6)
    assert holds_epsilon(oracle, range(5)) == 3 * (buckets - 1)
    law = oracle.distribution(2)
    for seed in range(1 << 6):
        own = [law[seed * buckets + y] for y in range(buckets)]
        assert sum(own) == Fraction(1, 1 << 6)
        assert sorted(own)[-1] == Fraction(3, 4) / (1 << 6)


def test_a_truth_that_is_kept_rarely_is_as_private_the_other_way_round():
    rare = LocalHashing(5, p="1/8", buckets=2)
    assert rare.ratio == 7


@pytest.mark.parametrize("buckets", [2, 4])
def test_the_own_item_is_supported_with_exactly_the_chance_told(buckets):
    """Over all seeds of 8 bits, for buckets of equal shares."""
    oracle = LocalHashing(3, p="3/4", buckets=buckets, seed_bits=8)
    mean, _ = moments(oracle, 1, 1)
    assert mean == 1
    p, q = oracle.support
    assert (p, q) == (Fraction(3, 4), Fraction(1, buckets))


def test_a_seed_and_a_bucket_are_one_whole_number():
    oracle = LocalHashing(1000, p="1/2", buckets=5)
    reports = oracle.perturb_many(np.arange(1000))
    assert int(reports.max()) < 5 << 32 == oracle.layout.limit
    assert len(np.unique(reports // 5)) > 990  # each person draws a seed of their own


def test_buckets_follow_epsilon():
    assert [OptimizedLocalHashing(9, epsilon=e).buckets for e in ("1/100", 1, 3, 24)] == [
        *(2, 4, 21, 4096)
    ]
    assert BinaryLocalHashing(9, epsilon=5).buckets == 2


# Reports of subset selection.


def test_subset_reports_have_no_order():
    """Bits in a row tell no order; each position is as likely whatever the true item is not."""
    oracle = SubsetSelection(8, p="1/2", size=3)
    law = oracle.distribution(5)
    assert len(set(law.values())) == 2
    assert len(law) == 56


# Hadamard response: the transform, the sets of the items, blocks of least variance.


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_matrix_of_signs_and_its_own_inverse_but_for_the_size(size):
    values = np.random.default_rng(size).integers(-99, 99, (3, size))
    signs = np.array([[(-1) ** (r & j).bit_count() for j in range(size)] for r in range(size)])
    found = hadamard_transform(values)
    assert found.tolist() == (values @ signs).tolist()
    assert (hadamard_transform(found) == values * size).all()


@pytest.mark.parametrize(("items", "blocks"), [(3, 1), (5, 2), (7, 4)])
def test_reports_keep_epsilon_and_estimates_are_unbiased_with_the_variance_told(items, blocks):
    oracle = HadamardResponse(items, keep="1/2", blocks=blocks)
    assert holds_epsilon(oracle, range(items)) == 1 + 2 * blocks
    for value, share in ((0, Fraction(1)), (1, Fraction(0))):
        mean, spread = moments(oracle, value, 0)
        same = int(value % blocks == 0)
        assert mean == share
        assert spread == oracle.variance(1, share, same)


@pytest.mark.parametrize(("items", "blocks"), [(2, 1), (3, 1), (4, 1), (16, 4), (1000, 8)])
def test_a_block_has_a_row_for_each_of_its_items_beside_the_first(items, blocks):
    oracle = HadamardResponse(items, keep="1/2", blocks=blocks)
    largest = -(-items // blocks)
    assert largest < oracle.block_size <= 2 * (largest + 1)
    assert oracle.layout.limit == blocks * oracle.block_size
    reports = oracle.perturb_many(np.arange(items))
    assert int(reports.max()) < oracle.layout.limit


def test_more_blocks_serve_larger_epsilon():
    chosen = [HadamardResponse(1000, epsilon=e).blocks for e in ("1/2", 1, 3, 6)]
    assert chosen == sorted(chosen)
    assert (chosen[0], chosen[-1] > 8) == (1, True)
    own = HadamardResponse(1000, epsilon=3)
    others = [HadamardResponse(1000, epsilon=3, blocks=1 << i) for i in range(9)]
    assert own.variance(1) == min(o.variance(1) for o in others)


# Sketches: intervals that hold where some words are frequent.


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
