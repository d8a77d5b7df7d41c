"""Quantiles (median, percentiles) with linear interpolation, and their sensitivities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_percent, as_share
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.extreme_records import Joined, Ranked
from tacit.statistics.base.monotone_statistic import Monotone
from tacit.statistics.base.question import Relation
from tacit.statistics.base.statistic import PublicRange
from tacit.statistics.quantiles.quantile_at_distance import quantile_at_distance
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array, Sample

__all__ = ["Median", "Quantile", "percentile"]


@dataclass(frozen=True)
class Quantile(Monotone, proven=True):
    """The value at position ``q (n - 1)`` of the sorted records, interpolated linearly.

    That is numpy's default and Hyndman and Fan's definition 7 (1996, *The American Statistician*).

    The argument of :mod:`tacit.statistics.base.monotone_statistic` applies: at a fixed size two
    neighbouring ranks weigh ``1 - g`` and ``g``.  Dropping the smallest of ``n`` records moves the
    position, counted in the old ranks, from ``q (n - 1)`` to ``1 + q (n - 2)``, which is
    ``1 - q >= 0`` further up; dropping the largest moves it down by ``q``.

    In ``g(T)`` the lower release sits at position ``p = q (low - 1)`` of ``T`` and the upper one
    at ``m - high + q (high - 1) >= p``.  If both lie between the same two ranks, those weigh ``g -
    g'`` and ``g' - g`` with ``g' >= g``: negative before positive.  If the upper one lies one step
    up, the three ranks weigh ``-(1 - g)``, then ``1 - g' - g`` of either sign, then ``g'``.
    Further up nothing overlaps. Always, the negative weights stand below the positive ones, and
    the number of ranks up to the last negative one is the ``c`` of that argument: four order
    statistics answer every move.

    **Any size**, nested, the smaller release of one record ``v``: say ``f(S) > f(T)``, ``|T| = s +
    k``. Then ``T`` sits ``d`` lower, ``d = k (1 - q)``, and its position is at least ``q k``.  If
    ``d >= 1``, a single record gives ``u_N`` minus the value at position ``q k`` of the smallest
    records; no ``f(S)`` is larger than ``u_N`` and no position or rank value of ``T`` is smaller.
    If ``d < 1``, the weights that do not cancel are at most ``d``, the upper ones meet values at
    most ``u_N``, and the lower ones stand at rank ``k - 1`` or above; a single record gives
    exactly ``d (u_N - u_k)``.

    Args:
        q: from 0 (the minimum) to 1 (the maximum).

    >>> Quantile(Fraction(1, 4)).name
    'percentile(25)'
    """

    q: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_share(self.q))

    @property
    def name(self) -> str:
        """``"percentile(25)"``."""
        return f"percentile({float(100 * self.q):.12g})"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Within the bounds, the middle for no records; it can move by all of the span."""
        return PublicRange(upper - lower, (lower, upper), (lower + upper) / 2)

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds.

        See :mod:`tacit.statistics.quantiles.quantile_at_distance`.
        """
        return quantile_at_distance(self.q, data, relation)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The quantile of every row: what ``np.quantile`` says, bit by bit, in less time.

        NaN sorts to the end of its row.
        """
        ordered = np.sort(rows, axis=1).astype(np.float64)
        last = ordered.shape[1] - 1
        place = last * float(self.q)
        rank = math.floor(place)
        part = place - rank
        low, high = ordered[:, rank], ordered[:, min(rank + 1, last)]
        found = low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
        return np.where(np.isnan(ordered[:, last]), np.nan, found)

    def position(self, size: int) -> tuple[int, Fraction]:
        """The lower rank (from 0) and the weight of the rank above it.

        >>> Quantile(Fraction(1, 2)).position(4)
        (1, Fraction(1, 2))
        """
        place = self.q * (size - 1)
        rank = math.floor(place)
        return rank, place - rank

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact quantile of ascending values."""
        rank, weight = self.position(len(values))
        if not weight:
            return values[rank]
        return (1 - weight) * values[rank] + weight * values[rank + 1]

    def of(self, sample: Sample) -> Fraction:
        """The exact quantile of a sample; only two of its values are read."""
        return self.on(Joined.alone(sample), 0, len(sample))

    def split(self, low: int, high: int, total: int) -> int:
        """The number of ranks up to the last that weighs negative in ``g(T)``."""
        below, g = self.position(low)
        above, h = self.position(high)
        above += total - high
        weights = {below: g - 1, below + 1: -g}
        for rank, weight in ((above, 1 - h), (above + 1, h)):
            weights[rank] = weights.get(rank, Fraction(0)) + weight
        return max((rank + 1 for rank, weight in weights.items() if weight < 0), default=0)

    def on(self, data: Ranked, start: int, size: int) -> Fraction:
        """The exact quantile of ``size`` ranks from ``start`` on."""
        rank, weight = self.position(size)
        lower = data.rank(start + rank)
        return lower + weight * (data.rank(start + rank + 1) - lower) if weight else lower


@dataclass(frozen=True)
class Median(Quantile):
    """The middle record, or the mean of the two in the middle.

    >>> from tacit.statistics import Records, sensitivity
    >>> sensitivity("median", over=Records([1, 2, 3, 10, 11], size=3), relation="bounded").value
    Fraction(8, 1)
    """

    q: Fraction = Fraction(1, 2)

    @property
    def name(self) -> str:
        """``"median"``."""
        return "median"


def percentile(q: Number) -> Quantile:
    """Return the ``q``-th percentile as a statistic, ``q`` from 0 to 100.

    Raises:
        UsageError: a number outside 0 to 100.

    >>> percentile(90).q
    Fraction(9, 10)
    """
    return Quantile(as_percent(q) / 100)
