"""The mean of a number from piecewise reports and single bits together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.local.base.oracle import State
from tacit.local.base.report_layout import Layout
from tacit.local.kernels.dyadic_probability import coins, dyadic_near, read_loss
from tacit.local.numeric.duchi import Duchi
from tacit.local.numeric.mean_oracle import FINE, MeanOracle
from tacit.local.numeric.piecewise import Piecewise
from tacit.noise.bits import words32

__all__ = ["HybridMean"]


@public
@dataclass(frozen=True, init=False)
class HybridMean(MeanOracle):
    """Send a piecewise report with probability alpha, else a bit of Duchi's: the best of both.

    A report says which it is; each kind is unbiased, and the choice does not depend on the answer,
    so the ratio is the greater of the two and the mean of all is unbiased.  With s =
    e**(epsilon/2), alpha is 1 - 1/s above epsilon = 0.61, and 0 (Duchi alone) below.
    Source: N. Wang et al. (2019).

    Args:
        lower, upper: the bounds.
        epsilon: the greatest loss allowed.
        total: how many numbers a piecewise report is one of.
        missing: the number that stands for a missing answer.

    Example:
        >>> from tacit.local import Duchi
        >>> hybrid = HybridMean(-1, 1, epsilon=2)
        >>> hybrid.variance(1) < Duchi(-1, 1, epsilon=2).variance(1)
        True
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None
    asked: Fraction
    total: int

    _parameters: ClassVar[tuple[str, ...]] = ("asked", "total")

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        *,
        asked: Number | None = None,
        total: int = 4096,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        object.__setattr__(self, "asked", read_loss(epsilon, asked))
        object.__setattr__(self, "total", as_integer(total, "total", minimum=2))

    @property
    def alpha(self) -> Fraction:
        """The probability of a piecewise report."""
        if self.asked <= Fraction(61, 100):
            return Fraction(0)
        return dyadic_near(1 - exp(-self.asked / 2, 64).middle, 24)

    @cached_property
    def parts(self) -> tuple[Piecewise, Duchi]:
        """The two mechanisms."""
        low, high, loss = self.lower, self.upper, self.asked
        return Piecewise(low, high, loss, total=self.total), Duchi(low, high, loss)

    @property
    def ratio(self) -> Fraction:
        """The greater ratio of the two mechanisms."""
        return max(part.ratio for part in self.parts)

    @property
    def steps(self) -> int:
        """The steps of the piecewise mechanism, from which Duchi's bit is rounded."""
        return self.parts[0].steps

    @property
    def layout(self) -> Layout:
        """A piecewise report, or one of two numbers above them."""
        return Layout("integer", 1, self.total + 2)

    def _report(self, rounded: NDArray[np.int64]) -> NDArray[np.int64]:
        piecewise, duchi = self.parts
        n, m = len(rounded), self.steps
        up = (rounded << FINE) + (words32(n).astype(np.int64) * m) >= m << FINE
        bit = duchi._report(up.astype(np.int64)) + self.total
        return np.where(coins(self.alpha, n), piecewise._report(rounded), bit)

    def _law(self, rounded: int) -> Mapping[int, Any]:
        piecewise, duchi = self.parts
        law = {y: self.alpha * p for y, p in piecewise._law(rounded).items()}
        up = self._rounds_up(rounded)
        one = up * duchi.p + (1 - up) * (1 - duchi.p)
        law[self.total] = (1 - self.alpha) * (1 - one)
        law[self.total + 1] = (1 - self.alpha) * one
        return {y: p for y, p in law.items() if p}

    def _rounds_up(self, rounded: int) -> Fraction:
        """Return the exact probability that i/m rounds up: words u with u m >= (m - i) 2**32."""
        m = self.steps
        return 1 - Fraction(-(-(m - rounded << FINE) // m), 1 << FINE)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        near = reports[reports < self.total]
        ones = int(np.count_nonzero(reports == self.total + 1))
        return np.array([len(near), near.sum(dtype=np.int64), ones], np.int64)

    def _total(self, state: State) -> Fraction:
        near, total, ones = (int(v) for v in state.sums)
        (a, b), (c, d) = (part.score() for part in self.parts)
        return a * total + b * near + c * ones + d * (state.n - near)

    def _extremes(self) -> tuple[Fraction, Fraction]:
        low, high = zip(*(part._extremes() for part in self.parts), strict=True)
        return min(low), max(high)

    def _variance_at(self, rounded: int) -> Fraction:
        piecewise, duchi = self.parts
        up = self._rounds_up(rounded)
        other = duchi._variance_at(0) + up * (1 - up)
        return self.alpha * piecewise._variance_at(rounded) + (1 - self.alpha) * other

    def _greatest_variance(self) -> Fraction:
        """Return a bound: each part at its worst."""
        piecewise, duchi = (part._greatest_variance() for part in self.parts)
        return self.alpha * piecewise + (1 - self.alpha) * duchi
