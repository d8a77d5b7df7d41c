"""The mean of a number from answers with Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.local.base.parameters import refuse_wide
from tacit.local.base.report_layout import Layout
from tacit.local.kernels.dyadic_probability import most_exp, read_loss
from tacit.local.numeric.mean_oracle import LinearMean

__all__ = ["LaplaceMean"]

REACH = 45
"""Noise beyond 45 scales, rarer than e**-45, is cut so that a report has a fixed size."""


@public
@dataclass(frozen=True, init=False)
class LaplaceMean(LinearMean):
    """Report the answer with discrete Laplace noise of scale (U - L)/epsilon.

    **Privacy.** Two answers are at most m units apart and the noise has scale m/epsilon: epsilon
    exactly.  **Variance** about 2 (U - L)**2/epsilon**2 per report, the largest of the four.

    Args:
        lower, upper: the bounds.
        epsilon: the loss, exactly.
        grid: m, the units from one bound to the other.
        missing: the number that stands for a missing answer.

    Example:
        >>> noisy = LaplaceMean(0, 1, epsilon=1)
        >>> noisy.epsilon, round(float(noisy.variance(1)), 3)
        (Fraction(1, 1), 2.0)
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None
    loss: Fraction
    grid: int

    _parameters: ClassVar[tuple[str, ...]] = ("loss", "grid")

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        grid: int = 1024,
        *,
        loss: Number | None = None,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        object.__setattr__(self, "loss", read_loss(epsilon, loss))
        object.__setattr__(self, "grid", as_integer(grid, "grid", minimum=1))
        refuse_wide(self.layout, "steps of the grid")

    @property
    def epsilon(self) -> Fraction:
        """The loss of one report, exactly."""
        return self.loss

    @property
    def ratio(self) -> Fraction:
        """e**epsilon, rounded up by less than 2**-90."""
        return most_exp(self.loss)

    @property
    def steps(self) -> int:
        """The units from one bound to the other."""
        return self.grid

    @property
    def reach(self) -> int:
        """How far the noise can reach, in units."""
        return int(REACH * self.grid / self.loss) + 1

    @property
    def layout(self) -> Layout:
        """The noisy answer, shifted up by the reach of the noise; what is beyond is cut."""
        return Layout("integer", 1, self.grid + 2 * self.reach + 1)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        drawn = noise.discrete_laplace(self.grid / self.loss, size=len(rounded)) + rounded
        shifted: NDArray[np.int64] = np.clip(drawn + self.reach, 0, self.layout.limit - 1)
        return shifted

    def _law(self, rounded: int) -> Mapping[int, Any]:
        law, reach = noise.DiscreteLaplace(self.grid / self.loss), self.reach
        top = self.layout.limit - 1
        found: dict[int, Enclosure] = {
            y: law.probability(y - reach - rounded, 128) for y in range(1, top)
        }
        found[0] = law.cdf(-reach - rounded, 128)
        found[top] = 1 - law.cdf(top - 1 - reach - rounded, 160)
        return found

    def score(self) -> tuple[Fraction, Fraction]:
        """See :meth:`~tacit.local.numeric.mean_oracle.LinearMean.score`."""
        return Fraction(1, self.grid), Fraction(-self.reach, self.grid)

    def _variance_at(self, rounded: int) -> Fraction:
        law = noise.DiscreteLaplace(self.grid / self.loss)
        return law.variance().rounded(80).upper / self.grid**2
