"""The least epsilon at which a bound on the logarithm of delta is at most a target."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["least_epsilon"]

_STEPS = 60


def least_epsilon(
    bound: Callable[[float], float], near: float, log_target: float, *, upper: bool
) -> float | None:
    """Return the least epsilon above zero at which a bound is at most a target, from one side.

    From above it is an end of a step where it holds, from below one where it does not; None where
    none is found near a first guess.

    >>> low = least_epsilon(lambda epsilon: -3 * epsilon, 1.0, -6.0, upper=False)
    >>> high = least_epsilon(lambda epsilon: -3 * epsilon, 1.0, -6.0, upper=True)
    >>> low < 2 <= high, round(low, 9), round(high, 9)
    (True, 2.0, 2.0)
    """
    known: dict[float, float] = {}

    def above(epsilon: float) -> float:
        if epsilon not in known:
            known[epsilon] = bound(epsilon) - log_target
        return known[epsilon]

    first = 2.0**-18 * (1e-9 + abs(near))
    low = high = near
    width = first
    for _ in range(_STEPS):
        if above(high) <= 0:
            break
        low, high, width = high, high + width, 4 * width
    else:
        return None
    width = first
    for _ in range(_STEPS):
        if above(low) > 0:
            break
        low, high, width = low - width, low, 4 * width
    else:
        return None
    low, high = _narrowed(above, low, high)
    found = high if upper else low
    return found if found > 0 else None


def _narrowed(above: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return a narrow interval where a falling function passes zero (secants and halves)."""
    for turn in range(_STEPS):
        width = high - low
        if width <= 2.0**-44 * (abs(low) + abs(high)):
            break
        before, after = above(low), above(high)
        middle = (low + high) / 2
        if turn % 3 < 2 and math.isfinite(before) and math.isfinite(after) and after < before:
            guess = low + width * before / (before - after)
            # to that side of it where the other end comes near as well
            middle = min(max(guess + width * (2.0**-10 if turn % 3 else -(2.0**-10)), low), high)
        if not low < middle < high:
            middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if above(middle) > 0 else (low, middle)
    return low, high
