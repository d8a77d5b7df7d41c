"""Two distributions side by side: what is listed, what may be left, and what says nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.audit.exact import Tail, listed, tables
from tacit.core import AbsoluteDistance, L1Distance, Number, Space, Vector
from tacit.errors import UsageError
from tacit.mechanisms import FiniteDistribution, Gaussian, Laplace, TruncatedGeometric

NUMBER = Space(Number("int"), AbsoluteDistance())


def masses(side):
    return sum(p.lower for p in side), sum(p.upper for p in side)


def test_outcomes_of_either_side_are_listed_and_what_is_absent_is_impossible():
    (found,) = tables({"a": "1/2", "b": "1/2"}, {"b": "1/4", "c": "3/4"})
    assert found.outcomes == ("a", "b", "c")
    assert [p.upper for p in found.p] == [Fraction(1, 2), Fraction(1, 2), 0]
    assert [q.upper for q in found.q] == [0, Fraction(1, 4), Fraction(3, 4)]
    assert found.complete
    assert found.turned().p == found.q


def test_what_one_side_does_not_list_may_be_in_its_rest():
    left = FiniteDistribution.of({"a": "1/2"}, Fraction(1, 2))
    (found,) = tables(left, FiniteDistribution.of({"b": 1}))
    assert (found.p[1].lower, found.p[1].upper) == (0, Fraction(1, 2))
    assert (found.rest_p, found.rest_q, found.complete) == (Fraction(1, 2), 0, False)


def test_equal_sides_and_equal_parts_say_nothing():
    assert tables({0: "1/2", 1: "1/2"}, {0: "1/2", 1: "1/2"}) == []
    pair = Space(Vector(int, size=2), L1Distance()) >> Laplace(2)
    assert tables(pair.distribution([1, 5]), pair.distribution([1, 5])) == []
    assert len(tables(pair.distribution([1, 5]), pair.distribution([1, 6]))) == 1
    assert len(tables(pair.distribution([0, 5]), pair.distribution([1, 6]))) == 2


@pytest.mark.parametrize("shift", [1, 3])
def test_laplace_noise_is_listed_whole_with_its_two_tails(shift):
    m = NUMBER >> Laplace(2)
    (found,) = tables(m.distribution(0), m.distribution(shift))
    assert found.complete
    ends = [name for name in found.outcomes if isinstance(name, Tail)]
    assert sorted("above" in str(end) for end in ends) == [False, True]
    for side in (found.p, found.q):
        low, high = masses(side)
        assert low <= 1 <= high
        assert high - low < Fraction(1, 2**60)


def test_gaussian_noise_is_a_window_that_leaves_hardly_anything():
    m = NUMBER >> Gaussian(2)
    (found,) = tables(m.distribution(0), m.distribution(1))
    assert found.gaussian
    assert 0 < found.rest_p < Fraction(1, 2**80)
    low, high = masses(found.p)
    assert low <= 1 <= high + found.rest_p
    (wider,) = tables(m.distribution(0), m.distribution(1), Fraction(20))
    assert len(wider.outcomes) > len(found.outcomes)
    wide = NUMBER >> Gaussian(10**6)
    with pytest.raises(UsageError, match="smaller scale"):
        tables(wide.distribution(0), wide.distribution(1))


def test_logarithms_are_those_of_the_middles():
    (found,) = tables({"a": "1/4", "b": "3/4"}, {"a": 1})
    p, q = found.logs()
    assert p.tolist() == pytest.approx([-1.3862943611, -0.2876820724])
    assert q.tolist() == [0.0, float("-inf")]


def test_distributions_of_the_callers_own_are_asked_for_their_support():
    class Coin:
        def support(self, mass):
            return (0, 1)

        def probability(self, value):
            return Fraction(1, 2) if value in (0, 1) else Fraction(0)

    assert [p.lower for p in listed(Coin()).table.values()] == [Fraction(1, 2)] * 2
    clamped = Space(Number("int", 0, 3, grid=1), AbsoluteDistance()) >> TruncatedGeometric(0, 3, 1)
    assert set(listed(clamped.distribution(1)).table) == {0, 1, 2, 3}
    with pytest.raises(UsageError, match="mapping of outcomes"):
        listed(object())


def test_a_tail_says_where_it_begins():
    assert str(Tail(Fraction(5), Fraction(1))) == "5 and above"
    assert str(Tail(Fraction(0), Fraction(-2))) == "0, -2, -4, ..."
