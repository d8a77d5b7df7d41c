"""Whether an event that is rare on both sides refutes a claim: an exact test of its hits.

**The test.**  Each release is on u or on v, as a fair coin says.  With P(u) = p and P(v) = q for
the event, a release that shows it is of u with probability p / (p + q), whatever the releases
before it were.  A claim of epsilon (at delta 0) says p <= exp(epsilon) q, so that this is at most
1 / (1 + exp(-epsilon)): of m hits, those of u are at most as many, in distribution, as successes of
a binomial variable with m trials of that probability.  The probability of at least as many as were
seen is an exact level, and in the same way with u and v changed about.  The releases are looked at
five times, so each of the ten tests has a tenth of what is allowed altogether (Bonferroni).

A test of hits alone loses little where the event is rare: with none on v, 45 on u refute epsilon 1
with confidence 1 - 10^-5, where bets with mixed stakes (:mod:`tacit.audit.sampling.betting`) pay
for the mixture and take 50.  Where the event is common, bets tell more.

Source: Clopper and Pearson (1934), for the bound; Przyborowski and Wilenski (1940), for the
conditional test of two rates.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Hits", "count_hits"]

_LOOKS = (12, 6, 3, 2, 1)
"""Looks after a twelfth of the releases, a sixth, a third, a half and all."""


@dataclass(frozen=True)
class Hits:
    """How often an event was seen.

    Attributes:
        of_u: hits on u.
        of_v: hits on v.
        on_u: releases on u.
        on_v: releases on v.
        level: of the test of each look and direction.
    """

    of_u: int
    of_v: int
    on_u: int
    on_v: int
    level: float

    def refutes(self, epsilon: float) -> bool:
        """Return whether a claim at delta 0 is refuted.

        >>> Hits(45, 0, 1200, 1200, 1e-5 / 10).refutes(1.0)
        True
        >>> Hits(44, 0, 1200, 1200, 1e-5 / 10).refutes(1.0)
        False
        """
        most = 1 / (1 + math.exp(-epsilon))
        return _at_least(max(self.of_u, self.of_v), self.of_u + self.of_v, most) <= self.level

    @property
    def lower(self) -> float:
        """The largest epsilon that is refuted, 0 where there is none."""
        low, high = 0.0, 40.0
        if not self.refutes(low):
            return 0.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.refutes(middle) else (low, middle)
        return low

    def __str__(self) -> str:
        return f"{self.of_u} of {self.on_u} releases against {self.of_v} of {self.on_v}"


def count_hits(
    left: Callable[[], Any],
    right: Callable[[], Any],
    event: Callable[[Any], bool],
    *,
    epsilon: float,
    runs: int,
    level: float,
) -> Hits:
    """Release on u or v by a fair coin, until the claim is refuted or the releases are used up.

    Args:
        left: releases on u.
        right: releases on v.
        event: from an answer to True or False.
        epsilon: the claim, at delta 0.
        runs: the most releases, on both sides together.
        level: the probability, at most, with which a true claim is refuted.
    """
    hits, releases = [0, 0], [0, 0]
    each = level / (2 * len(_LOOKS))
    for part in _LOOKS:
        while sum(releases) < runs // part:
            side = secrets.randbits(1)
            releases[side] += 1
            hits[side] += bool(event((left, right)[side]()))
        found = Hits(hits[0], hits[1], releases[0], releases[1], each)
        if found.refutes(epsilon):
            break
    return found


def _at_least(least: int, trials: int, chance: float) -> float:
    """Return the probability of so many successes or more, no lower than it is.

    >>> round(_at_least(2, 3, 0.5), 6)
    0.5
    """
    if least <= 0:
        return 1.0
    whole = math.lgamma(trials + 1)
    terms = (
        whole
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(chance)
        + (trials - k) * math.log1p(-chance)
        for k in range(least, trials + 1)
    )
    return math.fsum(map(math.exp, terms)) * (1 + 1e-9)  # rounding: a relative 1e-11 at most
