"""A test of fit."""

import numpy as np
import pytest
from scipy import special


@pytest.fixture
def chi_square():
    """Return the p-value of Pearson's test; cells expected below 5 are joined."""

    def p_value(observed, expected):
        observed, expected = np.array(observed, float), np.array(expected, float)
        small = expected < 5
        if small.any():
            observed = np.append(observed[~small], observed[small].sum())
            expected = np.append(expected[~small], expected[small].sum())
        statistic = ((observed - expected) ** 2 / np.maximum(expected, 1e-12)).sum()
        return float(special.chdtrc(max(1, len(expected) - 1), statistic))

    return p_value
