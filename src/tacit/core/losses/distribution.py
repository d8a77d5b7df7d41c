"""Privacy losses of a pair of output distributions: exact atoms, and how they compose.

The privacy loss of outcome x is ``ln(P(x) / Q(x))``; its distribution when x is drawn from P says
all that any measure of privacy can say: ``delta(epsilon) = E max(0, 1 - e^(epsilon - loss))``.
Losses of independent releases add up, so their distribution under composition is a convolution; and
that holds for adaptive releases too, when each pair is replaced by one that dominates it (Zhu,
Dong, Wang, "Optimal accounting of differential privacy via characteristic functions", AISTATS 2022,
theorem 10).

A distribution of losses has a direction.  :class:`PrivacyLossDistribution` answers for P against Q,
:class:`BothWays` for the worse of the two directions, which is what privacy is about.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, as_integer, show
from tacit.core.divergences.divergence import distribution, largest
from tacit.core.divergences.privacy_profile import Curve
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.core.losses.lattice import LatticeLoss

__all__ = [
    "Atom",
    "BothWays",
    "Dominating",
    "Loss",
    "PrivacyLoss",
    "PrivacyLossDistribution",
    "dominating_pair",
]

MOST_ATOMS = 1 << 11
"""Products of more atoms than this are rounded to a lattice."""
_ZERO = Fraction(0)
_BITS = 224


class PrivacyLoss(ABC):
    """What every form of a privacy-loss distribution answers."""

    @abstractmethod
    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""

    @abstractmethod
    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""

    @abstractmethod
    def explicit(self) -> PrivacyLossDistribution | LatticeLoss:
        """Return the same losses as atoms, or enclosed on a lattice where they are too many."""

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the losses of P against Q and of Q against P, where both are known.

        Raises:
            UsageError: a list of losses, which is of one direction.
        """
        raise UsageError(
            "these losses are a list, which is of one direction, and the others are in both: ask "
            "tc.privacy_loss for both and compose one release at a time, or compose one direction "
            "only, with .forward or .backward"
        )

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together."""
        from tacit.core.losses.lattice import LatticeLoss, join

        if isinstance(other, BothWays):
            return BothWays(*self.directions()).compose(other)
        if isinstance(other, Dominating):
            return other.compose(self)
        left, right = self.explicit(), other.explicit()
        if not isinstance(left, LatticeLoss) and not isinstance(right, LatticeLoss):
            together = left.product(right)
            if together is not None:
                return together
        return join(left, right)

    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together, by repeated squaring."""
        left = as_integer(times, "times", minimum=1)
        power: PrivacyLoss = self
        whole: PrivacyLoss | None = None
        while True:
            if left % 2:
                whole = power if whole is None else whole.compose(power)
            left //= 2
            if not left:
                return whole if whole is not None else power
            power = power.compose(power)


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

    def factor(self, bits: int = _BITS) -> Enclosure:
        """Enclose ``e^-loss``."""
        return exp(-self.shift, bits) / self.ratio


@dataclass(frozen=True)
class Atom:
    """One privacy loss with the masses that P and Q give it."""

    loss: Loss
    p: Enclosure
    q: Enclosure


@dataclass(frozen=True)
class PrivacyLossDistribution(PrivacyLoss):
    """Atoms of privacy loss: exact, or with masses in enclosures.

    Build it with :meth:`of` from two explicit distributions.

    Attributes:
        atoms: the losses with their masses under P and Q, each loss once.
        impossible: the mass of P where Q has none: its loss is infinite.

    Example:
        >>> pld = PrivacyLossDistribution.of({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
        >>> [(float(loss), float(mass)) for loss, mass in pld.masses()]
        [(-1.09861228866810..., 0.25), (1.0986122886681..., 0.75)]
        >>> twice = pld.compose(pld)
        >>> float(pld.delta(0)), float(twice.delta(0)), float(twice.epsilon("1/10"))
        (0.5, 0.5, 2.0014...)
    """

    atoms: tuple[Atom, ...]
    impossible: Enclosure = Enclosure(_ZERO, _ZERO)  # noqa: RUF009  (frozen)

    @classmethod
    def of(cls, p: Mapping[Any, Any], q: Mapping[Any, Any]) -> PrivacyLossDistribution:
        """Return the privacy losses of two explicit distributions, drawn from the first.

        Raises:
            UsageError: probabilities that are negative or do not sum to one; enclosures that may
                be zero on one side only.
        """
        left, right = distribution(p), distribution(q)
        atoms, impossible = [], Enclosure.of(0)
        for outcome, here in left.items():
            there = right.get(outcome, Enclosure.of(0))
            if here.upper <= 0:
                continue
            if there.upper <= 0:
                impossible += here
            elif there.lower <= 0 or here.lower <= 0:
                raise UsageError("the enclosures are too wide to divide; give them more precision")
            elif here.width or there.width:
                atoms.append(Atom(Loss(log(here / there, 96)), here, there))
            else:
                atoms.append(Atom(Loss(ratio=here.lower / there.lower), here, there))
        return cls(_merged(atoms), impossible)

    def masses(self) -> list[tuple[Enclosure, Enclosure]]:
        """List each finite loss with its mass under P, in rising order."""
        rows = [(atom.loss.value, atom.p) for atom in self.atoms]
        return sorted(rows, key=lambda row: row[0].lower)

    @cached_property
    def _curves(self) -> tuple[Curve, Curve]:
        low = [(max(a.p.lower, _ZERO), max(a.q.upper, _ZERO)) for a in self.atoms]
        high = [(a.p.upper, max(a.q.lower, _ZERO)) for a in self.atoms]
        return (
            Curve.of([*low, (self.impossible.lower, _ZERO)]),
            Curve.of([*high, (self.impossible.upper, _ZERO)]),
        )

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
        return enclosed_delta(self._curves, epsilon)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        return enclosed_epsilon(self._curves, delta)

    def explicit(self) -> PrivacyLossDistribution:
        """Return itself."""
        return self

    def product(self, other: PrivacyLossDistribution) -> PrivacyLossDistribution | None:
        """Return the exact composition, or None where it has too many atoms."""
        if len(self.atoms) * len(other.atoms) > MOST_ATOMS:
            return None
        atoms = [
            Atom(a.loss + b.loss, (a.p * b.p).rounded(_BITS), (a.q * b.q).rounded(_BITS))
            if a.p.width or b.p.width or len(self.atoms) > 64
            else Atom(a.loss + b.loss, a.p * b.p, a.q * b.q)
            for a in self.atoms
            for b in other.atoms
        ]
        sure, other_sure = 1 - self.impossible, 1 - other.impossible
        return PrivacyLossDistribution(_merged(atoms), 1 - sure * other_sure)


@dataclass(frozen=True)
class BothWays(PrivacyLoss):
    """The privacy losses of a pair in both directions: each answer is that of the worse one.

    Attributes:
        forward, backward: P against Q, and Q against P.

    >>> p, q = {0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"}
    >>> both = BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))
    >>> round(float(both.forward.epsilon(0)), 4), round(float(both.epsilon(0)), 4)
    (0.2513, 1.0986)
    """

    forward: PrivacyLoss
    backward: PrivacyLoss

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon`` that serves both directions."""
        worst = largest(self.forward.delta(epsilon), self.backward.delta(epsilon))
        assert isinstance(worst, Enclosure)
        return worst

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta`` that serves both directions."""
        return largest(self.forward.epsilon(delta), self.backward.epsilon(delta))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the two."""
        return self.forward, self.backward

    def compose(self, other: PrivacyLoss) -> BothWays:
        """Return the losses of two releases together, direction by direction.

        Raises:
            UsageError: the other losses are a list, which is of one direction.
        """
        ways = other.directions()
        return BothWays(self.forward.compose(ways[0]), self.backward.compose(ways[1]))

    def explicit(self) -> PrivacyLossDistribution | LatticeLoss:
        """Refuse: two directions have two lists of losses.

        Raises:
            UsageError: always; take ``.forward`` or ``.backward``.
        """
        raise UsageError("losses in both directions are no single list: take .forward or .backward")


@dataclass(frozen=True)
class Dominating(PrivacyLoss):
    """Losses that dominate those of every pair in question, where none is known to have them.

    What they say is an upper bound: the lower end of each enclosure is zero.

    >>> found = Dominating(dominating_pair(Fraction(2))).epsilon(0)
    >>> float(found.lower), float(found.upper)
    (0.0, 2.0)
    """

    losses: PrivacyLoss

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon`` between zero and what dominates."""
        return Enclosure(_ZERO, self.losses.delta(epsilon).upper)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon between zero and what dominates; ``math.inf`` if no bound."""
        found = self.losses.epsilon(delta)
        return Enclosure(_ZERO, found.upper) if isinstance(found, Enclosure) else found

    def compose(self, other: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together."""
        known = other.losses if isinstance(other, Dominating) else other
        if isinstance(known, BothWays):
            return Dominating(BothWays(self.losses, self.losses).compose(known))
        return Dominating(self.losses.compose(known))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice: it dominates either."""
        return self, self

    def explicit(self) -> PrivacyLossDistribution | LatticeLoss:
        """Return what dominates."""
        return self.losses.explicit()


def _merged(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Join atoms of one loss; those whose losses are only enclosed stay apart.

    Two losses in one enclosure may differ, and joining atoms of different losses is a function of
    the outcome: it can hide a loss, so the bound from above would be too low.
    """
    found: dict[Loss | int, Atom] = {}
    for place, atom in enumerate(atoms):
        if atom.loss.shift.width:
            found[place] = atom
            continue
        known = found.get(atom.loss)
        found[atom.loss] = (
            atom if known is None else Atom(atom.loss, known.p + atom.p, known.q + atom.q)
        )
    return tuple(found.values())


def dominating_pair(epsilon: Fraction, delta: Fraction = _ZERO) -> PrivacyLossDistribution:
    """Return the losses that dominate those of every (epsilon, delta)-DP release.

    With probability delta the loss is infinite; else it is that of randomized response with odds
    ``e^epsilon : 1``.  Any (epsilon, delta)-DP pair is a post-processing of this one (P. Kairouz,
    S. Oh, P. Viswanath, "The composition theorem for differential privacy", ICML 2015, theorem
    3.4).

    >>> float(dominating_pair(Fraction(1)).self_compose(10).epsilon("1e-6"))
    9.9999...
    """
    sure = Enclosure.of(1 - delta)
    odds = exp(epsilon, _BITS)
    high, low = sure * (1 - 1 / (1 + odds)), sure / (1 + odds)
    if epsilon == 0:
        return PrivacyLossDistribution((Atom(Loss(), sure, sure),), Enclosure.of(delta))
    atoms = (Atom(Loss.of(epsilon), high, low), Atom(Loss.of(-epsilon), low, high))
    return PrivacyLossDistribution(atoms, Enclosure.of(delta))


def enclosed_delta(curves: tuple[Curve, Curve], epsilon: Number) -> Enclosure:
    """Enclose delta between a curve from below and one from above."""
    level = as_fraction(epsilon, "epsilon")
    low, high = curves
    return Enclosure(low.delta(level).lower, min(high.delta(level).upper, Fraction(1)))


def enclosed_epsilon(curves: tuple[Curve, Curve], delta: Number) -> Enclosure | float:
    """Enclose epsilon between a curve from below and one from above."""
    target = as_fraction(delta, "delta")
    if not 0 <= target <= 1:
        raise UsageError(f"delta lies in 0..1, not at {show(target)}")
    low, high = (curve.epsilon(target) for curve in curves)
    if not isinstance(high, Enclosure):
        return math.inf
    least = low.lower if isinstance(low, Enclosure) else high.upper
    return Enclosure(min(least, high.upper), high.upper)
