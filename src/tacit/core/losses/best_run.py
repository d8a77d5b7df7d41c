"""Losses of the best of a random number of runs, from those of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import float_down
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core.losses.base import Atom, BothWays, Dominating, Loss, PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.lattice import Floats

# Let g be the probability to stop after a run.  With p(y) the probability of an output in one run,
# s its score and ``A(s) = g + (1 - g) P(score > s)``, it is the best of all runs with probability
# ``g p(y) / (A(s) A(s-))`` (:func:`~tacit.mechanisms.private_selection.select_best`); on the
# neighbour ``g q(y) / (B B-)``.  With ``H(t) = t / (g + (1 - g) t)`` the best score is above s with
# probability ``H(P(score > s))``.
#
# **One pair of runs is the worst.**  Let (P, Q) dominate one run in both directions.  Then two
# neighbours' runs are the same function of draws from P and from Q and of coins of its own
# (Blackwell).  A score of its output is a score of the draw and the coins, and the best output is a
# function of the best draw with its coins.  So the selection loses most at runs that *release* P
# and Q, under the worst random score of their outputs.
#
# **Orders.**  Such a score, higher ones first, is an order in which all mass is used up: a measure
# m of outputs at times, whose outputs are distributed as Q, and as P where each counts ``z = P/Q``
# times.  Let u(t) and v(t) be the masses of P and of Q before the time t.  (Outputs of one score
# are as well spread over an interval, in equal shares at each time.)  Then
#
#     delta(x) = the largest, over m, of  R(m) = integral of max(0, z H'(u) - x H'(v)) dm.
#
# A worst m exists: such measures are a compact set, on which R is continuous.  Call mass *taken*
# where the bracket is above zero, else *passed*.
#
# **The worst order.**  Move a little mass of ratio z from a time to another one.  To first order R
# changes by the difference of S(t, z), that of the bracket itself and of all later ones,
#
#     S = max(z (H'(u) + a) + b - x H'(v),  z a + b),   a = integral over later taken mass of z
#                                                       H''(u) dm,  b = - x integral of H''(v) dm.
#
# So m has mass of ratio z only at times at which S is largest for that z.  S is the larger of two
# lines in z.  The slope ``H'(u) + a`` of the first never rises with time, for a rises as much as
# H'(u) falls at taken mass, and stays at passed mass; the slope a of the second never falls, and is
# below all of the first, since ``H' > 0 >= a``.  Of lines that are largest the steeper ones are so
# farther right: *taken mass has higher ratios than passed mass, and is taken in falling order of
# z.*  (Where two slopes are equal there is no P between them, and the order of what is taken does
# not matter; Q without P is passed first, which makes each bracket larger.)
#
# **The curve.**  So let the mass of P be taken in falling order: at the mass y of it let ``w(y) =
# 1/z``, and b(y) be the mass of Q.  Of what is passed before, a mass c of P has at most the mass
# f(c) of Q, which are the c with the smallest ratios.  So
#
#     delta(x)  <=  integral of  max(0, max over c of  H'(y + c) - x w(y) H'(b(y) + f(c)))  dy.
#
# Both are equal where c rises with y, since what is passed may be passed in rising order of z.
# There is no such gap in the pairs that we tried (a test has them, listed by the formula of the
# winner).
#
# **In numbers.**  (P, Q) is a list, so w and f' are steps, and y is cut into cells in which A grows
# little.  With ``A = g + (1 - g)(y + c)`` and ``B = g + (1 - g)(b + f)`` the bracket is ``g (1/A^2
# - x w / B^2)``.  It falls in y and rises in b, so in a cell it is at most that with y at its begin
# and b at its end.  Where ``w <= x``, b at its begin will do: with c fixed the bracket falls along
# the cell while it is above zero, for ``(B/A)^2 > x w`` makes ``(B/A)^3 > (x w)^(3/2) >= x w^2``.
#
# It rises in c where ``x w f' > (B/A)^3``.  While ``f' >=
# B/A``, B/A rises and f' falls, so this ends once; and beyond, where ``f' < B/A``, a bracket of at
# least zero falls: there ``x w <= (B/A)^2``, so ``x w f' < (B/A)^3``.  So the first c at which
# either ends is the largest bracket, if that is above zero.
#
# **As losses.**  The profile of any pair is convex in ``x = e^epsilon`` and one at zero; that of
# the other direction is, at ``1/x``, ``1 - (1 - delta(x)) / x``.  So what bounds both directions at
# some x bounds each of them at ``1/x`` too, and the largest convex function that is below all these
# points bounds the profile everywhere.  It is the profile of a pair with one loss for each corner:
# under Q a loss has the mass by which the slope grows there, under P ``e^loss`` times that, and an
# infinite loss has what is left of delta at the end (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi,
# "Connect the dots", PETS 2022).  That pair dominates the selection, in both directions, and
# composes with other losses.
#
# **How far it reaches.**  Let ``C = e^c`` be at least one, and
#
#     (1 - g) delta(c) <= g (C - 1).
#
# Then ``B <= C A`` for all events, for one of probability a under p has at most ``C a + delta(c)``
# under q; so ``B <= g + (1 - g) (C a + delta(c)) = C A - g (C - 1) + (1 - g) delta(c)``.  (No
# smaller C serves all events: that is what delta(c) says.)  For epsilon-DP runs, with ``E =
# e^epsilon``, it is ``C = (E + g) / (1 + g E)``: one run for ``g = 1``, and E as g goes to zero.
# So the bracket is at most ``g / A^2 (1 - x w / C^2)``, and the selection is ``(epsilon + 2 c,
# delta(epsilon) / g)``-DP.  (With one epsilon for both: Koskela, Redberg, Wang, "Privacy profiles
# for private selection", ICML 2024, from where the selection starts too.)


_ZERO, _ONE = Fraction(0), Fraction(1)
_STEPS = 22
_CELLS = 192
# By so much of itself A grows in a cell, unless that were too many of them.
_GROWTH, _MOST_CELLS = 0.004, 2000
_LARGEST_LOG = 600.0
_TINY = 1e-300
# More than the relative error of A, B, a mass or a power: sums of a few hundred masses.
_SLACK = 2.0**-36
_DUST = Fraction(1, 10**25)
_BITS = 64

Points = Sequence[tuple[Fraction, Fraction]]


def min_growth(losses: PrivacyLoss, stop: Fraction) -> Fraction:
    """Return nearly the smallest c of which the scores' probabilities grow by at most ``e^c``.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> c = min_growth(dominating_pair(Fraction(1)), Fraction(1, 2))
    >>> round(float(c), 6)  # ln((e + 1/2) / (1 + e/2))
    0.31055
    """

    def holds(c: Fraction) -> bool:
        return (1 - stop) * losses.delta(c).upper <= stop * (exp(c, _BITS).lower - 1)

    if stop == 1 or losses.delta(_ZERO).upper == 0:
        return _ZERO
    high = _ONE
    while not holds(high):
        high *= 2
    while high > Fraction(1, 1 << 64) and holds(high / 2):
        high /= 2
    return narrowed(holds, high, high / 2, _STEPS)[0]


def selected(losses: PrivacyLoss, stop: Fraction) -> PrivacyLoss:
    """Return losses that dominate those of the best of a random number of runs.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> best = selected(dominating_pair(Fraction(1)), Fraction(1, 2))
    >>> round(float(best.epsilon(0)), 4), round(float(best.epsilon("1/10")), 4)
    (1.6211, 1.1394)
    """
    if stop == 1:
        return Dominating(losses)
    levels, sure = _levels(losses)
    points = []
    for level, enclosed in zip(levels, losses.deltas(levels), strict=True):
        delta = _ZERO if level == sure else min(enclosed.upper, _ONE)
        points.append((exp(level, _BITS).upper, _up(delta)))
    end = levels[-1] + 2 * min_growth(losses, stop)
    shares = {Fraction(i, _CELLS) for i in range(_CELLS)}
    shares |= {1 - Fraction(1, 1 << i) for i in range(8, 32)}  # it falls steeply to its end
    rising = [(end * share).limit_denominator(1 << 40) for share in sorted(shares)] + [end]
    deltas = _of_worst_order(of_profile(points), stop, rising)
    if sure is not None:
        deltas[-1] = 0.0
    best = zip(rising, deltas, strict=True)
    return Dominating(of_profile([(exp(e, _BITS).upper, _up(Fraction(d))) for e, d in best]))


def _of_worst_order(
    pair: PrivacyLossDistribution, stop: Fraction, levels: Sequence[Fraction]
) -> list[float]:
    """Return upper bounds on delta at epsilons, of the best run where one run loses as a pair."""
    atoms = sorted(pair.atoms, key=lambda atom: atom.loss.ratio)
    log_f = -np.array([float(atom.loss.value.middle) for atom in atoms])  # of f', falling
    own = np.array([float(atom.p.upper) for atom in atoms])
    other = np.array([float(atom.q.upper) for atom in atoms])
    only_q = max(float(1 - sum(atom.q.upper for atom in atoms)), 0.0)
    passed = np.append(0.0, np.cumsum(own))
    passed_q = only_q + np.append(0.0, np.cumsum(other))
    g = float(stop)
    begin, begin_q, end_q, mass, log_w = _cells(
        np.append(float(pair.impossible.upper), own[::-1]),
        np.append(0.0, other[::-1]),
        np.append(-math.inf, log_f[::-1]),
        g,
    )
    steep = np.append(log_f, -math.inf)
    deltas = []
    for level in levels:
        log_xw = log_w + float_down(level)
        seen_q = np.where(log_w < float_down(level), begin_q, end_q)
        low, high = np.zeros(len(mass), np.int64), np.full(len(mass), len(own))
        while (low < high).any():  # the first step before which the bracket does not rise
            middle = (low + high) // 2
            a = g + (1 - g) * (begin + passed[middle])
            b = g + (1 - g) * (seen_q + passed_q[middle])
            ratio = np.log(b / a)
            rises = (steep[middle] >= ratio) & (log_xw + steep[middle] > 3 * ratio)
            low = np.where(rises & (low < high), middle + 1, low)
            high = np.where(rises, high, middle)
        step = np.maximum(low - 1, 0)
        a = g + (1 - g) * (begin + passed[step])
        b = g + (1 - g) * (seen_q + passed_q[step])
        # of the step before as much as until (B/A)^3 = x w f'
        aim = np.minimum((log_xw + steep[step]) / 3, _LARGEST_LOG)
        whole = aim >= steep[step]
        rate = 1 - np.exp(np.where(whole, -1.0, aim - steep[step]))
        part = (np.exp(aim) * a - b) / ((1 - g) * rate * np.maximum(other[step], _TINY))
        part = np.where(low > 0, np.where(whole, 1.0, np.clip(part, 0.0, 1.0)), 0.0)
        a, b = a + (1 - g) * part * own[step], b + (1 - g) * part * other[step]
        bracket = -np.expm1(np.minimum(log_xw + 2 * np.log(a / b), 1.0)) + _SLACK
        total = float((np.maximum(bracket, 0.0) * mass * g / a**2).sum())
        deltas.append(min(total * (1 + _SLACK), 1.0))
    return deltas


def _cells(p: Floats, q: Floats, log_w: Floats, g: float) -> Floats:
    """Return the masses of P and Q before cells, that of Q up to their ends, of P, and log w."""
    start = g / (1 - g) + np.append(0.0, np.cumsum(p))
    growth = max(_GROWTH, -math.log(g) / _MOST_CELLS)
    counts = np.ceil(np.log(start[1:] / start[:-1]) / growth).astype(np.int64)
    rows = []
    for i in np.flatnonzero(p):
        count = max(int(counts[i]), 1)
        cuts = start[i] * np.expm1(np.log1p(p[i] / start[i]) * np.arange(count + 1) / count)
        cuts[-1] = p[i]
        before = start[i] - g / (1 - g) + cuts[:-1]
        ends = q[:i].sum() + q[i] * cuts / p[i]
        rows.append([before, ends[:-1], ends[1:], np.diff(cuts), np.full(count, log_w[i])])
    return np.hstack(rows)


def of_profile(points: Points) -> PrivacyLossDistribution:
    """Return the losses of a pair whose profile is at most some values, and convex between them.

    >>> pair = of_profile([(Fraction(1), Fraction(1, 2)), (Fraction(3), Fraction(0))])
    >>> [(float(loss), float(p)) for loss, p in pair.masses()]
    [(-1.098612288668109..., 0.25), (1.098612288668109..., 0.75)]
    """
    # points: of ``x = e^epsilon``, one or more, and what delta is at most there, in both
    #   directions.
    last, left = max(points), min(delta for _, delta in points)
    mirrored = [(1 / x, 1 - (1 - delta) / x) for x, delta in points if x > 1]
    corners = _hull([(_ZERO, _ONE), *sorted({*points, *mirrored}), (last[0] + 1, left)])
    atoms = []
    for before, here, after in zip(corners, corners[1:], corners[2:], strict=False):
        q = _slope(here, after) - _slope(before, here)
        x = here[0]
        atoms.append(Atom(Loss(ratio=x), Enclosure.of(x * q), Enclosure.of(q)))
    return PrivacyLossDistribution(tuple(atoms), Enclosure.of(left))


def _hull(points: Points) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the largest convex function that is below all points, from the left."""
    corners: list[tuple[Fraction, Fraction]] = []
    for point in points:
        if corners and corners[-1][0] == point[0]:
            continue  # of two values at one place the smaller comes first
        while len(corners) > 1 and _slope(corners[-2], corners[-1]) >= _slope(corners[-1], point):
            corners.pop()
        corners.append(point)
    return corners


def _slope(left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> Fraction:
    return (right[1] - left[1]) / (right[0] - left[0])


def _levels(losses: PrivacyLoss) -> tuple[list[Fraction], Fraction | None]:
    """Return epsilons to ask a profile at, and the one, if any, from which on delta is zero."""
    # Between the corners of a profile that has few, it is linear in ``e^epsilon``.
    largest, corners = losses.epsilon(0), _corners(losses)
    sure = largest.upper if isinstance(largest, Enclosure) else None
    if corners is not None:
        return sorted({_ZERO, *corners, *([] if sure is None else [sure])}), sure
    ends = largest if isinstance(largest, Enclosure) else losses.epsilon(_DUST)
    end = ends.upper if isinstance(ends, Enclosure) else _farthest(losses)
    every = {(end * i / _CELLS).limit_denominator(1 << 40) for i in range(_CELLS)}
    return sorted(every | {end}), sure


def _corners(losses: PrivacyLoss) -> set[Fraction] | None:
    """Return the epsilons at which a profile has corners, where these are known and few."""
    if isinstance(losses, Dominating):
        return _corners(losses.losses)
    if isinstance(losses, BothWays):
        ways = [_corners(way) for way in losses.directions()]
        known = [way for way in ways if way is not None]
        return set().union(*known) if len(known) == len(ways) else None
    if isinstance(losses, PrivacyLossDistribution) and len(losses.atoms) <= _CELLS:
        ends = (Enclosure.of(atom.loss.value).rounded(_BITS).upper for atom in losses.atoms)
        return {end for end in ends if end > 0}
    return None


def _farthest(losses: PrivacyLoss) -> Fraction:
    """Return an epsilon beyond which delta falls no more, nearly: what is left is infinite."""
    end, minimum = _ONE, losses.delta(_ONE).upper
    while end < 1 << 12:
        end, before, minimum = 2 * end, minimum, losses.delta(2 * end).upper
        if before - minimum <= _DUST:
            break
    return end


def _up(value: Fraction) -> Fraction:
    return Enclosure.of(value).rounded(_BITS).upper
