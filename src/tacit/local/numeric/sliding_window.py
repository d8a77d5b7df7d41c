"""A window that slides with the answer: the draw of piecewise and square-wave mechanisms.

The report is one of N numbers.  An answer a, 0 <= a <= N - w, has the window a .. a + w - 1: with
probability ``keep`` the report is uniform on it, else uniform on all N.  So a number in the window
has probability ``keep/w + (1 - keep)/N``, another one ``(1 - keep)/N``, and their ratio is

    1 + keep N / (w (1 - keep)),

attained by two answers whose windows differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.local.kernels.dyadic_probability import coins, dyadic_down, uniform_below

__all__ = ["Window"]


@dataclass(frozen=True)
class Window:
    """The draw of a report around an answer; see the module.

    Args:
        total: N.
        width: w, below N.
        keep: the dyadic probability of a report drawn from the window.

    >>> Window(8, 4, Fraction(1, 2)).ratio
    Fraction(3, 1)
    """

    total: int
    width: int
    keep: Fraction

    @classmethod
    def for_ratio(cls, total: int, width: int, ratio: Fraction) -> Window:
        """Return the window whose ratio is at most ``ratio``, and nearly it."""
        excess = (ratio - 1) * width
        return cls(total, width, dyadic_down(excess / (excess + total)))

    @property
    def ratio(self) -> Fraction:
        """The greatest ratio of the probabilities of one report."""
        return 1 + self.keep * self.total / (self.width * (1 - self.keep))

    def draw(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw the report of each answer."""
        n = len(starts)
        anywhere = uniform_below(self.total, n).astype(np.int64)
        inside = starts + uniform_below(self.width, n)
        return np.where(coins(self.keep, n), inside, anywhere)

    def law(self, start: int) -> list[Fraction]:
        """Return the probability of each report."""
        base = (1 - self.keep) / self.total
        more = base + self.keep / self.width
        end = start + self.width
        return [more if start <= y < end else base for y in range(self.total)]

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities in doubles: a row for each answer, a column for each report."""
        answers = self.total - self.width + 1
        base = float((1 - self.keep) / self.total)
        offset = np.arange(self.total) - np.arange(answers)[:, None]
        inside: NDArray[Any] = (offset >= 0) & (offset < self.width)
        return base + inside * float(self.keep / self.width)

    def moments(self, start: int) -> tuple[Fraction, Fraction]:
        """Return mean and mean square of the report."""
        inside = _uniform_moments(start, self.width)
        anywhere = _uniform_moments(0, self.total)
        mean, square = (
            self.keep * a + (1 - self.keep) * b for a, b in zip(inside, anywhere, strict=True)
        )
        return mean, square


def _uniform_moments(start: int, width: int) -> tuple[Fraction, Fraction]:
    """Return mean and mean square of a uniform number of start .. start + width - 1."""
    mean = start + Fraction(width - 1, 2)
    return mean, mean * mean + Fraction(width * width - 1, 12)
