"""The range of a column, its maximum minus its minimum, with an interval."""

# **Mechanism.**  A low and a high point of the grid, each chosen by the exponential mechanism as
# ``min`` and ``max`` choose theirs (:mod:`tacit.tables.statistics.quantiles`): two choices, of
# half of the loss each.  Their losses add up, by sequential composition, in pure DP and in zCDP.
# All else is post-processing: the answer is the high point minus the low one, and zero where the
# choices have crossed.
#
# **Interval.**  Values are those on the grid, as for every quantile.  Each choice aims inwards:
# with probability ``1 - (1 - level) / 2`` or more the low point is at or above the minimum, and
# likewise the high point at or below the maximum (:meth:`ChoicePart.choice`).  So with probability
# ``level`` or more both are (the union bound), and then ``high - low <= max - min``; so is zero, to
# which a negative difference is moved.  The range of a column clamped to ``[lower, upper]`` is at
# most ``upper - lower``.  The interval is from the answer to ``upper - lower``.
#
# No upper end below that can be proven: the maximum may be one row that no private answer sees.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.core import Step
from tacit.errors import UsageError, shown_value
from tacit.mechanisms.private_quantile import error_in_cost
from tacit.tables.noise import Estimate
from tacit.tables.statistics.base import (
    QUANTILE_BITS,
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.part import LEVEL, Noise, Part
from tacit.tables.statistics.quantile_choice import ChoicePart, ChooseQuantile

# The quantile of the minimum and of the maximum, and the side of it to aim at: inwards.
_ENDS = ((Fraction(0), 1), (Fraction(1), -1))
_SHARE = Fraction(1, 2)  # of the loss, for each of the two


@public
def value_range(
    column: str,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the range of a column clamped to [lower, upper]: its maximum minus its minimum.

    The answer is in the unit of the column.  It is a private maximum minus a private minimum, each
    of which a handful of rows may be beyond, so it is rather too small than too large: with a
    probability of 95% or more it is at most the range, and the interval is from the answer to
    ``upper - lower``.  Where outliers must not count, ask for :func:`interquartile_range`.

    Args:
        column: the name of the column.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    Raises:
        UsageError: bounds that are reversed, another method, a column that is not a name.

    Source: McSherry and Talwar 2007 for the choice of each end.

    >>> print(value_range("age", 0, 100))
    value_range(age, 0, 100)
    """
    only_global("value_range", method)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    return bounded(ValueRange, column, lower, upper)


@dataclass(frozen=True)
class ValueRangePart(ChoicePart):
    """The range of a column, with an interval; see the module."""

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"range of {self.column}"

    def _choices(self, noise: Noise) -> list[tuple[Fraction, ChooseQuantile]]:
        """Return the choices of the low and of the high point, each with its quantile."""
        beta = (1 - LEVEL) / 2
        return [(q, self.choice(q, noise, _SHARE, side, beta)) for q, side in _ENDS]

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chains: the costs of an end, and a choice among the candidates."""
        choices = self._choices(noise)
        return [(self.costs(q, size, by, noise.one), choice) for q, choice in choices]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the range; it has an interval and no standard error."""
        low, high = self.points(released)
        value = np.maximum(high - low, 0.0)
        unknown = np.full_like(value, np.nan)
        widest = float(self.grid.value(self.grid.cells)) - float(self.grid.value(0))
        return {"value_range": Estimate(value, unknown, value, np.full_like(value, widest))}

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far in rank both points are from their ends at most, at a level, in *rows*."""
        # The target is not at the end but ``target`` inwards of it, and the choice is off from
        # there by at most the slack.
        _, choice = self._choices(noise)[0]
        slack = error_in_cost(self.grid.cells, Fraction(choice.scale), (1 - level) / 2)
        return (slack + abs(choice.target)) / noise.one


@register_statistic
@dataclass(frozen=True)
class ValueRange(TableStatistic):
    """The statistic ``value_range``."""

    kind = "value_range"
    order = 108
    make = staticmethod(value_range)
    help = "The range: a high value minus a low value."
    noun = "the range of {column} (about its maximum minus its minimum)"
    bits = QUANTILE_BITS
    in_lab = "ask tc.min and tc.max for sensitivities"

    def part(self, setting: Setting, before: Part | None) -> Part:
        return ValueRangePart(self.require_column(), setting.grid(self, self.bits))
