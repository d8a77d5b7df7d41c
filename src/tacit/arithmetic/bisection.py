"""Bisection: where a test begins to hold; and golden section: where a function is least."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

__all__ = ["golden", "least_between", "least_integer", "least_integer_until", "narrowed"]

Real = TypeVar("Real", float, Fraction)


def least_integer(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least whole number above ``low`` at which a test holds, once it does for good.

    Args:
        holds: false up to some number, true above it.
        low: a number at which it does not hold.
        high: where to look first, above ``low`` and above 0; doubled until it holds.

    >>> least_integer(lambda n: n * n >= 50, 0, 1)
    8
    """
    while not holds(high):
        low, high = high, 2 * high
    return least_between(holds, low, high)


def least_integer_until(holds: Callable[[int], bool], last: int, start: int = 0) -> int | None:
    """Return the least of ``start .. last`` from which on a test holds: doubling, then halving.

    None where there is none.

    >>> least_integer_until(lambda t: t >= 11, 100), least_integer_until(bool, 0)
    (11, None)
    >>> least_integer_until(lambda t: t >= 11, 100, 20)
    20
    """
    low, step = start - 1, 1  # it does not hold at ``low``
    while low + step < last and not holds(low + step):
        low, step = low + step, 2 * step
    high = min(last, low + step)
    if high == last and not holds(last):
        return None
    return least_between(holds, low, high)


def least_between(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least number above ``low`` at which a test holds; it does at ``high``.

    >>> least_between(lambda n: n * n >= 50, 0, 100)
    8
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def golden(function: Callable[[float], float], low: float, high: float) -> float:
    """Return about where a function is least that falls up to there and rises after it.

    >>> round(golden(lambda x: (x - 2) ** 2, -10.0, 10.0), 6)
    2.0
    """
    share = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        step = share * (high - low)
        if function(high - step) <= function(low + step):
            high = low + step
        else:
            low = high - step
    return (low + high) / 2


def narrowed(holds: Callable[[Real], bool], yes: Real, no: Real, steps: int) -> tuple[Real, Real]:
    """Halve the way between a number at which a test holds and one at which it does not.

    Args:
        holds: changes once between the two.
        yes: where it holds; above or below ``no``.
        no: where it does not.
        steps: how often to halve.

    Returns:
        The two ends that are left: the test holds at the first, and not at the second.

    >>> narrowed(lambda x: x * x <= 2, 1.0, 2.0, 20)
    (1.4142131805419922, 1.414214134216308...)
    """
    for _ in range(steps):
        middle = (yes + no) / 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return yes, no
