"""The step of a chain that adds up the moments of a column by group, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import as_fraction, as_integer, show
from tacit.core import Number, Space, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.report.text.vocabulary import (
    clamped_column,
    for_each_group,
    rows_in_all,
    say_step,
)
from tacit.tables.chain.row_steps import VectorStep

__all__ = ["MomentsByGroup"]


@register
@dataclass(frozen=True)
class MomentsByGroup(VectorStep):
    """Split every row of a column between the Bernstein polynomials of a degree, and add up.

    A value x in [lower, upper] becomes ``y = (x - lower) / (upper - lower)`` in [0, 1], and its row
    is divided between ``B_j(y) = C(degree, j) y^j (1 - y)^(degree - j)``, j = 0..degree.  Degree 1
    gives the two one-sided sums ``sum (1 - y)`` and ``sum y``; degree 2 serves the variance too.
    With ``missing`` a last coordinate counts rows without a value; else they are left out.

    **Map.** ``d -> d`` in L1: the polynomials are not negative and sum to one (the binomial
    theorem), so a row moves the coordinates of its group by one in all; a row without a value moves
    one coordinate by one.  In L2 no more, since L2 is at most L1.  So count, sum, mean and variance
    come out of one vector at the sensitivity of a single count, where separate noisy sums would
    each be charged.

    All of it on the grid: y is a multiple of ``1 / cells``, hence ``B_j`` one of
    ``1 / cells^degree``, and weights are multiples of ``1 / one``.
    """

    column: str
    lower: str
    upper: str
    cells: int
    degree: int
    missing: bool
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "moments"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        cells = as_integer(self.cells, "cells", minimum=1)
        degree = as_integer(self.degree, "degree", minimum=1)
        if degree > 2:
            raise UsageError("moments are of degree 1 or 2")
        grid = Fraction(1, as_integer(self.one, "one", minimum=1) * cells**degree)
        return self._end(space, Number("float", grid=grid), Fraction(1))


def _step_words(step: Mapping[str, Any]) -> str:
    return f"Add up {clamped_column(step)}, from below and from above{for_each_group(step)}"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    """Say a distance in the units of what is asked, whatever the values were rescaled to.

    A row adds one to a count, and to a sum at most the bound that is farther from zero; a vector of
    moments that moves by d (of rows whose shares make up one each) moves them by d times as much.
    """
    rows, moved = rows_in_all(step, shown), as_fraction(step["distance"])
    low, high = as_fraction(step["lower"]), as_fraction(step["upper"])
    told = f"{rows}, and the sum of {step['column']} by {show(moved * max(abs(low), abs(high)))}"
    if step["degree"] == 1:
        return told
    return f"{told}, that of squares above {show(low)} by {show(moved * (high - low) ** 2)}"


say_step("moments", _step_words, _moves)
