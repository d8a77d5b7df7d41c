"""Quantile scores: how far each candidate is from being a quantile of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_share
from tacit.calls import instead
from tacit.core import (
    LInfinityDistance,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
)
from tacit.transformations.aggregates.prefix_counts import below_and_above, read_points
from tacit.transformations.rows.bin import column_of_numbers
from tacit.transformations.rows.record_distance import linear_map, records_of

__all__ = ["QuantileScores"]


@register
@instead(__init__="Of a column of a table ask tc.percentile('age', 50, 0, 100)")
@dataclass(frozen=True)
class QuantileScores(Step):
    """Score each public candidate by how near it is to the q-quantile of a column; zero is best.

    With q = a / b, the score of c is ``-|(b - a) #{x < c} - a #{x > c}|``, a whole number.  The
    exponential mechanism behind it chooses a candidate near the quantile.

    Args:
        q: between 0 and 1, taken exactly; "1/2" for the median.
        candidates: public numbers, in rising order.

    **Map** (L-infinity).  One record that is added or removed moves the number inside by at most
    ``max(a, b - a)``, so ``d -> max(a, b - a) d``.  One that changes moves it by at most
    ``(b - a) + a = b`` (from below to above), so ``d -> b d``; ``b floor(d / 2)`` under the
    symmetric distance with a public size.  A size does not move the scores of neighbours the same
    way, so the exponential mechanism's ``monotone`` must not be set.  A missing value is nowhere.

    Source: A. Smith, "Privacy-preserving statistical estimation with optimal convergence rates",
    STOC 2011.

    Raises:
        UsageError: q outside 0..1, or candidates that do not rise.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Space(Vector(float), SymmetricDistance())
        >>> scores = column >> QuantileScores("1/2", [0, 5, 10])
        >>> scores([1.0, 6.0, 7.0]).tolist(), scores.map(1)
        ([-3, -1, -3], Fraction(1, 1))
    """

    q: NumberLike
    candidates: Sequence[NumberLike]

    name: ClassVar[str] = "quantile_scores"

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_share(self.q))
        object.__setattr__(self, "candidates", read_points(self.candidates, "candidates"))

    def build(self, space: Space) -> Transformation:
        """Return the scores on a column of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of numbers compared record by record.
        """
        candidates = cast("Sequence[Fraction]", self.candidates)
        element = column_of_numbers(space, self)
        records_of(space, self)
        q = Fraction(self.q)
        under, over = q.denominator - q.numerator, q.numerator
        scores = Vector(Number("int", grid=Fraction(1)), size=len(self.candidates))

        def score(column: Any) -> Any:
            below, above = below_and_above(np.asarray(column), candidates, element.grid)
            costs = [abs(under * b - over * a) for b, a in zip(below, above, strict=True)]
            return scores.read([-cost for cost in costs])

        stability = linear_map(space, max(under, over), q.denominator)
        return Transformation(
            space, Space(scores, LInfinityDistance()), score, stability, step=self
        )
