"""Certified enclosures against high-precision arithmetic, in both directions and on hard inputs."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit as tc
from support.by_hand.high_precision import precisely
from support.examples import examples
from tacit.arithmetic.enclosure import (
    Enclosure,
    exp,
    log,
    sqrt,
)
from tacit.core import Space, Vector
from tacit.errors import InfeasibleError, UsageError

HARD = [
    Fraction(1, 10**40),
    Fraction(1) + Fraction(1, 10**40),
    Fraction(1) - Fraction(1, 10**40),
    Fraction(10**15 + 1, 10**15),
    Fraction(1),
    Fraction(2),
    Fraction(4) - Fraction(1, 2**90),
    Fraction(88722839111, 128000000000),  # close to ln 2
    Fraction(700),
    Fraction(2**60, 3**30),
]
fractions = st.fractions(min_value=Fraction(1, 10**9), max_value=300, max_denominator=10**12)


@pytest.mark.few(4)
@pytest.mark.parametrize("bits", [8, 64, 130, 700])
@pytest.mark.parametrize("x", HARD)
@pytest.mark.parametrize(
    ("ours", "theirs"), [(exp, mpmath.exp), (log, mpmath.log), (sqrt, mpmath.sqrt)]
)
def test_encloses_and_is_narrow(ours, theirs, x, bits):
    found, truth = ours(x, bits), precisely(theirs, x)
    assert found.lower <= truth + Fraction(1, 2**5000)
    assert truth - Fraction(1, 2**5000) <= found.upper
    assert found.width <= abs(truth) * Fraction(1, 2**bits) * (1 + Fraction(1, 2**20))


@given(fractions, st.integers(4, 200))
@examples(1.5)
def test_exp_both_signs(x, bits):
    for signed in (x, -x):
        found, truth = exp(signed, bits), precisely(mpmath.exp, signed, 1500)
        assert found.lower <= truth <= found.upper
        assert found.width <= truth * Fraction(2, 2**bits)


@given(fractions, st.integers(4, 200))
@examples(1.5)
def test_log_and_square_root(x, bits):
    for ours, theirs in ((log, mpmath.log), (sqrt, mpmath.sqrt)):
        found, truth = ours(x, bits), precisely(theirs, x, 1500)
        assert found.lower <= truth + Fraction(1, 2**1300)
        assert truth - Fraction(1, 2**1300) <= found.upper


ends = st.tuples(st.fractions(max_denominator=50), st.fractions(max_denominator=50)).map(sorted)


@given(ends, ends, st.fractions(0, 1, max_denominator=20), st.fractions(0, 1, max_denominator=20))
@settings(deadline=None)
def test_arithmetic_contains_every_result(first, second, s, t):
    a, b = Enclosure(*first), Enclosure(*second)
    x, y = a.lower + s * a.width, b.lower + t * b.width
    assert (a + b).contains(x + y)
    assert (a - b).contains(x - y)
    assert (a * b).contains(x * y)
    assert (x - b).contains(x - y)
    assert (x * b).contains(x * y)
    assert abs(a).contains(abs(x))
    assert a.maximum(b).contains(max(x, y))
    assert a.minimum(b).contains(min(x, y))
    for power in range(4):
        assert (a**power).contains(x**power)
    assert a.rounded(5).contains(a)
    if b.lower > 0 or b.upper < 0:
        assert (a / b).contains(x / y)
        assert (x / b).contains(x / y)
    else:
        with pytest.raises(UsageError, match="zero"):
            a / b


def test_comparisons_answer_only_when_certain():
    a, b = Enclosure(Fraction(1), Fraction(2)), Enclosure(Fraction(2), Fraction(3))
    assert not a.below(b)
    assert a.at_most(b)
    assert not b.above(a)
    assert a.below(Fraction(5, 2))
    assert exp(1).above(Fraction(27, 10))
    assert exp(Enclosure(Fraction(0), Fraction(1))).contains(2)


def test_rounded_is_narrow():
    wide = Enclosure.of(Fraction(1, 3)).rounded(20)
    assert wide.contains(Fraction(1, 3))
    assert 0 < wide.width <= Fraction(1, 2**19)
    assert wide.upper.denominator < 2**24


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: log(0),
        lambda: log(Fraction(-1)),
        lambda: sqrt(-1),
        lambda: Enclosure(Fraction(1), Fraction(0)),
        lambda: Enclosure.of(2) ** -1,
    ],
)
def test_bad_questions(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_exponentials_beyond_use():
    far = exp(-(10**40))
    assert far.lower == 0
    assert far.upper == Fraction(1, 2**65536)
    assert exp(-65536).upper < far.upper
    with pytest.raises(InfeasibleError, match="65536"):
        exp(65537)


@pytest.mark.full
def test_one_number_has_no_disjoint_enclosures():
    """10,000 small choices were [4.8855, 4.8855] in pure DP and [0, 2.4191] in zCDP."""
    scores = Space(Vector(int, size=3), tc.LInfinityDistance())
    pure = tc.compose([scores >> tc.exponential(scale=400)] * 100)
    found = pure.epsilon("1e-6")
    other = tc.convert(pure, tc.ZeroConcentratedDP()).epsilon("1e-6")
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
