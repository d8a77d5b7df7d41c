"""The lattice that some losses stand on exactly, if there is one."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.core.losses.base import Loss

__all__ = ["Lattice", "placed"]

_MOST_PLACES = 1 << 20


@dataclass(frozen=True)
class Lattice:
    """Where losses stand: ``origin + place step``."""

    step: Loss
    origin: Loss


def placed(losses: list[Loss]) -> tuple[Lattice, list[int]] | None:
    """Return the lattice of losses, and the place of each on it; None where they have none.

    >>> lattice, places = placed([Loss.of(Fraction(n)) for n in (-1, 1, 5)])
    >>> lattice.step.shift.lower, places
    (Fraction(2, 1), [0, 1, 3])
    """
    if len(losses) < 2:
        return None
    if all(loss.ratio == 1 and not loss.shift.width for loss in losses):
        values = [loss.shift.lower for loss in losses]
        least = min(values)
        step = _gcd([value - least for value in values])
        places = [int((value - least) / step) for value in values] if step else []
        if not step or max(places) > _MOST_PLACES:
            return None
        return Lattice(Loss.of(step), Loss.of(least)), places
    if any(loss.shift != Loss().shift for loss in losses):
        return None
    ratios = sorted({loss.ratio for loss in losses})
    base = min(b / a for a, b in itertools.pairwise(ratios))
    powers = {ratios[0]: 0}
    power, index = ratios[0], 0
    while power < ratios[-1] and index < 2 * len(ratios):
        power, index = power * base, index + 1
        powers[power] = index
    if not set(ratios) <= set(powers):
        return None
    lattice = Lattice(Loss(ratio=base), Loss(ratio=ratios[0]))
    return lattice, [powers[loss.ratio] for loss in losses]


def _gcd(values: list[Fraction]) -> Fraction:
    common = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * common) for value in values)), common)
