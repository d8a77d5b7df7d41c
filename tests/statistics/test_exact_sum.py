"""Sums of floats are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.statistics.samples import exact_float_sum

finite = st.floats(allow_nan=False, allow_infinity=False)


SETTINGS = examples(1.5)


@SETTINGS
@given(st.lists(finite, max_size=60))
def test_float_sums_are_exact(values: list[float]) -> None:
    assert exact_float_sum(np.array(values)) == sum(map(Fraction, values))


def test_long_float_sums_are_exact() -> None:
    values = np.random.default_rng(5).lognormal(0, 30, 70_001)
    values[::3] *= -1
    assert exact_float_sum(values) == sum(map(Fraction, values.tolist()))
