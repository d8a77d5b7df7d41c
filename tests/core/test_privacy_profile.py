"""The curve of delta over epsilon is the sum of the positive parts."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS
from tacit.arithmetic.enclosure import exp
from tacit.core.divergences import Curve


@given(st.lists(st.tuples(st.fractions(0, 1), st.fractions(0, 1)), max_size=5))
def test_the_curve_is_the_sum_of_positive_parts(masses):
    curve = Curve.of(masses)
    for level in LEVELS:
        factor = exp(level, 96)
        direct = sum((max(p - factor.upper * q, Fraction(0)) for p, q in masses), Fraction(0))
        assert curve.delta(level).lower == direct
