"""Cumulative distributions, prefix sums, ranges and groups of bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.report.text import aggregate_words, groups_words, listed
from tacit.tables.cell_axis import Axis, axis_from
from tacit.tables.joint.cell_counts import CellsPart, RequestedCells, key_of
from tacit.tables.joint.strategy import READINGS, SHARES, names_of, size_of
from tacit.tables.noise import Estimate
from tacit.tables.query.requests import Cells, Moments, Request, Total
from tacit.tables.statistics.base import (
    Aggregate,
    Setting,
    TableStatistic,
    register_statistic,
    statistic_named,
    statistics,
)
from tacit.tables.statistics.counted_quantiles import CountingPart
from tacit.tables.statistics.histogram import Binned, histogram
from tacit.tables.statistics.moments import MeanOfColumn, Moment, MomentsPart, SumPart
from tacit.tables.statistics.part import Columns, Noise, Part
from tacit.tables.statistics.percentiles import Percentiles, PercentilesPart
from tacit.tables.statistics.quantiles import QuantileOfColumn, QuantilePart
from tacit.workload.range_strategies import check_bins, check_numbers

# Counts of cells as a kind of answer, which only a plan of several questions asks for.


def requested_cells(
    axes: Sequence[Axis],
    importance: int = 1,
    reading: str = "cells",
    *,
    nonnegative: bool = False,
) -> CountOfCells:
    """Ask for the number of rows in each listed cell of some axes, or cumulative shares of them.

    >>> print(requested_cells([Axis(("sex",), (("f",), ("m",)))]))
    cell_counts(sex)
    """
    made = ShareOfCells if reading == SHARES else CountOfCells
    return made(axes=tuple(axes), importance=importance, reading=reading, nonnegative=nonnegative)


@register_statistic
@dataclass(frozen=True)
class CountOfCells(TableStatistic):
    """The statistic ``cell_counts``."""

    axes: tuple[Axis, ...] = ()  # the columns whose cells are counted
    importance: int = 1  # how much its squared errors count in a plan
    reading: str = "cells"  # how the bins of the last column are read
    nonnegative: bool = False  # whether no count may be below zero

    kind = "cell_counts"
    order = 1000
    make = staticmethod(requested_cells)
    help = "The number of rows in each cell of some columns."
    noun = "the number of rows in each cell"
    fields = ("axes",)
    amount: ClassVar[bool] = True
    each = ("cell", "rows")
    alone = False

    @property
    def _requested(self) -> RequestedCells:
        return RequestedCells(self.axes, self.importance, self.reading, self.nonnegative)

    def key(self) -> str:
        return key_of(self._requested)

    def label(self) -> str:
        return "_by_".join(["count", *(axis.name for axis in self.axes)])

    def answer_names(self) -> list[str] | None:
        """Return the names of its cells."""
        if not self.axes:
            return None
        *groups, last = self.axes
        own = last.names if self.reading == "cells" else names_of(self.reading, last.edges)
        each = [*(axis.names for axis in groups), own]
        return [", ".join(cell) for cell in itertools.product(*each)]

    def _shown(self) -> tuple[list[str], list[str]]:
        return [], [axis.name for axis in self.axes]

    def _fields_to_json(self) -> dict[str, object]:
        return {
            "axes": [axis.to_json() for axis in self.axes],
            **({} if self.importance == 1 else {"importance": self.importance}),
            **({} if self.reading == "cells" else {"reading": self.reading}),
            **({"nonnegative": True} if self.nonnegative else {}),
        }

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> TableStatistic:
        importance = as_integer(described.get("importance", 1), "an importance", minimum=1)
        axes, reading = [axis_from(axis) for axis in described["axes"]], described.get("reading")
        known = (*READINGS, SHARES)
        if reading is not None and (reading not in known or not axes or not axes[-1].edges):
            raise UsageError(f"the bins of a column are read as {', '.join(known)}")
        if (reading == SHARES) is not (cls is ShareOfCells):
            raise UsageError("cumulative shares are a kind of their own")
        lifted = described.get("nonnegative", False)
        if lifted is not ("nonnegative" in described):
            raise UsageError("nonnegative is true, or is left out")
        return requested_cells(axes, importance, reading or "cells", nonnegative=lifted)

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        axes = [axis_from(axis) for axis in described["axes"]]
        each = [f"{axis.name} ({groups_words(axis.names)})" for axis in axes]
        if described.get("reading") == "ranges":
            each[-1] = f"every range of the bins of {each[-1]}"
        elif described.get("reading") == "prefix_sums":
            each[-1] = f"the bins of {each[-1]} added up from the first one"
        floor_words = ", none below zero" if described.get("nonnegative") else ""
        if described.get("reading") == SHARES:
            *groups, last = each
            by = f" by {listed(groups)}" if groups else ""
            return f"the share of the values of {last} up to the end of each bin{by}"
        return "the number of rows" + (f" by {listed(each)}" if each else "") + floor_words

    def shared(self) -> Any:
        return CellsPart

    def part(self, setting: Setting, before: Part | None) -> Part:
        known = before.requested if isinstance(before, CellsPart) else ()
        return CellsPart((*known, self._requested))


@register_statistic
@dataclass(frozen=True)
class ShareOfCells(CountOfCells):
    """The statistic ``cell_shares``."""

    kind = "cell_shares"
    order = 1010
    help = "The share of rows up to each cell of some columns."
    noun = "the share of rows up to each cell"
    amount = False
    each = ("cell", "share")


# Sums of the bins of a column: the kinds ``ranges``, ``prefix_sums`` and ``cdf``.


@public
def ranges(column: str, edges: Sequence[Number]) -> Aggregate:
    """Count the values in every range between two of the edges, all of them from one strategy.

    With m bins between the edges there are ``m (m + 1) / 2`` ranges: from the first edge to each
    later one, from the second to each later one, and so on.  A range includes its lower edge; one
    that ends at the last edge includes this edge too.  The answers add up: a range is the sum of
    the ranges that it is made of.  Their error is that of a strategy for all ranges, far below that
    of adding up the bins of a histogram (:mod:`tacit.tables.joint.family`).  Values are compared
    with the edges as they are; a histogram alone puts them on a grid first.

    Args:
        column: a column of numbers.
        edges: public and rising, at most 724 of them (261,726 ranges).

    Raises:
        UsageError: fewer than two edges, edges that do not rise, or too many.

    Source:
        Li, Miklau, Hay, McGregor, Rastogi, *The matrix mechanism* (VLDB J. 2015).

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"age": [31, 45, 67]})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho("1/2"))
        >>> question = session.agg(by_age=tc.ranges("age", [0, 18, 65, 99]))
        >>> (answer,) = session.plan([question]).release(rho="1/2")
        >>> answer.column("by_age")["bins"][:3]
        ['[0, 18)', '[0, 65)', '[0, 99]']
    """
    return _of_bins(RangesOfColumn, column, edges)


@public
def prefix_sums(column: str, edges: Sequence[Number]) -> Aggregate:
    """Count the values from the first edge up to each later one: cumulative counts.

    Args:
        column: a column of numbers.
        edges: public and rising, at most 1,025 of them.

    Raises:
        UsageError: fewer than two edges, edges that do not rise, or too many.

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"age": [31, 45, 67]})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho("1/2"))
        >>> question = session.agg(up_to=tc.prefix_sums("age", [0, 18, 65, 99]))
        >>> (answer,) = session.plan([question]).release(rho="1/2")
        >>> answer.column("up_to")["bins"]
        ['[0, 18)', '[0, 65)', '[0, 99]']
    """
    return _of_bins(PrefixSums, column, edges)


@public
def cdf(column: str, edges: Sequence[Number]) -> Aggregate:
    """Ask which share of the values lies below each edge: the empirical CDF, from 0 to 1.

    The shares are of the values between the first edge and the last one; missing values and those
    outside are left out.  They rise and end at 1.  They cost what :func:`prefix_sums` cost, whose
    noise they share where both are asked, and each has an interval that holds without approximation
    (:mod:`tacit.tables.joint.cell_counts`).  A preview gives the error for tables of several
    sizes, as a share depends on how many values there are.

    Args:
        column: a column of numbers.
        edges: public and rising, at most 1,025 of them.

    Raises:
        UsageError: fewer than two edges, edges that do not rise, or too many.

    Source:
        Fieller, *Some problems in interval estimation* (JRSS B, 1954).

    Example:
        >>> import pyarrow as pa, tacit as tc
        >>> people = pa.table({"age": [31, 45, 67]})
        >>> session = tc.Session(people, tc.one_row_each, tc.rho("1/2"))
        >>> question = session.agg(below=tc.cdf("age", [0, 18, 65, 99]))
        >>> (answer,) = session.plan([question]).release(rho="1/2")
        >>> answer.column("below")["bins"], answer.column("below")["value"][0][-1]
        (['[0, 18)', '[0, 65)', '[0, 99]'], 1.0)
    """
    return _of_bins(CumulativeDistribution, column, edges)


def _of_bins(of: type[_SumsOfBins], column: str, edges: Sequence[Number]) -> _SumsOfBins:
    made = histogram(column, edges)
    if made.column is None:
        raise UsageError(f'{of.kind} are asked for one column: tc.{of.kind}("age", [0, 18, 65])')
    bins = len(made.edges or ()) - 1
    check_bins(bins)
    check_numbers(size_of(of.bin_reading, bins), bins)
    return of(made.column, made.lower, made.upper, edges=made.edges)


@dataclass(frozen=True)
class _SumsOfBins(Binned):
    amount: ClassVar[bool] = True
    alone = False

    def key(self) -> str:
        return key_of(self._requested)

    def answer_names(self) -> list[str] | None:
        return names_of(self.bin_reading, self.edges or ())

    def shared(self) -> Any:
        return CellsPart

    def part(self, setting: Setting, before: Part | None) -> Part:
        setting.grid(self, self.bits)  # refuses a column without numbers
        known = before.requested if isinstance(before, CellsPart) else ()
        return CellsPart((*known, self._requested))

    @property
    def _requested(self) -> RequestedCells:
        axis = Axis((self.require_column(),), edges=self.edges or ())
        return RequestedCells((axis,), reading=self.bin_reading)


@register_statistic
@dataclass(frozen=True)
class RangesOfColumn(_SumsOfBins):
    """The statistic ``ranges``."""

    kind = "ranges"
    order = 1001
    make = staticmethod(ranges)
    help = "The number of values in every range between two of the edges."
    noun = "the number of values of {column} in every range of {bins} bins"
    each = ("range", "rows")
    bin_reading = "ranges"


@register_statistic
@dataclass(frozen=True)
class PrefixSums(_SumsOfBins):
    """The statistic ``prefix_sums``."""

    kind = "prefix_sums"
    order = 1002
    make = staticmethod(prefix_sums)
    help = "The number of values from the first edge up to each later one."
    noun = "the number of values of {column} up to each end of {bins} bins"
    each = ("range", "rows")
    bin_reading = "prefix_sums"


@register_statistic
@dataclass(frozen=True)
class CumulativeDistribution(_SumsOfBins):
    """The statistic ``cdf``."""

    kind = "cdf"
    order = 1004
    make = staticmethod(cdf)
    help = "The share of the values below each edge."
    noun = "the share of the values of {column} up to each end of {bins} bins"
    amount = False
    each = ("range", "share")
    bin_reading = SHARES


# Statistics of a column by listed groups, in a plan: sums, means, variances and quantiles.
#
# A plan asks about all rows at once, so the group of a row is part of what is read.  With M cells
# of the axes of the groups (:mod:`tacit.tables.cell_axis`) and values on a grid of C steps,
# every row with a value becomes the integer ``cell (C + 1) + z``, z being the offset of its
# value; the engine counts the rows of each such number that occurs.  From these counts follow,
# exactly, all that the part of the same statistic by groups needs; so its chain, its noise and its
# proof are those of that part, with the cells as groups.  A row is in one cell, whatever its values
# are.
#
# *Theorem.*  The number of a row determines its cell and an offset within 0..C.  *Proof.*  The
# value is clamped to the bounds of the grid and scaled to a number in [0, C]; with the integer
# ``cell (C + 1)`` added, it is rounded to the nearest whole number, which is at least
# ``cell (C + 1)`` and at most ``cell (C + 1) + C``.  (Whatever floating point did, the number is
# clamped to 0..M (C + 1) - 1, and every integer there is of one cell and one offset.)


# Parts whose answers are values of the column, chosen by their rank.
_CHOSEN = (QuantilePart, PercentilesPart, CountingPart)
# The kinds that are answered by groups in a plan.
GROUPED = tuple(
    known.kind
    for known in statistics()
    if issubclass(known, (Moment, QuantileOfColumn, Percentiles))
)
_BITS, _MIN_BITS = 30, 8


def statistic_by_cells(axes: Sequence[Axis], of: TableStatistic) -> TableStatistic:
    """Ask for a statistic in each listed cell of some axes.

    >>> from tacit.tables.statistics.moments import mean
    >>> print(statistic_by_cells([Axis(("sex",), (("f",), ("m",)))], mean("age", 0, 100)))
    by_cells(mean(age, 0, 100), sex)
    """
    return ByCells(axes=tuple(axes), of=of)


@dataclass(frozen=True)
class GroupedPart(Part):
    """A part that answers by groups, in the cells of some axes."""

    # the part whose groups are the cells
    inner: MomentsPart | SumPart | QuantilePart | PercentilesPart | CountingPart
    axes: tuple[Axis, ...]  # the columns of the groups

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"{self.inner.title} by {listed([axis.name for axis in self.axes])}"

    @property
    def size(self) -> int:
        """The number of cells, those of other values included."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def indices(self) -> list[int]:
        """The indices of the listed cells among all, in the order of the keys."""
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
            one = axis.code(columns.value, undeclared=columns.undeclared)
            one = one if stride == 1 else one * stride
            code = one if code is None else code + one
        assert code is not None
        low, high = grid.value(0), grid.value(grid.cells)
        value = columns.value(self.inner.column)
        if self.inner.column in columns.booleans:
            value = value.cut((0, 1, 2), ["0", "1"]).cast(float)
        offset = (value.clip(low, high) - float(low)) * float(1 / grid.step)
        last = Fraction(self.size * (grid.cells + 1) - 1)
        return Cells(code * (grid.cells + 1) + offset, Grid(Fraction(0), last, 0))

    def vector(self, step: Step, exact: Any) -> Any:
        """Return what the inner part makes of the rows of each cell."""
        ((numbers, weights),) = exact
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
        request = self.inner.request(step, Columns({}, alone=False))
        if isinstance(request, Total):  # of grid points, in the position of offsets
            first = self.inner.grid.value(0) / self.inner.grid.step
            return self.inner.vector(step, sums[:, 2] + int(first) * sums[:, 0])
        assert isinstance(request, Moments)
        return self.inner.vector(step, sums)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answers in the listed cells."""
        estimates = self.inner.estimates(released, noise)
        return {kind: self._listed(estimate) for kind, estimate in estimates.items()}

    def _listed(self, estimate: Estimate) -> Estimate:
        parts = (estimate.value, estimate.standard_error, estimate.lower, estimate.upper)
        return Estimate(*(np.asarray(each)[self.indices].reshape(1, -1) for each in parts))

    @property
    def choice(self) -> str:
        """Describe in words which mechanism answers, where it was chosen."""
        return self.inner.chosen_because

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error in a group of this many rows."""
        return self.inner.expected_error(kind, noise, rows)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return how far an interval reaches in a group of this many rows."""
        return self.inner.half_width(kind, noise, rows, level)


@dataclass(frozen=True)
class _GroupedChoice(GroupedPart):
    error_unit = QuantilePart.error_unit


@register_statistic
@dataclass(frozen=True)
class ByCells(TableStatistic):
    """A statistic by groups, in a plan."""

    axes: tuple[Axis, ...] = ()  # the columns of the groups
    of: TableStatistic = field(default_factory=MeanOfColumn)  # the statistic in each of their cells

    kind = "by_cells"
    order = 1003
    make = staticmethod(statistic_by_cells)
    help = "A statistic in each cell of some columns."
    noun = "a statistic in each cell"
    fields = ("axes", "of")
    each = ("cell", "value")
    alone = False

    def key(self) -> str:
        return self.of.key()

    def label(self) -> str:
        return "_by_".join([self.of.label(), *(axis.name for axis in self.axes)])

    def answer_names(self) -> list[str] | None:
        """Return the names of its cells."""
        several = self.of.answer_names()
        each = [*(axis.names for axis in self.axes), *([] if several is None else [several])]
        return [", ".join(cell) for cell in itertools.product(*each)]

    def _shown(self) -> tuple[list[str], list[str]]:
        return [], [str(self.of), *(axis.name for axis in self.axes)]

    def _fields_to_json(self) -> dict[str, object]:
        return {"axes": [axis.to_json() for axis in self.axes], "of": self.of.to_json()}

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> TableStatistic:
        of = described["of"]
        if of["kind"] not in GROUPED or "method" in of:
            raise UsageError(f"a plan answers by groups: {', '.join(GROUPED)}")
        axes = [axis_from(axis) for axis in described["axes"]]
        if not axes:
            raise UsageError("a statistic by groups has at least one column of groups")
        return statistic_by_cells(axes, statistic_named(of["kind"]).read(of))

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        axes = [axis_from(axis) for axis in described["axes"]]
        groups = listed([f"{axis.name} ({', '.join(axis.names)})" for axis in axes])
        return f"{aggregate_words(described['of'])} by {groups}"

    def shared(self) -> Any:
        return ByCells, str([axis.to_json() for axis in self.axes]), self.of.shared()

    def part(self, setting: Setting, before: Part | None) -> Part:
        cells = math.prod(axis.size for axis in self.axes)
        offset_bits = _BITS - (cells - 1).bit_length()
        if offset_bits < _MIN_BITS:
            raise UsageError(
                f"{self.of} by {listed([axis.name for axis in self.axes])} has {cells:,} groups, "
                f"and a plan answers at most {1 << _BITS - _MIN_BITS:,}: list fewer keys"
            )
        own = Setting(
            lambda each, bits: setting.grid(each, min(bits, offset_bits)),
            setting.groups,
            False,
            setting.choosing,
        )
        known = before.inner if isinstance(before, GroupedPart) else None
        inner: Any = self.of.part(own, known)
        return GroupedPart(inner, self.axes)
