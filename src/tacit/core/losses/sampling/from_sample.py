"""What privacy losses of a release from a sample have in common, however it is drawn."""

from __future__ import annotations

from functools import cached_property

from tacit.core.losses.additive_noise import ShiftedLoss
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.cells import Listed, spread_of
from tacit.core.losses.own_lattice import Lattice
from tacit.core.losses.summed import Summand

__all__ = ["DUST", "LossFromSample", "few_losses"]

DUST = 1e-300
"""The mass that a list of losses may leave out at each end."""
_MOST_LISTED = 1 << 10


class LossFromSample(Summand):
    """Losses of a release from a sample, in one direction."""

    def lattice(self) -> Lattice | None:
        """Return None: a logarithm of a sum stands on no lattice."""
        return None

    def spread(self) -> tuple[float, float]:
        """Return about the standard deviation of the losses, and the largest size that matters."""
        return self._spread

    @cached_property
    def _spread(self) -> tuple[float, float]:
        return spread_of(self.in_floats(1e-15))


def few_losses(base: PrivacyLoss) -> Listed | None:
    """List the losses of noise that has few outcomes that matter; None for any other release.

    >>> from tacit.core.losses.additive_noise import LaplaceShift
    >>> few_losses(LaplaceShift(2, 3)).low.tolist(), few_losses(LaplaceShift(2, 3000))
    ([-1.5, -0.5, 0.5, 1.5], None)
    """
    if not isinstance(base, ShiftedLoss) or not base.shift:
        return None
    listed = base.in_floats(DUST)
    return listed if isinstance(listed, Listed) and len(listed.low) <= _MOST_LISTED else None
