"""Edges as callers write them."""

from __future__ import annotations

from typing import Any

from tacit.arithmetic.exact import Number
from tacit.errors import UsageError, said

__all__ = ["listed"]


def listed(edges: Any) -> list[Number]:
    """Return edges as a list, or say that a column is text."""
    if not hasattr(edges, "__iter__"):
        raise UsageError(f"a column is named by text, not by {said(edges)}")
    return list(edges)
