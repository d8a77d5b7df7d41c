"""Uniform draws below any bound."""

from fractions import Fraction

import numpy as np
import pytest

import tacit.noise as tn
from tacit.errors import UsageError
from tacit.noise import bits


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 1000])
def test_uniform_frequency(stream, fits, n):
    with stream(34):
        found = tn.uniform(n, size=100_000)
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert found.max() < n
    if n > 1:
        assert fits(found, lambda _: Fraction(1, n), 0, n - 1) > 1e-3


@pytest.mark.parametrize("n", [2**63, 2**63 - 1, 2**62 + 1, 2**64, 2**100 + 1])
def test_uniform_of_large_bounds(stream, n):
    with stream(35):
        found = tn.uniform(n, size=2000)
        one = tn.uniform(n)
    assert found.dtype == (np.int64 if n <= 2**63 else object)
    assert all(0 <= int(x) < n for x in [one, *found])
    assert abs(sum(int(x) for x in found) / 2000 / n - 0.5) < 0.03


def test_uniform_refuses_the_words_that_do_not_fit():
    feed = iter([b"\x07", b"\x06", b"\x05"])
    with bits.injected(lambda n: bytes([next(feed)[0] << 5])):
        assert tn.uniform(6) == 5


@pytest.mark.parametrize("n", [0, -3, 1.5, "6", None])
def test_bad_bound(n):
    with pytest.raises(UsageError, match="n must"):
        tn.uniform(n)
