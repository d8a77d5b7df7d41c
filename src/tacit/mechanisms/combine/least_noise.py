"""The least scale at which a release, or a composition, is (epsilon, delta)-DP by its losses.

What is bounded is ``m.delta(epsilon)``, the delta of the privacy losses of the whole at the epsilon
asked for.  Its logarithm falls smoothly as the noise grows, so a line through two scales that are
too small and large enough finds the next one; a few scales are enough, each of which is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import ApproximateDP, Measurement
from tacit.errors import InfeasibleError, UsageError

__all__ = ["NO_NOISE", "least_noise", "stated_at"]

NO_NOISE = "inputs at this distance do not move what is released: no noise is needed"

_NEAR = 2.0**-32
"""Of the scale: so near the least one is the answer."""
_FARTHEST = 200
_GROWTH = 1.5
_STEPS = 100
_DIGITS = 40
_LEAST_LOG = -1e5


def least_noise(
    build: Callable[[Fraction], Measurement],
    d_in: NumberLike,
    epsilon: Fraction,
    delta: Fraction,
) -> Measurement:
    """Return the release of the least scale that is (epsilon, delta)-DP, stated as such.

    Args:
        build: a scale to a release whose losses never grow with it.
        d_in: the distance between neighbouring inputs.
        epsilon: at least 0.
        delta: above 0 and below 1.

    Raises:
        InfeasibleError: no scale is enough.
        UsageError: every scale is.
    """
    target = _log(delta)

    def excess(place: float) -> float:
        """Return how far ln delta is above the one asked for, at a scale of e to the place."""
        return _log(build(_scale(place)).delta(epsilon, d_in).upper) - target

    low, high = _around(excess)
    place = _narrowed(excess, low, high)
    return stated_at(build(_scale(place)), as_fraction(d_in), epsilon, delta)


def _around(excess: Callable[[float], float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a place that is too small and one that is enough, each with its excess."""
    step = math.log(2)
    here = (0.0, excess(0.0))
    way = 1 if here[1] > 0 else -1
    while True:
        there = (here[0] + way * step, excess(here[0] + way * step))
        if (there[1] > 0) != (here[1] > 0):
            return (here, there) if way > 0 else (there, here)
        here = there
        step *= _GROWTH
        if abs(here[0]) > _FARTHEST:
            break
    if way > 0:
        raise InfeasibleError("no amount of noise gives this guarantee")
    raise UsageError(NO_NOISE)


def _narrowed(
    excess: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]
) -> float:
    """Return a place that is enough, so that what is a little less is not.

    By the rule of Illinois: the line between the two ends finds the next place, where the excess of
    an end that has stayed before counts half.
    """
    (a, over), (b, under) = low, high
    stayed = 0
    for _ in range(_STEPS):
        if b - a <= _NEAR:
            break
        flat = not _LEAST_LOG < under < 0  # nothing to draw a line through
        middle = (a + b) / 2 if flat else a + (b - a) * over / (over - under)
        middle = min(max(middle, a + _NEAR / 2), b - _NEAR / 2)
        found = excess(middle)
        if found > 0:
            a, over = middle, found
            under, stayed = (under / 2 if stayed > 0 else under), 1
        else:
            b, under = middle, found
            over, stayed = (over / 2 if stayed < 0 else over), -1
    return b


def _scale(place: float) -> Fraction:
    """Return about e to the place, with few digits: short numbers are quick to compute with."""
    mantissa, exponent = math.frexp(math.exp(place))
    return Fraction(math.ceil(mantissa * (1 << _DIGITS)), 1 << _DIGITS) * Fraction(2) ** exponent


def _log(value: Fraction) -> float:
    if value <= 0:
        return _LEAST_LOG
    return max(math.log(value.numerator) - math.log(value.denominator), _LEAST_LOG)


def stated_at(m: Measurement, known: Fraction, epsilon: Fraction, delta: Fraction) -> Measurement:
    """State a release as (epsilon, delta)-DP at one delta, for every distance.

    Args:
        m: with an epsilon at this delta.
        known: the distance at which ``(epsilon, delta)`` has been proven already.
        epsilon: at that distance.
        delta: above 0 and below 1.

    >>> from tacit.core import AbsoluteDistance, Number, Space
    >>> from tacit.mechanisms import Gaussian
    >>> one = Space(Number("int"), AbsoluteDistance()) >> Gaussian(5)
    >>> pair = stated_at(one, Fraction(1), Fraction(1), Fraction(1, 10**6))
    >>> pair.map(1) == (1, Fraction(1, 10**6)), round(float(pair.map(2)[0]), 4)
    (True, 1.7596)
    """

    def loss(d: Fraction) -> tuple[Fraction, Fraction]:
        if d == known:
            return epsilon, delta
        if not d:
            return Fraction(0), Fraction(0)
        found = m.epsilon(delta, d)
        if not isinstance(found, Enclosure):
            raise UsageError(f"no finite epsilon is known at distance {show(d)} and this delta")
        return found.upper, delta

    stated = Measurement(
        m.input,
        ApproximateDP(),
        m.function,
        loss,
        distribution=m.law,
        losses=m.losses,
        witness=m.witness,
    )
    stated.links = m.links
    return stated
