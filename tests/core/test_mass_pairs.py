"""Ratios and excesses of enclosed masses against their definition, in exact rationals."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.enclosure import Enclosure
from tacit.core.divergences import Pair, excess, largest_ratio

ENDS = st.tuples(*[st.fractions(0, 1, max_denominator=12)] * 2).map(sorted)
MASSES = st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=5)


def pairs_of(masses: list[tuple[list[Fraction], list[Fraction]]]) -> list[Pair]:
    return [(Enclosure(*p), Enclosure(*q)) for p, q in masses]


@given(MASSES)
def test_every_ratio_that_the_masses_leave_open_lies_between_the_ends(masses):
    found = largest_ratio(pairs_of(masses))
    least = [p[0] / q[1] for p, q in masses if q[1]]
    assert found.lower == max([Fraction(0), *least])
    if found.place is not None:
        p, q = masses[found.place]
        assert p[0] / q[1] == found.lower
    impossible = [i for i, (p, q) in enumerate(masses) if p[0] > 0 and q[1] == 0]
    assert found.impossible == (impossible[0] if impossible else None)
    assert found.unsure == any(p[1] > 0 and q[0] == 0 < (q[1] or not p[0]) for p, q in masses)
    if not found.unsure and found.impossible is None:
        assert found.upper == max([Fraction(0), *(p[1] / q[0] for p, q in masses if p[1])])


@given(MASSES)
def test_the_excess_at_zero_is_the_sum_of_what_is_positive(masses):
    found, certain = excess(pairs_of(masses), Fraction(0), 64)
    least = [p[0] - q[1] for p, q in masses]
    assert found.lower == sum((d for d in least if d > 0), Fraction(0))
    assert found.upper == sum((max(Fraction(0), p[1] - q[0]) for p, q in masses), Fraction(0))
    assert certain == [i for i, d in enumerate(least) if d > 0]


def test_the_excess_falls_with_epsilon_and_the_ends_hold_it():
    pairs = [(Enclosure.of(1), Enclosure.of(Fraction(1, 4)))]
    found = [excess(pairs, Fraction(e), 96)[0] for e in range(4)]
    assert found[0].lower == found[0].upper == Fraction(3, 4)
    assert found[1].lower > found[2].lower == found[3].upper == 0
