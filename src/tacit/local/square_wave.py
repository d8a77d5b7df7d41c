"""Square wave: the whole distribution of a number, reported near the truth and recovered by EM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.exact import Number, as_fraction, as_integer, float_down
from tacit.local.checks import read_answer, read_bounds
from tacit.local.counting import count_values
from tacit.local.dyadic import exp_at_most, probability
from tacit.local.estimate import Estimate
from tacit.local.items import is_missing
from tacit.local.layout import Layout
from tacit.local.oracle import Oracle
from tacit.local.postprocess import expectation_maximization
from tacit.local.window import Window
from tacit.noise.enclosure import exp

__all__ = ["SquareWave"]


@dataclass(frozen=True, init=False)
class SquareWave(Oracle):
    """Report a bin near the one that a number falls in; the histogram is recovered together.

    [L, U] is cut into d equal bins, and there are d + 2b reports: those within b bins of the truth
    are more likely than the others.  **Privacy**: see :mod:`tacit.local.window`, with a window of
    2b + 1. By default b is the one of most mutual information,
    ``d (epsilon E - E + 1) / (2 E (E - 1 - epsilon))``.
    The estimate maximises the likelihood, with or without smoothing; it is not unbiased, and says
    so.

    Source: Z. Li, T. Wang, M. Lopuhaa-Zwakenberg, N. Li, B. Skoric, *Estimating numerical
    distributions under local differential privacy*, SIGMOD 2020.

    Args:
        lower, upper: the bounds of an answer; others are clamped.
        epsilon: the greatest loss allowed; or
        keep: the probability of a report drawn from the window.
        bins: d.
        reach: b; with epsilon by default the best.
        missing: the number that stands for a missing answer; without it one is refused.

    Raises:
        UsageError: bounds reversed, both or neither of epsilon and keep.

    Example:
        >>> wave = SquareWave(0, 100, epsilon=2, bins=32)
        >>> shares = wave.estimate(wave.perturb_many([20.0] * 2000)).frequencies
        >>> len(shares), round(float(shares.sum()), 6)
        (32, 1.0)
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | None
    bins: int
    window: Window

    _parameters: ClassVar[tuple[str, ...]] = ("keep", "bins", "reach")

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
        low, high = read_bounds(lower, upper)
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
        standing = None if missing is None else as_fraction(missing, "missing")
        for name, value in (
            ("lower", low),
            ("upper", high),
            ("missing", standing),
            ("bins", d),
            ("window", window),
        ):
            object.__setattr__(self, name, value)

    @property
    def keep(self) -> Fraction:
        """The probability of a report drawn from the window."""
        return self.window.keep

    @property
    def reach(self) -> int:
        """b: how many bins the window extends to either side."""
        return self.window.width // 2

    @property
    def ratio(self) -> Fraction:
        """See :mod:`tacit.local.window`."""
        return self.window.ratio

    @property
    def layout(self) -> Layout:
        """A number below bins + 2 reach."""
        return Layout("integer", 1, self.window.total)

    @property
    def edges(self) -> list[Fraction]:
        """The d + 1 edges of the bins."""
        step = (self.upper - self.lower) / self.bins
        return [self.lower + i * step for i in range(self.bins + 1)]

    def read(self, values: Any) -> NDArray[np.int64]:
        """Return the bin of each answer: those on an edge belong to the bin above it."""
        return np.fromiter((self._read(v) for v in values), np.int64)

    def _read(self, value: Any) -> int:
        if is_missing(value):
            if self.missing is None:
                raise UsageError(
                    "an answer is missing; say missing=<number> for what stands in its place"
                )
            value = self.missing
        return min(int(read_answer(value, self.lower, self.upper) * self.bins), self.bins - 1)

    def _draw(self, places: NDArray[np.int64]) -> NDArray[Any]:
        return self.window.draw(places).astype(self.layout.dtype)

    def _sums(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return count_values(reports, self.window.total)

    def distribution(self, value: Any) -> dict[Any, Fraction]:
        """See :meth:`~tacit.local.Oracle.distribution`."""
        return dict(enumerate(self.window.law(self._read(value))))

    def estimate(self, reports: Any, *, smooth: bool = True) -> Estimate:
        """Estimate how many people fall in each bin: by EM, smoothed by default.

        Raises:
            UsageError: reports that this mechanism cannot have made, or none.
        """
        state = self._state(reports)
        shares = expectation_maximization(state.sums, self.window.matrix(), smooth=smooth)
        edges = [float_down(edge) for edge in self.edges]
        labels = tuple(pairwise(edges))
        method = "expectation maximization" + (", smoothed" if smooth else "")
        return Estimate(labels, state.n, shares * state.n, np.nan, method=method)

    def _domain_description(self) -> Any:
        bounds = (self.lower, self.upper, self.missing)
        return [None if b is None else str(b) for b in bounds]

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        lower, upper, missing = description["domain"]
        parameters = {name: description[name] for name in cls._parameters}
        return cls(lower, upper, missing=missing, **parameters)


def _best_reach(epsilon: Any, bins: int) -> int:
    exp_at_most(epsilon)
    loss = as_fraction(epsilon)
    e = exp(loss, 128).middle
    return max(0, int(bins * (loss * e - e + 1) / (2 * e * (e - 1 - loss))))
