"""Which aggregates one part answers, and how fine the grid of each is."""

from __future__ import annotations

from typing import Any

from tacit.tables.answers.moments import MomentsPart
from tacit.tables.answers.total import SumPart
from tacit.tables.chain.part import Part
from tacit.tables.spec.aggregate import Aggregate

__all__ = [
    "QUANTILE_BITS",
    "SQUARE_BITS",
    "SUM_BITS",
    "global_bits",
    "local_bits",
    "lone_sum",
    "place",
]

QUANTILE_BITS = 16
"""Of the candidates for a quantile."""
SQUARE_BITS = 20
"""Where squares are added up."""
SUM_BITS = 31
"""Where values are."""


def place(aggregate: Aggregate) -> Any:
    """Return what the aggregates that one part answers have in common."""
    if aggregate.family in ("count", "people"):
        return aggregate.family
    if aggregate.method is not None:
        return ("local", aggregate.kind, str(aggregate))
    return (
        aggregate.family,
        aggregate.column,
        aggregate.lower,
        aggregate.upper,
        aggregate.q,
        aggregate.edges,
    )


def global_bits(aggregate: Aggregate) -> int:
    """The bits of the grid of the global method."""
    if aggregate.family == "quantile":
        return QUANTILE_BITS
    return SQUARE_BITS if aggregate.kind in ("var", "std") else SUM_BITS


def local_bits(aggregate: Aggregate) -> int:
    """The bits of the grid that records are counted on."""
    return QUANTILE_BITS if aggregate.family == "quantile" else SQUARE_BITS


def lone_sum(part: Part) -> Part:
    """A sum of which nothing else is asked has the least noise alone."""
    if isinstance(part, MomentsPart) and part.kinds == {"sum"}:
        return SumPart(part.column, part.grid)
    return part
