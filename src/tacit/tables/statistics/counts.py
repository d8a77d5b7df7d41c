"""Counts of rows, of people and of distinct values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.calls import public
from tacit.core import (
    Metric,
    Space,
    SparseDistance,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.errors import UsageError, shown_value
from tacit.report.text import for_each_group, say_step, so_many
from tacit.tables.noise import Estimate, GridNoise
from tacit.tables.query.requests import Distinct, People, Request, Rows
from tacit.tables.statistics.base import (
    Aggregate,
    Setting,
    TableStatistic,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.part import (
    LEVEL,
    Columns,
    Noise,
    OneNumberPart,
    Part,
    distribution_of_rows,
    precisions,
)
from tacit.tables.steps import UnitDistance, VectorStep, weight_of
from tacit.transformations import Count, CountDistinct

# How many rows there are: the kind ``count``.


@register
@dataclass(frozen=True)
class RowsByGroup(VectorStep):
    """Count the rows of each group."""

    # **Map.** ``d -> d`` in L1 and in L2: a row is in one group, where it counts one; so d rows
    # move the vector by at most d in L1, and in L2 by at most the same (all of them in one group).

    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "count_rows"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), Fraction(1))


class CountingPart(Part):
    """A part that counts the rows of each group: they are the sum of its coordinates."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many coordinates a group has."""

    @abstractmethod
    def distribution(self, noise: Noise) -> GridNoise:
        """Return the noise on one coordinate."""


@dataclass(frozen=True)
class RowsPart(OneNumberPart, CountingPart):
    """The number of rows."""

    kind = "count"
    width = 1

    @property
    def title(self) -> str:
        """Say what the part is."""
        return "count of rows"

    def distribution(self, noise: Noise) -> GridNoise:
        """Return the noise on the count."""
        return distribution_of_rows(noise)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = RowsByGroup(size=size, norm=noise.norm, one=noise.one, by=by)
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight of the rows."""
        return Rows()


@public
def count(*, method: str = "global") -> Aggregate:
    """Count rows.

    Args:
        method: ``"global"``, the only one.

    >>> print(count())
    count()
    """
    only_global("count", method)
    return CountOfRows()


@register_statistic
@dataclass(frozen=True)
class CountOfRows(TableStatistic):
    """The statistic ``count``."""

    kind = "count"
    elsewhere = ("n", "nrow", "size", "value_counts")
    order = 10
    make = staticmethod(count)
    help = "The number of rows."
    noun = "the number of rows"
    fields = ()
    chained = Count
    amount = True
    whole = True
    counts = True
    joins = CountingPart

    def part(self, setting: Setting, before: Part | None) -> Part:
        return RowsPart()

    def estimate(
        self,
        parts: Sequence[Part],
        estimates: Sequence[Mapping[str, Estimate]],
        noises: Sequence[Noise],
        level: float = LEVEL,
    ) -> Estimate:
        """Return the mean of the counts of several parts, the more precise counting for more."""
        # Each counts the rows again, with independent noise, of one scale where no weights say
        # otherwise; then the mean over m of them has a m-th of the variance.
        counts = [each[self.kind] for each in estimates]
        if len(counts) == 1:
            return counts[0]
        counting = [part for part in parts if isinstance(part, CountingPart)]
        shares, whole = precisions(noises), sum(precisions(noises))
        value = np.average([count.value for count in counts], axis=0, weights=shares)
        laws = [part.distribution(noise) for part, noise in zip(counting, noises, strict=True)]
        half = _half_width_of_mean(counting, laws, shares, level)
        each = [
            share**2 * part.width * distribution.variance
            for part, distribution, share in zip(counting, laws, shares, strict=True)
        ]
        error = math.sqrt(sum(each)) / whole
        low, high = np.maximum(value - half, 0), np.maximum(value + half, 0)
        return Estimate(value, np.full_like(value, error), low, high)

    def half_width(
        self, parts: Sequence[Part], noises: Sequence[Noise], rows: float, level: float
    ) -> float | None:
        """Return how far the interval of the mean of the counts is expected to reach."""
        if len(parts) == 1:
            return super().half_width(parts, noises, rows, level)
        counting = [part for part in parts if isinstance(part, CountingPart)]
        laws = [part.distribution(noise) for part, noise in zip(counting, noises, strict=True)]
        return _half_width_of_mean(counting, laws, precisions(noises), level)


def _half_width_of_mean(
    parts: Sequence[CountingPart], laws: Sequence[GridNoise], shares: Sequence[float], level: float
) -> float:
    """Return the half-width of the mean of several counts, each counting by its share."""
    # A coordinate with the weight a and noise of the scale s is one with the weight ``a s / t`` and
    # noise of the least scale t of all; its grid is allowed for ``s / t`` times over.
    smallest, whole = min(distribution.scale for distribution in laws), sum(shares)
    weights = tuple(
        share / whole * (distribution.scale / smallest)
        for part, distribution, share in zip(parts, laws, shares, strict=True)
        for _ in range(part.width)
    )
    grid, rules = max(distribution.grid for distribution in laws), laws[0].rules
    widest = GridNoise(laws[0].kind, smallest, grid, rules)
    return widest.half_width(weights, level)


def _step_words(step: Mapping[str, Any]) -> str:
    return f"Count the rows{for_each_group(step)}"


say_step("count_rows", _step_words)


# How many people there are: the kind ``count_people``.


@register
@dataclass(frozen=True)
class PeopleByGroup(VectorStep):
    """Count the people of each group, each in at most ``groups`` groups."""

    # **Map.** ``d -> groups d`` in L1: a person counts one in each of at most ``groups`` groups.
    # In L2 ``d -> sqrt(groups) d`` (rounded up): one person moves at most ``groups`` coordinates by
    # one, and by the triangle inequality d people at most d times as far.  That is the sparse
    # distance of so many coordinates itself, ``d -> d``.
    #
    # In rounds, the people are counted anew in each round among the groups that are not shown yet.
    # That reads a table without the rows of groups that are public by then, so each round is as
    # above; and as the draws of one person's groups read that person's rows alone, d people, of
    # whom a are removed and b added, never move a group's count by more than a downwards and b
    # upwards.

    groups: int
    by: tuple[str, ...] = ()
    rounds: int | None = None

    name: ClassVar[str] = "count_people"
    norms: ClassVar[tuple[str, ...]] = ("L1", "L2", "sparse")

    @property
    def metric(self) -> Metric:
        """The metric of the counts."""
        return SparseDistance(self.groups) if self.norm == "sparse" else super().metric

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, UnitDistance)
        groups = Fraction(as_integer(self.groups, "groups", minimum=1))
        if self.norm == "sparse":
            return self._end(space, weight_of(1), Fraction(1))
        return self._end(space, weight_of(1), groups if self.norm == "L1" else sqrt_up(groups))


@dataclass(frozen=True)
class PeoplePart(OneNumberPart):
    """The number of people, each in at most ``groups`` groups."""

    groups: int

    kind = "count_people"
    on_people = True

    @property
    def title(self) -> str:
        """Say what the part is."""
        return "count of people"

    def distribution(self, noise: Noise) -> GridNoise:
        return noise.distribution(self._sensitivity(noise), Fraction(1))

    def _sensitivity(self, noise: Noise) -> Fraction:
        groups = Fraction(self.groups)
        return groups if noise.norm == "L1" else sqrt_up(groups)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = PeopleByGroup(size=size, norm=noise.norm, groups=self.groups, by=by)
        return [(step, noise.mechanism(self._sensitivity(noise)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the people."""
        return People()


@public
def count_people(*, method: str = "global") -> Aggregate:
    """Count the people (units of privacy) who have at least one row.

    Args:
        method: ``"global"``, the only one.

    >>> print(count_people())
    count_people()
    """
    only_global("count_people", method)
    return CountOfPeople()


@register_statistic
@dataclass(frozen=True)
class CountOfPeople(TableStatistic):
    """The statistic ``count_people``."""

    kind = "count_people"
    order = 20
    make = staticmethod(count_people)
    help = "The number of people."
    noun = "the number of people"
    fields = ()
    amount = True
    whole = True

    @property
    def statistic(self) -> Any:
        from tacit.statistics import lookup

        return lookup("count")

    def label(self) -> str:
        return "people"

    def part(self, setting: Setting, before: Part | None) -> Part:
        return PeoplePart(setting.groups)


def _people_step_words(step: Mapping[str, Any]) -> str:
    text = f"Count the people{for_each_group(step)}, each in {step['groups']} of the groups at most"
    if "rounds" not in step:
        return text
    return f"{text}; anew in each of {step['rounds']} rounds, of the groups not shown yet"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    if step["norm"] == "sparse":
        return f"{so_many(shown, 'person', 'people')} in each of {step['groups']} groups at most"
    return f"{so_many(shown, 'person', 'people')} in all"


say_step("count_people", _people_step_words, _moves)


# How many different values a column has: the kind ``count_distinct``.


@register
@dataclass(frozen=True)
class DistinctByGroup(VectorStep):
    """Count the different values of a column in each group."""

    # **Map.** ``d -> d`` in L1 and in L2: a row has one value in one group, so a row that comes or
    # goes changes one count by one, or none where another row has that value there.  It is
    # attained: d rows of one group whose values are new move its count by d, in both norms.
    #
    # Rows are whole here, not weighted.  Of a person one row stands for each value that they have
    # in a group, and of these at most ``rows`` are kept, drawn under a salt that is fresh for the
    # release: :mod:`tacit.tables.query.keys` proves that a person moves all counts together by at
    # most ``rows`` for every salt, and so on average over it, since divergences are jointly convex,
    # or quasi-convex, in the two distributions.

    column: str
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "distinct_values"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(1), Fraction(1))


@dataclass(frozen=True)
class CountDistinctPart(OneNumberPart):
    """The number of different values of a column, each person adding at most ``rows``."""

    column: str

    kind = "count_distinct"

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"count of the values of {self.column}"

    def distribution(self, noise: Noise) -> GridNoise:
        return noise.distribution(Fraction(noise.rows), Fraction(1))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = DistinctByGroup(size=size, norm=noise.norm, column=self.column, by=by)
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the number of values."""
        return Distinct(columns.value(self.column))


@public
def count_distinct(column: str | None = None, *, method: str = "global") -> Aggregate:
    """Count the different values of a column.

    A person adds at most as many values as the unit allows rows, in all groups together; of a
    person with more, a random choice counts.  So the count is too low where people have more values
    than that.  Missing values are not counted.  For the person column itself ask
    :func:`tacit.count_people`.  Without a column it is a step of a chain,
    :class:`tacit.transformations.CountDistinct`.

    Args:
        column: the name of the column, of any kind; texts are distinguished by their characters,
            and so are the cells of a CSV column that nobody declared: ``1`` and ``01`` are two.
        method: ``"global"``, the only one.

    Returns:
        A question whose answer is a whole number per group, with a standard error and an interval.

    Raises:
        UsageError: a column that is not named by text, or another method.

    Source: the bound is that on counting people by group (Wilson et al. 2020, "Differentially
    private SQL with bounded user contribution"), with values in the place of groups.

    >>> print(count_distinct("diagnosis"))
    count_distinct(diagnosis)
    """
    only_global("count_distinct", method)
    if column is not None and not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    return DistinctValues(column)


@register_statistic
@dataclass(frozen=True)
class DistinctValues(TableStatistic):
    """The statistic ``count_distinct``."""

    kind = "count_distinct"
    elsewhere = ("n_distinct", "n_unique", "nunique", "distinct")
    order = 25
    make = staticmethod(count_distinct)
    help = "The number of different values of a column."
    noun = "the number of different values of {column}"
    fields = ("column",)
    chained = CountDistinct
    amount = True
    whole = True
    in_lab = (
        "one row changes it by at most 1, and one person by at most the rows that the unit allows"
    )

    def part(self, setting: Setting, before: Part | None) -> Part:
        return CountDistinctPart(self.require_column())


def _count_distinct_step_words(step: Mapping[str, Any]) -> str:
    return f"Count the different values of {step['column']}{for_each_group(step)}"


def _count_distinct_moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{so_many(shown, 'value', 'values')} in all"


say_step("distinct_values", _count_distinct_step_words, _count_distinct_moves)
