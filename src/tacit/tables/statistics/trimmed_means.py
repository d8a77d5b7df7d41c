"""Trimmed and winsorized means of a column, from noisy quantiles and a mean between them."""

# **Mechanism.**  Let s be the share, n the rows, F(c) those up to a cell c and B(c) those before
# it.  Cells are chosen and the rows about the quantiles s and ``1 - s`` are counted, as in
# :mod:`tacit.tables.statistics.near_quantiles`.  The *cuts* a and b are the first cells of the
# groups in which the noisy counts have the two quantiles.  All rows are then clamped to [a, b] and
# split: with y the place of a row between the cuts, ``sum (1 - y)`` and ``sum y`` are released too.
#
# **Map.**  The cuts follow from the cells that were released.  Given them, a row moves both sums by
# one in all (in L1, so no more in L2), whatever the cuts are.  The noise on them has the loss
# ``d / average`` in pure DP, and ``(d / average)^2 / 2`` in zCDP; it adds to that of the rest by
# adaptive composition.
#
# **Identity.**  For any number a, and with x_1 <= .. <= x_n,
#
#     ``x_1 + .. + x_k = k a - sum max(a - x_i, 0) + gap(a, k)``,
#     ``gap(a, k) = |integral from a to x_k of (k - F(t)) dt|``,
#
# by ``sum max(a - x_i, 0) = integral of F up to a``.  So with k = floor(s n) and C the sum of the
# clamped rows, ``sum max(b - x_i, 0) - sum max(a - x_i, 0) = n b - C``, and
#
#     ``x_(k+1) + .. + x_(n-k) = C - k (a + b) + gap(b, n - k) - gap(a, k)``.
#
# With m the middle of the cuts and w = n / (n - 2 k), the trimmed mean is
# ``m + w (C / n - m) + w (gap(b) - gap(a)) / n``: cuts that are off count by the *product* of how
# far they are off and by how many rows.  The winsorized mean adds k copies of x_(k+1) and of
# x_(n-k): it is ``C / n + (k / n) (x_(k+1) - a + x_(n-k) - b) + (gap(b) - gap(a)) / n``.
#
# **Interval.**  Of the rows' own statistic, on the grid, with k = floor(s n), and with ``k = s n``
# where rows have weights.  Each of these holds but for a part of the chance ``1 - level``, hence
# all of them but for their sum:
#
# - ``C / n``, by Fieller's interval of the two sums (:mod:`tacit.tables.statistics.moments`);
# - both quantiles, by the intervals of :mod:`tacit.tables.statistics.counted_quantiles`, which hold
#   x_(k+1) and x_(n-k): the place of each among the rows, counted from zero, is more than ``q n -
#   1`` and at most ``q n``, or less by one (q = s, k <= s n < k + 1; q = 1 - s likewise);
# - ``B(c) - q n`` before all groups of cells c at once, so before both cuts, and n from below.  To
#   the right of a cut c, up to a quantile at most u, F is ``B(c)`` at least, and to the left
#   ``B(c)`` at most, so that
#   ``gap <= max((u - c) (q n + 1 - B(c)), (c - l) (B(c) - q n + 1), 0)``.
#
# ``1 / w`` is from ``1 - 2 s`` to ``1 - 2 s + 2 / n``.
#
# Sources: Tukey 1962 for both; Huber, *Robust Statistics* (1981), section 3.3, for the identity of
# the trimmed with the clamped sum.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.calls import public
from tacit.core import PureDP, Step, register
from tacit.errors import UsageError, shown_value
from tacit.mechanisms.private_quantile import BinCounts
from tacit.noise import discrete_gaussian, discrete_laplace
from tacit.report.text import column_words, say_step
from tacit.tables.noise import Array, Estimate
from tacit.tables.statistics.base import (
    QUANTILE_BITS,
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.counted_quantiles import reaches
from tacit.tables.statistics.moments import NoisyMoments
from tacit.tables.statistics.near_quantiles import (
    CountNearQuantiles,
    NearQuantilesPart,
    drawn,
    draws_far,
)
from tacit.tables.statistics.part import LEVEL, Noise, Part
from tacit.workload.strategies import Strategy

_FINE = 1 << 20  # the least number of parts that a row is split in


def places(upto: Array, q: float) -> NDArray[np.intp]:
    """Return the group of cells in which a quantile is, by noisy counts."""
    wanted = np.maximum(q * upto[:, -1:], 0.0)
    below: NDArray[np.intp] = (upto < wanted).sum(axis=1)
    return np.asarray(np.minimum(below, upto.shape[1] - 1))


def sorted_cuts(edges: NDArray[np.int64], at: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the first cells of groups, rising."""
    return np.sort(np.take_along_axis(edges, at, axis=1), axis=1)


def _parts_of(low: int, high: int) -> tuple[int, int]:
    """Return what one cell counts between two cuts, and a whole row."""
    width = max(high - low, 1)
    return -(-_FINE // width), -(-_FINE // width) * width


@register
@dataclass(frozen=True)
class AverageBetweenQuantiles(CountNearQuantiles):
    """Count the rows near two quantiles, and add up what is between the cuts; see the module."""

    average: Any = 1  # the scale of the noise on the sums, in the unit of the counts

    name: ClassVar[str] = "average_between_quantiles"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "average", positive(self.average, "average"))
        if len(self.qs) != 2:
            raise UsageError(f"an average is between two quantiles, unlike {self.qs}")

    def __hash__(self) -> int:
        return super().__hash__()

    def more(
        self, histograms: BinCounts, edges: NDArray[np.int64], sums: list[list[int]]
    ) -> list[list[int]]:
        upto = np.cumsum(self.strategy.estimated(np.array(sums, dtype=np.float64).T), axis=0).T
        shares = [float(as_fraction(q)) for q in self.qs]
        cuts = sorted_cuts(edges, np.stack([places(upto, q) for q in shares], axis=1))
        draw = discrete_laplace if self.measure == PureDP.__name__ else discrete_gaussian
        released = []
        for (at, count), (low, high) in zip(histograms, cuts.tolist(), strict=True):
            each, row = _parts_of(low, high)
            over = np.clip(np.asarray(at, dtype=np.int64), low, high) - low
            weights = np.asarray(count, dtype=object)
            above = each * int((over.astype(object) * weights).sum())
            exact = row * int(weights.sum()) - above, above
            noise = draw(Fraction(self.average) * row, 2).tolist()
            noisy = [number + more for number, more in zip(exact, noise, strict=True)]
            released.append([low, high, *noisy])
        return released

    @property
    def losses(self) -> list[Fraction]:
        return [*super().losses, 1 / Fraction(self.average)]


def _step_words(step: Mapping[str, Any]) -> str:
    low, high = (show(100 * as_fraction(q)) for q in step["qs"])
    return (
        f"Draw {drawn(step)} values at random, below and above the {low} and the {high} percent of "
        "the rows; count the rows between these values with random noise; and add up all rows "
        "between two values that follow from these counts, with random noise"
    )


say_step(AverageBetweenQuantiles.name, _step_words)


# The parts of the loss: of the sums; and of what is left, of the choice and of the counts.
_AVERAGE, _CHOICE = Fraction(2, 5), Fraction(1, 2)
# The parts of the chance to miss: of the mean, of both quantiles; the rest is of counts and n.
_OF_MEAN, _OF_QUANTILES = 0.6, 0.3


@dataclass(frozen=True)
class BetweenQuantilesPart(NearQuantilesPart):
    """Trimmed and winsorized means of one share; see the module."""

    choice_share = (1 - _AVERAGE) * _CHOICE
    count_share = (1 - _AVERAGE) * (1 - _CHOICE)
    more_numbers = 4
    error_unit = "standard error"

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"trimmed mean of {self.column}"

    def _averaging(self, noise: Noise) -> Noise:
        return noise.split(_AVERAGE)

    def last(self, strategy: Strategy, noise: Noise) -> Step:
        """Return the choice, the noisy counts and the noisy sums."""
        average = self._averaging(noise).scale(Fraction(noise.rows * noise.one))
        return AverageBetweenQuantiles(**self.near(strategy, noise), average=average)

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return both means."""
        strategy, miss = self.strategy(noise.norm), 1 - level
        width = self.chosen_cells + strategy.combinations + self.more_numbers
        noisy = np.array(released[0], dtype=np.float64).reshape(-1, width)
        before, cuts, sums = noisy[:, :-4], noisy[:, -4:-2], noisy[:, -2:]
        near = super().estimates([before], noise, 1 - miss * _OF_QUANTILES / 2)["percentiles"]
        chosen, upto = self.counts_upto(strategy, before, noise)
        end = self.grid.cells + 1  # where the last groups begin, which no row is in
        cuts = np.sort(np.clip(np.nan_to_num(cuts), 0, end).astype(np.int64), axis=1)
        first, step = float(self.grid.value(0)), float(self.grid.step)
        a, b = (first + step * cuts).T

        parts = np.array([_parts_of(*each)[1] for each in cuts.tolist()]).reshape(-1, 1)
        distribution = self._averaging(noise).distribution(
            Fraction(noise.rows), Fraction(1, noise.one * _FINE)
        )
        rows = sums / (parts * float(noise.one))
        shares = NoisyMoments(rows, distribution, 0.0, 1.0, 1, False, 1 - miss * _OF_MEAN).mean()
        mean, low, high = (a + (b - a) * y for y in (shares.value, shares.lower, shares.upper))
        error = (b - a) * shares.standard_error

        # how many rows at most each quantile is beyond its cut, and n at least
        each = miss * (1 - _OF_MEAN - _OF_QUANTILES) / 5
        counting = self.distribution(strategy, self.counting(noise))
        _, most = reaches(strategy, 0.0, counting, 1 - 2 * each)
        size, rough = np.maximum(upto[:, -1] - most[-1], 1.0), np.maximum(upto[:, -1], 1.0)
        starts, gaps, guesses = self.borders(chosen)[0], [], []
        for index, (q, cut) in enumerate(zip(map(float, self.shares), (a, b), strict=True)):
            place = (starts <= cuts[:, index : index + 1]).sum(axis=1) - 1
            t, _ = reaches(strategy, q, counting, 1 - 2 * each / strategy.cells)
            earlier = np.take_along_axis(np.pad(upto, ((0, 0), (1, 0))), place[:, None], axis=1)
            off = earlier[:, 0] - q * upto[:, -1]
            value, lower, upper = (e[:, index] for e in (near.value, near.lower, near.upper))
            right = np.maximum(upper - cut, 0) * np.maximum(1 - off + t[place], 0)
            left = np.maximum(cut - lower, 0) * np.maximum(1 + off + t[place], 0)
            gaps.append(np.maximum(right, left) / size)
            # a guess of the gap: the rows between the cut and the quantile are spread evenly
            guesses.append(np.maximum((cut - value) * off, 0) / rough / 2)
        share, bounds = float(self.shares[0]), (first, first + step * self.grid.cells)
        between = guesses[1] - guesses[0]

        middle, inside = (a + b) / 2, 1 - 2 * share
        stretch = 1 / (inside + np.stack((np.zeros_like(size), 2 / size)))
        ends = [low - middle - gaps[0], high - middle + gaps[1]]
        trimmed = Estimate(
            np.clip(middle + (mean - middle + between) / inside, *bounds),
            error / inside,
            np.clip(middle + (ends[0] * stretch).min(axis=0), *bounds),
            np.clip(middle + (ends[1] * stretch).max(axis=0), *bounds),
        )
        moved, down, up = (
            (e - np.stack((a, b), axis=1)).sum(axis=1) for e in (near.value, near.lower, near.upper)
        )
        # k / n is from ``share - 1 / n`` to the share
        shares_of = np.stack((np.full_like(size, share), np.maximum(share - 1 / size, 0)))
        spread = ((near.upper - near.lower) / 4 * share) ** 2
        winsorized = Estimate(
            np.clip(mean + share * moved + between, *bounds),
            np.sqrt(error**2 + spread.sum(axis=1)),
            np.clip(low - gaps[0] + (shares_of * down).min(axis=0), *bounds),
            np.clip(high + gaps[1] + (shares_of * up).max(axis=0), *bounds),
        )
        return {TrimmedMean.kind: trimmed, WinsorizedMean.kind: winsorized}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error for values spread evenly over the bounds."""
        return float(self._expected(kind, noise, rows, LEVEL).standard_error[0])

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return the longer arm of the interval, for values spread evenly over the bounds."""
        one = self._expected(kind, noise, rows, level)
        return float(np.maximum(one.upper - one.value, one.value - one.lower)[0])

    def _expected(self, kind: str, noise: Noise, rows: float, level: float) -> Estimate:
        """Return the answer from rows that are spread evenly, on which no noise has fallen."""
        cells, rows = self.grid.cells, max(rows, 1.0)
        off = self.reach(noise) / rows
        low, high = map(float, self.shares)
        shares = [low - off, low + off, high - off, high + off]
        if self.far:
            shares = [low - 3 * off, *shares, high + 3 * off]
        chosen = np.clip(np.array([shares]) * cells, 0, cells).astype(np.int64)
        edges = self.edges(chosen)
        counts = np.diff(edges[0]) * (rows * noise.one / (cells + 1))
        upto = np.cumsum(counts)[None]
        at = np.stack([places(upto, q) for q in (low, high)], axis=1)
        ((a, b),) = sorted_cuts(edges, at).tolist()
        _, parts = _parts_of(a, b)
        above = rows * noise.one * parts * ((b - a) / 2 + cells - b) / cells
        sums = [rows * noise.one * parts - above, above]
        exact = [*chosen[0], *self.strategy(noise.norm).combined(counts), a, b, *sums]
        return self.estimates([exact], noise, level)[kind]


@public
def trimmed_mean(
    column: str | None = None,
    share: Number = "1/10",
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the mean of a column without a share of its rows at either end.

    Of n rows the ``floor(share n)`` smallest and as many largest are left out.  The noise is that
    for the rows that remain, not for the bounds: where a few values are far from all others it is
    much nearer to the truth than a :func:`mean`.  Bounds may be wide, and cost little.

    Args:
        column: the name of the column; None for a statistic of :func:`tacit.sensitivity`.
        share: the share to leave out at either end, above 0 and below 1/2.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    Raises:
        UsageError: a share that is not between 0 and 1/2, bounds that are reversed.

    Source: Tukey 1962.

    >>> print(trimmed_mean("income", "1/20", 0, 10**6))
    trimmed_mean(income, 0.05, 0, 1000000)
    """
    only_global("trimmed_mean", method)
    return bounded(TrimmedMean, column, lower, upper, share=_share(share, column))


@public
def winsorized_mean(
    column: str | None = None,
    share: Number = "1/10",
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the mean of a column in which a share at either end is moved to the nearest rest.

    Of n rows the ``floor(share n)`` smallest count as the next larger one, and as many largest as
    the next smaller one.  Arguments and errors are those of :func:`trimmed_mean`; both means of one
    column and share are one answer, for one price.

    >>> print(winsorized_mean("income", "1/20", 0, 10**6))
    winsorized_mean(income, 0.05, 0, 1000000)
    """
    only_global("winsorized_mean", method)
    return bounded(WinsorizedMean, column, lower, upper, share=_share(share, column))


_RESOLUTION = 1000  # shares are resolved to a thousandth


def _share(share: object, column: object) -> Fraction:
    number = as_fraction(share, "share")
    if column is None and not number:
        return number  # the plain mean, in the sensitivity lab
    if not 0 < number < Fraction(1, 2):
        raise UsageError(
            f"the share of rows at either end is above 0 and below 1/2, such as '1/10', not "
            f"{shown_value(share)}"
        )
    if column is not None:
        number = min(max(number.limit_denominator(_RESOLUTION), Fraction(1, _RESOLUTION)), _MOST)
    return number


_MOST = Fraction(499, 1000)


@dataclass(frozen=True)
class _BetweenQuantiles(TableStatistic):
    """A mean in which a share of the rows at either end is treated apart."""

    share: Fraction = Fraction(1, 10)

    fields = ("column", "share", "lower", "upper")
    bits = QUANTILE_BITS

    @property
    def statistic(self) -> Any:
        from tacit.statistics import lookup

        return lookup(f"{self.kind}({self.share})")

    def _shown(self) -> tuple[list[str], list[str]]:
        return [show(self.share)], []

    def _fields_to_json(self) -> dict[str, object]:
        return {"share": str(self.share)}

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        percent = show(100 * as_fraction(described["share"]))
        text = cls.noun.format(column=described.get("column"), percent=percent)
        return column_words(text, described)

    def shared(self) -> Any:
        return _BetweenQuantiles, self.clamped, self.share

    def part(self, setting: Setting, before: Part | None) -> Part:
        grid, shares = setting.grid(self, self.bits), (self.share, 1 - self.share)
        kinds, far = ("percentiles",), draws_far(setting.choosing)
        return BetweenQuantilesPart(self.require_column(), grid, shares, kinds, far=far)


@register_statistic
@dataclass(frozen=True)
class TrimmedMean(_BetweenQuantiles):
    """The statistic ``trimmed_mean``."""

    kind = "trimmed_mean"
    elsewhere = ("trim_mean", "truncated_mean")
    order = 42
    make = staticmethod(trimmed_mean)
    help = "The mean without a SHARE of the rows at either end."
    noun = "the mean of {column} without {percent} percent of the rows at either end"


@register_statistic
@dataclass(frozen=True)
class WinsorizedMean(_BetweenQuantiles):
    """The statistic ``winsorized_mean``."""

    kind = "winsorized_mean"
    elsewhere = ("winsorised_mean", "winsor_mean")
    order = 44
    make = staticmethod(winsorized_mean)
    help = "The mean with a SHARE of the rows at either end moved to the nearest rest."
    noun = (
        "the mean of {column} with {percent} percent of the rows at either end moved to the "
        "nearest rest"
    )
