"""Bernoulli draws: frequencies, certain outcomes, ties, and the bits asked for."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit.noise as tn
from tacit.errors import UsageError
from tacit.noise import bits


def z_score(draws, p):
    n = len(draws)
    return (np.sum(draws) - n * float(p)) / (n * float(p) * (1 - float(p))) ** 0.5


@pytest.mark.parametrize("p", ["1/3", 0.5, "0.9999", Fraction(1, 1024), Fraction(3, 7)])
@pytest.mark.parametrize("n", [900, 300_000])
def test_bernoulli_frequency(stream, p, n):
    with stream(31):
        found = tn.bernoulli(p, size=n)
    assert found.dtype == bool
    assert abs(z_score(found, Fraction(p))) < 4


@pytest.mark.parametrize("x", ["1/1000", 1, "7/3", 5])
def test_bernoulli_exp_frequency(stream, x):
    with stream(32):
        found = tn.bernoulli_exp(x, size=(100, 3000))
    assert found.shape == (100, 3000)
    assert abs(z_score(found.ravel(), mpmath.exp(-mpmath.mpf(float(Fraction(x)))))) < 4


def test_certain_outcomes():
    for size in (None, 5, 5000):
        assert np.all(tn.bernoulli(1, size=size))
        assert not np.any(tn.bernoulli(0, size=size))
        assert np.all(tn.bernoulli_exp(0, size=size))
        assert not np.any(tn.bernoulli_exp(10**9, size=size))
    assert type(tn.bernoulli("1/2")) is bool


@given(st.fractions(0, 1), st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_bernoulli_is_the_comparison_with_p(p, word):
    """A word w and zeros after it are the uniform w / 2**64."""
    feed = iter([word.to_bytes(8, "little")])
    with bits.injected(lambda n: next(feed, bytes(n))):
        assert tn.bernoulli(p) == (Fraction(word, 1 << 64) < p)


def test_byte_ties(stream):
    """With every byte at the threshold, the frequency is that of the words that follow."""
    p = Fraction(1, 3)
    with stream(33) as source:
        feed = lambda n: b"\x55" * n if n == 50_000 else source(n)  # noqa: E731
        with bits.injected(feed):
            found = tn.bernoulli(p, size=50_000)
    assert abs(z_score(found, p * 256 - 85)) < 4


def test_bulk_bernoulli_asks_for_the_same_bits(stream):
    asked = set()
    for seed in range(6):
        with stream(seed) as source:
            tn.bernoulli("0.3", size=100_000)
        asked.add(sum(source.requests))
    assert len(asked) == 1


@pytest.mark.parametrize("p", [-0.1, 1.0001, float("nan"), "x", None])
def test_bad_probability(p):
    with pytest.raises(UsageError, match="p must"):
        tn.bernoulli(p)


@pytest.mark.parametrize("x", [-1, float("nan"), float("inf"), "x"])
def test_bad_exponent(x):
    with pytest.raises(UsageError, match="x must"):
        tn.bernoulli_exp(x)
