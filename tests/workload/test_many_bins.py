"""More bins than are optimised one by one: blocks of them, near the optimum and on both sides."""

import numpy as np
import pytest

import tacit as tc
import tacit.workload.strategies as room
from tacit.errors import UsageError
from tacit.workload import range_strategies as ordered
from tacit.workload.cells import Workload, prefix_sums, ranges
from tacit.workload.range_strategies import best_strategy
from tacit.workload.strategies import block_tree, identity, p_identity, wavelet


def test_sums_of_blocks_have_the_error_that_is_descended():
    """The value and its gradient are those of the whole matrix, by finite differences."""
    error = room.__dict__["_error"]
    rng = np.random.default_rng(3)
    block = np.array([0, 0, 1, 1, 1, 2, 3])
    gram = np.cov(rng.normal(size=(7, 20)))
    starts = np.searchsorted(block, np.arange(4))
    sums = np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)
    diagonal = np.add.reduceat(np.diag(gram), starts)
    asked = room.__dict__["_Blocks"](sums, diagonal, np.bincount(block).astype(float))
    weights = rng.random((2, 4))

    def whole(weights):
        wide = weights[:, block]
        matrix = np.vstack([np.eye(7), wide]) / (1 + wide.sum(axis=0))
        return float(np.trace(gram @ np.linalg.inv(matrix.T @ matrix)))

    value, slope = error(weights, asked)
    assert value == pytest.approx(whole(weights), rel=1e-9)
    for place in np.ndindex(weights.shape):
        step = np.zeros_like(weights)
        step[place] = 1e-6
        found = (whole(weights + step) - whole(weights - step)) / 2e-6
        assert slope[place] == pytest.approx(found, rel=1e-4, abs=1e-6)
    found = p_identity(gram, 2, block)
    assert np.allclose(found.sum(axis=0), 1)
    inside = found[7:] / np.diag(found[:7])
    assert np.allclose(inside[:, 0], inside[:, 1])


@pytest.mark.full
@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("asked", [ranges, prefix_sums], ids=["ranges", "prefix sums"])
def test_the_error_does_not_leap_where_blocks_begin(asked, norm, monkeypatch):
    """As from 256 bins on, here from 48 on: no simple strategy is better, and no leap is wide."""
    monkeypatch.setattr(ordered, "_OPTIMISED", 48)
    errors = {}
    for bins in (48, 49, 60, 96):
        work: Workload = asked(bins)
        found = best_strategy(work.gram, norm)
        errors[bins] = (work.total(found) / work.size) ** 0.5
        simple = [identity(bins, norm), wavelet(bins, norm)]
        simple += [block_tree(bins, wide, norm) for wide in (2, 4, 16)]
        assert work.total(found) <= min(map(work.total, simple)) * (1 + 1e-6)
    assert errors[48] * 0.99 < errors[49] < errors[48] * 1.1
    assert errors[49] < errors[60] * 1.02 < errors[96] * 1.04


def test_more_than_fit_are_refused_with_their_size():
    with pytest.raises(UsageError, match=r"1,025 bins of a column take matrices of 8 MB"):
        tc.prefix_sums("age", range(1026))
    with pytest.raises(UsageError, match=r"724 bins have 262,450 ranges"):
        tc.ranges("age", range(725))
    assert len(tc.ranges("age", range(724)).edges) == 724
