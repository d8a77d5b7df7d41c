"""Reports of subset selection."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from local.local_laws import holds_epsilon, moments, reproducible
from tacit.errors import UsageError
from tacit.local import (
    HadamardResponse,
    SubsetSelection,
)
from tacit.local.frequency.hadamard_response import hadamard_transform


def test_subset_reports_have_no_order():
    """Bits in a row tell no order; each position is as likely whatever the true item is not."""
    oracle = SubsetSelection(8, p="1/2", size=3)
    law = oracle.distribution(5)
    assert len(set(law.values())) == 2
    assert len(law) == 56


# Hadamard response: the transform, the sets of the items, blocks of least variance.


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_matrix_of_signs_and_its_own_inverse_but_for_the_size(size):
    values = np.random.default_rng(size).integers(-99, 99, (3, size))
    signs = np.array([[(-1) ** (r & j).bit_count() for j in range(size)] for r in range(size)])
    found = hadamard_transform(values)
    assert found.tolist() == (values @ signs).tolist()
    assert (hadamard_transform(found) == values * size).all()


@pytest.mark.parametrize(("items", "blocks"), [(3, 1), (5, 2), (7, 4)])
def test_reports_keep_epsilon_and_estimates_are_unbiased_with_the_variance_told(items, blocks):
    oracle = HadamardResponse(items, keep="1/2", blocks=blocks)
    assert holds_epsilon(oracle, range(items)) == 1 + 2 * blocks
    for value, share in ((0, Fraction(1)), (1, Fraction(0))):
        mean, spread = moments(oracle, value, 0)
        same = int(value % blocks == 0)
        assert mean == share
        assert spread == oracle.variance(1, share, same)


@pytest.mark.parametrize(("items", "blocks"), [(2, 1), (3, 1), (4, 1), (16, 4), (1000, 8)])
def test_a_block_has_a_row_for_each_of_its_items_beside_the_first(items, blocks):
    oracle = HadamardResponse(items, keep="1/2", blocks=blocks)
    largest = -(-items // blocks)
    assert largest < oracle.block_size <= 2 * (largest + 1)
    assert oracle.layout.limit == blocks * oracle.block_size
    reports = oracle.perturb_many(np.arange(items))
    assert int(reports.max()) < oracle.layout.limit


def test_more_blocks_serve_larger_epsilon():
    chosen = [HadamardResponse(1000, epsilon=e).blocks for e in ("1/2", 1, 3, 6)]
    assert chosen == sorted(chosen)
    assert (chosen[0], chosen[-1] > 8) == (1, True)
    own = HadamardResponse(1000, epsilon=3)
    others = [HadamardResponse(1000, epsilon=3, blocks=1 << i) for i in range(9)]
    assert own.variance(1) == min(o.variance(1) for o in others)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"epsilon": 1, "keep": "1/2"},
        {"keep": 1},
        {"keep": 0},
        {"keep": "1/2", "blocks": 3},
        {"keep": "1/2", "blocks": 16},
        {"keep": "1/2", "blocks": 0},
    ],
)
def test_what_cannot_be_is_refused(parameters):
    with pytest.raises(UsageError):
        HadamardResponse(9, **parameters)
    with pytest.raises(UsageError, match="CountMeanSketch"):
        HadamardResponse((1 << 24) + 1, epsilon=1)


def test_counts_are_found_again():
    oracle = HadamardResponse(20, epsilon=3)
    with reproducible(2):
        found = oracle.estimate(oracle.perturb_many(np.arange(20_000) % 4))
    real = np.where(np.arange(20) < 4, 5000, 0)
    assert np.abs((found.counts - real) / found.standard_error).max() < 5
