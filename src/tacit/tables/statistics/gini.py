"""The Gini coefficient of a column of amounts."""

# **Mechanism.**  Public edges ``e_0 < .. < e_m`` lie from the lower bound on, eight to an octave.
# A row between two edges is split between them, by how near it is to each, so that its mean is its
# value.  The sums of the shares at the edges are released: the vector h, with noise z.
#
# **Map.**  ``d -> d``: the shares of a row are one in all (in L1, so no more in L2).  They are
# whole multiples of one over the widest step, for each step is a power of two in cells of the grid.
#
# **Identity.**  Let D have the distances of edges, 1 be the vector of ones, ``A = h'Dh / 2`` and
# ``n = 1'h``, ``S = e'h``.  Of rows x the coefficient is ``g = sum_(i<j) |x_i - x_j| / (n S)``, and
# splitting changes neither n nor S.  Nor does it change a distance of rows that lie in different
# steps.  Of those in the same step, of width w, with the shares a at its lower and b at its upper
# edge, it adds from 0 to ``w a b``: their split distances are ``w a b`` in all, pairs counted once.
# So with ``M = D - g (1 e' + e 1')``
#
#     ``h'Mh / 2`` is from 0 to ``X = sum_k w_k a_k b_k``, for h without noise.
#
# The shares at an edge belong to the steps on both sides of it, ``b_(k-1) + a_k = h_k``, and X is
# linear in how each is divided: so it is largest where all of each edge is on one side, which is
# the largest sum of ``w_k h_k h_(k+1)`` over steps of which no two share an edge.
#
# **Interval.**  Write y for the released ``h + z``, s^2 for the variance of z, v for ``M h``.  Then
#
#     ``y'My / 2 = h'Mh / 2 + v'z + z'Mz / 2``,
#
# and each of these holds but for a part of the chance to miss:
#
# - ``|v'z| <= c |v|``, v being fixed (:meth:`~tacit.tables.noise.GridNoise.norm_bound`);
# - ``|v|^2 <= |My|^2 + 2 c' |M| |v|``, for ``|My|^2 - |v|^2 = 2 (Mv)'z + |Mz|^2`` and ``|Mv| <= |M|
#   |v|``; so ``|v| <= c' |M| + sqrt(|My|^2 + c'^2 |M|^2)``;
# - ``z'Mz / 2`` is near its mean ``- g s^2 1'e``, by Chebyshev's inequality: its variance is
#   ``s^4 (|M|_F^2 / 2 + K sum_i (g e_i)^2)``, K the excess kurtosis of z (3 for Laplace noise, and
#   a little more where it is discrete; 4 is taken);
# - ``h_k <= y_k + t`` for all k, which bounds X.
#
# So g is in the set where ``F(g) = y'Dy / 2 - g (nS - s^2 1'e)``, with n and S of y, is from ``-W``
# to ``X + W``, W(g) being the sum of the bounds.  F is linear in g and W convex, as a sum of norms
# of affine functions with ``|M| <= |D| + g (1'e + |1||e|)``.  So either condition fails on an
# interval, and where it fails at an end of [0, 1], bisection finds how far it does.
#
# **Value.**  ``y'Dy / 2`` has the mean ``h'Dh / 2``, for D has no diagonal; rows spread evenly in
# the steps would have a third of ``w a b``, with halves of each edge on either side.
#
# Sources: Gini 1912; the identity of splitting is that of the Lorenz curve's trapezoids (Gastwirth,
# "The estimation of the Lorenz curve and Gini index", 1972, who bounds the error within groups).

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_integer, show
from tacit.calls import public
from tacit.core import Number, Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
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
from tacit.tables.statistics.part import Part, SplitRowsPart
from tacit.tables.steps import VectorStep

_STEPS, _OCTAVES = 8, 12  # edges to an octave, and octaves below the upper bound


@lru_cache(maxsize=64)
def edges(cells: int) -> NDArray[np.int64]:
    """Return the edges in cells: steps are powers of two, and the last edge is not below the end.

    >>> edges(20).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20]
    """
    last = max((cells - 1).bit_length() - _STEPS.bit_length(), 0)
    first = max(last - _OCTAVES + 1, 0)
    found = [*range(_STEPS)] if first == 0 else [0]
    for octave in range(first, last + 1):
        found += [(_STEPS + i) << octave for i in range(_STEPS)]
    found.append(2 * _STEPS << last)
    enough = next(i for i, edge in enumerate(found) if edge >= cells)
    return np.array(found[: enough + 1], dtype=np.int64)


def shares(at: NDArray[np.int64], weights: NDArray[Any], cells: int) -> NDArray[Any]:
    """Return the sums of shares of weighted cells at each edge, in units of one over the widest."""
    ends = edges(cells)
    widths = np.diff(ends)
    widest = int(widths.max())
    step = np.clip(np.searchsorted(ends, at, side="right") - 1, 0, len(widths) - 1)
    upper = (at - ends[step]) * (widest // widths[step])
    total = np.zeros(len(ends), dtype=weights.dtype)
    np.add.at(total, step, (widest - upper).astype(weights.dtype) * weights)
    np.add.at(total, step + 1, upper.astype(weights.dtype) * weights)
    return total


def _widest(cells: int) -> int:
    return int(np.diff(edges(cells)).max())


@register
@dataclass(frozen=True)
class SplitBetweenEdges(VectorStep):
    """Split every row between the two edges about it, and add up the shares at each edge."""

    # The map is proven in the module: ``d -> d``.  ``widest`` is the widest step in cells, of which
    # every share is a part.

    column: str
    lower: str
    upper: str
    cells: int
    widest: int
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "split_between_edges"

    def build(self, space: Space) -> Transformation:
        """Return the sums of shares."""
        self._require(space, SymmetricDistance)
        cells, widest, one = (
            as_integer(getattr(self, n), n, minimum=1) for n in ("cells", "widest", "one")
        )
        if cells.bit_length() > SQUARE_BITS + 1:
            raise UsageError(f"{self.name} takes a grid of at most {SQUARE_BITS} bits")
        if widest != _widest(cells):
            raise UsageError(f"the widest step of {cells} cells is {_widest(cells)}, not {widest}")
        return self._end(space, Number("float", grid=Fraction(1, one * widest)), Fraction(1))


def _step_words(step: Mapping[str, Any]) -> str:
    return (
        f"Split each row between the two of {len(edges(int(step['cells'])))} fixed values that "
        f"{clamped_column(step)} is between, and add up the shares{for_each_group(step)}"
    )


say_step(SplitBetweenEdges.name, _step_words)

# The parts of the chance to miss: of v'z; of |v|, of z'Mz and of the rows in each step.
_LINEAR, _SIZE, _SQUARE, _COUNTS = 0.8, 0.05, 0.1, 0.05
_HALVINGS = 40
_KURTOSIS = 4.0


@dataclass(frozen=True)
class Edges:
    """The edges as numbers, and what follows from them alone."""

    at: Array
    inside: Array  # the widths of steps in which rows may lie between the edges, 0 for others
    distances: Array  # D
    norm: float  # |D|

    def most_within(self, rows: Array) -> Array:
        """Return the most that splitting adds to ``h'Dh / 2``, from rows at the edges at most."""
        best = before = np.zeros(len(rows))
        for one in (self.inside * rows[:, :-1] * rows[:, 1:]).T:
            best, before = np.maximum(best, before + one), best
        return best


@lru_cache(maxsize=64)
def edges_of(grid: Grid) -> Edges:
    """Return the edges on the grid of a column."""
    cells = edges(grid.cells)
    widths = np.diff(cells)
    first, step = float(grid.value(0)), float(grid.step)
    at: Array = first + step * cells.astype(np.float64)
    distances = np.abs(at[:, None] - at[None])
    norm = float(np.abs(np.linalg.eigvalsh(distances)).max())
    return Edges(at, np.asarray(step * widths * (widths > 1)), np.asarray(distances), norm)


def coefficient(y: Array, of: Edges, law: GridNoise, level: float) -> Estimate:
    """Return the coefficient of each line of noisy shares, in rows; see the module."""
    e, miss, size = of.at, 1 - level, len(of.at)
    variance, ones = law.variance, float(e.sum())
    n, total = y.sum(axis=1), y @ e
    a, b = y @ of.distances, total[:, None] + n[:, None] * e
    area = (a * y).sum(axis=1) / 2
    slope = n * total - variance * ones

    evenly = (of.inside * y[:, :-1] * y[:, 1:]).sum(axis=1) / 12
    value = np.clip(_over(area - evenly, slope), 0.0, 1.0)

    def image(g: Array) -> Array:
        return np.asarray(np.linalg.norm(a - g[:, None] * b, axis=1))

    error = math.sqrt(variance) * image(value) / np.where(slope > 0, slope, np.nan)

    grid = law.grid * math.sqrt(size)
    linear = law.norm_bound(1 - miss * _LINEAR) + grid
    length = law.norm_bound(1 - miss * _SIZE * 2) + grid
    far = math.sqrt(1 / (miss * _SQUARE))
    rows = np.maximum(y + law.one(1 - miss * _COUNTS / size), 0.0)
    most = of.most_within(rows)
    square = float((e**2).sum())
    pair = 2 * (size * square + ones**2)  # the square of the norm of ``1 e' + e 1'``
    both = 2 * float((of.distances @ e).sum())
    norm, more = of.norm, ones + math.sqrt(size * square)
    frobenius = float((of.distances**2).sum())

    def off(g: Array) -> Array:
        """Return W."""
        whole = length * (norm + g * more)
        sizes = whole + np.sqrt(image(g) ** 2 + whole**2)
        squares = np.maximum(frobenius - 2 * g * both + g**2 * pair, 0.0)
        spread = variance * np.sqrt(squares / 2 + _KURTOSIS * g**2 * square)
        return np.asarray(linear * sizes + far * spread)

    def too_low(g: Array) -> NDArray[np.bool_]:
        return np.asarray(area - g * slope - most > off(g))

    def too_high(g: Array) -> NDArray[np.bool_]:
        return np.asarray(g * slope - area > off(g))

    middle = np.clip(_over(area - most, slope), 0.0, 1.0)
    lower = _last(too_low, np.zeros_like(value), middle)
    middle = np.clip(_over(area, slope), 0.0, 1.0)
    upper = _last(too_high, np.ones_like(value), middle)
    known = (slope > 0) & (n > 0)
    return Estimate(
        np.where(known, value, 0.0),
        np.where(known, error, 1.0),
        np.where(known, np.minimum(lower, value), 0.0),
        np.where(known, np.maximum(upper, value), 1.0),
    )


def _over(numerator: Array, slope: Array) -> Array:
    return np.asarray(np.divide(numerator, np.where(slope > 0, slope, 1.0)))


def _last(fails: Callable[[Array], NDArray[np.bool_]], end: Array, middle: Array) -> Array:
    """Return the end where nothing fails there, else the last point from it on that fails."""
    outside, failing = end, fails(end)
    inside = middle
    for _ in range(_HALVINGS):
        between = (outside + inside) / 2
        bad = fails(between)
        outside, inside = np.where(bad, between, outside), np.where(bad, inside, between)
    return np.asarray(np.where(failing, outside, end))


class GiniPart(SplitRowsPart):
    """The Gini coefficient of a column; see the module."""

    kind = "gini"

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"Gini coefficient of {self.column}"

    @property
    def row(self) -> int:
        """The widest step."""
        return _widest(self.grid.cells)

    @property
    def shares(self) -> int:
        """The number of edges."""
        return len(edges(self.grid.cells))

    def split(self, cells: NDArray[np.int64], weights: NDArray[Any]) -> list[Any]:
        """Return the sums of shares at each edge."""
        return list(shares(cells, weights, self.grid.cells).tolist())

    def step(self, **fields: Any) -> Step:
        """Return the step that splits rows between edges."""
        return SplitBetweenEdges(widest=self.row, **fields)

    def estimate(self, noisy: Array, law: GridNoise, level: float) -> Estimate:
        """Return the coefficient."""
        return coefficient(noisy, edges_of(self.grid), law, level)

    def even(self, rows: float) -> Any:
        """Return the shares of values spread evenly over the bounds."""
        at = np.linspace(0, self.grid.cells, _EVEN).round().astype(np.int64)
        return shares(at, np.full(_EVEN, rows / (_EVEN * self.row)), self.grid.cells)


_EVEN = 1 << 12


@public
def gini(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return the Gini coefficient of a column of amounts, such as incomes: 0 where all are equal.

    It is half of the mean distance of two rows, over their mean: from 0 to 1, without a unit.  Of
    values that are not missing, each clamped to [lower, upper]; rows, not people, are compared.

    Args:
        column: the name of the column; None for a statistic of :func:`tacit.sensitivity`.
        lower: the public lower bound, 0 or more, in the unit of the column; by default that of the
            declared data set.
        upper: the public upper bound, likewise.  Rows below about a ten thousandth of it are told
            apart only from those above.
        method: ``"global"``, the only one.

    Raises:
        UsageError: bounds that are reversed, a lower one below zero, another method.

    Source: Gini 1912; Gastwirth 1972, for what grouping of values changes.

    >>> print(gini("income", 0, 100_000))
    gini(income, 0, 100000)
    """
    only_global("gini", method)
    made = bounded(Gini, column, lower, upper)
    _check(made.clamped)
    return made


def _check(clamped: Sequence[Clamped]) -> None:
    for one in clamped:
        if one.lower is not None and one.lower < 0:
            raise UsageError(
                f"the Gini coefficient of {one.column!r} needs a lower bound of 0 or more, not "
                f"{show(one.lower)}: it compares amounts, and a negative one counts as the bound"
            )


@register_statistic
@dataclass(frozen=True)
class Gini(TableStatistic):
    """The statistic ``gini``."""

    kind = "gini"
    elsewhere = ("gini_coefficient", "gini_index", "inequality")
    order = 48
    make = staticmethod(gini)
    help = "The Gini coefficient, within bounds of 0 or more."
    noun = "the Gini coefficient of {column}"
    bits = SQUARE_BITS

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        """Return the statistic with other bounds of its column."""
        _check(bounded)
        return super().with_bounds(bounded)

    @classmethod
    def range(cls, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, 1.0

    def part(self, setting: Setting, before: Part | None) -> Part:
        return GiniPart(self.require_column(), setting.grid(self, self.bits))
