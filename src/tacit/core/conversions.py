"""Tight epsilons of a loss or a composition, and conversions to zCDP."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain
from operator import and_
from typing import Any, TypeAlias

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays, Dominating, OfPair, PrivacyLoss
from tacit.core.losses.composition import ComposedLosses, Summand
from tacit.core.losses.distribution import BoundedRange, PrivacyLossDistribution, dominating_pair
from tacit.core.losses.lattice import above
from tacit.core.losses.ranges import CrossingRange, LossRange, Ranges, upper_deltas, upper_epsilon
from tacit.core.measures import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    ZeroConcentratedDP,
    concentrated_delta,
    concentrated_epsilon,
    renyi_delta,
    renyi_epsilon,
)
from tacit.core.metrics import EVERY, Witness
from tacit.core.renyi import RenyiCurve, RenyiDP, orders_of
from tacit.errors import UsageError

# The smallest epsilon at delta that a measurement can claim, enclosed.


_MANY = 16  # more different losses are added up at once where they can be

_FINE = 1 << 14  # so many steps between the ends: deltas between two are right to 2^-30

_PAIRS = 8  # of releases that share no pair, this many pairs are examined from below

# From an input distance to losses that dominate those of all inputs that near, if known.
LossMap = Callable[[Fraction], PrivacyLoss | None]


def implied_loss(measure: Measure, loss: Any) -> PrivacyLoss | None:
    """Return privacy losses that dominate those of every release with this loss, if any."""
    # Pure and approximate DP have such a pair (:func:`dominating_pair`); a bound on Renyi
    # divergences has none that is attained.  That some pair of inputs attains them is not known:
    # what they say is a bound from above.
    if isinstance(measure, PureDP):
        return Dominating(dominating_pair(loss))
    if isinstance(measure, ApproximateDP):
        return Dominating(dominating_pair(*loss))
    return None


# The losses of a release, the measure and the privacy map.
Part = tuple[LossMap | None, Measure, Callable[[Fraction], Any]]


def composed_losses(
    parts: Sequence[Part], witnesses: Callable[[], Sequence[Witness]] = lambda: ()
) -> LossMap:
    """Return the loss map of several releases of one data set, from what is known of each."""
    # Each part that knows no losses of its own stands with those that its privacy map implies.  The
    # order does not matter, so equal parts are composed with each other first: a part that stands
    # often is asked once, and its losses are composed by repeated squaring.  Where no pair of
    # inputs is known to have the losses of all parts, all together are a bound, and what a pair
    # loses in the parts that share it is known from below.
    #
    # witnesses: the pairs that have the losses of each part, asked for once they are needed; by
    #   default all that far apart.
    indices = [tuple(map(id, part)) for part in parts]
    different, times = dict(zip(indices, parts, strict=True)), Counter(indices)

    def losses(d: Fraction) -> PrivacyLoss | None:
        each: dict[Any, PrivacyLoss] = {}
        for index, (own, measure, privacy) in different.items():
            loss = own(d) if own is not None else None
            loss = loss if loss is not None else implied_loss(measure, privacy(d))
            if loss is None:
                return None
            each[index] = loss
        composed, named = _added_up(times, each), witnesses()
        if reduce(and_, named, EVERY):
            return composed
        by_pair: dict[Witness, Counter[Any]] = {}
        for witness, index in zip(named, indices, strict=True):
            by_pair.setdefault(witness, Counter())[index] += 1
        maximum = sorted(by_pair.values(), key=Counter.total, reverse=True)[:_PAIRS]
        alone = [_added_up(of_a_pair, each) for of_a_pair in maximum]
        pairs = [one.below if isinstance(one, Dominating) else (one,) for one in alone]
        above = composed if isinstance(composed, Dominating) else Dominating(composed)
        # a pair with a name is that of all parts that name it, and loses less in some of them
        shared = [one for one in above.below if isinstance(one, OfPair)]
        rest = [one for one in chain.from_iterable(pairs) if not isinstance(one, OfPair)]
        return replace(above, below=(*shared, *rest))

    return losses


def _added_up(times: Counter[Any], losses: Mapping[Any, PrivacyLoss]) -> PrivacyLoss:
    """Return all losses together, each as often as its name is counted."""
    counts: Counter[PrivacyLoss] = Counter()
    for name, number in times.items():
        counts[losses[name]] += number
    pairs = list(counts.items())
    composed = _at_once(pairs) if len(pairs) > _MANY else None
    if composed is not None:
        return composed
    return reduce(lambda a, b: a.compose(b), (loss.self_compose(k) for loss, k in pairs))


def losses_behind(
    stability: Callable[[Fraction], Fraction], losses: LossMap, *, onto: bool, known: bool
) -> LossMap:
    """Return the losses of a release behind a transformation."""
    # known: whether some two attain the map, and all inputs that far apart have the losses.

    def first_direction(d: Fraction) -> PrivacyLoss | None:
        loss = losses(stability(d))
        # that some inputs are as far apart is not that they are mapped to a pair of its own
        return loss.directions()[0] if isinstance(loss, Dominating) else loss

    if onto:
        return lambda d: _unnamed(losses(stability(d)))
    return first_direction if known else bound_alone(first_direction)


def _unnamed(losses: PrivacyLoss | None) -> PrivacyLoss | None:
    """Return losses whose pairs are no longer named: other inputs are mapped to them."""
    if not isinstance(losses, Dominating):
        return losses
    return replace(
        losses,
        below=tuple(one.losses if isinstance(one, OfPair) else one for one in losses.below),
    )


def bound_alone(losses: LossMap) -> LossMap:
    """Return losses that are a bound alone: what is done to a release may hide all of it."""

    def bound(d: Fraction) -> PrivacyLoss | None:
        known = losses(d)
        return None if known is None else Dominating(known)

    return bound


def _at_once(counted: Sequence[tuple[PrivacyLoss, int]]) -> PrivacyLoss | None:
    """Return many losses together, where each is a list in one direction, or dominated by one."""
    parts: list[tuple[Summand, int]] = []
    dominated = False
    for loss, times in counted:
        plain = type(loss) is Dominating
        pair = loss.losses if isinstance(loss, Dominating) and plain else loss
        if not isinstance(pair, Summand):
            return None
        dominated = dominated or plain
        parts.append((pair, times))
    composed = ComposedLosses.of(parts)
    return Dominating(composed) if dominated else composed


def delta_bound(measure: Measure, loss: Any, epsilon: Fraction) -> Enclosure:
    """Enclose delta at epsilon from a loss in a measure alone: the lower end is zero.

    >>> float(delta_bound(ZeroConcentratedDP(), Fraction(1, 2), Fraction(5)))
    2.896122...e-06
    """
    zero = Fraction(0)
    dominating = implied_loss(measure, loss)
    if dominating is not None:
        return Enclosure(zero, dominating.delta(epsilon).upper)
    if isinstance(measure, ApproximateZeroConcentratedDP):
        rho, given = loss
        rest = delta_bound(ZeroConcentratedDP(), rho, epsilon).upper
        return Enclosure(zero, given + (1 - given) * rest)
    if not (any(loss) if isinstance(loss, tuple) else loss):
        return Enclosure(zero, zero)
    if isinstance(measure, ZeroConcentratedDP):
        return Enclosure(zero, concentrated_delta(loss, epsilon))
    if isinstance(measure, (RenyiDP, RenyiCurve)):
        ends = (renyi_delta(a, known, epsilon) for a, known in _by_order(measure, loss))
        return Enclosure(zero, min(ends))
    raise UsageError(f"{measure} has no conversion to a delta at epsilon")


def _by_order(measure: RenyiDP | RenyiCurve, loss: Any) -> list[tuple[Fraction, Fraction]]:
    """Return each order with its divergence: every one gives a true bound, the least is taken."""
    losses = loss if isinstance(measure, RenyiCurve) else (loss,)
    return list(zip(orders_of(measure), losses, strict=True))


def _beyond(given: Fraction, delta: Fraction) -> UsageError:
    return UsageError(
        f"the guarantee holds with delta {show(given)}; no epsilon reaches a delta of {show(delta)}"
    )


def epsilon_bound(measure: Measure, loss: Any, delta: Fraction) -> Enclosure | float:
    """Enclose epsilon at delta from a loss in a measure alone: the lower end is zero."""
    zero = Fraction(0)
    dominating = implied_loss(measure, loss)
    if dominating is not None:
        upper = dominating.epsilon(delta)
        if not isinstance(upper, Enclosure):
            raise _beyond(loss[1], delta)
        return Enclosure(zero, upper.upper)
    if isinstance(measure, ApproximateZeroConcentratedDP):
        rho, given = loss
        if delta < given or (delta == given != 1 and rho):
            raise _beyond(given, delta)
        rest = (delta - given) / (1 - given) if given < 1 else Fraction(1)
        return epsilon_bound(ZeroConcentratedDP(), rho, rest)
    if not (any(loss) if isinstance(loss, tuple) else loss):
        return Enclosure(zero, zero)
    if delta == 0:
        return math.inf
    if isinstance(measure, ZeroConcentratedDP):
        return Enclosure(zero, concentrated_epsilon(loss, min(delta, 1 - Fraction(1, 1 << 40))))
    if isinstance(measure, (RenyiDP, RenyiCurve)):
        ends = (renyi_epsilon(a, known, delta) for a, known in _by_order(measure, loss))
        return Enclosure(zero, min(ends))
    raise UsageError(f"{measure} has no conversion to an epsilon at delta")


@dataclass(frozen=True)
class ConcentratedToo(Dominating):
    """A dominating pair of releases, and what else is known: each answer is the smallest one.

    >>> from tacit.core.losses.distribution import BoundedRange
    >>> one = ConcentratedToo(BoundedRange(Fraction(1, 100)), Fraction(1, 80000))
    >>> float(one.self_compose(10_000).epsilon("1e-6"))
    2.4190...
    """

    # Of many releases of bounded range rho says more than the pair, and the ranges say the most.

    rho: Fraction  # all together are rho-zCDP
    # where the losses of all releases may be, fixed beforehand, where that is known of all, and how
    # often each stands (:mod:`tacit.core.losses.ranges`)
    ranges: Ranges | None = None

    def delta(self, epsilon: Number) -> Enclosure:
        return self.deltas([as_fraction(epsilon, "epsilon")])[0]

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        pairs = super().deltas(epsilons)
        small = [level for level in epsilons if level > 0]
        known = upper_deltas(self.ranges, small) if self.ranges is not None and small else ()
        of_ranges = dict(zip(small, known, strict=False))

        def smallest(level: Fraction, pair: Enclosure) -> Enclosure:
            if level <= 0:
                return pair
            other = delta_bound(ZeroConcentratedDP(), self.rho, level).upper
            upper = min(pair.upper, other, of_ranges.get(level, pair.upper))
            return Enclosure(min(pair.lower, upper), upper)

        return [smallest(level, pair) for level, pair in zip(epsilons, pairs, strict=True)]

    def epsilon(self, delta: Number) -> Enclosure | float:
        target = as_fraction(delta, "delta")
        pair = super().epsilon(target)
        uppers = [pair.upper] if isinstance(pair, Enclosure) else []
        if target < 1:
            other = epsilon_bound(ZeroConcentratedDP(), self.rho, target)
            uppers += [other.upper] if isinstance(other, Enclosure) else []
        if self.ranges is not None and 0 < target < 1:
            known = upper_epsilon(self.ranges, target)
            uppers += [] if known is None else [known]
        if not uppers:
            return pair
        lower = pair.lower if isinstance(pair, Enclosure) else Fraction(0)
        return Enclosure(min(lower, *uppers), min(uppers))

    def compose(self, other: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together: in every way in which both are known."""
        pair = super().compose(other)
        if isinstance(other, ConcentratedToo):
            ranges = _together(self.ranges, other.ranges)
            return ConcentratedToo(pair.losses, self.rho + other.rho, ranges, below=pair.below)
        if isinstance(other, GaussianShift):
            rho = self.rho + other.concentrated()
            return ConcentratedToo(pair.losses, rho, below=pair.below)
        return pair

    def self_compose(self, times: int) -> Dominating:
        pair = super().self_compose(times)
        return ConcentratedToo(
            pair.losses,
            times * self.rho,
            None if self.ranges is None else tuple((one, times * k) for one, k in self.ranges),
            below=pair.below,
        )


def _together(first: Ranges | None, second: Ranges | None) -> Ranges | None:
    """Return the ranges of both, where those of both are known."""
    if first is None or second is None:
        return None
    counts: Counter[LossRange | CrossingRange] = Counter()
    for loss_range, k in (*first, *second):
        counts[loss_range] += k
    return tuple(counts.items())


def of_range(loss_range: Fraction, below: tuple[PrivacyLoss, ...] = ()) -> PrivacyLoss:
    """Return what dominates the losses of every release whose log ratios lie in an interval.

    >>> round(float(of_range(Fraction(1)).delta(0)), 4)
    0.2449
    """
    # loss_range: its length; the release is then ``loss_range^2 / 8``-zCDP (Cesar, Rogers, 2021).
    # below: the losses of known pairs.
    if not loss_range:
        return dominating_pair(loss_range)
    pair = BoundedRange(loss_range)
    return ConcentratedToo(pair, loss_range**2 / 8, ((LossRange(loss_range), 1),), below=below)


def of_crossing(maximum: Fraction, below: tuple[PrivacyLoss, ...] = ()) -> Dominating:
    """Return what dominates the losses of permute-and-flip whose loss is at most this.

    >>> round(float(of_crossing(Fraction(1)).self_compose(50).epsilon("1e-6").upper), 1)
    39.8
    """
    # below: the losses of known pairs.
    # One alone is dominated by Laplace noise on a fine lattice, whose curve meets that of the real
    # line at the losses on the lattice and runs straight, so above it, between them.
    if not maximum:
        return Dominating(LaplaceShift(Fraction(1), 0))
    pair = LaplaceShift(_FINE / maximum, _FINE)
    known = CrossingRange(maximum)
    return ConcentratedToo(pair, known.longest() ** 2 / 8, ((known, 1),), below=below)


# Moments of the privacy loss, bounded from above: what adds up over releases chosen adaptively.
#
# For a pair (P, Q) with the loss L, and an event of probability at most d under P, on which
# anything may be learned, a *log moment* of a power ``t > 0`` is a K with
#
#     the mean over P of e^(t L), outside of that event, at most e^K,
#
# the same d for all powers.  With ``d = 0`` the Renyi divergence of order ``1 + t`` is at most
# ``K / t``.  For losses in both directions the larger K and d are taken.
#
# **Losses that dominate** have no smaller moments.  Given an infinite mass d under P, with the rest
# of the losses l there, the mean of ``e^(t L)`` is that of ``z^-t`` with ``z = e^-L``, which is
# convex in z and falls: it is a mean of ``max(0, 1 - x z)`` over all x > 0 with positive weights,
# and each of these is the delta at ``ln x`` (Liese and Vajda, "On divergences and informations in
# statistics and information theory", 2006).  What holds for the pair that dominates with its event
# holds for the release: a release is a function of what its dominating pair shows (Blackwell 1951).
# For the same reason losses put on a lattice from above (:mod:`tacit.core.losses.lattice`) have no
# smaller moments.


# A log moment for each power, None where no finite one is known, and the probability d.
Moments: TypeAlias = tuple[tuple[Fraction | None, ...], Fraction]

_BITS = 128
_DUST = 1e-40
_CELLS = 1 << 16
# More than the relative error of a mean in floats: exponents are below 2^10, masses exact to
# 2^-40, and the sums have less than 2^17 terms, added in pairs.
_SLACK = 2.0**-36
_LARGEST_POWER = 700
_MAX_ATOMS = 1 << 8


def log_moments(losses: PrivacyLoss, powers: Sequence[Fraction]) -> Moments | None:
    """Return log moments of losses in the worse direction; None where none are known.

    >>> (found,), nothing = log_moments(GaussianShift(Fraction(10), 1), [Fraction(1)])
    >>> found, nothing
    (Fraction(1, 100), Fraction(0, 1))
    """
    if isinstance(losses, ConcentratedToo):
        rhos = tuple(t * (t + 1) * losses.rho for t in powers)
        pair = log_moments(losses.losses, powers)
        return (_each(_smaller, pair[0], rhos), pair[1]) if pair else (rhos, Fraction(0))
    if isinstance(losses, Dominating):
        return log_moments(losses.losses, powers)
    if isinstance(losses, BothWays):
        ways = [log_moments(way, powers) for way in losses.directions()]
        first, second = ways
        if first is None or second is None:
            return None
        return _each(_larger, first[0], second[0]), max(first[1], second[1])
    if isinstance(losses, ComposedLosses):
        return _of_sum(losses, powers)
    return _of_one(losses, powers)


def moments_of_range(loss_range: Fraction, powers: Sequence[Fraction]) -> list[Fraction]:
    """Return log moments of every release whose log ratios lie in an interval of a length.

    >>> [round(float(k), 4) for k in moments_of_range(Fraction(2), [Fraction(1), Fraction(9)])]
    [1.0, 15.201]
    """
    # With R the range, they are ``t (t + 1) R^2 / 8`` (Cesar and Rogers, ALT 2021), and at most
    # those of the pair of :mod:`tacit.core.losses.distribution`,
    # ``ln(sinh((t + 1/2) R) / ((2 t + 1) sinh(R / 2)))``, nor than ``t R``.
    return [
        min(t * (t + 1) * loss_range**2 / 8, _of_range(loss_range, t), t * loss_range)
        for t in powers
    ]


def _of_one(losses: PrivacyLoss, powers: Sequence[Fraction]) -> Moments | None:
    if isinstance(losses, GaussianShift):
        rho = losses.concentrated()
        return tuple(t * (t + 1) * rho for t in powers), Fraction(0)
    if isinstance(losses, BoundedRange):
        return tuple(_of_range(losses.range, t) for t in powers), Fraction(0)
    if isinstance(losses, LaplaceShift):
        maximum = losses.max_divergence()
        return tuple(_of_laplace(losses, t, t * maximum) for t in powers), Fraction(0)
    if isinstance(losses, PrivacyLossDistribution) and len(losses.atoms) <= _MAX_ATOMS:
        return _of_atoms(losses, powers)
    return _in_floats(losses, powers) if isinstance(losses, Summand) else None


def _of_laplace(losses: LaplaceShift, t: Fraction, maximum: Fraction) -> Fraction:
    if not maximum < _LARGEST_POWER:
        return maximum
    return min(maximum, (t * losses.renyi(1 + t)).rounded(64).upper)


def _of_range(loss_range: Fraction, t: Fraction) -> Fraction:
    far = (t + Fraction(1, 2)) * loss_range
    if not Fraction(1, 1 << 40) < far < _LARGEST_POWER:
        return t * loss_range  # the largest loss, where the powers lose all digits or are too long
    up, half = exp(far, 256), exp(loss_range / 2, 256)
    ratio = (up - 1 / up) / (half - 1 / half) / (2 * t + 1)
    return log(ratio.rounded(192), 192).rounded(64).upper


def _of_atoms(losses: PrivacyLossDistribution, powers: Sequence[Fraction]) -> Moments:
    levels: list[Fraction | None] = []
    rows = [(atom.loss.value, max(atom.p.upper, Fraction(0))) for atom in losses.atoms]
    maximum = max((loss.upper for loss, p in rows if p), default=Fraction(0))
    for t in powers:
        if not t * maximum < _LARGEST_POWER:
            levels.append(t * maximum)
            continue
        mean = sum((exp(t * loss, _BITS) * p for loss, p in rows if p), Enclosure.of(0)).upper
        levels.append(log(mean, _BITS).rounded(64).upper if mean else Fraction(0))
    return tuple(levels), max(losses.impossible.upper, Fraction(0))


def _in_floats(losses: Summand, powers: Sequence[Fraction]) -> Moments | None:
    """Return log moments of losses on a fine lattice, from above."""
    radius = losses.spread()[1]
    if not 0 < radius < math.inf:
        return None
    side = above(losses.in_floats(_DUST), radius / _CELLS)
    possible = np.flatnonzero(side.masses > 0)
    masses, indices = side.masses[possible], side.first + possible
    at = side.origin + side.step * indices
    at = at + (side.blur + 2.0**-50 * np.abs(at).max(initial=0.0))
    levels: list[Fraction | None] = []
    for t in powers:
        exponents = float(t) * at
        maximum = float(exponents.max(initial=0.0))
        if not maximum < _LARGEST_POWER:
            levels.append(None)
            continue
        mean = float(np.sum(np.exp(exponents) * masses)) * (1 + _SLACK)
        levels.append(Fraction(math.log(mean) + 2.0**-44) if 0 < mean < math.inf else None)
    return tuple(levels), Fraction(side.infinite) * (1 + Fraction(1, 1 << 36))


def _of_sum(losses: ComposedLosses, powers: Sequence[Fraction]) -> Moments | None:
    total: tuple[Fraction | None, ...] = (Fraction(0),) * len(powers)
    event = Fraction(0)
    for part, times in losses.parts:
        one = log_moments(part, powers)
        if one is None:
            return None
        more = [None if k is None else times * k for k in one[0]]
        total = _each(_plus, total, more)
        event += times * one[1]
    return total, event


def _each(
    combine: Callable[[Fraction | None, Fraction | None], Fraction | None],
    first: Sequence[Fraction | None],
    second: Sequence[Fraction | None],
) -> tuple[Fraction | None, ...]:
    return tuple(map(combine, first, second))


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)


def _smaller(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return min((one for one in (a, b) if one is not None), default=None)
