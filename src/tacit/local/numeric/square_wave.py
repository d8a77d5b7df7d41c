"""Square wave: the whole distribution of a number, reported near the truth and recovered by EM."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import Number, as_fraction, as_integer, float_down
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.estimate import Estimate, expectation_maximization
from tacit.local.items import values_of
from tacit.local.numeric.means import NumberOracle, Window, Windowed
from tacit.local.oracle import Layout, State
from tacit.local.random_bits import count_values, exp_at_most, probability


@public
@dataclass(frozen=True, init=False)
class SquareWave(Windowed, NumberOracle):
    """Report a bin near the one of a number; the histogram is recovered from all reports.

    [L, U] is cut into d equal bins, and there are d + 2b reports: those within b bins of the truth
    are more likely than the others.  **Privacy**: see :mod:`tacit.local.numeric.means`,
    with a window of 2b + 1. By default b is the one of most mutual information,
    ``d (epsilon E - E + 1) / (2 E (E - 1 - epsilon))``.
    The estimate maximises the likelihood, with or without smoothing; it is not unbiased, says so,
    and has no errors, for none are known.  The linear estimate is unbiased and has errors, but
    distinguishes neighbouring bins with difficulty: ask it for ranges of bins, or for few bins.

    Source: Z. Li, T. Wang, M. Lopuhaa-Zwakenberg, N. Li, B. Skoric, *Estimating numerical
    distributions under local differential privacy*, SIGMOD 2020.

    Args:
        lower, upper: the bounds of an answer; others are clamped.
        epsilon: the greatest loss allowed; or
        keep: the probability of a report drawn from the window.
        bins: d, how many bins the range is cut into, from 2 to 16,384.
        reach: b, how many bins the window extends to either side; with epsilon by default the best.
        missing: the number that represents a missing answer; without it one is refused.

    Raises:
        UsageError: bounds reversed, both or neither of epsilon and keep.

    Example:
        >>> wave = SquareWave(0, 100, epsilon=2, bins=32)
        >>> shares = wave.estimate(wave.perturb_many([20.0] * 2000)).frequencies
        >>> len(shares), round(float(shares.sum()), 6)
        (32, 1.0)
    """

    bins: int
    window: Window

    @classmethod
    def _parameters(cls) -> list[str]:
        return ["keep", "bins", "reach"]

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        keep: Number | None = None,
        bins: int = 256,
        reach: int | None = None,
        *,
        missing: Number | None = None,
    ) -> None:
        self._set_bounds(lower, upper, missing)
        d = as_integer(bins, "bins", minimum=2)
        if d > 1 << 14:
            raise UsageError("there are at most 16,384 bins")
        if (epsilon is None) == (keep is None) or (epsilon is None and reach is None):
            raise UsageError("give either epsilon, or both keep and reach")
        b = _best_reach(epsilon, d) if reach is None else as_integer(reach, "reach", minimum=0)
        if epsilon is not None:
            window = Window.for_ratio(d + 2 * b, 2 * b + 1, exp_at_most(epsilon))
        else:
            near: Any = keep
            window = Window(d + 2 * b, 2 * b + 1, probability(near, "keep"))
        self._set(bins=d, window=window)

    @property
    def reach(self) -> int:
        """b: how many bins the window extends to either side."""
        return self.window.width // 2

    @property
    def layout(self) -> Layout:
        """A number below bins + 2 reach."""
        return Layout("integer", 1, self.window.total)

    @property
    def edges(self) -> list[Fraction]:
        """The d + 1 edges of the bins."""
        step = (self.upper - self.lower) / self.bins
        return [self.lower + i * step for i in range(self.bins + 1)]

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the bin of each answer: those on an edge belong to the bin above it."""
        return np.fromiter((self._read(v) for v in values_of(values)), np.int64)

    def _read(self, value: Any) -> int:
        return min(int(self._unit_position(value) * self.bins), self.bins - 1)

    def _draw(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        return self.window.draw(indices).astype(self.layout.dtype)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_values(reports, self.window.total)

    def distribution(self, value: object) -> dict[Hashable, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`."""
        return dict(enumerate(self.window.law(self._read(value))))

    def estimate(
        self, reports: object, *, smooth: bool = True, unbiased: bool = False, edges: object = None
    ) -> Estimate:
        """Estimate how many people fall in each bin: by EM, smoothed by default.

        Args:
            reports: a state of this mechanism, or a batch.
            smooth: whether EM averages neighbouring bins.
            unbiased: instead of EM the linear estimate, with standard errors and intervals.
            edges: with ``unbiased``, integers 0 .. bins, increasing: the bins between two of
                them are one.

        Raises:
            UsageError: reports that this mechanism cannot have made, or none; edges of no bins.
        """
        state = self._state(reports)
        if unbiased:
            return self._linear(state, self._groups(edges))
        if edges is not None:
            raise UsageError("edges are for unbiased=True: sums of an EM estimate have no errors")
        shares = expectation_maximization(state.sums, self.window.matrix(), smooth=smooth)
        edges = [float_down(edge) for edge in self.edges]
        labels = tuple(pairwise(edges))
        method = "expectation maximization" + (", smoothed" if smooth else "")
        return Estimate(labels, state.n, shares * state.n, np.nan, method=method)

    def _groups(self, edges: Any) -> list[int]:
        if edges is None:
            return list(range(self.bins + 1))
        cuts = [as_integer(edge, "an edge", minimum=0) for edge in edges]
        if len(cuts) < 2 or sorted(set(cuts)) != cuts or cuts[-1] > self.bins:
            raise UsageError(f"edges are whole numbers of 0..{self.bins}, increasing")
        return cuts

    def _scores(self, cuts: list[int]) -> NDArray[np.float64]:
        """Return, for each group of bins and each report, what the report adds to the group."""
        # The channel's rows are windows of different ends, so they are independent, and its
        # pseudo-inverse is an exact one: the scores' means are 1 in the group and 0 elsewhere.
        inverse = np.linalg.pinv(self.window.matrix()).T
        return np.add.reduceat(inverse[: cuts[-1]], cuts[:-1], axis=0)

    def _linear(self, state: State, cuts: list[int]) -> Estimate:
        """Return unbiased counts; a score's variance is its mean square less 1 in the group."""
        # The mean square is itself estimated, from the reports.
        if not state.n:
            raise UsageError("zero reports have no distribution")
        scores = self._scores(cuts)
        edges = [float_down(self.edges[cut]) for cut in cuts]
        counts, squares = scores @ state.sums, scores**2 @ state.sums
        return Estimate(tuple(pairwise(edges)), state.n, counts, squares, -1.0)

    def influence_on(self, edges: object = None) -> NDArray[np.float64]:
        """Return the most that one poisoned report moves each count of the unbiased estimate.

        Args:
            edges: of the bins of the estimate.
        """
        return np.abs(self._scores(self._groups(edges))).max(axis=1)  # type: ignore[no-any-return]


def _best_reach(epsilon: Any, bins: int) -> int:
    exp_at_most(epsilon)
    loss = as_fraction(epsilon)
    e = exp(loss, 128).middle
    return max(0, int(bins * (loss * e - e + 1) / (2 * e * (e - 1 - loss))))
