"""What releases from samples share: which records are kept, and how the loss shrinks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import exp, log

__all__ = ["amplified", "kept_records", "number_of_records"]


def number_of_records(data: Any) -> int:
    """Return how many records a column or a table in memory has."""
    return len(next(iter(data.values()))) if isinstance(data, dict) else len(data)


def kept_records(data: Any, kept: Any) -> Any:
    """Return the records of a column or a table where ``kept`` is true, in their order.

    >>> kept_records({"x": [3, 4, 5]}, np.array([True, False, True]))
    {'x': [3, 5]}
    """
    if isinstance(data, dict):
        return {name: kept_records(column, kept) for name, column in data.items()}
    if isinstance(data, np.ndarray):
        return data[kept]
    return [value for value, yes in zip(data, kept.tolist(), strict=True) if yes]


def amplified(epsilon: Fraction, delta: Fraction, share: Fraction) -> tuple[Fraction, Fraction]:
    """Return ``ln(1 + share (e^epsilon - 1))`` and ``share delta``; logarithms are rounded up.

    >>> amplified(Fraction(1), Fraction(1, 10), Fraction(1)), amplified(Fraction(0), Fraction(1), 0)
    ((Fraction(1, 1), Fraction(1, 10)), (Fraction(0, 1), Fraction(0, 1)))
    """
    if not 0 < share < 1:
        return share * epsilon, share * delta
    grown = log(1 + share * (exp(epsilon, 96) - 1), 96).rounded(80).upper
    return min(epsilon, grown), share * delta
