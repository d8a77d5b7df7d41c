"""Certified enclosures against high-precision arithmetic, in both directions and on hard inputs."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.examples import examples
from tacit.arithmetic.enclosure import (
    Enclosure,
    exp,
    log,
    pi,
    sqrt,
)
from tacit.arithmetic.fixed_point import exp_minus, exp_scaled, log_two, log_unit, pi_fixed
from tacit.errors import InfeasibleError, UsageError


def precisely(function, x, digits=6000):
    """Evaluate with so many bits that the comparison with a far shorter enclosure is decided."""
    with mpmath.workprec(digits):
        value = function(mpmath.mpf(x.numerator) / x.denominator)
        sign, mantissa, exponent, _ = value._mpf_
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


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
