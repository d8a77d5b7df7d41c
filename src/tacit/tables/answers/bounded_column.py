"""A question to one column within public bounds, by a method: what the functions that ask share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.errors import UsageError, said
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.spec.method import read_method

__all__ = ["bounded", "with_method"]


def with_method(
    made: Aggregate,
    method: str,
    bound: Number | None,
    bins: int | None,
    distribution: str | None,
    rows: int | None,
) -> Aggregate:
    """Return an aggregate with the method that is asked for."""
    asked = read_method(made.kind, made.column, method, bound, bins, distribution, rows)
    return replace(made, method=asked)


def bounded(
    kind: str,
    column: str | None,
    lower: Number | None,
    upper: Number | None,
    q: Fraction | None = None,
) -> Aggregate:
    """Return an aggregate of a column clamped to public bounds, or of none.

    Raises:
        UsageError: one bound without the other, reversed ones, or a column that is no name.
    """
    if column is None:
        if lower is not None or upper is not None:
            raise UsageError(f'name the column: tc.{kind}("column", lower, upper)')
        return Aggregate(kind, q=q)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {said(column)}")
    if lower is None and upper is None:
        return Aggregate(kind, column, q=q)  # a data set may declare them: see plan/declared.py
    if isinstance(lower, (tuple, list)) and len(lower) == 2:
        shown = ", ".join(map(repr, lower))
        raise UsageError(f"the bounds are two arguments, not one: tc.{kind}({column!r}, {shown})")
    if lower is None or upper is None:
        raise UsageError(
            f"{kind} of {column!r} needs both bounds, such as tc.{kind}({column!r}, 0, 100), or "
            "none where a data set declares them"
        )
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        if low == high:
            raise UsageError(
                f"the bounds of {column!r} are equal, both {show(low)}: every value would count as "
                f"{show(low)}. Give the least and the greatest value that counts, such as "
                f"tc.{kind}({column!r}, 0, 100)"
            )
        raise UsageError(
            f"the bounds of {column!r} must be in order: lower {show(low)} is not below upper "
            f"{show(high)}"
        )
    return Aggregate(kind, column, low, high, q=q)
