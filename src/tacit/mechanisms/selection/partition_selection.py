"""Partition selection: release those unlisted groups that have more people than a threshold."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from tacit import noise
from tacit.arithmetic.bisection import least_integer
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import as_integer, positive
from tacit.core import ApproximateDP, L1Distance, Measurement, Space, Step, Vector, register
from tacit.errors import MismatchError
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Product

__all__ = ["ReleaseKeys", "least_threshold", "tail"]


@register
@dataclass(frozen=True)
class ReleaseKeys(Step):
    """Partition selection: release the keys whose noisy number of people reaches ``threshold``.

    The input is the vector of people counts over *all possible* keys, zero for those that nobody
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
    has is 1, not 0, so the tail begins at ``threshold - 1``.

    Args:
        scale: of the noise; above zero.
        threshold: the least noisy count that is released.

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
        """Return the release on a vector of people counts under L1.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no vector of whole numbers under L1.
        """
        if not isinstance(space.domain, Vector) or not isinstance(space.metric, L1Distance):
            raise MismatchError(f"release_keys works on people counts under L1, not on ({space})")
        scale = Fraction(self.scale)

        def loss(moved: Fraction) -> tuple[Fraction, Fraction]:
            whole = int(-(-moved // 1))
            return moved / scale, _passes(scale, self.threshold, whole)

        def release(counts: Any) -> list[int | None]:
            exact = [int(count) for count in counts]
            noisy = noise.discrete_laplace(scale, len(exact)).tolist() if exact else []
            shown = [count + error for count, error in zip(exact, noisy, strict=True)]
            return [
                n if n >= self.threshold and count > 0 else None
                for n, count in zip(shown, exact, strict=True)
            ]

        def law(counts: Any) -> Product:
            return Product([_one_key(scale, self.threshold, int(count)) for count in counts])

        return Measurement(space, ApproximateDP(), release, loss, distribution=law, step=self)


def _one_key(scale: Fraction, threshold: int, count: int) -> FiniteDistribution:
    """List what one key shows: nothing, or its noisy count, up to a rest of 2^-80."""
    if count <= 0:
        return FiniteDistribution.of({None: 1})
    law = noise.DiscreteLaplace(scale)
    highest = max(threshold, count + law.support(1 - Fraction(1, 1 << 80))[1])
    table: dict[Hashable, Enclosure] = {
        shown: law.probability(shown - count, 128) for shown in range(threshold, highest + 1)
    }
    table[None] = law.cdf(threshold - 1 - count, 128)
    return FiniteDistribution(table, rest=tail(scale, highest + 1 - count))


def tail(scale: Fraction, low: int) -> Fraction:
    """Return ``P(X >= low)`` for discrete Laplace X and ``low >= 1``, rounded up.

    ``r^low / (1 + r)`` with ``r = exp(-1 / scale)``.

    >>> float(tail(Fraction(1), 1)) >= 0.268941
    True
    """
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
def least_threshold(scale: Fraction, groups: int, delta: Fraction) -> int:
    """Return the least threshold at which one person, in so many keys, costs at most ``delta``.

    >>> least_threshold(Fraction(1), 1, Fraction(1, 10**6))
    15
    """
    return least_integer(lambda threshold: _passes(scale, threshold, groups) <= delta, 1, 2)
