"""The least epsilon at delta that a measurement can claim, enclosed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
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
from tacit.errors import UsageError

__all__ = ["LossMap", "composed_losses", "delta_bound", "epsilon_bound", "implied_loss"]

_MANY = 16
"""More different losses are added up at once where they can be."""

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


def composed_losses(
    parts: Sequence[tuple[LossMap | None, Measure, Callable[[Fraction], Any]]],
) -> LossMap:
    """Return the loss map of several releases of one data set, from what is known of each.

    Each part that knows no losses of its own stands with those that its privacy map implies.  The
    order does not matter, so equal parts are composed with each other first: a part that stands
    often is asked once, and its losses are composed by repeated squaring.
    """
    places = Counter(tuple(map(id, part)) for part in parts)
    different = {tuple(map(id, part)): part for part in parts}

    def losses(d: Fraction) -> PrivacyLoss | None:
        counts: Counter[PrivacyLoss] = Counter()
        for place, (own, measure, privacy) in different.items():
            loss = own(d) if own is not None else None
            loss = loss if loss is not None else implied_loss(measure, privacy(d))
            if loss is None:
                return None
            counts[loss] += places[place]
        found = list(counts.items())
        if len(found) > _MANY:
            whole = _at_once(found)
            if whole is not None:
                return whole
        return reduce(lambda a, b: a.compose(b), (loss.self_compose(k) for loss, k in found))

    return losses


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
