"""Edges and percentiles as callers write them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.errors import UsageError

__all__ = ["listed", "percent"]


def listed(edges: Any) -> list[Number]:
    """Return edges as a list, or say that a column is text."""
    if not hasattr(edges, "__iter__"):
        raise UsageError(f"a column is named by text, not by {edges!r}")
    return list(edges)


def percent(q: object) -> Fraction:
    """Return a percentile within 0..100."""
    exact = as_fraction(q, "a percentile")
    if not 0 <= exact <= 100:
        raise UsageError(f"a percentile must be from 0 to 100, not {show(exact)}")
    return exact
