"""Sums of the bins of a column: the kinds ``ranges``, ``prefix_sums`` and ``cdf``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.errors import UsageError
from tacit.report.text.words import bins_words
from tacit.tables.answers.aggregate import Aggregate, Kind, Setting, kind_of, register_kind
from tacit.tables.answers.histogram import histogram
from tacit.tables.chain.part import Part
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.asked_cells import AskedCells, key_of
from tacit.tables.together.cell_counts import CellsPart
from tacit.tables.together.reading import SHARES, names_of, size_of
from tacit.workload.ordered import check_bins, check_numbers

__all__ = ["cdf", "prefix_sums", "ranges"]


@public
def ranges(column: str, edges: Sequence[Number]) -> Aggregate:
    """Count the values in every range between two of the edges, all of them from one strategy.

    With m bins between the edges there are ``m (m + 1) / 2`` ranges: from the first edge to each
    later one, from the second to each later one, and so on.  A range includes its lower edge; one
    that ends at the last edge includes this edge too.  The answers add up: a range is the sum of
    the ranges that it is made of.  Their error is that of a strategy for all ranges, far below that
    of adding up the bins of a histogram (:mod:`tacit.tables.together.family`).  Values are compared
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
    (:mod:`tacit.tables.together.shares_of_bins`).  A preview gives the error for tables of several
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
    asked = replace(made, kind=kind)
    check_numbers(size_of(kind_of(asked.kind).reading, bins), bins)
    return asked


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

    def _asked(self, asked: Aggregate) -> AskedCells:
        axis = Axis((asked.require_column(),), edges=asked.edges or ())
        return AskedCells((axis,), reading=self.reading)


_RANGES = "the number of values of {column} in every range of {bins} bins"
_UP_TO = "of {column} up to each end of {bins} bins"
for _name, _make, _order, _noun, _reading in (
    ("ranges", ranges, 1001, _RANGES, "ranges"),
    ("prefix_sums", prefix_sums, 1002, f"the number of values {_UP_TO}", "prefix_sums"),
    ("cdf", cdf, 1004, f"the share of the values {_UP_TO}", SHARES),
):
    register_kind(
        _SumsOfBins(
            name=_name,
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
