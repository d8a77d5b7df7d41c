"""Privacy losses of a pair of output distributions: exact atoms, and how they compose.

The privacy loss of outcome x is ``ln(P(x) / Q(x))``; its distribution when x is drawn from P says
all that any measure of privacy can say: ``delta(epsilon) = E max(0, 1 - e^(epsilon - loss))``.
Losses of independent releases add up, so their distribution under composition is a convolution; and
that holds for adaptive releases too, when each pair is replaced by one that dominates it (Zhu,
Dong, Wang, "Optimal accounting of differential privacy via characteristic functions", AISTATS 2022,
theorem 10).

A distribution of losses has a direction.  :class:`PrivacyLossDistribution` answers for P against Q,
:class:`~tacit.core.losses.bounds.BothWays` for the worse of the two directions, which is what
privacy is about.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_integer, float_down, float_up
from tacit.calls import public
from tacit.core.divergences.divergence import distribution
from tacit.core.divergences.privacy_profile import Curve
from tacit.core.losses.base import (
    BITS,
    Atom,
    Loss,
    PrivacyLoss,
    enclosed_delta,
    enclosed_epsilon,
)
from tacit.core.losses.cells import Listed
from tacit.core.losses.contour.summands import Generating
from tacit.core.losses.own_lattice import Lattice, placed
from tacit.core.losses.summed import Summand
from tacit.errors import UsageError

Outcome = TypeVar("Outcome", bound=Hashable)

__all__ = ["PrivacyLossDistribution", "dominating_pair"]

MOST_ATOMS = 1 << 8
"""Products of more atoms than this are added up in floats."""
MOST_GENERATING = 1 << 6
"""So many losses are added up by their generating function."""
_SHARP = Fraction(1, 1 << 60)
_ZERO = Fraction(0)


@public
@dataclass(frozen=True)
class PrivacyLossDistribution(Summand):
    """The distribution of the privacy loss: atoms whose masses are exact, or in enclosures.

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
    def of(
        cls, p: Mapping[Outcome, Number], q: Mapping[Outcome, Number]
    ) -> PrivacyLossDistribution:
        """Return the privacy losses of two explicit distributions, drawn from the first.

        Args:
            p: the probability of each outcome, which sum to one.
            q: those of the other distribution.

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
        """Enclose the least delta at ``epsilon``.

        Args:
            epsilon: at least 0.
        """
        return enclosed_delta(self._curves, epsilon)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices.

        Args:
            delta: from 0 to below 1.
        """
        return enclosed_epsilon(self._curves, delta)

    def lattice(self) -> Lattice | None:
        """Return the lattice that the losses lie on, if there is one."""
        return self._placed[0] if self._placed else None

    def in_floats(self, dust: float) -> Listed:
        """Return the losses in floats; none is left out.

        Args:
            dust: a mass that other losses may leave out; here none is.
        """
        nothing = Enclosure.of(0), Enclosure(_ZERO, Fraction(1, 1 << 990))  # no mass, but in floats
        rows = [(a.loss.value, a.p) for a in self.atoms] or [nothing]
        return Listed(
            np.array([float_down(loss.lower) for loss, _ in rows]),
            np.array([float_up(loss.upper) for loss, _ in rows]),
            np.array([float_down(max(p.lower, _ZERO)) for _, p in rows]),
            np.array([float_up(p.upper) for _, p in rows]),
            (float_down(max(self.impossible.lower, _ZERO)), float_up(self.impossible.upper)),
            np.array(self._placed[1], dtype=np.int64) if self._placed else None,
        )

    def spread(self) -> tuple[float, float]:
        """Return the approximate standard deviation of the losses, and their largest size."""
        rows = [(float(a.loss.value.middle), float(a.p.middle)) for a in self.atoms]
        mean = math.fsum(loss * p for loss, p in rows)
        variance = math.fsum(p * (loss - mean) ** 2 for loss, p in rows)
        largest = max((abs(loss) for loss, _ in rows), default=0.0)
        return math.sqrt(variance), largest or float(self.impossible.upper > 0)

    def generating(self) -> Generating | None:
        """Return them as randomized response, or as a list, where they are few and sharp."""
        if not 0 < len(self.atoms) <= MOST_GENERATING:
            return None
        if any(a.p.width > a.p.lower * _SHARP or a.loss.value.width > _SHARP for a in self.atoms):
            return None
        losses = [atom.loss for atom in self.atoms]
        ends = sorted(float(loss.value.middle) for loss in losses)
        infinite = (
            float_down(max(self.impossible.lower, _ZERO)),
            float_up(self.impossible.upper),
        )
        sure = all(loss.ratio == 1 and not loss.shift.width for loss in losses)
        whole = sum(atom.q.upper for atom in self.atoms) >= 1
        if len(ends) == 2 and sure and -ends[0] == ends[1] > 0 and whole and not infinite[1]:
            return Generating(laplace=(ends[1], 1))
        rows = [(float(a.loss.value.middle), float(a.p.middle)) for a in self.atoms]
        both = np.array(rows).T.copy()
        return Generating(listed=(both[0], both[1]), infinite=infinite)

    @cached_property
    def _placed(self) -> tuple[Lattice, list[int]] | None:
        return placed([atom.loss for atom in self.atoms])

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together: listed again where they are few.

        Args:
            first: the losses of the release before.
        """
        if isinstance(first, PrivacyLossDistribution):
            together = first.product(self)
            if together is not None:
                return together
        return super().after(first)

    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together: listed where they are few.

        Args:
            times: at least 1.
        """
        left = as_integer(times, "times", minimum=1)
        power: PrivacyLossDistribution | None = self
        whole: PrivacyLossDistribution | None = None
        while power is not None:
            if left % 2:
                whole = power if whole is None else whole.product(power)
                if whole is None:
                    break
            left //= 2
            if not left and whole is not None:
                return whole
            power = power.product(power)
        return super().self_compose(times)

    def product(self, other: PrivacyLossDistribution) -> PrivacyLossDistribution | None:
        """Return the exact composition, or None where it has too many atoms.

        Args:
            other: the losses of another release.
        """
        if len(self.atoms) * len(other.atoms) > MOST_ATOMS:
            return None
        atoms = [
            Atom(a.loss + b.loss, (a.p * b.p).rounded(BITS), (a.q * b.q).rounded(BITS))
            if a.p.width or b.p.width or len(self.atoms) > 64
            else Atom(a.loss + b.loss, a.p * b.p, a.q * b.q)
            for a in self.atoms
            for b in other.atoms
        ]
        sure, other_sure = 1 - self.impossible, 1 - other.impossible
        return PrivacyLossDistribution(_merged(atoms), 1 - sure * other_sure)


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
    odds = exp(epsilon, BITS)
    high, low = sure * (1 - 1 / (1 + odds)), sure / (1 + odds)
    if epsilon == 0:
        return PrivacyLossDistribution((Atom(Loss(), sure, sure),), Enclosure.of(delta))
    atoms = (Atom(Loss.of(epsilon), high, low), Atom(Loss.of(-epsilon), low, high))
    return PrivacyLossDistribution(atoms, Enclosure.of(delta))
