r"""The privacy losses of discrete Laplace and Gaussian noise in floats.

Where the outcomes are few they are listed, and stand on a lattice.  Else they are added up: where
masses between losses are asked for, each end is moved to the middle between two outcomes, so that
an outcome counts as a whole and where its loss is.

**Laplace**, ``P(x)`` proportional to ``r^|x|`` with ``r = e^(-1/scale)``, shifted by s: the losses
are ``(2 x + s) / scale`` for x from -s to 0, of which the ends have the masses ``P(X <= -s) = r^s /
(1 + r)`` and ``P(X >= 0) = 1 / (1 + r)``.  Between them the masses of n outcomes up to ``j - 1``
come to ``e^((j - 1) / scale) (1 - e^(-n / scale)) / (1 + r)``.

**Gaussian**, shifted by s: the loss is ``s (2 x + s) / (2 sigma^2)``.  The sum of ``f(x) =
e^(-x^2 / (2 sigma^2))`` over whole numbers a..b-1 is the integral of ``f - f'' / 24`` from
``a - 1/2`` to ``b - 1/2``, up to ``7 f'''' / 5760`` a number (Euler and Maclaurin): relatively, at
most ``u^4 / (800 sigma^4)`` at u > 2 standard deviations, which is below 2^-44 for all u up to 37
and sigma above 2^14; smaller ones are listed.  Integrals are by Gauss and Legendre with five
points, on pieces of at most h = 1/50 of a standard deviation: an error of ``(5!)^4 h^11 f^(10) /
(11 (10!)^3)``, relatively below ``4 (u h)^10 10^-13 e^(u h)``, which is below 2^-44 for u up to 37.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core.losses.cells import SLACK, Floats, Listed, Spread

__all__ = ["gaussian_losses", "laplace_losses"]

_MOST_LISTED = 1 << 18
_LEAST_SIGMA = 1 << 14
"""In whole units: the outcomes of smaller ones are listed."""
_PIECES = 50
"""In a standard deviation."""
_NODES = [math.sqrt(5 + sign * 2 * math.sqrt(10 / 7)) / 3 for sign in (-1, 1)]
_WEIGHTS = [128 / 225, *((322 - sign * 13 * math.sqrt(70)) / 900 for sign in (-1, 1))]


def laplace_losses(scale: Fraction, shift: int) -> Listed | Spread:
    """Return the losses of discrete Laplace noise against itself, shifted.

    Args:
        scale: of the noise, in whole units.
        shift: in whole units, above zero.
    """
    rate, largest = float(1 / scale), float(shift / scale)
    both = 1 + math.exp(-rate)
    if shift <= _MOST_LISTED:
        places = np.arange(-shift, 1, dtype=np.int64)
        masses = np.asarray(np.exp(places * rate)) * (-math.expm1(-rate) / both)
        masses[0], masses[-1] = math.exp(-largest) / both, 1 / both
        return _listed(largest + 2 * rate * places, masses, places)
    ends = np.array([-largest, largest])
    alone = _listed(ends, np.array([math.exp(-largest), 1.0]) / both, None)

    def masses_between(losses: Floats) -> tuple[Floats, Floats]:
        # the outcomes from one end up to the one before the next
        first = np.ceil((losses / rate - shift) / 2)
        width = -np.expm1(-rate * np.diff(first)) / both
        return np.exp(rate * (first[1:] - 1)) * width, np.exp(-rate * (first[:-1] + shift)) * width

    return Spread((-largest + rate, largest - rate), masses_between, alone, 2 * SLACK)


def gaussian_losses(sigma: Fraction, shift: int, dust: float) -> Listed | Spread:
    """Return the losses of discrete Gaussian noise against itself, shifted.

    Args:
        sigma: of the noise, in whole units.
        shift: in whole units, above zero.
        dust: the mass that may be left out at each end; it is below ``e^(-u^2 / 2)`` beyond u
            standard deviations.
    """
    deviations = math.sqrt(-2 * math.log(dust)) + 2.0**-20
    reach = math.ceil(deviations * sigma)
    ratio, square = float(shift / sigma), float(sigma**2)
    middle, infinite = ratio**2 / 2, (0.0, dust)
    if 2 * reach + 1 <= _MOST_LISTED or sigma <= _LEAST_SIGMA:
        places = np.arange(-reach, reach + 1, dtype=np.int64)
        masses: Floats = np.exp(-np.square(places.astype(np.float64)) / (2 * square))
        masses /= masses.sum()
        found = _listed(middle + float(shift / sigma**2) * places, masses, places, infinite)
        found.most[0] += dust
        return found

    def density(u: Floats) -> Floats:
        thin: Floats = np.exp(-np.square(u) / 2) * (1 - (np.square(u) - 1) / (24 * square))
        return thin / math.sqrt(2 * math.pi)

    def masses_between(losses: Floats) -> tuple[Floats, Floats]:
        u = (np.ceil((losses - middle) / gap) - 0.5) * (gap / ratio)
        return _integrals(density, u), _integrals(density, u + ratio)

    gap = float(shift / sigma**2)
    ends = (middle - ratio * deviations, middle + ratio * deviations)
    below = np.array([ends[0]])
    alone = Listed(below, below, np.zeros(1), np.full(1, dust), infinite)
    return Spread(ends, masses_between, alone, 2 * SLACK)


def _listed(
    losses: Any,
    masses: Any,
    places: NDArray[np.int64] | None,
    infinite: tuple[float, float] = (0.0, 0.0),
) -> Listed:
    return Listed(losses, losses, masses * (1 - SLACK), masses * (1 + SLACK), infinite, places)


def _integrals(density: Callable[[Floats], Floats], ends: Floats) -> Floats:
    """Integrate between neighbours, in pieces where they are far from each other."""
    widths = np.diff(ends)
    pieces = max(1, math.ceil(_PIECES * float(widths.max(initial=0.0))))
    half = widths[:, None] / (2 * pieces)
    middle = ends[:-1, None] + half * (2 * np.arange(pieces) + 1)
    found = _WEIGHTS[0] * density(middle)
    for node, weight in zip(_NODES, _WEIGHTS[1:], strict=True):
        found += weight * (density(middle - node * half) + density(middle + node * half))
    total: Floats = (half * found).sum(axis=1)
    return total
