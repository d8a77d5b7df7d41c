"""Partition selection by Gaussian noise: for people who are in many groups."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from tacit import noise
from tacit.arithmetic.bisection import least_integer
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_integer, positive
from tacit.core import (
    ApproximateDP,
    Measurement,
    Space,
    SparseDistance,
    Step,
    Vector,
    ZeroConcentratedDP,
    register,
)
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.summed import Sum
from tacit.core.measures.epsilon_bound import delta_bound
from tacit.errors import MismatchError
from tacit.mechanisms.additive.gaussian_calibration import continuous_sigma
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Product

__all__ = [
    "GaussianKeys",
    "delta_of_noise",
    "keys_each",
    "least_noise_and_threshold",
    "least_noise_and_thresholds",
    "passes",
    "shown_of_key",
]

_LARGE = 50
"""Above this epsilon the noise is about as narrow as its grid, and zCDP bounds its delta."""
_LEAST_DELTA = Fraction(1, 10**40)
"""Deltas below are for nobody, and take long."""
_LARGEST_DELTA = Fraction(99, 100)
_MOST = 2.0
"""No more than thrice the continuous noise is tried."""


@register
@dataclass(frozen=True)
class GaussianKeys(Step):
    """Partition selection: release the keys whose number of people, with Gaussian noise, is high.

    The input is the vector of people counts over *all possible* keys, zero for those that nobody
    has.  Each count gets discrete Gaussian noise; a key with a zero count is never released.

    **Map.** Under the sparse distance of g coordinates, ``d -> (d epsilon, delta_noise(d) + g max(d
    f(1), f(d)))``, where ``f(c) = P(X >= threshold - c)``, X is the noise, and delta_noise is that
    of the noise alone at ``d epsilon``: for d = 1 by the exact losses of g coordinates that move by
    one (where these matter), beyond it by zCDP, with ``rho = g d^2 / (2 scale^2)``, as the
    squares of numbers of at most d with the sum g d add up to at most ``g d^2``. Let c_j be the
    counts of the keys that only one of u and v has: each at most d, with sum at most ``g d``. Such
    a key is released with probability f(c); for c below the threshold f is convex, so ``f(c) / c``
    is largest for c = 1 or c = d, and together they are at most ``g d max(f(1), f(d) / d)``; split
    it into delta_u for the keys of u alone and delta_v. On the keys of both, for an event S and its
    part S' in which no other key is released, ``P(u in S) <= delta_u + P(u' in S')``, ``P(u' in S')
    <= e^(d epsilon) P(v' in S') + delta_noise`` and ``P(v in S) >= P(v' in S') (1 - delta_v)``;
    together ``P(u in S) <= e^(d epsilon) P(v in S) + delta_noise + delta_u + delta_v``.

    Source: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union",
    ICML 2020, for Gaussian noise and a threshold; the map, for discrete noise and any distance, is
    proven here.

    Args:
        scale: of the noise; above zero.
        threshold: the least noisy count that is released; at least 2.
        epsilon: what is claimed at distance 1; above zero.

    Raises:
        UsageError: an argument out of its range.

    Example:
        >>> from tacit.core import Number
        >>> counts = Space(Vector(Number("int"), size=3), SparseDistance(2))
        >>> m = counts >> GaussianKeys(scale=7, threshold=40, epsilon=1)
        >>> m.map(1)[1] < 1e-6, m([0, 1000, 0])[0]
        (True, None)
    """

    scale: int | float | str | Fraction
    threshold: int
    epsilon: int | float | str | Fraction

    name: ClassVar[str] = "gaussian_keys"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "threshold", as_integer(self.threshold, "threshold", minimum=2))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    def build(self, space: Space) -> Measurement:
        """Return the release on a vector of people counts under the sparse distance.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no vector of whole numbers under the sparse distance.
        """
        groups = keys_each(self, space)
        scale, epsilon = Fraction(self.scale), Fraction(self.epsilon)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            steps = math.floor(moved)
            if not steps:
                return Fraction(0), Fraction(0)
            noisy = delta_of_noise((scale,), epsilon, groups, steps)
            passed = groups * passes(scale, self.threshold, steps)
            return steps * epsilon, min(Fraction(1), noisy + passed)

        def release(counts: Any) -> list[int | None]:
            exact = [int(count) for count in counts]
            drawn = noise.discrete_gaussian(scale, len(exact)).tolist() if exact else []
            shown = [count + error for count, error in zip(exact, drawn, strict=True)]
            return [
                n if n >= self.threshold and count > 0 else None
                for n, count in zip(shown, exact, strict=True)
            ]

        def law(counts: Any) -> Product:
            return Product([shown_of_key(scale, self.threshold, int(count)) for count in counts])

        return Measurement(space, ApproximateDP(), release, loss, distribution=law, step=self)


def keys_each(step: Step, space: Space) -> int:
    """Return how many keys a person has at most, in a space of people counts.

    Args:
        step: that is built on the space.
        space: the input.

    Raises:
        MismatchError: no vector of whole numbers under the sparse distance.
    """
    metric = space.metric
    if not isinstance(space.domain, Vector) or not isinstance(metric, SparseDistance):
        raise MismatchError(
            f"{step.name} works on people counts under the sparse distance, not on ({space})",
            space,
            step,
        )
    return metric.coordinates


def shown_of_key(scale: Fraction, threshold: int, count: int) -> FiniteDistribution:
    """List what one key shows: nothing, or its noisy count, up to a rest of 2^-80."""
    if count <= 0:
        return FiniteDistribution.of({None: 1})
    law = noise.DiscreteGaussian(scale)
    highest = max(threshold, count + law.support(1 - Fraction(1, 1 << 80))[1])
    table: dict[Hashable, Enclosure] = {
        shown: law.probability(shown - count, 128) for shown in range(threshold, highest + 1)
    }
    table[None] = law.cdf(threshold - 1 - count, 128)
    return FiniteDistribution(table, rest=_tail(scale, highest + 1 - count))


def _tail(scale: Fraction, low: int) -> Fraction:
    """Return ``P(X >= low)`` for discrete Gaussian X, rounded up."""
    return noise.DiscreteGaussian(scale).cdf(-low, 128).upper


def passes(scale: Fraction, threshold: int, moved: int) -> Fraction:
    """Return ``max(d f(1), f(d))``, where f(c) is the probability that a key of c people passes.

    Args:
        scale: of the noise.
        threshold: the least noisy count that passes.
        moved: d.
    """
    if moved >= threshold:
        return Fraction(1)
    return max(moved * _tail(scale, threshold - 1), _tail(scale, threshold - moved))


@lru_cache(maxsize=256)
def delta_of_noise(
    scales: tuple[Fraction, ...], epsilon: Fraction, groups: int, moved: int
) -> Fraction:
    """Return the delta, at ``moved epsilon``, of the noise on the keys of both data sets.

    Args:
        scales: of the noise, one for each time that the keys are counted.
        epsilon: what is claimed at distance 1.
        groups: how many keys a person has at most.
        moved: the distance.
    """
    rho = sum(groups * moved**2 / (2 * scale**2) for scale in scales)
    bound = delta_bound(ZeroConcentratedDP(), rho, moved * epsilon).upper
    if moved > 1 or epsilon > _LARGE or not _LEAST_DELTA**2 < bound < _LARGEST_DELTA:
        return bound
    losses = Sum.of([(GaussianShift(scale, 1), groups) for scale in scales])
    return min(bound, losses.delta(epsilon).upper)


def least_noise_and_threshold(
    groups: int, epsilon: Fraction, delta: Fraction
) -> tuple[Fraction, int] | None:
    """Return the noise that takes half of delta, and the least threshold for the rest.

    (The best share lowers the threshold by less than a hundredth more.) None where the noise of the
    continuous distribution is far from enough, as with a large epsilon, or where delta is tiny.

    >>> scale, threshold = least_noise_and_threshold(10, Fraction(1), Fraction(1, 10**6))
    >>> round(float(scale), 1), threshold
    (13.8, 76)
    """
    found = least_noise_and_thresholds(groups, epsilon, delta, (Fraction(1),))
    return None if found is None else found[0]


@lru_cache(maxsize=256)
def least_noise_and_thresholds(
    groups: int, epsilon: Fraction, delta: Fraction, shares: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, int], ...] | None:
    """Return the noise and the threshold of each round; see :func:`least_noise_and_threshold`.

    Args:
        groups: how many keys a person has at most.
        epsilon: of all rounds together; above zero.
        delta: of all rounds together.
        shares: what each round spends, of the sum of ``1 / scale^2`` and of the delta of the
            thresholds; they add up to 1.

    >>> shares = Fraction(1, 10), Fraction(9, 10)
    >>> rounds = least_noise_and_thresholds(10, Fraction(1), Fraction(1, 10**6), shares)
    >>> [(round(float(scale), 1), threshold) for scale, threshold in rounds]
    [(43.7, 252), (14.6, 80)]
    """
    if epsilon > _LARGE or delta < _LEAST_DELTA:
        return None
    guess = continuous_sigma(epsilon, delta / 2) * math.sqrt(groups)
    wider = [1 / math.sqrt(share) for share in shares]
    growth = 2.0**-20
    while True:
        scales = tuple(
            Fraction(math.ceil(guess * each * (1 + growth) * (1 << 20)), 1 << 20) for each in wider
        )
        taken = delta_of_noise(scales, epsilon, groups, 1)
        if taken <= delta / 2 or growth > _MOST:
            break
        growth *= 4
    if taken > delta / 2:
        return None
    return tuple(
        (scale, _least_threshold(groups, scale, (delta - taken) * share))
        for scale, share in zip(scales, shares, strict=True)
    )


def _least_threshold(groups: int, scale: Fraction, delta: Fraction) -> int:
    return least_integer(lambda t: groups * _tail(scale, t - 1) <= delta, 1, 2)
