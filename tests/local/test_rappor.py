"""RAPPOR perturbs ones too, and finds frequent words."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from local.local_laws import coverage, greatest_ratio, holds_epsilon, key, moments, reproducible
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core import PureDP
from tacit.errors import BudgetError, UsageError
from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    BinaryLocalHashing,
    Collector,
    CountMeanSketch,
    Device,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalRanges,
    HybridMean,
    Items,
    KeyValue,
    LaplaceMean,
    LocalHashing,
    MeanOracle,
    OptimizedLocalHashing,
    PaddedSets,
    Piecewise,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    ThresholdHistogram,
    TwoStage,
    UnaryEncoding,
    influence,
    oracle_from,
)
from tacit.local.hashing import bucket, bucket_shares
from tacit.local.poisoning import honest_bounds
from tacit.noise.bits import words32


def test_rappor_perturbs_ones_too():
    """A client that sent true bits unchanged would have probability 1 there."""
    law = Rappor(bloom_bits=8, hashes=2, cohorts=2, f="1/2", p="1/4", q="3/4").distribution("red")
    assert len(law) == 2**9
    assert max(law.values()) < Fraction(1, 4)


@pytest.mark.full
def test_rappor_and_sketches_find_frequent_words():
    words = [f"word {i}" for i in range(20)]
    answers = [words[i] for i in range(5) for _ in range(3000 * (5 - i))]
    expected = np.array([3000 * (5 - i) for i in range(5)] + [0] * 15)
    rappor = Rappor(bloom_bits=64, hashes=2, cohorts=16, f="1/4", p="1/8", q="7/8")
    sketches = [
        CountMeanSketch(epsilon=2, functions=64, buckets=512),
        HadamardCountMeanSketch(epsilon=2, functions=64, buckets=512),
    ]
    with reproducible(9):
        plain = rappor.estimate(rappor.perturb_many(answers), words, nonnegative=False)
        assert np.abs((plain.counts - expected) / plain.standard_error).max() < 5
        best = rappor.estimate(rappor.perturb_many(answers), words)
        assert best.counts.min() >= 0
        assert best.method == "non-negative least squares"
        assert np.abs(best.counts - expected).max() < 2500
        for sketch in sketches:
            e = sketch.estimate(sketch.perturb_many(answers), words)
            squares = sum((c / 45_000) ** 2 for c in expected.tolist())
            spread = math.sqrt(sketch.variance(len(answers), squares=squares))
            assert np.abs(e.counts - expected).max() < 5 * spread


RAPPOR = Rappor(bloom_bits=32, hashes=2, cohorts=8, f="1/2", p="1/4", q="3/4")
BARE = Rappor(bloom_bits=32, hashes=2, cohorts=8, f="1/2", p=0, q=1)


def unpacked(reports: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The filter bits and the cohort bits of reports."""
    bits = np.unpackbits(np.array(reports), axis=1, bitorder="little")
    return bits[:, :32], bits[:, 32:35]


def test_a_year_of_rappor_reports_shows_the_kept_row_and_no_more() -> None:
    device = Device(budget=10)
    bits, cohorts = unpacked([device.report(RAPPOR, "red") for _ in range(365)])
    assert len({row.tobytes() for row in bits}) > 300  # every report has noise of its own
    assert len({row.tobytes() for row in cohorts}) == 1  # a device stays in its cohort
    assert device.spent == device.cost(RAPPOR)
    assert float(device.cost(RAPPOR)) == pytest.approx(float(RAPPOR.permanent_epsilon))  # type: ignore[arg-type]
    vote = (bits.mean(axis=0) > 0.5).astype(np.uint8)
    number = cohorts[0] @ (1 << np.arange(3))
    true = RAPPOR.filters(RAPPOR.read(["red"]), np.array([number]))[0]
    assert (vote != true).any()  # true bits without a permanent stage would come out, all 32
    means = bits.mean(axis=0)
    assert np.all(np.abs(means - np.where(vote, 0.75, 0.25)) < 6 * (0.1875 / 365) ** 0.5)


def test_kept_rows_have_exactly_the_law_of_the_permanent_stage() -> None:
    n = 300
    secrets = [Device(budget=10) for _ in range(n)]
    bits, cohorts = unpacked([device.report(BARE, "red") for device in secrets])
    numbers = cohorts @ (1 << np.arange(3))
    true = BARE.filters(np.repeat(BARE.read(["red"]), n), numbers.astype(np.int64))
    for value, share in ((0, 0.25), (1, 0.75)):
        seen = bits[true == value]
        assert abs(seen.mean() - share) < 6 * (share * (1 - share) / seen.size) ** 0.5
    assert np.all(np.abs(np.bincount(numbers, minlength=8) - n / 8) < 6 * (n / 8) ** 0.5)


def test_a_change_of_the_true_answer_keeps_the_cohort_and_is_charged() -> None:
    device = Device(budget=15)  # a new answer costs 4 ln 3 = 4.39
    first, second = (unpacked([device.report(RAPPOR, w)]) for w in ("red", "blue"))
    assert np.array_equal(first[1], second[1])
    assert device.spent == 2 * device.cost(RAPPOR)
    device.report(RAPPOR, "red")
    device.report(RAPPOR, "green")
    assert device.left(RAPPOR) == 0
    with pytest.raises(BudgetError):
        device.report(RAPPOR, "white")
    device.report(RAPPOR, "blue")
    assert device.spent == 3 * device.cost(RAPPOR)


def test_a_held_answer_stands_for_the_period() -> None:
    device = Device(budget=5)
    told = [device.report(BARE, w, period="1", changes="hold").tolist() for w in ("red", "blue")]
    assert told[0] == told[1]
    assert device.spent == device.cost(BARE)
    with pytest.raises(BudgetError):
        device.report(BARE, "red", period="2", changes="hold")


def test_without_a_permanent_stage_the_same_report_is_sent_again() -> None:
    once = Rappor(bloom_bits=32, hashes=2, cohorts=8, f=0, p="1/4", q="3/4")
    device = Device(budget=6)
    told = {device.report(once, "red").tobytes() for _ in range(50)}
    assert len(told) == 1
    assert float(device.spent) == pytest.approx(float(once.epsilon))


@pytest.mark.full
def test_reports_of_devices_are_estimated() -> None:
    words = ["red"] * 1500 + ["blue"] * 500
    reports = np.array([Device(budget=5).report(RAPPOR, word) for word in words])
    found = RAPPOR.estimate(reports, ["red", "blue", "green"], nonnegative=False)
    assert np.all(np.abs(found.counts - [1500, 500, 0]) < 5 * found.standard_error)


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


# Every mechanism on small domains: its whole output distribution, its mean and its variance.


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


# What poisoned reports can do at worst: every possible report is tried, and none does more.


def every_report(oracle: Any) -> np.ndarray[Any, Any]:
    """All reports that the mechanism takes, of a small one."""
    layout = oracle.layout
    if layout.kind == "integer":
        return np.arange(layout.limit, dtype=layout.dtype)
    if layout.kind == "bits":
        rows = np.array(list(product((0, 1), repeat=layout.width)), np.uint8)
        packed = np.packbits(rows, axis=1, bitorder="little")
        return packed[oracle.valid(packed)]
    corners = product((0, layout.limit - 1), repeat=layout.width)  # a linear estimate's extremes
    return np.array(list(corners), layout.dtype)


THREE = DirectEncoding(3, epsilon=1)
COUNTS = {
    "two coins": RandomizedResponse(p="3/4"),
    "direct": DirectEncoding(5, epsilon=1),
    "direct that lies": DirectEncoding(5, p="1/16"),
    "unary": UnaryEncoding(5, epsilon=1),
    "unary reversed": UnaryEncoding(5, p="1/8", q="7/8"),
    "hashing": LocalHashing(5, epsilon=1, buckets=3, seed_bits=8),
    "hadamard": HadamardResponse(5, epsilon=1, blocks=1),
    "hadamard blocks": HadamardResponse(5, epsilon=1, blocks=4),
    "subset": SubsetSelection(6, epsilon=1),
    "summation": SummationHistogram(3, epsilon=4, units=1),
    "two stages": TwoStage(THREE, UnaryEncoding(3, epsilon=1)),
}


@pytest.mark.full
@pytest.mark.parametrize("oracle", COUNTS.values(), ids=COUNTS)
def test_no_report_moves_a_count_further_and_one_does(oracle):
    moves = [
        abs(count)
        for report in every_report(oracle)
        for count in oracle.exact_counts(oracle.aggregate(report[None]))
    ]
    assert max(moves) == oracle.influence
    told = influence(oracle, 7, n=1000)
    assert told.people == 7 * oracle.influence
    assert told.moved == 7 * oracle.influence / 1000


POISONING_MEANS = {
    "duchi": Duchi(-3, 5, epsilon=1),
    "piecewise": Piecewise(-3, 5, epsilon=1, total=20),
    "hybrid": HybridMean(-3, 5, epsilon=2, total=20),
    "laplace": LaplaceMean(-3, 5, epsilon=2, grid=4),
}


@pytest.mark.parametrize("oracle", POISONING_MEANS.values(), ids=POISONING_MEANS)
def test_no_report_in_place_of_another_moves_a_mean_further(oracle):
    stands_for = [oracle.exact_mean(oracle.aggregate(r[None])) for r in every_report(oracle)]
    furthest = max(abs(s - honest) for s in stands_for for honest in (oracle.lower, oracle.upper))
    assert oracle.influence == furthest
    told = influence(oracle, 10, n=500)
    assert told.moved == 10 * furthest / 500
    assert "move the mean" in str(told)
    assert told.noise / 500 == pytest.approx(float(oracle.variance(500)) ** 0.5)
    worst = max(stands_for, key=lambda s: max(s - oracle.lower, oracle.upper - s))
    assert worst in stands_for


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
def test_no_report_moves_a_word_of_a_sketch_further(kind):
    oracle = kind(p="3/4", functions=2, buckets=8)
    words = [f"word {i}" for i in range(60)]
    moves = [oracle.estimate(r[None], words).counts for r in every_report(oracle)]
    assert np.abs(moves).max() == pytest.approx(float(oracle.influence), rel=1e-12)
    assert influence(oracle, 2, n=100).people == 2 * oracle.influence


def test_no_report_moves_a_set_further():
    basket = ORACLES["sets"]
    assert isinstance(basket, PaddedSets)
    moves = [basket.estimate(r[None]).counts for r in every_report(basket)]
    assert np.abs(moves).max() == pytest.approx(float(basket.influence))
    e = basket.estimate(basket.perturb_many([{"milk"}] * 300))
    assert float(basket.variance(300)) == pytest.approx(float(np.asarray(e.base)))
    assert float(basket.variance(300, 1)) == pytest.approx(float(e.base + 300 * e.slope))


def test_attributes_and_keys_tell_each_their_own():
    coins = RandomizedResponse(p="3/4")
    parts = {"a": coins, "b": UnaryEncoding(4, epsilon=1), "c": Duchi(0, 10, p="3/4")}
    split, drawn = AttributeSplitting(parts), AttributeSampling(parts)
    alone = {name: influence(part, 6, n=900) for name, part in parts.items()}
    assert influence(split, 6, n=900) == _named(alone)
    for name, told in influence(drawn, 6, n=900).items():
        third = influence(parts[name], 6, n=300)
        assert told.per_report == 3 * third.per_report
        assert told.noise == pytest.approx(3 * third.noise)
        assert told.moved == third.moved
    keys = KeyValue(["a", "b"], 0, 1, p="1/2")
    told = influence(keys, 5, n=1000)["a"]
    honest = keys.perturb_many([{"a": 1}, {"b": 0}] * 500)
    states = keys.states(honest)
    before = states["a"].sums
    shares = []
    for report in range(3):
        sums = before.copy()
        sums[report] += 1
        have = sum((sums[i] - (sums.sum()) * Fraction(1, 4)) / Fraction(1, 4) for i in (1, 2))
        had = sum((before[i] - (before.sum()) * Fraction(1, 4)) / Fraction(1, 4) for i in (1, 2))
        shares.append(abs(have - had))
    assert told.per_report == 2 * max(shares)


def _named(alone):
    from dataclasses import replace

    return {name: replace(told, mechanism=name) for name, told in alone.items()}


def test_no_report_moves_a_range_further():
    oracle = HierarchicalRanges(32, epsilon=1)
    by_level = influence(oracle, 1, n=300)
    assert {told.per_report for told in by_level.values()} == {
        len(oracle.parts) / part.keep for part in oracle.oracles
    }
    for first, last in ((0, 31), (3, 3), (1, 20), (7, 30)):
        worst = Fraction(0)
        for name, part in oracle.parts:
            places = [p for level, p in oracle._cover(first, last + 1) if level == name]
            for report in range(part.layout.limit):
                counts = part.exact_counts(part.aggregate(np.array([report])))
                worst = max(worst, abs(sum((counts[p] for p in places), Fraction(0))))
        assert oracle.influence_on(first, last) == worst * len(oracle.parts)
    with pytest.raises(UsageError):
        oracle.influence_on(5, 4)


def test_no_report_moves_a_square_wave_further():
    wave = SquareWave(0, 1, epsilon=1, bins=10)
    for edges in (None, [0, 3, 10]):
        moves = [
            wave.estimate(r[None], unbiased=True, edges=edges).counts for r in every_report(wave)
        ]
        assert np.abs(moves).max(axis=0) == pytest.approx(wave.influence_on(edges))
    with pytest.raises(UsageError, match="influence_on"):
        influence(wave, 1, n=10)


def test_no_report_moves_a_candidate_of_rappor_further():
    """Every report of four bits and two cohorts, in place of one whose bits pull nothing."""
    oracle = Rappor(bloom_bits=4, hashes=1, cohorts=2, f="1/2", p="1/4", q="3/4")
    words = ["red", "blue"]
    state = oracle.aggregate(oracle.perturb_many(words * 500))
    _, design, _ = oracle._regression(state, tuple(words))
    solve, found = np.linalg.pinv(design), []
    zero, one = (float(v) for v in oracle.rates)
    for report in every_report(oracle):
        bits = np.unpackbits(report, bitorder="little")[:5]
        added = np.zeros((2, 4))
        added[bits[4]] = (bits[:4] - zero) / (one - zero)
        found.append(solve @ added.ravel())
    assert np.abs(found).max(axis=0) == pytest.approx(oracle.influence_on(state, words))
    with pytest.raises(UsageError, match="influence_on"):
        influence(oracle, 1, n=10)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_tells_its_influence_or_says_where_it_is_told(name):
    oracle = ORACLES[name]
    collector = Collector(oracle)
    answers = CASES[name].answers
    collector.add(oracle.perturb_many([answers[i % len(answers)] for i in range(200)]))
    if name in ("rappor", "square wave"):
        assert hasattr(oracle, "influence_on")
        with pytest.raises(UsageError, match="influence_on"):
            collector.influence(3)
        return
    told = collector.influence(3)
    for one in told.values() if isinstance(told, dict) else [told]:
        assert one.per_report > 0
        assert one.noise > 0
        assert str(one.poisoned) in str(one)


@pytest.mark.few(2)
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("oracle", "answer"),
    [(LaplaceMean(0, 100, epsilon=1, grid=32), 100), (SummationHistogram(9, epsilon=1), 3)],
    ids=["laplace", "summation"],
)
def test_outliers_of_added_noise_are_bounded(oracle, answer):
    honest = oracle.perturb_many([answer] * 3000)
    top = oracle.layout.limit - 1
    poisoned = np.full((5, *honest.shape[1:]), top, oracle.layout.dtype)
    collector = Collector(oracle, outliers="1e-9")
    assert collector.add(np.concatenate([honest, poisoned, 0 * poisoned])) == 3000
    assert collector.refused == {"outlier": 10}
    bounds = honest_bounds(oracle, "1e-9")
    assert 0 < bounds.minimum < bounds.maximum < top
    widest = honest_bounds(oracle, "1e-1")
    kept = widest.hold(honest).mean()
    assert kept >= 0.9 - 5 * (0.09 / 3000) ** 0.5
    if isinstance(oracle, MeanOracle):  # the noise is within t with the chance that was asked for
        law = oracle.distribution(answer)
        above = [float(law[y].middle) for y in range(widest.maximum, oracle.layout.limit)]
        assert sum(above[1:]) <= 0.05 < sum(above)
