"""Amounts of privacy in the JSON that commands print: decimals, and the exact fractions beside."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.arithmetic.exact import decimal

if TYPE_CHECKING:
    from tacit.accounting import Budget

__all__ = ["amounts"]


def amounts(loss: Budget, *, left: bool = False) -> dict[str, Any]:
    """Return an amount as JSON, never better than it is: a loss rounded up, what is left down.

    Args:
        loss: what is spent, may be spent, or is left.
        left: whether it is what is left.

    >>> from tacit.accounting import epsilon
    >>> amounts(epsilon("1/3"))
    {'kind': 'pure', 'epsilon': 0.33333333333333337, 'exact': {'epsilon': '1/3'}}
    """
    exact = {name: value for name, value in loss.to_json().items() if name != "kind"}
    near = {name: decimal(Fraction(value), up=not left) for name, value in exact.items()}
    return {"kind": loss.kind, **near, "exact": exact}
