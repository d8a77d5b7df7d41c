"""The median absolute deviation of a column, from noisy counts of the rows near it."""

# **Mechanism.**  Two cells about the median are chosen, as in
# :mod:`tacit.tables.statistics.near_quantiles`; c is the middle between them.  Then two distances
# r' <= r'' about the median of ``|x - c|`` are chosen by the same mechanism, of the rows folded at
# c. The cells from ``c - r''`` to ``c - r'``, about the median, and from ``c + r'`` to ``c + r''``
# are divided into pieces, and the rows of each piece, of the groups beyond and of what is between
# are counted.
#
# **Map.**  Folding moves rows between cells, one for one: the counts of folded cells change by no
# more than those of the cells.  So the second choice, for a given c, loses what the first does.
# Both choices and the noisy sums of counts compose, adaptively.
#
# **Interval.**  Of the rows' own deviation, on the grid, m being their median.  Let B and F of a
# group of cells be the rows before it and up to it.  Let m be in the group j, which reaches from
# its first cell to before the first cell of the next, and likewise ``m - r`` in i and ``m + r`` in
# k, with r the deviation; it is at most the lesser distance of m from the ends of the grid.
# A median of n numbers, interpolated or not, is below v only if more than ``n/2 - 1`` of them are,
# and above v only if less than ``n/2 + 1`` are at most v.  Of the rows and m, and of the distances
# ``|x - m|`` and r (those of at most r are from i to k, those from after i to before k are less):
#
#     ``F_j > n/2 - 1``,  ``B_j < n/2 + 1``,  ``F_k - B_i > n/2 - 1``,  ``B_k - F_i <= n/2 + 1``.
#
# Each is tested with the noisy counts, at a quarter of the chance ``1 - level``: i, j and k do not
# depend on this noise.  So all pass with probability ``level`` or more.  The interval holds every r
# of all i, j and k that pass: r is ``m - (m - r)``, ``(m + r) - m`` and half of ``(m + r) - (m -
# r)``.  (A median of whole cells is a multiple of 1/2, and r one of 1/4.)  Where m moves within
# what is possible, both ends move with it, so that what is not known of m hardly counts where the
# rows are spread alike on both sides.
#
# Source: Hampel 1974, for the statistic.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.core import Step, register
from tacit.errors import UsageError
from tacit.mechanisms.private_quantile import BinCounts, choose_together
from tacit.report.text import say_step
from tacit.tables.noise import Array, Estimate, GridNoise
from tacit.tables.statistics.base import (
    QUANTILE_BITS,
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.near_quantiles import (
    CountNearQuantiles,
    NearQuantilesPart,
    draws_far,
    edges_about,
    groups_about,
)
from tacit.tables.statistics.part import LEVEL, Noise, Part
from tacit.workload.strategies import Strategy

_HALF = Fraction(1, 2)


def _edges(chosen: NDArray[np.int64], pieces: int, cells: int, far: bool) -> NDArray[np.int64]:
    """Return where groups of cells begin, from two cells and twice two distances.

    >>> _edges(np.array([[10, 12, 6, 8]]), 1, 30, far=True).tolist()
    [[0, 0, 7, 8, 8, 9, 10, 11, 12, 13, 14, 15, 15, 16, 31, 31]]
    """
    twice = chosen[:, :2].sum(axis=1, keepdims=True)
    distances = np.sort(chosen[:, 2:], axis=1)
    left, right = (twice - distances[:, ::-1]) // 2, -(-(twice + distances) // 2)
    every = np.hstack((left, np.sort(chosen[:, :2], axis=1), right))
    if far:  # none was drawn far: the first and the last cell are in their place
        every = np.hstack((np.zeros_like(twice), every, np.full_like(twice, cells)))
    return edges_about(np.clip(every, 0, cells), pieces, cells, far)


@register
@dataclass(frozen=True)
class CountNearDeviation(CountNearQuantiles):
    """Choose cells about the median, and distances about that of the rows; count between them."""

    name: ClassVar[str] = "count_near_deviation"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.qs != ("1/2",):
            raise UsageError(f"a deviation is from the median, the quantile 1/2, unlike {self.qs}")

    def __hash__(self) -> int:
        return super().__hash__()

    @property
    def _groups(self) -> int:
        return groups_about(3, self.pieces, bool(self.far))

    def choose(self, histograms: BinCounts, cells: int) -> list[list[int]]:
        targets = [(_HALF, side * self.reach * 2) for side in (-1, 1)]
        about = choose_together(histograms, cells, targets, self.rate(targets))
        folded = [_folded(*each, sum(pair)) for each, pair in zip(histograms, about, strict=True)]
        far = choose_together(BinCounts(folded), 2 * cells, targets, self.rate(targets))
        return [[*one, *other] for one, other in zip(about, far, strict=True)]

    def edges(self, chosen: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
        return _edges(chosen, self.pieces, cells, bool(self.far))

    @property
    def losses(self) -> list[Fraction]:
        choice, sums = super().losses
        return [choice, choice, sums]


def _folded(at: Any, count: Any, twice: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the distances from a cell, in half cells, and how many rows have each."""
    distances, place = np.unique(np.abs(2 * np.asarray(at) - twice), return_inverse=True)
    rows = np.zeros(len(distances), dtype=np.asarray(count).dtype)
    np.add.at(rows, place.reshape(-1), np.asarray(count))
    return distances.astype(np.int64), rows


def _step_words(step: Mapping[str, Any]) -> str:
    return (
        "Draw 2 values at random about the median, and 2 about the median distance from it; values "
        "nearer to the ranks where an interval should end are more likely. Count the rows between "
        "and beyond these values, and add random noise to the counts"
    )


say_step(CountNearDeviation.name, _step_words)


def _tail(noise: GridNoise, weights: Array, level: float) -> Array:
    """Return t with ``P(|sum of weights * noise| <= t) >= level``, for many weights."""
    size = np.sqrt((weights**2).sum(axis=-1))
    return np.asarray(noise.norm_bound(level) * size + noise.grid * np.abs(weights).sum(axis=-1))


@dataclass(frozen=True)
class AbsoluteDeviationPart(NearQuantilesPart):
    """The median absolute deviation of a column; see the module."""

    choice_share = Fraction(1, 5)  # of each of the two choices
    count_share = Fraction(3, 5)

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"median absolute deviation of {self.column}"

    @property
    def chosen_cells(self) -> int:
        return 4

    @property
    def chosen_together(self) -> int:
        return 2

    @property
    def _counts(self) -> int:
        return groups_about(3, self.pieces, self.far)

    def edges(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        return _edges(chosen, self.pieces, self.grid.cells, self.far)

    def borders(self, chosen: Array) -> tuple[Array, Array]:
        """Return the first and the last cell of each group of cells."""
        most = np.array([1, 1, 2, 2]) * self.grid.cells
        within = np.clip(np.nan_to_num(chosen), 0, most).astype(np.int64)
        edges = self.edges(within).astype(np.float64)
        return edges[:, :-1], edges[:, 1:] - 1

    def last(self, strategy: Strategy, noise: Noise) -> Step:
        """Return the choices and the noisy sums."""
        return CountNearDeviation(**self.near(strategy, noise))

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the deviation; it has an interval and no standard error."""
        strategy = self.strategy(noise.norm)
        chosen, upto = self.counts_upto(strategy, released[0], noise)
        starts, stops = self.borders(chosen)
        before = np.pad(upto, ((0, 0), (1, 0)))[:, :-1]
        law = self.distribution(strategy, self.counting(noise))
        sums = np.vstack(
            (np.zeros((1, strategy.combinations)), np.cumsum(strategy.inverse, axis=0))
        )
        half, each = sums[-1] / 2, 1 - (1 - level) / 2
        median = _tail(law, sums - half, each)
        inside = _tail(law, sums[None, 1:] - sums[:-1, None] - half, each)  # from i to k
        within = _tail(law, sums[None, :-1] - sums[1:, None] - half, each)  # after i, before k
        found = []
        for s, e, b, f in zip(starts, stops, before, upto, strict=True):
            n, full = f[-1] / 2, s <= e
            centre = full & (f - n + median[1:] >= -1) & (b - n - median[:-1] <= 1)
            passes = (f[None] - b[:, None] - n + inside >= -1) & full & full[:, None]
            passes &= b[None] - f[:, None] - n - within <= 1
            i, k = (at[:, None] for at in np.nonzero(passes))
            m, last, j = s[centre], e + 0.75, e[centre] + 0.5
            low = np.maximum(np.maximum(m - last[i], s[k] - j), (s[k] - last[i]) / 2)
            high = np.minimum(np.minimum(j - s[i], last[k] - m), (last[k] - s[i]) / 2)
            low = np.maximum(low, 0)
            some = low <= high
            far = self.grid.cells / 2
            least, most = 0.0, far
            if some.any():  # a cell may reach beyond the bounds
                least, most = min(low[some].min(), far), min(high[some].max(), far)
            value = _deviation(np.append(s, e[-1] + 1) - 0.5, np.append(0.0, f))
            found.append([np.clip(value, least, most), least, most])
        value, lower, upper = float(self.grid.step) * np.array(found).reshape(-1, 3).T
        unknown = np.full_like(value, np.nan)
        return {MedianAbsoluteDeviation.kind: Estimate(value, unknown, lower, upper)}


def _deviation(edges: Array, upto: Array) -> float:
    """Return the median absolute deviation of rows spread evenly between edges."""
    rising = np.maximum.accumulate(np.maximum(upto, 0.0))
    half = rising[-1] / 2
    median = float(np.interp(half, rising, edges)) if half else float(edges[[0, -1]].mean())
    low, high = 0.0, float(edges[-1] - edges[0])
    for _ in range(50):
        middle = (low + high) / 2
        up, down = np.interp([median + middle, median - middle], edges, rising)
        low, high = (middle, high) if up - down < half else (low, middle)
    return high


@public
def mad(
    column: str | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the median absolute deviation of a column clamped to [lower, upper].

    It is the median distance of the values from their median, in the unit of the column, not
    scaled: a measure of spread that values far away do not move.  (Of normal values it is 0.6745
    times the standard deviation.)  It has an interval.

    Args:
        column: the name of the column; None for a statistic of :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    Raises:
        UsageError: bounds missing or reversed, or another method.

    >>> print(mad("age", 0, 100))
    mad(age, 0, 100)
    """
    only_global("mad", method)
    return bounded(MedianAbsoluteDeviation, column, lower, upper)


@register_statistic
@dataclass(frozen=True)
class MedianAbsoluteDeviation(TableStatistic):
    """The statistic ``mad``."""

    kind = "mad"
    elsewhere = ("median_absolute_deviation", "median_abs_deviation")
    order = 106
    make = staticmethod(mad)
    help = "The median absolute deviation: the median distance from the median."
    noun = "the median absolute deviation of {column}"
    bits = QUANTILE_BITS

    def part(self, setting: Setting, before: Part | None) -> Part:
        grid = setting.grid(self, self.bits)
        far = draws_far(setting.choosing)
        return AbsoluteDeviationPart(self.require_column(), grid, (_HALF,), (self.kind,), far=far)
