"""Certified enclosures against high-precision arithmetic, in both directions and on hard inputs."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.by_hand.high_precision import precisely
from support.examples import examples
from tacit import framework as fw
from tacit.arithmetic import exact_convolution
from tacit.arithmetic.enclosure import (
    Enclosure,
    exp,
    exp_minus,
    exp_scaled,
    log,
    log_two,
    log_unit,
    pi,
    pi_fixed,
    sqrt,
)
from tacit.arithmetic.exact import (
    as_fraction,
    as_integer,
    as_percent,
    as_share,
    float_down,
    float_up,
    positive,
    show,
    show_between,
)
from tacit.arithmetic.exact_convolution import convolution
from tacit.arithmetic.roots_and_bisection import Root, gap, sqrt_up
from tacit.arithmetic.special_functions import arctangent, mills_ratio, normal_cdf
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
    scores = Space(Vector(int, size=3), fw.LInfinityDistance())
    pure = fw.compose([scores >> fw.exponential(scale=400)] * 100)
    found = pure.epsilon("1e-6")
    other = fw.convert(pure, fw.ZeroConcentratedDP()).epsilon("1e-6")
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)


# Exponentials and logarithms in fixed point enclose the truth, by a few units.


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


# Functions of probability laws, certified, against mpmath.


@pytest.mark.parametrize("x", [0, "1/3", -2, 7, "-35/2", 23])
def test_certified_functions_against_mpmath(x: Any) -> None:
    point = Fraction(x)
    with mpmath.workdps(60):
        real = mpmath.mpf(point.numerator) / point.denominator
        for found, truth in (
            (arctangent(Enclosure.of(point), 160), mpmath.atan(real)),
            (normal_cdf(Enclosure.of(point), 160), mpmath.ncdf(real)),
        ):
            assert found.width < Fraction(1, 1 << 120)
            low, high = (
                mpmath.mpf(e.numerator) / e.denominator for e in (found.lower, found.upper)
            )
            assert low - mpmath.mpf(10) ** -58 <= truth <= high + mpmath.mpf(10) ** -58


@pytest.mark.parametrize("x", [1, "3/2", 7, 40, 10**6, 10**15])
def test_the_ratio_of_mills_is_right_in_all_its_bits(x: Any) -> None:
    with mpmath.workdps(80):
        point = Fraction(x)
        real = mpmath.mpf(point.numerator) / point.denominator
        tail = mpmath.erfc(real / mpmath.sqrt(2)) / 2
        truth = tail / (mpmath.exp(-real * real / 2) / mpmath.sqrt(2 * mpmath.pi))
        if real > 1e4:  # no exponent holds the tail: three terms of its series say enough
            truth = (1 - real**-2 + 3 * real**-4) / real
        found = mills_ratio(Enclosure.of(point), 128)
        slack = truth * (mpmath.mpf(10) ** -50 if real < 1e4 else 20 * real**-6)
        low, high = (mpmath.mpf(e.numerator) / e.denominator for e in (found.lower, found.upper))
        assert low - slack <= truth <= high + slack
        assert high - low < truth * mpmath.mpf(2) ** -126
    both = mills_ratio(Enclosure(point, 2 * point), 128)
    assert both.lower < found.lower
    assert both.upper >= found.upper


# Square roots of rationals, and the gap of two of them.


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


# Numbers are read exactly, quickly, or refused with what to do.


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(0.1)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (" 1e-6 ", Fraction(1, 10**6)),
        (Decimal("0.25"), Fraction(1, 4)),
        (np.int64(7), Fraction(7)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (10**500, Fraction(10**500)),
        ("1e1000", Fraction(10**1000)),
        ("1" * 1000, Fraction(int("1" * 1000))),
    ],
)
def test_numbers_are_read_exactly(written, read):
    assert as_fraction(written) == read


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "much", "1/0", "nan", "inf", "1e", "0x10", "1,5", "--1"),
        *(math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("nan"), Decimal("inf")),
        *(None, True, np.True_, [1], {}, b"1", 1j, frozenset()),
    ],
    ids=repr,
)
def test_what_is_no_number_is_refused_by_its_name(wrong):
    with pytest.raises(UsageError, match=r"^epsilon must be a"):
        as_fraction(wrong, "epsilon")


@pytest.mark.parametrize(
    "giant",
    [
        *("1e-9999999", "1e9999999", "1E+99999999999999999999", "-2.5e1001", "1e-1_001"),
        *(Decimal("1e-9999999"), Decimal("1e999999"), "1" * 1001, "0." + "0" * 10**6 + "1"),
    ],
    ids=lambda v: str(v)[:24],
)
def test_giants_are_refused_at_once(giant):
    with pytest.raises(UsageError, match=r"power of ten|characters"):
        as_fraction(giant, "epsilon")


def test_positive_and_whole():
    assert positive("1/2") == Fraction(1, 2)
    for wrong in (0, -1, "-1e-9", 0.0):
        with pytest.raises(UsageError, match="scale must be above zero, not"):
            positive(wrong, "scale")
    assert as_integer(np.float64(3)) == 3
    for wrong in (2.5, "3", True, None, math.nan):
        with pytest.raises(UsageError, match=r"whole number|finite"):
            as_integer(wrong, "size")
    with pytest.raises(UsageError, match="at least 1, not 0"):
        as_integer(0, "size", minimum=1)


def test_a_percentage_and_a_share_are_within_their_ends():
    assert [as_percent(q) for q in (0, 1, "12.5", 100)] == [0, 1, Fraction(25, 2), 100]
    assert as_percent("1/2") == as_percent(Fraction(1, 2)) == Fraction(1, 2)
    assert as_percent("0.5") == Fraction(1, 2)
    for wrong in (-1, "100.1"):
        with pytest.raises(UsageError, match="must be from 0 to 100"):
            as_percent(wrong)
    assert [as_share(q) for q in (0, "1/3", 0.5, 1)] == [0, Fraction(1, 3), Fraction(1, 2), 1]
    with pytest.raises(UsageError, match=r"from 0 to 1, not from 0 to 100; did you mean 0.9?"):
        as_share(90)
    for wrong in (-1, "100.1"):
        with pytest.raises(UsageError, match="must be from 0 to 1, not"):
            as_share(wrong)


exact_fractions = st.fractions() | st.builds(
    lambda n, e: Fraction(n) * Fraction(2) ** e, st.integers(), st.integers(-1200, 1200)
)


@given(exact_fractions)
def test_rounding_goes_the_way_that_it_says_and_no_farther(value):
    up, down = float_up(value), float_down(value)
    assert up >= value >= down
    if math.isfinite(up) and math.isfinite(down):
        assert up == down or math.nextafter(down, math.inf) == up


@given(exact_fractions)
@example(3 * Fraction(2) ** -1075)  # which floats hold with one good digit
@example(Fraction(10**1000 - 1))
@example(-Fraction(1234565, 10**1006))
def test_a_number_is_shown_to_the_digits_that_stand_there(value):
    text = show(value)
    assert len(text) < 60
    shown = re.sub(r".*\((.*)\)", r"\1", text)  # of a ratio, the decimal behind it
    if value.denominator == 1 and "e" not in text:
        assert int(text) == value
        return
    last = Fraction(10) ** (Decimal(shown).adjusted() - 5)  # of six digits
    assert 2 * abs(Fraction(shown) - value) <= last
    assert Fraction(text.split(" ")[0]) == value or "/" not in text


@given(st.fractions(1, 2), st.integers(-20_000, 20_000))
@example(Fraction(1), 10**6)
def test_a_giant_is_shown_by_the_nearest_power_of_two(value, power):
    number = value * Fraction(2) ** power
    text = show(-number)
    if "^" not in text:
        assert abs(power) <= 3401
        return
    shown = Fraction(2) ** int(text.removeprefix("-about 2^"))
    assert shown**2 / 2 <= number**2 <= shown**2 * 2


def test_numbers_for_people():
    assert show(Fraction(12, 25)) == "0.48"
    assert show(Fraction(1, 3)) == "1/3 (0.333333)"
    assert show(10**15) == "1000000000000000"
    assert show(10**30) == "1e+30"
    assert show(-(10**5000)) == "-about 2^16610"
    assert show(Fraction(1, 10**400)) == "1e-400"
    assert show(3 * Fraction(2) ** -1075) == "7.41098e-324"
    assert show(0.1 + 0.2) == "0.3"


@given(st.fractions(), st.fractions(0, 1), st.integers(0, 400))
def test_a_written_enclosure_encloses_the_number(lower, width, places):
    upper = lower + width / 2**places
    text = show_between(lower, upper)
    low, _, high = text.partition(" to ")
    if "(" in text or " to " not in text:
        assert lower == upper or "(" in text
        return
    assert Fraction(low) <= lower <= upper <= Fraction(high)
    size = max(abs(lower), abs(upper))
    assert Fraction(high) - Fraction(low) <= 3 * (upper - lower) + size / 10**10


def test_an_enclosure_is_written_with_the_digits_that_differ():
    cases = {
        ("4.88630796", "4.88655752"): "4.8863 to 4.8866",
        ("-1", "0"): "-1 to 0",
        ("0.25", "0.75"): "0.25 to 0.75",
        ("1e-30", "1.0007e-30"): "1e-30 to 1.0007e-30",
        ("-2.00000000000000001", "-2"): "-2.00000000001 to -2.00000000000",
    }
    found = {ends: show_between(*map(Fraction, ends)) for ends in cases}
    assert found == cases


def test_an_enclosure_of_giants_is_written_by_powers_of_two():
    assert show_between(Fraction(0), Fraction(2) ** -65536) == "0 to about 2^-65536"


NUMBERS = st.one_of(st.integers(-9, 9), st.integers(-(2**80), 2**80))


@given(st.lists(NUMBERS, min_size=33, max_size=50), st.lists(NUMBERS, min_size=1, max_size=40))
def test_it_is_the_sum_of_products(left: list[int], right: list[int]) -> None:
    expected = [0] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            expected[i + j] += a * b
    assert convolution(left, right).tolist() == expected


def test_sums_as_large_as_the_primes_allow_are_exact() -> None:
    for size in (64, 100):
        ends = np.full(size, 2**85, dtype=object)
        found = convolution(ends, -ends)
        assert found[size - 1] == -size * 2**170
        assert found[0] == -(2**170)


def test_the_primes_have_roots_of_unity_of_the_longest_order() -> None:
    for prime, generator in exact_convolution.__dict__["_PRIMES"]:
        assert (prime - 1) % exact_convolution.__dict__["_LONGEST"] == 0
        rest, factors, k = prime - 1, set(), 2
        while rest > 1:
            while rest % k == 0:
                factors.add(k)
                rest //= k
            k += 1
        assert all(prime % n for n in range(2, 46_341))
        assert all(pow(generator, (prime - 1) // factor, prime) != 1 for factor in factors)
