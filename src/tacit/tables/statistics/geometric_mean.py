"""The geometric mean of a column within positive bounds."""

# **Logarithms.**  A value is a point x of the public grid of the column.  Its logarithm is a whole
# number, ``l(x) = L(x) - L(low)`` with L(x) the logarithm to base 2 in units of ``2^-24``, by the
# method below: whole numbers alone, so the same on every machine, and it rises with x.  L is within
# ``2^-24 + 2^-29`` of the logarithm.
#
# *Method.*  Write x as ``2^e m`` with m in [1, 2).  Squaring m doubles its logarithm, which is then
# 1 or more exactly where the square is 2 or more: that is the next binary digit, and the square is
# halved there.  m has 31 bits behind the point and its squares are cut there, which takes less than
# ``2^-30`` from the logarithm of the i-th square and ``2^-30 / 2^i`` from the result: less than
# ``2^-29`` in all, and the digits after the last one ``2^-24``.
#
# **Map.**  With A the logarithm of the upper bound, a row adds ``A - l`` to one sum and ``l`` to
# another: A in all, in L1, so no more in L2.  In units of A it is ``d -> d``.  The sums are whole
# numbers, of the counts of the points that occur.
#
# **Interval.**  The mean of the logarithms has Fieller's interval, as a mean has
# (:mod:`tacit.tables.statistics.moments`).  The geometric mean is the exponential of it, which
# rises; so that of both ends is an interval with the same coverage.

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, show
from tacit.calls import public
from tacit.core import Number, Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.report.text import clamped_column, for_each_group, say_step
from tacit.tables.noise import Array, Estimate, GridNoise
from tacit.tables.statistics.base import (
    SQUARE_BITS,
    Aggregate,
    Clamped,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.moments import NoisyMoments
from tacit.tables.statistics.part import Part, SplitRowsPart
from tacit.tables.steps import VectorStep

_DIGITS = 24  # of a logarithm, behind the point
_POINT = 31  # where the point of m is


def binary_logarithms(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the logarithms to base 2 of whole numbers above zero, in units of ``2^-24``.

    >>> (binary_logarithms(np.array([1, 2, 3, 1 << 40])) / 2**24).round(6).tolist()
    [0.0, 1.0, 1.584962, 40.0]
    """
    whole = np.asarray(numbers, dtype=np.uint64)
    exponents = np.zeros(whole.shape, dtype=np.uint64)
    for power in (32, 16, 8, 4, 2, 1):
        more = (whole >> exponents >> np.uint64(power)) > 0
        exponents += more.astype(np.uint64) * np.uint64(power)
    point = np.uint64(_POINT)
    down, up = (np.maximum(exponents, point) - each for each in (point, exponents))
    m = (whole >> down) << np.where(exponents < point, up, np.uint64(0))
    result = exponents
    for _ in range(_DIGITS):
        m = (m * m) >> point
        carry = m >> np.uint64(_POINT + 1)
        m >>= carry
        result = (result << np.uint64(1)) | carry
    return result.astype(np.int64)


def _between(first: int, last: int) -> int:
    """Return the logarithm of one whole number over another, in whole units."""
    low, high = binary_logarithms(np.array([first, last])).tolist()
    return int(high - low)


@register
@dataclass(frozen=True)
class LogarithmsByGroup(VectorStep):
    """Split every row by its logarithm between the logarithms of the bounds, and add up."""

    # The map is proven in the module: ``d -> d``, of rows whose two shares make up one.  ``total``
    # is the logarithm of the upper bound over the lower, in whole units.

    column: str
    lower: str
    upper: str
    cells: int
    total: int
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "logarithms"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        cells, total, one = (
            as_integer(getattr(self, n), n, minimum=1) for n in ("cells", "total", "one")
        )
        low, high = as_fraction(self.lower), as_fraction(self.upper)
        if not 0 < low < high:
            raise UsageError("logarithms are of numbers above zero, from a lower to an upper bound")
        ends = [end * cells / (high - low) for end in (low, high)]  # in steps of the grid
        if not all(end.denominator == 1 and end < 1 << 63 for end in ends):
            raise UsageError("the bounds of logarithms are points of the grid")
        if total != (largest := _between(int(ends[0]), int(ends[1]))):
            raise UsageError(f"the logarithm of the bounds is {largest}, not {total}")
        return self._end(space, Number("float", grid=Fraction(1, one * total)), Fraction(1))


def _step_words(step: Mapping[str, Any]) -> str:
    return (
        f"Add up the logarithms of {clamped_column(step)}, from below and from above"
        f"{for_each_group(step)}"
    )


say_step(LogarithmsByGroup.name, _step_words)


class GeometricMeanPart(SplitRowsPart):
    """The geometric mean of a column; see the module."""

    kind = "geometric_mean"
    shares = 2

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"geometric mean of {self.column}"

    @property
    def row(self) -> int:
        """The logarithm of the upper bound over the lower."""
        return _between(self.grid.first, self.grid.last)

    def split(self, cells: NDArray[np.int64], weights: NDArray[Any]) -> list[Any]:
        """Return the sums of the logarithms, from above and from below."""
        first = np.array([self.grid.first])
        above = binary_logarithms(self.grid.first + cells) - binary_logarithms(first)
        low = int((above.astype(object) * weights).sum())
        return [self.row * int(weights.sum()) - low, low]

    def step(self, **fields: Any) -> Step:
        """Return the step that adds up logarithms."""
        return LogarithmsByGroup(total=self.row, **fields)

    def estimate(self, noisy: Array, law: GridNoise, level: float) -> Estimate:
        """Return the geometric mean."""
        low, high = (math.log(self.grid.value(at)) for at in (0, self.grid.cells))
        logarithm = NoisyMoments(noisy, law, low, high, 1, False, level).mean()
        value, lower, upper = map(np.exp, (logarithm.value, logarithm.lower, logarithm.upper))
        return Estimate(value, value * logarithm.standard_error, lower, upper)

    def even(self, rows: float) -> Any:
        """Return the sums for logarithms spread evenly over those of the bounds."""
        return [rows / 2, rows / 2]


@public
def geometric_mean(
    column: str,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the geometric mean of a column within positive bounds, such as of incomes or ratios.

    It is the exponential of the mean logarithm over the values that are not missing, each clamped
    to [lower, upper].  Its interval is a factor away on either side, about the same wherever the
    values are.

    Args:
        column: the name of the column.
        lower: the public lower bound, above zero, in the unit of the column; by default that of the
            declared data set.  Values below it, zero and negative ones too, count as this one.
        upper: the public upper bound, likewise; at most about a million times the lower one, beyond
            which the grid of the column cannot tell small values apart.
        method: ``"global"``, the only one.

    Raises:
        UsageError: bounds that are reversed, a lower one that is not above zero or that the grid
            cannot tell from zero, another method.

    >>> print(geometric_mean("income", 100, 100_000))
    geometric_mean(income, 100, 100000)
    """
    only_global("geometric_mean", method)
    made = bounded(GeometricMean, column, lower, upper)
    _check(made.clamped[0])
    return made


def _check(one: Clamped) -> None:
    if one.lower is not None and one.lower <= 0:
        raise UsageError(
            f"the geometric mean of {one.column!r} needs a lower bound above zero, not "
            f"{show(one.lower)}: the least value that counts; smaller ones count as this one"
        )


_LEAST = 1 << 4  # of steps of the grid that the lower bound is from zero, where it has fractions


@register_statistic
@dataclass(frozen=True)
class GeometricMean(TableStatistic):
    """The statistic ``geometric_mean``."""

    kind = "geometric_mean"
    elsewhere = ("gmean", "geomean")
    order = 46
    make = staticmethod(geometric_mean)
    help = "The geometric mean, within bounds above zero."
    noun = "the geometric mean of {column}"
    bits = SQUARE_BITS
    lowest = "1"
    in_lab = "ask tc.mean of the logarithms for sensitivities"

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        """Return the statistic with other bounds of its column."""
        _check(bounded[0])
        return super().with_bounds(bounded)

    def part(self, setting: Setting, before: Part | None) -> Part:
        grid, column = setting.grid(self, self.bits), self.require_column()
        if grid.first < (1 if grid.step == 1 else _LEAST):
            raise UsageError(
                f"the bounds of {column!r} are too far apart for a geometric mean: the grid of the "
                f"column has steps of {show(grid.step)}, and the lower bound must be {_LEAST} of "
                "them or more; give a greater lower bound or a smaller upper one"
            )
        return GeometricMeanPart(column, grid)
