"""Privacy-loss distributions with exact atoms, and losses of bounded range."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log, sqrt
from tacit.arithmetic.exact import (
    Number,
    as_fraction,
    as_integer,
    float_down,
    float_up,
    positive,
    read_probability,
)
from tacit.calls import public
from tacit.core.divergences import Curve, distribution
from tacit.core.losses.base import (
    BITS,
    Atom,
    Dominating,
    Loss,
    LossGrid,
    PrivacyLoss,
    enclosed_delta,
    enclosed_epsilon,
    placed,
)
from tacit.core.losses.composition import Summand
from tacit.core.losses.lattice import SLACK, Floats, ListedLosses, SpreadLosses
from tacit.core.losses.summands import Generating
from tacit.errors import UsageError

# Privacy losses of a pair of output distributions: exact atoms, and how they compose.
#
# The privacy loss of outcome x is ``ln(P(x) / Q(x))``; its distribution when x is drawn from P says
# all that any measure of privacy can say: ``delta(epsilon) = E max(0, 1 - e^(epsilon - loss))``.
# Losses of independent releases add up, so their distribution under composition is a convolution;
# and that holds for adaptive releases too, when each pair is replaced by one that dominates it
# (Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic functions",
# AISTATS 2022, theorem 10).
#
# A distribution of losses has a direction.  :class:`PrivacyLossDistribution` answers for P against
# Q, :class:`~tacit.core.losses.base.BothWays` for the worse of the two directions, which is what
# privacy is about.


Outcome = TypeVar("Outcome", bound=Hashable)

MAX_ATOMS = 1 << 8  # products of more atoms than this are added up in floats
MAX_GENERATING = 1 << 6  # this many losses are added up by their generating function
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
        return enclosed_delta(self._curves, epsilon)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the smallest epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        return enclosed_epsilon(self._curves, delta)

    def lattice(self) -> LossGrid | None:
        return self._placed[0] if self._placed else None

    def in_floats(self, dust: float) -> ListedLosses:
        """Return the losses in floats; none is left out."""
        nothing = Enclosure.of(0), Enclosure(_ZERO, Fraction(1, 1 << 990))  # no mass, but in floats
        rows = [(a.loss.value, a.p) for a in self.atoms] or [nothing]
        return ListedLosses(
            np.array([float_down(loss.lower) for loss, _ in rows]),
            np.array([float_up(loss.upper) for loss, _ in rows]),
            np.array([float_down(max(p.lower, _ZERO)) for _, p in rows]),
            np.array([float_up(p.upper) for _, p in rows]),
            (float_down(max(self.impossible.lower, _ZERO)), float_up(self.impossible.upper)),
            np.array(self._placed[1], dtype=np.int64) if self._placed else None,
        )

    def spread(self) -> tuple[float, float]:
        rows = [(float(a.loss.value.middle), float(a.p.middle)) for a in self.atoms]
        mean = math.fsum(loss * p for loss, p in rows)
        variance = math.fsum(p * (loss - mean) ** 2 for loss, p in rows)
        largest = max((abs(loss) for loss, _ in rows), default=0.0)
        return math.sqrt(variance), largest or float(self.impossible.upper > 0)

    def generating(self) -> Generating | None:
        """Return them as randomized response, or as a list, where they are few and sharp."""
        if not 0 < len(self.atoms) <= MAX_GENERATING:
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
        is_complete = sum(atom.q.upper for atom in self.atoms) >= 1
        if len(ends) == 2 and sure and -ends[0] == ends[1] > 0 and is_complete and not infinite[1]:
            return Generating(laplace=(ends[1], 1))
        rows = [(float(a.loss.value.middle), float(a.p.middle)) for a in self.atoms]
        both = np.array(rows).T.copy()
        return Generating(listed=(both[0], both[1]), infinite=infinite)

    @cached_property
    def _placed(self) -> tuple[LossGrid, list[int]] | None:
        return placed([atom.loss for atom in self.atoms])

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together: listed again where they are few."""
        if isinstance(first, PrivacyLossDistribution):
            together = first.product(self)
            if together is not None:
                return together
        return super().after(first)

    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together: listed where they are few."""
        left = as_integer(times, "times", minimum=1)
        power: PrivacyLossDistribution | None = self
        composed: PrivacyLossDistribution | None = None
        while power is not None:
            if left % 2:
                composed = power if composed is None else composed.product(power)
                if composed is None:
                    break
            left //= 2
            if not left and composed is not None:
                return composed
            power = power.product(power)
        return super().self_compose(times)

    def product(self, other: PrivacyLossDistribution) -> PrivacyLossDistribution | None:
        """Return the exact composition, or None where it has too many atoms.

        Args:
            other: the losses of another release.
        """
        if len(self.atoms) * len(other.atoms) > MAX_ATOMS:
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
    """Join atoms of one loss; those whose losses are only enclosed stay apart."""
    # Two losses in one enclosure may differ, and joining atoms of different losses is a function of
    # the outcome: it can hide a loss, so the bound from above would be too low.
    merged: dict[Loss | int, Atom] = {}
    for index, atom in enumerate(atoms):
        if atom.loss.shift.width:
            merged[index] = atom
            continue
        known = merged.get(atom.loss)
        merged[atom.loss] = (
            atom if known is None else Atom(atom.loss, known.p + atom.p, known.q + atom.q)
        )
    return tuple(merged.values())


def dominating_pair(epsilon: Fraction, delta: Fraction = _ZERO) -> PrivacyLossDistribution:
    """Return the losses that dominate those of every (epsilon, delta)-DP release.

    >>> float(dominating_pair(Fraction(1)).self_compose(10).epsilon("1e-6"))
    9.9999...
    """
    # With probability delta the loss is infinite; else it is that of randomized response with odds
    # ``e^epsilon : 1``.  Any (epsilon, delta)-DP pair is a post-processing of this one (P. Kairouz,
    # S. Oh, P. Viswanath, "The composition theorem for differential privacy", ICML 2015, theorem
    # 3.4).
    sure = Enclosure.of(1 - delta)
    odds = exp(epsilon, BITS)
    high, low = sure * (1 - 1 / (1 + odds)), sure / (1 + odds)
    if epsilon == 0:
        return PrivacyLossDistribution((Atom(Loss(), sure, sure),), Enclosure.of(delta))
    atoms = (Atom(Loss.of(epsilon), high, low), Atom(Loss.of(-epsilon), low, high))
    return PrivacyLossDistribution(atoms, Enclosure.of(delta))


# Privacy losses of a symmetric pair that takes three values: up by epsilon, down by it, or none.
#
# Such a pair has some mass p on outcomes ``e^epsilon`` times as likely under P, ``e^-epsilon p`` on
# those as much less likely, and the rest on outcomes of no loss.  Randomized response among k
# labels (the true label, the other one, and the k - 2 that say nothing) and staircase noise shifted
# by at most its width (its steps are epsilon high, and no shift crosses two) are such pairs.


def three_losses(epsilon: Fraction, up: Enclosure) -> PrivacyLossDistribution:
    """Return the losses of a pair: a mass on a loss of epsilon, and only 0 next to -epsilon.

    >>> pair = three_losses(Fraction(1), Enclosure.of(Fraction(1, 2)))
    >>> round(float(pair.delta(0)), 4)
    0.3161
    """
    down = (up * exp(-epsilon, BITS)).rounded(BITS)
    rest = (1 - up - down).rounded(BITS)
    rest = Enclosure(max(rest.lower, Fraction(0)), max(rest.upper, Fraction(0)))
    atoms = [Atom(Loss.of(epsilon), up, down), Atom(Loss.of(-epsilon), down, up)]
    if rest.upper:
        atoms.append(Atom(Loss(), rest, rest))
    return PrivacyLossDistribution(tuple(atoms))


def response_losses(
    labels: int, share: Fraction | None, epsilon: Fraction | None
) -> PrivacyLossDistribution:
    """Return the losses of randomized response between two of k labels.

    >>> two = response_losses(2, Fraction(3, 4), None)
    >>> round(float(two.epsilon(0)), 6), float(two.delta(0))
    (1.098612, 0.5)
    """
    # The true label is reported with probability a, every other one with ``b = (1 - a) / (k - 1)``.
    # For two labels u and v the losses are ``ln(a / b)`` on u, minus that on v, and zero on the
    # other k - 2.  Both directions are the same.  Who has no label of the list reports all k with
    # equal probability: that is the mean of the reports of the k labels, and as every divergence
    # here is convex in the second distribution, no further from a label than another label is.
    if share is None:
        assert epsilon is not None
        odds = exp(epsilon, BITS)
        truthful = (1 - (labels - 1) / (odds + (labels - 1))).rounded(BITS)
        return three_losses(epsilon, truthful)
    other = (1 - share) / (labels - 1)
    a, b = Enclosure.of(share), Enclosure.of(other)
    if share == other:
        return PrivacyLossDistribution((Atom(Loss(), Enclosure.of(1), Enclosure.of(1)),))
    atoms = [Atom(Loss(ratio=share / other), a, b), Atom(Loss(ratio=other / share), b, a)]
    if labels > 2:
        rest = Enclosure.of((labels - 2) * other)
        atoms.append(Atom(Loss(), rest, rest))
    return PrivacyLossDistribution(tuple(atoms))


# Privacy losses of a release of bounded range, such as the exponential mechanism.
#
# A release has bounded range epsilon if for neighbours the log ratios ``ln(P(x) / Q(x))`` of all
# outcomes lie in an interval of that length (D. Durfee, R. Rogers, "Practical differentially
# private top-k selection with pay-what-you-get composition", NeurIPS 2019).
#
# **The profile.**  Let the losses lie in ``[t - epsilon, t]``; t is in 0..epsilon, since P and Q
# both sum to one.  For ``x = e^e`` the function ``z -> max(0, 1 - x z)`` of ``z = e^-loss`` is
# convex, and the mean of z under P is at most one, so its mean is largest where z is at one of the
# two ends: with
#
#     delta(x) = p (1 - x / u),    p = (E - u) / (E - 1),    E = e^epsilon, u = e^t.
#
# (Randomized response with these two losses; J. Dong, D. Durfee, R. Rogers, "Optimal differential
# privacy composition for exponential mechanisms", ICML 2020, lemma 3.2.)  Over all u from 1 to E it
# is largest at ``u = sqrt(x E)``, so the deltas of all such releases are, for x from 1/E to E,
# below
#
#     D(x) = (sqrt E - sqrt x)^2 / (E - 1),
#
# each attained by one of them; below 1/E, D is 1 - x.  D is convex in x, falls, and is 1 at zero:
# it is the profile of a pair of distributions, which dominates every release of this range, and so
# do compositions (Zhu, Dong, Wang, AISTATS 2022, theorem 10 and proposition 8).  The slope of D is
# minus the probability under Q that the loss is above ln x; so the losses l of that pair have a
# density from -epsilon to epsilon: ``P(l <= loss <= l') = (e^(l'/2) - e^(l/2)) sqrt(E) / (E - 1)``,
# and under Q ``(e^(-l/2) - e^(-l'/2)) sqrt(E) / (E - 1)``.  One direction is as the other.

_BITS = 256
_DEVIATION = 2.0


@dataclass(frozen=True)
class BoundedRange(Summand):
    """The losses that dominate those of every release of a bounded range.

    >>> one = BoundedRange(Fraction(1))
    >>> round(float(one.delta(0)), 4), round(float(one.epsilon("1e-6")), 4)
    (0.2449, 0.9984)
    """

    range: Fraction  # the length of the interval that holds the log ratios; above zero

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", positive(self.range, "range"))

    def delta(self, epsilon: Number) -> Enclosure:
        level = as_fraction(epsilon, "epsilon")
        if level >= self.range:
            return Enclosure.of(0)
        if level <= -self.range:
            return 1 - exp(level, _BITS)
        side = 1 - exp((level - self.range) / 2, _BITS)
        return (side * side / (1 - exp(-self.range, _BITS))).rounded(_BITS)

    def epsilon(self, delta: Number) -> Enclosure | float:
        target = read_probability(delta, "delta")
        if target >= self.delta(0).lower:
            high = self.delta(0).upper <= target
            return Enclosure.of(0) if high else Enclosure(_ZERO, Fraction(1, 1 << 100))
        rest = 1 - sqrt(target * (1 - exp(-self.range, _BITS)), _BITS)
        enclosed = self.range + 2 * log(rest, _BITS)
        return Enclosure(max(enclosed.lower, _ZERO), max(enclosed.upper, _ZERO))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice: one direction is as the other."""
        return self, self

    def lattice(self) -> LossGrid | None:
        """Return None: the losses have a density."""
        return None

    def spread(self) -> tuple[float, float]:
        largest = float(self.range)
        return min(largest / math.sqrt(3), _DEVIATION), largest

    def generating(self) -> Generating:
        """Return its range."""
        return Generating(range=float(self.range))

    def in_floats(self, dust: float) -> SpreadLosses:
        """Return the losses in floats; none is left out."""
        end = float(self.range)
        total = -math.expm1(-end)

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            share = -np.expm1(-np.diff(losses) / 2) / total
            return np.exp((losses[1:] - end) / 2) * share, np.exp(-(losses[:-1] + end) / 2) * share

        low = np.array([-end])
        return SpreadLosses(
            (-end, end), masses, ListedLosses(low, low, np.zeros(1), np.zeros(1)), 2 * SLACK
        )


def range_of(losses: PrivacyLoss | None) -> Fraction | None:
    """Return the range of a release whose losses are those of a bounded one; None for others.

    >>> range_of(BoundedRange(Fraction(1, 2))), range_of(None)
    (Fraction(1, 2), None)
    """
    while isinstance(losses, Dominating):
        losses = losses.losses
    return losses.range if isinstance(losses, BoundedRange) else None
