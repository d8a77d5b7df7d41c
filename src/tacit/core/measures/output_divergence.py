"""How far the outputs of a measurement on two data sets are from each other: computed."""

from __future__ import annotations

import math
from typing import Any, Protocol

from tacit.arithmetic.enclosure import Enclosure, log
from tacit.calls import public
from tacit.core.divergences.event_probability import mass_of
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.output_pair import loss_of_pair
from tacit.core.measures.measure import Divergence, Measure
from tacit.errors import InfeasibleError, UsageError

__all__ = ["HasOutputs", "divergence", "privacy_loss"]


class HasOutputs(Protocol):
    """What is asked of a measurement here: its measure, and its output distributions."""

    measure: Measure

    def distribution(self, data: Any) -> Any:
        """Return the exact distribution of the output on ``data``."""


@public
def divergence(
    measurement: HasOutputs,
    u: object,
    v: object,
    *,
    event: object = None,
    measure: Measure | None = None,
) -> Divergence:
    """Return how far the outputs on two data sets are from each other.  Not private: for teaching.

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
        InfeasibleError: an event too unlikely to distinguish its probability from zero.

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
    return (measurement.measure if measure is None else measure).between(p, q)


@public
def privacy_loss(
    measurement: HasOutputs, u: object, v: object, *, both: bool = True
) -> PrivacyLoss:
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
    return loss_of_pair(measurement.distribution(u), measurement.distribution(v), both=both)


def _on_event(p: Any, q: Any, event: Any) -> Enclosure | float:
    here, there = mass_of(p, event), mass_of(q, event)
    if here.upper <= 0 and there.upper <= 0:
        raise UsageError("no output lies in this event, on either data set")
    if here.upper <= 0 or there.upper <= 0:
        return math.inf
    if here.lower <= 0 or there.lower <= 0:
        raise InfeasibleError("the event is too unlikely to distinguish its probability from zero")
    return abs(log(here / there, 96))
