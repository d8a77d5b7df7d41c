"""Summands on one lattice, from above and from below, and the sums of both."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.core.losses.cells import SLACK, Floats, Listed, Spread, above, below, on_own_lattice
from tacit.core.losses.contour.gaussian_sum import least_part
from tacit.core.losses.tilted_sum import (
    TiltedSum,
    largest_exponent,
    moments,
    sum_infinite,
    tilt_for_epsilon,
)

__all__ = ["LatticeSums", "ends", "ends_weigh"]

_SERVED = 3.0
"""A tilt serves epsilons of so many deviations from its middle."""


class LatticeSums:
    """The summands of a sum on one lattice, from above; and, at a tilt, from below.

    Args:
        listed: the losses of each in floats, and how often it stands.
        step: of the lattice.
        origins: one for each summand.
        own: whether all stand on it already.
    """

    def __init__(
        self,
        listed: list[tuple[Listed | Spread, int]],
        step: float,
        origins: list[float],
        *,
        own: bool = False,
    ) -> None:
        self._listed, self._step, self._origins, self._own = listed, step, origins, own
        self.above = [
            (on_own_lattice(m, step, o) if own else above(m, step, o), k)
            for (m, k), o in zip(listed, origins, strict=True)
        ]
        self.dusty = any(_alone(masses).infinite[1] > 0 for masses, _ in listed)

    def bound(self, tilt: float, *, upper: bool) -> TiltedSum:
        """Return the sum at a tilt, from one side."""
        if upper:
            return TiltedSum(self.above, tilt, upper=True)
        step, own = self._step, self._own
        under = [
            (
                on_own_lattice(m, step, o, upper=False) if own else below(m, step, o, tilt),
                k,
            )
            for (m, k), o in zip(self._listed, self._origins, strict=True)
        ]
        return TiltedSum(under, tilt, upper=False)

    def log_deltas(self, levels: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return ends of the logarithm of delta at epsilons, each between two floats, rising.

        One tilt serves all that lie near its middle.
        """
        found: list[tuple[float, float]] = []
        pair: tuple[TiltedSum, TiltedSum] | None = None
        for place, (low, high) in enumerate(levels):
            if pair is None or not pair[1].serves(high, _SERVED):
                tilt = tilt_for_epsilon(self.above, high)
                if place + 1 < len(levels):
                    tilt = self._farther(tilt, high)
                pair = self.bound(tilt, upper=False), self.bound(tilt, upper=True)
            found.append((pair[0].log_delta(high), pair[1].log_delta(low)))
        return found

    def _farther(self, tilt: float, epsilon: float) -> float:
        """Return a tilt for an epsilon and those above it, from the one for it alone."""
        _, mean, variance = moments(self.above, tilt)
        farther = tilt_for_epsilon(
            self.above, max(mean, epsilon) + _SERVED / 2 * math.sqrt(variance)
        )
        _, mean, variance = moments(self.above, farther)
        return farther if abs(mean - epsilon) <= _SERVED * math.sqrt(variance) else tilt

    def steepest_epsilon(self, log_delta: float) -> float:
        """Return an epsilon at which delta is below one given, from the tilted masses alone.

        ``delta(e) <= e^(K(t) - t e) t^t / (1 + t)^(1 + t)`` beside what is infinite, for each t > 0
        (:func:`~tacit.core.losses.contour.gaussian_sum.least_part`): no transform, no window.
        """
        infinite = sum_infinite(self.above) * (1 + SLACK)
        if not infinite < math.exp(log_delta):
            return math.inf
        left = log_delta + math.log1p(-infinite * math.exp(-log_delta)) - 2.0**-40
        blur = sum(k * side.blur for side, k in self.above)
        found: list[float] = []
        for t in (math.pow(2.0, quarter / 4) for quarter in range(-24, 48)):
            log, _, _ = moments(self.above, t)
            log += 2.0**-48 * sum(k * largest_exponent(side, t) for side, k in self.above)
            found.append((log + least_part(t) - left) / t + blur)
        return max(min(found), 0.0) * (1 + 2.0**-50)


def _alone(masses: Listed | Spread) -> Listed:
    return masses if isinstance(masses, Listed) else masses.alone


def ends(losses: Listed | Spread) -> Floats:
    """Return the losses that have a mass of their own, and the ends of all others."""
    alone = _alone(losses)
    others = () if isinstance(losses, Listed) else losses.ends
    found: Floats = np.concatenate([alone.low, alone.high, others])
    return found


def ends_weigh(losses: Listed | Spread) -> bool:
    """Return whether the first or the last of some losses has a mass that matters."""
    masses = _alone(losses).least
    return bool(max(masses[0], masses[-1]) > 1e-6)
