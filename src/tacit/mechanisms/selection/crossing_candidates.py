"""Losses of two candidates of permute-and-flip that cross: pairs that lose nearly the most."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import BothWays
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.mechanisms.selection.scores import FARTHEST
from tacit.mechanisms.shared.grid_noise import Lattice

__all__ = ["crossings"]

_BITS = 224
_FAR = 300
"""In scales: what is so far below the best is taken with probability below 2^-432."""


def crossings(lattice: Lattice, rate: Fraction, units: int) -> tuple[PrivacyLoss, ...]:
    """Return the losses of pairs of scores of which the best two cross.

    Args:
        lattice: of the scores.
        rate: one grid unit over the scale.
        units: how far the difference of two scores may move between neighbours, in grid units.

    >>> from tacit.core import LInfinityDistance, Space, Vector
    >>> from tacit.mechanisms.selection.noisy_max import PermuteAndFlip
    >>> space = Space(Vector(int, size=5), LInfinityDistance())
    >>> found = crossings(Lattice.of(space, PermuteAndFlip(1), None), Fraction(1, 10), 2)
    >>> [round(float(one.epsilon(0)), 4) for one in found]
    [0.1909, 0.2]
    """
    domain = lattice.space.domain
    count: int = domain.size  # type: ignore[attr-defined]
    low, high = domain.element.lower, domain.element.upper  # type: ignore[attr-defined]
    room = FARTHEST
    if low is not None and high is not None:
        room = min(room, math.floor(high / lattice.grid) - math.ceil(low / lattice.grid))
    far = (room - units) * rate
    if units == 0 or count < 2 or far < 0 or (count > 2 and far < _FAR + count.bit_length()):
        return ()
    leads = sorted({(units + 1) // 2, 3 * units // 4, units})
    return tuple(_pair(rate * lead, rate * (units - lead), count > 2) for lead in leads)


@lru_cache(maxsize=1 << 8)
def _pair(lead: Fraction, behind: Fraction, others: bool) -> PrivacyLoss:
    """Return the losses of a candidate that leads, and is behind in the other input."""
    unsure = Fraction(1, 1 << 400) if others else Fraction(0)

    def winning(share: Enclosure) -> dict[int, Any]:
        found = Enclosure(share.lower - unsure, share.upper + unsure).rounded(_BITS)
        return {0: found, 1: 1 - found}

    p = winning(1 - exp(-lead, _BITS) / 2)
    q = winning(exp(-behind, _BITS) / 2)
    return BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))
