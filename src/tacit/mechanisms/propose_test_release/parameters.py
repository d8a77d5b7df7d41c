"""What the parameters of propose-test-release are checked for."""

from __future__ import annotations

from fractions import Fraction

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.errors import UsageError

__all__ = ["read_delta", "read_split"]


def read_delta(delta: Number) -> Fraction:
    """Read a delta within (0, 1/2): beyond that the test would pass by guessing."""
    found = as_fraction(delta, "delta")
    if not 0 < found < Fraction(1, 2):
        raise UsageError(f"delta must be above 0 and below 1/2, not {show(found)}")
    return found


def read_split(split: Number | None, what: str) -> Fraction | None:
    """Read the share of epsilon for a test or a search, strictly between 0 and 1."""
    if split is None:
        return None
    found = as_fraction(split, "split")
    if not 0 < found < 1:
        raise UsageError(f"split is the share of epsilon for the {what}, in (0, 1): {show(found)}")
    return found
