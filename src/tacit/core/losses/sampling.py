"""Losses of mechanisms that see a sample of the records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, read_probability
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core.losses.additive_noise import ShiftedLoss
from tacit.core.losses.base import BITS, Atom, BothWays, Dominating, Loss, LossGrid, PrivacyLoss
from tacit.core.losses.composition import Summand
from tacit.core.losses.distribution import BoundedRange, PrivacyLossDistribution
from tacit.core.losses.lattice import SLACK, Floats, ListedLosses, SpreadLosses, spread_of, summed
from tacit.core.losses.summands import Generating

# What privacy losses of a release from a sample have in common, however it is drawn.


DUST = 1e-300  # the mass that a list of losses may leave out at each end
_MAX_LISTED = 1 << 10


class LossFromSample(Summand):
    """Losses of a release from a sample, in one direction."""

    def lattice(self) -> LossGrid | None:
        """Return None: a logarithm of a sum stands on no lattice."""
        return None

    def spread(self) -> tuple[float, float]:
        """Return about the standard deviation of the losses, and the largest size that matters."""
        return self._spread

    @cached_property
    def _spread(self) -> tuple[float, float]:
        return spread_of(self.in_floats(1e-15))


def few_losses(base: PrivacyLoss) -> ListedLosses | None:
    """List the losses of noise that has few outcomes that matter; None for any other release.

    >>> from tacit.core.losses.additive_noise import LaplaceShift
    >>> few_losses(LaplaceShift(2, 3)).low.tolist(), few_losses(LaplaceShift(2, 3000))
    ([-1.5, -0.5, 0.5, 1.5], None)
    """
    if not isinstance(base, ShiftedLoss) or not base.shift:
        return None
    listed = base.in_floats(DUST)
    return listed if isinstance(listed, ListedLosses) and len(listed.low) <= _MAX_LISTED else None


# Privacy losses of a release from a secret sample: each record is in it with probability q.
#
# Let the losses of the release itself be those of P (with a record) against Q (without it).  From
# the sample the outputs are ``P' = (1 - q) Q + q P`` with the record among those sampled from, and
# Q without it: the two directions are P' against Q and Q against P'.  A pair that dominates the
# release gives a pair that dominates the sampled one (Zhu, Dong, Wang, "Optimal accounting of
# differential privacy via characteristic functions", AISTATS 2022, theorem 11), and so do their
# compositions.
#
# For one release both have closed forms in the curve of the release itself.  With ``e^e' = 1 + (e^e
# - 1) / q`` the mass ``P' - e^e Q`` is ``q (P - e^e' Q)``; and ``Q - e^e P'`` is ``r (Q - e^e''
# P)`` with ``r = 1 - e^e (1 - q)`` and ``e^e'' = q e^e / r``.


_ZERO = Fraction(0)
_FINE = 1 << 14
_BITS = 128


def sampled(losses: PrivacyLoss, rate: Fraction) -> PrivacyLoss | None:
    """Return the losses of a release from a sample, in both directions."""
    # losses: of the release itself, for one record; symmetric ones serve both directions.
    if isinstance(losses, Dominating):
        inner = sampled(losses.losses, rate)
        return None if inner is None else Dominating(inner)
    if rate == 1:
        return losses
    ways = (losses.forward, losses.backward) if isinstance(losses, BothWays) else (losses, losses)
    if not all(isinstance(way, Summand) for way in ways):
        return None
    forward, backward = ways
    assert isinstance(forward, Summand)
    assert isinstance(backward, Summand)
    return BothWays(
        SampledLoss(forward, backward, rate, adding=False),
        SampledLoss(forward, backward, rate, adding=True),
    )


@dataclass(frozen=True)
class SampledLoss(LossFromSample):
    """Losses from a sample, in one direction.

    >>> from tacit.core.losses.additive_noise import GaussianShift
    >>> base = GaussianShift(1 << 40, 1 << 40)
    >>> whole = SampledLoss(base, base, Fraction(1, 100), adding=False).self_compose(100)
    >>> round(float(whole.epsilon("1e-6")), 4)
    0.9542
    """

    # forward, backward: the losses of the release: P against Q, and Q against P
    forward: Summand
    backward: Summand
    rate: Fraction  # q, above zero and below one
    adding: bool  # whether they are those of Q against P' (drawn from Q), else of P' against Q

    def delta(self, epsilon: Number) -> Enclosure:
        level, q = as_fraction(epsilon, "epsilon"), self.rate
        power = exp(level, _BITS)
        if self.adding:
            rest = 1 - power * (1 - q)
            if rest.upper <= 0:
                return Enclosure.of(0)
            if rest.lower <= 0:
                return Enclosure(_ZERO, rest.upper)
            return as_probability(rest * _delta_at(self.backward, q * power / rest))
        inner = 1 + (power - 1) / q
        if inner.upper <= 0:
            return as_probability(1 - power)  # even (1 - q) Q alone is as large
        if inner.lower <= 0:
            return as_probability(Enclosure((1 - power).lower, (1 - power).upper + q * inner.upper))
        return as_probability(q * _delta_at(self.forward, inner))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        target, q = read_probability(delta, "delta"), self.rate
        if self.adding:
            largest = -log(1 - q, _BITS)
            if target == 0:
                inner = self.backward.epsilon(0)
                if not isinstance(inner, Enclosure):
                    return largest
                return -log(1 - q + q * exp(-inner, _BITS), _BITS)
            if self.delta(0).upper <= target:
                return Enclosure.of(0)
            known = largest.upper
            high, _ = narrowed(lambda e: self.delta(e).upper <= target, known, _ZERO, 60)
            low, _ = narrowed(lambda e: self.delta(e).lower > target, _ZERO, known, 60)
            return Enclosure(min(low, high), high)
        if target >= q:
            return Enclosure.of(0)
        inner = self.forward.epsilon(target / q)
        if not isinstance(inner, Enclosure):
            return math.inf
        enclosed = log(1 + q * (exp(inner, _BITS) - 1), _BITS)
        return Enclosure(max(enclosed.lower, _ZERO), max(enclosed.upper, _ZERO))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return both directions."""
        return (
            SampledLoss(self.forward, self.backward, self.rate, False),
            SampledLoss(self.forward, self.backward, self.rate, True),
        )

    def generating(self) -> Generating | None:
        """Return the losses as a list, where the noise has few outcomes that matter."""
        # What is not listed counts as infinite from above, and does not count from below.
        base = few_losses(self.forward)
        if base is None:
            return None
        rate = float(self.rate)
        own = (base.min_mass + base.max_mass) / 2
        other = own * np.exp(-base.low)
        masses = other if self.adding else (1 - rate) * other + rate * own
        return Generating(listed=(self._loss(base.low, rate), masses), infinite=(0.0, 2 * DUST))

    def in_floats(self, dust: float) -> ListedLosses | SpreadLosses:
        """Return the losses in floats; both masses of a loss l of P against Q are at hand there."""
        # What Q has beyond the losses of P that are listed has a loss of ``ln(1 - q)`` up to that
        # of the smallest one listed, or minus that.
        base = self.forward.in_floats(dust)
        alone = base if isinstance(base, ListedLosses) else base.alone
        rate = float(self.rate)
        if isinstance(base, ListedLosses):
            ends = [float(base.low.min())]
            rest = 1 - float((base.min_mass * np.exp(-base.high)).sum())
            return self._listed(alone, ends[0], rest, rate)
        grid = np.linspace(*base.ends, _FINE)
        _, q = base.masses(grid)
        rest = 1 - float(q.sum()) - float((alone.min_mass * np.exp(-alone.high)).sum())
        lowest = min(base.ends[0], float(alone.low.min()))

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            wanted = np.clip(self._inverse(losses, rate), *base.ends)
            fine = np.union1d(grid, wanted)
            p, q = base.masses(fine)
            indices = np.clip(np.searchsorted(np.sort(wanted), fine[:-1], "right") - 1, 0, None)
            own, other = (summed(indices, m, len(losses))[: len(losses) - 1] for m in (p, q))
            mixed = (1 - rate) * other + rate * own
            return (other[::-1], mixed[::-1]) if self.adding else (mixed, other)

        low, high = (self._loss(np.array([end]), rate)[0] for end in base.ends)
        listed = self._listed(alone, lowest, rest, rate)
        return SpreadLosses((min(low, high), max(low, high)), masses, listed, 2 * base.slack)

    def _listed(self, alone: ListedLosses, lowest: float, rest: float, rate: float) -> ListedLosses:
        low, high = self._loss(alone.low, rate), self._loss(alone.high, rate)
        under, over = alone.min_mass * np.exp(-alone.high), alone.max_mass * np.exp(-alone.low)
        unseen = max(rest, 0.0) + 4 * SLACK
        edge = self._loss(np.array([-math.inf, lowest]), rate)
        if self.adding:
            low, high, minimum, maximum = high, low, under, over
            infinite = (0.0, 0.0)
        else:
            minimum = (1 - rate) * under + rate * alone.min_mass
            maximum = (1 - rate) * over + rate * alone.max_mass
            unseen *= 1 - rate
            infinite = (rate * alone.infinite[0], rate * alone.infinite[1])
        margin = 2.0**-48 * (np.abs(low) + np.abs(high))
        return ListedLosses(
            np.append(low - margin, edge.min()),
            np.append(high + margin, edge.max()),
            np.append(minimum * (1 - 2 * SLACK), 0.0),
            np.append(maximum * (1 + 2 * SLACK), unseen),
            (infinite[0] * (1 - SLACK), infinite[1] * (1 + SLACK)),
        )

    def _loss(self, losses: Floats, rate: float) -> Floats:
        """Return the losses from the sample of losses of the release."""
        sampled: Floats = np.logaddexp(math.log1p(-rate), losses + math.log(rate))
        return -sampled if self.adding else sampled

    def _inverse(self, losses: Floats, rate: float) -> Floats:
        """Return the losses of the release, falling where the record is added."""
        mixed = -losses if self.adding else losses
        over = np.expm1(mixed) + rate
        with np.errstate(divide="ignore"):
            inverse: Floats = np.where(over > 0, np.log(np.maximum(over, 0.0)), -np.inf)
        return inverse - math.log(rate)


def _delta_at(losses: PrivacyLoss, power: Enclosure) -> Enclosure:
    """Enclose delta at the logarithm of an enclosure: it falls there."""
    level = log(power, _BITS)
    return Enclosure(losses.delta(level.upper).lower, losses.delta(level.lower).upper)


def as_probability(enclosed: Enclosure) -> Enclosure:
    """Return what of an enclosure is from 0 to 1."""
    return Enclosure(max(enclosed.lower, _ZERO), min(max(enclosed.upper, _ZERO), Fraction(1)))


# Privacy losses of a release from a sample of m of n records, where one record is changed.
#
# Let ``q = m / n``, and let the releases of m records with one changed be dominated by a symmetric
# pair (P, Q), whose curve is D.  The outputs on the two data sets are ``(1 - q) R + q A`` and ``(1
# - q) R + q B``: R is the output of samples without the record that is changed, A and B of those
# with it.  For x at least one, ``x' = 1 + q (x - 1)`` and ``b = x' / x``,
#
#     ((1 - q) R + q A) - x' ((1 - q) R + q B) = q (A - x ((1 - b) R + b B)).
#
# The mass of the positive part of that is at most ``q ((1 - b) D(x) + b D(x)) = q D(x)``: A and B
# differ in one record of the sample; so do A and R, where the changed record is exchanged for one
# of those left out, drawn at random, which makes a sample with it one without it.  So the curve is
# at most q D(x) at x', in both directions (Balle, Barthe, Gaboardi, "Privacy amplification by
# subsampling", NeurIPS 2018, theorems 2 and 9), and the curve of one direction at levels below one
# is given by that of the other above one.
#
# Such a curve is that of a symmetric pair too: at each loss above zero of (P, Q) it has the masses
# ``(1 - q) Q + q P`` and Q, their mirror images below zero, and what is left, ``P(loss 0) + (1 - q)
# D(1)``, at zero.  So it dominates, and compositions are dominated by its compositions (Zhu, Dong,
# Wang, AISTATS 2022, theorem 10).
#
# The two directions of :mod:`~tacit.core.losses.sampling`, each composed with itself, would
# not do: of two questions one may grow and the other fall with the record, and both together lose
# more than either twice (a test has such a pair).


def sampled_without_replacement(losses: PrivacyLoss, rate: Fraction) -> PrivacyLoss | None:
    """Return losses that dominate a release from a sample of fixed size, one record changed."""
    # Returns: None where the losses are not of one release, or no symmetric pair.
    if isinstance(losses, Dominating):
        inner = sampled_without_replacement(losses.losses, rate)
        return None if inner is None else Dominating(inner)
    if rate == 1:
        return losses
    if isinstance(losses, PrivacyLossDistribution):
        return _exchanged(losses, rate)
    if isinstance(losses, ShiftedLoss):
        return ExchangedLoss(losses, rate) if losses.shift else losses
    return ExchangedLoss(losses, rate) if isinstance(losses, BoundedRange) else None


@dataclass(frozen=True)
class ExchangedLoss(LossFromSample):
    """Losses from a sample without replacement; one direction is as the other.

    >>> one = ExchangedLoss(BoundedRange(Fraction(1)), Fraction(1, 100))
    >>> round(float(one.epsilon(0)), 4), round(float(one.delta(0)), 6)
    (0.017, 0.002449)
    """

    base: ShiftedLoss | BoundedRange  # the losses of the release, a symmetric pair
    rate: Fraction  # q, above zero and below one

    @property
    def _removing(self) -> SampledLoss:
        """The loss that this one equals on losses above zero."""
        return SampledLoss(self.base, self.base, self.rate, adding=False)

    def delta(self, epsilon: Number) -> Enclosure:
        level = as_fraction(epsilon, "epsilon")
        enclosed = self._removing.delta(abs(level))
        if level >= 0:
            return enclosed
        power = exp(level, _BITS)
        return as_probability(1 - power + power * enclosed)

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices."""
        return self._removing.epsilon(delta)

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice."""
        return self, self

    def generating(self) -> Generating | None:
        """Return the losses as a list, where the noise has few outcomes that matter."""
        base = few_losses(self.base)
        if base is None:
            return None
        rate, gap = float(self.rate), base.low[1] - base.low[0]
        own = (base.min_mass + base.max_mass) / 2
        up, zero = base.low > gap / 4, float(own[np.abs(base.low) <= gap / 4].sum())
        losses, own = base.low[up], own[up]
        other = own * np.exp(-losses)
        rest = zero + (1 - rate) * float((own * -np.expm1(-losses)).sum())
        mixed = np.logaddexp(math.log1p(-rate), losses + math.log(rate))
        listed = (
            np.concatenate([-mixed[::-1], [0.0], mixed]),
            np.concatenate([other[::-1], [rest], (1 - rate) * other + rate * own]),
        )
        return Generating(listed=listed, infinite=(0.0, 4 * DUST))

    def in_floats(self, dust: float) -> ListedLosses | SpreadLosses:
        """Return the losses in floats: those above zero, their mirror images, and zero."""
        # They are cut between two outcomes.
        listed = self._removing.in_floats(dust)
        if isinstance(listed, ListedLosses):
            return self._mirrored(listed, 0.0, 0.0)
        lattice, edge, rate = self.base.lattice(), 0.0, float(self.rate)
        if lattice is not None and isinstance(self.base, ShiftedLoss) and not self.base.shift % 2:
            edge = float(lattice.step.value.middle) / 2
        cut = math.log1p(rate * math.expm1(edge))
        before = np.array([2 * math.log1p(-rate)])

        def beyond(ends: Floats) -> tuple[Floats, Floats]:
            p, q = listed.masses(np.concatenate([before, ends]))
            return p[1:], q[1:]

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            points = np.union1d(losses, [-cut, cut])
            p, q = beyond(points[points >= cut])
            below, above_it = beyond(-points[points <= -cut][::-1])
            zero = np.zeros(len(points) - 1 - len(p) - len(below))
            indices = np.searchsorted(losses, points[:-1], "right") - 1
            within = (indices >= 0) & (indices < len(losses) - 1)
            both = np.concatenate([above_it[::-1], zero, p]), np.concatenate([below[::-1], zero, q])
            own, other = (summed(indices[within], m[within], len(losses) - 1) for m in both)
            return own, other

        high = listed.ends[1]
        total = sum(float(side.sum()) for side in beyond(np.linspace(cut, high, _FINE)))
        alone = self._mirrored(listed.alone, total, listed.slack)
        return SpreadLosses((-high, high), masses, alone, listed.slack)

    def _mirrored(self, removing: ListedLosses, total: float, slack: float) -> ListedLosses:
        """Return losses above zero, their mirror images, and zero with what is left."""
        up = removing.high > 0
        low, high, minimum, maximum = (
            side[up] for side in (removing.low, removing.high, removing.min_mass, removing.max_mass)
        )
        under = minimum * np.exp(-high) * (1 - 2 * SLACK)
        over = maximum * np.exp(-low) * (1 + 2 * SLACK)
        gone = removing.infinite[1] * (1 + 2 / float(self.rate))  # of either mass
        rest = (
            1 - total * (1 + slack) - float(maximum.sum() + over.sum()) - gone - 4 * SLACK,
            1 - total * (1 - slack) - float(minimum.sum() + under.sum()) + 4 * SLACK,
        )
        return ListedLosses(
            np.concatenate([-high, [0.0], low]),
            np.concatenate([-low, [0.0], high]),
            np.concatenate([under, [max(rest[0], 0.0)], minimum]),
            np.concatenate([over, [max(rest[1], 0.0)], maximum]),
            removing.infinite,
        )


def _exchanged(losses: PrivacyLossDistribution, rate: Fraction) -> PrivacyLossDistribution | None:
    """Return the pair of a list of losses, or None where that is not symmetric."""
    atoms = sorted(losses.atoms, key=lambda atom: atom.loss.value.lower)
    unseen = 1 - sum((atom.q for atom in atoms), Enclosure.of(0))
    if not _meet(unseen, losses.impossible) or not all(
        _meet(a.loss.value, -b.loss.value) and _meet(a.p, b.q)
        for a, b in zip(atoms, atoms[::-1], strict=True)
    ):
        return None
    exchanged: list[Atom] = []
    gone = rate * losses.impossible
    rest = 1 - gone
    for atom in atoms:
        if atom.loss.value.upper <= 0:
            continue
        mixed = ((1 - rate) * atom.q + rate * atom.p).rounded(BITS)
        if atom.loss.shift == Loss().shift:
            up = Loss(ratio=1 - rate + rate * atom.loss.ratio)
            down = Loss(ratio=1 / up.ratio)
        else:
            up = Loss(log(1 - rate + rate / atom.loss.factor(), _BITS))
            down = Loss(-up.shift)
        exchanged += [Atom(up, mixed, atom.q), Atom(down, atom.q, mixed)]
        rest -= mixed + atom.q
    if rest.upper > 0:
        left = Enclosure(max(rest.lower, _ZERO), rest.upper).rounded(BITS)
        exchanged.append(Atom(Loss(), left, left))
    return PrivacyLossDistribution(tuple(exchanged), gone)


def _meet(a: Enclosure, b: Enclosure) -> bool:
    return a.lower <= b.upper and b.lower <= a.upper
