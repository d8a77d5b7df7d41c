"""Private selection: the best of many runs of mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.calls import public
from tacit.core import ApproximateDP, Measurement
from tacit.core.conversions import LossMap, implied_loss
from tacit.core.losses.base import Atom, BothWays, Dominating, Loss, PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.errors import UsageError
from tacit.mechanisms.output_distribution import FiniteDistribution, PairMap, stated_at, sum_of

# Privacy losses of the best of a random number of runs, at all epsilons, from those of one run.
#
# Let ``delta(epsilon)`` be the profile of one run in the worse direction, and g the probability to
# stop after a run.  With p(y) the probability of an output in one run, s its score and ``A(s) = g +
# (1 - g) P(score > s)``, it is the best of all runs with probability ``g p(y) / (A(s) A(s-))``
# (:func:`~tacit.mechanisms.private_selection.select_best`); on the neighbour ``g q(y) / (B
# B-)``.
#
# **The two scores.**  Let ``C = e^c`` be at least one, and
#
#     (1 - g) delta(c) <= g (C - 1).
#
# Then ``B <= C A``, and so with the events of ``A-`` and ``B-``.  For an event of probability a
# under p has at most ``C a + delta(c)`` under q; so ``B <= g + (1 - g) (C a + delta(c)) = C A - g
# (C - 1) + (1 - g) delta(c)``.  (No smaller C serves all events: that is what delta(c) says.)  For
# epsilon-DP runs, with ``E = e^epsilon``, it is ``C = (E + g) / (1 + g E)``: one run for ``g = 1``,
# and E as g goes to zero.
#
# **The curve.**  So at every epsilon, above zero or not,
#
#     (selected delta)(epsilon + 2 c)  <=  delta(epsilon) / g,
#
# for ``g p / (A A-) - e^(epsilon + 2 c) g q / (B B-) <= g / (A A-) (p - e^epsilon q)``, the first
# factor is at most ``1 / g``, and the positive parts of the second one add up to at most delta.
# (With one epsilon for both: Koskela, Redberg, Wang, "Privacy profiles for private selection", ICML
# 2024.)
#
# *How near it is.*  Let the outputs that the neighbour has more often score highest, then those of
# an event, then all others: with Gaussian runs and a delta of 10^-6 that pair is within 3 to 7% of
# this epsilon (a test), with pure runs within 1%.  For deltas from 10^-3 on it is loose, up to
# 2.9 times: ``1 / A`` is ``1 / g`` for the highest scores alone, and there B is g too.
#
# **As losses.**  The profile of any pair is convex in ``x = e^epsilon`` and one at zero; that of
# the other direction is, at ``1/x``, ``1 - (1 - delta(x)) / x``.  So what bounds both directions at
# some x bounds each of them at ``1/x`` too, and the largest convex function that is below all these
# points bounds the profile everywhere.  It is the profile of a pair with one loss for each corner:
# under Q a loss has the mass by which the slope grows there, under P ``e^loss`` times that, and an
# infinite loss has what is left of delta at the end (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi,
# "Connect the dots", PETS 2022).  That pair dominates the selection, in both directions, and
# composes with other losses.


_ZERO, _ONE = Fraction(0), Fraction(1)
_STEPS = 22
_CELLS = 192
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
    (1.6211, 1.4935)
    """
    if stop == 1:
        return Dominating(losses)
    moved = exp(2 * min_growth(losses, stop), _BITS).upper
    levels, sure = _levels(losses)
    points = []
    for level, enclosed in zip(levels, losses.deltas(levels), strict=True):
        x, delta = exp(level, _BITS).upper, min(enclosed.upper, _ONE)
        if level == sure:
            delta = _ZERO
        points.append((x * moved, delta / stop))
        if level and moved > x:  # the other side of epsilon zero
            points.append((moved / x, (1 - (1 - delta) / x) / stop))
    short = [(_up(x), min(_up(delta), _ONE)) for x, delta in points if x >= 1]
    return Dominating(of_profile(short))


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


# Private selection among candidates that are themselves private: try often, keep the best.


_DISTANCES = 64


@public
def select_best(
    measurement: Measurement,
    score: Callable[..., object],
    stop: Number,
    *,
    delta: Number | None = None,
) -> Measurement:
    """Private selection: run a measurement a random number of times, and release the best run.

    After each run it stops with probability ``stop``, so there are ``1 / stop`` runs on average,
    geometrically many.  The number of runs is not released.

    **Map.** In pure DP ``d -> map(d) + 2 c``, at most ``3 map(d)``, however many runs there are on
    average.  In approximate DP a loss (epsilon, beta) gives ``(epsilon + 2 c, beta / stop)``.  With
    ``delta(.)`` the profile of one run, c is the smallest number with

        ``(1 - stop) delta(c) <= stop (e^c - 1)``,

    which is zero for one run and at most the epsilon of a run in pure DP.  Where the losses of a
    run are known, its profile is theirs.  ``m.epsilon(delta=)``, ``m.delta(epsilon=)`` and
    compositions follow the whole curve, ``delta(epsilon - 2 c) / stop``
    (:mod:`tacit.mechanisms.private_selection` proves it).

    Proof.  Let
    p(y) be the probability of output y in one run, F(s) that of a score of at most s, ``F(s-)`` of
    less.  With N runs, ``P(N = n) = stop (1 - stop)^(n - 1)``, the best score is at most s with
    probability ``G(F(s))``, ``G(t) = stop t / (1 - (1 - stop) t)``, and given the best score the
    earliest run that has it is distributed as p among the outputs of that score.  So y comes out
    with probability

        ``p(y) (G(F(s)) - G(F(s-))) / (F(s) - F(s-)) = p(y) stop / (A(s) A(s-))``,

    ``A(s) = 1 - (1 - stop) F(s) = stop + (1 - stop) P(score > s)``.  Between neighbours p(y) grows
    by a factor of at most e^epsilon, and each A shrinks by at most e^c, for it is ``stop`` plus a
    multiple of the probability of an event.  Three factors.

    The proof asks for scores in a *total* order, for "the best so far" must not depend on the order
    of the runs.  So NaN is the lowest score there is, below minus infinity, and equal to itself; so
    is anything that is not a number, and a score that fails.  (Compared as floats, NaN is never
    beaten where it comes first and never wins where it comes later: whose loss was 3.45 where 3 is
    claimed.)

    Source: Liu and Talwar, "Private selection from private candidates", STOC 2019; Papernot and
    Steinke, "Hyperparameter tuning with Renyi differential privacy", ICLR 2022 (geometric case);
    for a delta compare Koskela, Redberg, Wang, "Privacy profiles for private selection", ICML 2024.

    Args:
        measurement: in pure or approximate DP, or in another measure with ``delta``; its output may
            hold the candidate that was drawn and its score.
        score: of a *released* output: a number, the larger the better; infinities are numbers, and
            NaN, what is no number, or an exception is the lowest score.
        stop: the probability of stopping after a run, above 0 and at most 1.
        delta: at which a measurement in another measure, whose losses are known, is stated (beta).

    Raises:
        MismatchError: another measure than pure or approximate DP, without a delta or known losses.
        UsageError: a probability outside of that, a score that is not a function.

    Example:
        >>> from tacit.core import AbsoluteDistance, Space
        >>> from tacit.core import Number as Numbers
        >>> from tacit.mechanisms import Laplace
        >>> noisy = Space(Numbers("int"), AbsoluteDistance()) >> Laplace(6)
        >>> float(select_best(noisy, score=lambda released: released, stop="1/10").map(1))
        0.4391...
        >>> import tacit as tc
        >>> from tacit import framework as fw
        >>> noisy = Space(Numbers("int"), AbsoluteDistance()) >> fw.gaussian(20)
        >>> best = select_best(noisy, score=lambda released: released, stop="1/10", delta="1e-9")
        >>> [float(part) for part in best.map(1)]
        [0.3503..., 1e-08]
    """
    chance = as_fraction(stop, "stop")
    if not 0 < chance <= 1:
        raise UsageError(
            f"the probability of stopping is above 0 and at most 1, not {show(chance)}"
        )
    if not callable(score):
        raise UsageError("score must be a function of a released output")
    measure, privacy = stated_at(measurement, delta)
    release, distribution, losses = measurement.function, measurement.law, _losses(measurement)

    def best(data: Any) -> Any:
        chosen = release(data)
        top = _points(score, chosen)
        while not noise.bernoulli(chance):
            output = release(data)
            points = _points(score, output)
            if points > top:
                chosen, top = output, points
        return chosen

    return Measurement(
        measurement.input,
        measure,
        best,
        _map(privacy, losses, chance, paired=isinstance(measure, ApproximateDP)),
        distribution=None
        if distribution is None
        else lambda data: _law(distribution(data), score, chance),
        losses=_selected(losses, chance),
        name=f"select_best of {measurement.links[-1].title}",
    )


def _losses(measurement: Measurement) -> LossMap:
    """Return losses that dominate those of one run: its own, or what its privacy map implies."""
    own, measure, privacy = measurement.losses, measurement.measure, measurement.privacy

    def losses(d: Fraction) -> PrivacyLoss | None:
        loss = None if own is None else own(d)
        return implied_loss(measure, privacy(d)) if loss is None else loss

    return losses


def _map(
    privacy: PairMap, losses: LossMap, stop: Fraction, *, paired: bool
) -> Callable[[Fraction], Any]:
    @lru_cache(maxsize=_DISTANCES)
    def loss(d: Fraction) -> Any:
        epsilon, delta = privacy(d)
        known = losses(d) if epsilon or delta else None
        if known is not None:
            epsilon += 2 * min_growth(known, stop)
            delta = min(delta / stop, Fraction(1))
        return (epsilon, delta) if paired else epsilon

    return loss


def _selected(losses: LossMap, stop: Fraction) -> LossMap:
    @lru_cache(maxsize=_DISTANCES)
    def bound(d: Fraction) -> PrivacyLoss | None:
        known = losses(d)
        return None if known is None else selected(known, stop)

    return bound


def _points(score: Callable[[Any], Any], output: Any) -> tuple[int, Fraction]:
    """Return a score as a place in a total order, whatever it is: NaN below all numbers.

    >>> places = [_points(float, x) for x in ("nan", "-inf", "-3", "1e9", "inf", "no number")]
    >>> places == [*sorted(places[:5]), places[0]]
    True
    """
    try:
        return _rank(score(output))
    except Exception:  # no output may stop a release, and no score may depend on the other runs
        return 0, Fraction(0)


def _rank(score: Any) -> tuple[int, Fraction]:
    number: Any = score.item() if isinstance(score, (np.generic, np.ndarray)) else score
    if isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) > 1000:
        number = float(number)  # zero or infinite, and no number of a billion digits
    if not isinstance(number, (Real, Decimal)) or number != number:
        return 0, Fraction(0)
    if isinstance(number, (int, Fraction)):
        return 2, Fraction(number)
    if number in (math.inf, -math.inf):
        return (3 if number == math.inf else 1), Fraction(0)
    ratio: Any = number
    return 2, Fraction(*ratio.as_integer_ratio())


def _law(base: Any, score: Callable[[Any], Any], stop: Fraction) -> FiniteDistribution:
    """Return the distribution of the winner from that of one run, by the formula of the proof."""
    if not isinstance(base, FiniteDistribution) or base.rest:
        raise UsageError(
            "the distribution of the winner is listed only where that of one run is finite"
        )
    by_score: dict[Any, list[tuple[Any, Enclosure]]] = {}
    for output, p in base.table.items():
        by_score.setdefault(_points(score, output), []).append((output, p))
    table: dict[Any, Enclosure] = {}
    above = Enclosure.of(0)
    for points in sorted(by_score, reverse=True):
        here = sum_of(p for _, p in by_score[points])
        at, below = (stop + (1 - stop) * part for part in (above, above + here))
        factor = (stop / (at * below)).rounded(128)
        table |= {output: (p * factor).rounded(128) for output, p in by_score[points]}
        above = (above + here).rounded(160)
    return FiniteDistribution(table)
