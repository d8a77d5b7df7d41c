"""Which marginals get Laplace noise, so that the asked ones have little error: unions are tried.

Noise on the marginal S with the share t of epsilon tells the residual of every subset B of S with
the precision ``t^2 / prod_(i in S, not in B) n_i`` (:mod:`tacit.workload.marginals`).  Shares of
epsilon add up, so m marginals that are measured apart have variances that grow with ``m^2``; one
that holds them all has the sum of several cells in each of theirs.  Where attributes have few
cells, the second is less: a marginal on the union of others replaces them.

The total error is not convex in the shares, and no optimum is proven.  From the asked marginals,
the union that lowers the total most takes the place of all that it holds, with the shares found
anew by descent, as long as any lowers it.  What is found is never worse than the start.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.workload.minimise import minimise

__all__ = ["MOST_SETS", "Covering", "covering", "total_of"]

Array = NDArray[np.float64]
_Set = frozenset[int]

MOST_SETS = 80
"""Beyond so many residuals no unions are tried: every two of the sets have one."""
_MOST_CELLS = 1 << 15
"""A union has no more cells."""
_TRIED = 6
_FIRST, _STEPS = 300, 40
_LARGER = (0.8, 1.0, 1.25, 1.6, 2.2)
"""How much larger the share of a union may be than the largest of what it holds, to begin with."""
_BETTER = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Covering:
    """Marginals that get noise, with their shares, and the total squared error at variance 1.

    Attributes:
        sets: the marginals.
        shares: of each its share of epsilon; they add up to one.
        total: the total squared error where noise on all of epsilon has the variance 1.
    """

    sets: tuple[tuple[int, ...], ...]
    shares: tuple[float, ...]
    total: float


class _Asked:
    """The residuals that are needed, and how much the variance of each counts."""

    def __init__(self, sizes: Sequence[int], counts: Mapping[tuple[int, ...], float]) -> None:
        self.sizes = tuple(sizes)
        self.needed = [frozenset(part) for part in counts]
        self.counts = np.array(list(counts.values()))

    def cells(self, one: _Set) -> int:
        return math.prod(self.sizes[i] for i in one)

    def told(self, one: _Set) -> Array:
        """Return the precision of each residual under noise of variance 1 on a marginal."""
        return np.array([1 / self.cells(one - part) * (part <= one) for part in self.needed])

    def polished(self, sets: Sequence[_Set], shares: Array, steps: int) -> _Found:
        """Return the sets with the shares that descent finds."""
        told = np.array([self.told(one) for one in sets])

        def value(t: Array) -> tuple[float, Array]:
            # homogeneous: (sum t)^2 f(t) is least where f is, under sum t = 1
            precision = (t * t) @ told
            if precision.min() <= 1e-100:  # what is needed is not told
                return math.inf, np.zeros_like(t)
            each = self.counts / precision
            whole, total = float(each.sum()), float(t.sum())
            pulled = told @ (each / precision)
            return total**2 * whole, 2 * total * whole - 2 * total**2 * t * pulled

        start = shares / shares.sum()
        scale = value(start)[0]

        def scaled(t: Array) -> tuple[float, Array]:
            found, slope = value(t)
            return found / scale, slope / scale

        found = minimise(scaled, start, steps)
        kept = found > 1e-4 * found.max()
        least = [one for one, keep in zip(sets, kept, strict=True) if keep]
        if not all(any(part <= one for one in least) for part in self.needed):
            least, kept = list(sets), np.ones(len(sets), dtype=bool)
        found = np.maximum(found[kept], 1e-6 * found.max())
        told, found = told[kept], found / found.sum()
        return _Found(self, least, found, told, value(found)[0])


@dataclass(frozen=True, eq=False)
class _Found:
    asked: _Asked
    sets: Sequence[_Set]
    shares: Array
    told: Array
    total: float

    def unions(self) -> list[tuple[float, tuple[list[int], _Set, float]]]:
        """Return what may replace sets within: the total, their places, the union, its share."""
        known = {one: place for place, one in enumerate(self.sets)}
        several = [a | b for a, b in itertools.combinations(self.sets, 2)]
        every = range(len(self.asked.sizes))
        several += [one | {i} for one in self.sets for i in every]
        precision = (self.shares**2) @ self.told
        found = []
        for union in dict.fromkeys(several):
            if union in known or self.asked.cells(union) > _MOST_CELLS:
                continue
            held = [place for one, place in known.items() if one <= union]
            own, told = self.shares[held], self.asked.told(union)
            least = precision - (own**2) @ self.told[held]
            tried = []
            for larger in _LARGER:
                share = float(own.max()) * larger
                now = np.maximum(least + told * share**2, 1e-150)
                total = (1 - float(own.sum()) + share) ** 2 * float((self.asked.counts / now).sum())
                tried.append((float(f"{total:.9e}"), share))  # what is equal stays so everywhere
            total, share = min(tried)
            found.append((total, (held, union, share)))
        return sorted(found, key=lambda one: (one[0], sorted(one[1][1])))

    def with_union(self, held: Sequence[int], union: _Set, share: float) -> _Found:
        """Return the sets with a union in the place of those that it holds."""
        left = [place for place in range(len(self.sets)) if place not in held]
        sets = [*(self.sets[place] for place in left), union]
        return self.asked.polished(sets, np.append(self.shares[left], share), _STEPS)


def covering(sizes: Sequence[int], counts: Mapping[tuple[int, ...], float]) -> Covering | None:
    """Return marginals to measure with Laplace noise; None where there are too many to try.

    Args:
        sizes: how many cells each attribute has.
        counts: of each residual that is needed how much its variance counts, above zero.

    >>> pairs = {(): 1.0, (0,): 1.0, (1,): 1.0, (2,): 1.0, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
    >>> covering((2, 2, 2), pairs).sets
    ((0, 1, 2),)
    >>> far = {part: 20.0 ** len(part) for part in pairs}
    >>> sorted(covering((20, 20, 20), far).sets)
    [(0, 1), (0, 2), (1, 2)]
    """
    asked = _Asked(sizes, counts)
    if not 0 < len(asked.needed) <= MOST_SETS:
        return None
    best = asked.polished(asked.needed, np.ones(len(asked.needed)), _FIRST)
    while True:
        tried = [best.with_union(*rest) for _, rest in best.unions()[:_TRIED]]
        found = min(tried, key=lambda one: float(f"{one.total:.9e}"), default=best)
        if found.total >= best.total * _BETTER:
            break
        best = found
    sets = tuple(tuple(sorted(one)) for one in best.sets)
    return Covering(sets, tuple(map(float, best.shares)), best.total)


def total_of(
    sizes: Sequence[int],
    counts: Mapping[tuple[int, ...], float],
    shares: Mapping[tuple[int, ...], float],
) -> float:
    """Return the total squared error where marginals have shares of a noise of variance 1.

    Every residual that is needed lies within one of them.

    >>> total_of((2, 2), {(): 1.0, (0,): 1.0}, {(0, 1): 1})
    6.0
    """
    asked = _Asked(sizes, counts)
    precision = sum(asked.told(frozenset(one)) * share**2 for one, share in shares.items())
    return float((asked.counts / precision).sum())
