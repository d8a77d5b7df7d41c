"""Steps of mechanisms from local sensitivity, on the rows of each person."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_fraction, as_integer, positive
from tacit.core import (
    Domain,
    Measurement,
    Metric,
    Number,
    PureDP,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
    step_from,
)
from tacit.core.divergences import Product
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.aggregators import BinFunction, MeanOfBins, coordinates
from tacit.mechanisms.local_statistic import LocalStatistic
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate
from tacit.report.text import clamped_column, for_each_group, say_step, so_many, step_words
from tacit.statistics.samples import CountedSample, Sample
from tacit.tables.steps import CountedGroups, TableStep, UnitDistance

# The records of a column in each group, counted on a public grid, and a mechanism on each group.
#
# Mechanisms from local sensitivity need the data set itself, not a sum of it.  A row stands for the
# grid point that its value is nearest to, so a counted histogram of grid points *is* the data set:
# ``c`` at the cell ``z`` are ``c`` records of value ``lower + z step``.  It is what the engine
# counts in whole numbers, on any engine, whatever the order of the rows.


@dataclass(frozen=True)
class CountedRecords(CountedGroups):
    """For each group its records on the grid, as pairs (cells that occur, how many of each)."""

    groups: int
    lower: Fraction
    upper: Fraction
    cells: int

    def describe(self) -> dict[str, Any]:
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
    """Count the records of a column on its grid, in each group."""

    # **Map.** ``d -> d``: a row is one record of one group, or none where its value is missing.
    #
    # Rows are whole here, not weighted: of a person with more than ``rows`` rows so many are kept,
    # drawn at random from that person's own rows under a salt that is fresh for the release
    # (:mod:`tacit.tables.query.contribution_bounding`).  Whatever the salt, and so on average over
    # it, a person who comes or goes adds or removes at most ``rows`` records; divergences are
    # jointly convex, or quasi-convex, in the two distributions (in Renyi divergences too: van Erven
    # and Harremoes 2014, theorem 13), so the losses that hold for each salt hold for the mixture.

    # column, lower, upper, cells: the column and its grid of ``cells`` equal steps
    column: str
    lower: str
    upper: str
    cells: int
    size: int
    by: tuple[str, ...] = ()  # the columns that make the groups

    name: ClassVar[str] = "records"

    def build(self, space: Space) -> Transformation:
        """Return the counted records of a table of rows."""
        self._require(space, SymmetricDistance)
        output = Space(counted_domain(self), ChangedRecords())
        return Transformation(space, output, lambda exact: exact.of(self), lambda d: d, step=self)


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

    >>> grid = CountedRecords(1, Fraction(1), Fraction(3), 4)
    >>> len(counted((np.array([0, 4]), np.array([2, 1])), grid))
    3
    """
    # On a plan's grid, whose step is a power of two, the products and sums are exact; elsewhere a
    # record is a function of its cell all the same.
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
    """Apply one mechanism to the records of each group, independently."""

    # **Map.** That of the mechanism.  Groups are disjoint: inputs at distance d split it over the
    # groups, ``d = d_1 + d_2 + ...``, in whole records, and the losses of the groups add up.  Every
    # map here is at most as large for a split as for all of d in one group: ``k epsilon`` is
    # linear; ``k^2 rho`` is convex from 0; and of
    # ``(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))`` the first adds up and the second
    # is convex from 0, hence superadditive.  A loss that stops growing with d, as that of all bins
    # of one group, is no such map, and no step has it.

    inner: Any  # the mechanism on one column of numbers, as a step or as its description

    name: ClassVar[str] = "each_group"

    def __post_init__(self) -> None:
        if isinstance(self.inner, Mapping):
            object.__setattr__(self, "inner", step_from(dict(self.inner)))

    def on_column(self, domain: CountedRecords) -> Measurement:
        """Return the mechanism on the records of one group."""
        built: Any = column_of(domain) >> self.inner
        return built  # type: ignore[no-any-return]

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on the counted records of groups."""
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


# Sample-and-aggregate of a named statistic: on records, and on people in bins of the engine.


def prepared(statistic: str, space: Space) -> tuple[Callable[[Any], float], Any]:
    """Return the statistic of an array, and the public bounds of what it says."""
    local = LocalStatistic(statistic, space)
    reading: Any = local.statistic

    def of_bin(records: Any) -> float:
        return float(reading.batch(np.asarray(records, dtype=np.float64)[None, :])[0])

    return of_bin, local.range


@register
@dataclass(frozen=True)
class SampleMean(Step):
    """Release a statistic of a column by the mean of what it is in random bins of the records."""

    # **Map.**  ``d -> d epsilon``: see :mod:`tacit.mechanisms.sample_and_aggregate`, which this is,
    # for a statistic with a name and public bounds.  That it is at most ``bins epsilon`` is not
    # stated: each of many groups has its own bins
    # (:class:`~tacit.tables.statistics.data_dependent_steps.EachGroup`).

    statistic: str  # ``"mean"``, ``"median"``, ``"percentile(90)"``, ``"var"`` or ``"std"``
    bins: int
    epsilon: Any  # the loss at distance one
    grid: Any = None  # of the answers of bins; a fine one by default

    name: ClassVar[str] = "sample_mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_integer(self.bins, "bins", minimum=1))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column."""
        function, bounds = prepared(self.statistic, space)
        inner = sample_and_aggregate(function, self.bins, bounds, self.epsilon, grid=self.grid)
        epsilon = Fraction(self.epsilon)
        return Measurement(
            space,
            inner.measure,
            lambda records: inner.function(_written(records)),
            lambda d: d * epsilon,
            distribution=inner.law,
            step=self,
        )


def _written(records: Any) -> NDArray[np.float64]:
    """Return the records one by one: each draws a bin of its own."""
    listed = records.raw if isinstance(records, CountedSample) else records
    return np.asarray(listed, dtype=np.float64)


@dataclass(frozen=True)
class BinnedRecords(Domain):
    """For each group and each of its bins the records on the grid: pairs (cells, how many)."""

    column: CountedRecords
    bins: int

    def contains(self, value: Any) -> bool:
        """Return whether there is one histogram for each bin of each group."""
        return isinstance(value, Sequence) and len(value) == self.column.groups * self.bins

    def read(self, value: Any) -> Any:
        """Return the histograms as they are."""
        return value

    def sample(self, source: random.Random) -> Any:
        """Draw histograms of a few records."""
        drawn: list[Any] = []
        while len(drawn) < self.column.groups * self.bins:
            drawn += self.column.sample(source)
        return drawn[: self.column.groups * self.bins]

    def describe(self) -> dict[str, Any]:
        return {**self.column.describe(), "domain": "binned records", "bins": self.bins}

    def __str__(self) -> str:
        return f"{self.column}, in {self.bins} bins each"


@dataclass(frozen=True)
class ChangedBins(Metric):
    """The bins, of all groups, whose records differ.

    >>> one, two = (np.array([0]), np.array([1])), (np.array([0]), np.array([2]))
    >>> ChangedBins().distance([one, one, one], [one, two, one])
    Fraction(1, 1)
    """

    carries = (BinnedRecords,)
    sentence = "bins whose records differ, over all groups"

    def distance(self, u: Any, v: Any) -> Fraction:
        """Compare bin by bin."""
        pairs = zip(u, v, strict=True)
        return Fraction(sum(any(map(_differ, left, right)) for left, right in pairs))


def _differ(left: Any, right: Any) -> bool:
    return not np.array_equal(left, right)


@register
@dataclass(frozen=True)
class PeopleInBins(TableStep):
    """Put people into bins, and count the records of a column in each bin of each group."""

    # **Map.** ``d -> groups d``: a person is in one bin, the same function of a secret salt and of
    # that person for all, and in at most ``groups`` groups.  Who comes or goes changes that bin of
    # those groups, however many rows they have; see :mod:`tacit.tables.query.contribution_bounding`
    # for the proof and for the salt.

    # column, lower, upper, cells: the column and its grid of ``cells`` equal steps
    column: str
    lower: str
    upper: str
    cells: int
    size: int
    bins: int
    # at most so many rows of a person are kept: it says whom the answer is about, and does not
    # enter the map
    rows: int
    groups: int  # the most groups of a person
    by: tuple[str, ...] = ()  # the columns that make the groups

    name: ClassVar[str] = "people_in_bins"

    def build(self, space: Space) -> Transformation:
        """Return the binned records of a table of people."""
        self._require(space, UnitDistance)
        groups = as_integer(self.groups, "groups", minimum=1)
        bins = as_integer(self.bins, "bins", minimum=1)
        output = Space(BinnedRecords(counted_domain(self), bins), ChangedBins())
        return Transformation(
            space, output, lambda exact: exact.of(self), lambda d: d * groups, step=self
        )


@register
@dataclass(frozen=True)
class MeanOfPeople(Step):
    """Release a statistic of each group by the mean of what it is in the bins of people."""

    # **Map.**  ``d -> d epsilon``: a bin that changes moves one answer, within public bounds; the
    # mean of the bins is a sum with discrete Laplace noise for one answer
    # (:mod:`tacit.mechanisms.aggregators`), so ``d_g`` bins of a group lose at
    # most ``d_g epsilon``, and the groups' losses add up.

    statistic: str  # as for :class:`SampleMean`
    epsilon: Any  # the loss when one bin changes
    grid: Any = None  # of the answers of bins; a fine one by default

    name: ClassVar[str] = "mean_of_people"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on binned records."""
        domain = space.domain
        if not isinstance(domain, BinnedRecords):
            raise MismatchError(f"mean_of_people works on the records of bins, not on ({space})")
        bins, epsilon = domain.bins, Fraction(self.epsilon)
        function, bounds = prepared(self.statistic, column_of(domain.column))
        reads = coordinates(bounds, None, self.grid, MeanOfBins.grid_bits)
        ask = BinFunction(function, reads)
        centre = MeanOfBins(bins, reads[0], epsilon)

        def units(part: Any) -> int:
            records = laid_out(part, domain.column)
            return ask(records if len(records) else None)[0]

        def groups(parts: Any) -> list[list[int]]:
            answers = [units(part) for part in parts]
            return [answers[i : i + bins] for i in range(0, len(answers), bins)]

        def law(parts: Any) -> Product:
            return Product([centre.law(answers) for answers in groups(parts)])

        return Measurement(
            space,
            PureDP(),
            lambda exact: [centre.release(answers) for answers in groups(exact)],
            lambda d: d * epsilon,
            distribution=law,
            step=self,
        )


def _people_in_bins(step: Mapping[str, Any]) -> str:
    return (
        f"Put the people in {step['bins']} bins at random, each with their rows, and count the "
        f"records of {clamped_column(step)}, value by value in each bin{for_each_group(step)}"
    )


def _moved_bins(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "bin", "bins")


def _sampled(inner: Mapping[str, Any]) -> str:
    return (
        f"put the records in {inner['bins']} bins at random, compute the {inner['statistic']} of "
        "each, and add random noise to the mean of these"
    )


def _mean_of_people(step: Mapping[str, Any]) -> str:
    return f"Compute the {step['statistic']} in each bin, and add random noise to the mean of these"


say_step("people_in_bins", _people_in_bins, _moved_bins)
say_step("sample_mean", _sampled)
say_step("mean_of_people", _mean_of_people)
