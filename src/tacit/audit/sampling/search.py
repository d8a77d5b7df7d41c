"""Look for the pair of neighbours on which a mechanism loses the most, and audit it there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arithmetic.exact import Number, as_integer, positive
from tacit.arithmetic.mixing import Repeatable
from tacit.audit.sampling.events import learned_score
from tacit.audit.sampling.graded import expected_bound
from tacit.audit.sampling.neighbours import Pair, changed, proposed
from tacit.audit.sampling.sampled import SampledAudit, checked_numbers, outputs_of_both, sampled
from tacit.calls import public
from tacit.core import Space
from tacit.display.card import Shown
from tacit.errors import UsageError

__all__ = ["Search", "search"]

_SHORT, _SHORT_OF_BATCHES = 60, 600
"""Runs a side of the first look at a pair, at least; each later look has four times as many."""
_PART = 4
"""The first looks have this part of the runs of the audit together, or more."""


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
    them, the empty data set, ties, one record beside many, all records of a person or under a key
    at once, as far as ``d_in`` goes), and, where a ``statistic`` is named,
    from the neighbours that attain its exact sensitivity.  A short run of each estimates
    the bound that an audit would reach, and how far apart the outputs are; the best quarter by
    either is run four times as long, and neighbours of the best one are tried.  All of that takes
    about as many runs as the audit.  The audit of the last pair counts runs of its own, so its
    bound is valid however the pair was chosen.  Where all pairs lose little, a better one than
    the last may be missed: one is told from another by as many runs as a refutation takes.

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
        UsageError: the space has no two members that near to each other, there is no such
            statistic, or as for ``sampled``.

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
    if not isinstance(space, Space):
        kind = type(space).__name__
        raise UsageError(f"space is a tc.Space of a domain and a distance, not a {kind}")
    draw = Repeatable(as_integer(seed, "seed", minimum=0))
    far, most = positive(d_in, "d_in"), as_integer(pairs, "pairs", minimum=1)
    limit, rest, confidence = checked_numbers(samples, delta, confidence)
    every = proposed(space, far, draw, statistic)
    if not every:
        raise UsageError(
            f"no two members of {space.domain} at a distance of at most {far} were found; "
            "is d_in too small for this distance?"
        )
    first, later = every[: most // 2], every[most // 2 :]
    pool = first + draw.sample(later, min(len(later), most - len(first)))
    tried = len(pool)
    runs = max(_SHORT_OF_BATCHES if batch else _SHORT, limit // (_PART * tried))

    def best(candidates: list[Pair], keep: int) -> list[Pair]:
        scores = [
            _scores(mechanism, pair, runs, rest, batch, limit, confidence) for pair in candidates
        ]
        ways = [np.argsort([-one[way] for one in scores], kind="stable") for way in (0, 1)]
        # the first by either score in turn, each once
        both = dict.fromkeys(int(i) for pair in zip(*ways, strict=True) for i in pair)
        return [candidates[i] for i in list(both)[:keep]]

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


def _scores(
    mechanism: Callable[..., Any],
    pair: Pair,
    runs: int,
    delta: float,
    batch: bool,
    samples: int,
    confidence: float,
) -> tuple[float, float]:
    """Estimate what an audit of a pair may reach, and how far apart its outputs are.

    Grades are learned on one half of the runs and counted on the other.  The first score is the
    largest claim against which bets on them would grow, in all samples of the audit, to what
    refutes.  Few runs tell little of that; the second is the difference of the mean grades in its
    standard errors, which few runs tell better and rare outputs hardly move.
    """
    sides = outputs_of_both(mechanism, pair, runs, batch)
    half = runs // 2
    score = learned_score(sides[0][:half], sides[1][:half])
    grades = score(sides[0][half:]), score(sides[1][half:])
    error = math.sqrt(sum(float(np.var(one)) + 1e-12 for one in grades) / (runs - half))
    return (
        expected_bound(grades, samples, delta, confidence),
        float(np.mean(grades[0]) - np.mean(grades[1])) / error,
    )
