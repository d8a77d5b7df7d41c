"""Sums on one lattice: asked one by one and together."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.lattice import Listed
from tacit.core.losses.sampling import SampledLoss
from tacit.core.losses.tilted_sum import LatticeSums, ends, ends_weigh


@pytest.mark.full
def test_several_epsilons_at_once_are_enclosed_as_one_by_one():
    base = GaussianShift(Fraction(4000), 4000)
    whole = SampledLoss(base, base, Fraction(1, 10), adding=False).self_compose(40)
    levels = [Fraction(n, 4) for n in range(0, 24, 3)]
    together = whole.deltas(levels)
    for level, found in zip(levels, together, strict=True):
        alone = whole.delta(level)
        assert found.lower <= alone.upper
        assert alone.lower <= found.upper
        assert found.width <= found.upper / 20


def test_ends_and_what_they_weigh():
    one = np.ones(1)
    low, high = np.array([-1.0, 1.0]), np.array([-1.0, 2.0])
    sharp = Listed(low, high, np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    assert ends(sharp).max() == 2
    assert ends_weigh(sharp)
    assert not ends_weigh(Listed(one, one, one * 1e-9, one))
    sums = LatticeSums([(sharp, 3)], 0.5, [0.0])
    assert not sums.dusty
    (found,) = sums.log_deltas([(0.0, 0.0)])
    assert found[0] <= found[1] <= 0
