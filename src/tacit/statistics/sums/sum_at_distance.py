"""Local sensitivity of counts, histograms and sums at a distance, exact.

**Count.**  One record more or less is one; a substitution changes nothing.

**Histogram**, in the L1 norm.  A record that joins or leaves changes one count by one.  One that is
substituted moves from its bin to any other: two counts change by one, if the bounds reach two bins.

**Sum, substitution.**  The record ``v`` that moves changes the sum by at most ``max(U - v, v -
L)``, and the smallest or the largest record is worst.  After one substitution there can be a
record at ``L``, which can then go to ``U``: ``A(t) = U - L`` for ``t >= 1``.

**Sum, add or remove.**  A record that joins or leaves changes the sum by itself: at most ``max(|L|,
|U|)``, attained by one that joins.  Where records only leave, by the largest magnitude in the data:
other records leaving first add nothing.  The last record may leave: all three have a value on no
records.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tacit.statistics.base.question import Relation
from tacit.statistics.base.step_function import PointsAtDistance
from tacit.statistics.samples.clamped_sample import Clamped

__all__ = ["count_at_distance", "histogram_at_distance", "sum_at_distance"]


def count_at_distance(data: Clamped, relation: Relation) -> PointsAtDistance:
    """``A(t)`` of the number of records.

    >>> count_at_distance(Clamped([1, 2], 0, 9), "unbounded").at(0)
    Fraction(1, 1)
    """
    return _from([Fraction(relation != "bounded")])


def histogram_at_distance(data: Clamped, relation: Relation, bins: int) -> PointsAtDistance:
    """``A(t)`` of the counts of bins, ``bins`` of which lie within the bounds at least in part.

    >>> histogram_at_distance(Clamped([1, 2], 0, 9), "bounded", 3).at(0)
    Fraction(2, 1)
    """
    if relation == "bounded":
        return _from([Fraction(2 if bins > 1 else 0)])
    return count_at_distance(data, relation)


def sum_at_distance(data: Clamped, relation: Relation) -> PointsAtDistance:
    """``A(t)`` of the sum.

    >>> a = sum_at_distance(Clamped([4, 6], 0, 9), "bounded")
    >>> a.at(0), a.at(1)
    (Fraction(6, 1), Fraction(9, 1))
    """
    low, high = data.bounds
    if relation == "bounded":
        return _from([max(high - data.least, data.most - low), high - low])
    if relation == "remove":
        return _from([max(abs(data.least), abs(data.most))])
    return _from([max(-low, high)])


def _from(values: list[Fraction]) -> PointsAtDistance:
    unit = Fraction(1, math.lcm(*(v.denominator for v in values)))
    whole = np.array([int(v / unit) for v in values], dtype=object)
    return PointsAtDistance(np.arange(len(values)), whole, unit)
