"""How many rows there are: the kind ``count``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.calls import public
from tacit.core import (
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.report.text.vocabulary import for_each_group, say_step
from tacit.tables.answers.aggregate import (
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import (
    LEVEL,
    Columns,
    Noise,
    Part,
    law_of_rows,
    plain_estimate,
    precisions,
)
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.query.requests import Request, Rows
from tacit.transformations import Count

__all__ = ["CountingPart", "RowsByGroup", "RowsPart", "count"]


@register
@dataclass(frozen=True)
class RowsByGroup(VectorStep):
    """Count the rows of each group.

    **Map.** ``d -> d`` in L1 and in L2: a row is in one group, where it counts one; so d rows move
    the vector by at most d in L1, and in L2 by at most the same (all of them in one group).
    """

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
    def law(self, noise: Noise) -> NoiseLaw:
        """Return the noise on one coordinate."""


@dataclass(frozen=True)
class RowsPart(CountingPart):
    """The number of rows."""

    width = 1

    @property
    def title(self) -> str:
        """Say what the part is."""
        return "count of rows"

    def law(self, noise: Noise) -> NoiseLaw:
        """Return the noise on the count."""
        return law_of_rows(noise)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = RowsByGroup(size=size, norm=noise.norm, one=noise.one, by=by)
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight of the rows."""
        return Rows()

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the count."""
        return {"count": plain_estimate(released[0], self.law(noise), level=level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(self.law(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return self.law(noise).half_width((1.0,), level)


@public
def count(*, method: str = "global") -> Aggregate:
    """Count rows.

    Args:
        method: ``"global"``, the only one.

    >>> print(count())
    count()
    """
    only_global("count", method)
    return Aggregate("count")


class _CountOfRows(Kind):
    joins = CountingPart

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        return RowsPart()

    def estimate(
        self,
        parts: Sequence[Part],
        found: Sequence[Mapping[str, Estimate]],
        noises: Sequence[Noise],
        level: float = LEVEL,
    ) -> Estimate:
        """Return the mean of the counts of several parts, the more precise counting for more.

        Each counts the rows again, with independent noise, of one scale where no weights say
        otherwise; then the mean over m of them has a m-th of the variance.
        """
        counts = [each[self.name] for each in found]
        if len(counts) == 1:
            return counts[0]
        counting = [part for part in parts if isinstance(part, CountingPart)]
        shares, whole = precisions(noises), sum(precisions(noises))
        value = np.average([count.value for count in counts], axis=0, weights=shares)
        laws = [part.law(noise) for part, noise in zip(counting, noises, strict=True)]
        half = _half_width_of_mean(counting, laws, shares, level)
        each = [
            share**2 * part.width * law.variance
            for part, law, share in zip(counting, laws, shares, strict=True)
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
        laws = [part.law(noise) for part, noise in zip(counting, noises, strict=True)]
        return _half_width_of_mean(counting, laws, precisions(noises), level)


def _half_width_of_mean(
    parts: Sequence[CountingPart], laws: Sequence[NoiseLaw], shares: Sequence[float], level: float
) -> float:
    """Return the half-width of the mean of several counts, each counting by its share.

    A coordinate with the weight a and noise of the scale s is one with the weight ``a s / t`` and
    noise of the least scale t of all; its grid is allowed for ``s / t`` times over.
    """
    least, whole = min(law.scale for law in laws), sum(shares)
    weights = tuple(
        share / whole * (law.scale / least)
        for part, law, share in zip(parts, laws, shares, strict=True)
        for _ in range(part.width)
    )
    widest = NoiseLaw(laws[0].kind, least, max(law.grid for law in laws))
    return widest.half_width(weights, level)


register_kind(
    _CountOfRows(
        name="count",
        order=10,
        make=count,
        help="The number of rows.",
        noun="the number of rows",
        fields=(),
        chained=Count,
        amount=True,
        whole=True,
        counts=True,
    )
)


def _step_words(step: Mapping[str, Any]) -> str:
    return f"Count the rows{for_each_group(step)}"


say_step("count_rows", _step_words)
