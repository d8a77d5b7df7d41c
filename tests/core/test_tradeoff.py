"""The trade-off curve is that of the best test between two laws."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import pairs
from tacit.core import Tradeoff


@given(pairs(), st.fractions(0, 1))
def test_the_tradeoff_is_the_best_test(pair, alpha):
    """Against the linear program's vertices: thresholds on the ratio, mixed two at a time."""
    p, q = pair
    curve = Tradeoff.of(p, q)
    outcomes = sorted({*p, *q}, key=lambda x: -(q.get(x, 0) / p[x]) if p.get(x) else -math.inf)
    left, beta = alpha, Fraction(1)
    for x in outcomes:
        a, b = p.get(x, Fraction(0)), q.get(x, Fraction(0))
        share = Fraction(1) if a <= left else left / a
        left, beta = left - share * a, beta - share * b
    assert curve(alpha).lower == curve(alpha).upper == beta
