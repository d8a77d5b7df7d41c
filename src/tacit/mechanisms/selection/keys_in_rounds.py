"""Partition selection in rounds: what one round finds takes no place of a person in the next.

A person counts in so many keys only.  Where people have more of them, most of these places fall on
keys that many others have, and that would be found with far fewer.  So a first round of little cost
finds those of very many people; from then on they are public, and the next round draws each
person's keys among the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import as_integer, positive
from tacit.core import ApproximateDP, Measurement, Space, Step, register
from tacit.errors import UsageError
from tacit.mechanisms.selection.gaussian_keys import delta_of_noise, keys_each, passes, shown_of_key
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Product

__all__ = ["CountsOfRounds", "GaussianKeysInRounds"]

_MOST_ROUNDS = 16


@runtime_checkable
class CountsOfRounds(Protocol):
    """People counts that are taken anew in each round."""

    def left(self, shown: Sequence[int | None]) -> Sequence[int]:
        """Return the number of people of each key, without the keys that are shown already.

        Args:
            shown: of each key what is shown so far; keys that are met later come after them.
        """


@register
@dataclass(frozen=True)
class GaussianKeysInRounds(Step):
    """Partition selection in rounds: release the keys that enough people have, round by round.

    The input is the vector of people counts over *all possible* keys, zero for those that nobody
    has.  Round i adds discrete Gaussian noise of its scale to each count of a key that is not
    released yet, and releases the keys that reach its threshold; a key with a zero count is never
    released.  Where a table is counted, each round counts it anew without the keys that are
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
        thresholds: the least noisy count that is released in each round; at least 2.
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
        if len(scales) != len(thresholds) or not 1 <= len(scales) <= _MOST_ROUNDS:
            raise UsageError(
                f"each round has a scale and a threshold, and there are 1 to {_MOST_ROUNDS} rounds"
            )
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    @property
    def _rounds(self) -> list[tuple[Fraction, int]]:
        return [(Fraction(s), t) for s, t in zip(self.scales, self.thresholds, strict=True)]

    def build(self, space: Space) -> Measurement:
        """Return the release on a vector of people counts under the sparse distance.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no vector of whole numbers under the sparse distance.
        """
        groups, epsilon, rounds = keys_each(self, space), Fraction(self.epsilon), self._rounds
        scales = tuple(scale for scale, _ in rounds)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            steps = int(moved)
            if not steps:
                return Fraction(0), Fraction(0)
            noisy = delta_of_noise(scales, epsilon, groups, steps)
            passed = sum(groups * passes(scale, least, steps) for scale, least in rounds)
            return steps * epsilon, min(Fraction(1), noisy + passed)

        def release(counts: Any) -> list[int | None]:
            shown: list[int | None] = []
            for scale, threshold in rounds:
                left = counts.left(shown) if isinstance(counts, CountsOfRounds) else counts
                exact = [int(count) for count in left]
                shown += [None] * (len(exact) - len(shown))
                drawn = noise.discrete_gaussian(scale, len(exact)).tolist() if exact else []
                noisy = [count + error for count, error in zip(exact, drawn, strict=True)]
                for place, found in enumerate(noisy):
                    if shown[place] is None and exact[place] > 0 and found >= threshold:
                        shown[place] = found
            return shown

        def law(counts: Any) -> Product:
            return Product([_of_key(rounds, int(count)) for count in counts])

        return Measurement(space, ApproximateDP(), release, loss, distribution=law, step=self)


def _several(given: Any) -> tuple[Any, ...]:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise UsageError("scales and thresholds are lists, with one number a round")
    return tuple(given)


def _of_key(rounds: Sequence[tuple[Fraction, int]], count: int) -> FiniteDistribution:
    """List what one key of a vector shows: nothing in any round, or its noisy count."""
    table: dict[Hashable, Enclosure] = {}
    left, rest = Enclosure.of(1), Fraction(0)
    for scale, threshold in rounds:
        one = shown_of_key(scale, threshold, count)
        rest += one.rest
        for value, chance in one.table.items():
            if value is not None:
                known = table.get(value, Enclosure.of(0))
                table[value] = (known + left * chance).rounded(160)
        left = (left * one.table[None]).rounded(160)
    return FiniteDistribution({**table, None: left}, rest=rest)
