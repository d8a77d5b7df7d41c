"""Sample-and-aggregate of a named statistic: on records, and on people in bins of the engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer, positive
from tacit.core import (
    Domain,
    Measurement,
    Metric,
    PureDP,
    Space,
    Step,
    Transformation,
    register,
)
from tacit.errors import MismatchError
from tacit.mechanisms.sample_and_aggregate.aggregators import MeanOfBins
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction, coordinates
from tacit.mechanisms.sample_and_aggregate.mechanism import sample_and_aggregate
from tacit.mechanisms.shared.local_statistic import LocalStatistic
from tacit.mechanisms.shared.output_distribution import Product
from tacit.report.text.vocabulary import clamped_column, for_each_group, say_step, so_many
from tacit.statistics.samples.counted_sample import CountedSample
from tacit.tables.chain.row_steps import TableStep
from tacit.tables.chain.space import UnitDistance
from tacit.tables.data_dependent.records import CountedRecords, column_of, counted_domain, laid_out

__all__ = ["BinnedRecords", "ChangedBins", "MeanOfPeople", "PeopleInBins", "SampleMean", "prepared"]


def prepared(statistic: str, space: Space) -> tuple[Callable[[Any], float], Any]:
    """Return the statistic of an array, and the public bounds of what it says."""
    local = LocalStatistic(statistic, space)
    asked: Any = local.statistic

    def of_bin(records: Any) -> float:
        return float(asked.batch(np.asarray(records, dtype=np.float64)[None, :])[0])

    return of_bin, local.range


@register
@dataclass(frozen=True)
class SampleMean(Step):
    """Release a statistic of a column by the mean of what it is in random bins of the records.

    **Map.**  ``d -> d epsilon``: see :mod:`tacit.mechanisms.sample_and_aggregate.mechanism`, which
    this is, for a statistic with a name and public bounds.  That it is at most ``bins epsilon`` is
    not stated: each of many groups has its own bins
    (:class:`~tacit.tables.data_dependent.records.EachGroup`).

    Args:
        statistic: ``"mean"``, ``"median"``, ``"percentile(90)"``, ``"var"`` or ``"std"``.
        bins: how many; public.
        epsilon: the loss at distance one.
        grid: of the answers of bins; a fine one by default.
    """

    statistic: str
    bins: int
    epsilon: Any
    grid: Any = None

    name: ClassVar[str] = "sample_mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_integer(self.bins, "bins", minimum=1))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a column.

        Raises:
            MismatchError: no column of bounded numbers.
        """
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
        """Return the domain as plain JSON values."""
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
    """Put people into bins, and count the records of a column in each bin of each group.

    **Map.** ``d -> groups d``: a person is in one bin, the same function of a secret salt and of
    that person for all, and in at most ``groups`` groups.  Who comes or goes changes that bin of
    those groups, however many rows they have; see :mod:`tacit.tables.query.sampled_rows` for the
    proof and for the salt.

    Args:
        column, lower, upper, cells: the column and its grid of ``cells`` equal steps.
        size: the number of groups.
        bins: of each group.
        rows: at most so many rows of a person are kept: it says whom the answer is about, and does
            not enter the map.
        groups: the most groups of a person.
        by: the columns that make the groups.
    """

    column: str
    lower: str
    upper: str
    cells: int
    size: int
    bins: int
    rows: int
    groups: int
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "people_in_bins"

    def build(self, space: Space) -> Transformation:
        """Return the binned records of a table of people.

        Raises:
            MismatchError: no table whose distance is in people.
        """
        self._require(space, UnitDistance)
        groups = as_integer(self.groups, "groups", minimum=1)
        bins = as_integer(self.bins, "bins", minimum=1)
        output = Space(BinnedRecords(counted_domain(self), bins), ChangedBins())
        return Transformation(
            space, output, lambda found: found.of(self), lambda d: d * groups, step=self
        )


@register
@dataclass(frozen=True)
class MeanOfPeople(Step):
    """Release a statistic of each group by the mean of what it is in the bins of people.

    **Map.**  ``d -> d epsilon``: a bin that changes moves one answer, within public bounds; the
    mean of the bins is a sum with discrete Laplace noise for one answer
    (:mod:`tacit.mechanisms.sample_and_aggregate.aggregators`), so ``d_g`` bins of a group lose at
    most ``d_g epsilon``, and the groups' losses add up.

    Args:
        statistic: as for :class:`SampleMean`.
        epsilon: the loss when one bin changes.
        grid: of the answers of bins; a fine one by default.
    """

    statistic: str
    epsilon: Any
    grid: Any = None

    name: ClassVar[str] = "mean_of_people"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on binned records.

        Raises:
            MismatchError: the space holds no bins.
        """
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

        def groups(found: Any) -> list[list[int]]:
            answers = [units(part) for part in found]
            return [answers[i : i + bins] for i in range(0, len(answers), bins)]

        def law(found: Any) -> Product:
            return Product([centre.law(answers) for answers in groups(found)])

        return Measurement(
            space,
            PureDP(),
            lambda found: [centre.release(answers) for answers in groups(found)],
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
