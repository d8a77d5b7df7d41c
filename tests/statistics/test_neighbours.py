"""Neighbours and parts of a release are complete."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.statistics.search import evaluations, neighbours_of, parts


@examples(2)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_parts_and_neighbours_are_complete(held: list[int], data: Any) -> None:
    size = data.draw(st.integers(0, sum(held)))
    found = [tuple(row) for row in parts(np.array(held), size).tolist()]
    box = np.stack(np.unravel_index(range(np.prod([h + 1 for h in held])), [h + 1 for h in held]))
    truth = {tuple(row) for row in box.T.tolist() if sum(row) == size}
    assert len(found) == len(truth) == evaluations(held, size)
    assert set(found) == truth
    free = data.draw(st.lists(st.integers(0, 2), min_size=len(held), max_size=len(held)))
    k = data.draw(st.integers(1, 2))
    near = {tuple(r) for r in neighbours_of(np.array(held), np.array(free), [(k, k)]).tolist()}
    people = [(v, i) for v, h in enumerate(held) for i in range(h)]
    others = [(v, i + 100) for v, f in enumerate(free) for i in range(f)]
    from itertools import combinations

    expected = set()
    for gone in combinations(people, k):
        for come in combinations(others, k):
            count = Counter(v for v, _ in [*(set(people) - set(gone)), *come])
            expected.add(tuple(count[v] for v in range(len(held))))
    assert near == expected
