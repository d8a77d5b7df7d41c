"""An interval that was cut at zero is stretched to hold its value, and never shrinks."""

import numpy as np

from tacit.tables.noise import Estimate


def test_intervals_hold_their_values():
    value, error = np.array([-2.0, 5.0, 9.0]), np.ones(3)
    cut = Estimate(value, error, np.array([0.0, 4.0, 8.0]), np.array([3.0, 6.0, 8.5]))
    made = cut.coherent()
    assert made.lower.tolist() == [-2.0, 4.0, 8.0]
    assert made.upper.tolist() == [3.0, 6.0, 9.0]
    assert made.value is value
    assert made.standard_error is error
    assert (made.lower <= cut.lower).all()
    assert (made.upper >= cut.upper).all()
