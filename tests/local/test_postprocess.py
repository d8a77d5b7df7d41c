"""What is done to estimates afterwards is asked for and labelled."""

import numpy as np
import pytest

from tacit.errors import RefusedError
from tacit.local import (
    Estimate,
    UnaryEncoding,
    nonnegative,
    norm_sub,
    normalised,
    simplex,
)


def test_postprocessing_is_asked_for_and_labelled():
    e = UnaryEncoding(6, epsilon="1/4").estimate(UnaryEncoding(6, epsilon="1/4").empty())
    e = Estimate(e.items, 100, np.array([90.0, -20, 30, -5, 2, 1]), 10.0)
    for function in (nonnegative, norm_sub, normalised, simplex):
        done = function(e)
        assert done.method != "unbiased"
        with pytest.raises(RefusedError, match="biased"):
            done.interval()
        with pytest.raises(RefusedError):
            _ = done.standard_error
    for function in (norm_sub, simplex, normalised):
        assert function(e).counts.sum() == pytest.approx(100)
    assert norm_sub(e).counts == pytest.approx(simplex(e).counts)
    assert norm_sub(e).counts.min() >= 0
