"""Losses of several releases of bounded range that are fixed beforehand."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import float_down, float_up
from tacit.core.losses.base import BITS, Atom, Loss, PrivacyLoss
from tacit.core.losses.composition import ComposedLosses
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.lattice import Floats

# The pair of :class:`~tacit.core.losses.distribution.BoundedRange` dominates each release of a
# range epsilon, also where it is chosen after the answers before it.  But none has all its losses.
# Write ``B_t`` for the pair of two outcomes with the losses t and ``t - epsilon``, 0 <= t <=
# epsilon: under Q the first has the mass ``q = (E/u - 1) / (E - 1)``, ``E = e^epsilon, u = e^t``.
# It dominates every pair with losses between these two (Dong, Durfee, Rogers, "Optimal differential
# privacy composition for exponential mechanisms", ICML 2020, lemma 3.2).  For two data sets each of
# k releases *that are fixed beforehand* has one such t.  So
#
#     their delta is the largest one of ``B_t1 x ... x B_tk`` over all t_1, ..., t_k.
#
# **Releases of one range have one t.**  Let two have s and t, and let r be their mean.  The losses
# of ``B_s x B_t`` are 2r, ``2r - epsilon`` (of two outcomes, which may be joined) and ``2r - 2
# epsilon``.  So are those of ``B_r x B_r``.  P and Q both sum to one, so of the three masses under
# Q one is free, say that of 2r, and the others are linear in it: what is added there, and at the
# other end, is taken from the middle, so that the means of 1 and of ``e^loss`` stay.  That spreads
# the ratios ``P/Q``, and delta is a mean under Q of a convex function of them.  The mass of 2r is
#
#     q_s q_t = (E^2/e^(2r) - E (e^-s + e^-t) + 1) / (E - 1)^2,
#
# largest where ``e^-s + e^-t`` is smallest, at ``s = t``.  So ``B_r x B_r`` dominates, next to any
# other releases as well, and so does the limit, in which all have their mean.  For k releases of
# one range delta is the largest one of ``B_t`` k times, over one t.  (Dong, Durfee and Rogers find
# that t in closed form.)
#
# **All t at once.**  A pair with the losses b and ``a - epsilon`` dominates every B_t with t from
# a to b.  It is that of the range ``epsilon + b - a``.  The search takes such cells, and cuts the
# one with the largest epsilon in two until that is narrow.
#
# **Different ranges.**  Where the releases before had the loss l, the delta at e of the rest is
# that at ``e - l``: so with one more release in front
#
#     D(e) = the largest, over t, of  p D'(e - t) + (1 - p) D'(e - t + epsilon),
#
# which is more than the largest over fixed t, since t may depend on the loss so far: it holds also
# for releases that are chosen as one goes, in the order of the list.  On a lattice of losses cells
# of t are as above, with both losses moved outwards to points of it.  A delta falls in e, and is
# convex in e^e: beyond the lattice it is at most that at its end, before it at most one, and
# between two points at most the chord.


_MIN_CELL = Fraction(1, 512)  # of the range
_FIRST_CELLS = 8
_COARSE_CELLS = 32
_FEW_LEVELS = 4
_SEVERAL = 8
# By so much of itself a range grows on the lattice: the first that does not take long.
_OUTWARDS = (0.003, 0.006, 0.012, 0.02)
_DEVIATIONS = 12.0
_MAX_WORK = 1 << 28
_MAX_EXPONENT = 300.0
_SLACK = 2.0**-44  # more than the relative error of one step in floats

Ranges = tuple[tuple[Fraction, int], ...]
"""The length of the interval that holds the log ratios, and how many releases have it."""


def upper_deltas(ranges: Ranges, levels: Sequence[Fraction]) -> list[Fraction]:
    """Return upper bounds on delta at epsilons that are not negative, of releases fixed beforehand.

    >>> three = ((Fraction(1, 10), 3),)
    >>> [round(float(delta), 5) for delta in upper_deltas(three, [Fraction(0), Fraction(1, 5)])]
    [0.03756, 0.00044]
    """
    bounds = [Fraction(1)] * len(levels)
    if len(ranges) == 1:
        bounds = _deltas_of_one_range(*ranges[0], levels)
    curve = _curve(ranges)
    if curve is not None:
        bounds = [min(b, curve.delta(level)) for b, level in zip(bounds, levels, strict=True)]
    return bounds


def upper_epsilon(ranges: Ranges, delta: Fraction) -> Fraction | None:
    """Return an upper bound on epsilon at a delta of releases that are fixed beforehand, if any.

    >>> round(float(upper_epsilon(((Fraction(1, 10), 10),), Fraction(1, 10**6))), 4)
    0.6299
    """
    known: list[Fraction] = []
    if len(ranges) == 1:
        known.append(_epsilon_of_one_range(*ranges[0], delta))
    else:
        curve = _curve(ranges)
        found = None if curve is None else curve.epsilon(delta)
        known += [] if found is None else [found]
    return min(known, default=None)


def two_losses(loss_range: Fraction, low: Fraction, high: Fraction) -> PrivacyLossDistribution:
    """Return the pair that dominates all with losses in ``t - loss_range``..t, low <= t <= high.

    >>> pair = two_losses(Fraction(1), Fraction(1, 2), Fraction(1, 2))
    >>> [(float(loss), round(float(p), 4)) for loss, p in pair.masses()]
    [(-0.5, 0.3775), (0.5, 0.6225)]
    """
    whole = exp(loss_range + high - low, BITS)
    up = exp(high, BITS)
    p = ((whole - up) / (whole - 1)).rounded(BITS)
    p = Enclosure(max(p.lower, Fraction(0)), min(p.upper, Fraction(1)))
    q = (p / up).rounded(BITS)
    ends = Loss.of(high), Loss.of(low - loss_range)
    return PrivacyLossDistribution((Atom(ends[0], p, q), Atom(ends[1], 1 - p, 1 - q)))


def _deltas_of_one_range(
    loss_range: Fraction, times: int, levels: Sequence[Fraction]
) -> list[Fraction]:
    if len(levels) <= _FEW_LEVELS:

        def at(level: Fraction) -> Fraction:
            return _largest(loss_range, lambda one: _often(one, times).delta(level).upper)

        return [at(level) for level in levels]
    ends = [loss_range * i / _COARSE_CELLS for i in range(_COARSE_CELLS + 1)]
    cells = [
        _often(two_losses(loss_range, low, high), times).deltas(levels)
        for low, high in itertools.pairwise(ends)
    ]
    return [max(one[i].upper for one in cells) for i in range(len(levels))]


def _epsilon_of_one_range(loss_range: Fraction, times: int, delta: Fraction) -> Fraction:
    def bound(one: PrivacyLossDistribution) -> Fraction:
        epsilon = _often(one, times).upper_epsilon(delta)
        return epsilon.upper if isinstance(epsilon, Enclosure) else times * loss_range

    return min(_largest(loss_range, bound), times * loss_range)


def _often(one: PrivacyLossDistribution, times: int) -> PrivacyLoss:
    """Return a pair so many times: many in floats, for both losses are on a lattice."""
    return one.self_compose(times) if times < _SEVERAL else ComposedLosses.of([(one, times)])


def _largest(
    loss_range: Fraction, bound: Callable[[PrivacyLossDistribution], Fraction]
) -> Fraction:
    """Return a bound for all t: that of the worst cell, once that is narrow."""
    queue: list[tuple[Fraction, Fraction, Fraction]] = []

    def push(low: Fraction, high: Fraction) -> None:
        heapq.heappush(queue, (-bound(two_losses(loss_range, low, high)), low, high))

    for i in range(_FIRST_CELLS):
        push(loss_range * i / _FIRST_CELLS, loss_range * (i + 1) / _FIRST_CELLS)
    while True:
        worst, low, high = heapq.heappop(queue)
        if high - low <= loss_range * _MIN_CELL:
            return -worst
        push(low, (low + high) / 2)
        push((low + high) / 2, high)


@dataclass(frozen=True)
class _Curve:
    """Upper bounds on delta at the points of a lattice of epsilons, zero among them."""

    step: float
    deltas: Floats  # at zero, and at each multiple of the step

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return the smaller of both ends' chord: at an epsilon beyond all points, the last one."""
        place = float_down(epsilon) / self.step
        index = math.floor(place * (1 - 2.0**-50))
        if index >= len(self.deltas) - 1:
            return Fraction(float(self.deltas[-1]))
        first, second = float(self.deltas[index]), float(self.deltas[index + 1])
        share = math.expm1((place - index) * self.step) / math.expm1(self.step)
        share = min(max(share * (1 - 2.0**-40) - 2.0**-40, 0.0), 1.0)
        return Fraction(min(first + (second - first) * share + first * 2.0**-48, first))

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """Return the smallest epsilon at which the chord is at most a delta; None if none is."""
        target = float_down(delta)
        small = np.flatnonzero(self.deltas <= target)
        if not len(small):
            return None
        index = int(small[0])
        if not index:
            return Fraction(0)
        first, second = float(self.deltas[index - 1]), float(self.deltas[index])
        share = (first - target) / (first - second) * (1 + 2.0**-40) + 2.0**-40
        within = math.log1p(min(share, 1.0) * math.expm1(self.step))
        return Fraction(((index - 1) * self.step + within) * (1 + 2.0**-48))


@lru_cache(maxsize=64)
def _curve(ranges: Ranges) -> _Curve | None:
    """Return the curve of releases one after the other; None where it would take long."""
    rows = sorted(((float_up(loss_range), k) for loss_range, k in ranges), reverse=True)
    square = math.fsum(k * one * one for one, k in rows)
    largest = math.fsum(k * one for one, k in rows)
    wide = min(_DEVIATIONS * math.sqrt(square) / 2 + square / 4, largest)
    for outwards in _OUTWARDS:
        step = rows[0][0] / math.ceil(rows[0][0] * largest / (outwards * square))
        # how many steps each range is long, moved outwards
        lengths = [(math.ceil(one / step * (1 + 2.0**-40)), k) for one, k in rows]
        places, longest = math.ceil(wide / step * (1 + outwards)) + 2, lengths[0][0]
        if 2 * places * sum(length * k for length, k in lengths) <= _MAX_WORK:
            break
    else:
        return None
    if (places + 2 * longest) * step > _MAX_EXPONENT:
        return None
    index = np.arange(-places, places + 1)
    deltas: Floats = np.maximum(-np.expm1(index * step), 0.0) * (1 + _SLACK)
    for length, k in lengths[::-1]:
        cells = _cells(length, step)
        for _ in range(k):
            before = np.ones(longest + 2)
            after = np.full(longest + 2, deltas[-1])
            wider = np.concatenate([before, deltas, after])
            deltas = np.zeros(len(index))
            for up, down, p, rest in cells:
                start = longest + 2 - up
                mixed = p * wider[start : start + len(index)]
                start = longest + 2 + down
                mixed += rest * wider[start : start + len(index)]
                np.maximum(deltas, mixed, out=deltas)
            deltas = np.minimum(deltas * (1 + _SLACK), 1.0)
    return _Curve(step, deltas[places:])


def _cells(length: int, step: float) -> list[tuple[int, int, float, float]]:
    """Return, for each cell of t, both losses in steps and the masses under P."""
    whole = (length + 1) * step
    return [
        (
            j + 1,
            length - j,
            math.expm1((j - length) * step) / math.expm1(-whole),  # no digits cancel
            math.expm1((j + 1) * step) / math.expm1(whole),
        )
        for j in range(length)
    ]
