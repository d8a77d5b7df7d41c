"""Statistics of a column by listed groups, in a plan: sums, means, variances and quantiles.

A plan asks about all rows at once, so the group of a row is part of what is read.  With M cells of
the axes of the groups (:mod:`tacit.tables.spec.cell_axis`) and values on a grid of C steps, every
row with a value becomes the whole number ``cell (C + 1) + z``, z being the offset of its value; the
engine counts the rows of each such number that occurs.  From these counts follow, exactly, all that
the part of the same statistic by groups needs; so its chain, its noise and its proof are those of
that part, with the cells as groups.  A row is in one cell, whatever its values are.

*Theorem.*  The number of a row determines its cell and an offset within 0..C.  *Proof.*  The value
is clamped to the bounds of the grid and scaled to a number in [0, C]; with the whole number ``cell
(C + 1)`` added, it is rounded to the nearest whole number, which is at least ``cell (C + 1)`` and
at most ``cell (C + 1) + C``.  (Whatever floating point did, the number is held within 0..M (C + 1)
- 1, and every whole number there is of one cell and one offset.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.report.text.words import aggregate_words, listed
from tacit.tables.answers.aggregate import Aggregate, Kind, Setting, kind_of, kinds, register_kind
from tacit.tables.answers.moments import MomentsPart, mean
from tacit.tables.answers.percentiles import PercentilesPart, percentiles
from tacit.tables.answers.quantile import QuantilePart, median
from tacit.tables.answers.total import SumPart
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part
from tacit.tables.query.requests import Cells, Moments, Request, Total
from tacit.tables.spec.cell_axis import Axis, axis_from

__all__ = ["BY_CELLS", "GROUPED", "GroupedPart", "asked_by_cells"]

BY_CELLS = "by_cells"
_ALIKE = (mean(), median(), percentiles("of", [50]))
_FAMILIES = tuple(type(kind_of(made.kind)) for made in _ALIKE)
_CHOSEN = (QuantilePart, PercentilesPart)
"""Parts whose answers are values of the column, chosen by their rank."""
GROUPED = tuple(kind.name for kind in kinds() if isinstance(kind, _FAMILIES))
"""The kinds that are answered by groups in a plan."""
_BITS, _LEAST = 30, 8


def asked_by_cells(axes: Sequence[Axis], of: Aggregate) -> Aggregate:
    """Ask for a statistic in each listed cell of some axes.

    >>> print(asked_by_cells([Axis(("sex",), (("f",), ("m",)))], mean("age", 0, 100)))
    by_cells(mean(age, 0, 100), sex)
    """
    return Aggregate(BY_CELLS, axes=tuple(axes), of=of)


@dataclass(frozen=True)
class GroupedPart(Part):
    """A part that answers by groups, in the cells of some axes.

    Attributes:
        inner: the part whose groups are the cells.
        axes: the columns of the groups.
    """

    inner: MomentsPart | SumPart | QuantilePart | PercentilesPart
    axes: tuple[Axis, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{self.inner.title} by {listed([axis.name for axis in self.axes])}"

    @property
    def size(self) -> int:
        """How many cells there are, those of other values included."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def places(self) -> list[int]:
        """Where the listed cells stand among all, in the order of the keys."""
        shape = tuple(axis.size for axis in self.axes)
        each = itertools.product(*(range(axis.listed) for axis in self.axes))
        return [int(np.ravel_multi_index(cell, shape)) for cell in each]

    def settled(self) -> Part:
        """Return the part whose inner one is settled."""
        inner: Any = self.inner.settled()
        chosen = isinstance(inner, _CHOSEN)
        return (_GroupedChoice if chosen else GroupedPart)(inner, self.axes)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chains of the inner part, with the cells as groups."""
        return self.inner.chains(self.size, tuple(axis.name for axis in self.axes), noise)

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask how many rows each cell has of each value on the grid."""
        grid, code, stride = self.inner.grid, None, self.size
        for axis in self.axes:
            stride //= axis.size
            one = axis.code(columns.value)
            one = one if stride == 1 else one * stride
            code = one if code is None else code + one
        assert code is not None
        low, high = grid.value(0), grid.value(grid.cells)
        value = columns.value(self.inner.column).clamp(low, high)
        offset = (value - float(low)) * float(1 / grid.step)
        last = Fraction(self.size * (grid.cells + 1) - 1)
        return Cells(code * (grid.cells + 1) + offset, Grid(Fraction(0), last, 0))

    def vector(self, step: Step, found: Any) -> Any:
        """Return what the inner part makes of the rows of each cell."""
        ((numbers, weights),) = found
        cells, offsets = np.divmod(np.asarray(numbers, dtype=np.int64), self.inner.grid.cells + 1)
        weights = np.asarray(weights)
        if isinstance(self.inner, _CHOSEN):
            ends = np.searchsorted(cells, np.arange(self.size + 1))
            each = itertools.pairwise(ends.tolist())
            return self.inner.vector(step, [(offsets[a:b], weights[a:b]) for a, b in each])
        sums = np.zeros((self.size, 4), dtype=object)
        weighed, moved = weights.astype(object), offsets.astype(object)
        for power, column in ((0, 0), (1, 2), (2, 3)):
            np.add.at(sums[:, column], cells, weighed * moved**power)
        asked = self.inner.request(step, Columns({}, alone=False))
        if isinstance(asked, Total):  # of grid points, in the place of offsets
            first = self.inner.grid.value(0) / self.inner.grid.step
            return self.inner.vector(step, sums[:, 2] + int(first) * sums[:, 0])
        assert isinstance(asked, Moments)
        return self.inner.vector(step, sums)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answers in the listed cells."""
        found = self.inner.estimates(released, noise)
        return {kind: self._listed(estimate) for kind, estimate in found.items()}

    def _listed(self, found: Estimate) -> Estimate:
        parts = (found.value, found.standard_error, found.lower, found.upper)
        return Estimate(*(np.asarray(each)[self.places].reshape(1, -1) for each in parts))

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error in a group of so many rows."""
        return self.inner.expected_error(kind, noise, rows)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return how far an interval reaches in a group of so many rows."""
        return self.inner.half_width(kind, noise, rows, level)


@dataclass(frozen=True)
class _GroupedChoice(GroupedPart):
    error_unit = QuantilePart.error_unit


class _ByCells(Kind):
    def key(self, asked: Aggregate) -> str:
        return kind_of(_of(asked).kind).key(_of(asked))

    def label(self, asked: Aggregate) -> str:
        of = _of(asked)
        return "_by_".join([kind_of(of.kind).label(of), *(axis.name for axis in asked.axes or ())])

    def names(self, asked: Aggregate) -> list[str] | None:
        """Return what its cells are called."""
        of, each = _of(asked), [axis.names for axis in asked.axes or ()]
        several = kind_of(of.kind).names(of)
        each += [] if several is None else [several]
        return [", ".join(cell) for cell in itertools.product(*each)]

    def read(self, described: Mapping[str, Any]) -> Aggregate:
        of = described["of"]
        if of["kind"] not in GROUPED or "method" in of:
            raise UsageError(f"a plan answers by groups: {', '.join(GROUPED)}")
        made = kind_of(of["kind"]).read(of)
        axes = [axis_from(axis) for axis in described["axes"]]
        if not axes:
            raise UsageError("a statistic by groups has at least one column of groups")
        return asked_by_cells(axes, made)

    def words(self, described: Mapping[str, Any]) -> str:
        axes = [axis_from(axis) for axis in described["axes"]]
        groups = listed([f"{axis.name} ({', '.join(axis.names)})" for axis in axes])
        return f"{aggregate_words(described['of'])} by {groups}"

    def shared(self, asked: Aggregate) -> Any:
        axes = str([axis.to_json() for axis in asked.axes or ()])
        return type(self), axes, kind_of(_of(asked).kind).shared(_of(asked))

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        axes, of = asked.axes or (), _of(asked)
        cells = math.prod(axis.size for axis in axes)
        room = _BITS - (cells - 1).bit_length()
        if room < _LEAST:
            raise UsageError(
                f"{of} by {listed([axis.name for axis in axes])} has {cells:,} groups, and a plan "
                f"answers at most {1 << _BITS - _LEAST:,}: list fewer keys"
            )
        own = Setting(lambda each, bits: setting.grid(each, min(bits, room)), setting.groups, False)
        known = before.inner if isinstance(before, GroupedPart) else None
        inner: Any = kind_of(of.kind).part(of, own, known)
        return GroupedPart(inner, axes)

    def estimate(
        self,
        parts: Sequence[Part],
        found: Sequence[Mapping[str, Estimate]],
        noises: Sequence[Noise],
        level: float = LEVEL,
    ) -> Estimate:
        raise AssertionError("its answers are known by the kind of each")


def _of(asked: Aggregate) -> Aggregate:
    assert asked.of is not None
    return asked.of


register_kind(
    _ByCells(
        name=BY_CELLS,
        order=1003,
        make=asked_by_cells,
        help="A statistic in each cell of some columns.",
        noun="a statistic in each cell",
        fields=("axes", "of"),
        each=("cell", "value"),
        alone=False,
    )
)
