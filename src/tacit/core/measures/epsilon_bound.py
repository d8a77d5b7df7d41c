"""The least epsilon at delta that a measurement can claim, enclosed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import chain
from operator import and_
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import show
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.distribution import dominating_pair
from tacit.core.losses.summed import Sum, Summand
from tacit.core.measures.conversion import (
    concentrated_delta,
    concentrated_epsilon,
    renyi_delta,
    renyi_epsilon,
)
from tacit.core.measures.measure import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    ZeroConcentratedDP,
)
from tacit.core.measures.renyi_measures import RenyiCurve, RenyiDP, orders_of
from tacit.core.spaces.witness import EVERY, Witness
from tacit.errors import UsageError

__all__ = [
    "LossMap",
    "bound_alone",
    "composed_losses",
    "delta_bound",
    "epsilon_bound",
    "implied_loss",
    "losses_behind",
]

_MANY = 16
"""More different losses are added up at once where they can be."""

_PAIRS = 8
"""Of releases that share no pair, so many pairs are looked at from below."""

LossMap = Callable[[Fraction], PrivacyLoss | None]
"""From an input distance to losses that dominate those of all inputs that near, if known."""


def implied_loss(measure: Measure, loss: Any) -> PrivacyLoss | None:
    """Return privacy losses that dominate those of every release with this loss, if there are any.

    Pure and approximate DP have such a pair (:func:`dominating_pair`); a bound on Renyi divergences
    has none that is attained.  That some pair of inputs attains them is not known: what they say is
    a bound from above.
    """
    if isinstance(measure, PureDP):
        return Dominating(dominating_pair(loss))
    if isinstance(measure, ApproximateDP):
        return Dominating(dominating_pair(*loss))
    return None


Part = tuple[LossMap | None, Measure, Callable[[Fraction], Any]]
"""The losses of a release, the measure and the privacy map."""


def composed_losses(
    parts: Sequence[Part], witnesses: Callable[[], Sequence[Witness]] = lambda: ()
) -> LossMap:
    """Return the loss map of several releases of one data set, from what is known of each.

    Each part that knows no losses of its own stands with those that its privacy map implies.  The
    order does not matter, so equal parts are composed with each other first: a part that stands
    often is asked once, and its losses are composed by repeated squaring.  Where no pair of inputs
    is known to have the losses of all parts, all together are a bound, and what a pair loses in the
    parts that share it is known from below.

    Args:
        parts: the releases.
        witnesses: the pairs that have the losses of each part, asked for once they are needed; by
            default all that far apart.
    """
    places = [tuple(map(id, part)) for part in parts]
    different, times = dict(zip(places, parts, strict=True)), Counter(places)

    def losses(d: Fraction) -> PrivacyLoss | None:
        each: dict[Any, PrivacyLoss] = {}
        for place, (own, measure, privacy) in different.items():
            loss = own(d) if own is not None else None
            loss = loss if loss is not None else implied_loss(measure, privacy(d))
            if loss is None:
                return None
            each[place] = loss
        whole, named = _added_up(times, each), witnesses()
        if reduce(and_, named, EVERY):
            return whole
        by_pair: dict[Witness, Counter[Any]] = {}
        for witness, place in zip(named, places, strict=True):
            by_pair.setdefault(witness, Counter())[place] += 1
        most = sorted(by_pair.values(), key=Counter.total, reverse=True)[:_PAIRS]
        alone = [_added_up(of_a_pair, each) for of_a_pair in most]
        pairs = [one.below if isinstance(one, Dominating) else (one,) for one in alone]
        above = whole if isinstance(whole, Dominating) else Dominating(whole)
        return replace(above, below=tuple(chain.from_iterable(pairs)))

    return losses


def _added_up(times: Counter[Any], losses: Mapping[Any, PrivacyLoss]) -> PrivacyLoss:
    """Return all losses together, each as often as its name is counted."""
    counts: Counter[PrivacyLoss] = Counter()
    for name, number in times.items():
        counts[losses[name]] += number
    found = list(counts.items())
    whole = _at_once(found) if len(found) > _MANY else None
    if whole is not None:
        return whole
    return reduce(lambda a, b: a.compose(b), (loss.self_compose(k) for loss, k in found))


def losses_behind(
    stability: Callable[[Fraction], Fraction], losses: LossMap, *, onto: bool, known: bool
) -> LossMap:
    """Return the losses of a release behind a transformation.

    Args:
        stability: the map of the transformation.
        losses: of the release.
        onto: whether every two inputs of the release come of two that are as far apart.
        known: whether some two attain the map, and all inputs that far apart have the losses.
    """

    def found(d: Fraction) -> PrivacyLoss | None:
        loss = losses(stability(d))
        # that some inputs are as far apart is not that they are mapped to a pair of its own
        return loss.directions()[0] if isinstance(loss, Dominating) else loss

    if onto:
        return lambda d: losses(stability(d))
    return found if known else bound_alone(found)


def bound_alone(losses: LossMap) -> LossMap:
    """Return losses that are a bound alone: what is done to a release may hide all of it."""

    def found(d: Fraction) -> PrivacyLoss | None:
        known = losses(d)
        return None if known is None else Dominating(known)

    return found


def _at_once(found: Sequence[tuple[PrivacyLoss, int]]) -> PrivacyLoss | None:
    """Return many losses together, where each is a list in one direction, or dominated by one."""
    parts: list[tuple[Summand, int]] = []
    dominated = False
    for loss, times in found:
        plain = type(loss) is Dominating
        held = loss.losses if isinstance(loss, Dominating) and plain else loss
        if not isinstance(held, Summand):
            return None
        dominated = dominated or plain
        parts.append((held, times))
    whole = Sum.of(parts)
    return Dominating(whole) if dominated else whole


def delta_bound(measure: Measure, loss: Any, epsilon: Fraction) -> Enclosure:
    """Enclose delta at epsilon from a loss in a measure alone: the lower end is zero.

    Raises:
        UsageError: the measure says no delta.

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
    """Enclose epsilon at delta from a loss in a measure alone: the lower end is zero.

    Raises:
        UsageError: the measure says nothing at this delta.
    """
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
