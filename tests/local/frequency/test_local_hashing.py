"""Local hashing: a seed that says nothing, a bucket that is mostly the answer's own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from local.local_laws import holds_epsilon, moments, reproducible
from tacit.errors import UsageError
from tacit.local import BinaryLocalHashing, LocalHashing, OptimizedLocalHashing


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
    ],
)
def test_what_cannot_be_is_refused(make):
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize("kind", [OptimizedLocalHashing, BinaryLocalHashing])
def test_counts_are_found_again(kind):
    oracle = kind(30, epsilon=2)
    with reproducible(3):
        found = oracle.estimate(oracle.perturb_many(np.arange(9000) % 3))
    real = np.where(np.arange(30) < 3, 3000, 0)
    assert np.abs((found.counts - real) / found.standard_error).max() < 5
