"""Numbers read exactly, and rounded only toward the safe side."""

# A privacy number (an epsilon, a scale, a bound, a sensitivity) is a :class:`fractions.Fraction`
# from the moment it is handed in.  A float is taken at its exact binary value, a string as the
# decimal or the ratio that it spells.  Floats come back only at the end, through
# :func:`float_up` and :func:`float_down`, which never round toward less privacy loss.

from __future__ import annotations

import math
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias

from tacit.errors import UsageError, shown_value

# What a caller may pass wherever Tacit takes a number.
Number: TypeAlias = int | float | str | Fraction | Decimal


_LONGEST = 1000
_LARGEST_EXPONENT = 1000
_LARGEST_POWER = 3400  # beyond two to it, or under one by it, a number is not written in decimal
_SIX_DIGITS = Context(prec=6, Emin=MIN_EMIN, Emax=MAX_EMAX)
_MAX_DIGITS = 12
_LOG_TWO = math.log10(2)
_EXPONENT = re.compile(r"[eE]\s*[+-]?([0-9_]+)")


def as_fraction(value: object, name: str = "value") -> Fraction:
    """Read a number exactly.

    >>> as_fraction("1/3"), as_fraction(0.5), as_fraction("0.1")
    (Fraction(1, 3), Fraction(1, 2), Fraction(1, 10))
    """
    # Text is at most 1000 characters and its power of ten within -1000..1000, so that a line of
    # text from outside cannot ask for a number of a billion digits.
    if type(value) is Fraction:  # the two that are read most, before what takes long to ask
        return value
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise UsageError(f"{name} must be a number, not {value!r}")
    if isinstance(value, (str, Decimal)):
        text = str(value)
        _refuse_giants(text, name)
        try:
            return Fraction(text)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise UsageError(
                f"{name} must be a number such as 0.5, '1/3' or '1e-6', not {text!r}"
            ) from None
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real):
        number = float(value)
        if not math.isfinite(number):
            raise UsageError(f"{name} must be a finite number, not {number!r}")
        return Fraction(number)
    raise UsageError(f"{name} must be a number, not a {type(value).__name__}")


def _refuse_giants(text: str, name: str) -> None:
    """Raise if a number in text would take long to build, before it is built."""
    if len(text) > _LONGEST:
        raise UsageError(
            f"{name} is text of {len(text)} characters; a number has at most {_LONGEST}: round it"
        )
    for digits in _EXPONENT.findall(text):
        if len(digits) > 6 or int(digits.replace("_", "") or 0) > _LARGEST_EXPONENT:
            raise UsageError(
                f"{name} has a power of ten beyond -{_LARGEST_EXPONENT}..{_LARGEST_EXPONENT} "
                f"({text[:60]!r}): give a number nearer to one, such as '1e-6'"
            )


def positive(value: object, name: str = "value") -> Fraction:
    """Read a number exactly and refuse it unless it is above zero.

    >>> positive("0.25", "epsilon")
    Fraction(1, 4)
    """
    number = as_fraction(value, name)
    if number.numerator <= 0:
        raise UsageError(f"{name} must be above zero, not {show(number)}")
    return number


def as_percent(value: object, name: str = "a percentile") -> Fraction:
    """Read a number from 0 to 100.

    >>> as_percent(90), as_percent("1/2")
    (Fraction(90, 1), Fraction(1, 2))
    """
    percent = as_fraction(value, name)
    if not 0 <= percent <= 100:
        raise UsageError(f"{name} must be from 0 to 100, not {show(percent)}")
    return percent


def as_share(value: object, name: str = "a quantile") -> Fraction:
    """Read a number from 0 to 1.

    >>> as_share("1/3")
    Fraction(1, 3)
    """
    share = as_fraction(value, name)
    if 1 < share <= 100:
        raise UsageError(
            f"{name} is from 0 to 1, not from 0 to 100; did you mean {show(share / 100)}?"
        )
    return read_probability(share, name)


def read_probability(value: object, name: str) -> Fraction:
    """Read a number from 0 to 1, such as a delta.

    >>> read_probability("1e-6", "delta")
    Fraction(1, 1000000)
    """
    probability = as_fraction(value, name)
    if not 0 <= probability <= 1:
        raise UsageError(f"{name} must be from 0 to 1, not {show(probability)}")
    return probability


def as_integer(value: object, name: str = "value", minimum: int | None = None) -> int:
    """Read an integer (``3``, ``3.0``, numpy integers), refusing all else.

    >>> as_integer(3.0, "size")
    3
    """
    if type(value) is int and (minimum is None or value >= minimum):
        return value
    if isinstance(value, bool) or not isinstance(value, (Real, Fraction)):
        raise UsageError(f"{name} must be a whole number, not {shown_value(value)}")
    number = as_fraction(value, name)
    if number.denominator != 1:
        raise UsageError(f"{name} must be a whole number, not {show(number)}")
    integer = int(number)
    if minimum is not None and integer < minimum:
        raise UsageError(f"{name} must be at least {minimum}, not {integer}")
    return integer


def float_up(value: Fraction | int) -> float:
    """Return the smallest float that is not below ``value``.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    top, bottom = near.as_integer_ratio()  # compared as integers, which is fast
    reaches = top * value.denominator >= value.numerator * bottom
    return near if reaches else math.nextafter(near, math.inf)


def float_down(value: Fraction | int) -> float:
    """Return the greatest float that is not above ``value``."""
    return -float_up(-value)


def decimal(amount: Fraction, *, up: bool = True) -> float:
    """Return the decimal that a number is written as in a file: the amount, or next to it.

    >>> decimal(Fraction(1, 10)), decimal(Fraction(1, 3), up=False)
    (0.1, 0.3333333333333333)
    """
    # The shortest text that makes the float again is what a reader reads; that text, and not the
    # float's binary value, is on the safe side.
    near = float(amount)
    written = Fraction(repr(near))  # what a reader of the decimals reads, and not the double
    if written < amount and up:
        return math.nextafter(near, math.inf)
    if written > amount and not up:
        return math.nextafter(near, 0)
    return near


def show(value: Fraction | int | float) -> str:
    """Write a number for people: whole, short decimal, or ratio with its decimal.

    >>> show(Fraction(12, 25)), show(Fraction(1, 3)), show(Fraction(4))
    ('0.48', '1/3 (0.333333)', '4')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    number = Fraction(value)
    small = abs(number.numerator) < 10**16
    if number.denominator == 1:
        return str(number.numerator) if small else _short(number)
    rounded = _short(number)
    if "^" not in rounded and Fraction(rounded) == number:
        return rounded
    if number.denominator <= 1000 and small:
        return f"{number.numerator}/{number.denominator} ({rounded})"
    return rounded


def show_between(lower: Fraction, upper: Fraction) -> str:
    """Write an enclosure for people: both ends in the digits that they differ in.

    >>> show_between(Fraction("4.88630796"), Fraction("4.88655752"))
    '4.8863 to 4.8866'
    >>> show_between(*2 * [Fraction(1, 2)]), show_between(Fraction(0), Fraction(1, 3 * 10**6))
    ('0.5', '0 to 3.34e-07')
    """
    # The lower end is rounded down and the upper end up, to no more than twelve digits, so what is
    # written encloses the number too.  Where the ends are one number it is written once.
    largest = max(abs(lower), abs(upper))
    if _shown_exactly(lower) and _shown_exactly(upper):
        return show(lower) if lower == upper else f"{show(lower)} to {show(upper)}"
    if abs(largest.numerator.bit_length() - largest.denominator.bit_length()) > _LARGEST_POWER:
        return f"{show(lower)} to {show(upper)}"
    top = _decimal_place(largest)
    digit = top - _MAX_DIGITS + 1
    if upper > lower:
        width = _decimal_place(upper - lower)
        digit = max(width if width < top else top - 2, digit)
    unit = Fraction(10) ** digit
    low, high = math.floor(lower / unit), math.ceil(upper / unit)
    return f"{_in_units(low, digit, top)} to {_in_units(high, digit, top)}"


def _shown_exactly(number: Fraction) -> bool:
    text = show(number)
    return "(" in text or ("^" not in text and Fraction(text) == number)


def _decimal_place(size: Fraction) -> int:
    """Return the place of the first decimal digit of a positive number: 0 for 1 up to 10."""
    digit = math.floor((size.numerator.bit_length() - size.denominator.bit_length()) * _LOG_TWO)
    while Fraction(10) ** digit > size:
        digit -= 1
    while Fraction(10) ** (digit + 1) <= size:
        digit += 1
    return digit


def _in_units(count: int, digit: int, top: int) -> str:
    """Write ``count 10^digit``, with an exponent where the largest number about it has one."""
    if not count:
        return "0"
    if -5 < top < 16:
        return f"{Decimal(count).scaleb(digit):f}" if digit < 0 else str(count * 10**digit)
    digits = str(abs(count))
    point = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{'-' if count < 0 else ''}{point}e{digit + len(digits) - 1:+03d}"


def _short(number: Fraction) -> str:
    """Write the six digits nearest to a number; of a giant or a dwarf, the nearest power of two.

    >>> _short(Fraction(3, 2**1075)), _short(-Fraction(10**400, 3)), _short(Fraction(2) ** 10**6)
    ('7.41098e-324', '-3.33333e+399', 'about 2^1000000')
    """
    # The division is exact up to its one rounding, so every digit is right, also of numbers that no
    # float holds or that floats hold with fewer bits.
    sign = "-" if number < 0 else ""
    power = _nearest_power(abs(number)) if number else 0
    if abs(power) > _LARGEST_POWER:
        return f"{sign}about 2^{power}"
    near = _SIX_DIGITS.divide(Decimal(abs(number.numerator)), Decimal(number.denominator))
    digit = near.adjusted() if near else 0
    if -5 < digit < 6:
        return f"{sign}{near.normalize():f}"
    digits = str(near.scaleb(-digit, _SIX_DIGITS).normalize())
    return f"{sign}{digits}e{digit:+03d}"


def _nearest_power(size: Fraction) -> int:
    """The whole number nearest to the binary logarithm of a positive number."""
    # It is the smallest p at which ``size**2 < 2**(2 * p + 1)``; lengths in bits give p to within
    # two.
    power = size.numerator.bit_length() - size.denominator.bit_length() - 1
    while size**2 >= Fraction(2) ** (2 * power + 1):
        power += 1
    return power
