"""Questions that read the bins of one column in order, answered from one strategy.

Ranges and prefix sums by the same groups are sums of the same cells: for each cell of the other
axes, a matrix W of zeros and ones times the counts of the bins.  One strategy A of whole numbers,
found for all of these questions (:mod:`tacit.workload.ordered`), is multiplied with the counts and
gets noise; the counts of the bins follow by least squares, and with them every answer.  A row is in
one cell of the other axes, where it moves the numbers by one column of A.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Step
from tacit.mechanisms import Gaussian
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import Noise
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.intervals import laplace_reach
from tacit.tables.together.reading import gram_of, magnitudes, squares
from tacit.tables.together.step import CellCounts
from tacit.workload.ordered import best_strategy, check_bins
from tacit.workload.strategy import Strategy

__all__ = ["Family", "added_noise"]

Array = NDArray[np.float64]

_BITS = 96


def added_noise(noise: Noise, moved: Fraction) -> Step:
    """Return the noise for a sensitivity, whose losses add up to a fraction of few digits.

    With Gaussian noise of the scale ``moved / r`` the loss is ``r^2 / 2``.  Here r is the largest
    multiple of a power of two whose loss is at most what is granted; so the losses of hundreds of
    chains have a power of two below them, and their sum has too.

    >>> granted = Noise("gaussian", Fraction(1, 30), 1)
    >>> loss = (3 / added_noise(granted, Fraction(3)).scale) ** 2 / 2
    >>> loss <= granted.loss, float(1 - loss / granted.loss) < 1e-25, loss.denominator.bit_count()
    (True, True, 1)
    """
    if noise.kind == "laplace":
        return noise.mechanism(moved)
    bits = _BITS + max(0, noise.loss.denominator.bit_length() - noise.loss.numerator.bit_length())
    root = math.isqrt((2 * noise.loss.numerator << 2 * bits) // noise.loss.denominator)
    return Gaussian(moved / Fraction(root, 1 << bits))


@dataclass(frozen=True)
class Family:
    """Questions about the cells of the same axes, of which one is read in order.

    Args:
        axes: the axes.
        along: the place of the one that is read in order.
        weights: of each reading how many times it is asked, each by its weight: the number of cells
            of the other axes times the importance.

    Raises:
        UsageError: more bins than a strategy is found for.
    """

    axes: tuple[Axis, ...]
    along: int
    weights: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        check_bins(self.bins)

    @property
    def bins(self) -> int:
        """How many bins are read in order."""
        return self.axes[self.along].listed

    @property
    def others(self) -> int:
        """How many cells the other axes have."""
        return math.prod(a.size for place, a in enumerate(self.axes) if place != self.along)

    @cached_property
    def _gram(self) -> tuple[int, Array]:
        """The common factor of the weights, and W^T W without it."""
        common = math.gcd(*(weight for _, weight in self.weights))
        found = np.zeros((self.bins, self.bins))
        for reading, weight in self.weights:
            found += gram_of(reading, self.bins) * (weight // common)
        return common, found

    def strategy(self, norm: str) -> Strategy:
        """Return what is combined for noise of a norm."""
        if norm not in self._strategies:
            self._strategies[norm] = best_strategy(self._gram[1], norm)
        return self._strategies[norm]

    @cached_property
    def _strategies(self) -> dict[str, Strategy]:
        return {}

    def total(self, norm: str) -> float:
        """Return the total squared error, for noise whose variance is the squared sensitivity."""
        common, gram = self._gram
        return common * float((self.strategy(norm).covariance * gram).sum())

    def chain(self, noise: Noise) -> tuple[Step, Step]:
        """Return what is computed, and the noise on it."""
        unlisted = [0] * (self.axes[self.along].size - self.bins)
        sums = [[*row, *unlisted] for row in self.strategy(noise.norm).matrix.tolist()]
        step = CellCounts.of(
            self.axes,
            size=self.others * len(sums),
            norm=noise.norm,
            one=noise.one,
            sums=sums,
            along=self.along,
        )
        return step, added_noise(noise, noise.rows * step.stretch)

    def law(self, noise: Noise) -> NoiseLaw:
        """Return the noise on each number."""
        stretch = self.strategy(noise.norm).sensitivity
        return noise.law(noise.rows * stretch, Fraction(1, noise.one))

    def counts(self, numbers: Sequence[Any], noise: Noise) -> Array:
        """Return the counts of the cells, without those of no bin, from the noisy numbers."""
        strategy = self.strategy(noise.norm)
        shape = [axis.size for axis in self.axes]
        shape[self.along] = len(strategy.matrix)
        noisy = np.asarray(numbers, dtype=np.float64).reshape(shape)
        found = np.tensordot(strategy.inverse, noisy, (1, self.along))
        return np.asarray(np.moveaxis(found, 0, self.along))

    def errors(self, reading: str, noise: Noise) -> Array:
        """Return the standard error of each number of a question along the axis."""
        strategy, law = self.strategy(noise.norm), self.law(noise)
        each = squares(reading, strategy.covariance) / float(strategy.squared_sensitivity)
        return np.asarray(np.sqrt(each * law.variance))

    def half_widths(self, reading: str, noise: Noise, level: float) -> Array:
        """Return the half-width of the interval of each number of a question along the axis.

        A discrete variable is less than a step of its grid from a continuous one (see
        :meth:`tacit.tables.chain.noise_law.NoiseLaw.half_width`).
        """
        strategy, law = self.strategy(noise.norm), self.law(noise)
        each = squares(reading, strategy.covariance) / float(strategy.squared_sensitivity)
        steps = law.grid * magnitudes(reading, strategy.inverse)
        return np.asarray(self.reach(noise, level) * np.sqrt(each) + steps)

    def reach(self, noise: Noise, level: float) -> float:
        """Return the half-width for a combination whose weights have squares that add up to 1.

        Steps of the grid come on top of it.
        """
        law = self.law(noise)
        if law.kind == "laplace":
            return math.sqrt(2) * law.scale * laplace_reach(level)
        return NoiseLaw("gaussian", 1.0, 0.0).half_width((1.0,), level) * law.scale
