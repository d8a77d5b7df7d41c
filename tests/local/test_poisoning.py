"""What poisoned reports can do at worst: every possible report is tried, and none does more."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit.errors import UsageError
from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    Collector,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalRanges,
    HybridMean,
    KeyValue,
    LaplaceMean,
    LocalHashing,
    MeanOracle,
    PaddedSets,
    Piecewise,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    TwoStage,
    UnaryEncoding,
    influence,
)
from tacit.local.poisoning import honest_bounds


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


MEANS = {
    "duchi": Duchi(-3, 5, epsilon=1),
    "piecewise": Piecewise(-3, 5, epsilon=1, total=20),
    "hybrid": HybridMean(-3, 5, epsilon=2, total=20),
    "laplace": LaplaceMean(-3, 5, epsilon=2, grid=4),
}


@pytest.mark.parametrize("oracle", MEANS.values(), ids=MEANS)
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
    assert 0 < bounds.least < bounds.most < top
    widest = honest_bounds(oracle, "1e-1")
    kept = widest.hold(honest).mean()
    assert kept >= 0.9 - 5 * (0.09 / 3000) ** 0.5
    if isinstance(oracle, MeanOracle):  # the noise is within t with the chance that was asked for
        law = oracle.distribution(answer)
        above = [float(law[y].middle) for y in range(widest.most, oracle.layout.limit)]
        assert sum(above[1:]) <= 0.05 < sum(above)
