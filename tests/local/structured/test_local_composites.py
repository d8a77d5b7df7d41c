"""Mechanisms made of others: attributes, keys and values, sets, ranges, heavy hitters."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from local.local_laws import holds_epsilon, key, reproducible
from tacit.errors import UsageError
from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    DirectEncoding,
    HierarchicalRanges,
    Items,
    KeyValue,
    PaddedSets,
    PrefixExtending,
    RandomizedResponse,
    UnaryEncoding,
    oracle_from,
)

PARTS = {"smokes": RandomizedResponse(p="3/4"), "home": UnaryEncoding(3, p="1/2", q="1/4")}
PEOPLE = [(False, 0), (True, 2), {"smokes": True, "home": 1}]
GOODS = Items(["milk", "bread", "tea"], other="nothing")
BASKETS = [set(), {"milk"}, {"milk", "tea"}, {"milk", "bread", "tea"}, ["tea", "salt", None]]
CASES = {
    "splitting": (AttributeSplitting(PARTS), PEOPLE, True),
    "sampling": (AttributeSampling(PARTS), PEOPLE, True),
    "key-value": (
        KeyValue(["a", "b", "c"], 0, 1, epsilon=1),
        [{}, {"a": 1}, {"a": 0, "b": 0.3}],
        True,
    ),
    "sets": (PaddedSets(DirectEncoding(GOODS, epsilon=1), 2), BASKETS, False),
    "sets of one": (PaddedSets(DirectEncoding(GOODS, epsilon=1), 1), BASKETS[:2], True),
    "ranges": (HierarchicalRanges(16, epsilon=1), [0, 7, 15], True),
    "prefixes": (
        PrefixExtending(4, epsilon=1, step=2, functions=2, buckets=8),
        [0, 5, 9, 15, None],
        True,
    ),
}


@pytest.mark.parametrize(("oracle", "people", "tight"), CASES.values(), ids=CASES)
def test_the_whole_distribution_keeps_epsilon(oracle, people, tight):
    holds_epsilon(oracle, people, tight=tight)


@pytest.mark.few(6)
@pytest.mark.parametrize(("oracle", "people", "tight"), CASES.values(), ids=CASES)
def test_draws_have_the_listed_distribution(oracle, people, tight, chi_square):
    n = 5000
    for person in people:
        with reproducible(21):
            reports = oracle.perturb_many([person] * n)
        assert oracle.valid(reports).all()
        law = oracle.distribution(person)
        seen = Counter(key(report) for report in reports)
        assert set(seen) <= set(law)
        assert chi_square([seen[y] for y in law], [float(p) * n for p in law.values()]) > 1e-5


@pytest.mark.parametrize(("oracle", "people", "tight"), CASES.values(), ids=CASES)
def test_descriptions_and_states(oracle, people, tight):
    again = oracle_from(json.loads(json.dumps(oracle.describe())))
    assert again.fingerprint == oracle.fingerprint
    assert again == oracle
    reports = oracle.perturb_many(people * 20)
    parts = oracle.aggregate(reports[:7]) + oracle.aggregate(reports[7:])
    assert parts == again.aggregate(reports)
    assert parts.n == len(reports)


def test_impossible_composite_reports_are_refused():
    sampling = AttributeSampling(PARTS)
    assert sampling.layout.width == 4
    rows = np.arange(16, dtype=np.uint8)[:, None]
    expected = [y >> 3 == 1 or y < 2 for y in range(16)]  # one bit for the first attribute
    assert sampling.valid(rows).tolist() == expected
    with pytest.raises(UsageError):
        sampling.aggregate(rows)
    with pytest.raises(UsageError):
        AttributeSampling({"one": PARTS["home"]})
    with pytest.raises(UsageError):
        sampling.perturb((True,))


def test_attributes_are_estimated():
    n = 20_000
    people = [(i % 4 == 0, i % 3 if i % 2 else 0) for i in range(n)]
    for kind in (AttributeSplitting, AttributeSampling):
        oracle = kind(PARTS)
        with reproducible(22):
            found = oracle.estimate(oracle.perturb_many(people))
        for j, (name, e) in enumerate(found.items()):
            true = Counter(person[j] for person in people)
            for item, share in zip(e.items, e.frequencies, strict=True):
                spread = math.sqrt(e.base + e.slope * e.counts.max() + e.n / 4) / e.n
                assert abs(share - true[item] / n) < 5 * spread, (name, item)


@pytest.mark.full
def test_keys_and_values_are_estimated():
    oracle = KeyValue(["film", "book"], 1, 5, epsilon=2)
    people = [{"film": 5}, {"film": 2, "book": 4}, {}, {"film": 2, "book": 99}] * 10_000
    with reproducible(23):
        found = oracle.estimate(oracle.perturb_many(people))
    assert found["film"].frequency == pytest.approx(0.75, abs=0.03)
    assert found["book"].frequency == pytest.approx(0.5, abs=0.03)
    assert found["film"].mean == pytest.approx(3, abs=0.15)
    assert found["book"].mean == pytest.approx(4.5, abs=0.2)


@pytest.mark.full
def test_sets_are_estimated_within_their_errors():
    oracle = PaddedSets(UnaryEncoding(GOODS, epsilon=2), 2)
    people = [{"milk", "tea"}, {"milk"}, set(), {"bread", "milk"}] * 1000
    true = np.array([3000, 1000, 1000])
    with reproducible(24):
        runs = [oracle.estimate(oracle.perturb_many(people)) for _ in range(40)]
    z = np.array([(e.counts[:3] - true) / e.standard_error[:3] for e in runs])
    assert np.abs(z.mean(axis=0)).max() < 5 / math.sqrt(40)
    assert 0.8 < z.std() < 1.2


def test_ranges_are_sums_of_few_intervals():
    oracle = HierarchicalRanges(100, epsilon=2, branching=3)
    for low in range(0, 100, 7):
        for high in range(low + 1, 101, 3):
            leaves = []
            for level, place in oracle._cover(low, high):
                step = 3 ** int(level)
                leaves += range(place * step, min((place + 1) * step, 100))
            assert sorted(leaves) == list(range(low, high))
    values = [i % 50 for i in range(40_000)]
    with reproducible(25):
        state = oracle.aggregate(oracle.perturb_many(values))
    assert oracle.share(state, 0, 24) == pytest.approx(0.5, abs=0.08)
    assert oracle.share(state, 50, 99) == pytest.approx(0, abs=0.08)
    with pytest.raises(UsageError):
        oracle.share(state, 3, 2)


@pytest.mark.full
def test_heavy_hitters_of_a_large_domain_are_found():
    oracle = PrefixExtending(32, epsilon=4, step=8)
    heavy = [0xCAFEBABE, 0xDEADBEEF, 7]
    people = [h for i, h in enumerate(heavy) for _ in range(6000 - 1000 * i)]
    people += [(i * 2654435761) % 2**32 for i in range(5000)]
    with reproducible(26):
        state = oracle.aggregate(oracle.perturb_many([*people, None, "x", 2**40]))
    assert set(oracle.heaviest(state, 3).items) == set(heavy)
    with pytest.raises(UsageError):
        oracle.estimate(state)
