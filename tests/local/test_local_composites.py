"""Mechanisms made of others: attributes, keys and values, sets, ranges, heavy hitters."""

import json
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
