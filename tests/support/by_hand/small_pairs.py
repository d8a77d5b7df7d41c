"""Pairs of small distributions in exact shares, for the tests of privacy losses."""

from fractions import Fraction

from hypothesis import strategies as st

LEVELS = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)]


def distribution(weights):
    total = sum(weights)
    return {i: Fraction(w, total) for i, w in enumerate(weights) if w}


@st.composite
def pairs(draw):
    n = draw(st.integers(2, 4))
    sides = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n).filter(any))
        sides.append(distribution(weights))
    return tuple(sides)
