"""Numbers are read exactly, quickly, or refused with what to do."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
from tacit.errors import UsageError


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


fractions = st.fractions() | st.builds(
    lambda n, e: Fraction(n) * Fraction(2) ** e, st.integers(), st.integers(-1200, 1200)
)


@given(fractions)
def test_rounding_goes_the_way_that_it_says_and_no_farther(value):
    up, down = float_up(value), float_down(value)
    assert up >= value >= down
    if math.isfinite(up) and math.isfinite(down):
        assert up == down or math.nextafter(down, math.inf) == up


@given(fractions)
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
