"""The records of a column in each group, counted on a public grid, and a mechanism on each group.

Mechanisms from local sensitivity need the data set itself, not a sum of it.  A row stands for the
grid point that its value is nearest to, so a counted histogram of grid points *is* the data set:
``c`` at the cell ``z`` are ``c`` records of value ``lower + z step``.  It is what the engine
counts in whole numbers, on any engine, whatever the order of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.core import (
    Measurement,
    Metric,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
    step_from,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.shared.output_distribution import Product
from tacit.report.text.chain_sentences import step_words
from tacit.report.text.vocabulary import clamped_column, for_each_group, say_step, so_many
from tacit.statistics.samples.counted_sample import CountedSample
from tacit.statistics.samples.sample import Sample
from tacit.tables.chain.row_steps import TableStep
from tacit.tables.chain.space import CountedGroups

__all__ = [
    "ChangedRecords",
    "CountedRecords",
    "EachGroup",
    "RecordsByGroup",
    "column_of",
    "counted",
    "laid_out",
]


@dataclass(frozen=True)
class CountedRecords(CountedGroups):
    """For each group its records on the grid, as pairs (cells that occur, how many of each)."""

    groups: int
    lower: Fraction
    upper: Fraction
    cells: int

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {
            "domain": "records",
            "groups": self.groups,
            "lower": str(self.lower),
            "upper": str(self.upper),
            "cells": self.cells,
        }

    def __str__(self) -> str:
        return f"the records of each of {self.groups} groups, on {self.cells + 1} grid points"


@dataclass(frozen=True)
class ChangedRecords(Metric):
    """Records added or removed, over all groups.

    >>> u, v = [(np.array([0, 3]), np.array([2, 1]))], [(np.array([3]), np.array([2]))]
    >>> ChangedRecords().distance(u, v)
    Fraction(3, 1)
    """

    carries = (CountedRecords,)
    sentence = "records added or removed, over all groups"

    def distance(self, u: Any, v: Any) -> Fraction:
        """Compare the counts, cell by cell."""
        total = 0
        for left, right in zip(u, v, strict=True):
            one, two = Counter(_counted(left)), Counter(_counted(right))
            total += sum((one - two).values()) + sum((two - one).values())
        return Fraction(total)


def _counted(histogram: Any) -> dict[int, int]:
    cells, counts = histogram
    return dict(zip(map(int, cells), map(int, counts), strict=True))


@register
@dataclass(frozen=True)
class RecordsByGroup(TableStep):
    """Count the records of a column on its grid, in each group.

    **Map.** ``d -> d``: a row is one record of one group, or none where its value is missing.

    Rows are whole here, not weighted: of a person with more than ``rows`` rows so many are kept,
    drawn at random from that person's own rows under a salt that is fresh for the release
    (:mod:`tacit.tables.query.sampled_rows`).  Whatever the salt, and so on average over it, a
    person who comes or goes adds or removes at most ``rows`` records; divergences are jointly
    convex, or quasi-convex, in the two distributions (in Renyi divergences too: van Erven and
    Harremoes 2014, theorem 13), so the losses that hold for each salt hold for the mixture.

    Args:
        column, lower, upper, cells: the column and its grid of ``cells`` equal steps.
        size: the number of groups.
        by: the columns that make the groups.
    """

    column: str
    lower: str
    upper: str
    cells: int
    size: int
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "records"

    def build(self, space: Space) -> Transformation:
        """Return the counted records of a table of rows.

        Raises:
            MismatchError: no table under the symmetric distance.
        """
        self._require(space, SymmetricDistance)
        output = Space(counted_domain(self), ChangedRecords())
        return Transformation(space, output, lambda found: found.of(self), lambda d: d, step=self)


def counted_domain(step: Any) -> CountedRecords:
    """Return the domain of a step with a grid and a size."""
    low, high = as_fraction(step.lower), as_fraction(step.upper)
    cells = as_integer(step.cells, "cells", minimum=1)
    if low >= high:
        raise UsageError("the lower bound of a column must be below the upper")
    return CountedRecords(as_integer(step.size, "size", minimum=0), low, high, cells)


def column_of(domain: CountedRecords) -> Space:
    """Return the space of the records of one group, on their own.

    >>> print(column_of(CountedRecords(3, Fraction(0), Fraction(9), 9)))
    vector of float in [0, 9], symmetric distance (records added or removed)
    """
    return Space(Vector(Number("float", domain.lower, domain.upper)), SymmetricDistance())


def counted(histogram: Any, domain: CountedRecords) -> CountedSample:
    """Return the records of a group, counted: sixteen bytes a value, however many have it.

    On a plan's grid, whose step is a power of two, the products and sums are exact; elsewhere a
    record is a function of its cell all the same.

    >>> grid = CountedRecords(1, Fraction(1), Fraction(3), 4)
    >>> len(counted((np.array([0, 4]), np.array([2, 1])), grid))
    3
    """
    cells, counts = (np.asarray(part, dtype=np.int64) for part in histogram)
    step = (domain.upper - domain.lower) / domain.cells
    return CountedSample(Sample.of_sorted(float(domain.lower) + cells * float(step)), counts)


def laid_out(histogram: Any, domain: CountedRecords) -> NDArray[np.float64]:
    """Return the records of a group one by one, ascending: eight bytes a record.

    >>> grid = CountedRecords(1, Fraction(1), Fraction(3), 4)
    >>> laid_out((np.array([0, 4]), np.array([2, 1])), grid)
    array([1., 1., 3.])
    """
    written: NDArray[np.float64] = counted(histogram, domain).raw
    return written


@register
@dataclass(frozen=True)
class EachGroup(Step):
    """Apply one mechanism to the records of each group, independently.

    **Map.** That of the mechanism.  Groups are disjoint: inputs at distance d split it over the
    groups, ``d = d_1 + d_2 + ...``, in whole records, and the losses of the groups add up.  Every
    map here is at most as large for a split as for all of d in one group: ``k epsilon`` is linear;
    ``k^2 rho`` is convex from 0; and of ``(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon -
    1))`` the first adds up and the second is convex from 0, hence superadditive.  A loss that stops
    growing with d, as that of all bins of one group, is no such map, and no step has it.

    Args:
        inner: the mechanism on one column of numbers, as a step or as its description.
    """

    inner: Any

    name: ClassVar[str] = "each_group"

    def __post_init__(self) -> None:
        if isinstance(self.inner, Mapping):
            object.__setattr__(self, "inner", step_from(dict(self.inner)))

    def on_column(self, domain: CountedRecords) -> Measurement:
        """Return the mechanism on the records of one group."""
        built: Any = column_of(domain) >> self.inner
        return built  # type: ignore[no-any-return]

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on the counted records of groups.

        Raises:
            MismatchError: the space holds no counted records.
        """
        domain = space.domain
        if not isinstance(domain, CountedRecords):
            raise MismatchError(f"each_group works on counted records, not on ({space})")
        inner = self.on_column(domain)

        def release(groups: Any) -> list[Any]:
            return [inner.function(counted(group, domain)) for group in groups]

        def law(groups: Any) -> Product:
            return Product([inner.distribution(laid_out(group, domain)) for group in groups])

        return Measurement(
            space, inner.measure, release, inner.privacy, distribution=law, step=self
        )


def _record_words(step: Mapping[str, Any]) -> str:
    return f"Count the records of {clamped_column(step)}, value by value{for_each_group(step)}"


def _moved_records(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "row", "rows")


def _group_words(step: Mapping[str, Any]) -> str:
    return f"In each group by itself, of its records: {step_words(step['inner'])}"


say_step("records", _record_words, _moved_records)
say_step("each_group", _group_words)
