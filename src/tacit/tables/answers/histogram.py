"""How many rows there are in each bin of a column: the kind ``histogram``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.core import (
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.report.text.vocabulary import for_each_group, say_step
from tacit.report.text.words import bins_words
from tacit.tables.answers.aggregate import (
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import Columns, Noise, Part, law_of_rows, plain_estimate
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.query.requests import Bins, Request
from tacit.tables.spec.parsing import listed
from tacit.transformations import Histogram

__all__ = ["HistogramByGroup", "HistogramPart", "histogram"]


@register
@dataclass(frozen=True)
class HistogramByGroup(VectorStep):
    """Count the values of a column between edges, in each group.

    **Map.** ``d -> d`` in L1 and in L2: a row is in one bin of one group.
    """

    column: str
    edges: tuple[str, ...]
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "histogram"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), Fraction(1))


@dataclass(frozen=True)
class HistogramPart(Part):
    """The number of values between each two edges."""

    column: str
    grid: Grid
    edges: tuple[Fraction, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"histogram of {self.column}"

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = HistogramByGroup(
            size=size * self.bins,
            norm=noise.norm,
            column=self.column,
            edges=tuple(str(edge) for edge in self.edges),
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight between each two edges."""
        edges = tuple(self.grid.offset(edge) for edge in self.edges)
        return Bins(columns.value(self.column), self.grid, edges)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts, shape (groups, bins)."""
        flat = plain_estimate(released[0], law_of_rows(noise))
        shape = (-1, self.bins)
        columns = (flat.value, flat.standard_error, flat.lower, flat.upper)
        return {"histogram": Estimate(*(column.reshape(shape) for column in columns))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error of one bin, the same for any data."""
        return float(law_of_rows(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return law_of_rows(noise).half_width((1.0,), level)


@public
def histogram(
    column: str | None = None, edges: Sequence[Number] | None = None, *, method: str = "global"
) -> Aggregate:
    """Count the values of a column in bins between edges; the last bin includes its upper edge.

    Values outside the edges, and missing ones, are in no bin.  ``histogram([0, 20, 40])``, without
    a column, is a step of a chain.

    Args:
        column: the name of the column.
        edges: public and rising, at least two; a bin includes its lower edge.
        method: ``"global"``, the only one.

    Raises:
        UsageError: fewer than two edges, or edges that do not rise.

    >>> print(histogram("age", [0, 20, 40, 60]))
    histogram(age, 0, 60, 3 bins)
    """
    only_global("histogram", method)
    if column is None and edges is None:
        return Aggregate("histogram")
    if edges is None and column is not None and not isinstance(column, str):
        column, edges = None, listed(column)
    if column is not None and not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {column!r}")
    several = edges if isinstance(edges, Iterable) else ()  # one number is refused as too few
    exact = tuple(as_fraction(edge, "an edge") for edge in several)
    if len(exact) < 2 or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError(
            'a histogram needs at least two increasing edges: tc.histogram("age", [0, 20, 40])'
        )
    return Aggregate("histogram", column, exact[0], exact[-1], edges=exact)


class _Histogram(Kind):
    def statistic(self, asked: Aggregate) -> Any:
        from tacit.statistics import Histogram as Statistic

        return super().statistic(asked) if asked.edges is None else Statistic(asked.edges)

    def step(self, asked: Aggregate) -> Step | None:
        return None if asked.edges is None else Histogram(asked.edges)

    def words(self, described: Mapping[str, Any]) -> str:
        return bins_words(self.noun, described)

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        return HistogramPart(
            asked.require_column(), setting.grid(asked, self.bits), asked.edges or ()
        )


register_kind(
    _Histogram(
        name="histogram",
        order=110,
        make=histogram,
        help="How many values are in each bin between the edges.",
        noun="how many values of {column} lie in each of {bins} bins",
        fields=("column", "edges"),
        amount=True,
        whole=True,
        counts=True,
    )
)


def _step_words(step: Mapping[str, Any]) -> str:
    bins = len(step["edges"]) - 1
    return f"Count the values of {step['column']} in {bins} bins{for_each_group(step)}"


say_step("histogram", _step_words)
