"""What public parameters are checked for before a mechanism is made."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit.errors import UsageError
from tacit.exact import as_fraction, as_integer
from tacit.local.items import Items

__all__ = ["one_of", "read_share", "read_size", "refuse_large"]


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
