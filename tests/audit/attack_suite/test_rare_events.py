"""Hits of a rare event: the level is exact, by enumeration; 47 against none refute epsilon 1."""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.audit.attack_suite.system import Hits, count_hits

LEVEL = 1e-5 / 10


def chance_of_refuting(ratio: Fraction, hits: int, level: float) -> Fraction:
    """The exact probability, over which hits are of u, that a claim of epsilon 1 is refuted."""
    of_u = ratio / (1 + ratio)
    return sum(
        (
            math.comb(hits, k) * of_u**k * (1 - of_u) ** (hits - k)
            for k in range(hits + 1)
            if Hits(k, hits - k, 0, 0, level).refutes(1.0)
        ),
        Fraction(0),
    )


def test_a_true_claim_is_refuted_at_most_as_often_as_the_levels_say():
    for level in (0.3, 0.05, LEVEL):
        for hits in (1, 7, 60, 150):
            assert chance_of_refuting(Fraction(math.e), hits, level) <= 2 * level
    assert chance_of_refuting(Fraction(math.e), 150, 0.05) > 0.02
    assert chance_of_refuting(Fraction(20), 150, LEVEL) > 0.99


def test_forty_seven_against_none_refute_one():
    found = Hits(47, 0, 1200, 1200, LEVEL)
    assert found.refutes(1.0)
    assert math.isclose(found.lower, -math.log(LEVEL ** (-1 / 47) - 1), abs_tol=1e-6)
    assert Hits(0, 47, 1200, 1200, LEVEL).refutes(1.0)
    assert not Hits(47, 8, 1200, 1200, LEVEL).refutes(1.0)
    assert Hits(0, 0, 1200, 1200, LEVEL).lower == 0


def test_releases_end_when_the_claim_is_refuted():
    found = count_hits(lambda: 1, lambda: 0, bool, epsilon=1.0, runs=1000, level=1e-5)
    assert found.refutes(1.0)
    assert found.on_u + found.on_v in (83, 166, 333)
    assert found.of_u == found.on_u
    assert found.of_v == 0
    same = count_hits(lambda: 1, lambda: 1, bool, epsilon=1.0, runs=1000, level=1e-5)
    assert same.on_u + same.on_v == 1000
    assert not same.refutes(1.0)
