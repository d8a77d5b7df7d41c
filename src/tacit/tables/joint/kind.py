"""Cumulative distributions, prefix sums, ranges and groups of bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.report.text import aggregate_words, bins_words, listed
from tacit.tables.cell_axis import Axis, axis_from
from tacit.tables.joint.cell_counts import CellsPart, RequestedCells, key_of
from tacit.tables.joint.strategy import READINGS, SHARES, names_of, size_of
from tacit.tables.noise import Estimate
from tacit.tables.query.requests import Cells, Moments, Request, Total
from tacit.tables.statistics.base import (
    LEVEL,
    Aggregate,
    Columns,
    Kind,
    Noise,
    Part,
    Setting,
    kind_of,
    kinds,
    register_kind,
)
from tacit.tables.statistics.histogram import histogram
from tacit.tables.statistics.moments import MomentsPart, SumPart, mean
from tacit.tables.statistics.percentiles import PercentilesPart, percentiles
from tacit.tables.statistics.quantiles import QuantilePart, median
from tacit.workload.range_strategies import check_bins, check_numbers

__all__ = [
    "BY_CELLS",
    "CELL_KINDS",
    "GROUPED",
    "GroupedPart",
    "cdf",
    "prefix_sums",
    "ranges",
    "requested_cells",
    "statistic_by_cells",
]

# Counts of cells as a kind of answer, which only a plan of several questions asks for.


CELL_KINDS = ("cell_counts", "cell_shares")


def requested_cells(
    axes: Sequence[Axis],
    importance: int = 1,
    reading: str = "cells",
    *,
    nonnegative: bool = False,
) -> Aggregate:
    """Ask for the number of rows in each listed cell of some axes, or cumulative shares of them.

    >>> print(requested_cells([Axis(("sex",), (("f",), ("m",)))]))
    cell_counts(sex)
    """
    return Aggregate(
        CELL_KINDS[reading == SHARES],
        axes=tuple(axes),
        importance=importance,
        reading=reading,
        nonnegative=nonnegative,
    )


def _asked(aggregate: Aggregate) -> RequestedCells:
    axes, importance = aggregate.axes or (), aggregate.importance
    return RequestedCells(axes, importance, aggregate.reading, aggregate.nonnegative)


class _CellCounts(Kind):
    def key(self, aggregate: Aggregate) -> str:
        return key_of(_asked(aggregate))

    def label(self, aggregate: Aggregate) -> str:
        return "_by_".join(["count", *(axis.name for axis in aggregate.axes or ())])

    def names(self, aggregate: Aggregate) -> list[str] | None:
        """Return what its cells are called."""
        if not aggregate.axes:
            return None
        *groups, last = aggregate.axes
        own = (
            last.names if aggregate.reading == "cells" else names_of(aggregate.reading, last.edges)
        )
        each = [*(axis.names for axis in groups), own]
        return [", ".join(cell) for cell in itertools.product(*each)]

    def read(self, described: Mapping[str, Any]) -> Aggregate:
        importance = as_integer(described.get("importance", 1), "an importance", minimum=1)
        axes, reading = [axis_from(axis) for axis in described["axes"]], described.get("reading")
        known = (*READINGS, SHARES)
        if reading is not None and (reading not in known or not axes or not axes[-1].edges):
            raise UsageError(f"the bins of a column are read as {', '.join(known)}")
        if (reading == SHARES) is not (self.name == CELL_KINDS[1]):
            raise UsageError("cumulative shares are a kind of their own")
        lifted = described.get("nonnegative", False)
        if lifted is not ("nonnegative" in described):
            raise UsageError("nonnegative is true, or is left out")
        return requested_cells(axes, importance, reading or "cells", nonnegative=lifted)

    def words(self, described: Mapping[str, Any]) -> str:
        axes = [axis_from(axis) for axis in described["axes"]]
        each = [f"{axis.name} ({', '.join(axis.names)})" for axis in axes]
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

    def shared(self, asked: Aggregate) -> Any:
        return CellsPart

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        known = before.asked if isinstance(before, CellsPart) else ()
        return CellsPart((*known, _asked(asked)))


for _name, _what, _each in zip(
    CELL_KINDS, ("number of rows in", "share of rows up to"), ("rows", "share"), strict=True
):
    register_kind(
        _CellCounts(
            name=_name,
            order=1000 + 10 * CELL_KINDS.index(_name),
            make=requested_cells,
            help=f"The {_what} each cell of some columns.",
            noun=f"the {_what} each cell",
            fields=("axes",),
            amount=_each == "rows",
            each=("cell", _each),
            alone=False,
        )
    )


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
    return _of_bins("ranges", column, edges)


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
    return _of_bins("prefix_sums", column, edges)


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
    return _of_bins("cdf", column, edges)


def _of_bins(kind: str, column: str, edges: Sequence[Number]) -> Aggregate:
    made = histogram(column, edges)
    if made.column is None:
        raise UsageError(f'{kind} are asked for one column: tc.{kind}("age", [0, 18, 65])')
    bins = len(made.edges or ()) - 1
    check_bins(bins)
    aggregate = replace(made, kind=kind)
    check_numbers(size_of(kind_of(aggregate.kind).reading, bins), bins)
    return aggregate


class _SumsOfBins(Kind):
    def key(self, asked: Aggregate) -> str:
        return key_of(self._asked(asked))

    def names(self, asked: Aggregate) -> list[str] | None:
        return names_of(self.reading, asked.edges or ())

    def words(self, described: Mapping[str, Any]) -> str:
        return bins_words(self.noun, described)

    def shared(self, asked: Aggregate) -> Any:
        return CellsPart

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        setting.grid(asked, self.bits)  # refuses a column without numbers
        known = before.asked if isinstance(before, CellsPart) else ()
        return CellsPart((*known, self._asked(asked)))

    def _asked(self, asked: Aggregate) -> RequestedCells:
        axis = Axis((asked.require_column(),), edges=asked.edges or ())
        return RequestedCells((axis,), reading=self.reading)


_RANGES = "the number of values of {column} in every range of {bins} bins"
_UP_TO = "of {column} up to each end of {bins} bins"
for _sums_of_bins_name, _make, _order, _noun, _reading in (
    ("ranges", ranges, 1001, _RANGES, "ranges"),
    ("prefix_sums", prefix_sums, 1002, f"the number of values {_UP_TO}", "prefix_sums"),
    ("cdf", cdf, 1004, f"the share of the values {_UP_TO}", SHARES),
):
    register_kind(
        _SumsOfBins(
            name=_sums_of_bins_name,
            order=_order,
            make=_make,
            help=(_make.__doc__ or "").split("\n", maxsplit=1)[0],
            noun=_noun,
            fields=("column", "edges"),
            amount=_reading != SHARES,
            each=("range", "share" if _reading == SHARES else "rows"),
            alone=False,
            counts=True,
            reading=_reading,
        )
    )


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
# value
# is clamped to the bounds of the grid and scaled to a number in [0, C]; with the integer
# ``cell
# (C + 1)`` added, it is rounded to the nearest whole number, which is at least ``cell (C + 1)`` and
# at most ``cell (C + 1) + C``.  (Whatever floating point did, the number is held within 0..M (C +
# 1)
# - 1, and every integer there is of one cell and one offset.)


BY_CELLS = "by_cells"
_ALIKE = (mean(), median(), percentiles("of", [50]))
_FAMILIES = tuple(type(kind_of(made.kind)) for made in _ALIKE)
# Parts whose answers are values of the column, chosen by their rank.
_CHOSEN = (QuantilePart, PercentilesPart)
# The kinds that are answered by groups in a plan.
GROUPED = tuple(kind.name for kind in kinds() if isinstance(kind, _FAMILIES))
_BITS, _MIN_BITS = 30, 8


def statistic_by_cells(axes: Sequence[Axis], of: Aggregate) -> Aggregate:
    """Ask for a statistic in each listed cell of some axes.

    >>> print(statistic_by_cells([Axis(("sex",), (("f",), ("m",)))], mean("age", 0, 100)))
    by_cells(mean(age, 0, 100), sex)
    """
    return Aggregate(BY_CELLS, axes=tuple(axes), of=of)


@dataclass(frozen=True)
class GroupedPart(Part):
    """A part that answers by groups, in the cells of some axes."""

    # the part whose groups are the cells
    inner: MomentsPart | SumPart | QuantilePart | PercentilesPart
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
    def places(self) -> list[int]:
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
        value = columns.value(self.inner.column).clip(low, high)
        offset = (value - float(low)) * float(1 / grid.step)
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
        return Estimate(*(np.asarray(each)[self.places].reshape(1, -1) for each in parts))

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error in a group of this many rows."""
        return self.inner.expected_error(kind, noise, rows)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return how far an interval reaches in a group of this many rows."""
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
        return statistic_by_cells(axes, made)

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
        offset_bits = _BITS - (cells - 1).bit_length()
        if offset_bits < _MIN_BITS:
            raise UsageError(
                f"{of} by {listed([axis.name for axis in axes])} has {cells:,} groups, and a plan "
                f"answers at most {1 << _BITS - _MIN_BITS:,}: list fewer keys"
            )
        own = Setting(
            lambda each, bits: setting.grid(each, min(bits, offset_bits)), setting.groups, False
        )
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
        make=statistic_by_cells,
        help="A statistic in each cell of some columns.",
        noun="a statistic in each cell",
        fields=("axes", "of"),
        each=("cell", "value"),
        alone=False,
    )
)
