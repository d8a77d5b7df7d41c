"""Several attributes of a person at once."""

import math
from collections import Counter

from local.local_laws import reproducible
from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    RandomizedResponse,
    UnaryEncoding,
)

PARTS = {"smokes": RandomizedResponse(p="3/4"), "home": UnaryEncoding(3, p="1/2", q="1/4")}


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
