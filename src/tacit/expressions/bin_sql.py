"""The bin that an offset falls into, in SQL: by division, or by a tree of choices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tacit.expressions.dialect import Dialect

__all__ = ["bins_sql"]


def bins_sql(z: str, edges: Sequence[int], dialect: Dialect) -> str:
    """Return the SQL of the bin of an offset that is within the edges."""
    width, last = edges[1] - edges[0], len(edges) - 2
    if any(b - a != width for a, b in itertools.pairwise(edges)):
        return _bin_sql(z, list(edges[1:-1]), 0, dialect)
    bin_ = dialect.divide(
        f"({z} - {dialect.literal(edges[0])})", dialect.literal(width), wide=False
    )
    return f"least({bin_}, {dialect.literal(last)})"


def _bin_sql(z: str, cuts: list[int], first: int, dialect: Dialect) -> str:
    """Return the SQL of how many cuts are at or below z: a balanced tree of choices."""
    if not cuts:
        return dialect.literal(first)
    middle = len(cuts) // 2
    below = _bin_sql(z, cuts[:middle], first, dialect)
    above = _bin_sql(z, cuts[middle + 1 :], first + middle + 1, dialect)
    return f"case when {z} < {dialect.literal(cuts[middle])} then {below} else {above} end"
