"""Candidates for the worst pair of neighbours: sorted out in floats, decided exactly.

A *candidate* is a pair of releases ``(wide, narrow)`` whose spread may differ most.  Families of
candidates offer float estimates with bounds on their errors; a candidate stays while its upper
end reaches the best lower end seen so far.  The few that stay are evaluated in exact rationals,
so that the winner is the true maximum over all candidates offered.

A family may offer only the float optimum over one of its whole-numbered coordinates, found by
bisection.  It then adds to the upper end what a misjudged comparison could have cost, and names
that coordinate with its limits; the value along it rises and then falls, so that the exact
optimum is reached by walking uphill.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.square_root import Root, gap
from tacit.statistics.samples.prefix_moments import UNIT, Moments, Range

__all__ = ["Candidate", "Contest", "Finding", "Spread", "Walk"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Which measure of spread: the variance or its root, over ``n - ddof``."""

    ddof: int = 0
    root: bool = False

    def value(self, variance: Fraction) -> Fraction | Root:
        """The measure of spread for an exact variance."""
        return Root(variance) if self.root else variance

    def gap(self, wide: Fraction, narrow: Fraction) -> Fraction | float:
        """How far two exact variances are apart in this measure, rounded up where irrational."""
        return gap(self.value(wide), self.value(narrow))


class Candidate(Protocol):
    """A pair of releases, as ranges of ranks of the population."""

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """The ranges of the wide and of the narrow release."""
        ...


class Walk(NamedTuple):
    """A candidate, and the coordinate along which it may still improve."""

    candidate: Any
    coordinate: str | None = None
    lowest: int = 0
    highest: int = 0


class _Entry(NamedTuple):
    """A candidate that may win: its upper end, what walking may gain, and how it is made."""

    high: float
    gain: float
    make: Callable[[], Walk]


class Finding(NamedTuple):
    """The exact maximum over the candidates."""

    value: Fraction | float
    candidate: Candidate


class Contest:
    """The running maximum of ``spread(wide) - spread(narrow)`` over candidates of a population.

    Attributes:
        floor: a proven lower bound on the maximum so far, in the units of ``moments.values``.
        evaluations: how many candidates were offered.
    """

    def __init__(self, moments: Moments, spread: Spread) -> None:
        self.moments = moments
        self.spread = spread
        self.floor = -np.inf
        self.evaluations = 0
        self._staying: list[_Entry] = []

    def offer(
        self,
        wide: tuple[Floats, Floats, int],
        narrow: tuple[Floats, Floats, int],
        make: Callable[[int], Walk],
        loss: float = 0.0,
    ) -> None:
        """Offer many pairs at once.

        Args:
            wide: float sums, sums of squares, and the size of the wide releases.
            narrow: the same of the narrow releases.
            make: builds the candidate of an index.
            loss: how much more variance the wide release may have at the true optimum.
        """
        top, top_error = self._variance(*wide)
        bottom, bottom_error = self._variance(*narrow)
        low = self._measure(top - top_error) - self._measure(bottom + bottom_error)
        high = self._measure(top + (top_error + loss)) - self._measure(bottom - bottom_error)
        self.evaluations += len(top)
        if len(low):
            self.floor = max(self.floor, float(low.max()) - 8 * UNIT)
        gain = np.full(len(low), loss)
        if self.spread.root and loss:
            least = np.maximum(top - top_error, loss / 4)  # sqrt(v + loss) - sqrt(v), bounded
            gain = np.asarray(loss / np.sqrt(least))
        for index in np.flatnonzero(high + 8 * UNIT >= self.floor).tolist():
            entry = _Entry(float(high[index]) + 8 * UNIT, float(gain[index]), partial(make, index))
            self._staying.append(entry)
        if len(self._staying) > 4096:
            self._staying = [entry for entry in self._staying if entry.high >= self.floor]

    def may_win(
        self, union: tuple[Floats, Floats, int], size: int, narrow: tuple[Floats, Floats, int]
    ) -> npt.NDArray[np.intp]:
        """Which pairs may win whatever ``size`` records of the union the wide release has.

        Leaving records out of the union only lowers its sum of squared deviations.
        """
        sums, squares, count = union
        ddof = self.spread.ddof
        most = (squares - sums * sums / count) / (size - ddof)
        error = self.moments.variance_error(count, 0) * count / (size - ddof)
        bottom, bottom_error = self._variance(*narrow)
        high = self._measure(most + error) - self._measure(bottom - bottom_error)
        return np.flatnonzero(high + 8 * UNIT >= self.floor)

    def winner(self) -> Finding | None:
        """Decide exactly; None where no candidate was offered."""
        staying = [(e, e.make()) for e in self._staying if e.high >= self.floor]
        if not staying:
            return None
        reached = [(w.candidate, *self._difference(w.candidate)) for _, w in staying]
        least = max(low for _, low, _ in reached)
        for index, (entry, walk) in enumerate(staying):
            _, low, slack = reached[index]
            if walk.coordinate and low + slack + Fraction(entry.gain) * self.scale >= least:
                reached[index] = self._uphill(walk, walk.coordinate, low, slack)
        least = max(low for _, low, _ in reached)
        tied = [candidate for candidate, low, slack in reached if low + slack >= least]
        values = [self._gap(candidate) for candidate in tied]
        best = max(range(len(tied)), key=values.__getitem__)
        return Finding(values[best], tied[best])

    @property
    def scale(self) -> Fraction:
        """The contest's float unit, exactly."""
        scale = Fraction(2) ** self.moments.frame[1]
        return scale if self.spread.root else scale * scale

    def _uphill(
        self, walk: Walk, coordinate: str, value: Fraction, slack: Fraction
    ) -> tuple[Candidate, Fraction, Fraction]:
        candidate = walk.candidate
        for step in (1, -1):
            place = getattr(candidate, coordinate) + step
            while walk.lowest <= place <= walk.highest:
                other = replace(candidate, **{coordinate: place})
                reached, around = self._difference(other)
                if reached <= value:
                    break
                candidate, value, slack, place = other, reached, around, place + step
        return candidate, value, slack

    def _difference(self, candidate: Candidate) -> tuple[Fraction, Fraction]:
        """``spread(wide) - spread(narrow)`` and a bound on its error (0 for variances)."""
        wide, narrow = self._exact(candidate)
        if not self.spread.root:
            return wide - narrow, Fraction(0)
        bits = 160
        wide_low, wide_high = Root(wide).enclose(bits)
        narrow_low, narrow_high = Root(narrow).enclose(bits)
        low, high = wide_low - narrow_high, wide_high - narrow_low
        return low, high - low

    def _gap(self, candidate: Candidate) -> Fraction | float:
        wide, narrow = self._exact(candidate)
        value = self.spread.gap(wide, narrow)
        return value if wide >= narrow else -value

    def _exact(self, candidate: Candidate) -> tuple[Fraction, Fraction]:
        wide, narrow = candidate.ranges()
        ddof = self.spread.ddof
        return self.moments.variance(wide, ddof), self.moments.variance(narrow, ddof)

    def _variance(self, sums: Floats, squares: Floats, size: int) -> tuple[Floats, float]:
        variance = (squares - sums * sums / size) / (size - self.spread.ddof)
        return variance, self.moments.variance_error(size, self.spread.ddof)

    def _measure(self, variance: Floats) -> Floats:
        if not self.spread.root:
            return variance
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)
