"""Every mechanism on small domains: its whole output distribution, its mean and its variance."""

import json
from fractions import Fraction

import numpy as np
import pytest

from local.local_laws import greatest_ratio, holds_epsilon, key, moments, reproducible
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core import PureDP
from tacit.errors import UsageError
from tacit.local import (
    BinaryLocalHashing,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HybridMean,
    Items,
    LaplaceMean,
    LocalHashing,
    OptimizedLocalHashing,
    Piecewise,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    ThresholdHistogram,
    UnaryEncoding,
    oracle_from,
)
from tacit.local.hashing import bucket, bucket_shares
from tacit.noise.bits import words32

EXACT = {
    "two coins": RandomizedResponse(p="3/4"),
    "liar": RandomizedResponse(p="1/4"),
    "warner": RandomizedResponse(["no", "yes"], epsilon="1/2"),
    "grr": DirectEncoding(5, epsilon=1),
    "grr that lies": DirectEncoding(5, p="1/16"),
    "grr of many": DirectEncoding(40, epsilon="3.5"),
    "oue": UnaryEncoding(4, epsilon=1),
    "sue": UnaryEncoding(4, epsilon=2, symmetric=True),
    "unary": UnaryEncoding(["a", "b", "c"], p="3/4", q="1/4"),
    "unary reversed": UnaryEncoding(9, p="1/8", q="5/8"),
    "threshold": ThresholdHistogram(4, epsilon=1),
    "hadamard": HadamardResponse(6, epsilon=1, blocks=1),
    "hadamard blocks": HadamardResponse(13, epsilon=3, blocks=4),
    "hadamard best": HadamardResponse(20, epsilon=5),
    "hadamard pairs": HadamardResponse(8, epsilon=4, blocks=8),
    "subset": SubsetSelection(6, epsilon="1/2"),
    "subset of one": SubsetSelection(4, p="3/4", size=1),
    "subset of most": SubsetSelection(5, p="15/16", size=4),
}
HASHING = {
    "olh": OptimizedLocalHashing(6, epsilon=1, seed_bits=8),
    "blh": BinaryLocalHashing(6, p="3/4", seed_bits=6),
    "three buckets": LocalHashing(5, epsilon=2, buckets=3, seed_bits=7),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("oracle", [*EXACT.values(), *HASHING.values()], ids=[*EXACT, *HASHING])
def test_the_whole_distribution_keeps_epsilon_and_attains_it(oracle):
    holds_epsilon(oracle, oracle.domain.labels[:9])


@pytest.mark.few(12)
@pytest.mark.parametrize("oracle", EXACT.values(), ids=EXACT)
def test_estimates_are_unbiased_with_exactly_the_variance_told(oracle):
    labels = oracle.domain.labels
    for own in range(0, len(labels), 3):
        for item in range(0, len(labels), 2):
            mean, variance = moments(oracle, labels[own], item)
            assert mean == (own == item)
            if isinstance(oracle, HadamardResponse):
                mate = own % oracle.blocks == item % oracle.blocks
                told = oracle.variance(1, int(own == item), block_frequency=int(mate))
            else:
                told = oracle.variance(1, int(own == item))
            assert variance == told


@pytest.mark.few(9)
@pytest.mark.parametrize("oracle", [*EXACT.values(), *HASHING.values()], ids=[*EXACT, *HASHING])
def test_draws_have_the_listed_distribution(oracle, chi_square):
    n = 20_000
    for value in (oracle.domain.labels[0], oracle.domain.labels[-1]):
        with reproducible(5):
            reports = oracle.perturb_many([value] * n)
        assert oracle.valid(reports).all()
        law = oracle.distribution(value)
        seen = dict.fromkeys(law, 0)
        for report in reports:
            seen[key(report)] += 1
        assert chi_square(list(seen.values()), [float(p) * n for p in law.values()]) > 1e-5


@pytest.mark.parametrize("oracle", [*EXACT.values(), *HASHING.values()], ids=[*EXACT, *HASHING])
def test_a_description_builds_the_same_mechanism(oracle):
    again = oracle_from(json.loads(json.dumps(oracle.describe())))
    assert again == oracle
    assert again.fingerprint == oracle.fingerprint
    assert hash(again) == hash(oracle)


@pytest.mark.few(4)
@pytest.mark.parametrize("oracle", EXACT.values(), ids=EXACT)
def test_the_measurement_holds_against_its_own_divergence(oracle):
    m = oracle.measurement()
    first, last = oracle.domain.labels[0], oracle.domain.labels[-1]
    u, v = m.distribution(first), m.distribution(last)
    measured = Enclosure.of(PureDP().divergence(u, v))
    assert measured.lower <= m.map(1)
    assert m.map(0) == 0
    unknown = m.distribution("nobody has this answer")
    assert sum(unknown.values()) == 1
    assert Enclosure.of(PureDP().divergence(u, unknown)).lower <= m.map(1)
    assert key(m("nobody has this answer")) in unknown


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", 1, 2, 5, 12, 24])
@pytest.mark.parametrize(
    "kind",
    [
        DirectEncoding,
        UnaryEncoding,
        OptimizedLocalHashing,
        BinaryLocalHashing,
        HadamardResponse,
        SubsetSelection,
        ThresholdHistogram,
    ],
)
def test_epsilon_is_never_above_the_one_asked_for_and_hardly_below(kind, epsilon):
    asked = Fraction(epsilon)
    for size in (2, 14, 1000):
        loss = kind(size, epsilon=epsilon).epsilon
        assert loss.upper <= asked + Fraction(1, 10**20)
        if kind is not ThresholdHistogram:
            assert loss.lower >= asked - Fraction(1, 500) * min(1, asked)


@pytest.mark.full
def test_two_items_share_a_bucket_as_often_as_chance():
    """Over 2**18 seeds and 496 pairs of items: no pair is beyond six standard deviations."""
    items, n = 32, 1 << 18
    with reproducible(7):
        seeds = words32(n)
    for g in (2, 4, 7):
        buckets = [bucket(seeds, np.full(n, v, np.uint32), g) for v in range(items)]
        shares = [float(s) for s in bucket_shares(g)]
        chance = sum(s * s for s in shares)
        spread = (chance * (1 - chance) * n) ** 0.5
        worst = max(
            abs(np.count_nonzero(buckets[a] == buckets[b]) - n * chance) / spread
            for a in range(items)
            for b in range(a)
        )
        assert worst < 6
        for v in range(items):
            seen = np.bincount(buckets[v], minlength=g)
            assert np.abs(seen - n * np.array(shares)).max() < 6 * (n / g) ** 0.5


MEANS = {
    "duchi": Duchi(-1, 1, epsilon=1),
    "piecewise": Piecewise(0, 10, epsilon=2, total=16),
    "piecewise narrow": Piecewise(-5, 5, keep="7/8", total=16, width=2),
    "hybrid": HybridMean(-1, 1, epsilon=2, total=16),
    "hybrid of little": HybridMean(-1, 1, epsilon="1/2", total=16),
}


@pytest.mark.parametrize("oracle", MEANS.values(), ids=MEANS)
def test_means_keep_epsilon_are_unbiased_and_vary_as_told(oracle):
    low, high = oracle.lower, oracle.upper
    step = (high - low) / oracle.steps
    wholes = [low, high, low + step * (oracle.steps // 2)]
    between = [low + (high - low) * Fraction(3, 16), low + (high - low) / 2]
    tight = not isinstance(oracle, HybridMean)
    laws = [oracle.distribution(v) for v in [*wholes, *between]]
    holds_epsilon(oracle, [*wholes, *between], tight=tight)
    for value, law in zip([*wholes, *between], laws, strict=True):
        mean = square = Fraction(0)
        for y, p in law.items():
            guess = oracle.exact_mean(oracle.aggregate(np.array([y])))
            mean += p * guess
            square += p * guess * guess
        read = low + Fraction(oracle._read(value), 1 << 32) * (high - low)
        near = Fraction(1, 2**31) if isinstance(oracle, HybridMean) else 0
        assert abs(mean - read) <= near * (high - low)
        told = oracle.variance(1, value)
        assert abs(square - mean * mean - told) <= near * (high - low) ** 2
        assert told <= oracle.variance(1)


def test_laplace_means_keep_epsilon():
    oracle = LaplaceMean(0, 1, epsilon=2, grid=3)
    u, v = (oracle.distribution(x) for x in (0, 1))
    bound = exp(2, 120)
    for y in u:
        assert u[y].lower <= (v[y] * bound).upper
        assert v[y].lower <= (u[y] * bound).upper
    assert sum(float(p.middle) for p in u.values()) == pytest.approx(1, abs=1e-14)
    top = oracle.layout.limit // 2
    assert float((v[top + 9] / u[top + 9]).middle) == pytest.approx(float(bound), rel=1e-9)


@pytest.mark.full
def test_summation_histogram_keeps_epsilon():
    oracle = SummationHistogram(2, epsilon=4, units=1)
    u, v = (oracle.distribution(x) for x in (0, 1))
    bound = exp(4, 120)
    ratios = [float((u[y] / v[y]).middle) for y in u]
    assert all(u[y].lower <= (v[y] * bound).upper for y in u)
    assert max(ratios) == pytest.approx(float(bound), rel=1e-9)
    assert sum(float(p.middle) for p in u.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.full
def test_square_waves_and_rappor_keep_epsilon():
    wave = SquareWave(0, 1, epsilon=1, bins=8)
    assert wave.reach > 0
    holds_epsilon(wave, [0, Fraction(1, 2), 1])
    words = ["red", "blue", "green", "cyan", "grey", "pink", "teal", None]
    rappor = Rappor(bloom_bits=8, hashes=1, cohorts=2, f="1/2", p="1/4", q="3/4")
    holds_epsilon(rappor, words)
    two = Rappor(bloom_bits=8, hashes=2, cohorts=2, f=0, p="1/4", q="3/4")
    holds_epsilon(two, words, tight=False)


def test_the_permanent_row_of_rappor_keeps_its_own_epsilon():
    """The kept row alone is what endless reports can reveal: q = 1, p = 0 shows it."""
    kept = Rappor(bloom_bits=8, hashes=1, cohorts=1, f="1/2", p=0, q=1)
    found = holds_epsilon(kept, ["red", "blue", "green", "cyan"])
    assert found == kept.permanent_ratio == 9
    noisy = Rappor(bloom_bits=8, hashes=1, cohorts=1, f="1/2", p="1/4", q="3/4")
    assert noisy.ratio < noisy.permanent_ratio


def test_sketches_keep_epsilon():
    words = ["red", "blue", "green", "cyan", "grey", "pink", "teal"]
    holds_epsilon(CountMeanSketch(epsilon=1, functions=2, buckets=8), words)
    holds_epsilon(HadamardCountMeanSketch(epsilon=1, functions=4, buckets=16), words)


def test_a_wrong_epsilon_would_be_caught():
    law = [RandomizedResponse(p="3/4").distribution(v) for v in (False, True)]
    assert greatest_ratio(law) == 3 > DirectEncoding(2, epsilon=1).ratio


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), 25, "no", None])
@pytest.mark.parametrize("kind", [DirectEncoding, UnaryEncoding, HadamardResponse, SubsetSelection])
def test_a_bad_epsilon_is_refused(kind, epsilon):
    with pytest.raises(UsageError):
        kind(4, epsilon=epsilon)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DirectEncoding(4, p="1/4"),
        lambda: DirectEncoding(4, epsilon=1, p="1/2"),
        lambda: RandomizedResponse(p="1/2"),
        lambda: RandomizedResponse(["a", "b", "c"], epsilon=1),
        lambda: UnaryEncoding(4, p="1/2", q="1/2"),
        lambda: UnaryEncoding(4, p="1/2"),
        lambda: UnaryEncoding(4, p=1, q="1/2"),
        lambda: UnaryEncoding(1 << 21, epsilon=1),
        lambda: SubsetSelection(4, p="1/2", size=2),
        lambda: SubsetSelection(4, epsilon=1, size=4),
        lambda: HadamardResponse(4, epsilon=1, blocks=3),
        lambda: LocalHashing(4, epsilon=1, buckets=1),
        lambda: LocalHashing(4, epsilon=1, seed_bits=33),
        lambda: OptimizedLocalHashing(4, p="1/2"),
        lambda: Rappor(f=1),
        lambda: Rappor(p="1/2", q="1/2"),
        lambda: Rappor(f=0, p=0, q=1),
        lambda: CountMeanSketch(p="1/4"),
        lambda: Duchi(1, 0, epsilon=1),
        lambda: Duchi(0, 1, p="1/2"),
        lambda: SquareWave(0, 1, keep="1/2"),
        lambda: Items(1),
        lambda: Items((1 << 32) + 1),
        lambda: Items(["a", "a"]),
        lambda: Items([1, True]),
        lambda: Items("yes or no"),
        lambda: Items([None, 1]),
    ],
)
def test_what_can_be_wrong_is_refused_at_construction(make):
    with pytest.raises(UsageError):
        make()
