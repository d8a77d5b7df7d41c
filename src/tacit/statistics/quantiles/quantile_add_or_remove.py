"""Local sensitivity of quantiles at a distance, where records only join or only leave.

The notation is that of :mod:`tacit.statistics.quantiles.quantile_at_distance`: ``T = S + e`` holds
``m`` records, ``e`` is low, and the difference is made by three consecutive ranks of ``T``.

**Leaving.**  ``T`` is ``x`` without ``d`` records, in ``d`` steps, and then loses its lowest.  The
lowest of the three is at least ``x_p``, because only records below it can have left, and ``d``
more ranks separate the outer two at most: taking ranks ``p + 1 .. p + d`` away attains that.

**Joining.**  ``S`` is ``x`` with ``m - n - 1`` others, so ``d = 0`` and ``r = i + 2``, and ``e``
joins too: ``1 <= a <= m - n``.  Both limits are one-sided in ``m``: ``m - 1 >= i / q`` and ``m - 1
> (n - i - 1) / (1 - q)``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from tacit.statistics.base.step_function import PointsAtDistance
from tacit.statistics.quantiles.rank_pair_search import Indices, between
from tacit.statistics.quantiles.rank_weights import weights, whole
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array

__all__ = ["quantile_one_way"]

_MANY = 10**7


def quantile_one_way(
    q: Fraction, data: Clamped, relation: Literal["add", "remove"]
) -> PointsAtDistance:
    """``A(t)`` of the ``q``-quantile under ``add`` or ``remove``.

    Joining, one kind of pair for each remainder of ``m`` modulo the denominator of ``q`` is kept at
    every rank.  Where that is above ten million pairs, all weights are taken as ``1 - q``, the
    largest there is (``c1`` is at most ``1 - q`` by its formula, and ``c3 = g`` is too, since
    ``c3 > 0`` only where ``g' = g + q < 1``): an upper bound.
    """
    steps: list[Indices] = []
    values: list[Array] = []
    exact = True
    unit = Fraction(1, 2 * q.denominator**2)  # every weight is a multiple of it
    for side, p in ((data, q), (data.mirrored(), 1 - q)):
        if p == 1:
            continue  # a low record never moves the maximum
        n = len(side)
        period = min(p.denominator, 2 * n + 4) if relation == "remove" else p.denominator
        kinds = period
        if relation == "add" and period * (n + 1) > _MANY:
            exact, kinds = False, 1
        made = weights(p, period) if kinds == period else whole([1 - p], [1 - p])
        kind, low, high, cost = (
            _leaving(p, n, period) if relation == "remove" else _joining(p, n, kinds)
        )
        found = between(side.padded.astype(object), made[0][kind], made[1][kind], low, high)
        steps.append(cost)
        values.append(found.astype(object) * int(made[2] / unit))
    return PointsAtDistance(np.concatenate(steps), np.concatenate(values), unit * data.grain, exact)


def _leaving(p: Fraction, n: int, period: int) -> tuple[Indices, Indices, Indices, Indices]:
    taken = np.arange(max(n - 1, 0), dtype=np.int64)
    m = n - taken
    low = ((m - 1).astype(object) * p.numerator // p.denominator + 1).astype(np.int64)
    return m % period, low + 1, low + taken + 3, taken  # indices are ranks plus one


def _joining(p: Fraction, n: int, kinds: int) -> tuple[Indices, Indices, Indices, Indices]:
    low = np.arange(-1, n + 1 if p > 0 else 1).astype(object)
    c, d = p.numerator, p.denominator
    least = np.maximum(n, (n - low - 1) * d // (d - c) + 1)
    if c:
        least = np.maximum(least, -(-low * d // c))
    m = (least + 1)[:, None] + (np.arange(kinds) - least[:, None] - 1) % kinds
    kind = np.broadcast_to(np.arange(kinds), m.shape).ravel()
    ranks = np.repeat(low.astype(np.int64), kinds)
    return kind, ranks + 1, ranks + 3, (m.ravel() - n - 1).astype(np.int64)
