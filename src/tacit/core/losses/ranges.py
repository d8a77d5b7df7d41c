"""Losses of several releases that choose among scores, fixed beforehand."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
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
# **Permute-and-flip.**  With c as in its map, let P and Q be its distributions on two vectors of
# scores, and write ``w(z) = 1 - sqrt(1 - z)``.  Their losses lie between some ``-a`` and t with
#
#     w(e^(t - c)) w(e^(a - c)) <= e^-c.
#
# Proof.  Let i and j be the answers whose losses are t and ``-a``.  In units of the scale the
# differences of scores move by at most c, and adding one number to all changes nothing: let i stay,
# and the others rise by 0 to c.  If j rises by c that only makes t and a larger (``P(i) / Q(i)``
# and ``Q(j) / P(j)`` rise with it), so let it.  Each index has the value ``s + E``, and the largest
# wins.  Let r be the largest value of all others on the first vector, and r' on the second, with
# the same noise: ``r <= r' <= r + c``.  Let ``C = e^c`` and u and v be e to the scores of i, and of
# j on the second vector, so that j has ``v / C`` on the first.  Given r, with y for e to minus the
# value of the winner, i wins with probability ``u`` times the integral of ``1 - y v / C`` over y
# from 0 to ``M = min(e^-r, 1 / u, C / v)``; on the second vector it is that of ``1 - y v`` up to
# ``M' = min(e^-r', 1 / u, 1 / v)``.  With ``q(z) = z - z^2 / 2`` and means over r, of i and j,
#
#     e^(t - c) = E q(M v / C) / E q(M' v)   and   e^(a - c) = E q(M' u) / E q(M u).
#
# Both are of one form: since ``M / C <= M' <= M``, they are ``E q(S B) / E q(B)`` with S and B from
# 0 to 1: S is ``M / (C M')`` in the one and ``M' / M`` in the other.  **Lemma:** ``w`` of that is
# at most ``m = E (S B) / E B``.  So the product is at most ``E M / (C E M')`` times ``E M' / E M``,
# which is ``1 / C``.  The lemma says ``E q(S B) <= (2 m - m^2) E q(B)``, since w is the inverse of
# ``m -> 2 m - m^2``.  It is the mean of
#
#     q(S B) <= (2 m - m^2) q(B) + (1 - m) (S B - m B),
#
# which holds for all S and B from 0 to 1: divided by B both sides are linear in B, at ``B = 0`` the
# difference is ``m (1 - S)``, and at ``B = 1`` it is ``(S - m)^2 / 2``.
#
# Two candidates of which the first leads by x before, from 0 to c, and is ``c - x`` behind after,
# have ``w(e^(t - c)) = e^-x`` and ``w(e^(a - c)) = e^(x - c)``: the losses ``t = g(x)`` and ``-a =
# -g(c - x)``, with ``g(x) = c - x + ln(2 - e^-x)``, which falls.  So the losses of any P and Q lie
# between those of such a pair, with ``e^-x`` the larger one of ``w(e^(t - c))`` and ``e^-c``.  It
# dominates them (lemma 3.2 as above), and is a pair of scores.  Of two such releases with different
# x the middle losses differ, so that no one x need be worse: they are added up one by one.
#
# **One after the other.**  Where the releases before had the loss l, the delta at e of the rest is
# that at ``e - l``: so with one more release in front, whose losses may be t and ``-a``,
#
#     D(e) = the largest, over t and a, of  p D'(e - t) + (1 - p) D'(e + a),
#
# which is more than the largest over fixed ones, since they may depend on the loss so far: it holds
# also for pairs that are chosen as one goes, of releases in the order of the list.  The choices are
# joined in cells: the pair with the largest t and a of a cell dominates all of it.  D is kept on a
# lattice.  It falls in e, and is convex in ``e^e``: beyond the lattice it is at most that at its
# end, before it at most one, and between two points at most the chord.


_MIN_CELL = Fraction(1, 512)  # of the range
_FIRST_CELLS = 8
_COARSE_CELLS = 32
_FEW_LEVELS = 4
_SEVERAL = 8
# In how many steps of the lattice a range is divided, and in how many cells, until it is fast.
# Narrower ranges have fewer: for so many in all, the losses of all together grow by the least then.
_FINENESS = ((256, 512), (128, 256), (64, 192), (32, 128), (16, 96), (12, 48), (8, 32))
_DEVIATIONS = 12.0
_MAX_BACK = 60.0  # what is at most e^-60 below one is taken for one
_MAX_EXPONENT = 1024.0
_MAX_WORK = 1 << 27
_UNDERFLOW = 2.0**-1000
_MORE = 1 + 2.0**-40
_SLACK = 2.0**-44  # more than the relative error of one step in floats


@dataclass(frozen=True)
class LossRange:
    """The losses of a pair lie in an interval of a length, as those of the exponential mechanism.

    >>> [ends.round(2).tolist() for ends in LossRange(Fraction(1)).cells(2)]
    [[0.5, 1.0], [1.0, 0.5]]
    """

    largest: Fraction

    def width(self) -> float:
        """Return about how far apart two losses are."""
        return float_up(self.largest)

    def cells(self, count: int) -> tuple[Floats, Floats]:
        """Return the largest loss, and the largest one below zero, of each cell of pairs."""
        ends = np.linspace(0.0, float_up(self.largest), count + 1)
        return ends[1:] * _MORE, (ends[-1] - ends[:-1]) * _MORE


@dataclass(frozen=True)
class CrossingRange:
    """The losses of a pair lie between those of two candidates of permute-and-flip that cross.

    >>> [ends.round(2).tolist() for ends in CrossingRange(Fraction(1)).cells(2)]
    [[1.0, 0.83], [0.83, 1.0]]
    """

    largest: Fraction  # c

    def longest(self) -> Fraction:
        """Return the largest distance of two losses, rounded up: that of x = c / 2."""
        # g is concave, so ``g(x) + g(c - x)`` is largest in the middle.
        c = self.largest
        loss: Fraction = (c / 2 + log(2 - exp(-c / 2, BITS), BITS)).rounded(64).upper
        return 2 * loss

    def width(self) -> float:
        """Return about how far apart two losses are."""
        return float_up(self.longest())

    def cells(self, count: int) -> tuple[Floats, Floats]:
        """Return the largest loss, and the largest one below zero, of each cell of pairs."""
        # as many as are as narrow as those of a range: small ones have little to choose from
        c = float_up(self.largest)
        choice = 2 * (c - math.log1p(-math.expm1(-c)))
        leads = np.linspace(0.0, c, math.ceil(count * choice / self.width()) + 1)
        return _first_loss(c, leads[:-1]) * _MORE, _first_loss(c, c - leads[1:]) * _MORE


def _first_loss(c: float, lead: Floats) -> Floats:
    """Return g(x), right to 2^-48 of itself."""
    loss: Floats = c - lead + np.log1p(-np.expm1(-lead))
    return loss


Ranges = tuple[tuple[LossRange | CrossingRange, int], ...]
"""Where the losses of a release may be, and how many there are of it."""


def upper_deltas(ranges: Ranges, levels: Sequence[Fraction]) -> list[Fraction]:
    """Return upper bounds on delta at epsilons that are not negative, of releases fixed beforehand.

    >>> three = ((LossRange(Fraction(1, 10)), 3),)
    >>> [round(float(delta), 5) for delta in upper_deltas(three, [Fraction(0), Fraction(1, 5)])]
    [0.03756, 0.00044]
    """
    bounds = [Fraction(1)] * len(levels)
    if len(ranges) == 1 and isinstance(ranges[0][0], LossRange):
        bounds = _deltas_of_one_range(ranges[0][0].largest, ranges[0][1], levels)
    curve = _curve(ranges)
    if curve is not None:
        bounds = [min(b, curve.delta(level)) for b, level in zip(bounds, levels, strict=True)]
    return bounds


def upper_epsilon(ranges: Ranges, delta: Fraction) -> Fraction | None:
    """Return an upper bound on epsilon at a delta of releases that are fixed beforehand, if any.

    >>> round(float(upper_epsilon(((LossRange(Fraction(1, 10)), 10),), Fraction(1, 10**6))), 4)
    0.6299
    """
    known: list[Fraction] = []
    if len(ranges) == 1 and isinstance(ranges[0][0], LossRange):
        known.append(_epsilon_of_one_range(ranges[0][0].largest, ranges[0][1], delta))
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
    rows = sorted(((one.width(), one, k) for one, k in ranges), key=lambda row: row[0])
    square = math.fsum(k * width * width for width, _, k in rows)
    largest = math.fsum(k * float_up(one.largest) for _, one, k in rows)
    if not largest < _MAX_EXPONENT:
        return None
    wide = min(_DEVIATIONS * math.sqrt(square) / 2 + square / 4, largest)
    back = min(wide, _MAX_BACK)
    for fine, cells in _FINENESS:
        step = math.sqrt(square / sum(k for _, _, k in rows)) / fine
        each = [
            (one.cells(math.ceil(cells * math.sqrt(width / rows[-1][0]))), k)
            for width, one, k in rows
        ]
        before, after = math.ceil(back / step) + 2, math.ceil(wide / step * (1 + 2.0**-40)) + 2
        if (before + after) * sum(len(up) * k for (up, _), k in each) <= _MAX_WORK:
            break
    else:
        return None
    index = np.arange(-before, after + 1)
    deltas: Floats = -np.expm1(np.minimum(index * step, 0.0)) * (1 + _SLACK)
    mixed, term = np.empty(len(index)), np.empty(len(index))
    for (up, down), k in each:
        moves = _moves(up, down, step)
        left = max(-offset for offset, _ in itertools.chain(*moves))
        right = max(offset for offset, _ in itertools.chain(*moves))
        for _ in range(k):
            wider = np.concatenate([np.ones(left), deltas, np.full(right, deltas[-1])])
            deltas = np.zeros(len(index))
            for terms in moves:
                mixed.fill(0.0)
                for j, weight in terms:
                    np.multiply(wider[left + j : left + j + len(index)], weight, out=term)
                    mixed += term
                np.maximum(deltas, mixed, out=deltas)
            deltas = np.minimum(deltas * (1 + _SLACK), 1.0)
    return _Curve(step, deltas[before:] + _UNDERFLOW)


def _moves(up: Floats, down: Floats, step: float) -> list[list[tuple[int, float]]]:
    """Return, for each cell, by how many places of the lattice delta moves, with which weights."""
    whole = -np.expm1(-(up + down))
    first, second = -np.expm1(-down) / whole, -np.expm1(-up) * np.exp(-down) / whole
    moves = []
    for p, rest, rise, fall in zip(first, second, up / step, down / step, strict=True):
        terms = []
        for mass, move in ((p, -rise * (1 + 2.0**-40)), (rest, fall * (1 - 2.0**-40))):
            place = math.floor(move)
            share = math.expm1((move - place) * step) / math.expm1(step) * (1 - 2.0**-45)
            terms += [(place, float(mass * (1 - share))), (place + 1, float(mass * share))]
        moves.append(terms)
    return moves
