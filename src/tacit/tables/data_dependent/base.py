"""What the parts of a release by local sensitivity share: records in, one mechanism a group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import show
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.answers.aggregate import kind_of
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.part import Columns, Noise, Part
from tacit.tables.data_dependent.records import EachGroup, RecordsByGroup, counted_domain
from tacit.tables.data_dependent.synthetic_rows import made_rows
from tacit.tables.query.requests import Cells, Request
from tacit.tables.query.sampled_rows import WholeCells
from tacit.tables.spec.method import MOST_ROWS, Method

__all__ = ["LocalPart", "delta_of_one", "epsilon_of_one", "rho_of_one"]

_MOST_LOSS = 1 << 10
_NEARLY = 1 - Fraction(1, 1 << 30)
"""Room for the map of a person, which rounds up."""
_LEAST_DELTA = Fraction(1, 10**100)
"""No probability is below it, and floats carry its square."""


@dataclass(frozen=True)
class LocalPart(Part):
    """One statistic of a column, by a mechanism on the records of each group.

    Attributes:
        column, grid: what is read, on which grid.
        kind: of the aggregate.
        statistic: its name, as :mod:`tacit.statistics` knows it.
        method: the method and its options.
    """

    column: str
    grid: Grid
    kind: str
    statistic: str
    method: Method

    error_unit = "mean absolute error"
    most_rows = MOST_ROWS

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{self.kind} of {self.column} ({self.method.name.replace('_', ' ')})"

    def records(self, size: int, by: tuple[str, ...]) -> RecordsByGroup:
        """Return the step that counts the records."""
        low, high = self.grid.value(0), self.grid.value(self.grid.cells)
        return RecordsByGroup(self.column, str(low), str(high), self.grid.cells, size, by)

    @abstractmethod
    def mechanism(self, noise: Noise) -> Step:
        """Return the mechanism on one column.

        Raises:
            UsageError: a budget that cannot pay for it.
        """

    @abstractmethod
    def record(self, noise: Noise) -> dict[str, Any]:
        """Return what a certificate says of the method, as plain JSON values."""

    def on_column(self, noise: Noise) -> Any:
        """Return the mechanism, built on the records of one group."""
        return EachGroup(self.mechanism(noise)).on_column(counted_domain(self.records(1, ())))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the records, and the mechanism on each group."""
        return [(self.records(size, by), EachGroup(self.mechanism(noise)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the records on the grid: rows that are kept whole, where people have several."""
        value = columns.value(self.column)
        return Cells(value, self.grid) if columns.alone else WholeCells(value, self.grid)

    def vector(self, step: Step, found: Any) -> Any:
        """Return the counted records as they are."""
        return found

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answer of each group."""
        return {self.kind: self.read(released[0], noise)}

    @abstractmethod
    def read(self, released: Sequence[Any], noise: Noise) -> Estimate:
        """Return the estimate that the released values of all groups make."""

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the mean absolute error on evenly spread rows."""
        return self.error_on(made_rows(self.grid, max(1, round(rows))), noise)

    @abstractmethod
    def error_on(self, made: Array, noise: Noise) -> float:
        """Return the mean absolute error on made-up rows.

        Raises:
            UsageError: a budget that cannot pay for it.
        """

    @property
    def range(self) -> tuple[float, float]:
        """The public ends of the answer."""
        low, high = float(self.grid.value(0)), float(self.grid.value(self.grid.cells))
        return kind_of(self.kind).range(low, high)


def epsilon_of_one(noise: Noise, reach: int) -> Fraction:
    """Return the pure epsilon for one record, where a person moves ``reach`` of them.

    In zCDP ``epsilon^2 / 2`` of all of them together is the rho: the root is rounded down.
    """
    whole = noise.loss if noise.kind == "laplace" else 1 / sqrt_up(1 / (2 * noise.loss))
    return whole / reach


def rho_of_one(noise: Noise) -> Fraction:
    """Return the rho for one record: that of k records is ``k^2`` times as much."""
    return noise.loss / noise.rows**2


def delta_of_one(noise: Noise) -> Fraction:
    """Return the delta for one record that is ``noise.delta`` for a person's, rounded down.

    For k records it is ``(e^(k epsilon) - 1) / (e^epsilon - 1)`` times as much.

    Raises:
        UsageError: so much epsilon that the delta of one record is next to nothing.
    """
    epsilon, k = epsilon_of_one(noise, noise.rows), noise.rows
    if k == 1:
        return noise.delta
    if k * epsilon <= _MOST_LOSS:
        terms = (exp(k * epsilon, 128) - 1) / (exp(epsilon, 128) - 1)
        found = (noise.delta * _NEARLY / terms).rounded(64).lower
        if found >= _LEAST_DELTA:
            return found
    raise UsageError(
        f"at epsilon {show(k * epsilon)} the delta of each of {k} rows of a person would be too "
        "small to work with: give less epsilon or fewer rows, or take a noise that needs no delta, "
        "such as method='smooth' with distribution='student_t'"
    )


def unknown(values: Array) -> Array:
    """Return as many numbers that are not known."""
    return np.full_like(values, np.nan)
