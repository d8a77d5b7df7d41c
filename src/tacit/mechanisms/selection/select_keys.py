"""Partition selection by truncated Laplace noise: the groups that so many people have, and no rest.

Noise that never passes a bound of its own needs no tail: a group that nobody has is never shown,
and one that enough people have always is.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.bisection import least_integer
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import as_fraction, positive
from tacit.core import (
    ApproximateDP,
    L1Distance,
    Measurement,
    Space,
    SparseDistance,
    Step,
    Vector,
    register,
)
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.shared.group_privacy import approximate_loss
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Product

__all__ = ["SelectKeys", "TruncatedNoise"]

_WEIGHT_BITS = 64


@register
@dataclass(frozen=True)
class SelectKeys(Step):
    """Partition selection: release the keys that enough people have, with a noisy number of them.

    The input is the vector of people counts over *all possible* keys, zero for those that nobody
    has.  Each count gets discrete Laplace noise of scale ``1 / epsilon``, truncated to ``-k`` to
    ``k``; a key is released where the noisy count is above k.  So a key that nobody has is never
    released, and one of more than ``2 k`` people always is.  The reach k is the least at which the
    noise is k with a probability of at most ``delta``, or one less, by a public coin for each key:
    delta is then spent whole.

    **Map.** Under the sparse distance of g coordinates, ``d -> (g d epsilon, g delta_d)`` with
    ``delta_d = delta (e^(d epsilon) - 1) / (e^epsilon - 1)``; under L1, ``d -> (d epsilon,
    delta_d)``.  *One key, moved from n to n + 1:* given k, a noisy count v is shown with
    probability ``P(Y = v - n)`` and ``P(Y = v - n - 1)``, whose ratio is at most e^epsilon but
    where one is zero: ``v = n + 1 + k`` comes of n + 1 alone, and ``v = n - k`` of n alone, each
    with the probability ``P(Y = k)``.  Nothing is shown with probability ``P(Y <= k - n)``, which
    is at most ``P(Y = -k) + e^epsilon P(Y <= k - n - 1)``; and where this ``P(Y = -k)`` counts,
    ``n - k <= k`` is not shown, so in each direction one event alone is left over, of probability
    ``P(Y = k)``.  A coin of public odds takes the mean of these over k, at most delta.  *Moved by
    c:* group privacy.  *Many keys,* moved by c_1, c_2, ...: their noise is independent, so the
    epsilons and the deltas add up; delta_c is convex in c and 0 at 0, so the sum is largest where
    g keys are moved by d each, or under L1 one by d.

    No mechanism that keeps each key at ``(epsilon, delta)`` shows a key of n people with a greater
    probability, up to half: this one's is ``delta (e^(n epsilon) - 1) / (e^epsilon - 1)`` there,
    the bound of group privacy itself.

    Source: Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection",
    PoPETs 2022 (the best selection, and truncated geometric noise).

    Args:
        epsilon: for one person, in one key; above zero.
        delta: for one person, in one key; above zero and below one.

    Raises:
        UsageError: an epsilon or a delta out of its range.

    Example:
        >>> from tacit.core import Number
        >>> counts = Space(Vector(Number("int"), size=3), L1Distance())
        >>> m = counts >> SelectKeys(epsilon=1, delta="1e-6")
        >>> m.map(1) == (1, Fraction("1e-6")), m([0, 1000, 0])[0], m([0, 1000, 0])[1] > 900
        (True, None, True)
    """

    epsilon: int | float | str | Fraction
    delta: int | float | str | Fraction

    name: ClassVar[str] = "select_keys"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", as_fraction(self.delta, "delta"))
        if not 0 < Fraction(self.delta) < 1:
            raise UsageError("delta must be above 0 and below 1, such as '1e-6'")

    def build(self, space: Space) -> Measurement:
        """Return the release on a vector of people counts.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no vector of whole numbers under the sparse distance or L1.
        """
        metric = space.metric
        if not isinstance(space.domain, Vector) or not isinstance(
            metric, (SparseDistance, L1Distance)
        ):
            raise MismatchError(
                f"{self.name} works on people counts under the sparse distance or L1, not on "
                f"({space})",
                space,
                self,
            )
        keys = metric.coordinates if isinstance(metric, SparseDistance) else 1
        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)
        law = TruncatedNoise(epsilon, delta)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            one = approximate_loss(epsilon, delta, moved)
            return keys * one[0], min(Fraction(1), keys * one[1])

        def release(counts: Any) -> list[int | None]:
            exact = np.asarray([int(count) for count in counts], dtype=object)
            reach, drawn = law.draw(len(exact))
            return [
                int(n) if shown else None
                for n, shown in zip(exact + drawn, exact + drawn > reach, strict=True)
            ]

        def distribution(counts: Any) -> Product:
            return Product([law.shown(int(count)) for count in counts])

        return Measurement(
            space, ApproximateDP(), release, loss, distribution=distribution, step=self
        )


@dataclass(frozen=True)
class TruncatedNoise:
    """Discrete Laplace noise on ``-k`` to ``k``, for one of two k, by a public coin.

    >>> law = TruncatedNoise(Fraction(1), Fraction(1, 10**6))
    >>> law.reach, float(law.share)
    (14, 0.0674...)
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def reach(self) -> int:
        """The larger k."""
        return _reach(self.epsilon, self.delta)[0]

    @property
    def share(self) -> Fraction:
        """The probability of the larger k."""
        return _reach(self.epsilon, self.delta)[1]

    def draw(self, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return for each of n keys its k, and its noise.

        A geometric number modulo ``k + 1`` has the geometric distribution on 0 to k. With a fair
        sign, and drawn again where it is zero below zero, it is the noise.
        """
        reach = np.full(n, self.reach, dtype=object)
        if self.share < 1 and n:
            reach -= ~noise.bernoulli(self.share, n)
        drawn = np.zeros(n, dtype=object)
        left = np.arange(n)
        while len(left):
            size = noise.geometric(1 / self.epsilon, len(left)).astype(object) % (reach[left] + 1)
            below = noise.bernoulli(Fraction(1, 2), len(left))
            drawn[left] = np.where(below, -size, size)
            left = left[below & (size == 0)]
        return reach, drawn

    def shown(self, count: int) -> FiniteDistribution:
        """List what one key of so many people shows: nothing, or its noisy count."""
        if count <= 0:
            return FiniteDistribution.of({None: 1})
        table: dict[Hashable, Enclosure] = {}
        for reach, odds in ((self.reach, self.share), (self.reach - 1, 1 - self.share)):
            if not odds:
                continue
            one = _at(self.epsilon, reach, 0)
            for drawn in range(-reach, reach + 1):
                shown = count + drawn if count + drawn > reach else None
                p = odds * one * exp(-self.epsilon * abs(drawn), 128)
                table[shown] = (table.get(shown, Enclosure.of(0)) + p).rounded(160)
        return FiniteDistribution(table)


def _at(epsilon: Fraction, reach: int, value: int) -> Enclosure:
    """Enclose the probability of one value: ``q^|y| (1 - q) / (1 + q - 2 q^(k + 1))``.

    >>> round(float(_at(Fraction(1), 1, 0) + 2 * _at(Fraction(1), 1, 1)), 12)
    1.0
    """
    bits = 160 + 2 * max(0, (1 / epsilon).__ceil__().bit_length())
    q = exp(-epsilon, bits)
    whole = (1 - q) / (1 + q - 2 * exp(-epsilon * (reach + 1), bits))
    return (whole * exp(-epsilon * abs(value), bits)).rounded(bits)


@lru_cache(maxsize=256)
def _reach(epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """Return the least k at which ``P(Y = k) <= delta``, and the least share of it, k - 1 beside.

    The share w solves ``w P_k + (1 - w) P_(k - 1) = delta``, rounded up.
    """

    def last(reach: int) -> Enclosure:
        return _at(epsilon, reach, reach)

    reach = least_integer(lambda k: last(k).upper <= delta, 0, 1)
    here, before = last(reach), last(reach - 1)
    share = ((before.upper - delta) / (before.upper - here.upper)) * (1 << _WEIGHT_BITS)
    return reach, Fraction(min(math.ceil(share), 1 << _WEIGHT_BITS), 1 << _WEIGHT_BITS)
