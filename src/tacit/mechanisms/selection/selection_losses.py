r"""Privacy losses of the best of a random number of runs, at all epsilons, from those of one run.

Let ``delta(epsilon)`` be the profile of one run in the worse direction, and g the probability to
stop after a run.  With p(y) the probability of an output in one run, s its score and ``A(s) = g +
(1 - g) P(score > s)``, it is the best of all runs with probability ``g p(y) / (A(s) A(s-))``
(:func:`~tacit.mechanisms.selection.select_best.select_best`); on the neighbour ``g q(y) / (B B-)``.

**The two scores.**  Let ``C = e^c`` be at least one, and

    (1 - g) delta(c) <= g (C - 1).

Then ``B <= C A``, and so with the events of ``A-`` and ``B-``.  For an event of probability a under
p has at most ``C a + delta(c)`` under q; so ``B <= g + (1 - g) (C a + delta(c)) = C A - g (C - 1) +
(1 - g) delta(c)``.  (No smaller C serves all events: that is what delta(c) says.)  For epsilon-DP
runs, with ``E = e^epsilon``, it is ``C = (E + g) / (1 + g E)``: one run for ``g = 1``, and E as g
goes to zero.

**The curve.**  So at every epsilon, above zero or not,

    (selected delta)(epsilon + 2 c)  <=  delta(epsilon) / g,

for ``g p / (A A-) - e^(epsilon + 2 c) g q / (B B-) <= g / (A A-) (p - e^epsilon q)``, the first
factor is at most ``1 / g``, and the positive parts of the second one add up to at most delta.
(With one epsilon for both: Koskela, Redberg, Wang, "Privacy profiles for private selection", ICML
2024.)

**As losses.**  The profile of any pair is convex in ``x = e^epsilon`` and one at zero; that of the
other direction is, at ``1/x``, ``1 - (1 - delta(x)) / x``.  So what bounds both directions at some
x bounds each of them at ``1/x`` too, and the largest convex function that is below all these points
bounds the profile everywhere.  It is the profile of a pair with one loss for each corner: under Q a
loss has the mass by which the slope grows there, under P ``e^loss`` times that, and an infinite
loss has what is left of delta at the end (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect
the dots", PETS 2022).  That pair dominates the selection, in both directions, and composes with
other losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core.losses.base import Atom, Loss, PrivacyLoss
from tacit.core.losses.bounds import BothWays, Dominating
from tacit.core.losses.distribution import PrivacyLossDistribution

__all__ = ["least_growth", "of_profile", "selected"]

_ZERO, _ONE = Fraction(0), Fraction(1)
_STEPS = 22
_CELLS = 192
_DUST = Fraction(1, 10**25)
_BITS = 64

Points = Sequence[tuple[Fraction, Fraction]]


def least_growth(losses: PrivacyLoss, stop: Fraction) -> Fraction:
    """Return nearly the least c of which the scores' probabilities grow by at most ``e^c``.

    Args:
        losses: of one run.
        stop: the probability to stop after it, above 0 and at most 1.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> c = least_growth(dominating_pair(Fraction(1)), Fraction(1, 2))
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

    Args:
        losses: of one run.
        stop: the probability to stop after it, above 0 and at most 1.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> best = selected(dominating_pair(Fraction(1)), Fraction(1, 2))
    >>> round(float(best.epsilon(0)), 4), round(float(best.epsilon("1/10")), 4)
    (1.6211, 1.4935)
    """
    if stop == 1:
        return Dominating(losses)
    moved = exp(2 * least_growth(losses, stop), _BITS).upper
    levels, sure = _levels(losses)
    points = []
    for level, found in zip(levels, losses.deltas(levels), strict=True):
        x, delta = exp(level, _BITS).upper, min(found.upper, _ONE)
        if level == sure:
            delta = _ZERO
        points.append((x * moved, delta / stop))
        if level and moved > x:  # the other side of epsilon zero
            points.append((moved / x, (1 - (1 - delta) / x) / stop))
    short = [(_up(x), min(_up(delta), _ONE)) for x, delta in points if x >= 1]
    return Dominating(of_profile(short))


def of_profile(points: Points) -> PrivacyLossDistribution:
    """Return the losses of a pair whose profile is at most some values, and convex between them.

    Args:
        points: of ``x = e^epsilon``, one or more, and what delta is at most there, in both
            directions.

    >>> pair = of_profile([(Fraction(1), Fraction(1, 2)), (Fraction(3), Fraction(0))])
    >>> [(float(loss), float(p)) for loss, p in pair.masses()]
    [(-1.098612288668109..., 0.25), (1.098612288668109..., 0.75)]
    """
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
    """Return epsilons to ask a profile at, and the one, if any, from which on delta is zero.

    Between the corners of a profile that has few, it is linear in ``e^epsilon``.
    """
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
    end, least = _ONE, losses.delta(_ONE).upper
    while end < 1 << 12:
        end, before, least = 2 * end, least, losses.delta(2 * end).upper
        if before - least <= _DUST:
            break
    return end


def _up(value: Fraction) -> Fraction:
    return Enclosure.of(value).rounded(_BITS).upper
