"""Square roots of rationals, and the gap of two of them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.arithmetic.roots_and_bisection import Root, gap, sqrt_up

SETTINGS = examples(1.5)


@SETTINGS
@given(st.fractions(0, 99), st.fractions(0, 99))
def test_a_gap_of_roots_is_never_below_the_truth(a: Fraction, b: Fraction) -> None:
    found = gap(Root(a), Root(b))
    for value, bits in ((Fraction(found), 300),):
        low_a, high_a = Root(a).enclose(bits)
        low_b, high_b = Root(b).enclose(bits)
        upper, lower = max(high_a - low_b, high_b - low_a), max(low_a - high_b, low_b - high_a)
        assert value >= lower
        assert value <= upper * (1 + Fraction(1, 2**50))
    assert (found == 0) == (a == b)
    assert (Root(a) < Root(b)) == (a < b)
    assert Root(a * a) == a
    assert hash(Root(a * a)) == hash(a)


@given(st.integers(0, 10**30), st.integers(1, 10**30))
def test_roots_are_rounded_up(top, bottom):
    value = Fraction(top, bottom)
    root = sqrt_up(value)
    assert root**2 >= value
    assert (root - Fraction(1, 2**63)) ** 2 <= value or root < Fraction(1, 2**63)
