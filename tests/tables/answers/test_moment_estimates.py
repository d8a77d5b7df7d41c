"""What noisy sums say of one group does not depend on how many groups there are."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.tables.answers.moments import Moments
from tacit.tables.noise import NoiseLaw


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("degree", [1, 2])
def test_a_mean_and_its_interval_have_the_same_bits_for_one_group_and_for_many(kind, degree):
    draw = np.random.default_rng(degree)
    sizes = draw.choice([0.0, 1.0, 3.0, 40.0, 1e4, 1e9], (300, 1))
    noisy = np.rint(draw.random((300, degree + 1)) * sizes + draw.normal(0, 9, (300, degree + 1)))
    law = NoiseLaw(kind, 5.0, 1.0)
    together = Moments(noisy, law, -3.0, 7.0, degree, missing=False).mean()
    for group, row in enumerate(noisy):
        alone = Moments(row[None], law, -3.0, 7.0, degree, missing=False).mean()
        for part in ("value", "standard_error", "lower", "upper"):
            assert getattr(alone, part)[0] == getattr(together, part)[group], (row, part)
    assert (together.upper - together.lower < 10).sum() > 10  # some are narrower than the bounds
