"""How many people there are: the kind ``count_people``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.square_root import sqrt_up
from tacit.calls import public
from tacit.core import (
    Metric,
    Space,
    SparseDistance,
    Step,
    Transformation,
    register,
)
from tacit.report.text.vocabulary import for_each_group, say_step, so_many
from tacit.tables.answers.aggregate import (
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part, plain_estimate
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.chain.space import UnitDistance
from tacit.tables.query.requests import People, Request

__all__ = ["PeopleByGroup", "PeoplePart", "count_people"]


@register
@dataclass(frozen=True)
class PeopleByGroup(VectorStep):
    """Count the people of each group, each in at most ``groups`` groups.

    **Map.** ``d -> groups d`` in L1: a person counts one in each of at most ``groups`` groups.
    In L2 ``d -> sqrt(groups) d`` (rounded up): one person moves at most ``groups`` coordinates by
    one, and by the triangle inequality d people at most d times as far.  That is the sparse
    distance of so many coordinates itself, ``d -> d``.

    In rounds, the people are counted anew in each round among the groups that are not shown yet.
    That reads a table without the rows of groups that are public by then, so each round is as
    above; and as the draws of one person's groups read that person's rows alone, d people, of whom
    a are removed and b added, never move a group's count by more than a downwards and b upwards.
    """

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
class PeoplePart(Part):
    """The number of people, each in at most ``groups`` groups."""

    groups: int

    on_people = True

    @property
    def title(self) -> str:
        """Say what the part is."""
        return "count of people"

    def _reach(self, noise: Noise) -> Fraction:
        groups = Fraction(self.groups)
        return groups if noise.norm == "L1" else sqrt_up(groups)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = PeopleByGroup(size=size, norm=noise.norm, groups=self.groups, by=by)
        return [(step, noise.mechanism(self._reach(noise)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the people."""
        return People()

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the count."""
        law = noise.law(self._reach(noise), Fraction(1))
        return {"count_people": plain_estimate(released[0], law, level=level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(noise.law(self._reach(noise), Fraction(1)).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return noise.law(self._reach(noise), Fraction(1)).half_width((1.0,), level)


@public
def count_people(*, method: str = "global") -> Aggregate:
    """Count the people (units of privacy) who have at least one row.

    Args:
        method: ``"global"``, the only one.

    >>> print(count_people())
    count_people()
    """
    only_global("count_people", method)
    return Aggregate("count_people")


class _CountOfPeople(Kind):
    def label(self, asked: Aggregate) -> str:
        return "people"

    def statistic(self, asked: Aggregate) -> Any:
        from tacit.statistics import lookup

        return lookup("count")

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        return PeoplePart(setting.groups)


register_kind(
    _CountOfPeople(
        name="count_people",
        order=20,
        make=count_people,
        help="The number of people.",
        noun="the number of people",
        fields=(),
        amount=True,
        whole=True,
    )
)


def _step_words(step: Mapping[str, Any]) -> str:
    told = f"Count the people{for_each_group(step)}, each in {step['groups']} of the groups at most"
    if "rounds" not in step:
        return told
    return f"{told}; anew in each of {step['rounds']} rounds, of the groups not shown yet"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    if step["norm"] == "sparse":
        return f"{so_many(shown, 'person', 'people')} in each of {step['groups']} groups at most"
    return f"{so_many(shown, 'person', 'people')} in all"


say_step("count_people", _step_words, _moves)
