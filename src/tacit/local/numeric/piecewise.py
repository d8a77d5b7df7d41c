"""The mean of a number from reports near the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.report_layout import Layout
from tacit.local.kernels.dyadic_probability import exp_at_most, probability
from tacit.local.numeric.mean_oracle import LinearMean
from tacit.local.numeric.sliding_window import Window

__all__ = ["Piecewise"]


@public
@dataclass(frozen=True, init=False)
class Piecewise(LinearMean):
    """Report a number near the answer: uniform on a window that slides with it, or anywhere.

    The window's middle moves linearly with the answer, so the report's mean does, and is unbiased
    after a linear map.  With s = e**(epsilon/2) the window is 1/(s + 1) of all; on -1..1 the
    variance of one report is ``t**2/(s - 1) + (s + 3)/(3 (s - 1)**2)``, up to the grid.  Source: N.
    Wang et al., *Collecting and analyzing multidimensional data with local differential privacy*,
    ICDE 2019.

    Args:
        lower, upper: the bounds.
        epsilon: the greatest loss allowed; or
        keep: the probability of drawing from the window.
        total, width: how many numbers there are, and in the window; by default 4,096 and the best.
        missing: the number that stands for a missing answer.

    Example:
        >>> piecewise = Piecewise(0, 100, epsilon=2)
        >>> piecewise.report_bits, 0 <= int(piecewise.perturb(30)) < 4096
        (12, True)
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None
    window: Window

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        keep: Number | None = None,
        total: int = 4096,
        width: int | None = None,
        *,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        object.__setattr__(self, "window", _window(epsilon, keep, total, width))

    @property
    def keep(self) -> Fraction:
        """The probability of drawing from the window."""
        return self.window.keep

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.window.total

    @property
    def width(self) -> int:
        """How many of them are in the window."""
        return self.window.width

    _parameters: ClassVar[tuple[str, ...]] = ("keep", "total", "width")

    @property
    def ratio(self) -> Fraction:
        """See :mod:`tacit.local.numeric.sliding_window`."""
        return self.window.ratio

    @property
    def steps(self) -> int:
        """How far the window can slide."""
        return self.total - self.width

    @property
    def layout(self) -> Layout:
        """A number below ``total``."""
        return Layout("integer", 1, self.total)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.window.draw(rounded)

    def _law(self, rounded: int) -> Mapping[int, Any]:
        return dict(enumerate(self.window.law(rounded)))

    def score(self) -> tuple[Fraction, Fraction]:
        """See :meth:`~tacit.local.numeric.mean_oracle.LinearMean.score`."""
        a = 1 / (self.keep * self.steps)
        return a, -a * self.window.moments(0)[0]

    def _variance_at(self, rounded: int) -> Fraction:
        mean, square = self.window.moments(rounded)
        return (square - mean * mean) / (self.keep * self.steps) ** 2


def _window(epsilon: Any, keep: Any, total: Any, width: Any) -> Window:
    numbers = as_integer(total, "total", minimum=2)
    if numbers > 1 << 16:
        raise UsageError("total is at most 65,536")
    if (epsilon is None) == (keep is None):
        raise UsageError("give either epsilon or keep")
    if width is None:
        if epsilon is None:
            raise UsageError("with keep, say the width of the window")
        exp_at_most(epsilon)
        s = exp(as_fraction(epsilon) / 2, 64).middle
        width = min(max(1, round(numbers / (s + 1))), numbers - 1)
    wide = as_integer(width, "width", minimum=1)
    if wide >= numbers:
        raise UsageError("the window must be narrower than all numbers")
    if epsilon is None:
        return Window(numbers, wide, probability(keep, "keep"))
    return Window.for_ratio(numbers, wide, exp_at_most(epsilon))
