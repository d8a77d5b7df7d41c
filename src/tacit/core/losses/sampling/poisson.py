r"""Privacy losses of a release from a secret sample: each record is in it with probability q.

Let the losses of the release itself be those of P (with a record) against Q (without it).  From the
sample the outputs are ``P' = (1 - q) Q + q P`` with the record among those sampled from, and Q
without it: the two directions are P' against Q and Q against P'.  A pair that dominates the release
gives a pair that dominates the sampled one (Zhu, Dong, Wang, "Optimal accounting of differential
privacy via characteristic functions", AISTATS 2022, theorem 11), and so do their compositions.

For one release both have closed forms in the curve of the release itself.  With ``e^e' = 1 +
(e^e - 1) / q`` the mass ``P' - e^e Q`` is ``q (P - e^e' Q)``; and ``Q - e^e P'`` is ``r (Q - e^e''
P)`` with ``r = 1 - e^e (1 - q)`` and ``e^e'' = q e^e / r``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import BothWays, Dominating
from tacit.core.losses.cells import SLACK, Floats, Listed, Spread, summed
from tacit.core.losses.contour.summands import Generating
from tacit.core.losses.sampling.from_sample import DUST, LossFromSample, few_losses
from tacit.core.losses.summed import Summand
from tacit.errors import UsageError

__all__ = ["SampledLoss", "as_probability", "sampled"]

_ZERO = Fraction(0)
_FINE = 1 << 14
_BITS = 128


def sampled(losses: PrivacyLoss, rate: Fraction) -> PrivacyLoss | None:
    """Return the losses of a release from a sample, in both directions.

    Args:
        losses: of the release itself, for one record; symmetric ones serve both directions.
        rate: the probability of each record to be in the sample.

    Returns:
        None where the losses are not of one release.
    """
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

    Attributes:
        forward, backward: the losses of the release: P against Q, and Q against P.
        rate: q, above zero and below one.
        adding: whether they are those of Q against P' (drawn from Q), else of P' against Q.

    >>> from tacit.core.losses.additive_noise import GaussianShift
    >>> base = GaussianShift(1 << 40, 1 << 40)
    >>> whole = SampledLoss(base, base, Fraction(1, 100), adding=False).self_compose(100)
    >>> round(float(whole.epsilon("1e-6")), 4)
    0.9542
    """

    forward: Summand
    backward: Summand
    rate: Fraction
    adding: bool

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``."""
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
        target, q = as_fraction(delta, "delta"), self.rate
        if not 0 <= target <= 1:
            raise UsageError(f"delta must be from 0 to 1, not {show(target)}")
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
        found = log(1 + q * (exp(inner, _BITS) - 1), _BITS)
        return Enclosure(max(found.lower, _ZERO), max(found.upper, _ZERO))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return both directions."""
        return (
            SampledLoss(self.forward, self.backward, self.rate, False),
            SampledLoss(self.forward, self.backward, self.rate, True),
        )

    def generating(self) -> Generating | None:
        """Return the losses as a list, where the noise has few outcomes that matter.

        What is not listed counts as infinite from above, and does not count from below.
        """
        base = few_losses(self.forward)
        if base is None:
            return None
        rate = float(self.rate)
        own = (base.least + base.most) / 2
        other = own * np.exp(-base.low)
        masses = other if self.adding else (1 - rate) * other + rate * own
        return Generating(listed=(self._loss(base.low, rate), masses), infinite=(0.0, 2 * DUST))

    def in_floats(self, dust: float) -> Listed | Spread:
        """Return the losses in floats; both masses of a loss l of P against Q are at hand there.

        What Q has beyond the losses of P that are listed has a loss of ``ln(1 - q)`` up to that
        of the smallest one listed, or minus that.
        """
        base = self.forward.in_floats(dust)
        alone = base if isinstance(base, Listed) else base.alone
        rate = float(self.rate)
        if isinstance(base, Listed):
            ends = [float(base.low.min())]
            rest = 1 - float((base.least * np.exp(-base.high)).sum())
            return self._listed(alone, ends[0], rest, rate)
        grid = np.linspace(*base.ends, _FINE)
        _, q = base.masses(grid)
        rest = 1 - float(q.sum()) - float((alone.least * np.exp(-alone.high)).sum())
        lowest = min(base.ends[0], float(alone.low.min()))

        def masses(losses: Floats) -> tuple[Floats, Floats]:
            wanted = np.clip(self._inverse(losses, rate), *base.ends)
            fine = np.union1d(grid, wanted)
            p, q = base.masses(fine)
            places = np.clip(np.searchsorted(np.sort(wanted), fine[:-1], "right") - 1, 0, None)
            own, other = (summed(places, m, len(losses))[: len(losses) - 1] for m in (p, q))
            mixed = (1 - rate) * other + rate * own
            return (other[::-1], mixed[::-1]) if self.adding else (mixed, other)

        low, high = (self._loss(np.array([end]), rate)[0] for end in base.ends)
        found = self._listed(alone, lowest, rest, rate)
        return Spread((min(low, high), max(low, high)), masses, found, 2 * base.slack)

    def _listed(self, alone: Listed, lowest: float, rest: float, rate: float) -> Listed:
        low, high = self._loss(alone.low, rate), self._loss(alone.high, rate)
        under, over = alone.least * np.exp(-alone.high), alone.most * np.exp(-alone.low)
        unseen = max(rest, 0.0) + 4 * SLACK
        edge = self._loss(np.array([-math.inf, lowest]), rate)
        if self.adding:
            low, high, least, most = high, low, under, over
            infinite = (0.0, 0.0)
        else:
            least = (1 - rate) * under + rate * alone.least
            most = (1 - rate) * over + rate * alone.most
            unseen *= 1 - rate
            infinite = (rate * alone.infinite[0], rate * alone.infinite[1])
        margin = 2.0**-48 * (np.abs(low) + np.abs(high))
        return Listed(
            np.append(low - margin, edge.min()),
            np.append(high + margin, edge.max()),
            np.append(least * (1 - 2 * SLACK), 0.0),
            np.append(most * (1 + 2 * SLACK), unseen),
            (infinite[0] * (1 - SLACK), infinite[1] * (1 + SLACK)),
        )

    def _loss(self, losses: Floats, rate: float) -> Floats:
        """Return the losses from the sample of losses of the release."""
        found: Floats = np.logaddexp(math.log1p(-rate), losses + math.log(rate))
        return -found if self.adding else found

    def _inverse(self, losses: Floats, rate: float) -> Floats:
        """Return the losses of the release, falling where the record is added."""
        mixed = -losses if self.adding else losses
        over = np.expm1(mixed) + rate
        with np.errstate(divide="ignore"):
            found: Floats = np.where(over > 0, np.log(np.maximum(over, 0.0)), -np.inf)
        return found - math.log(rate)


def _delta_at(losses: PrivacyLoss, power: Enclosure) -> Enclosure:
    """Enclose delta at the logarithm of an enclosure: it falls there."""
    level = log(power, _BITS)
    return Enclosure(losses.delta(level.upper).lower, losses.delta(level.lower).upper)


def as_probability(found: Enclosure) -> Enclosure:
    """Return what of an enclosure is from 0 to 1."""
    return Enclosure(max(found.lower, _ZERO), min(max(found.upper, _ZERO), Fraction(1)))
