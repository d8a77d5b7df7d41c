"""Count, sum, mean, variance and standard deviation of a column, from one vector.

The kinds ``sum``, ``mean``, ``var`` and ``std``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.calls import public
from tacit.core import (
    Step,
)
from tacit.errors import UsageError, said
from tacit.expressions.grid import Grid
from tacit.tables.answers.aggregate import (
    SQUARE_BITS,
    SUM_BITS,
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.answers.bounded_column import bounded, with_method
from tacit.tables.answers.rows import CountingPart
from tacit.tables.answers.total import SumPart
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.moment_estimates import Moments, bernstein
from tacit.tables.chain.moment_steps import MomentsByGroup
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part
from tacit.tables.query import requests
from tacit.tables.spec.method import MethodName
from tacit.transformations import Mean, Sum, Variance

__all__ = ["MomentsPart", "mean", "std", "sum", "var"]

_OF_SQUARES = frozenset({"var", "std"})


@dataclass(frozen=True)
class MomentsPart(CountingPart):
    """Count, sum, mean, var and std of one column within one pair of bounds."""

    column: str
    grid: Grid
    kinds: frozenset[str]
    missing: bool

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{', '.join(sorted(self.kinds))} of {self.column}"

    @property
    def degree(self) -> int:
        """1 for count, sum and mean; 2 where a variance is asked."""
        return 2 if self.kinds & _OF_SQUARES else 1

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds on the grid."""
        return self.grid.value(0), self.grid.value(self.grid.cells)

    @property
    def width(self) -> int:
        """How many coordinates a group has."""
        return self.degree + 1 + int(self.missing)

    def settled(self) -> Part:
        """Return a part of its own for a sum of which nothing else is asked: the least noise."""
        return SumPart(self.column, self.grid) if self.kinds == {"sum"} else self

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: Bernstein sums, and additive noise."""
        low, high = self.bounds
        step = MomentsByGroup(
            size=size * self.width,
            norm=noise.norm,
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            degree=self.degree,
            missing=self.missing,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> requests.Request:
        """Ask for the rows, their values, and the squares of these where they are needed."""
        value = columns.value(self.column)
        return requests.Moments(value, self.grid, squares=self.degree > 1)

    def vector(self, step: Step, found: Any) -> Any:
        """Return the Bernstein sums."""
        return bernstein(
            np.asarray(found, dtype=object), self.grid.cells, self.degree, self.missing
        )

    def law(self, noise: Noise) -> NoiseLaw:
        """Return the noise on one coordinate."""
        return noise.law(
            Fraction(noise.rows), Fraction(1, noise.one * self.grid.cells**self.degree)
        )

    def _moments(self, noisy: NDArray[np.float64], noise: Noise, level: float) -> Moments:
        low, high = self.bounds
        law = self.law(noise)
        return Moments(noisy, law, float(low), float(high), self.degree, self.missing, level)

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return every kind that was asked."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, self.width)
        moments = self._moments(noisy, noise, level)
        answers = {
            "count": moments.count,
            "sum": moments.total,
            "mean": moments.mean,
            "var": moments.variance,
            "std": moments.deviation,
        }
        return {kind: answers[kind]() for kind in self.kinds}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for values spread evenly over the bounds."""
        return float(self._expected(kind, noise, self._even(rows)).standard_error[0])

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the longer arm of the interval, for values spread evenly over the bounds."""
        found = self._expected(kind, noise, self._even(rows), level)
        return float(max(found.upper[0] - found.value[0], found.value[0] - found.lower[0]))

    def _even(self, rows: float) -> list[float]:
        return [rows / (self.degree + 1)] * (self.degree + 1)

    def error_on(self, kind: str, noise: Noise, made: NDArray[np.float64]) -> float:
        """Return the error for made-up values within the bounds."""
        low, high = map(float, self.bounds)
        x = (made - low) / (high - low)
        shares = [1 - x, x] if self.degree == 1 else [(1 - x) ** 2, 2 * x * (1 - x), x**2]
        sums = [float(share.sum()) for share in shares]
        return float(self._expected(kind, noise, sums).standard_error[0])

    def _expected(
        self, kind: str, noise: Noise, sums: list[float], level: float = LEVEL
    ) -> Estimate:
        """Return the answer out of sums on which no noise has fallen."""
        coordinates = np.array([sums + [0.0] * int(self.missing)])
        part = MomentsPart(self.column, self.grid, frozenset({kind}) | self.kinds, self.missing)
        return part.estimates([coordinates], noise, level)[kind]


@public
def sum(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Add up a column, each value clamped to [lower, upper]; missing values add nothing.

    Args:
        column: the name of the column; None for a step of a chain, or a statistic of
            :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    >>> print(sum("pay", 0, 1000))
    sum(pay, 0, 1000)
    """
    only_global("sum", method)
    return bounded("sum", column, lower, upper)


@public
def mean(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    method: MethodName = "global",
    bound: NumberLike | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Average a column over its values that are not missing, each clamped to [lower, upper].

    Args:
        column: the name of the column; None for a step of a chain, or a statistic of
            :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: as in :func:`median`; ``"global"`` by default.
        bound: for ``"ptr"``, as in :func:`median`.
        bins: for ``"sample_and_aggregate"``, as in :func:`median`.
        distribution: for ``"smooth"``, as in :func:`median`.
        rows: for ``"auto"``, as in :func:`median`.

    >>> print(mean("age", 0, 100), mean("age", 0, 100, method="ptr", bound="1/2"))
    mean(age, 0, 100) mean(age, 0, 100, method=ptr, bound=1/2)
    """
    return with_method(
        bounded("mean", column, lower, upper), method, bound, bins, distribution, rows
    )


@public
def var(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    ddof: int = 0,
    method: MethodName = "global",
    bound: NumberLike | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return the variance (divided by n) of a column clamped to [lower, upper].

    ``var(ddof=1)``, without a column, divides by n - 1: a statistic to ask sensitivities of.

    Args:
        column: the name of the column; None for a statistic of :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        ddof: 0 to divide by n; 1, only without a column, to divide by n - 1.
        method: as in :func:`median`; ``"global"`` by default.
        bound: for ``"ptr"``, as in :func:`median`.
        bins: for ``"sample_and_aggregate"``, as in :func:`median`.
        distribution: for ``"smooth"``, as in :func:`median`.
        rows: for ``"auto"``, as in :func:`median`.

    Raises:
        UsageError: a ddof that is not 0 or 1, or 1 of a column.

    >>> print(var("age", 0, 100))
    var(age, 0, 100)
    """
    return with_method(
        _dispersion("var", column, lower, upper, ddof), method, bound, bins, distribution, rows
    )


@public
def std(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    ddof: int = 0,
    method: MethodName = "global",
    bound: NumberLike | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return the standard deviation (divided by n) of a column clamped to [lower, upper].

    ``std(ddof=1)``, without a column, divides by n - 1: a statistic to ask sensitivities of.

    Args:
        column: the name of the column; None for a statistic of :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        ddof: 0 to divide by n; 1, only without a column, to divide by n - 1.
        method: as in :func:`median`; ``"global"`` by default.
        bound: for ``"ptr"``, as in :func:`median`.
        bins: for ``"sample_and_aggregate"``, as in :func:`median`.
        distribution: for ``"smooth"``, as in :func:`median`.
        rows: for ``"auto"``, as in :func:`median`.

    Raises:
        UsageError: a ddof that is not 0 or 1, or 1 of a column.

    >>> print(std("age", 0, 100))
    std(age, 0, 100)
    """
    return with_method(
        _dispersion("std", column, lower, upper, ddof), method, bound, bins, distribution, rows
    )


def _dispersion(
    kind: str, column: str | None, lower: NumberLike | None, upper: NumberLike | None, ddof: int
) -> Aggregate:
    if ddof not in (0, 1):
        raise UsageError(f"ddof must be 0 or 1, not {said(ddof)}")
    made = bounded(kind, column, lower, upper)
    if ddof and column is not None:
        raise UsageError(
            f"a table's {kind} is divided by n; tc.{kind}(ddof=1) without a column is a statistic "
            "for tc.sensitivity"
        )
    return replace(made, ddof=int(ddof))


class _Moment(Kind):
    @property
    def bits(self) -> int:
        return SQUARE_BITS if self.name in _OF_SQUARES else SUM_BITS

    def shared(self, asked: Aggregate) -> Any:
        return (_Moment, asked.column, asked.lower, asked.upper)

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        beside = before.kinds if isinstance(before, MomentsPart) else frozenset()
        kinds = beside | {self.name} | ({"count"} if setting.counted else set())
        grid = setting.grid(asked, SQUARE_BITS if kinds & _OF_SQUARES else SUM_BITS)
        return MomentsPart(asked.require_column(), grid, kinds, missing=setting.counted)

    def range(self, lower: float, upper: float) -> tuple[float, float]:
        spread = {"var": (upper - lower) ** 2 / 4, "std": (upper - lower) / 2}
        return (0.0, spread[self.name]) if self.name in spread else (lower, upper)

    def error_on(
        self, asked: Aggregate, grid: Grid, counted: bool, noise: Noise, made: Array
    ) -> float:
        """Return ``sqrt(2 / pi)`` of the standard error: the error is nearly normal."""
        part = MomentsPart(asked.require_column(), grid, frozenset({self.name}), missing=counted)
        return part.error_on(self.name, noise, made) * math.sqrt(2 / math.pi)


register_kind(
    _Moment(
        name="sum",
        order=30,
        make=sum,
        help="The sum of values clamped to the bounds.",
        noun="the sum of {column}",
        chained=Sum,
        amount=True,
    )
)
register_kind(
    _Moment(
        name="mean",
        order=40,
        make=mean,
        help="The mean.",
        noun="the mean of {column}",
        chained=Mean,
        methods=True,
    )
)
register_kind(
    _Moment(
        name="var",
        order=50,
        make=var,
        help="The variance.",
        noun="the variance of {column}",
        chained=Variance,
        methods=True,
    )
)
register_kind(
    _Moment(
        name="std",
        order=60,
        make=std,
        help="The standard deviation.",
        noun="the standard deviation of {column}",
        methods=True,
    )
)
