"""Private quantiles: the cost of every candidate on a public grid, and the choice of one."""

# **Cost.**  For a quantile ``q = a / b`` and a candidate c with ``below`` rows under it, ``equal``
# at it and ``above`` over it, let
#
#     ``low(c)  = (b - a) below - a (above + equal)``,
#     ``high(c) = (b - a) (below + equal) - a above``.
#
# Both rise with c, and c is a q-quantile exactly when ``low(c) <= 0 <= high(c)``.  The cost of c
# for a target t is the distance from t to the interval [low(c), high(c)], where the interval of the
# lowest candidate reaches down without end and that of the highest one up without end; so the least
# cost is always zero.  The target 0 asks for the quantile; a target ``-r b`` for about r rows less.
#
# **Map.**  One row that comes or goes moves low(c) and high(c) by at most ``max(a, b - a)``, for
# all c, hence every cost by no more.  One row that changes leaves the number of rows as it is and
# moves ``below`` and ``below + equal`` by at most one each; as ``low = b below - a (all rows)`` and
# ``high = b (below + equal) - a (all rows)``, every cost moves by at most b.
#
# **Error.**  With M candidates of which one has cost zero, the mechanism at scale s returns a cost
# of x or more with probability at most ``M exp(-x / s)`` (McSherry and Talwar 2007).

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_share, positive
from tacit.core import (
    ChangeOneDistance,
    HammingDistance,
    Measure,
    Measurement,
    Number,
    PureDP,
    Space,
    Step,
    Vector,
    ZeroConcentratedDP,
    register,
)
from tacit.errors import UsageError
from tacit.mechanisms.output_distribution import FiniteDistribution, normalised
from tacit.noise.bernoulli_and_uniform import uniform_integer
from tacit.noise.bits import watcher
from tacit.noise.exponential import ExponentialChoice, choices_within

# The cells that occur, rising, and how often each does.
Histogram: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

_FAR = 1 << 61
_AT_ONCE = 1 << 16  # cells of several histograms: a choice takes up to 700 bytes for each
_MANY = 1 << 62  # lists of ends: more of them are counted in Python integers
_DEFAULT_CELLS = 1 << 12
_MAX_COUNTED_CELLS = 1 << 20


@register
@dataclass(frozen=True)
class PrivateQuantile(Step):
    """Choose a quantile of a bounded column, by the exponential mechanism over public candidates.

    The candidates are the multiples of ``grid`` from the lower to the upper bound of the column; a
    value counts at the nearest of them, a missing one nowhere.

    **Map.** With ``w = max(q, 1 - q)``, ``d -> 2 w d / scale`` in pure DP and
    ``(w d / scale)^2 / 2`` in zCDP under the symmetric and the insert-delete distance; the same
    with ``w = 1`` under the change-one and the Hamming distance.  For ``q = a / b`` one row moves
    every cost of the module's cost function by at most ``b w``, and candidates are chosen with
    probability proportional to ``exp(-cost / (b scale))``: :class:`~tacit.mechanisms.Exponential`
    on the costs.

    Args:
        q: the quantile, from 0 to 1; 1/2 is the median.
        scale: in rows: how far off in rank the answer typically is; above zero.
        grid: the step between candidates; by default 1 for integers, else 1/4096 of the range.
        measure: ``"PureDP"`` or ``"ZeroConcentratedDP"``.

    Raises:
        UsageError: a quantile outside [0, 1], a scale or grid that is not above zero.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> ages = Space(Vector(int, bounds=(0, 120)), SymmetricDistance())
        >>> m = ages >> PrivateQuantile("1/2", scale=1)
        >>> m.map(1), 0 <= m([31, 42, 55]) <= 120
        (Fraction(1, 1), True)
    """

    q: NumberLike
    scale: NumberLike
    grid: NumberLike | None = None
    measure: str = "PureDP"

    name: ClassVar[str] = "private_quantile"

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_share(self.q))
        if Fraction(self.q).denominator > 1 << 20:
            object.__setattr__(self, "q", Fraction(self.q).limit_denominator(1 << 20))
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))
        if self.measure not in ("PureDP", "ZeroConcentratedDP"):
            raise UsageError(
                f"the measure is 'PureDP' or 'ZeroConcentratedDP', not {self.measure!r}"
            )

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a bounded column of numbers.

        Raises:
            UsageError: a grid that does not fit the bounds.
        """
        candidates = self._candidates(space)
        q, scale = Fraction(self.q), Fraction(self.scale)
        rate = 1 / (scale * q.denominator)
        changes = isinstance(space.metric, (ChangeOneDistance, HammingDistance))
        weight = Fraction(1) if changes else max(q, 1 - q)
        exponent_bound = 2 * weight / scale
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()

        def choose(column: Any) -> Any:
            histogram = candidates.histogram(column)
            return candidates.value(choose_cell(histogram, candidates.cells, q, 0, rate))

        def distribution_of(column: Any) -> FiniteDistribution:
            runs = quantile_costs(candidates.histogram(column), candidates.cells, q, 0)
            weights: dict[Any, Enclosure] = {}
            for start, length, cost in zip(*(part.tolist() for part in runs), strict=True):
                each = exp(-rate * cost, 128)
                weights |= {candidates.value(c): each for c in range(start, start + length)}
            return normalised(weights)

        return Measurement(
            space,
            measure,
            choose,
            lambda d: exponent_bound * d if pure else (exponent_bound * d) ** 2 / 8,
            distribution=distribution_of,
            step=self,
        )

    def _candidates(self, space: Space) -> _Candidates:
        domain = space.domain
        element = domain.element if isinstance(domain, Vector) else None
        bounds = element.bounds if isinstance(element, Number) else None
        if bounds is None or not space.metric.counts_records:
            raise self.mismatch(
                space,
                f"works on the records of a column of bounded numbers, not on "
                f"({space}); put clamp(lower, upper) before it",
            )
        low, high = bounds
        is_integral = getattr(element, "kind", None) == "int"
        if self.grid is not None:
            step = Fraction(self.grid)
        else:
            step = Fraction(1) if is_integral else (high - low) / _DEFAULT_CELLS
        cells = math.floor((high - low) / step) if step else 0
        if not 0 < cells < 1 << 31 or (is_integral and low.denominator != 1):
            raise UsageError(
                "the candidates of a quantile are from 2 to 2^31 multiples of the grid between the "
                "bounds; give another grid, or other bounds"
            )
        shown_whole = is_integral and step.denominator == 1
        return _Candidates(low, step, cells, shown_whole)


@dataclass(frozen=True)
class _Candidates:
    """The public grid: ``low + i step`` for i from 0 to cells."""

    low: Fraction
    step: Fraction
    cells: int
    whole: bool

    def value(self, cell: int) -> int | float:
        number = self.low + cell * self.step
        return int(number) if self.whole else float(number)

    def histogram(self, column: NDArray[Any]) -> Histogram:
        """Return the cells that occur, rising, and how often each does."""
        if self.whole and self.step == 1:
            indices = (column - int(self.low)).clip(0, self.cells)
        else:
            known = column if column.dtype.kind == "i" else column[~np.isnan(column)]
            scaled = (known - float(self.low)) / float(self.step)
            indices = np.floor(scaled.clip(0, self.cells) + 0.5).astype(np.int64)
        if self.cells <= _MAX_COUNTED_CELLS:
            counts = np.bincount(indices, minlength=1)
            at = np.flatnonzero(counts)
            return at, counts[at]
        return np.unique(indices, return_counts=True)


def quantile_costs(
    histogram: Histogram, cells: int, q: Fraction, target: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the candidates as runs of equal cost: first cell, length and cost of each run.

    >>> runs = quantile_costs((np.array([2, 5]), np.array([1, 2])), 6, Fraction(1, 2), 0)
    >>> [r.tolist() for r in runs]
    [[0, 2, 3, 5, 6], [2, 1, 2, 1, 1], [3, 1, 1, 0, 3]]
    """
    return _costs(_runs([histogram], cells, q), target)[:3]


class BinCounts(list[Histogram]):
    """Histograms of which several choices are made: what they share is worked out once."""

    # They are not private, and held no longer than the choices take.

    _known: tuple[tuple[int, Fraction], _Runs] | None = None

    def runs(self, cells: int, q: Fraction) -> _Runs:
        """Return the runs for a quantile, as they were worked out for the choice before."""
        if self._known is None or self._known[0] != (cells, q):
            self._known = (cells, q), _runs(self, cells, q)
        return self._known[1]


class _Runs(NamedTuple):
    """Candidates of equal cost, group by group, whatever the target."""

    # starts, lengths: the first cell of each run, and how many it has
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    # low, high: of its candidates, as in the module
    low: NDArray[Any]
    high: NDArray[Any]
    firsts: NDArray[np.intp]  # where the runs of each group begin
    largest: int  # what ``low`` and ``high`` are within, on either side


def _runs(histograms: Sequence[Histogram], cells: int, q: Fraction) -> _Runs:
    """Return the runs of all histograms, one after the other."""
    at = np.concatenate([h[0] for h in histograms]).astype(np.int64)
    count = np.concatenate([h[1] for h in histograms]).astype(np.int64)
    sizes = np.array([len(h[0]) for h in histograms])
    upto = np.concatenate(([0], count.cumsum()))
    ends = sizes.cumsum()
    before = upto[ends - sizes]
    totals = upto[ends] - before
    a, b = q.numerator, q.denominator
    # Where products leave 64 bits, Python integers go on exactly.
    largest = b * int(totals.max())
    wide = object if largest >= _FAR else np.int64
    # Runs alternate: the gap before a cell that occurs, the cell itself, ..., the gap at the end.
    firsts = 2 * (ends - sizes) + np.arange(len(sizes))
    positions = 2 * np.arange(len(at)) + np.repeat(np.arange(len(sizes)), sizes) + 1
    starts = np.zeros(2 * len(at) + len(sizes), dtype=np.int64)
    starts[positions], starts[positions + 1] = at, at + 1
    stops = np.empty_like(starts)
    stops[:-1], stops[firsts[1:] - 1], stops[-1] = starts[1:], cells + 1, cells + 1
    below = np.zeros(len(starts), dtype=wide)
    below[positions + 1] = upto[1:] - np.repeat(before, sizes)
    below[positions] = below[positions + 1] - count
    equal = np.zeros(len(starts), dtype=wide)
    equal[positions] = count
    scaled = np.repeat(totals.astype(wide), 2 * sizes + 1) * a
    low, high = b * below - scaled, b * (below + equal) - scaled
    lengths = stops - starts
    nonempty = lengths > 0
    firsts = nonempty.cumsum()[firsts] - nonempty[firsts]
    return _Runs(
        starts[nonempty], lengths[nonempty], low[nonempty], high[nonempty], firsts, largest
    )


def _costs(
    runs: _Runs, target: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
    """Return the runs for a target: first cells, lengths and costs, and where each group begins."""
    starts, lengths, low, high, firsts, largest = runs
    if largest + abs(target) >= _FAR:
        low, high = low.astype(object), high.astype(object)
    opened = _open_ends(starts, lengths, low, high, target, firsts)
    starts, lengths, low, high, firsts = opened
    cost = np.maximum(np.maximum(low - target, target - high), 0)
    # Held at a public ceiling, two costs are no farther apart than before.
    return starts, lengths, np.minimum(cost, _FAR).astype(np.int64), firsts


def _open_ends(
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    low: NDArray[Any],
    high: NDArray[Any],
    target: int,
    firsts: NDArray[np.intp],
) -> tuple[NDArray[Any], ...]:
    """Let the end candidate on the target's side reach without end, in a run of its own."""
    # It stands first or last in each group of runs; ``firsts`` says where each group starts.
    if not target:
        return starts, lengths, low, high, firsts
    ends = firsts if target < 0 else np.append(firsts[1:], len(starts)) - 1
    split = lengths[ends] > 1
    copies = np.ones(len(starts), np.intp)
    copies[ends[split]] = 2  # the runs of which the end candidate is split off, written twice
    starts, lengths, low, high = (x.repeat(copies) for x in (starts, lengths, low, high))
    moved = split.cumsum() - split  # how many were written before the runs of each group
    firsts = firsts + moved
    if target < 0:
        one = firsts[split]
        lengths[one], starts[one + 1] = 1, starts[one + 1] + 1
        lengths[one + 1] -= 1
        low[firsts] = min(-_FAR, target)
        return starts, lengths, low, high, firsts
    lasts = ends + moved + split
    one = lasts[split]
    lengths[one - 1] -= 1
    lengths[one], starts[one] = 1, starts[one] + lengths[one - 1]
    high[lasts] = max(_FAR, target)
    return starts, lengths, low, high, firsts


def choose_cells(
    histograms: Sequence[Histogram], cells: int, q: Fraction, target: int, rate: Fraction
) -> list[int]:
    """Draw for each histogram, independently, a candidate as :func:`choose_cell` does."""
    if not histograms:
        return []
    if _are_many(histograms):
        halves = _halves(histograms)
        return [one for half in halves for one in choose_cells(half, cells, q, target, rate)]
    tallies = histograms if isinstance(histograms, BinCounts) else BinCounts(histograms)
    starts, lengths, cost, firsts = _costs(tallies.runs(cells, q), target)
    chosen = (
        int(starts[run]) + uniform_integer(int(lengths[run]))
        for run in choices_within(firsts, cost, rate, lengths)
    )
    seen = watcher()
    if seen is None:
        return list(chosen)
    # where runs begin depends on the rows; an audit sees the choice among the cells, as it is
    parts = pairwise([*firsts.tolist(), len(cost)])
    distributions = [ExponentialChoice(cost[a:b].repeat(lengths[a:b]), rate) for a, b in parts]
    return [seen(distribution, None, partial(next, chosen)) for distribution in distributions]


def _are_many(histograms: Sequence[Histogram]) -> bool:
    """Return whether histograms have more cells than are chosen from at once."""
    return len(histograms) > 1 and sum(len(at) for at, _ in histograms) > _AT_ONCE


def _halves(histograms: Sequence[Histogram]) -> tuple[Sequence[Histogram], Sequence[Histogram]]:
    middle = len(histograms) // 2
    return histograms[:middle], histograms[middle:]


def choose_cell(histogram: Histogram, cells: int, q: Fraction, target: int, rate: Fraction) -> int:
    """Draw a candidate with probability proportional to ``exp(-rate cost)``, exactly."""
    return choose_cells([histogram], cells, q, target, rate)[0]


# **Together.**  Several ends, each a candidate for a quantile ``a_j / b_j`` and a target, are drawn
# by one exponential mechanism: it chooses among all lists of one candidate each, and the cost of a
# list is the largest of theirs.  The costs of an end are ``cost_j / b_j`` rows, and with D a
# multiple of every b_j the whole numbers ``cost_j D / b_j``.
#
# *Map.*  One row that comes or goes moves each of these by at most ``D max(q_j, 1 - q_j)``, hence
# their largest by at most ``D w`` with w the largest of all ``max(q_j, 1 - q_j)``.
#
# *Draw.*  Let ``N_j(x)`` be how many candidates of end j cost x or less.  Lists of cost x or less
# are ``prod N_j(x)``, a whole number; so there are as many of each cost as the product rises there.
# The cost is drawn with these weights.  Lists of the cost x are then numbered through, by the first
# end j that costs x: those before it have a candidate below x, those after it one of x or less.


class _Costs(NamedTuple):
    """The candidates of an end in the order of their costs, by runs."""

    starts: NDArray[np.int64]
    costs: NDArray[np.int64]
    upto: NDArray[np.int64]  # how many candidates there are in all runs before, and then in all

    def within(self, levels: NDArray[np.int64], side: Literal["left", "right"]) -> NDArray[Any]:
        """Return how many candidates cost less than each level, or no more than it."""
        return self.upto[np.searchsorted(self.costs, levels, side)]

    def cell(self, index: int) -> int:
        """Return a candidate by its place in the order."""
        run = int(np.searchsorted(self.upto, index, "right")) - 1
        return int(self.starts[run]) + index - int(self.upto[run])


def choose_together(
    histograms: Sequence[Histogram],
    cells: int,
    ends: Sequence[tuple[Fraction, int]],
    rate: Fraction,
) -> list[list[int]]:
    """Draw for each histogram a candidate for each quantile and target, in one choice.

    A list has a probability proportional to ``exp(-rate cost)``, exactly, where the cost is the
    largest of its candidates', in parts ``1 / D`` of a row: D is the least common denominator.

    >>> rows = (np.array([2, 5]), np.array([400, 800]))
    >>> choose_together([rows], 6, [(Fraction(1, 4), 0), (Fraction(1, 2), 0)], Fraction(1))
    [[2, 5]]
    """
    if not histograms:
        return []
    if _are_many(histograms):
        halves = _halves(histograms)
        return [one for half in halves for one in choose_together(half, cells, ends, rate)]
    tallies = histograms if isinstance(histograms, BinCounts) else BinCounts(histograms)
    common = math.lcm(*(q.denominator for q, _ in ends))
    sorted_ends: list[list[_Costs]] = [[] for _ in histograms]
    for q, target in ends:
        times = common // q.denominator
        starts, lengths, cost, firsts = _costs(tallies.runs(cells, q), target)
        cost = np.minimum(cost, _FAR // times) * times  # at a public ceiling, as in :func:`_costs`
        for group, (a, b) in enumerate(pairwise([*firsts.tolist(), len(cost)])):
            order = np.argsort(cost[a:b], kind="stable")
            upto = np.concatenate(([0], lengths[a:b][order].cumsum()))
            sorted_ends[group].append(_Costs(starts[a:b][order], cost[a:b][order], upto))
    levels, weights = zip(*(_levels(group) for group in sorted_ends), strict=True)
    firsts = np.cumsum([0, *map(len, levels[:-1])])
    drawn = choices_within(firsts, np.concatenate(levels), rate, np.concatenate(weights))
    every = np.concatenate(levels)
    return [
        _list_of(group, every[index], uniform_integer(int(weight[index - first])))
        for group, weight, first, index in zip(
            sorted_ends, weights, firsts.tolist(), drawn, strict=True
        )
    ]


def _levels(ends: Sequence[_Costs]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the costs that lists have, and how many lists have each."""
    levels = np.unique(np.concatenate([end.costs for end in ends]))
    wide = object if math.prod(int(end.upto[-1]) for end in ends) >= _MANY else np.int64
    upto = np.ones(len(levels), dtype=wide)
    for end in ends:
        upto = upto * end.within(levels, "right").astype(wide)
    lists = upto - np.append(np.zeros(1, dtype=wide), upto[:-1])
    return levels[lists > 0], lists[lists > 0]


def _list_of(ends: Sequence[_Costs], level: int, number: int) -> list[int]:
    """Return the list of a cost that has a number."""
    at = np.array([level])
    below, upto = ([int(end.within(at, side)[0]) for end in ends] for side in ("left", "right"))
    first = 0
    while True:
        ranges = [
            (0, below[j]) if j < first else (below[j], upto[j]) if j == first else (0, upto[j])
            for j in range(len(ends))
        ]
        many = math.prod(b - a for a, b in ranges)
        if number < many:
            break
        number, first = number - many, first + 1
    cells = []
    for end, (a, b) in zip(ends, ranges, strict=True):
        number, place = divmod(number, b - a)
        cells.append(end.cell(a + place))
    return cells


def error_in_cost(cells: int, scale: Fraction, beta: float) -> int:
    """Return x with ``P(cost >= x) <= beta``: ``scale ln(M / beta)``, rounded up."""
    return math.ceil(float(scale) * math.log((cells + 1) / beta) * (1 + 1e-9)) + 1
