"""A ladder of bounds on the local sensitivity, and the private test along it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.bisection import least_integer
from tacit.arithmetic.enclosure import exp
from tacit.core import LInfinityDistance, Space, Vector
from tacit.errors import UsageError
from tacit.mechanisms.selection.sparse_vector import AboveThreshold
from tacit.mechanisms.shared.local_statistic import LocalStatistic

__all__ = ["Ladder"]

_FAR = 1 << 40
_ENOUGH = Fraction(512)
_LISTED = 200
_WIDEST = 10_000


class Ladder:
    """A geometric ladder of bounds below the largest sensitivity, and the test along it.

    The distances to instability of all rungs are queries of sensitivity one; they are asked of the
    above-threshold mechanism from the smallest bound on.  With scales ``25 / (9 epsilon)`` on the
    threshold and ``25 / (8 epsilon)`` on the queries its cost is ``epsilon``, or 512 if that is
    less.
    """

    def __init__(
        self, local: LocalStatistic, epsilon: Fraction, ratio: Fraction, rungs: int
    ) -> None:
        self.local = local
        self.bounds = [local.full / ratio**k for k in range(rungs, 0, -1)]
        enough = min(epsilon, _ENOUGH)  # beyond, less noise would change nothing
        self.scales = Fraction(25, 9) / enough, Fraction(25, 8) / enough

    def test(self, threshold: int) -> Any:
        """Return the above-threshold mechanism over the rungs."""
        queries = Space(Vector(int, size=len(self.bounds)), LInfinityDistance())
        return queries >> AboveThreshold(threshold, *self.scales)

    def distances(self, sample: Any) -> list[int]:
        """Return the distance to instability for every bound, cut at a public number."""
        found = self.local.distances(sample, self.bounds)
        return [_FAR if d is None else min(d, _FAR) for d in found]

    def law(self, sample: Any, test: Any) -> Any:
        """List which rung is used, by its place, and None for none of them.

        Raises:
            UsageError: noise so wide that this is too long a list.
        """
        if self.scales[0] * len(self.bounds) > _WIDEST:
            raise UsageError(
                "at this epsilon the noise of the search is too wide to list its distribution: "
                "list that of a larger epsilon; the proof is the same"
            )
        return test.distribution(self.distances(sample))

    def chances(self, sample: Any, threshold: int) -> NDArray[np.float64]:
        """Return how likely each rung is to be used, and at the end none, in floats (no proof)."""
        levels, weights = _noises(float(self.scales[0]))
        width = float(self.scales[1])
        left, found = weights, []
        for distance in self.distances(sample):
            passes = _at_least(threshold + levels - distance, width)
            found.append(float((left * passes).sum()))
            left = left * (1 - passes)
        return np.array([*found, float(left.sum())])

    def reach(self, chance: Fraction) -> int:
        """Return the least T with ``P(query noise - threshold noise >= T) <= chance``."""
        return least_integer(lambda least: self._tail(least) <= chance, 0, 1)

    def _tail(self, least: int) -> Fraction:
        """Bound ``P(X - Y >= T)`` from above, Y and X discrete Laplace with ratios p and q.

        Summed over ``Y = r``: ``P(X >= T + r) = q^(T+r) / (1 + q)`` where ``T + r >= 0``, and at
        most one below.  The terms ``r >= 0`` give ``q^T / (1 - p q)``, those ``-T <= r < 0`` give
        ``p (q^T - p^T) / (q - p)``, all times ``(1 - p) / ((1 + p) (1 + q))``; the rest is
        ``p^(T+1) / (1 + p)``.
        """
        p, q = (exp(-1 / scale, 128) for scale in self.scales)
        pt, qt = (exp(-least / scale, 128) for scale in self.scales)
        near = qt / (1 - p * q) + p * ((qt - pt).maximum(0) / (q - p))
        found = near * (1 - p) / ((1 + p) * (1 + q)) + pt * p / (1 + p)
        return found.upper


def _noises(scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values of discrete Laplace noise and their weights; quantiles where it is wide.

    >>> values, weights = _noises(1e9)
    >>> round(float(np.abs(values) @ weights) / 1e9, 2)
    1.0
    """
    if scale < _LISTED:
        values = np.arange(-math.ceil(45 * scale), math.ceil(45 * scale) + 1, dtype=np.float64)
        weights = np.exp(-np.abs(values) / scale)
        return values, weights / weights.sum()
    share = (np.arange(1 << 14) + 0.5) / (1 << 14)
    size = np.log(2 * np.minimum(share, 1 - share))
    return np.rint(np.sign(share - 0.5) * -scale * size), np.full(1 << 14, 1.0 / (1 << 14))


def _at_least(least: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return P(X >= least), X discrete Laplace: ``q^least / (1 + q)`` from 1 on, and its mirror."""
    q = math.exp(-1 / scale)
    tail = np.exp(-np.where(least >= 1, least, 1 - least) / scale) / (1 + q)
    return np.where(least >= 1, tail, 1 - tail)
