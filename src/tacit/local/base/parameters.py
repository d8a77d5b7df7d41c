"""What public parameters are checked for before a mechanism is made."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.errors import UsageError
from tacit.local.base.items import Items
from tacit.local.base.raw_answers import plain
from tacit.local.base.report_layout import Layout

__all__ = [
    "one_of",
    "read_answer",
    "read_bounds",
    "read_share",
    "read_size",
    "refuse_large",
    "refuse_wide",
]


def read_share(frequency: Any) -> Fraction:
    """Read a share exactly, from 0 to 1.

    >>> read_share("1/4")
    Fraction(1, 4)
    """
    share = as_fraction(frequency, "frequency")
    if not 0 <= share <= 1:
        raise UsageError("a frequency is a share, from 0 to 1")
    return share


def read_size(n: Any) -> int:
    """Read a number of reports.

    >>> read_size(10)
    10
    """
    return as_integer(n, "n", minimum=0)


def read_bounds(lower: Any, upper: Any) -> tuple[Fraction, Fraction]:
    """Read the public bounds of a number.

    Raises:
        UsageError: no numbers, reversed, or so large that an estimate would be no float.

    >>> read_bounds(0, "1/2")
    (Fraction(0, 1), Fraction(1, 2))
    """
    low, high = as_fraction(lower, "lower"), as_fraction(upper, "upper")
    if low >= high:
        raise UsageError("lower must be below upper")
    if max(-low, high) >= 1 << 1000:
        raise UsageError("bounds are within -2**1000..2**1000")
    return low, high


def read_answer(value: Any, lower: Fraction, upper: Fraction) -> Fraction:
    """Return where a person's number lies between two bounds, from 0 to 1; beyond them is clamped.

    Raises:
        UsageError: what is no number; the message does not repeat it.

    >>> read_answer(3, Fraction(0), Fraction(4))
    Fraction(3, 4)
    """
    value = plain(value)
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, (float, Decimal)) and math.isinf(value):
        return Fraction(int(value > 0))
    try:
        number = as_fraction(value, "an answer")
    except UsageError:
        raise UsageError("an answer is not a number; nothing was drawn or sent") from None
    return min(max((number - lower) / (upper - lower), Fraction(0)), Fraction(1))


def refuse_wide(layout: Layout, what: str) -> None:
    """Refuse noise so wide that a number of a report, or the sum of two billion, does not fit.

    Raises:
        UsageError: a number of a report has more than 32 bits.
    """
    if layout.limit > 1 << 32:
        raise UsageError(f"the noise of this epsilon does not fit 32 bits: take fewer {what}")


def refuse_large(domain: Items, most: int, what: str, instead: str) -> None:
    """Refuse a domain that is too large for a mechanism, and name what takes it.

    Raises:
        UsageError: more than ``most`` items.
    """
    if len(domain) > most:
        raise UsageError(
            f"{what} is for at most {most:,} items, not {len(domain):,}: use {instead}"
        )


def one_of(epsilon: Any, p: Any) -> None:
    """Refuse both or neither of two ways to set a mechanism.

    Raises:
        UsageError: both or neither is given.
    """
    if (epsilon is None) == (p is None):
        raise UsageError("give either epsilon or the probabilities, and not both")
