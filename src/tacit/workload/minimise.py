"""The minimum of a smooth function of numbers that are not negative."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["minimise"]

_REMEMBERED = 20
_HALVINGS = 30
_BLOCK = 50
"""So many steps are taken before it is asked how much they brought."""

Array = NDArray[np.float64]


def minimise(
    of: Callable[[Array], tuple[float, Array]],
    start: Array,
    steps: int,
    tolerance: float = 1e-4,
) -> Array:
    """Return a point with every coordinate at least zero where a function is (locally) least.

    The quasi-Newton method with limited memory, on the coordinates that are free: those above zero,
    or that want to rise.  Each step is projected onto the numbers that are not negative, and halved
    until the function falls enough (Byrd, Lu, Nocedal, Zhu 1995, in its simplest form).

    Args:
        of: returns the value at a point, and the gradient.
        start: where to begin.
        steps: at most so many are taken.
        tolerance: it ends where 50 steps lower the value by less than this share.

    >>> minimise(lambda x: (float(((x - 1) ** 2).sum()), 2 * (x - 1)), np.zeros(2), 50).tolist()
    [1.0, 1.0]
    """
    point = start
    value, slope = of(point)
    before = value
    memory: deque[tuple[Array, Array, float]] = deque(maxlen=_REMEMBERED)
    for step in range(1, steps + 1):
        free = (point > 0) | (slope < 0)
        towards = _direction(np.where(free, slope, 0.0), free, memory)
        if (towards * slope).sum() >= 0:
            memory.clear()
            towards = _direction(np.where(free, slope, 0.0), free, memory)
        found = _shorter(of, point, value, slope, towards)
        if found is None:
            break
        new, new_value, new_slope = found
        moved, turned = new - point, new_slope - slope
        curved = float((moved * turned).sum())
        if curved > 1e-12 * float((turned * turned).sum()):
            memory.append((moved, turned, 1 / curved))
        point, value, slope = new, new_value, new_slope
        if step % _BLOCK == 0:
            if before - value < tolerance * abs(value):
                break
            before = value
    return point


def _direction(
    slope: Array, free: NDArray[np.bool_], memory: deque[tuple[Array, Array, float]]
) -> Array:
    """Return the way down that the last steps suggest."""
    along, used = slope, []
    for moved, turned, inverse in reversed(memory):
        share = inverse * float((moved * along).sum())
        used.append(share)
        along = along - share * turned
    if memory:
        _, turned, inverse = memory[-1]
        along = along / (inverse * float((turned * turned).sum()))
    else:
        along = along / (10 * max(float(np.abs(along).max()), 1e-300))
    for (moved, turned, inverse), share in zip(memory, reversed(used), strict=True):
        along = along + moved * (share - inverse * float((turned * along).sum()))
    return np.asarray(-np.where(free, along, 0.0))


def _shorter(
    of: Callable[[Array], tuple[float, Array]],
    point: Array,
    value: float,
    slope: Array,
    towards: Array,
) -> tuple[Array, float, Array] | None:
    """Return the first of ever shorter steps that lowers the value; None where none does."""
    length = 1.0
    for _ in range(_HALVINGS):
        new = np.maximum(point + length * towards, 0.0)
        new_value, new_slope = of(new)
        if new_value < value and new_value <= value + 1e-4 * float((slope * (new - point)).sum()):
            return new, new_value, new_slope
        length /= 2
    return None
