"""Exponentials and logarithms in fixed point enclose the truth, by a few units."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.high_precision import precisely
from support.examples import examples
from tacit.arithmetic.enclosure import (
    exp_minus,
    exp_scaled,
    log_two,
    log_unit,
    pi,
    pi_fixed,
)

fractions = st.fractions(min_value=Fraction(1, 10**9), max_value=300, max_denominator=10**12)


@given(fractions, st.integers(4, 300))
@examples(1.5)
def test_exp_minus_is_absolute(x, bits):
    low, high = exp_minus(x, bits)
    truth = precisely(mpmath.exp, -x, 1500) * 2**bits
    assert 0 <= low <= truth <= high <= low + 4


@pytest.mark.parametrize("bits", [1, 2, 7, 64, 333, 5000])
def test_constants(bits):
    for (low, high), constant in ((log_two(bits), mpmath.ln2), (pi_fixed(bits), mpmath.pi)):
        truth = precisely(lambda _, c=constant: +c, Fraction(1), bits + 100) * 2**bits
        assert low <= truth <= high <= low + 3
    assert pi(bits).width <= Fraction(1, 2**bits)


def test_exp_scaled_holds_far_out():
    for x in (10**6, -(10**6)):
        low, high, k = exp_scaled(x, 1, 64)
        with mpmath.workprec(300):
            truth = mpmath.exp(x) * mpmath.mpf(2) ** (64 - k)
            assert low <= truth <= high <= low + 8


def test_log_unit_ends():
    assert log_unit(1, 1, 30) == (0, log_unit(1, 1, 30)[1])
    low, high = log_unit(2, 1, 100)
    assert low <= log_two(100)[1]
    assert high >= log_two(100)[0]
    assert high - low <= 3
