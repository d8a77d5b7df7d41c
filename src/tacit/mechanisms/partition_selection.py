"""Partition selection: keys of the data whose groups are large enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit import noise as exact_noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, positive
from tacit.arithmetic.roots_and_bisection import smallest_integer
from tacit.calls import public
from tacit.core import (
    ApproximateDP,
    L1Distance,
    Measurement,
    Space,
    SparseDistance,
    Step,
    Vector,
    ZeroConcentratedDP,
    register,
)
from tacit.core.conversions import delta_bound
from tacit.core.divergences import Product
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.composition import ComposedLosses
from tacit.errors import MismatchError, UsageError, shown_value
from tacit.mechanisms.additive import continuous_sigma, draw_within, probability_within
from tacit.mechanisms.output_distribution import FiniteDistribution, approximate_loss
from tacit.noise import NoiseDistribution


@register
@dataclass(frozen=True)
class ReleaseKeys(Step):
    """Partition selection: release the keys whose noisy number of people reaches ``threshold``.

    The input is the vector of people counts over *all possible* keys, zero for those that no one
    has.  Each count gets discrete Laplace noise; a key with a zero count is never released.

    **Map.** ``d -> (d / scale, max(d P(X >= threshold - 1), P(X >= threshold - d)))`` for an L1
    distance d, X the noise.  Let c_j be the counts of the keys that only one of u and v has, with
    sum at most d.  Such a key is released with probability ``f(c) = P(X >= threshold - c)``.  For c
    below the threshold f is convex, so among counts of one sum, ``f(c_1) + ... + f(c_m)`` is at
    most ``(m - 1) f(1) + f(d - m + 1)``, which is convex in m and so at most its larger end,
    ``delta = max(f(d), d f(1))``; split it into delta_u for the keys of u alone and delta_v.  On
    the keys of both, the noisy counts u', v' are ``e^epsilon``-close with ``epsilon = d / scale``
    (:class:`~tacit.mechanisms.Laplace`) and independent of the noise on other keys.  For an event
    S, with S' its part in which no other key is released,
    ``P(u in S) <= delta_u + P(u' in S')``, ``P(u' in S') <= e^epsilon P(v' in S')``, and
    ``P(v in S) >= P(v' in S') (1 - delta_v)``; so
    ``P(u' in S') (1 - delta_v) <= e^epsilon P(v in S)``, and together
    ``P(u in S) <= e^epsilon P(v in S) + delta_u + delta_v``.  A person in g keys moves the
    counts by g in L1.

    Source: Korolova, Kenthapadi, Mishra, Ntoulas, WWW 2009; the count of a key that only one person
    has is 1, not 0, so the tail starts at ``threshold - 1``.

    Args:
        scale: of the noise; above zero.
        threshold: the smallest noisy count that is released.

    Example:
        >>> from tacit.core import Number
        >>> counts = Space(Vector(Number("int"), size=3), L1Distance())
        >>> m = counts >> ReleaseKeys(scale=1, threshold=15)
        >>> m.map(1)[1] < 1e-6, m([0, 1000, 0])[0]
        (True, None)
    """

    scale: int | float | str | Fraction
    threshold: int

    name: ClassVar[str] = "release_keys"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "threshold", as_integer(self.threshold, "threshold", minimum=2))

    def build(self, space: Space) -> Measurement:
        """Return the release on a vector of people counts under L1."""
        if not isinstance(space.domain, Vector) or not isinstance(space.metric, L1Distance):
            raise MismatchError(f"release_keys works on people counts under L1, not on ({space})")
        scale = Fraction(self.scale)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            rounded = int(-(-moved // 1))
            return moved / scale, _passes(scale, self.threshold, rounded)

        return _above_threshold(self, space, exact_noise.DiscreteLaplace(scale), loss)


def _above_threshold(
    step: ReleaseKeys | GaussianKeys,
    space: Space,
    distribution: NoiseDistribution,
    loss: Callable[[Fraction], tuple[Fraction, Fraction]],
) -> Measurement:
    """Return the release of each key that someone has, where its noisy count is high enough."""
    threshold = step.threshold

    def release(counts: Any) -> list[int | None]:
        exact = [int(count) for count in counts]
        drawn = distribution.draw_many(len(exact)).tolist() if exact else []
        shown = [count + error for count, error in zip(exact, drawn, strict=True)]
        return [
            n if n >= threshold and count > 0 else None
            for n, count in zip(shown, exact, strict=True)
        ]

    def distribution_of(counts: Any) -> Product:
        return Product([shown_of_key(distribution, threshold, int(count)) for count in counts])

    return Measurement(
        space, ApproximateDP(), release, loss, distribution=distribution_of, step=step
    )


def shown_of_key(distribution: NoiseDistribution, threshold: int, count: int) -> FiniteDistribution:
    """List what one key shows: nothing, or its noisy count, up to a rest of 2^-80."""
    if count <= 0:
        return FiniteDistribution.of({None: 1})
    highest = max(threshold, count + distribution.support(1 - Fraction(1, 1 << 80))[1])
    table: dict[Hashable, Enclosure] = {
        shown: distribution.probability(shown - count, 128)
        for shown in range(threshold, highest + 1)
    }
    table[None] = distribution.cdf(threshold - 1 - count, 128)
    # by symmetry the mass beyond the highest listed count
    return FiniteDistribution(table, rest=distribution.cdf(count - highest - 1, 128).upper)


def tail(scale: Fraction, low: int) -> Fraction:
    """Return ``P(X >= low)`` for discrete Laplace X and ``low >= 1``, rounded up.

    >>> float(tail(Fraction(1), 1)) >= 0.268941
    True
    """
    # ``r^low / (1 + r)`` with ``r = exp(-1 / scale)``.
    ratio = exp(-1 / scale, 128)
    return exp(Fraction(-low) / scale, 128).upper / (1 + ratio.lower)


def _passes(scale: Fraction, threshold: int, moved: int) -> Fraction:
    """Return the delta of the map: how likely keys are to pass that an L1 distance brings."""
    if moved == 0:
        return Fraction(0)
    if moved >= threshold:
        return Fraction(1)
    alone, together = tail(scale, threshold - 1), tail(scale, threshold - moved)
    return min(Fraction(1), max(moved * alone, together))


@lru_cache(maxsize=256)
def min_threshold(scale: Fraction, groups: int, delta: Fraction) -> int:
    """Return the smallest threshold at which one person in many keys costs at most ``delta``.

    >>> min_threshold(Fraction(1), 1, Fraction(1, 10**6))
    15
    """
    return smallest_integer(lambda threshold: _passes(scale, threshold, groups) <= delta, 1, 2)


# Partition selection by Gaussian noise: for people who are in many groups.


# Above this epsilon the noise is about as narrow as its grid, and zCDP bounds its delta.
_LARGE = 50
_MIN_DELTA = Fraction(1, 10**40)  # deltas below are for no one, and take long
_LARGEST_DELTA = Fraction(99, 100)
_MAX_NOISE_RATIO = 2.0  # no more than thrice the continuous noise is tried


@register
@dataclass(frozen=True)
class GaussianKeys(Step):
    """Partition selection: release the keys whose number of people, with Gaussian noise, is high.

    The input is the vector of people counts over *all possible* keys, zero for those that no one
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
        threshold: the smallest noisy count that is released; at least 2.
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
        """Return the release on a vector of people counts under the sparse distance."""
        groups = keys_each(self, space)
        scale, epsilon = Fraction(self.scale), Fraction(self.epsilon)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            steps = math.floor(moved)
            if not steps:
                return Fraction(0), Fraction(0)
            noisy = delta_of_noise((scale,), epsilon, groups, steps)
            passed = groups * passes(scale, self.threshold, steps)
            return steps * epsilon, min(Fraction(1), noisy + passed)

        return _above_threshold(self, space, exact_noise.DiscreteGaussian(scale), loss)


def keys_each(step: Step, space: Space) -> int:
    """Return how many keys a person has at most, in a space of people counts."""
    metric = space.metric
    if not isinstance(space.domain, Vector) or not isinstance(metric, SparseDistance):
        raise step.mismatch(
            space, f"works on people counts under the sparse distance, not on ({space})"
        )
    return metric.coordinates


def _tail(scale: Fraction, low: int) -> Fraction:
    """Return ``P(X >= low)`` for discrete Gaussian X, rounded up."""
    return exact_noise.DiscreteGaussian(scale).cdf(-low, 128).upper


def passes(scale: Fraction, threshold: int, moved: int) -> Fraction:
    """Return ``max(d f(1), f(d))``, where f(c) is the probability that a key of c people passes."""
    if moved >= threshold:
        return Fraction(1)
    return max(moved * _tail(scale, threshold - 1), _tail(scale, threshold - moved))


@lru_cache(maxsize=256)
def delta_of_noise(
    scales: tuple[Fraction, ...], epsilon: Fraction, groups: int, moved: int
) -> Fraction:
    """Return the delta, at ``moved epsilon``, of the noise on the keys of both data sets."""
    rho = sum(groups * moved**2 / (2 * scale**2) for scale in scales)
    bound = delta_bound(ZeroConcentratedDP(), rho, moved * epsilon).upper
    if moved > 1 or epsilon > _LARGE or not _MIN_DELTA**2 < bound < _LARGEST_DELTA:
        return bound
    losses = ComposedLosses.of([(GaussianShift(scale, 1), groups) for scale in scales])
    return min(bound, losses.delta(epsilon).upper)


def min_noise_and_threshold(
    groups: int, epsilon: Fraction, delta: Fraction
) -> tuple[Fraction, int] | None:
    """Return the noise that takes half of delta, and the smallest threshold for the rest.

    >>> scale, threshold = min_noise_and_threshold(10, Fraction(1), Fraction(1, 10**6))
    >>> round(float(scale), 1), threshold
    (13.8, 76)
    """
    # (The best share lowers the threshold by less than a hundredth more.) None where the noise of
    # the continuous distribution is far from enough, as with a large epsilon, or where delta is
    # tiny.
    pairs = min_noise_and_thresholds(groups, epsilon, delta, (Fraction(1),))
    return None if pairs is None else pairs[0]


@lru_cache(maxsize=256)
def min_noise_and_thresholds(
    groups: int, epsilon: Fraction, delta: Fraction, shares: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, int], ...] | None:
    """Return the noise and the threshold of each round; see :func:`min_noise_and_threshold`.

    >>> shares = Fraction(1, 10), Fraction(9, 10)
    >>> rounds = min_noise_and_thresholds(10, Fraction(1), Fraction(1, 10**6), shares)
    >>> [(round(float(scale), 1), threshold) for scale, threshold in rounds]
    [(43.7, 252), (14.6, 80)]
    """
    # shares: what each round spends, of the sum of ``1 / scale^2`` and of the delta of the
    #   thresholds; they add up to 1.
    if epsilon > _LARGE or delta < _MIN_DELTA:
        return None
    guess = continuous_sigma(epsilon, delta / 2) * math.sqrt(groups)
    wider = [1 / math.sqrt(share) for share in shares]
    growth = 2.0**-20
    while True:
        scales = tuple(
            Fraction(math.ceil(guess * each * (1 + growth) * (1 << 20)), 1 << 20) for each in wider
        )
        taken = delta_of_noise(scales, epsilon, groups, 1)
        if taken <= delta / 2 or growth > _MAX_NOISE_RATIO:
            break
        growth *= 4
    if taken > delta / 2:
        return None

    def threshold(scale: Fraction, share: Fraction) -> int:
        allowed = (delta - taken) * share
        return smallest_integer(lambda t: groups * _tail(scale, t - 1) <= allowed, 1, 2)

    return tuple((s, threshold(s, share)) for s, share in zip(scales, shares, strict=True))


# Partition selection in rounds: what one round finds takes no place of a person in the next.
#
# A person counts in this many keys only.  Where people have more of them, most of these places fall
# on keys that many others have, and that would be found with far fewer.  So a first round of little
# cost finds those of very many people; from then on they are public, and the next round draws each
# person's keys among the others.


_MAX_ROUNDS = 16


@runtime_checkable
class CountsOfRounds(Protocol):
    """People counts that are taken anew in each round."""

    def left(self, shown: Sequence[int | None]) -> Sequence[int]:
        """Return the number of people of each key, without the keys that are shown already."""
        # shown: of each key what is shown so far; keys that are met later come after them.


@register
@dataclass(frozen=True)
class GaussianKeysInRounds(Step):
    """Partition selection in rounds: release the keys that enough people have, round by round.

    The input is the vector of people counts over *all possible* keys, zero for those that no one
    has.  Round i adds discrete Gaussian noise of its scale to each count of a key that is not
    released yet, and releases the keys that reach its threshold; a key with a zero count is never
    released.  Where a table is counted, each round counts it again without the keys that are
    released (:class:`CountsOfRounds`): a person's places go to the other keys.

    **Map.** Under the sparse distance of g coordinates, ``d -> (d epsilon, delta_noise(d) + sum_i g
    max(d f_i(1), f_i(d)))`` with ``f_i(c) = P(X_i >= threshold_i - c)``, where delta_noise is that
    of the noise of all rounds together at ``d epsilon``: for d = 1 by the exact losses of g
    coordinates a round that move by one, beyond it by zCDP, with ``rho = sum_i g d^2 / (2
    scale_i^2)``.

    *What is asked of the counts.* (1) Whatever was released before, those of u and v in a round are
    at most d apart. (2) The numbers of people of keys that only u has (after what was released in
    its run) and of keys that only v has (after what was released in its run) are at most d each,
    and at most ``g d`` together.  For one vector (2) follows from its distance, as the keys that
    are left are some of all.  For a table, let v come from u by removing a people and adding b, ``a
    + b = d``: whatever was released, the counts come from the same draws of the same rows for
    everyone else, so keys of u alone have at most a people each and ``g a`` together, those of v
    alone b and ``g b``, and a key of both moves by at most d.

    *Proof.*  Let u' and v' be runs in which each round shows none of the keys that only one of u
    and v counts in it.  A round of u and u' differs only where such a key of u passes, with
    probability at most ``sum_j f_i(c_j)`` of its counts c_j; so ``P(u in S) <= delta_u + P(u' in
    S')``, S' being the transcripts of S without them, and ``P(v in S) >= (1 - delta_v) P(v' in
    S')``, since in each round the noise on them is independent of that on the other keys, and a
    product of chances is at least 1 less the sum of what they lack.  f_i is convex below the
    threshold, so ``f_i(c) / c`` is largest for c = 1 or c = d, and with (2) ``delta_u + delta_v <=
    sum_i g d max(f_i(1), f_i(d) / d)``.  Between u' and v' every round is additive noise on counts
    that are, whatever was released before, at most d apart; the losses of its keys are dominated by
    those of g shifts by one (d = 1), or bounded in zCDP as above, and adaptive composition adds
    them up: ``P(u' in S') <= e^(d epsilon) P(v' in S') + delta_noise``.  Together, with ``P(u' in
    S') <= 1``: ``P(u in S) <= e^(d epsilon) P(v in S) + delta_noise + delta_u + delta_v``.

    Source: Swanberg, Desfontaines, Haney, "DP-SIPS: A simpler, more scalable mechanism for
    differentially private partition selection", PoPETs 2023, for rounds without the keys that are
    found; Chen, Cohen-Addad, Epasto, Zadimoghaddam, "Scalable private partition selection via
    adaptive weighting", ICML 2025, for Gaussian noise composed over the rounds; Zhu, Dong, Wang,
    "Optimal accounting of differential privacy via characteristic function", AISTATS 2022, for the
    composition of losses that dominate.  The map, for discrete noise and any distance, is proven
    here.

    Args:
        scales: of the noise in each round; above zero.
        thresholds: the smallest noisy count that is released in each round; at least 2.
        epsilon: what is claimed at distance 1, of all rounds together; above zero.

    Raises:
        UsageError: an argument out of its range, or not one scale and one threshold a round.

    Example:
        >>> from tacit.core import Number, SparseDistance, Vector
        >>> counts = Space(Vector(Number("int"), size=3), SparseDistance(2))
        >>> m = counts >> GaussianKeysInRounds(scales=[22, 7], thresholds=[120, 40], epsilon=1)
        >>> m.map(1)[1] < 5e-6, m([0, 1000, 0])[0]
        (True, None)
    """

    scales: Sequence[int | float | str | Fraction]
    thresholds: Sequence[int]
    epsilon: int | float | str | Fraction

    name: ClassVar[str] = "gaussian_keys_in_rounds"

    def __post_init__(self) -> None:
        scales = tuple(positive(each, "a scale") for each in _several(self.scales))
        thresholds = tuple(
            as_integer(each, "a threshold", minimum=2) for each in _several(self.thresholds)
        )
        if len(scales) != len(thresholds) or not 1 <= len(scales) <= _MAX_ROUNDS:
            raise UsageError(
                f"each round has a scale and a threshold, and there are 1 to {_MAX_ROUNDS} rounds"
            )
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @property
    def _rounds(self) -> list[tuple[Fraction, int]]:
        return [(Fraction(s), t) for s, t in zip(self.scales, self.thresholds, strict=True)]

    def build(self, space: Space) -> Measurement:
        """Return the release on a vector of people counts under the sparse distance."""
        groups, epsilon, rounds = keys_each(self, space), Fraction(self.epsilon), self._rounds
        scales = tuple(scale for scale, _ in rounds)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            steps = int(moved)
            if not steps:
                return Fraction(0), Fraction(0)
            noisy = delta_of_noise(scales, epsilon, groups, steps)
            passed = sum(groups * passes(scale, minimum, steps) for scale, minimum in rounds)
            return steps * epsilon, min(Fraction(1), noisy + passed)

        def release(counts: Any) -> list[int | None]:
            shown: list[int | None] = []
            for scale, threshold in rounds:
                left = counts.left(shown) if isinstance(counts, CountsOfRounds) else counts
                exact = [int(count) for count in left]
                shown += [None] * (len(exact) - len(shown))
                drawn = exact_noise.discrete_gaussian(scale, len(exact)).tolist() if exact else []
                noisy = [count + error for count, error in zip(exact, drawn, strict=True)]
                for index, noisy_count in enumerate(noisy):
                    if shown[index] is None and exact[index] > 0 and noisy_count >= threshold:
                        shown[index] = noisy_count
            return shown

        def distribution_of(counts: Any) -> Product:
            return Product([_of_key(rounds, int(count)) for count in counts])

        return Measurement(
            space, ApproximateDP(), release, loss, distribution=distribution_of, step=self
        )


def _several(given: Any) -> tuple[Any, ...]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise UsageError("scales and thresholds are lists, with one number a round")
    return tuple(given)


def _of_key(rounds: Sequence[tuple[Fraction, int]], count: int) -> FiniteDistribution:
    """List what one key of a vector shows: nothing in any round, or its noisy count."""
    table: dict[Hashable, Enclosure] = {}
    left, rest = Enclosure.of(1), Fraction(0)
    for scale, threshold in rounds:
        one = shown_of_key(exact_noise.DiscreteGaussian(scale), threshold, count)
        rest += one.rest
        for value, chance in one.table.items():
            if value is not None:
                known = table.get(value, Enclosure.of(0))
                table[value] = (known + left * chance).rounded(160)
        left = (left * one.table[None]).rounded(160)
    return FiniteDistribution({**table, None: left}, rest=rest)


# Partition selection by truncated Laplace noise: the groups that this many people have, and no
# rest.
#
# Noise that never passes a bound of its own needs no tail: a group that no one has is never shown,
# and one that enough people have always is.


_WEIGHT_BITS = 64


@register
@dataclass(frozen=True)
class SelectKeys(Step):
    """Partition selection: release the keys that enough people have, with a noisy number of them.

    The input is the vector of people counts over *all possible* keys, zero for those that no one
    has.  Each count gets discrete Laplace noise of scale ``1 / epsilon``, truncated to ``-k`` to
    ``k``; a key is released where the noisy count is above k.  So a key that no one has is never
    released, and one of more than ``2 k`` people always is.  The reach k is the smallest at which
    the noise is k with a probability of at most ``delta``, or one less, by a public coin for each
    key: delta is then spent whole.

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
        """Return the release on a vector of people counts under the sparse distance or L1."""
        metric = space.metric
        if not isinstance(space.domain, Vector) or not isinstance(
            metric, (SparseDistance, L1Distance)
        ):
            raise self.mismatch(
                space, f"works on people counts under the sparse distance or L1, not on ({space})"
            )
        keys = metric.coordinates if isinstance(metric, SparseDistance) else 1
        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)
        noise_law = TruncatedNoise(epsilon, delta)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            one = approximate_loss(epsilon, delta, moved)
            return keys * one[0], min(Fraction(1), keys * one[1])

        def release(counts: Any) -> list[int | None]:
            exact = np.asarray([int(count) for count in counts], dtype=object)
            radius, drawn = noise_law.draw(len(exact))
            return [
                int(n) if shown else None
                for n, shown in zip(exact + drawn, exact + drawn > radius, strict=True)
            ]

        def distribution(counts: Any) -> Product:
            return Product([noise_law.shown(int(count)) for count in counts])

        return Measurement(
            space, ApproximateDP(), release, loss, distribution=distribution, step=self
        )


@dataclass(frozen=True)
class TruncatedNoise:
    """Discrete Laplace noise on ``-k`` to ``k``, for one of two k, by a public coin.

    >>> distribution = TruncatedNoise(Fraction(1), Fraction(1, 10**6))
    >>> distribution.radius, float(distribution.share)
    (14, 0.0674...)
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def radius(self) -> int:
        """The larger k."""
        return _tail_bound(self.epsilon, self.delta)[0]

    @property
    def share(self) -> Fraction:
        """The probability of the larger k."""
        return _tail_bound(self.epsilon, self.delta)[1]

    def draw(self, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return for each of n keys its k, and its noise."""
        radius = np.full(n, self.radius, dtype=object)
        if self.share < 1 and n:
            radius -= ~exact_noise.bernoulli(self.share, n)
        return radius, draw_within(1 / self.epsilon, radius)

    def shown(self, count: int) -> FiniteDistribution:
        """List what one key of so many people shows: nothing, or its noisy count."""
        if count <= 0:
            return FiniteDistribution.of({None: 1})
        table: dict[Hashable, Enclosure] = {}
        for radius, odds in ((self.radius, self.share), (self.radius - 1, 1 - self.share)):
            if not odds:
                continue
            one = probability_within(self.epsilon, radius, 0)
            for drawn in range(-radius, radius + 1):
                shown = count + drawn if count + drawn > radius else None
                p = odds * one * exp(-self.epsilon * abs(drawn), 128)
                table[shown] = (table.get(shown, Enclosure.of(0)) + p).rounded(160)
        return FiniteDistribution(table)


@lru_cache(maxsize=256)
def _tail_bound(epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """The least k at which ``P(Y = k) <= delta``, and the least share of it, k - 1 beside."""
    # The share w solves ``w P_k + (1 - w) P_(k - 1) = delta``, rounded up.

    def last(radius: int) -> Enclosure:
        return probability_within(epsilon, radius, radius)

    radius = smallest_integer(lambda k: last(k).upper <= delta, 0, 1)
    here, before = last(radius), last(radius - 1)
    share = ((before.upper - delta) / (before.upper - here.upper)) * (1 << _WEIGHT_BITS)
    return radius, Fraction(min(math.ceil(share), 1 << _WEIGHT_BITS), 1 << _WEIGHT_BITS)


# One name for all four.


_FORMS = (
    "select_partitions(epsilon=1, delta='1e-6'), select_partitions(scale=1, threshold=15), "
    "select_partitions(noise='gaussian', scale=7, threshold=40, epsilon=1), or "
    "select_partitions(noise='gaussian', scales=[22, 7], thresholds=[120, 40], epsilon=1)"
)


@overload
def select_partitions(*, epsilon: NumberLike, delta: NumberLike) -> SelectKeys: ...


@overload
def select_partitions(
    *, scale: NumberLike, threshold: int, noise: Literal["laplace"] = "laplace"
) -> ReleaseKeys: ...


@overload
def select_partitions(
    *, noise: Literal["gaussian"], scale: NumberLike, threshold: int, epsilon: NumberLike
) -> GaussianKeys: ...


@overload
def select_partitions(
    *,
    noise: Literal["gaussian"],
    scales: Sequence[NumberLike],
    thresholds: Sequence[int],
    epsilon: NumberLike,
) -> GaussianKeysInRounds: ...


@public
def select_partitions(
    *,
    epsilon: NumberLike | None = None,
    delta: NumberLike | None = None,
    scale: NumberLike | None = None,
    threshold: int | None = None,
    scales: Sequence[NumberLike] | None = None,
    thresholds: Sequence[int] | None = None,
    noise: Literal["laplace", "gaussian"] | None = None,
) -> Step:
    """Return a step that releases those groups of a table which enough people are in.

    Its input is the vector of people counts over *all possible* keys, zero for those that nobody
    has; its output has the noisy count of each key that is released, and None for the others.  A
    key that nobody has is never released.  The arguments select the mechanism:

    - ``epsilon``, ``delta``: truncated discrete Laplace noise, the best selection for one key a
      person; under the sparse distance or L1.
    - ``scale``, ``threshold``: discrete Laplace noise; under L1.
    - ``noise="gaussian"`` with ``scale``, ``threshold``, ``epsilon``: discrete Gaussian noise,
      better where a person is in many groups; under the sparse distance.
    - ``noise="gaussian"`` with ``scales``, ``thresholds``, ``epsilon``: the same in rounds, each
      of which counts the keys that are not released yet.

    Args:
        epsilon: what is claimed: for one key, or with Gaussian noise for one person.
        delta: for one key; above zero and below one.
        scale: of the noise; above zero.
        threshold: the least noisy count that is released; at least 2.
        scales: of the noise in each round.
        thresholds: the least noisy count that is released in each round.
        noise: ``"laplace"`` or ``"gaussian"``.

    Raises:
        UsageError: arguments that belong to no mechanism together, or one out of its range.

    Source: Desfontaines, Voss, Gipson, Mandayam, PoPETs 2022; Korolova, Kenthapadi, Mishra,
    Ntoulas, WWW 2009; Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, ICML 2020; Swanberg,
    Desfontaines, Haney, PoPETs 2023.

    >>> from tacit.core import Number
    >>> counts = Space(Vector(Number("int"), size=3), L1Distance())
    >>> m = counts >> select_partitions(epsilon=1, delta="1e-6")
    >>> m.map(1) == (1, Fraction("1e-6")), m([0, 1000, 0])[0]
    (True, None)
    """
    given = {
        name: value
        for name, value in (
            ("epsilon", epsilon),
            ("delta", delta),
            ("scale", scale),
            ("threshold", threshold),
            ("scales", scales),
            ("thresholds", thresholds),
        )
        if value is not None
    }
    kinds: dict[tuple[str | None, frozenset[str]], type[Step]] = {
        (None, frozenset({"epsilon", "delta"})): SelectKeys,
        (None, frozenset({"scale", "threshold"})): ReleaseKeys,
        ("laplace", frozenset({"scale", "threshold"})): ReleaseKeys,
        ("gaussian", frozenset({"scale", "threshold", "epsilon"})): GaussianKeys,
        ("gaussian", frozenset({"scales", "thresholds", "epsilon"})): GaussianKeysInRounds,
    }
    if noise not in (None, "laplace", "gaussian"):
        raise UsageError(f"noise is 'laplace' or 'gaussian', not {shown_value(noise)}")
    kind = kinds.get((noise, frozenset(given)))
    if kind is None:
        raise UsageError(f"these arguments do not belong together; write {_FORMS}")
    return kind(**given)
