"""The frequencies at which nothing is added up: what the product of all factors is at most there.

The tilted loss of a summand has the masses p and q at its ends ``+-e``, so its factor at the
frequency w is at most ``1 - p - q + sqrt((p + q)^2 - 4 p q sin^2(w e))``.  That falls up to ``w =
pi / (2 e)``; from there on the least sine of each cell of frequencies counts, for some of the
summands (the others have factors up to one), and for all of them, in finer cells, where these do
not say enough.  A Gaussian of variance v has the factor ``e^(-v w^2 / 2)``, and beyond a last w
that is below all that matters.  Where the summands resonate, as those on one lattice do, there is
no bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.core.losses.cells import Floats
from tacit.core.losses.contour.ends import Ends

__all__ = ["REST", "most_beyond"]

REST = 30.0
"""What is left out is below e to minus this."""
_LIMIT = -26.0
_CELL = 0.25
_TRIES = ((64, 1), (512, 2), (1 << 20, 4), (1 << 20, 4))
"""In turn how many summands, and into how many parts the cells are cut that are left over."""
_AT_ONCE = 1 << 18
_MOST_WORK = 1 << 23
_MOST_CELLS = 1 << 17


def most_beyond(ends: Ends, tilt: float, band: float, variance: float) -> float:
    """Return the largest product beyond the band; one where it is not bounded.

    Args:
        ends: the summands.
        tilt: of their losses.
        band: the frequency from which on it is asked.
        variance: of the Gaussian.
    """
    k = ends.times
    p, q = (one * (1 - 2.0**-40) for one in ends.weights(tilt))
    masses = _Masses(ends.largest, p, q, k)
    widest = float(ends.largest.max())
    last, turn = math.sqrt(2 * REST / variance), math.pi / 2 / widest
    worst = -REST
    if band < turn:
        falling = np.sin(min(band, last) * ends.largest) ** 2
        worst = max(worst, float(masses.log(falling)))
    width = _CELL / widest
    start = max(turn, band)
    cells = math.ceil((last - start) / width)
    if worst > _LIMIT or cells > _MOST_CELLS:
        return 1.0
    if cells <= 0:
        return math.exp(worst)
    low: Floats = np.asarray(start + width * np.arange(cells), dtype=np.float64)
    for few, parts in _TRIES:
        some = masses.some(few)
        width /= parts
        low = (low[:, None] + width * np.arange(parts)).ravel()
        if len(low) * len(some.ends) > _MOST_WORK:
            return 1.0
        logs = _cells(some, low, width, variance)
        over = logs > _LIMIT
        worst = max([worst, *logs[~over].tolist()])
        low = low[over]
        if not len(low):
            return math.exp(worst)
    return 1.0


def _cells(some: _Masses, low: Floats, width: float, variance: float) -> Floats:
    """Return what the logarithms of products are at most in cells of frequencies."""
    size, found = max(_AT_ONCE // len(some.ends), 1), []
    for first in range(0, len(low), size):
        near = low[first : first + size]
        sines = _least_sines(near[:, None] * some.ends, (near + width)[:, None] * some.ends)
        found.append(some.log(sines) - variance * np.square(near) / 2)
    return np.concatenate(found)


@dataclass(frozen=True)
class _Masses:
    """The tilted masses of summands at their two ends, and how often they stand."""

    ends: Floats
    upper: Floats
    lower: Floats
    times: Floats

    def some(self, few: int) -> _Masses:
        """Return about so many of them, in no regular order: all if they are no more."""
        size = len(self.ends)
        if few >= size:
            return self
        places = np.unique((np.arange(few, dtype=np.int64) ** 2 * 40503 + 7) % size)
        return _Masses(*(one[places] for one in (self.ends, self.upper, self.lower, self.times)))

    def log(self, sines: Floats) -> Floats:
        """Return the logarithm of what the product of factors is at most, by row.

        Args:
            sines: squares of sines that are not above those of the summands.
        """
        both = self.upper + self.lower
        root = np.sqrt(np.maximum(both * both - 4 * self.upper * self.lower * sines, 0.0))
        factors = np.minimum(1 - both + root + 2.0**-44, 1.0)
        found: Floats = np.log(factors) @ self.times
        return found


def _least_sines(low: Floats, high: Floats) -> Floats:
    """Return what the squares of sines are not below between two angles, less than pi apart."""
    least = np.minimum(np.square(np.sin(low)), np.square(np.sin(high))) - 2.0**-40
    least[np.floor(low / math.pi) != np.floor(high / math.pi)] = 0.0
    found: Floats = np.maximum(least, 0.0)
    return found
