"""The ``size`` argument that all draws share: ``None``, a length, or a shape."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from tacit.arithmetic.exact import as_integer
from tacit.errors import UsageError

__all__ = ["Size", "shape_of"]

Size: TypeAlias = int | tuple[int, ...]


def shape_of(size: Size) -> tuple[tuple[int, ...], int]:
    """Return the shape that ``size`` asks for, and its number of elements.

    Raises:
        UsageError: a length that is negative or not whole.

    >>> shape_of(3), shape_of((2, 5))
    (((3,), 3), ((2, 5), 10))
    """
    lengths = size if isinstance(size, tuple) else (size,)
    if not all(isinstance(length, int) or hasattr(length, "__index__") for length in lengths):
        raise UsageError(f"size must be a whole number or a tuple of them, not {size!r}")
    shape = tuple(as_integer(length, "size", minimum=0) for length in lengths)
    return shape, prod(shape)
