"""The nearest counts that are not below zero, in a metric that is chosen.

Let x be estimates of counts by least squares, and K a positive matrix.  Of all counts z that add up
with one another and are at least zero, the nearest minimises ``(z - x)^T K^-1 (z - x)``.  The true
counts t are among these z.

*Theorem.*  In that metric the nearest counts are never farther from t than x is, whatever the noise
was.  *Proof.*  The z form a closed convex set, and t is in it.  For the nearest point p the angle
at p between x and any point of the set is at least a right one, so that ``|x - t|^2 >= |x - p|^2 +
|p - t|^2``.

That is a bound for all counts together; a single count may get worse.  With the covariance of the
estimates as K (the cells of a line) it is about what the noise tells.  With K for which the form is
a sum of squared errors (marginals) that sum is never larger than before, which does not hold of the
covariance: it moves what is least known farthest, and with it cells that were near.  Where no
estimate is below zero, nothing changes.

*Algorithm.*  The alternating direction method of multipliers, which converges for every convex
problem with a solution (Boyd, Parikh, Chu, Peleato, Eckstein, *Distributed optimization and
statistical learning via the alternating direction method of multipliers*, 2011, section 3.2 and
appendix A; over-relaxed, Eckstein and Bertsekas 1992).  Its two steps are in closed form: to go
from x towards z as far as K allows, by the eigenvalues of K, and to cut at zero.  The rounds are
limited; what is then still below zero is lifted by spreading rows evenly over all cells, so that
the result adds up and is at least zero in any case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.workload.marginals import Subset

__all__ = ["centred", "nonnegative_cells", "nonnegative_marginals"]

Array = NDArray[np.float64]
_Pull = Callable[[list[Array]], list[Array]]

_ROUNDS = 5000
_EXACT = 1e-13
_NOTHING = 1e-9
_RELAXED = 1.6


def nonnegative_cells(counts: Array, covariance: Array, along: int = 0) -> Array:
    """Return the nearest counts of cells that are not below zero.

    Args:
        counts: the estimates; each line along an axis is fitted by itself.
        covariance: of the numbers of a line; or another K.
        along: the axis.

    >>> found = nonnegative_cells(np.array([-1.0, 3.0]), np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> found.round(9).tolist()
    [0.0, 3.5]
    """
    values, vectors = np.linalg.eigh(covariance)
    weights = _weights(np.maximum(values, 0.0))
    lines = np.moveaxis(counts, along, 0).reshape(len(covariance), -1)

    def pull(gaps: list[Array]) -> list[Array]:
        (gap,) = gaps
        return [vectors @ (weights[:, None] * (vectors.T @ gap))]

    (found,) = _nearest([lines], pull)
    # a line that was not reached in time is lifted as a whole
    found = _cut(found + np.maximum(-found.min(axis=0), 0.0), lines)
    shape = np.moveaxis(counts, along, 0).shape
    return np.asarray(np.moveaxis(found.reshape(shape), 0, along))


def nonnegative_marginals(
    marginals: Mapping[Subset, Array], variances: Mapping[Subset, float]
) -> dict[Subset, Array]:
    """Return the nearest marginals that are not below zero and agree on what they share.

    Args:
        marginals: estimates of all cells of marginals that agree, by their axes.
        variances: of each set of axes within one of them the number s of its residual, on which K
            is ``s P`` (:mod:`tacit.tables.together.strategy`).

    >>> table = {(0, 1): np.array([[-1.0, 2.0], [3.0, 4.0]])}
    >>> whole = nonnegative_marginals(table, {(): 4, (0,): 2, (1,): 2, (0, 1): 1})[0, 1]
    >>> whole.min().item(), round(float(whole.sum()), 6)  # the covariance is that of the identity
    (0.0, 9.0)
    """
    sizes = {
        i: size for s, table in marginals.items() for i, size in zip(s, table.shape, strict=True)
    }
    sets = list(marginals)
    holds: dict[Subset, list[int]] = {
        part: [n for n, subset in enumerate(sets) if set(part) <= set(subset)] for part in variances
    }
    holds = {part: within for part, within in holds.items() if within}

    def rest(subset: Subset, part: Subset) -> int:
        return math.prod(sizes[i] for i in subset if i not in part)

    spread = {part: sum(1 / rest(sets[n], part) for n in within) for part, within in holds.items()}
    moved = np.array([variances[part] * spread[part] for part in holds])
    weights = dict(zip(holds, _weights(moved).tolist(), strict=True))

    def pull(gaps: list[Array]) -> list[Array]:
        found = [np.zeros_like(gap) for gap in gaps]
        for part, within in holds.items():
            told = np.zeros([sizes[i] for i in part])
            for n in within:
                gone = tuple(p for p, i in enumerate(sets[n]) if i not in part)
                told += gaps[n].sum(axis=gone) / rest(sets[n], part)
            told = centred(told) * (weights[part] / spread[part])
            for n in within:
                kept = [sizes[i] if i in part else 1 for i in sets[n]]
                found[n] += told.reshape(kept) / rest(sets[n], part)
        return found

    start = list(marginals.values())
    tables = _nearest(start, pull)
    lacking = max((-float(table.min()) * table.size for table in tables), default=0.0)
    lifted = [table + max(lacking, 0.0) / table.size for table in tables]
    return dict(zip(sets, (_cut(*pair) for pair in zip(lifted, start, strict=True)), strict=True))


def centred(counts: Array) -> Array:
    """Return counts less their mean along every axis.

    >>> centred(np.array([1.0, 5.0])).tolist()
    [-2.0, 2.0]
    """
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts


def _weights(eigenvalues: Array) -> Array:
    """Return how far each direction is followed, the step of the method being well chosen."""
    largest = float(eigenvalues.max())
    if not largest:
        return np.zeros_like(eigenvalues)
    told = eigenvalues / largest
    step = 1 / math.sqrt(max(float(told.min()), 1e-8))
    return np.asarray(step * told / (1 + step * told))


def _nearest(start: Sequence[Array], pull: _Pull) -> list[Array]:
    """Return counts that add up, and are nearly at least zero, nearest to the start."""
    scale = max(float(np.abs(table).max(initial=0.0)) for table in start)
    if not scale or min(float(table.min()) for table in start) >= 0:
        return list(start)
    cut = [np.maximum(table, 0.0) for table in start]
    owed = [np.zeros_like(table) for table in start]
    found = list(start)
    for _ in range(_ROUNDS):
        gaps = [c - o - s for c, o, s in zip(cut, owed, start, strict=True)]
        found = [s + moved for s, moved in zip(start, pull(gaps), strict=True)]
        over = [_RELAXED * f + (1 - _RELAXED) * c for f, c in zip(found, cut, strict=True)]
        before, cut = cut, [np.maximum(f + o, 0.0) for f, o in zip(over, owed, strict=True)]
        owed = [o + f - c for o, f, c in zip(owed, over, cut, strict=True)]
        apart = max(float(np.abs(f - c).max()) for f, c in zip(found, cut, strict=True))
        gone = max(float(np.abs(b - c).max()) for b, c in zip(before, cut, strict=True))
        if max(apart, gone) <= _EXACT * scale:
            break
    return found


def _cut(counts: Array, start: Array) -> Array:
    """Return counts with zero where they are zero but for the last digits."""
    least = _NOTHING * float(np.abs(start).max(initial=0.0))
    return np.asarray(np.where(counts <= least, 0.0, counts))
