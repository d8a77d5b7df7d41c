"""Top-coding: bring a column into public bounds, and see on public data what that changes."""

# **Why clamping is safe.**  A record is clamped without a look at the others, so two data sets that
# differ in ``k`` records differ in at most ``k`` after clamping: no privacy is spent.  What it buys
# is a finite sensitivity.  The bounds have to be public; bounds read off the data reveal something
# of the extreme records.
#
# **What it costs.**  Bias: everything beyond a bound is pulled to it, so means, sums and variances
# of skewed columns shrink.  Narrow bounds need little noise and give much bias, wide ones the
# reverse.
#
# **Why the count is not for private data.**  How many values a policy changes is itself an exact
# statistic of the column, and can single a person out.  So it is shown for synthetic or public data
# only, and the caller has to say that the data are; to clamp private data, chain
# :class:`tacit.transformations.rows.Clamp`, which says nothing.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction, float_down, float_up, show
from tacit.calls import public
from tacit.errors import UsageError


@dataclass(frozen=True)
class TopCoded:
    """A column in bounds, and what changed.

    Attributes:
        values: the clamped column, in its own order; missing values (NaN) stay missing.
        lower: the lower bound.
        upper: the upper bound.
        below: how many values were raised to ``lower``.
        above: how many values were lowered to ``upper``.
        missing: how many values are missing.
        shift: how far the mean of the values that are there moved (nan without any, or where an
            infinite value was clamped).
    """

    values: npt.NDArray[np.float64 | np.int64] = field(repr=False)
    lower: Fraction
    upper: Fraction
    below: int
    above: int
    missing: int
    shift: float

    @property
    def changed(self) -> int:
        """The number of changed values."""
        return self.below + self.above

    def __str__(self) -> str:
        total = len(self.values)
        share = f" ({self.changed / total:.2%})" if total else ""
        return (
            f"{self.changed} of {total} values{share} would change: {self.below} below "
            f"{show(self.lower)}, {self.above} above {show(self.upper)}; "
            f"the mean moves by {self.shift:.6g}"
        )


@public
def top_code(
    values: Iterable[object], lower: Number, upper: Number, *, data_are_public: bool = False
) -> TopCoded:
    """Clamp a public or synthetic column, and count what the policy changes.

    Args:
        values: one column of numbers: an array, a series or a list.
        lower: the smallest value to keep.
        upper: the largest value to keep, above ``lower``.
        data_are_public: say ``True`` if the column is public or synthetic; the counts must not be
            shown for private data.

    Raises:
        UsageError: private data, a column that is not numbers or has more than one axis, bounds
            that are not numbers or out of order.

    >>> print(top_code([-3, 20, 31, 40, 250], 0, 99, data_are_public=True))
    2 of 5 values (40.00%) would change: 1 below 0, 1 above 99; the mean moves by -29.6
    """
    if data_are_public is not True:
        raise UsageError(
            "how many values a policy changes is an exact count, so it is shown for public or "
            "synthetic data only: pass data_are_public=True if they are; to clamp private data, "
            "chain clamp(lower, upper), which counts nothing"
        )
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        raise UsageError(f"lower must be below upper, but {show(low)} >= {show(high)}")
    column = _column(values)
    low_float, high_float = float_up(low), float_down(high)  # the outermost floats that are inside
    below, above = column < low_float, column > high_float
    coded = np.clip(column, low_float, high_float)
    there = ~np.isnan(column)
    with np.errstate(invalid="ignore"):
        moved = (coded - column)[there]
    shift = float(moved.mean()) if moved.size and np.isfinite(moved).all() else float("nan")
    return TopCoded(
        coded, low, high, int(below.sum()), int(above.sum()), int((~there).sum()), shift
    )


def _column(values: Iterable[Any]) -> npt.NDArray[np.float64]:
    try:
        array = np.asarray(values if hasattr(values, "__array__") else list(values))
        if array.dtype.kind in "mMUSV":
            raise TypeError
        column = array.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError("values must be one column of numbers") from None
    if column.ndim != 1:
        raise UsageError(f"values must be one column, not an array of {column.ndim} axes")
    return column
