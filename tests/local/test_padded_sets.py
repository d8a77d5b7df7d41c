"""Sets of items, padded to one length."""

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.local import (
    Items,
    PaddedSets,
    UnaryEncoding,
)

GOODS = Items(["milk", "bread", "tea"], other="nothing")


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
