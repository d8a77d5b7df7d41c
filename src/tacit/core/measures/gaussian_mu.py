r"""Gaussian differential privacy: the mu of the Gaussian release that a release stays below.

The profile of a Gaussian number whose mean moves by mu standard deviations is

    G(mu, epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

(Balle and Wang, ICML 2018, theorem 8).  A release is mu-GDP if its delta is at most this at every
``epsilon >= 0`` (Dong, Roth, Su, "Gaussian differential privacy", JRSS B 2022, corollary 2.13).

**Every epsilon, from a few.**  Both profiles are convex in ``x = e^epsilon``.  Between two points
that of the release is at most its chord, and G is at least any of its tangents; the slope of G in x
is ``-Phi(-mu / 2 - epsilon / mu)``.  So it is enough that a tangent of G lies above both ends of
each chord.  The points go to an epsilon at which the delta of the release is at most the delta that
is forgiven; from there on there is nothing to show.  What is found in floats is certified in
enclosures; where cells between two points ask for more than the points, they are halved.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.special_functions import normal_cdf
from tacit.core.measures.profile_points import ProfilePoints
from tacit.errors import InfeasibleError

__all__ = ["least_mu"]

_ZERO = Fraction(0)
_CELLS = 16
_MOST_POINTS = 96
_CLOSE = 2.0**-9
_GROWTH = 2.0**-30
_BITS = 320
_FARTHEST = 600
_LARGEST_MU = 64.0
_STEPS = 60


def least_mu(profile: ProfilePoints, end: Fraction, forgiven: Fraction) -> Enclosure:
    """Enclose the least mu whose Gaussian profile is nowhere below that of a release.

    Args:
        profile: of the release.
        end: an epsilon at which its delta is at most ``forgiven``.
        forgiven: the delta that is not looked at.

    Raises:
        InfeasibleError: an epsilon too large for a mu.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> one = dominating_pair(Fraction(1))
    >>> found = least_mu(ProfilePoints(one.delta), Fraction(1), Fraction(0))
    >>> round(float(found.lower), 3), round(float(found.upper), 2)
    (1.232, 1.23)
    """
    if end > _FARTHEST:
        raise InfeasibleError(
            f"an epsilon of more than {_FARTHEST} is too large to be stated as that of a Gaussian"
        )
    if end == 0 or profile.at(_ZERO).upper <= forgiven:
        return Enclosure.of(0)
    places = {end * i / _CELLS for i in range(_CELLS + 1)}
    while True:
        profile.ask(places)
        cells = list(itertools.pairwise(sorted(places)))
        asked = [_of_cell(profile, *cell) for cell in cells]
        worst = max(range(len(cells)), key=lambda i: asked[i])
        low = max(_of_point(e, profile.at(e).lower) for e in places)
        # no points between bring the bound below what the points themselves ask for
        enough = max(_of_point(e, profile.at(e).upper) for e in places) * (1 + _CLOSE)
        if asked[worst] <= enough or len(places) >= _MOST_POINTS:
            break
        wide = [cell for cell, mu in zip(cells, asked, strict=True) if mu > enough]
        halves = {((a + b) / 2).limit_denominator(1 << 40) for a, b in wide} - places
        if not halves:
            break
        places |= halves
    return Enclosure(_certified_low(profile, places, low), _certified(profile, cells, asked[worst]))


def _certified(
    profile: ProfilePoints, cells: Iterable[tuple[Fraction, Fraction]], near: float
) -> Fraction:
    """Return a mu near one in floats at which every cell holds, in enclosures."""
    growth = _GROWTH
    pairs = list(cells)
    while True:
        mu = Fraction(near * (1 + growth)).limit_denominator(1 << 40)
        if all(_holds(profile, mu, *cell) for cell in pairs):
            return mu
        growth *= 4
        if growth > 1:
            raise InfeasibleError("no mu was found at which a Gaussian release is certainly worse")


def _holds(profile: ProfilePoints, mu: Fraction, a: Fraction, b: Fraction) -> bool:
    """Return whether a tangent of G is certainly above the chord of a cell."""
    if profile.at(a).upper == 0:
        return True
    middle = (a + b) / 2
    shift = Enclosure.of(-middle / mu)
    slope = normal_cdf(shift - mu / 2, _BITS)
    x = exp(middle, _BITS)
    value = normal_cdf(shift + mu / 2, _BITS) - x * slope
    return all(
        (value - slope * (exp(end, _BITS) - x)).lower >= profile.at(end).upper for end in (a, b)
    )


def _certified_low(profile: ProfilePoints, places: Iterable[Fraction], near: float) -> Fraction:
    """Return a mu at which G is certainly below the profile somewhere, or zero."""
    if near <= 0:
        return _ZERO
    mu = Fraction(near * (1 - _GROWTH)).limit_denominator(1 << 40)
    for epsilon in places:
        least = profile.at(epsilon).lower
        if least > 0 and _gaussian(mu, epsilon).upper < least:
            return mu
    return _ZERO


def _gaussian(mu: Fraction, epsilon: Fraction) -> Enclosure:
    shift = Enclosure.of(-epsilon / mu)
    under = exp(epsilon, _BITS) * normal_cdf(shift - mu / 2, _BITS)
    return normal_cdf(shift + mu / 2, _BITS) - under


def _of_point(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the mu whose profile has this delta at this epsilon; 0 for a delta of 0."""
    target, level = float(delta), float(epsilon)
    if target <= 0:
        return 0.0
    return _least(lambda mu: _in_floats(mu, level)[0] >= target)


def _of_cell(profile: ProfilePoints, a: Fraction, b: Fraction) -> float:
    """Return about the least mu for the cell between two points."""
    left, right = (float(profile.at(end).upper) for end in (a, b))
    middle = (float(a) + float(b)) / 2
    before, after = math.expm1(float(a) - middle), math.expm1(float(b) - middle)

    def holds(mu: float) -> bool:
        value, slope = _in_floats(mu, middle)
        return value - slope * before >= left and value - slope * after >= right

    return _least(holds)


def _least(holds: object) -> float:
    assert callable(holds)
    return narrowed(holds, _LARGEST_MU, 0.0, _STEPS)[0]


def _in_floats(mu: float, epsilon: float) -> tuple[float, float]:
    """Return G, and ``e^epsilon`` times minus its slope."""
    if mu <= 0:
        return 0.0, 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    tail = math.exp(epsilon) * math.erfc(far / math.sqrt(2)) / 2
    return math.erfc(near / math.sqrt(2)) / 2 - tail, tail
