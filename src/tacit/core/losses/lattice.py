"""Privacy losses on a lattice: enclosed from both sides, convolved without a rounding of floats.

Masses are whole multiples of 10^-50, one list rounded up (never less privacy loss than there is)
and one rounded down.  Lists are convolved as *one product of two long decimal numbers*, each mass a
block of digits wide enough that no carry reaches the next: exact, and as quick as the number-
theoretic transform behind :mod:`decimal`.

**From above.**  A loss l between lattice points a < l < b is split: of its mass p the part ``p
(e^-a - e^-l) / (e^-a - e^-b)`` goes to b and the rest to a.  Then the masses of P *and* of Q at a
and b add up to those at l, so the old pair is a post-processing (a merger) of the new one: the new
one dominates, and composes to one that dominates.  The error is of second order in the width.
(Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots", PETS 2022, see that this is
optimal.) **From below.**  The loss is lowered to a: ``E max(0, 1 - e^(epsilon - loss))`` of a sum
of losses falls with every loss.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number
from tacit.core.divergences.privacy_profile import Curve
from tacit.core.losses.base import (
    BITS,
    Atoms,
    ExplicitLoss,
    Loss,
    enclosed_delta,
    enclosed_epsilon,
)

__all__ = ["LatticeLoss", "Masses", "join", "split"]

DIGITS = 50
UNIT = 10**DIGITS
POINTS = 1 << 12
"""How many lattice points span the losses of one release, where they are on no lattice."""
MOST_POINTS = 1 << 13
"""Twice the step where there would be more points than this."""
_DUST = 10 ** (DIGITS - 40)

Explicit: TypeAlias = "Atoms | LatticeLoss"


@dataclass(frozen=True)
class Masses:
    """Masses at ``origin + i step`` for ``i = first, first + 1, ...``, in units of 10^-50."""

    first: int
    weights: tuple[int, ...]
    infinite: int

    @classmethod
    def gathered(cls, rows: Iterable[tuple[int, int]], infinite: int) -> Masses:
        """Add up pairs (index, mass)."""
        found: Counter[int] = Counter()
        for index, mass in rows:
            found[index] += mass
        first, last = min(found, default=0), max(found, default=0)
        return cls(first, tuple(found[i] for i in range(first, last + 1)), infinite)

    def rows(self) -> Iterator[tuple[int, int]]:
        """Yield pairs (index, mass), without the empty ones."""
        return ((i, m) for i, m in enumerate(self.weights, self.first) if m)


@dataclass(frozen=True)
class LatticeLoss(ExplicitLoss):
    """Privacy losses on a lattice, from above and from below."""

    step: Loss
    origin: Loss
    above: Masses
    below: Masses

    @cached_property
    def _curves(self) -> tuple[Curve, Curve]:
        return self._curve(self.below, up=False), self._curve(self.above, up=True)

    def _curve(self, masses: Masses, *, up: bool) -> Curve:
        ratio = self.step.factor()
        weight = (self.origin + self.step.times(masses.first)).factor().rounded(BITS)
        rows = []
        for mass in masses.weights:
            if mass:
                p = Fraction(mass, UNIT)
                rows.append((p, p * (weight.lower if up else weight.upper)))
            weight = (weight * ratio).rounded(BITS)
        return Curve.ordered(Fraction(masses.infinite, UNIT), reversed(rows))

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
        return enclosed_delta(self._curves, epsilon)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        return enclosed_epsilon(self._curves, delta)

    def joined(self, other: Any) -> LatticeLoss:
        """Return the composition on one lattice."""
        return join(self, other)

    def losses(self, *, up: bool) -> Iterator[tuple[Enclosure, int]]:
        """Yield the losses with their masses, of one of the two bounds."""
        for index, mass in (self.above if up else self.below).rows():
            yield (self.origin + self.step.times(index)).value, mass


def join(left: Explicit, right: Explicit) -> LatticeLoss:
    """Compose on one lattice: that of the losses themselves if they have one, else a fine one."""
    a, b = _own_lattice(left), _own_lattice(right)
    if a is None or b is None or a.step != b.step:
        width = max(_span(side) for side in (left, right)) / POINTS
        power = Fraction(2) ** math.floor(math.log2(width))
        a, b = _rounded(left, power), _rounded(right, power)
    above = _product(a.above, b.above, up=True)
    below = _product(a.below, b.below, up=False)
    joined = LatticeLoss(a.step, a.origin + b.origin, above, below)
    while max(len(above.weights), len(below.weights)) > MOST_POINTS:
        joined = _halved(joined)
        above, below = joined.above, joined.below
    return joined


def split(loss: Fraction, mass: int, width: Fraction) -> list[tuple[int, int]]:
    """Split a mass at a loss over the multiples of ``width`` around it; it may grow by one unit."""
    index = math.floor(loss / width)
    rest = loss - index * width
    if rest == 0:
        return [(index, mass)]
    share = (1 - exp(-rest, BITS)) / (1 - exp(-width, BITS))
    high = min(math.ceil(share.upper * mass), mass)
    return [(index, mass - high), (index + 1, high)]


def _own_lattice(losses: Explicit) -> LatticeLoss | None:
    """Return the losses on the lattice that they are on exactly, if it has not too many points."""
    if isinstance(losses, LatticeLoss):
        return losses
    if len(losses.atoms) < 2:
        return None
    found = _places([atom.loss for atom in losses.atoms])
    if found is None:
        return None
    step, origin, places = found
    pairs = list(zip(places, losses.atoms, strict=True))
    above = [(i, math.ceil(atom.p.upper * UNIT)) for i, atom in pairs]
    below = [(i, math.floor(max(atom.p.lower, Fraction(0)) * UNIT)) for i, atom in pairs]
    return LatticeLoss(step, origin, *_both(above, below, losses))


def _places(losses: list[Loss]) -> tuple[Loss, Loss, list[int]] | None:
    """Return step, origin and indices of losses that lie on a lattice of their own."""
    if all(loss.ratio == 1 and not loss.shift.width for loss in losses):
        values = [loss.shift.lower for loss in losses]
        least = min(values)
        step = _gcd([value - least for value in values])
        places = [int((value - least) / step) for value in values]
        if max(places) > MOST_POINTS:
            return None
        return Loss.of(step), Loss.of(least), places
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
    return Loss(ratio=base), Loss(ratio=ratios[0]), [powers[loss.ratio] for loss in losses]


def _gcd(values: list[Fraction]) -> Fraction:
    common = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * common) for value in values)), common)


def _span(losses: Explicit) -> Fraction:
    if isinstance(losses, LatticeLoss):
        values = [loss for loss, _ in losses.losses(up=True)]
    else:
        values = [atom.loss.value for atom in losses.atoms]
    largest = max((abs(value).upper for value in values), default=Fraction(1))
    return largest or Fraction(1)


def _rounded(losses: Explicit, width: Fraction) -> LatticeLoss:
    """Enclose the losses on the multiples of a rational width."""
    if isinstance(losses, LatticeLoss):
        up = list(losses.losses(up=True))
        down = list(losses.losses(up=False))
    else:
        up = [(a.loss.value, math.ceil(a.p.upper * UNIT)) for a in losses.atoms]
        low = Fraction(0)
        down = [(a.loss.value, math.floor(max(a.p.lower, low) * UNIT)) for a in losses.atoms]
    above = [row for loss, mass in up for row in split(loss.upper, mass, width)]
    below = [(math.floor(loss.lower / width), mass) for loss, mass in down]
    return LatticeLoss(Loss.of(width), Loss(), *_both(above, below, losses))


def _both(
    above: list[tuple[int, int]], below: list[tuple[int, int]], losses: Explicit
) -> tuple[Masses, Masses]:
    if isinstance(losses, LatticeLoss):
        most, least = losses.above.infinite, losses.below.infinite
    else:
        most = math.ceil(losses.impossible.upper * UNIT)
        least = math.floor(losses.impossible.lower * UNIT)
    return Masses.gathered(above, most), Masses.gathered(below, least)


def _product(a: Masses, b: Masses, *, up: bool) -> Masses:
    """Convolve, rounding every mass one way, and sweep the dust of the tails that way too."""
    total_a, total_b = sum(a.weights) + a.infinite, sum(b.weights) + b.infinite
    infinite = a.infinite * total_b + (total_a - a.infinite) * b.infinite
    extra = UNIT - 1 if up else 0
    weights = [(mass + extra) // UNIT for mass in convolve(a.weights, b.weights)]
    return _swept(Masses(a.first + b.first, tuple(weights), (infinite + extra) // UNIT), up=up)


def convolve(a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    """Convolve whole numbers, none negative, exactly.

    >>> convolve((1, 2, 3), (10, 1))
    [10, 21, 32, 3]
    """
    if not a or not b:
        return []
    digits = len(str(max(a))) + len(str(max(b))) + len(str(min(len(a), len(b)))) + 1
    sides = [
        decimal.Decimal("".join(f"{mass:0{digits}d}" for mass in reversed(side))) for side in (a, b)
    ]
    context = decimal.Context(
        prec=digits * (len(a) + len(b) + 1),
        Emax=decimal.MAX_EMAX,
        Emin=decimal.MIN_EMIN,
        traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow],
    )
    length = len(a) + len(b) - 1
    text = str(context.multiply(*sides)).zfill(length * digits)
    blocks = [int(text[i : i + digits]) for i in range(len(text) - digits, -1, -digits)]
    return blocks[:length]


def _swept(masses: Masses, *, up: bool) -> Masses:
    """Trim tails of a mass below 10^-40: upwards from above, away from below."""
    weights, last = masses.weights, len(masses.weights)
    first = high = low = 0
    while last > 1 and high + weights[last - 1] <= _DUST:
        last -= 1
        high += weights[last]
    while first < last - 1 and low + weights[first] <= _DUST:
        low += weights[first]
        first += 1
    kept = list(weights[first:last])
    if not kept:
        return masses
    if up:
        kept[0] += low
        return Masses(masses.first + first, tuple(kept), masses.infinite + high)
    kept[-1] += high
    return Masses(masses.first + first, tuple(kept), masses.infinite)


def _halved(losses: LatticeLoss) -> LatticeLoss:
    """Double the step: odd points are split from above (the upper share is 1 / (1 + e^-step))."""
    share = (1 / (1 + losses.step.factor())).upper
    above: list[tuple[int, int]] = []
    for index, mass in losses.above.rows():
        high = math.ceil(share * mass) if index % 2 else 0
        above += [(index // 2, mass - high), (index // 2 + 1, high)]
    below = [(index // 2, mass) for index, mass in losses.below.rows()]
    return LatticeLoss(
        losses.step.times(2),
        losses.origin,
        Masses.gathered(above, losses.above.infinite),
        Masses.gathered(below, losses.below.infinite),
    )
