"""The mean of a number from one bit a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.report_layout import Layout
from tacit.local.kernels.dyadic_probability import (
    coins,
    truth_probability,
)
from tacit.local.numeric.mean_oracle import LinearMean

__all__ = ["Duchi"]


@public
@dataclass(frozen=True, init=False)
class Duchi(LinearMean):
    """Round the answer at random to one of the bounds, and send that bit by randomized response.

    With t the answer on -1..1 the variance of one report is ``((E + 1)/(E - 1))**2 - t**2``.
    Source: J. Duchi, M. Jordan, M. Wainwright, *Minimax optimal procedures for locally private
    estimation*, JASA 2018.

    Args:
        lower, upper: the bounds.
        epsilon: the greatest loss allowed; or
        p: the probability that the bit is kept, above 1/2.
        missing: the number that stands for a missing answer.

    Example:
        >>> duchi = Duchi(-1, 1, p="3/4")
        >>> duchi.ratio, duchi.variance(1, value=0), duchi.report_bits
        (Fraction(3, 1), Fraction(4, 1), 1)
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None
    p: Fraction

    _parameters: ClassVar[tuple[str, ...]] = ("p",)

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        p: Number | None = None,
        *,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        if (epsilon is None) == (p is None):
            raise UsageError("give either epsilon or p")
        kept = truth_probability(p, epsilon, 1)
        if kept <= Fraction(1, 2):
            raise UsageError("p must be above 1/2")
        object.__setattr__(self, "p", kept)

    @property
    def ratio(self) -> Fraction:
        """The ratio p / (1 - p)."""
        return self.p / (1 - self.p)

    @property
    def steps(self) -> int:
        """1: an answer is rounded to a bound."""
        return 1

    @property
    def layout(self) -> Layout:
        """One bit."""
        return Layout("integer", 1, 2)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        return rounded ^ ~coins(self.p, len(rounded))

    def _law(self, rounded: int) -> Mapping[int, Any]:
        return {rounded: self.p, 1 - rounded: 1 - self.p}

    def score(self) -> tuple[Fraction, Fraction]:
        """See :meth:`~tacit.local.numeric.mean_oracle.LinearMean.score`."""
        gap = 2 * self.p - 1
        return 1 / gap, (self.p - 1) / gap

    def _variance_at(self, rounded: int) -> Fraction:
        return self.p * (1 - self.p) / (2 * self.p - 1) ** 2

    def _greatest_variance(self) -> Fraction:
        """Half way between the bounds the rounding adds 1/4."""
        return self._variance_at(0) + Fraction(1, 4)
