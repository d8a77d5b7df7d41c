"""The parts of a release: which noisy vectors answer a question, and what each answer takes.

Each part is one chain from the table to noise.  Parts share what they can: every question about
the moments of one column within one pair of bounds, and the count beside it, comes out of one
vector (:class:`~tacit.tables.chain.row_steps.MomentsByGroup`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.core import Step
from tacit.core.spaces.metric import sqrt_up
from tacit.expressions.grid import Grid
from tacit.mechanisms import Gaussian, Laplace
from tacit.tables.answers.moment_estimates import Moments
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.row_steps import (
    HistogramByGroup,
    MomentsByGroup,
    PeopleByGroup,
    RowsByGroup,
    SumByGroup,
)

__all__ = [
    "HistogramPart",
    "MomentsPart",
    "Noise",
    "Part",
    "PeoplePart",
    "RowsPart",
    "SumPart",
]

LEVEL = 0.95
"""The level of every interval."""


@dataclass(frozen=True)
class Noise:
    """What one part may lose: epsilon of pure DP, or rho of zCDP, for one person.

    Args:
        kind: which of the two.
        loss: the epsilon or rho.
        rows: how many rows' weight a person has at most.
        one: weights are multiples of ``1 / one``.
        delta: what a part that needs one may lose beside epsilon.
    """

    kind: Literal["laplace", "gaussian"]
    loss: Fraction
    rows: int
    one: int = 1
    delta: Fraction = Fraction(0)

    @property
    def norm(self) -> str:
        """The norm that the sensitivity is measured in."""
        return "L1" if self.kind == "laplace" else "L2"

    def scale(self, sensitivity: Fraction) -> Fraction:
        """Return the least scale: ``sensitivity / epsilon``, or ``sensitivity / sqrt(2 rho)``.

        The square root is rounded up, to no more loss than was granted.
        """
        if self.kind == "laplace":
            return sensitivity / self.loss
        return sensitivity * sqrt_up(1 / (2 * self.loss))

    def mechanism(self, sensitivity: Fraction) -> Step:
        """Return the additive mechanism for a sensitivity in the norm."""
        scale = self.scale(sensitivity)
        return Laplace(scale) if self.kind == "laplace" else Gaussian(scale)

    def law(self, sensitivity: Fraction, grid: Fraction) -> NoiseLaw:
        """Return the law of one coordinate, for errors and intervals."""
        return NoiseLaw(self.kind, float(self.scale(sensitivity)), float(grid))

    def split(self, share: Fraction) -> Noise:
        """Return a part of the loss."""
        return replace(self, loss=self.loss * share)

    def choice_scale(self, stretch: int) -> Fraction:
        """Return the least scale of a choice whose costs one row moves by ``stretch``.

        Pure: loss ``2 rows stretch / scale``; zCDP: ``(rows stretch / scale)^2 / 2``.
        """
        reach = Fraction(self.rows * stretch)
        if self.kind == "laplace":
            return 2 * reach / self.loss
        return reach * sqrt_up(1 / (2 * self.loss))


class Part(ABC):
    """One piece of a release."""

    on_people: ClassVar[bool] = False
    """Whether the chain starts from people rather than from bounded rows."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Say what the part is, in a few words."""

    @abstractmethod
    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the ends of the part's chains: what is computed, and the noise on it."""

    @abstractmethod
    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the answers, by the kind of aggregate that each is for."""

    @abstractmethod
    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the expected standard error in a group of ``rows`` rows, without any data."""


@dataclass(frozen=True)
class MomentsPart(Part):
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
        return 2 if self.kinds & {"var", "std"} else 1

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds on the grid."""
        return self.grid.value(0), self.grid.value(self.grid.cells)

    @property
    def width(self) -> int:
        """How many coordinates a group has."""
        return self.degree + 1 + int(self.missing)

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

    def law(self, noise: Noise) -> NoiseLaw:
        """Return the noise on one coordinate."""
        return noise.law(
            Fraction(noise.rows), Fraction(1, noise.one * self.grid.cells**self.degree)
        )

    def _moments(self, noisy: NDArray[np.float64], noise: Noise) -> Moments:
        low, high = self.bounds
        law = self.law(noise)
        return Moments(noisy, law, float(low), float(high), self.degree, self.missing, LEVEL)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return every kind that was asked."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, self.width)
        moments = self._moments(noisy, noise)
        answers = {
            "count": moments.count,
            "sum": moments.total,
            "mean": moments.mean,
            "var": moments.variance,
            "std": moments.deviation,
        }
        return {kind: answers[kind]() for kind in self.kinds}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for values spread evenly over the bounds."""
        return self._error_of(kind, noise, [rows / (self.degree + 1)] * (self.degree + 1))

    def error_on(self, kind: str, noise: Noise, made: NDArray[np.float64]) -> float:
        """Return the error for made-up values within the bounds."""
        low, high = map(float, self.bounds)
        x = (made - low) / (high - low)
        shares = [1 - x, x] if self.degree == 1 else [(1 - x) ** 2, 2 * x * (1 - x), x**2]
        return self._error_of(kind, noise, [float(share.sum()) for share in shares])

    def _error_of(self, kind: str, noise: Noise, sums: list[float]) -> float:
        coordinates = np.array([sums + [0.0] * int(self.missing)])
        part = MomentsPart(self.column, self.grid, frozenset({kind}) | self.kinds, self.missing)
        return float(part.estimates([coordinates], noise)[kind].standard_error[0])


@dataclass(frozen=True)
class SumPart(Part):
    """The sum of a column of which nothing else is asked: its own sensitivity is the least."""

    column: str
    grid: Grid

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"sum of {self.column}"

    @property
    def reach(self) -> Fraction:
        """How far one row moves the sum."""
        return max(abs(self.grid.value(0)), abs(self.grid.value(self.grid.cells)))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the sums, and additive noise."""
        low, high = self.grid.value(0), self.grid.value(self.grid.cells)
        step = SumByGroup(
            size=size,
            norm=noise.norm,
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(self.reach * noise.rows))]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the sum."""
        law = self._law(noise)
        return {"sum": _plain(released[0], law, floor=-np.inf)}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(self._law(noise).variance ** 0.5)

    def _law(self, noise: Noise) -> NoiseLaw:
        return noise.law(self.reach * noise.rows, self.grid.step / noise.one)


@dataclass(frozen=True)
class RowsPart(Part):
    """The number of rows."""

    @property
    def title(self) -> str:
        """Say what the part is."""
        return "count of rows"

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = RowsByGroup(size=size, norm=noise.norm, one=noise.one, by=by)
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the count."""
        return {"count": _plain(released[0], _rows_law(noise))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(_rows_law(noise).variance ** 0.5)


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

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the count."""
        return {"count_people": _plain(released[0], noise.law(self._reach(noise), Fraction(1)))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(noise.law(self._reach(noise), Fraction(1)).variance ** 0.5)


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

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts, shape (groups, bins)."""
        flat = _plain(released[0], _rows_law(noise))
        shape = (-1, self.bins)
        columns = (flat.value, flat.standard_error, flat.lower, flat.upper)
        return {"histogram": Estimate(*(column.reshape(shape) for column in columns))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error of one bin, the same for any data."""
        return float(_rows_law(noise).variance ** 0.5)


def _rows_law(noise: Noise) -> NoiseLaw:
    return noise.law(Fraction(noise.rows), Fraction(1, noise.one))


def _plain(released: Any, law: NoiseLaw, floor: float = 0.0) -> Estimate:
    value = np.asarray(released, dtype=np.float64)
    half = law.half_width((1.0,), LEVEL)
    error = np.full_like(value, law.variance**0.5)
    return Estimate(value, error, np.maximum(value - half, floor), np.maximum(value + half, floor))
