"""How far the outputs of a measurement on two data sets are from each other: computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure, log
from tacit.core.chain.measurement import Measurement
from tacit.core.divergences.event_probability import mass_of
from tacit.core.losses.additive_noise import GaussianShift, ShiftedLoss, shifted
from tacit.core.losses.additive_renyi import renyi_of_gaussian, renyi_of_laplace
from tacit.core.losses.distribution import BothWays, PrivacyLoss, PrivacyLossDistribution
from tacit.core.measures.measure import ApproximateDP, Measure, PureDP, RenyiDP, ZeroConcentratedDP
from tacit.errors import InfeasibleError, UsageError

__all__ = ["divergence", "privacy_loss"]


def divergence(
    measurement: Measurement, u: Any, v: Any, *, event: Any = None, measure: Measure | None = None
) -> Any:
    """Return how far the outputs on two data sets are from each other.  Not private: to learn by.

    Args:
        measurement: one whose output distribution is explicit.
        u: a data set.
        v: another (a neighbour or not).
        event: the outputs S to look at: ``(lower, upper)`` with both ends in it, None for no end; a
            set of outcomes; or a function of an outcome.  The answer is then ``|ln(P(S) / Q(S))|``.
        measure: how to count over all events; None for the measurement's own measure.

    Returns:
        An :class:`~tacit.noise.Enclosure` (``float()`` gives its upper end), or ``math.inf``; for
        approximate DP a function of epsilon that encloses delta, in the worse direction.

    Raises:
        UsageError: no explicit output distribution, an event without any output.
        InfeasibleError: an event too unlikely to tell its probability from zero.

    Example:
        >>> from tacit.core import Space, SymmetricDistance, Vector
        >>> from tacit.transformations import Clamp, Sum
        >>> from tacit.mechanisms import Laplace
        >>> column = Space(Vector(int), SymmetricDistance())
        >>> m = column >> Clamp(0, 12) >> Sum() >> Laplace(scale=25)
        >>> u, v = [12, 10, 8, 7], [10, 8, 7]
        >>> float(divergence(m, u, v)), round(float(divergence(m, u, v, event=(25, 40))), 4)
        (0.48000000000000004, 0.084)
    """
    p, q = measurement.distribution(u), measurement.distribution(v)
    if event is not None:
        return _on_event(p, q, event)
    return between(p, q, measure if measure is not None else measurement.measure)


def between(p: Any, q: Any, asked: Measure) -> Any:
    """Evaluate a measure between two distributions, each as ``m.distribution(data)`` returned it.

    Raises:
        UsageError: two that are neither listed nor one law in two places.
    """
    if _tabled(p) and _tabled(q):
        return asked.divergence(_table(p), _table(q))
    if hasattr(p, "parts") and hasattr(q, "parts") and len(p.parts) == len(q.parts):
        return _by_measure(asked, [_shift_of(a, b) for a, b in zip(p.parts, q.parts, strict=True)])
    return _by_measure(asked, [_shift_of(p, q)])


def privacy_loss(measurement: Measurement, u: Any, v: Any, *, both: bool = True) -> PrivacyLoss:
    """Return the privacy losses of the outputs on ``u`` and ``v``: of the worse direction.

    Args:
        measurement: one whose output distribution is explicit.
        u: a data set.
        v: another.
        both: whether ``.epsilon`` and ``.delta`` answer for the worse of u against v and v against
            u, as privacy asks; False for u against v alone.

    Raises:
        UsageError: no explicit output distribution.

    >>> from tacit.core import AbsoluteDistance, Number, Space
    >>> from tacit.mechanisms import Laplace
    >>> m = Space(Number("int"), AbsoluteDistance()) >> Laplace(scale=2)
    >>> loss = privacy_loss(m, 0, 1)
    >>> float(loss.epsilon(0)), round(float(loss.compose(loss).delta("0.6")), 4)
    (0.5, 0.1277)
    """
    p, q = measurement.distribution(u), measurement.distribution(v)
    if _tabled(p) and _tabled(q):
        forward = PrivacyLossDistribution.of(_table(p), _table(q))
        if not both:
            return forward
        return BothWays(forward, PrivacyLossDistribution.of(_table(q), _table(p)))
    if not hasattr(p, "parts"):
        return _shift_of(p, q)  # symmetric noise: one direction is as the other
    first, *others = (_shift_of(a, b) for a, b in zip(p.parts, q.parts, strict=True))
    whole: PrivacyLoss = first
    for other in others:
        whole = whole.compose(other)
    return whole


def _on_event(p: Any, q: Any, event: Any) -> Enclosure | float:
    here, there = mass_of(p, event), mass_of(q, event)
    if here.upper <= 0 and there.upper <= 0:
        raise UsageError("no output lies in this event, on either data set")
    if here.upper <= 0 or there.upper <= 0:
        return math.inf
    if here.lower <= 0 or there.lower <= 0:
        raise InfeasibleError("the event is too unlikely to tell its probability from zero")
    return abs(log(here / there, 96))


def _tabled(distribution: Any) -> bool:
    table = getattr(distribution, "table", distribution)
    return isinstance(table, Mapping) and not getattr(distribution, "rest", 0)


def _table(distribution: Any) -> Mapping[Any, Any]:
    return getattr(distribution, "table", distribution)  # type: ignore[no-any-return]


def _shift_of(p: Any, q: Any) -> ShiftedLoss:
    laws = getattr(p, "law", None), getattr(q, "law", None)
    if laws[0] is None or laws[0] != laws[1] or p.grid != q.grid:
        raise UsageError(
            "the two output distributions are neither listed nor one law in two places; ask for "
            "an event, or with .probability(value) of each"
        )
    return shifted(laws[0], p.centre - q.centre)


def _by_measure(measure: Measure, losses: list[ShiftedLoss]) -> Any:
    """Evaluate a measure of independent shifted laws, one a coordinate.

    The logarithm of a product is a sum, so max and Renyi divergences add up over coordinates.
    """
    if isinstance(measure, PureDP):
        total = sum((Fraction(0) + _finite(loss) for loss in losses), Fraction(0))
        endless = any(loss.max_divergence() == math.inf for loss in losses)
        return math.inf if endless else Enclosure.of(total)
    if isinstance(measure, ApproximateDP):
        whole: PrivacyLoss = losses[0]
        for loss in losses[1:]:
            whole = whole.compose(loss)
        return whole.delta
    if isinstance(measure, ZeroConcentratedDP):
        if len(losses) > 1:
            return sum((Enclosure.of(loss.concentrated()) for loss in losses), Enclosure.of(0))
        return Enclosure.of(losses[0].concentrated())
    if isinstance(measure, RenyiDP):
        return sum((_renyi(loss, measure.alpha) for loss in losses), Enclosure.of(0))
    raise UsageError(f"{measure} has no evaluation on these distributions")


def _finite(loss: ShiftedLoss) -> Fraction:
    found = loss.max_divergence()
    return Fraction(0) if found == math.inf else Fraction(found)


def _renyi(loss: ShiftedLoss, alpha: Fraction) -> Enclosure:
    closed = renyi_of_gaussian if isinstance(loss, GaussianShift) else renyi_of_laplace
    return closed(loss.scale, loss.shift, alpha)
