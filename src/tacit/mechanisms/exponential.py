"""The exponential mechanism on a vector of scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit import noise
from tacit.core import LInfinityDistance, Measurement, PureDP, Space, Step, register
from tacit.errors import MismatchError, UsageError
from tacit.exact import Number, positive
from tacit.mechanisms.lattice import Lattice

__all__ = ["Exponential"]


@register
@dataclass(frozen=True)
class Exponential(Step):
    """Choose an index with probability proportional to ``exp(score / scale)``.

    **Map.** ``d -> 2 d / scale`` in pure DP, on a vector of scores under the L-infinity distance.
    For score vectors s, t with every ``|s_i - t_i| <= d``, the weight of index i moves by a factor
    of at most ``e^(d / scale)``, and so does the normalising sum, in the other direction at worst.
    Where all scores move the same way between neighbours (``monotone=True``, which the caller
    vouches for), weight and sum move together: ``d -> d / scale``.

    Source: McSherry and Talwar, "Mechanism design via differential privacy", FOCS 2007.

    Raises:
        UsageError: a scale that is not above zero.

    Example:
        >>> from tacit.core import Vector
        >>> scores = Space(Vector(int, size=3), LInfinityDistance())
        >>> (scores >> Exponential(scale=4)).map(1)
        Fraction(1, 2)
    """

    scale: Number
    monotone: bool = False

    name: ClassVar[str] = "exponential"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if not isinstance(self.monotone, bool):
            raise UsageError("monotone is True or False")

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a vector of scores.

        Raises:
            MismatchError: the scores are not compared by the L-infinity distance.
        """
        if not isinstance(space.metric, LInfinityDistance):
            raise MismatchError(
                f"exponential needs scores under the L-infinity distance, not {space.metric}",
                space,
                self,
            )
        lattice = Lattice.of(space, self, None)
        if not space.domain.size:  # type: ignore[attr-defined]
            raise MismatchError(
                "exponential chooses among a public number of scores, at least one; use "
                "Vector(..., size=n)",
                space,
                self,
            )
        scale = Fraction(self.scale)
        rate = lattice.grid / scale
        loss = 1 if self.monotone else 2

        def choose(scores: Any) -> int:
            units = lattice.units(scores)
            best = max(units)
            # A cost held below 2^62 keeps the map: its weight is the larger of two that move by
            # at most e^(d / scale), the score's own and the best one's share of e^(-2^62 rate).
            costs = np.array([min(best - unit, 1 << 62) for unit in units], dtype=np.int64)
            return int(noise.exponential_choice(costs, rate))

        return Measurement(space, PureDP(), choose, lambda d: loss * d / scale, step=self)
