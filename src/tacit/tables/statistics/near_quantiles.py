"""Quantiles of a column of many possible values, from noisy counts of the rows near them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_fraction, as_integer, positive
from tacit.core import Measure, Measurement, PureDP, Space, Step, ZeroConcentratedDP, register
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms.private_quantile import BinCounts, choose_together
from tacit.report.text import say_step
from tacit.tables.noise import Array
from tacit.tables.statistics.counted_quantiles import (
    CellTables,
    CountingPart,
    counted,
    noisy_sums,
    reaches,
    strategy_of,
)
from tacit.tables.statistics.part import LEVEL, Noise
from tacit.workload.range_strategies import short_strategy
from tacit.workload.strategies import Strategy
from tacit.workload.structured import BlockStrategy

# Counts of the rows near quantiles.
#
# **Groups of cells.**  For each of m quantiles two cells are chosen, one about ``reach`` rows below
# it and one as many above.  Each of the two is a group of its own, and the cells between them are
# ``pieces`` groups of equal width.  Beyond them on either side are groups that end at a quarter, at
# once and at four times the distance between the two: where the quantile is not between its cells,
# because they were drawn so by chance, an interval ends there and not at the next quantile or at a
# bound.  What is left between all these is a group each.  There are always ``m (pieces + 9) + 1``
# groups, some of them empty.
#
# The third rules of intervals drew two more cells in place of these groups, ``far`` rows below the
# first quantile and above the last, with ``m (pieces + 3) + 3`` groups.  These help only there, and
# the more cells are drawn together, the farther each is off.
#
# **Map.**  All cells are drawn by one exponential mechanism
# (:func:`~tacit.mechanisms.private_quantile.choose_together`).  Let the counts of cells change by d
# in all.  The costs of the lists of a group of rows then change by at most ``d w`` rows, added over
# these, with w the largest of all ``max(q, 1 - q)``: the loss is ``2 d w / choice`` in pure DP, and
# ``(d w / choice)^2 / 2`` in zCDP, as of :class:`~tacit.tables.statistics.quantile_choice
# .ChooseQuantile`.  The borders of all groups, those beyond the cells too, are a function of the
# cells that were released: post-processing, which loses nothing.  For fixed borders a row is in one
# group, hence the counts of the groups change by d in all, and sums of them lose what they do in
# :class:`~tacit.tables.statistics.counted_quantiles.SumCells`.  Both compose, adaptively, in both
# measures.

_MOST = 14  # quantiles; beyond that there are more lists than doubles hold
_QUARTERS = np.array([1, 4, 16])  # of the distance between two cells, beyond them


def edges_about(chosen: NDArray[np.int64], pieces: int, cells: int, far: bool) -> NDArray[np.int64]:
    """Return where groups of cells begin, and the end of the last: shape (rows, groups + 1).

    >>> edges_about(np.array([[12, 19]]), 2, 60, far=False).tolist()
    [[0, 0, 4, 10, 12, 13, 16, 19, 20, 22, 28, 52, 61]]
    >>> edges_about(np.array([[1, 2, 7, 8]]), 2, 9, far=True).tolist()
    [[0, 1, 2, 3, 5, 7, 8, 9, 10]]
    """
    pairs = (chosen[:, 1:-1] if far else chosen).reshape(len(chosen), -1, 2)
    first, last = pairs.min(axis=2, keepdims=True), pairs.max(axis=2, keepdims=True)
    between = first + 1 + np.maximum(last - first - 1, 0) * np.arange(pieces + 1) // pieces
    every = [first, between, last + 1]
    if not far:
        beyond = (last + 1 - first) * _QUARTERS // 4
        every += [first - beyond, last + 1 + beyond]
    inner = np.concatenate(every, axis=2).reshape(len(chosen), -1)
    if far:
        inner = np.concatenate((chosen[:, :1], inner, chosen[:, -1:] + 1), axis=1)
    ends = ((0, 0), (0, cells + 1))
    inner = np.sort(np.clip(inner, 0, cells + 1), axis=1)
    return np.pad(inner, ((0, 0), (1, 1)), constant_values=ends)


def groups_about(quantiles: int, pieces: int, far: bool) -> int:
    """Return how many groups of cells there are."""
    return quantiles * (pieces + 3) + 3 if far else quantiles * (pieces + 9) + 1


@register
@dataclass(frozen=True)
class CountNearQuantiles(Step):
    """Choose two cells about each quantile, and count the cells between them with noise."""

    # Of m quantiles it releases, for each group of rows, the ``2 m`` cells that were chosen, two
    # about each quantile (by the third rules a far one before and one after), and then the noisy
    # sums of the counts.

    qs: tuple[str, ...]  # the quantiles as shares, rising, strictly between 0 and 1, as text
    # reach, far: in the unit of the counts
    reach: int
    far: int  # 0 where no cell is drawn far
    choice: Any  # the scale of the choice, in the unit of the counts
    pieces: int
    sums: Any  # the strategy, as :attr:`tacit.workload.strategies.Strategy.form` has it
    scale: Any  # of the noise on sums, in the unit of the counts
    measure: str = "PureDP"  # ``"PureDP"`` or ``"ZeroConcentratedDP"``

    name: ClassVar[str] = "count_near_quantiles"

    def __post_init__(self) -> None:
        object.__setattr__(self, "qs", tuple(map(str, self.qs)))
        shares = [Fraction(0), *self._shares, Fraction(1)]
        if not 3 <= len(shares) <= _MOST + 2 or any(a >= b for a, b in pairwise(shares)):
            raise UsageError(f"quantiles rise strictly between 0 and 1, unlike {self.qs}")
        for scale in ("choice", "scale"):
            object.__setattr__(self, scale, positive(getattr(self, scale), scale))
        for name, minimum in (("reach", 0), ("far", 0), ("pieces", 1)):
            object.__setattr__(self, name, as_integer(getattr(self, name), name, minimum=minimum))

    def __hash__(self) -> int:
        return hash((self.name, self.qs, self.choice, self.scale, self.measure, str(self.sums)))

    @property
    def _shares(self) -> list[Fraction]:
        return [as_fraction(q, "q") for q in self.qs]

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy, with the sensitivity of the norm of the noise."""
        return strategy_of({"sums": self.sums, "measure": self.measure})

    @property
    def _groups(self) -> int:
        """How many groups of cells are counted."""
        return groups_about(len(self.qs), self.pieces, bool(self.far))

    def choose(self, histograms: BinCounts, cells: int) -> list[list[int]]:
        """Draw the cells of each group of rows."""
        shares = self._shares
        ends = [(q, side * self.reach) for q in shares for side in (-1, 1)]
        if self.far:
            ends = [(shares[0], -self.far), *ends, (shares[-1], self.far)]
        targets = [(q, rows * q.denominator) for q, rows in ends]
        return choose_together(histograms, cells, targets, self.rate(targets))

    def rate(self, targets: Sequence[tuple[Fraction, int]]) -> Fraction:
        """Return the rate of a choice of cells for such quantiles."""
        return 1 / (Fraction(self.choice) * math.lcm(*(q.denominator for q, _ in targets)))

    def edges(self, chosen: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
        """Return where the groups of cells begin, and the end of the last."""
        return edges_about(chosen, self.pieces, cells, bool(self.far))

    def more(
        self, histograms: BinCounts, edges: NDArray[np.int64], sums: list[list[int]]
    ) -> list[list[int]]:
        """Return what else is released of each group of rows, after the sums."""
        return [[] for _ in sums]

    @property
    def losses(self) -> list[Fraction]:
        """The loss of each mechanism for a change of one: the square root of 2 rho in zCDP."""
        pure = self.measure == PureDP.__name__
        moved = _weight(self._shares) / Fraction(self.choice)
        return [2 * moved if pure else moved, self.strategy.sensitivity / Fraction(self.scale)]

    def build(self, space: Space) -> Measurement:
        """Return the choice and the noisy sums on the counts of cells."""
        if not isinstance(space.domain, CellTables):
            raise MismatchError(f"{self.name} works on the counts of cells, not on {space}")
        cells, strategy, groups = space.domain.cells, self.strategy, self._groups
        if strategy.cells != groups:
            raise UsageError(f"the sums are of {strategy.cells} counts, and there are {groups}")
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()
        losses, scale = self.losses, Fraction(self.scale)

        def count(histograms: Any) -> list[int]:
            if not len(histograms):  # where no key was released
                return []
            counted = BinCounts(histograms)
            chosen = self.choose(counted, cells)
            edges = self.edges(np.array(chosen, dtype=np.int64), cells)
            tables = np.zeros((groups, len(histograms)), dtype=object)
            for i, (at, count) in enumerate(histograms):
                upto = np.concatenate(([0], np.asarray(count, dtype=object).cumsum()))
                tables[:, i] = np.diff(upto[np.searchsorted(np.asarray(at), edges[i])])
            sums = noisy_sums(strategy, scale, pure, tables)
            more = self.more(counted, edges, sums)
            return [n for parts in zip(chosen, sums, more, strict=True) for n in chain(*parts)]

        def loss(d: Fraction) -> Fraction:
            return d * sum(losses) if pure else d**2 * sum(one**2 for one in losses) / 2

        return Measurement(space, measure, count, loss, step=self)


def _weight(shares: Sequence[Fraction]) -> Fraction:
    return max(max(q, 1 - q) for q in shares)


def drawn(step: Mapping[str, Any]) -> int:
    """Return how many cells a step of a certificate draws."""
    return 2 * len(step["qs"]) + 2 * bool(step["far"])


def _words(step: Mapping[str, Any]) -> str:
    return (
        f"Draw {drawn(step)} values at random, below and above each rank asked for; "
        "values nearer to the ranks where an interval should end are more likely. Count the rows "
        "between and beyond these values, and add random noise to the counts"
    )


say_step(CountNearQuantiles.name, _words)


# Quantiles from these counts.
#
# **Interval.**  The cells were chosen before the noise of the counts was drawn, so that of given
# cells the intervals are those of :mod:`tacit.tables.statistics.counted_quantiles`, with groups of
# cells in the place of cells: the first cell of a group is a lower end, the last one an upper end.
# Where a quantile is not between the two cells that were to be about it, which happens where most
# of the range is between two rows next to it or by chance, the interval is longer: it ends in the
# groups beyond the cells, or at the bounds.  It covers all the same.  Of 20,000 simulated
# choices on 2,000 even rows at an epsilon of 1 three or fewer had an interval more than 5 times as
# wide as usual; by the third rules one of 75 to 250, and of the deviation one of 25.
#
# **Value.**  Within the group of cells where the quantile is, the rows count as spread evenly; and
# it is not beyond the two cells that were chosen about it.
#
# **How far the cells are to be away.**  With t the half-width of the noise, a cell t + 1 rows away
# passes in half of all releases, and one ``2 t + 1`` away nearly always.  Where rows are spread
# evenly, the largest of k costs has the density ``x^(k - 1) exp(-x / choice)``, hence the mean k
# and the deviation ``k^(1/2)`` in units of the choice; ``k + 2`` of them are added.

_CHOICE = Fraction(1, 4)  # of the loss
_PIECES = 16
_FAR = 3  # times as far, by the third rules
_UNIT = 1 << 10  # of a row, in which counts of groups are counted, so that the noise is fine
_LARGEST_COMMON = 10**4
_SINCE = 3  # the version of the rules of intervals that chooses them
_BEYOND_SINCE = 4  # the one that counts beyond the cells, and draws none far


@lru_cache(maxsize=64)
def _strategies(counts: int, norm: str) -> tuple[Strategy, ...]:
    """Return the counts themselves, and sums of them."""
    none = np.zeros((0, counts), dtype=np.int64)
    alone = BlockStrategy([[1]], none, [_UNIT] * counts, counts, norm)
    return alone, short_strategy("prefix_sums", counts, norm)


@dataclass(frozen=True)
class NearQuantilesPart(CountingPart):
    """Quantiles of a column from noisy counts of the rows near them; see the module."""

    choice_share: ClassVar[Fraction] = _CHOICE
    count_share: ClassVar[Fraction] = 1 - _CHOICE
    pieces: ClassVar[int] = _PIECES

    far: bool = False  # whether two cells are drawn far from the quantiles

    @property
    def chosen_cells(self) -> int:
        """How many cells are released of a group of rows before the sums."""
        return 2 * len(self.shares) + 2 * self.far

    @property
    def chosen_together(self) -> int:
        """How many cells one choice is of."""
        return self.chosen_cells

    @property
    def _counts(self) -> int:
        """How many groups of cells there are."""
        return groups_about(len(self.shares), self.pieces, self.far)

    def strategy(self, norm: str) -> Strategy:
        """Return what is added up for noise of a norm: what has the shorter intervals."""
        kind: Any = "laplace" if norm == "L1" else "gaussian"
        noise = Noise(kind, Fraction(1, 1000), 1)
        options = _strategies(self._counts, norm)
        return min(options, key=lambda one: self._widest(one, noise, LEVEL))

    def counting(self, noise: Noise) -> Noise:
        """Return what the noise of the sums may use."""
        return noise.split(self.count_share)

    def _widest(self, strategy: Strategy, noise: Noise, level: float) -> float:
        """Return the largest t at the groups of cells, in *rows*."""
        distribution, each = self.distribution(strategy, noise), self.level_of_each(level)
        return max(
            float(reaches(strategy, float(q), distribution, each)[0][1:].max()) for q in self.shares
        )

    def farthest(self, noise: Noise, level: float) -> float:
        """Return the largest t at the groups of cells, in *rows*."""
        return self._widest(self.strategy(noise.norm), self.counting(noise), level)

    def choice_scale(self, noise: Noise) -> Fraction:
        """Return the scale of the choice, in the unit of the counts."""
        return _weight(self.shares) * noise.split(self.choice_share).choice_scale(noise.one)

    def reach(self, noise: Noise) -> float:
        """Return how many rows the cells are to be from the quantiles."""
        more = (self.chosen_together + 2) * float(self.choice_scale(noise)) / noise.one
        return 2 * self.farthest(noise, LEVEL) + 1 + more

    def beside(self, noise: Noise) -> float:
        """Return the rows of a group of cells that an end is in, and one, in *rows*."""
        return 1 + 2 * self.reach(noise) / self.pieces

    def last(self, strategy: Strategy, noise: Noise) -> Step:
        """Return the choice and the noisy sums."""
        return CountNearQuantiles(**self.near(strategy, noise))

    def near(self, strategy: Strategy, noise: Noise) -> dict[str, Any]:
        """Return the fields of the step of the choice and the noisy sums."""
        reach = math.ceil(self.reach(noise) * noise.one)
        return {
            "qs": tuple(map(str, self.shares)),
            "reach": reach,
            "far": _FAR * reach * self.far,
            "choice": self.choice_scale(noise),
            "pieces": self.pieces,
            "sums": strategy.form,
            "scale": self.counting(noise).scale(noise.rows * noise.one * strategy.sensitivity),
            "measure": "PureDP" if noise.kind == "laplace" else "ZeroConcentratedDP",
        }

    def borders(self, chosen: Array) -> tuple[Array, Array]:
        """Return the first and the last cell of each group of cells."""
        within = np.clip(np.nan_to_num(chosen), 0, self.grid.cells).astype(np.int64)
        edges = self.edges(within).astype(np.float64)
        return edges[:, :-1], edges[:, 1:] - 1

    def edges(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the groups of cells begin, and the end of the last."""
        return edges_about(chosen, self.pieces, self.grid.cells, self.far)

    def limits(self, chosen: Array, index: int) -> tuple[Array, Array]:
        """Return the two cells about a quantile."""
        pair = chosen[:, 2 * index + self.far :][:, :2]
        return pair.min(axis=1, initial=np.inf), pair.max(axis=1, initial=-np.inf)

    @property
    def mechanism(self) -> str:
        """Describe in words what answers."""
        return f"{self._counts} noisy counts of the rows near it"


def draws_far(choosing: Noise | None) -> bool:
    """Return whether two cells are drawn far from the quantiles, by the rules of intervals."""
    return choosing is None or choosing.rules < _BEYOND_SINCE


def other_parts(
    column: str, grid: Grid, shares: Sequence[Fraction], choosing: Noise | None, *kinds: str
) -> list[Any]:
    """Return the parts that count, which may answer quantiles in place of what chooses them."""
    few: list[Any] = list(counted(column, grid, shares, *kinds))
    if few or choosing is None or choosing.rules < _SINCE or not all(0 < q < 1 for q in shares):
        return few
    common = math.lcm(*(q.denominator for q in shares))
    if len(shares) > _MOST or common > _LARGEST_COMMON:
        return []
    return [NearQuantilesPart(column, grid, tuple(shares), kinds, far=draws_far(choosing))]
