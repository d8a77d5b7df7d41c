"""The names of the bins between edges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from tacit.arithmetic.exact import show

__all__ = ["bin_names"]


def bin_names(edges: Sequence[Fraction]) -> list[str]:
    """Name the bins between edges.

    >>> bin_names([Fraction(0), Fraction(1, 2), Fraction(1)])
    ['[0, 0.5)', '[0.5, 1]']
    """
    names = [f"[{show(a)}, {show(b)})" for a, b in itertools.pairwise(edges)]
    return [*names[:-1], names[-1][:-1] + "]"]
