"""How many different values a column has: the kind ``count_distinct``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.calls import public
from tacit.core import Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError, said
from tacit.report.text.vocabulary import for_each_group, say_step, so_many
from tacit.tables.answers.aggregate import (
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part, plain_estimate
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.query.requests import Distinct, Request
from tacit.transformations import CountDistinct

__all__ = ["CountDistinctPart", "DistinctByGroup", "count_distinct"]


@register
@dataclass(frozen=True)
class DistinctByGroup(VectorStep):
    """Count the different values of a column in each group.

    **Map.** ``d -> d`` in L1 and in L2: a row has one value in one group, so a row that comes or
    goes changes one count by one, or none where another row has that value there.  It is attained:
    d rows of one group whose values are new move its count by d, in both norms.

    Rows are whole here, not weighted.  Of a person one row stands for each value that they have in
    a group, and of these at most ``rows`` are kept, drawn under a salt that is fresh for the
    release: :mod:`tacit.tables.query.distinct_values` proves that a person moves all counts
    together by at most ``rows`` for every salt, and so on average over it, since divergences are
    jointly convex, or quasi-convex, in the two distributions.
    """

    column: str
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "distinct_values"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(1), Fraction(1))


@dataclass(frozen=True)
class CountDistinctPart(Part):
    """The number of different values of a column, each person adding at most ``rows``."""

    column: str

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"count of the values of {self.column}"

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = DistinctByGroup(size=size, norm=noise.norm, column=self.column, by=by)
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the number of values."""
        return Distinct(columns.value(self.column))

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the count."""
        return {"count_distinct": plain_estimate(released[0], _law(noise), level=level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(_law(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return _law(noise).half_width((1.0,), level)


def _law(noise: Noise) -> NoiseLaw:
    """Return the noise on one count."""
    return noise.law(Fraction(noise.rows), Fraction(1))


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
        raise UsageError(f"a column is named by text, not by {said(column)}")
    return Aggregate("count_distinct", column)


class _CountDistinct(Kind):
    def statistic(self, asked: Aggregate) -> Any:
        raise UsageError(
            "count_distinct is a question to a table; one row changes it by at most 1, and one "
            "person by at most the rows that the unit allows"
        )

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        return CountDistinctPart(asked.require_column())


register_kind(
    _CountDistinct(
        name="count_distinct",
        order=25,
        make=count_distinct,
        help="The number of different values of a column.",
        noun="the number of different values of {column}",
        fields=("column",),
        chained=CountDistinct,
        amount=True,
        whole=True,
    )
)


def _step_words(step: Mapping[str, Any]) -> str:
    return f"Count the different values of {step['column']}{for_each_group(step)}"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{so_many(shown, 'value', 'values')} in all"


say_step("distinct_values", _step_words, _moves)
