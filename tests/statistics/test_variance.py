"""The variance with one degree of freedom lost."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.statistics import Sample
from tacit.statistics.variances import StandardDeviation, Variance


def test_ddof_one_is_the_unbiased_variance() -> None:
    found = tc.sensitivity(tc.var(ddof=1), over=tc.Records([0, 1, 5], size=2), relation="bounded")
    x, y = (np.array(side, dtype=float) for side in found.witness)
    assert float(found) == abs(x.var(ddof=1) - y.var(ddof=1)) == 12


def test_numpy_agrees_on_the_values():
    rows = np.random.default_rng(2).normal(size=(5, 7))
    for ddof in (0, 1):
        assert np.allclose(Variance(ddof).batch(rows), rows.var(axis=1, ddof=ddof))
        assert np.allclose(StandardDeviation(ddof).batch(rows), rows.std(axis=1, ddof=ddof))
        exact = Variance(ddof).of(Sample(rows[0]))
        assert float(exact) == pytest.approx(rows[0].var(ddof=ddof), rel=1e-14)
    assert np.isnan(Variance(1).batch(rows[:, :1])).all()
