"""Summands of discrete Laplace noise, and of randomized response: their generating functions.

Discrete Laplace noise of rate ``r = 1 / scale``, shifted by s, has with ``e = s r`` and
``q = e^(-r (1 + 2 z))``

    M(z) = (e^(z e) + e^(-e - z e) + (1 - e^-r) e^(z e) (q - q^s) / (1 - q)) / (1 + e^-r);

randomized response is that of a shift of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.losses.cells import Floats
from tacit.core.losses.contour.families import Family, columns

__all__ = ["Ends", "ends_of"]


@dataclass(frozen=True)
class Ends(Family):
    """Summands of discrete Laplace noise, or of randomized response: an entry for each.

    Attributes:
        times: how often it stands.
        rate: one over the scale.
        shift: in whole units.

    >>> one = ends_of([(1 / 4, 2, 1)])
    >>> [round(float(m), 12) for m in one.factors(0.0)]
    [1.0]
    """

    rate: Floats
    shift: Floats

    @property
    def largest(self) -> Floats:
        """The largest loss of each."""
        return self.rate * self.shift

    @property
    def reach(self) -> Floats:
        """The largest loss of each."""
        return self.largest

    @property
    def terms(self) -> int:
        """Two exponentials, or about five where there is something between the ends."""
        return 2 if self.shift.max() == 1 else 5

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each; of a complex z, or of one per column."""
        e, r, s = (columns(one, z) for one in (self.largest, self.rate, self.shift))
        if self.shift.max() == 1:
            return (np.exp(z * e) + np.exp(-e - z * e)) / (1 + np.exp(-r))
        exponent = -r * (1 + 2 * z)
        between = np.exp(exponent) * np.expm1(exponent * (s - 1)) / np.expm1(exponent)
        up = np.exp(z * e)
        return (up + np.exp(-e - z * e) - np.expm1(-r) * up * between) / (1 + np.exp(-r))

    def weights(self, t: float) -> tuple[Floats, Floats]:
        """Return the tilted masses at the upper and the lower end of each."""
        whole = self.factors(t) * (1 + np.exp(-self.rate))
        e = self.largest
        return np.exp(t * e) / whole, np.exp(-e - t * e) / whole


def ends_of(rows: Sequence[tuple[float, int, int]]) -> Ends:
    """Return summands from the rate, the shift and the count of each."""
    found = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Ends(found[:, 2].copy(), found[:, 0].copy(), found[:, 1].copy())
