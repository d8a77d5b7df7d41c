"""What every form of a privacy-loss distribution is made of, and what each of them answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core.divergences.privacy_profile import Curve
from tacit.errors import UsageError

__all__ = [
    "BITS",
    "Atom",
    "Loss",
    "PrivacyLoss",
    "enclosed_delta",
    "enclosed_epsilon",
]

BITS = 224
"""The precision of what is rounded."""
_ZERO = Fraction(0)


@public
class PrivacyLoss(ABC):
    """What every form of a privacy-loss distribution answers."""

    @abstractmethod
    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least delta at each of several epsilons, in rising order."""
        return [self.delta(epsilon) for epsilon in epsilons]

    @abstractmethod
    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the losses of P against Q and of Q against P, where both are known.

        Raises:
            UsageError: a list of losses, which is of one direction.
        """
        raise UsageError(
            "these losses are a list in one direction, and the others are in both directions: "
            "use tc.privacy_loss for both and compose one release at a time, or compose one "
            "direction only, with .forward or .backward"
        )

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together."""
        return other.after(self)

    @abstractmethod
    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together; these are those of the second."""

    @abstractmethod
    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together."""


@dataclass(frozen=True)
class Loss:
    """A privacy loss ``shift + ln(ratio)``, kept so that equal ones are seen to be equal."""

    shift: Enclosure = Enclosure(_ZERO, _ZERO)  # noqa: RUF009  (frozen)
    ratio: Fraction = Fraction(1)

    @classmethod
    def of(cls, loss: Fraction) -> Loss:
        """Return a rational loss."""
        return cls(Enclosure(loss, loss))

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.shift + other.shift, self.ratio * other.ratio)

    def times(self, factor: int) -> Loss:
        """Return a whole multiple."""
        return Loss(factor * self.shift, self.ratio**factor)

    @cached_property
    def value(self) -> Enclosure:
        """An enclosure of the loss."""
        return self.shift if self.ratio == 1 else self.shift + log(self.ratio, 96)

    def factor(self, bits: int = BITS) -> Enclosure:
        """Enclose ``e^-loss``."""
        return exp(-self.shift, bits) / self.ratio


@dataclass(frozen=True)
class Atom:
    """One privacy loss with the masses that P and Q give it."""

    loss: Loss
    p: Enclosure
    q: Enclosure


def enclosed_delta(curves: tuple[Curve, Curve], epsilon: Number) -> Enclosure:
    """Enclose delta between a curve from below and one from above."""
    level = as_fraction(epsilon, "epsilon")
    low, high = curves
    return Enclosure(low.delta(level).lower, min(high.delta(level).upper, Fraction(1)))


def enclosed_epsilon(curves: tuple[Curve, Curve], delta: Number) -> Enclosure | float:
    """Enclose epsilon between a curve from below and one from above."""
    target = as_fraction(delta, "delta")
    if not 0 <= target <= 1:
        raise UsageError(f"delta must be from 0 to 1, not {show(target)}")
    low, high = (curve.epsilon(target) for curve in curves)
    if not isinstance(high, Enclosure):
        return math.inf
    least = low.lower if isinstance(low, Enclosure) else high.upper
    return Enclosure(min(least, high.upper), high.upper)
