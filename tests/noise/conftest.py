"""Bits injected through the one private door, and a test of fit."""

import hashlib
from itertools import count

import numpy as np
import pytest
from scipy import special

from tacit.noise import bits


class Stream:
    """A reproducible generator of bytes, which counts what it gives."""

    def __init__(self, seed):
        self.seed, self.calls, self.requests = seed, count(), []

    def __call__(self, n):
        self.requests.append(n)
        return hashlib.shake_128(b"%d/%d" % (self.seed, next(self.calls))).digest(n)


@pytest.fixture
def stream():
    """Draw from ``stream(seed)`` inside a with block."""
    from contextlib import contextmanager

    @contextmanager
    def inject(seed):
        source = Stream(seed)
        with bits.injected(source):
            yield source

    return inject


@pytest.fixture
def fits():
    """Return the p-value of Pearson's test; cells expected below 5 draws are joined."""

    def p_value(draws, probability, low, high):
        draws = np.asarray(draws)
        inside = draws[(draws >= low) & (draws <= high)].astype(np.int64)
        observed = np.bincount(inside - low, minlength=high - low + 1)
        expected = np.array([float(probability(k)) for k in range(low, high + 1)]) * len(draws)
        rest = len(draws) - len(inside), max(0.0, len(draws) - expected.sum())
        large = expected >= 5
        observed = np.append(observed[large], observed[~large].sum() + rest[0])
        expected = np.append(expected[large], expected[~large].sum() + rest[1])
        expected[-1] = max(expected[-1], 1e-9)
        if expected[-1] < 5:
            observed[-2:-1] += observed[-1:]
            expected[-2:-1] += expected[-1:]
            observed, expected = observed[:-1], expected[:-1]
        statistic = ((observed - expected) ** 2 / expected).sum()
        return float(special.chdtrc(max(1, len(expected) - 1), statistic))

    return p_value
