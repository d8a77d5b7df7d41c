"""From noisy Bernstein sums to count, sum, mean, variance and their intervals.

The released vector of a group is ``t_j + noise_j``, j = 0..degree (and the missing rows); see
:class:`~tacit.tables.chain.moment_steps.MomentsByGroup`.
Everything here is post-processing of it: no data.

With ``n = sum t_j``, ``sum y = sum (j / degree) t_j`` and, for degree 2, ``sum y^2 = t_2``.
Linear answers (count, sum) have the variance of their weights.  Means are ratios: their interval
is Fieller's, the set of all m that the noise does not contradict, which keeps its coverage also in
groups so small that the noise is larger than the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.noise_law import NoiseLaw, Spread, standard_spread

__all__ = ["Moments", "bernstein"]


def bernstein(moments: Any, cells: int, degree: int, missing: bool) -> list[int]:
    """Return the Bernstein sums, in units, from the weights, the sum of z and that of its square.

    With Q cells: ``sum (Q - z)`` and ``sum z`` for degree 1; ``sum (Q - z)^2``, ``sum 2 z (Q - z)``
    and ``sum z^2`` for degree 2; then Q^degree times the weight of the missing rows.

    >>> z_is_1_and_2 = np.array([[2, 0, 3, 5]], dtype=object)
    >>> bernstein(z_is_1_and_2, cells=2, degree=2, missing=False)
    [1, 2, 5]
    """
    present, absent, first, second = moments.T
    if degree == 1:
        columns = [present * cells - first, first]
    else:
        columns = [
            present * cells**2 - 2 * cells * first + second,
            2 * cells * first - 2 * second,
            second,
        ]
    if missing:
        columns.append(absent * cells**degree)
    return [int(value) for value in np.stack(columns, axis=1).ravel()]


@dataclass(frozen=True)
class Moments:
    """What a noisy vector of Bernstein sums says, group by group.

    Args:
        noisy: shape (groups, degree + 1), and one column more for missing rows if there is one.
        law: the noise on each coordinate.
        lower, upper: the bounds of the column, on its grid.
        degree: 1 or 2.
        missing: whether the last column counts rows without a value.
        level: of the intervals.
    """

    noisy: Array
    law: NoiseLaw
    lower: float
    upper: float
    degree: int
    missing: bool
    level: float = 0.95

    @property
    def _sums(self) -> Array:
        return self.noisy[:, : self.degree + 1]

    @property
    def _places(self) -> Array:
        """The weight of each coordinate in ``sum y``."""
        return np.arange(self.degree + 1) / self.degree

    def count(self) -> Estimate:
        """Return the number of rows (with a value, where missing ones are left out)."""
        return self._linear(np.ones(self.noisy.shape[1]), 0.0, np.inf)

    def total(self) -> Estimate:
        """Return the sum: ``lower n + (upper - lower) sum y``."""
        weights = self.lower + (self.upper - self.lower) * self._places
        padded = np.append(weights, 0.0) if self.missing else weights
        return self._linear(padded, -np.inf, np.inf)

    def mean(self) -> Estimate:
        """Return the mean: ``lower + (upper - lower) sum y / n``."""
        share, low, high = self._mean_share()
        size = self._size()
        directions = self._places[None, :] - share[:, None]
        error = np.sqrt((directions**2).sum(axis=1) * self.law.variance) / size
        return self._scaled(share, np.minimum(error, 1.0), low, high)

    def variance(self) -> Estimate:
        """Return the variance ``sum y^2 / n - (sum y / n)^2``, scaled back.

        **Interval.** On the box that holds all noisy coordinates at once (each at level
        ``1 - (1 - level) / 3``), the variance is ``min over c of sum (y - c)^2 / n``.  For fixed c
        that is a ratio of linear functions, so its extremes are at corners of the box: the least
        variance is the least at a corner, and the greatest is at most the greatest corner value for
        any one c, taken at the estimated mean.
        """
        value = np.clip(_variance_of(self._sums), 0.0, 0.25)
        share = self._share()
        size = self._size()
        gradient = self._gradient(share, value, size)
        error = np.minimum(np.sqrt((gradient**2).sum(axis=1) * self.law.variance), 0.25)
        low, high = self._variance_box(share)
        scale = (self.upper - self.lower) ** 2
        return Estimate(value * scale, error * scale, low * scale, high * scale)

    def deviation(self) -> Estimate:
        """Return the standard deviation: the root of the variance and of its interval."""
        squared = self.variance()
        value = np.sqrt(squared.value)
        low, high = np.sqrt(squared.lower), np.sqrt(squared.upper)
        slope = squared.standard_error / (2 * np.maximum(value, 1e-300))
        return Estimate(value, np.minimum(slope, (high - low) / 2), low, high)

    def _linear(self, weights: Array, floor: float, ceiling: float) -> Estimate:
        value = self.noisy @ weights
        half = self.law.half_width(tuple(weights.tolist()), self.level)
        error = float(np.sqrt((weights**2).sum() * self.law.variance))
        return Estimate(
            value,
            np.full_like(value, error),
            np.clip(value - half, floor, ceiling),
            np.clip(value + half, floor, ceiling),
        )

    def _size(self) -> Array:
        """Return the noisy count of values, no lower than one row."""
        size: Array = np.maximum(self._sums.sum(axis=1), 1.0)
        return size

    def _share(self) -> Array:
        """Return the mean of y, clipped to [0, 1]."""
        share: Array = np.clip(self._sums @ self._places / self._size(), 0.0, 1.0)
        return share

    def _mean_share(self) -> tuple[Array, Array, Array]:
        """Return the mean of y and its Fieller interval, each clipped to [0, 1]."""
        above = self._sums @ self._places
        raw = self._sums.sum(axis=1)
        share = self._share()
        points, band = _fieller_band(self.law, self.degree, self.level)
        slopes = np.diff(band) * (len(points) - 1)
        steepest = max(slopes.max(), -slopes.min())

        # Where the count is no clearer than the noise, the accepted set may have holes: take all.
        open_ended = (raw <= steepest) | (
            np.abs(above - share * raw) > np.interp(share, points, band)
        )
        low, high = _edges(above, raw, share, band, slopes)
        return share, np.where(open_ended, 0.0, low), np.where(open_ended, 1.0, high)

    def _scaled(self, share: Array, error: Array, low: Array, high: Array) -> Estimate:
        span = self.upper - self.lower
        return Estimate(
            self.lower + span * share,
            span * error,
            self.lower + span * low,
            self.lower + span * high,
        )

    def _gradient(self, share: Array, value: Array, size: Array) -> Array:
        """Return the derivative of the variance by each coordinate.

        One row more at place p with second moment s moves it by
        ``(s - 2 share p + share^2 - value) / n``.
        """
        places, squares = self._places, np.array([0.0, 0.0, 1.0])
        centred = squares[None, :] - 2 * share[:, None] * places[None, :] + share[:, None] ** 2
        gradient: Array = (centred - value[:, None]) / size[:, None]
        return gradient

    def _variance_box(self, share: Array) -> tuple[Array, Array]:
        each = 1 - (1 - self.level) / 3
        half = self.law.half_width((1.0,), each)
        sums = np.maximum(self._sums + half * _CORNERS, 0.0)  # (corners, groups, coordinates)
        size = sums.sum(axis=2)
        degenerate = (size <= 0).any(axis=0)
        safe = np.maximum(size, 1e-300)
        first, second = sums @ self._places / safe, sums[:, :, 2] / safe
        low = np.clip((second - first**2).min(axis=0), 0.0, 0.25)
        high = np.clip((second - 2 * share * first + share**2).max(axis=0), 0.0, 0.25)
        return np.where(degenerate, 0.0, low), np.where(degenerate, 0.25, high)


_CORNERS = 2.0 * np.array(list(np.ndindex(2, 2, 2)))[:, None, :] - 1
"""The corners of a cube around the origin: shape (8, 1, 3)."""


def _variance_of(sums: Array) -> Array:
    size = np.maximum(sums.sum(axis=1), 1.0)
    first = (sums[:, 2] + sums[:, 1] / 2) / size
    variance: Array = sums[:, 2] / size - first**2
    return variance


def _edges(
    above: Array, raw: Array, start: Array, band: Array, slopes: Array
) -> tuple[Array, Array]:
    """Return on each side of the estimate where the noise begins to contradict m, else 0 and 1.

    The accepted m are those with ``|above - m raw|`` at most the band, which is given at equal
    steps over [0, 1] and straight between them.  Where the line is steeper than the band, the
    boundary on each side is single: it lies behind the nearest point of the band that is
    contradicted, where two straight lines cross.  Elsewhere what is returned says nothing.

    >>> row, flat = np.array([50.0]), np.full(257, 5.0)
    >>> low, high = _edges(row, 2 * row, row / 100, flat, np.diff(flat))
    >>> float(low[0]), float(high[0])
    (0.45, 0.55)
    """
    points = _POINTS
    outside = np.abs(above[:, None] - raw[:, None] * points) > band
    left = outside & (points <= start[:, None])
    below = np.count_nonzero(left, axis=1) - 1
    beyond = len(band) - (np.count_nonzero(outside, axis=1) - below - 1)
    cell = np.minimum(np.maximum(below, 0), len(slopes) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossed = (above - band[cell] + slopes[cell] * points[cell]) / (raw + slopes[cell])
        low = np.where(below < 0, 0.0, np.minimum(np.maximum(crossed, points[cell]), start))
        cell = np.minimum(np.maximum(beyond - 1, 0), len(slopes) - 1)
        crossed = (above + band[cell] - slopes[cell] * points[cell]) / (raw - slopes[cell])
        held = np.minimum(np.maximum(crossed, start), points[cell + 1])
        high = np.where(beyond == len(band), 1.0, held)
    return low, high


@lru_cache(maxsize=128)
def _fieller_band(law: NoiseLaw, degree: int, level: float) -> tuple[Array, Array]:
    """Tabulate the half-width of ``sum (place_j - m) noise_j`` over m in [0, 1]."""
    band = law.scaled(_standard_band(degree, law.kind, level), level)
    # At an end one coordinate may drop out, and its exact quantile be below what is needed nearby.
    band[0], band[-1] = max(band[0], band[1]), max(band[-1], band[-2])
    # Between two points the half-width is at most the larger end's and the chord's sag, which is
    # below a thousandth of the band: it is 1-Lipschitz in the weights up to that factor.
    return _POINTS, band * 1.001


@lru_cache(maxsize=16)
def _standard_band(degree: int, kind: str, level: float) -> Spread:
    """Return the spread of the weights ``place_j - m`` at each of the points of the band."""
    weights = np.arange(degree + 1)[None, :] / degree - _POINTS[:, None]
    return standard_spread(tuple(map(tuple, weights.tolist())), kind, level)


_POINTS = np.linspace(0.0, 1.0, 257)
"""The points at which the band is tabulated."""
_POINTS.flags.writeable = False
