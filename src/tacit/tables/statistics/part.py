"""A part of a release: its chains, its noise and its estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import Step
from tacit.expressions.expression import Expression, col
from tacit.expressions.grid import Grid
from tacit.mechanisms import Gaussian, Laplace
from tacit.tables.noise import RULES, Estimate, GridNoise
from tacit.tables.query.requests import Cells, Request

# What a part of a release is, and the noise that it may use.
#
# Each part is one or more chains from the table to noise, and answers one kind of question: its
# steps, its noise and its estimate are in one file of this folder.  Parts share what they can:
# every question about the moments of one column within one pair of bounds, and the count next to
# it, comes out of one vector.


LEVEL = 0.95  # the level of every interval


@dataclass(frozen=True)
class Noise:
    """What one part may spend: epsilon of pure DP, or rho of zCDP, for one person."""

    kind: Literal["laplace", "gaussian"]
    loss: Fraction  # the epsilon or rho
    rows: int  # the largest total weight of the rows of one person
    # The weight of a row in the integers of the engine: weights are multiples of ``1 / one``, so a
    # count of those integers is a number of rows after division by ``one``.
    one: int = 1
    delta: Fraction = Fraction(0)  # what a part that needs one may spend in addition to epsilon
    rules: int = RULES  # the version of the rules of intervals: see :mod:`tacit.tables.noise`

    @property
    def norm(self) -> str:
        """The norm that the sensitivity is measured in."""
        return "L1" if self.kind == "laplace" else "L2"

    def scale(self, sensitivity: Fraction) -> Fraction:
        """Return the least scale: ``sensitivity / epsilon``, or ``sensitivity / sqrt(2 rho)``."""
        # The square root is rounded up, to no more loss than was granted.
        if self.kind == "laplace":
            return sensitivity / self.loss
        return sensitivity * sqrt_up(1 / (2 * self.loss))

    def mechanism(self, sensitivity: Fraction) -> Step:
        """Return the additive mechanism for a sensitivity in the norm."""
        scale = self.scale(sensitivity)
        return Laplace(scale) if self.kind == "laplace" else Gaussian(scale)

    def distribution(self, sensitivity: Fraction, grid: Fraction) -> GridNoise:
        """Return the distribution of one coordinate, for errors and intervals."""
        return GridNoise(self.kind, float(self.scale(sensitivity)), float(grid), self.rules)

    def split(self, share: Fraction) -> Noise:
        """Return a part of the loss."""
        return replace(self, loss=self.loss * share)

    def choice_scale(self, sensitivity: int) -> Fraction:
        """Return the least scale of a choice whose costs one row moves by ``sensitivity``."""
        # Pure: loss ``2 rows stretch / scale``; zCDP: ``(rows stretch / scale)^2 / 2``.
        moved = Fraction(self.rows * sensitivity)
        if self.kind == "laplace":
            return 2 * moved / self.loss
        return moved * sqrt_up(1 / (2 * self.loss))


@dataclass(frozen=True)
class Columns:
    """The columns of a question."""

    # those that are computed from each row, in terms of the table's own
    derived: Mapping[str, Expression]
    alone: bool  # whether each row is a person of its own
    undeclared: frozenset[str] = frozenset()  # those whose kind is not declared
    booleans: frozenset[str] = frozenset()  # those that are true or false

    def value(self, name: str) -> Expression:
        """Return what a column holds, in terms of the table's own."""
        return self.derived.get(name, col(name))


class Part(ABC):
    """One piece of a release."""

    # Whether the chain starts from people rather than from bounded rows.
    on_people: ClassVar[bool] = False

    error_unit: ClassVar[str] = "standard error"  # what :meth:`expected_error` is
    needs_delta: ClassVar[bool] = False  # whether a share of a delta is for it
    # The largest group for which errors are computed, where there is a limit.
    most_rows: ClassVar[int | None] = None

    @property
    @abstractmethod
    def title(self) -> str:
        """A short description of the part, for messages."""

    @property
    def chosen_because(self) -> str:
        """Why this part answers, in words, where there are others that could."""
        return ""

    def settled(self) -> Part:
        """Return the part to use once all statistics that it answers are known."""
        return self

    @abstractmethod
    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the ends of the part's chains: what is computed, and the noise on it."""

    @abstractmethod
    def request(self, step: Step, columns: Columns) -> Request:
        """Return what the first step of a chain asks of the engine, in whole numbers."""

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the exact vector of a step from the engine's answer, in units of its grid."""
        return [int(value) for value in np.asarray(exact, dtype=object).ravel()]

    @abstractmethod
    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answers, by the kind of aggregate that each is for."""

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level; unknown ones where there are none."""
        # A part whose intervals follow from the distribution of its noise has them at any level;
        # one whose release decided what they are has them at :data:`LEVEL` alone.
        answers = self.estimates(released, noise)
        return {kind: each.without_interval() for kind, each in answers.items()}

    @abstractmethod
    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the expected standard error in a group of ``rows`` rows, without any data."""

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return how far an interval is expected to reach, in the unit of :attr:`error_unit`."""
        # It is that of a group of ``rows`` rows, without any data, and never larger where the noise
        # has more to lose.  None where no interval is known beforehand.
        return None

    def refusal(self, noise: Noise, rows: float) -> float | None:
        """Return how likely a group of so many rows gets no answer; None where none can."""
        return None

    def record(self, noise: Noise) -> dict[str, Any]:
        """Return the description of the method in a certificate, as plain JSON values."""
        return {"used": "global"}


def precisions(noises: Sequence[Noise]) -> list[float]:
    """Return one over the variance of each noise, the most precise counting as 1.

    >>> one, two = (Noise("laplace", Fraction(loss), 1) for loss in (1, 2))
    >>> precisions([one, one]), precisions([one, two])
    ([1.0, 1.0], [0.25, 1.0])
    """
    # A mean of numbers with independent noise has the least variance where each counts so.  The
    # variance goes with the square of the scale: with ``1 / epsilon^2``, or with ``1 / rho``.
    each = [noise.loss ** (2 if noise.kind == "laplace" else 1) for noise in noises]
    return [float(precision / max(each)) for precision in each]


def distribution_of_rows(noise: Noise) -> GridNoise:
    """Return the noise on a count of weighted rows."""
    return noise.distribution(Fraction(noise.rows), Fraction(1, noise.one))


def plain_estimate(
    released: Any, distribution: GridNoise, floor: float = 0.0, level: float = LEVEL
) -> Estimate:
    """Return noisy counts with their error and interval; weights are undone by its grid."""
    value = np.asarray(released, dtype=np.float64)
    half = distribution.half_width((1.0,), level)
    error = np.full_like(value, distribution.variance**0.5)
    return Estimate(value, error, np.maximum(value - half, floor), np.maximum(value + half, floor))


class OneNumberPart(Part):
    """A part of one noisy number a group, with the interval of its noise at any level."""

    kind: ClassVar[str]  # of the statistic that it answers
    floor: ClassVar[float] = 0.0  # no end of an interval is below it

    @abstractmethod
    def distribution(self, noise: Noise) -> GridNoise:
        """Return the noise on the number."""

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the number."""
        return {self.kind: plain_estimate(released[0], self.distribution(noise), self.floor, level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(self.distribution(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return self.distribution(noise).half_width((1.0,), level)


@dataclass(frozen=True)
class SplitRowsPart(Part):
    """A part that splits every row of a column into shares, adds them up and adds noise.

    The shares of a row are whole numbers of the sum ``row``, so that they move by one row in all.
    """

    column: str
    grid: Grid

    kind: ClassVar[str]  # of the statistic that it answers

    @property
    @abstractmethod
    def row(self) -> int:
        """The sum of the shares of one row."""

    @property
    @abstractmethod
    def shares(self) -> int:
        """How many shares each group has."""

    @abstractmethod
    def split(self, cells: NDArray[np.int64], weights: NDArray[Any]) -> list[Any]:
        """Return the sums of the shares of weighted cells of the grid."""

    @abstractmethod
    def step(self, **fields: Any) -> Step:
        """Return the step of the chain, from the fields that all such steps have."""

    @abstractmethod
    def estimate(self, noisy: NDArray[np.float64], law: GridNoise, level: float) -> Estimate:
        """Return the answer from noisy sums, in rows: a line for each group."""

    @abstractmethod
    def even(self, rows: float) -> Any:
        """Return the sums, in rows, of a group in which values are spread evenly."""

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the sums of shares, and additive noise."""
        step = self.step(
            size=size * self.shares,
            norm=noise.norm,
            column=self.column,
            lower=str(self.grid.value(0)),
            upper=str(self.grid.value(self.grid.cells)),
            cells=self.grid.cells,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the values that occur, on the grid, and how many of each."""
        return Cells(columns.value(self.column), self.grid)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the sums of shares, group by group."""
        return [
            share
            for at, count in exact
            for share in self.split(np.asarray(at, dtype=np.int64), np.asarray(count, dtype=object))
        ]

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the answer."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, self.shares)
        law = noise.distribution(Fraction(noise.rows), Fraction(1, noise.one * self.row))
        return {self.kind: self.estimate(noisy, law, level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error for values spread evenly."""
        return float(self.estimates([self.even(rows)], noise)[kind].standard_error[0])

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return the longer arm of the interval, for values spread evenly."""
        one = self.estimates([self.even(rows)], noise, level)[kind]
        return float(np.maximum(one.upper - one.value, one.value - one.lower)[0])
