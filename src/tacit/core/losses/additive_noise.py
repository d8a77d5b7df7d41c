"""Privacy losses of additive noise: a distribution on the integers against itself, shifted.

Let X follow a symmetric distribution on the integers with ``P(X = x) proportional to e^-f(x)``, f
convex, and let P be the distribution of X, Q that of ``X - s`` for a whole shift s > 0.  The loss
of outcome x, ``f(x + s) - f(x)``, grows with x, so the events that distinguish the two best are the
half lines ``{x >= t}``:

    delta(epsilon) = P(X >= t) - e^epsilon P(X >= t + s),

with t the first x whose loss is above epsilon.

For a fixed t this grows with s, and so does the maximum over t: of all shifts up to s in size, s is
the worst.  By symmetry P against Q is as Q against P.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, as_fraction, as_integer, positive, show
from tacit.core.divergences.event_probability import interval_mass
from tacit.core.losses.additive_renyi import renyi_of_gaussian, renyi_of_laplace
from tacit.core.losses.base import Atom, Loss, PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.lattice import UNIT, LatticeLoss, Masses
from tacit.errors import InfeasibleError, UsageError

__all__ = ["GaussianShift", "LaplaceShift", "ShiftedLoss"]

ATOMS = 1 << 13
"""More losses than this are enclosed on a lattice."""
CELLS = 1 << 11
"""How many lattice cells those get."""
ABSOLUTE_BITS = 400
"""Probabilities that need more bits than this are enclosed to a relative width."""
_BITS = 224
_TINY = Fraction(1, 1 << 170)


@dataclass(frozen=True)
class ShiftedLoss(PrivacyLoss):
    """A distribution against itself, shifted: see the two kinds of it.

    Attributes:
        scale: of the distribution, in whole units.
        shift: the distance of the two centres, in whole units, not negative.
    """

    scale: Fraction
    shift: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "shift", as_integer(self.shift, "shift", minimum=0))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice: the distribution is symmetric, so one direction is as the other."""
        return self, self

    @property
    @abstractmethod
    def law(self) -> Any:
        """The distribution of the noise."""

    @abstractmethod
    def loss(self, x: int) -> Fraction:
        """Return the privacy loss of outcome x."""

    @abstractmethod
    def first(self, loss: Fraction) -> int | None:
        """Return the first outcome whose loss is above this, or None where there is none."""

    @abstractmethod
    def max_divergence(self) -> Fraction | float:
        """Return the least epsilon at delta zero."""

    @abstractmethod
    def concentrated(self) -> Fraction | Enclosure:
        """Return the supremum over all orders above one of the Renyi divergence over the order."""

    @abstractmethod
    def renyi(self, alpha: Fraction) -> Enclosure:
        """Enclose the Renyi divergence of an order above one."""

    def tail(self, x: int, bits: int = _BITS) -> Enclosure:
        """Enclose P(X >= x) within ``2^-bits``, or to a relative width where that is tiny."""
        if bits > ABSOLUTE_BITS:
            return interval_mass(self.law, x, None, 128)
        found = self.law.cdf(-x, bits)
        return Enclosure(max(found.lower, Fraction(0)), min(found.upper, Fraction(1)))

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``, to a relative width of about 2^-40."""
        level = as_fraction(epsilon, "epsilon")
        found = self._delta(level, 96)
        if found.upper and found.width > found.lower / (1 << 40):
            return self._delta(level, ABSOLUTE_BITS + 1)
        return found

    def _delta(self, epsilon: Fraction, bits: int) -> Enclosure:
        if epsilon < -self.max_divergence():
            return 1 - exp(epsilon, bits)  # every outcome has a larger loss: P is all, so is Q
        start = self.first(epsilon)
        if start is None or self.shift == 0:
            return Enclosure.of(0)
        found = self.tail(start, bits) - exp(epsilon, bits) * self.tail(start + self.shift, bits)
        return Enclosure(max(found.lower, Fraction(0)), max(found.upper, Fraction(0)))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``, to within 2^-40."""
        target = as_fraction(delta, "delta")
        if not 0 <= target <= 1:
            raise UsageError(f"delta lies in 0..1, not at {show(target)}")
        largest = self.max_divergence()
        if target == 0:
            return math.inf if largest == math.inf else Enclosure.of(Fraction(largest))
        bits = 96 + target.denominator.bit_length()
        zero = Fraction(0)
        if self._delta(zero, bits).upper <= target:
            return Enclosure(zero, zero)
        high = Fraction(largest) if largest != math.inf else Fraction(1)
        while largest == math.inf and self._delta(high, bits).upper > target:
            high *= 2
        return self._bisected(target, high, bits)

    def _bisected(self, target: Fraction, high: Fraction, bits: int) -> Enclosure:
        low = Fraction(0)
        while high - low > Fraction(1, 1 << 40):
            middle = (low + high) / 2
            found = self._delta(middle, bits)
            if found.upper <= target:
                high = middle
            elif found.lower > target:
                low = middle
            else:
                break
        return Enclosure(low, high)

    @cached_property
    def _atoms(self) -> PrivacyLossDistribution | None:
        return self._as_atoms()

    @abstractmethod
    def _as_atoms(self) -> PrivacyLossDistribution | None:
        """Return the losses as atoms, or None where they are too many."""

    def explicit(self) -> PrivacyLossDistribution | LatticeLoss:
        """Return the losses as atoms where they are few, else enclosed on a fine lattice."""
        return self._atoms if self._atoms is not None else self._on_lattice()

    def _on_lattice(self) -> LatticeLoss:
        """Enclose the losses cell by cell, from the masses that P and Q have between its ends.

        A cell with masses p, q and ends a < b dominates from above as the share
        ``(e^-a p - q) / (e^-a - e^-b)`` of p at b and the rest at a, whose masses add up to p and
        q.  From below the mass of a cell stands at its lower end, and what is outside the window is
        left out: mass that lies above is not counted as infinite, and mass that lies below (only
        Gaussian losses have any) is taken from the first cell, whose lower end its losses are not
        above.  Mass that is left out counts as a loss of minus infinity, which is never too high.
        """
        reach = self.law.support(1 - 2 * _TINY)[1]
        top, bottom = self.loss(reach), self.loss(-reach - self.shift)
        power = math.floor(math.log2((top - bottom) / CELLS))
        width = Fraction(2) ** power
        first, last = math.floor(bottom / width), math.floor(top / width)
        shrink = 1 - exp(-width, _BITS)
        endless = self.max_divergence() == math.inf
        outside = self.tail(reach + self.shift + 1).upper if endless else Fraction(0)
        above: list[tuple[int, int]] = []
        below: list[tuple[int, int]] = []
        start: tuple[Enclosure, Enclosure] = (Enclosure.of(1), Enclosure.of(1))
        for index in range(first, last + 1):
            x = self.first((index + 1) * width)
            end = (Enclosure.of(0),) * 2 if x is None else (self.tail(x), self.tail(x + self.shift))
            p, q = (_mass(a, b) for a, b in zip(start, end, strict=True))
            start = (end[0], end[1])
            mass = math.ceil(p.upper * UNIT)
            share = (p.upper - exp(index * width, _BITS).lower * q.lower) / shrink.lower
            high = min(max(math.ceil(share * UNIT), 0), mass)
            above += [(index, mass - high), (index + 1, high)]
            sure = p.lower - outside if index == first else p.lower
            below.append((index, max(math.floor(sure * UNIT), 0)))
        rest = math.ceil(start[0].upper * UNIT)
        return LatticeLoss(
            Loss.of(width), Loss(), Masses.gathered(above, rest), Masses.gathered(below, 0)
        )


def _mass(start: Enclosure, end: Enclosure) -> Enclosure:
    found = start - end
    return Enclosure(max(found.lower, Fraction(0)), max(found.upper, Fraction(0)))


@dataclass(frozen=True)
class LaplaceShift(ShiftedLoss):
    """Discrete Laplace noise on two inputs a whole shift apart.

    >>> float(LaplaceShift(25, 12).epsilon(0)), float(LaplaceShift(25, 12).delta("0.3"))
    (0.4800..., 0.0862...)
    """

    @property
    def law(self) -> noise.DiscreteLaplace:
        """The distribution of the noise."""
        return noise.DiscreteLaplace(self.scale)

    def loss(self, x: int) -> Fraction:
        """Return ``(|x + s| - |x|) / scale``."""
        return (abs(x + self.shift) - abs(x)) / self.scale

    def first(self, loss: Fraction) -> int | None:
        """Return the first outcome whose loss is above this, or None where there is none."""
        if loss >= self.max_divergence():
            return None
        # the loss is (2 x + s) / scale for x between -s and 0
        return max(math.floor((loss * self.scale - self.shift) / 2) + 1, -self.shift)

    def max_divergence(self) -> Fraction:
        """Return ``s / scale``."""
        return self.shift / self.scale

    def concentrated(self) -> Enclosure:
        """Enclose the supremum by the losses' atoms."""
        from tacit.core.divergences.renyi import concentrated

        atoms = self._atoms
        if atoms is None:
            raise InfeasibleError(f"{self.shift} losses are too many to enclose zCDP's supremum")
        p = {i: atom.p for i, atom in enumerate(atoms.atoms)}
        q = {i: atom.q for i, atom in enumerate(atoms.atoms)}
        found = concentrated(p, q)
        assert isinstance(found, Enclosure)
        return found

    def renyi(self, alpha: Fraction) -> Enclosure:
        """Enclose the Renyi divergence of an order above one."""
        return renyi_of_laplace(self.scale, self.shift, alpha)

    def _as_atoms(self) -> PrivacyLossDistribution | None:
        s = self.shift
        if s > ATOMS:
            return None
        if s == 0:
            return PrivacyLossDistribution((Atom(Loss(), Enclosure.of(1), Enclosure.of(1)),))
        inside = [self.law.probability(x, _BITS) for x in range(1 - s, 0)]
        outside = self.tail(0), self.tail(s)
        rows = [(-s, outside[1], outside[0]), (0, outside[0], outside[1])]
        rows += [(x, inside[x - 1 + s], inside[-x - 1]) for x in range(1 - s, 0)]
        return PrivacyLossDistribution(
            tuple(Atom(Loss.of(self.loss(x)), p, q) for x, p, q in sorted(rows, key=lambda r: r[0]))
        )


@dataclass(frozen=True)
class GaussianShift(ShiftedLoss):
    """Discrete Gaussian noise on two inputs a whole shift apart; ``scale`` is sigma.

    >>> float(GaussianShift(100, 1).concentrated()), float(GaussianShift(10, 1).epsilon("1e-6"))
    (5e-05, 0.396...)
    """

    @property
    def law(self) -> noise.DiscreteGaussian:
        """The distribution of the noise."""
        return noise.DiscreteGaussian(self.scale)

    def loss(self, x: int) -> Fraction:
        """Return ``((x + s)^2 - x^2) / (2 sigma^2)``."""
        return Fraction(self.shift * (2 * x + self.shift)) / (2 * self.scale**2)

    def first(self, loss: Fraction) -> int | None:
        """Return the first outcome whose loss is above this."""
        if self.shift == 0:
            return None
        return math.floor((2 * self.scale**2 * loss / self.shift - self.shift) / 2) + 1

    def max_divergence(self) -> Fraction | float:
        """Return infinity, and zero where there is no shift."""
        return math.inf if self.shift else Fraction(0)

    def concentrated(self) -> Fraction:
        """Return ``s^2 / (2 sigma^2)``: attained at order two, whose tilt lands on the grid."""
        return Fraction(self.shift**2) / (2 * self.scale**2)

    def renyi(self, alpha: Fraction) -> Enclosure:
        """Enclose the Renyi divergence of an order above one."""
        return renyi_of_gaussian(self.scale, self.shift, alpha)

    def _as_atoms(self) -> PrivacyLossDistribution | None:
        if self.shift == 0:
            return PrivacyLossDistribution((Atom(Loss(), Enclosure.of(1), Enclosure.of(1)),))
        reach = self.law.support(1 - 2 * _TINY)[1]
        if 2 * reach + self.shift > ATOMS:
            return None
        lowest = -reach - self.shift
        masses = {x: self.law.probability(x, _BITS) for x in range(reach + 2 * self.shift + 1)}
        atoms = [
            Atom(Loss.of(self.loss(x)), masses[abs(x)], masses[abs(x + self.shift)])
            for x in range(lowest, reach + 1)
        ]
        # What lies below the window has a smaller loss than its first atom: counted there, or not.
        below = Enclosure(Fraction(0), exp(-Fraction(reach**2) / (2 * self.scale**2), 64).upper)
        atoms[0] = Atom(atoms[0].loss, atoms[0].p + below, atoms[0].q)
        return PrivacyLossDistribution(tuple(atoms), below)


def shifted(law: Any, shift: int) -> ShiftedLoss:
    """Return the losses of a distribution of :mod:`tacit.noise` against itself, shifted.

    Raises:
        UsageError: another distribution than discrete Laplace or Gaussian.
    """
    if isinstance(law, noise.DiscreteLaplace):
        return LaplaceShift(law.scale, abs(shift))
    if isinstance(law, noise.DiscreteGaussian):
        scale = _root(law.sigma_squared)
        if scale is not None:
            return GaussianShift(scale, abs(shift))
    raise UsageError(f"no closed form of the privacy losses of {type(law).__name__}")


def _root(square: Fraction) -> Fraction | None:
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    exact = top * top == square.numerator and bottom * bottom == square.denominator
    return Fraction(top, bottom) if exact else None
