"""Matches of hashed reports are counted as the hash says."""

import numpy as np
import pytest

from tacit.local.hashing import bucket, count_matches


@pytest.mark.parametrize("g", [2, 4, 7, 4096])
@pytest.mark.parametrize(
    ("n", "items"), [(0, 5), (1, 1), (2, 300), (1007, 129), (1008, 2), (1009, 129), (4100, 65)]
)
def test_matches_are_counted_as_the_hash_says(g, n, items):
    generator = np.random.default_rng(n + g)
    seeds, sent = generator.integers(0, 2**32, n, np.uint32), generator.integers(0, g, n)
    plain = [
        int(np.count_nonzero(bucket(seeds, np.full(n, item, np.uint32), g) == sent))
        for item in range(items)
    ]
    assert count_matches(seeds, sent.astype(np.uint32), g, items).tolist() == plain
