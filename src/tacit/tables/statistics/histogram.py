"""How many rows there are in each bin of a column, and where they end: two kinds."""

# ``histogram`` counts the rows between public edges.  ``bounds`` counts them between powers of two,
# and from the noisy counts alone takes the lowest and the highest bin in which there surely are
# rows.

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core import (
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.errors import UsageError, shown_value
from tacit.expressions.dialect import bin_names
from tacit.expressions.grid import Grid
from tacit.report.text import bins_words, for_each_group, say_step
from tacit.tables.cell_axis import listed
from tacit.tables.noise import Estimate
from tacit.tables.query.requests import Bins, Request
from tacit.tables.statistics.base import (
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.part import (
    LEVEL,
    Columns,
    Noise,
    Part,
    distribution_of_rows,
    plain_estimate,
)
from tacit.tables.steps import VectorStep, weight_of
from tacit.transformations import Histogram

_FAR = 1 << 30
_WRONG = 0.05  # how likely bounds reach into an empty bin, at most


@register
@dataclass(frozen=True)
class HistogramByGroup(VectorStep):
    """Count the values of a column between edges, in each group."""

    # **Map.** ``d -> d`` in L1 and in L2: a row is in one bin of one group.

    column: str
    edges: tuple[str, ...]
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "histogram"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), Fraction(1))


@dataclass(frozen=True)
class HistogramPart(Part):
    """The number of values between each two edges."""

    column: str
    grid: Grid
    edges: tuple[Fraction, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"histogram of {self.column}"

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = HistogramByGroup(
            size=size * self.bins,
            norm=noise.norm,
            column=self.column,
            edges=tuple(str(edge) for edge in self.edges),
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight between each two edges."""
        edges = tuple(self.grid.offset(edge) for edge in self.edges)
        return Bins(columns.value(self.column), self.grid, edges)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts, shape (groups, bins)."""
        flat = plain_estimate(released[0], distribution_of_rows(noise))
        shape = (-1, self.bins)
        columns = (flat.value, flat.standard_error, flat.lower, flat.upper)
        return {"histogram": Estimate(*(column.reshape(shape) for column in columns))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error of one bin, the same for any data."""
        return float(distribution_of_rows(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return distribution_of_rows(noise).half_width((1.0,), level)


@public
def histogram(
    column: str | None = None, edges: Sequence[Number] | None = None, *, method: str = "global"
) -> Aggregate:
    """Count the values of a column in bins between edges; the last bin includes its upper edge.

    Values outside the edges, and missing ones, are in no bin.  ``histogram([0, 20, 40])``, without
    a column, is a step of a chain.

    Alone, it puts each value on the public grid of the column first, as sums do: a float of
    39.999999999999996 may count as 40.  In a plan, and in ``ranges`` and the like, values are
    compared with the edges as they are.

    Args:
        column: the name of the column.
        edges: public and rising, at least two; a bin includes its lower edge.
        method: ``"global"``, the only one.

    Raises:
        UsageError: fewer than two edges, or edges that do not rise.

    >>> print(histogram("age", [0, 20, 40, 60]))
    histogram(age, 0, 60, 3 bins)
    """
    only_global("histogram", method)
    if column is None and edges is None:
        return HistogramOfColumn()
    if edges is None and column is not None and not isinstance(column, str):
        column, edges = None, listed(column)
    if column is not None and not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    several = edges if isinstance(edges, Iterable) else ()  # one number is refused as too few
    exact = tuple(as_fraction(edge, "an edge") for edge in several)
    if len(exact) < 2 or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError(
            'a histogram needs at least two increasing edges: tc.histogram("age", [0, 20, 40])'
        )
    return HistogramOfColumn(column, exact[0], exact[-1], edges=exact)


@dataclass(frozen=True)
class Binned(TableStatistic):
    """A statistic of the bins between the edges of a column."""

    edges: tuple[Fraction, ...] | None = None

    fields = ("column", "edges")
    counts = True

    def answer_names(self) -> list[str] | None:
        """Return the names of its numbers."""
        return None if self.edges is None else bin_names(self.edges)

    def _shown(self) -> tuple[list[str], list[str]]:
        return [], [] if self.edges is None else [f"{len(self.edges) - 1} bins"]

    def _fields_to_json(self) -> dict[str, object]:
        return {} if self.edges is None else {"edges": [str(edge) for edge in self.edges]}

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        return bins_words(cls.noun, described)


@register_statistic
@dataclass(frozen=True)
class HistogramOfColumn(Binned):
    """The statistic ``histogram``."""

    kind = "histogram"
    elsewhere = ("hist", "bins")
    order = 110
    make = staticmethod(histogram)
    help = "How many values are in each bin between the edges."
    noun = "how many values of {column} lie in each of {bins} bins"
    amount = True
    whole = True

    @property
    def statistic(self) -> Any:
        from tacit.statistics import Histogram as Statistic

        return super().statistic if self.edges is None else Statistic(self.edges)

    def step(self) -> Step | None:
        return None if self.edges is None or self.column is not None else Histogram(self.edges)

    def shared(self) -> Any:
        return HistogramOfColumn, self.clamped, self.edges

    def part(self, setting: Setting, before: Part | None) -> Part:
        return HistogramPart(self.require_column(), setting.grid(self, self.bits), self.edges or ())


@dataclass(frozen=True)
class BoundsPart(HistogramPart):
    """Bounds of a column, out of noisy counts between powers of two; see :func:`bounds`."""

    error_unit: ClassVar[str] = "rows that show"

    @classmethod
    def between(cls, column: str, grid: Grid) -> BoundsPart:
        """Return the part whose edges are zero and the powers of two times the step of a grid."""
        first, last = grid.first, grid.first + grid.cells
        powers = [1 << j for j in range(max(abs(first), abs(last)).bit_length())]
        inner = {p for p in (0, *powers, *(-p for p in powers)) if first < p < last}
        edges = (grid.value(p - first) for p in sorted(inner))
        return cls(column, grid, (grid.lower, *edges, grid.upper))

    @property
    def title(self) -> str:
        return f"bounds of {self.column}"

    def _threshold(self, noise: Noise) -> float:
        """Return what all noise stays at or below, with a probability of 95% or more."""
        return distribution_of_rows(noise).half_width((1.0,), 1 - 2 * _WRONG / self.bins)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the bounds, shape (groups, 2); they have neither errors nor intervals."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, self.bins)
        shown = noisy > self._threshold(noise)
        shown |= ~shown.any(axis=1, keepdims=True)  # where nothing shows, all may hold rows
        edges = np.array([float(edge) for edge in self.edges])
        low, high = edges[shown.argmax(axis=1)], edges[self.bins - shown[:, ::-1].argmax(axis=1)]
        value = np.stack((low, high), axis=1)
        unknown = np.full_like(value, np.nan)
        return {"bounds": Estimate(value, unknown, unknown, unknown)}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return how many rows in one bin show with a probability of 95%, for any data."""
        distribution = distribution_of_rows(noise)
        return (
            self._threshold(noise)
            + distribution.grid
            + distribution.half_width((1.0,), 2 * LEVEL - 1)
        )

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return None: bounds have no interval."""
        return None


@public
def bounds(
    column: str, lower: Number = -_FAR, upper: Number = _FAR, *, method: str = "global"
) -> Aggregate:
    """Find bounds of a column privately, where nothing public says them.

    The answer is two numbers, to be taken as the bounds of questions to come.  The rows are counted
    between zero and the powers of two, with noise; the bounds are the ends of the lowest and of the
    highest bin whose noisy count is above all noise that is likely.  So each bound is at most twice
    as far from zero as the values are, and few values beyond it are clamped then.

    **How sure.**  A count of an empty bin is its noise, and with probability 95% or more that of no
    bin is above the threshold (the union bound over the bins, of exact quantiles).  Then each bound
    is an end of a bin that holds a value.  A bin of so many rows as ``preview`` says, the
    threshold and as much as noise takes away in one of twenty cases, is within the bounds
    with probability 95%.  Where no bin is above the threshold, the bounds are those given.

    Args:
        column: the name of the column, of numbers.
        lower: a public number certainly below all that is of interest, minus 2^30 by default;
            values beyond it are not counted.
        upper: a public number certainly above, 2^30 by default.  Values nearer to zero than
            ``(upper - lower) / 2**31`` are in one bin, and than 1 where the column is whole.
        method: ``"global"``, the only one.

    Raises:
        UsageError: bounds that are reversed, another method, a column that is no name.

    Source: the bounds of R. Wilson et al., *Differentially private SQL with bounded user
    contribution* (PoPETs 2020), section 4.2, with exact noise and thresholds.

    >>> print(bounds("visits", 0, 10**6))
    bounds(visits, 0, 1000000)
    """
    only_global("bounds", method)
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    return bounded(BoundsOfColumn, column, lower, upper)


@register_statistic
@dataclass(frozen=True)
class BoundsOfColumn(TableStatistic):
    """The statistic ``bounds``."""

    kind = "bounds"
    order = 113
    make = staticmethod(bounds)
    help = "Bounds that hold nearly all values, found privately between LOW and HIGH."
    noun = "bounds of {column}"
    each = ("bound", "value")
    in_lab = "as statistics ask tc.min and tc.max"

    def answer_names(self) -> list[str] | None:
        """Return the names of its numbers."""
        return ["lower", "upper"]

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        ends = (show(as_fraction(described[end])) for end in ("lower", "upper"))
        return "{}, looked for between {} and {}".format(
            cls.noun.format(column=described["column"]), *ends
        )

    def part(self, setting: Setting, before: Part | None) -> Part:
        return BoundsPart.between(self.require_column(), setting.grid(self, self.bits))


def _step_words(step: Mapping[str, Any]) -> str:
    bins = len(step["edges"]) - 1
    return f"Count the values of {step['column']} in {bins} bins{for_each_group(step)}"


say_step("histogram", _step_words)
