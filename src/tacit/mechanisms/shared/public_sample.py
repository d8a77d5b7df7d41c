"""Public or synthetic records that stand for data that nobody has seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit.arithmetic.exact import as_integer

__all__ = ["listed", "resized"]


def resized(like: Iterable[Any], n: int | None) -> list[Any]:
    """Return n records of the spread of ``like``: its order statistics at even shares.

    >>> resized([3, 1, 2], 6)
    [1, 1, 2, 2, 3, 3]
    """
    records = sorted(like)
    if n is None:
        return records
    size = as_integer(n, "n", minimum=1)
    return [records[(2 * i + 1) * len(records) // (2 * size)] for i in range(size)]


def listed(like: Iterable[Any]) -> Any:
    """Return records that can be read: a collection as it is, anything else as a list."""
    return like if hasattr(like, "__len__") else list(like)
