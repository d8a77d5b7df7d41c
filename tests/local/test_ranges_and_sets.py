"""Heavy hitters: found in a large domain, with intervals that hold although they were chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.errors import UsageError
from tacit.local import (
    PrefixExtending,
)


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
