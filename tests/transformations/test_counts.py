"""Trees of counts: every level counts every value once, and consistent nodes add up."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.core import ChangeOneDistance, Number, Space, SymmetricDistance, Vector
from tacit.errors import MismatchError, UsageError
from tacit.transformations.counts import TreeCounts, consistent_tree, levels_of

COLUMN = Space(Vector(float), SymmetricDistance())


@given(st.lists(st.floats(-2, 9), max_size=12), st.integers(1, 7), st.integers(2, 4))
def test_each_node_is_the_sum_of_its_children_and_the_leaves_are_the_bins(values, bins, b):
    edges = list(range(bins + 1))
    nodes = (COLUMN >> TreeCounts(edges, b))(values).tolist()
    rows, start = [], 0
    for level in range(levels_of(bins, b)):
        rows.append(nodes[start : start + b**level])
        start += b**level
    assert start == len(nodes)
    for upper, lower in itertools.pairwise(rows):
        assert upper == [sum(lower[i : i + b]) for i in range(0, len(lower), b)]
    inside = [sum(low <= v < low + 1 for v in values) for low in range(bins)]
    inside[-1] += sum(v == bins for v in values)  # the last bin holds its upper edge
    assert rows[-1][:bins] == inside
    assert not any(rows[-1][bins:])


@pytest.mark.parametrize("bins", [1, 2, 5, 8])
def test_a_record_moves_one_node_of_each_level(bins):
    edges = range(bins + 1)
    levels = levels_of(bins, 2)
    sized = Space(Vector(float, size=3), ChangeOneDistance())
    for metric, came, changed in (
        ("L1", levels, max(2 * (levels - 1), levels)),
        ("L2", math.sqrt(levels), math.sqrt(max(2 * (levels - 1), levels))),
        ("LInfinity", 1, 1),
    ):
        assert float((COLUMN >> TreeCounts(edges, metric=metric)).map(1)) == pytest.approx(came)
        found = (sized >> TreeCounts(edges, metric=metric)).map(1)
        assert float(found) == pytest.approx(changed)


@given(st.lists(st.floats(-50, 50), min_size=7, max_size=7))
def test_consistent_nodes_add_up_and_are_the_nearest_that_do(noisy):
    found = consistent_tree(2)(noisy)
    assert found[0] == pytest.approx(found[1] + found[2], abs=1e-9)
    assert found[1] == pytest.approx(found[3] + found[4], abs=1e-9)
    leaves = np.array(
        [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4).tolist()]
    )  # each node as a sum of leaves: the least squares of these is the nearest tree
    best = leaves @ np.linalg.lstsq(leaves, np.array(noisy), rcond=None)[0]
    assert found == pytest.approx(best, abs=1e-8)
    assert consistent_tree(2)(found) == pytest.approx(found, abs=1e-8)  # it changes nothing more


@pytest.mark.parametrize(
    "make",
    [
        lambda: TreeCounts([0]),
        lambda: TreeCounts([1, 0]),
        lambda: TreeCounts([0, 1], branching=1),
        lambda: TreeCounts([0, 1], metric="L3"),
        lambda: consistent_tree(1),
        lambda: consistent_tree(2)([1.0, 2.0]),
        lambda: consistent_tree(3)([1.0, 2.0, 3.0]),
    ],
)
def test_what_makes_no_tree_is_refused(make):
    with pytest.raises(UsageError):
        make()
    with pytest.raises(MismatchError):
        Space(Number("int"), tc.AbsoluteDistance()) >> TreeCounts([0, 1])
    with pytest.raises(MismatchError):
        Space(Vector(str), SymmetricDistance()) >> TreeCounts([0, 1])
