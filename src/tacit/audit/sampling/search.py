"""Look for the pair of neighbours on which a mechanism loses the most, and audit it there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.arithmetic.mixing import Repeatable
from tacit.audit.sampling.events import learned_event
from tacit.audit.sampling.neighbours import Pair, changed, proposed
from tacit.audit.sampling.sampled import SampledAudit, outputs_of, sampled
from tacit.calls import public
from tacit.core import Space
from tacit.display.card import Shown
from tacit.errors import UsageError

__all__ = ["Search", "search"]

_SHORT = 60
"""Runs a side of the first look at a pair; each later look has four times as many."""
_OF_BATCHES = 10
"""So many times as many where the mechanism gives many outputs at once."""


@public
@dataclass(frozen=True)
class Search(Shown):
    """The worst pair that was found, and its audit.  True where the claim is not refuted.

    Attributes:
        u: a data set.
        v: its neighbour.
        audit: of this pair, by runs of its own.
        tried: how many pairs were run.
    """

    u: Any
    v: Any
    audit: SampledAudit
    tried: int

    def __bool__(self) -> bool:
        return bool(self.audit)

    def __str__(self) -> str:
        shown = " against ".join(repr(x)[:60] for x in (self.u, self.v))
        return f"{self.audit}; of {self.tried} pairs the worst is {shown}"


@public
def search(
    mechanism: Callable[..., Any],
    space: Space,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    d_in: Number = 1,
    statistic: str | Callable[[Any], Any] | None = None,
    pairs: int = 60,
    confidence: float = 0.99,
    samples: int = 10_000,
    batch: bool = False,
    seed: int = 0,
) -> Search:
    """Search for the pair of neighbours with the largest privacy loss, and audit it.

    Pairs are proposed from the extremes of the space (its bounds, NaN and infinities where it holds
    them, the empty data set, ties, one record beside many), and, where a ``statistic`` is named,
    from the neighbours that attain its exact sensitivity.  A short run of each estimates the log
    ratio of the best event, with its error against it; the best quarter is run four times as long,
    and neighbours of the best one are tried.  The audit of the last pair counts runs of its own, so
    its bound is valid however the pair was chosen.

    Args:
        mechanism: called with a data set, gives an output, as for :func:`tacit.audit.sampled`.
        space: the data sets, and what neighbours are.
        epsilon: the claim, where there is one.
        delta: the delta at which epsilon is bounded.
        d_in: the largest distance of neighbours.
        statistic: what the mechanism releases with noise, by its name or as a function.
        pairs: how many pairs are run at first.
        confidence: of the audit.
        samples: the most runs of the audit on each side.
        batch: the mechanism is called with a data set and a number, and returns that many outputs.
        seed: of the proposals; the mechanism draws its own noise.

    Raises:
        UsageError: the space has no two members that near to each other, or as for ``sampled``.

    Source: Bichsel et al., "DP-Sniper" (S&P 2021), and Ding et al., "Detecting violations of
        differential privacy" (CCS 2018), for searches of this kind.

    Example:
        >>> import tacit as tc
        >>> column = tc.Space(tc.Vector(tc.Number("int", 0, 100)), tc.SymmetricDistance())
        >>> def forgetful(ages):  # noise for a count, on a sum
        ...     return sum(ages) + tc.noise.discrete_laplace(1)
        >>> found = search(forgetful, column, epsilon=1, pairs=20, samples=500)
        >>> bool(found), abs(sum(found.u) - sum(found.v)) > 1
        (False, True)
    """
    draw = Repeatable(seed)
    far, most = as_fraction(d_in, "d_in"), as_integer(pairs, "pairs", minimum=1)
    rest = float(as_fraction(delta, "delta"))
    every = proposed(space, far, draw, statistic)
    if not every:
        raise UsageError(
            f"no two members of {space.domain} at a distance of at most {far} were found"
        )
    first, later = every[: most // 2], every[most // 2 :]
    pool = first + draw.sample(later, min(len(later), most - len(first)))
    tried, runs = len(pool), _SHORT * (_OF_BATCHES if batch else 1)

    def best(candidates: list[Pair], keep: int) -> list[Pair]:
        scored = [(_score(mechanism, pair, runs, rest, batch), pair) for pair in candidates]
        return [pair for _, pair in sorted(scored, key=lambda one: -one[0])[:keep]]

    pool = best(pool, max(1, len(pool) // 4))
    while len(pool) > 1:
        runs *= 4
        fresh = changed(space, pool[0], far, draw)[: max(1, len(pool) // 2)]
        tried += len(fresh)
        pool = best([*pool, *fresh], max(1, len(pool) // 4))
    u, v = pool[0]
    audit = sampled(
        mechanism,
        u,
        v,
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        samples=samples,
        batch=batch,
    )
    return Search(u, v, audit, tried)


def _score(
    mechanism: Callable[..., Any], pair: Pair, runs: int, delta: float, batch: bool
) -> float:
    """Estimate what an event tells: learned on one half of the runs, counted on the other."""
    sides = [outputs_of(mechanism, data, runs, batch) for data in pair]
    half = runs // 2
    event = learned_event(sides[0][:half], sides[1][:half], delta)
    shares = [float(np.mean(event(side[half:]))) for side in sides]
    p, q = shares[::-1] if event.tells_of_v else shares
    error = 1 / (runs - half)
    low = p - delta - 2 * (p * (1 - p) * error) ** 0.5 - error
    high = q + 2 * (q * (1 - q) * error) ** 0.5 + error
    return float(np.log(max(low, 1e-9 * (1 + p)) / high))
