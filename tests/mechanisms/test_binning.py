"""Bins of records: drawn with the law that is enumerated, whatever the records are."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import UsageError
from tacit.mechanisms import sample_and_aggregate as room
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate

HIGH, SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


def ways(n, bins):
    """Every order of n records and every way to bin them, as the ordered contents."""
    for order in itertools.permutations(range(n)):
        for places in itertools.product(range(bins), repeat=n):
            yield tuple(
                tuple(r for r, place in zip(order, places, strict=True) if place == b)
                for b in range(bins)
            )


@pytest.mark.parametrize(("n", "bins"), [(1, 2), (2, 3), (3, 2), (4, 2), (3, 3)])
def test_striking_a_record_out_leaves_the_law_of_the_others(n, bins):
    """The coupling: draw for n, strike the last record; at most one bin differs, law of n - 1."""
    struck = Counter()
    for contents in ways(n, bins):
        rest = tuple(tuple(r for r in part if r != n - 1) for part in contents)
        assert sum(a != b for a, b in zip(contents, rest, strict=True)) == 1
        struck[rest] += 1
    plain = Counter(ways(n - 1, bins))
    times = Fraction(sum(struck.values()), sum(plain.values()))
    assert struck == {contents: times * count for contents, count in plain.items()}


def test_bins_are_drawn_with_the_law_that_is_enumerated():
    expected = Counter(ways(3, 2))
    runs = 6000
    seen = Counter()
    for _ in range(runs):
        order, edges = room.assignment(3, 2)
        seen[tuple(tuple(order[a:b].tolist()) for a, b in itertools.pairwise(edges.tolist()))] += 1
    assert set(seen) <= set(expected)
    total = sum(expected.values())
    square = sum(
        (seen[c] - runs * e / total) ** 2 / (runs * e / total) for c, e in expected.items()
    )
    assert square < 2 * len(expected) + 10 * math.sqrt(2 * len(expected))


def test_ties_are_put_in_any_order_alike():
    seen = Counter()
    for _ in range(3000):
        order = np.arange(5)
        room._break_ties(order, np.array([1, 4, 4, 4, 9], dtype=np.uint64))
        assert (order[0], order[4]) == (0, 4)
        seen[tuple(order[1:4].tolist())] += 1
    assert len(seen) == 6
    assert all(abs(count - 500) < 130 for count in seen.values())


def test_all_records_are_in_one_bin_each():
    for n, bins in [(0, 3), (1, 1), (5, 1), (7, 3), (100, 1 << 20)]:
        order, edges = room.assignment(n, bins)
        assert sorted(order.tolist()) == list(range(n))
        assert len(edges) == bins + 1
        assert (edges[0], edges[-1]) == (0, n)


def test_data_of_every_kind_are_binned():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    columns = {"x": list(range(10)), "y": [v / 2 for v in range(10)]}
    kinds = {
        "list": (list(range(10)), lambda part: sum(part)),
        "array": (np.arange(20).reshape(10, 2), lambda part: part[:, 0].sum() / 2),
        "columns": ({k: np.array(v) for k, v in columns.items()}, lambda part: part["x"].sum()),
        "pandas": (pandas.DataFrame(columns), lambda part: part["x"].sum()),
        "polars": (polars.DataFrame(columns), lambda part: part["x"].sum()),
        "arrow": (arrow.table(columns), lambda part: sum(part["x"].to_pylist())),
    }
    for name, (data, function) in kinds.items():
        m = sample_and_aggregate(function, 3, (0, 60), SURE, default=0, grid=1)
        assert 3 * m(data) == pytest.approx(45, abs=0.01), name


@pytest.mark.parametrize("data", ["text", 5, {"x": [1], "y": [1, 2]}, {}])
def test_what_is_no_data_set_is_refused(data):
    with pytest.raises(UsageError, match=r"records|columns"):
        sample_and_aggregate(np.mean, 5, (0, 10), 1)(data)


def test_too_many_ways_are_refused():
    with pytest.raises(UsageError, match="ways"):
        sample_and_aggregate(np.mean, 5, (0, 10), 1).distribution(list(range(9)))
    with pytest.raises(UsageError, match="one number"):
        sample_and_aggregate(np.mean, 5, [(0, 10), (0, 1)], 1).distribution([1])
