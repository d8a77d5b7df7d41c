"""How far apart the quartiles of a column are: the kind ``interquartile_range``.

**Mechanism.**  Both quartiles, and an end on each side of each, are points of the grid that the
exponential mechanism chooses (:mod:`tacit.tables.chain.quantile_choice`): six choices, of which
the two quartiles take half of the loss and the four ends the other half.  Their losses add up, by
sequential composition, in pure DP and in zCDP.  All else is post-processing: the answer is the
third quartile less the first, held at zero where the choices have crossed.

**Interval.**  Each end is on the wrong side of its quartile with probability at most a quarter of
``1 - level``.  So with probability ``level`` or more all four are right (the union bound), and then
``low_1 <= Q_1 <= high_1`` and ``low_3 <= Q_3 <= high_3``, whatever quartiles are taken where the
rows leave a choice, interpolated ones too; hence ``low_3 - high_1 <= Q_3 - Q_1 <= high_3 - low_1``.
The range is never below zero, so an end of the interval below zero is moved to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.core import Step
from tacit.tables.answers.aggregate import (
    QUANTILE_BITS,
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.answers.bounded_column import bounded
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import LEVEL, Noise, Part
from tacit.tables.chain.quantile_choice import ChoicePart, ChooseQuantile, error_in_cost

__all__ = ["InterquartileRangePart", "interquartile_range"]

_QUARTILES = Fraction(1, 4), Fraction(3, 4)
_POINT, _END = Fraction(1, 4), Fraction(1, 8)
"""The shares of the loss: of each of two quartiles, and of each of four ends."""


@public
def interquartile_range(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the interquartile range of a column clamped to [lower, upper].

    Between the first and the third quartile lies the middle half of the rows.  The answer is in the
    unit of the column, and has an interval.  Without a column it is a statistic, for
    :func:`tacit.sensitivity`.

    Args:
        column: the name of the column.
        lower: the public lower bound.
        upper: the public upper bound.
        method: ``"global"``, the only one.

    Raises:
        UsageError: bounds missing or reversed, or another method.

    Source: McSherry and Talwar 2007 for the choice of each quartile.

    >>> print(interquartile_range("age", 0, 100))
    interquartile_range(age, 0, 100)
    """
    only_global("interquartile_range", method)
    return bounded("interquartile_range", column, lower, upper)


@dataclass(frozen=True)
class InterquartileRangePart(ChoicePart):
    """The interquartile range of a column, with an interval; see the module."""

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"interquartile range of {self.column}"

    def _choices(self, noise: Noise) -> list[tuple[Fraction, ChooseQuantile]]:
        """Return the choices of both quartiles, then of the ends of the first and of the third."""
        beta = (1 - LEVEL) / 4
        points = [(q, self.choice(q, noise, _POINT)) for q in _QUARTILES]
        ends = [
            (q, self.choice(q, noise, _END, side, beta)) for q in _QUARTILES for side in (-1, 1)
        ]
        return points + ends

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chains: the costs of a quartile, and a choice among the candidates."""
        choices = self._choices(noise)
        return [(self.costs(q, size, by, noise.one), choice) for q, choice in choices]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the range; it has an interval and no standard error."""
        first, third, low_1, high_1, low_3, high_3 = self.points(released)
        value = np.maximum(third - first, 0.0)
        low, high = np.maximum(low_3 - high_1, 0.0), np.maximum(high_3 - low_1, 0.0)
        unknown = np.full_like(value, np.nan)
        return {"interquartile_range": Estimate(value, unknown, low, high)}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return how far off in rank each quartile is, both within that at the level, in *rows*."""
        return self.half_width(kind, noise, rows, LEVEL)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far off in rank both quartiles are at most, at a level, in *rows*."""
        _, choice = self._choices(noise)[0]
        slack = error_in_cost(self.grid.cells, Fraction(choice.scale), (1 - level) / 2)
        return slack / (4 * noise.one)


class _InterquartileRange(Kind):
    @property
    def bits(self) -> int:
        return QUANTILE_BITS

    def statistic(self, asked: Aggregate) -> Any:
        from tacit.statistics import lookup

        return lookup(self.name)

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        return InterquartileRangePart(asked.require_column(), setting.grid(asked, self.bits))


register_kind(
    _InterquartileRange(
        name="interquartile_range",
        order=105,
        make=interquartile_range,
        help="How far apart the quartiles are.",
        noun="the interquartile range of {column}",
    )
)
