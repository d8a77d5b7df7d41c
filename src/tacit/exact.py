"""Numbers read exactly, and rounded only toward the safe side.

A privacy number (an epsilon, a scale, a bound, a sensitivity) is a :class:`fractions.Fraction`
from the moment it is handed in.  A float is taken at its exact binary value, a string as the
decimal or the ratio that it spells.  Floats come back only at the end, through
:func:`float_up` and :func:`float_down`, which never round toward less privacy loss.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias

from tacit.errors import UsageError

__all__ = ["Number", "as_fraction", "as_integer", "float_down", "float_up", "positive", "show"]

Number: TypeAlias = int | float | str | Fraction | Decimal
"""What a caller may hand in wherever Tacit takes a number."""


def as_fraction(value: Number, name: str = "value") -> Fraction:
    """Read a number exactly.

    Raises:
        UsageError: text that is no number, a bool, NaN or an infinity.

    >>> as_fraction("1/3"), as_fraction(0.5), as_fraction("0.1")
    (Fraction(1, 3), Fraction(1, 2), Fraction(1, 10))
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise UsageError(f"{name} must be a number, not {value!r}")
    if isinstance(value, (str, Decimal)):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise UsageError(
                f"{name} must be a number such as 0.5, '1/3' or '1e-6', not {str(value)!r}"
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


def positive(value: Number, name: str = "value") -> Fraction:
    """Read a number exactly and refuse it unless it is above zero.

    >>> positive("0.25", "epsilon")
    Fraction(1, 4)
    """
    number = as_fraction(value, name)
    if number <= 0:
        raise UsageError(f"{name} must be above zero, not {show(number)}")
    return number


def as_integer(value: object, name: str = "value", minimum: int | None = None) -> int:
    """Read a whole number (``3``, ``3.0``, numpy integers), refusing all else.

    >>> as_integer(3.0, "size")
    3
    """
    if isinstance(value, bool) or not isinstance(value, (Real, Fraction)):
        raise UsageError(f"{name} must be a whole number, not {value!r}")
    number = as_fraction(value, name)  # type: ignore[arg-type]
    if number.denominator != 1:
        raise UsageError(f"{name} must be a whole number, not {show(number)}")
    whole = int(number)
    if minimum is not None and whole < minimum:
        raise UsageError(f"{name} must be at least {minimum}, not {whole}")
    return whole


def float_up(value: Fraction | int) -> float:
    """Return the least float that is not below ``value``.

    >>> float_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return near if near >= value else math.nextafter(near, math.inf)


def float_down(value: Fraction | int) -> float:
    """Return the greatest float that is not above ``value``."""
    return -float_up(-value)


def show(value: Fraction | int | float) -> str:
    """Write a number for people: whole, short decimal, or ratio with its decimal.

    >>> show(Fraction(12, 25)), show(Fraction(1, 3)), show(Fraction(4))
    ('0.48', '1/3 (0.333333)', '4')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    number = Fraction(value)
    if number.denominator == 1:
        whole = str(number.numerator)
        return whole if len(whole) <= 16 else f"{float_up(number):.6g}"
    rounded = f"{float(number):.6g}"
    if Fraction(rounded) == number:
        return rounded
    if number.denominator <= 1000:
        return f"{number.numerator}/{number.denominator} ({rounded})"
    return rounded
