r"""Privacy losses of a release from a sample of m of n records, where one record is changed.

Let ``q = m / n``, and let the releases of m records with one changed be dominated by a symmetric
pair (P, Q), whose curve is D.  The outputs on the two data sets are ``(1 - q) R + q A`` and ``(1 -
q) R + q B``: R is the output of samples without the record that is changed, A and B of those with
it.  For x at least one, ``x' = 1 + q (x - 1)`` and ``b = x' / x``,

    ((1 - q) R + q A) - x' ((1 - q) R + q B) = q (A - x ((1 - b) R + b B)).

The mass of the positive part of that is at most ``q ((1 - b) D(x) + b D(x)) = q D(x)``: A and B
differ in one record of the sample; so do A and R, where the changed record is exchanged for one of
those left out, drawn at random, which makes a sample with it one without it.  So the curve is at
most q D(x) at x', in both directions (Balle, Barthe, Gaboardi, "Privacy amplification by
subsampling", NeurIPS 2018, theorems 2 and 9), and the curve of one direction at levels below one is
given by that of the other above one.

Such a curve is that of a symmetric pair too: at each loss above zero of (P, Q) it has the masses
``(1 - q) Q + q P`` and Q, their mirror images below zero, and what is left, ``P(loss 0) + (1 - q)
D(1)``, at zero.  So it dominates, and compositions are dominated by its compositions (Zhu, Dong,
Wang, AISTATS 2022, theorem 10).

The two directions of :mod:`~tacit.core.losses.sampling.poisson`, each composed with itself, would
not do: of two questions one may grow and the other fall with the record, and both together lose
more than either twice (a test has such a pair).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction
from tacit.core.losses.additive_noise import ShiftedLoss
from tacit.core.losses.base import BITS, Atom, Loss, PrivacyLoss
from tacit.core.losses.bounded_range import BoundedRange
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.cells import SLACK, Floats, Listed, Spread, summed
from tacit.core.losses.contour.summands import Generating
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.sampling.from_sample import DUST, LossFromSample, few_losses
from tacit.core.losses.sampling.poisson import SampledLoss, as_probability

__all__ = ["ExchangedLoss", "sampled_without_replacement"]

_ZERO = Fraction(0)
_BITS = 128
_FINE = 1 << 14


def sampled_without_replacement(losses: PrivacyLoss, rate: Fraction) -> PrivacyLoss | None:
    """Return losses that dominate a release from a sample of fixed size, one record changed.

    Args:
        losses: of the release itself, for one record changed.
        rate: the size of the sample over the number of records.

    Returns:
        None where the losses are not of one release, or no symmetric pair.
    """
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

    Attributes:
        base: the losses of the release, a symmetric pair.
        rate: q, above zero and below one.

    >>> one = ExchangedLoss(BoundedRange(Fraction(1)), Fraction(1, 100))
    >>> round(float(one.epsilon(0)), 4), round(float(one.delta(0)), 6)
    (0.017, 0.002449)
    """

    base: ShiftedLoss | BoundedRange
    rate: Fraction

    @property
    def _removing(self) -> SampledLoss:
        """What it agrees with on losses above zero."""
        return SampledLoss(self.base, self.base, self.rate, adding=False)

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
        level = as_fraction(epsilon, "epsilon")
        found = self._removing.delta(abs(level))
        if level >= 0:
            return found
        power = exp(level, _BITS)
        return as_probability(1 - power + power * found)

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
        own = (base.least + base.most) / 2
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

    def in_floats(self, dust: float) -> Listed | Spread:
        """Return the losses in floats: those above zero, their mirror images, and zero.

        They are cut between two outcomes.
        """
        found = self._removing.in_floats(dust)
        if isinstance(found, Listed):
            return self._mirrored(found, 0.0, 0.0)
        lattice, edge, rate = self.base.lattice(), 0.0, float(self.rate)
        if lattice is not None and isinstance(self.base, ShiftedLoss) and not self.base.shift % 2:
            edge = float(lattice.step.value.middle) / 2
        cut = math.log1p(rate * math.expm1(edge))
        before = np.array([2 * math.log1p(-rate)])

        def beyond(ends: Floats) -> tuple[Floats, Floats]:
            p, q = found.masses(np.concatenate([before, ends]))
            return p[1:], q[1:]

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            points = np.union1d(losses, [-cut, cut])
            p, q = beyond(points[points >= cut])
            below, above_it = beyond(-points[points <= -cut][::-1])
            zero = np.zeros(len(points) - 1 - len(p) - len(below))
            places = np.searchsorted(losses, points[:-1], "right") - 1
            within = (places >= 0) & (places < len(losses) - 1)
            both = np.concatenate([above_it[::-1], zero, p]), np.concatenate([below[::-1], zero, q])
            own, other = (summed(places[within], m[within], len(losses) - 1) for m in both)
            return own, other

        high = found.ends[1]
        whole = sum(float(side.sum()) for side in beyond(np.linspace(cut, high, _FINE)))
        alone = self._mirrored(found.alone, whole, found.slack)
        return Spread((-high, high), masses, alone, found.slack)

    def _mirrored(self, removing: Listed, whole: float, slack: float) -> Listed:
        """Return losses above zero, their mirror images, and zero with what is left."""
        up = removing.high > 0
        low, high, least, most = (
            side[up] for side in (removing.low, removing.high, removing.least, removing.most)
        )
        under = least * np.exp(-high) * (1 - 2 * SLACK)
        over = most * np.exp(-low) * (1 + 2 * SLACK)
        gone = removing.infinite[1] * (1 + 2 / float(self.rate))  # of either mass
        rest = (
            1 - whole * (1 + slack) - float(most.sum() + over.sum()) - gone - 4 * SLACK,
            1 - whole * (1 - slack) - float(least.sum() + under.sum()) + 4 * SLACK,
        )
        return Listed(
            np.concatenate([-high, [0.0], low]),
            np.concatenate([-low, [0.0], high]),
            np.concatenate([under, [max(rest[0], 0.0)], least]),
            np.concatenate([over, [max(rest[1], 0.0)], most]),
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
    found: list[Atom] = []
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
        found += [Atom(up, mixed, atom.q), Atom(down, atom.q, mixed)]
        rest -= mixed + atom.q
    if rest.upper > 0:
        left = Enclosure(max(rest.lower, _ZERO), rest.upper).rounded(BITS)
        found.append(Atom(Loss(), left, left))
    return PrivacyLossDistribution(tuple(found), gone)


def _meet(a: Enclosure, b: Enclosure) -> bool:
    return a.lower <= b.upper and b.lower <= a.upper
