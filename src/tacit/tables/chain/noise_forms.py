"""How far weighted sums of noises are off, for many weights at once, and bands of numbers.

:class:`~tacit.tables.chain.noise_law.NoiseLaw` gives the half-width of a few weighted sums, each as
narrow as it can be.  Where the weights follow from the released numbers, there are as many of them
as answers, and :func:`half_widths` gives them all in one pass, about 1 percent wider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.arithmetic.bisection import narrowed
from tacit.tables.chain.estimate import Array
from tacit.tables.chain.noise_law import NoiseLaw

__all__ = ["Band", "half_widths"]

_EXTRA = 0.2
"""The deviation of the Gaussian noise that is added for a smooth distribution."""
_CUT = 25.0
_ROOM = 26.0
_SLACK = 1e-9
_ROWS = 4096
_KEPT_BYTES = 1 << 14
"""Of weights that are remembered: those of a question are few, those of many answers are not."""
_HALVINGS = 14
"""To a 16,384th of where the quantile can be, upwards."""


def half_widths(law: NoiseLaw, weights: Array, level: float, times: Array | None = None) -> Array:
    """Return t with ``P(|sum of weights * noise| <= t) >= level``, for each row of weights.

    To the quantile of the continuous noise ``grid * sum |weights|`` is added, which is more than
    what the grid moves it by (:meth:`~tacit.tables.chain.noise_law.NoiseLaw.half_width`).

    Args:
        law: the noise on each coordinate.
        weights: shape (rows, coordinates), or (..., coordinates).
        level: the probability that an interval holds.
        times: of how many coordinates each weight is the weight, in the shape of the weights; one
            each by default.

    >>> law = NoiseLaw("laplace", 1.0, 2.0**-40)
    >>> wide = half_widths(law, np.array([[1.0, 1.0], [1.0, 0.0]]), 0.95)
    >>> bool(law.half_width((1.0, 1.0)) <= wide[0] < 1.01 * law.half_width((1.0, 1.0)))
    True
    """
    each: Array = np.ones_like(weights) if times is None else np.asarray(times, dtype=np.float64)
    size = np.sqrt((each * weights**2).sum(axis=-1))
    whole = law.grid * (each * np.abs(weights)).sum(axis=-1)
    if law.kind == "gaussian":
        quantile, _ = narrowed(lambda z: math.erfc(z / math.sqrt(2)) <= 1 - level, 40.0, 0.0, 100)
        return np.asarray(size * law.scale * quantile * (1 + 1e-9) + whole)
    shares = (weights / np.maximum(size, 1e-300)[..., None]) ** 2
    flat = shares.reshape(-1, weights.shape[-1])
    powers = None if times is None else each.reshape(flat.shape)
    found = _known_quantiles(flat, powers, level).reshape(size.shape)
    return np.asarray(size * law.scale * found + whole)


def _known_quantiles(shares: Array, powers: Array | None, level: float) -> Array:
    """Return :func:`_laplace_quantiles`, which noise of every scale has in common, of late ones."""
    if shares.nbytes > _KEPT_BYTES:
        return _laplace_quantiles(shares, powers, level)
    times = None if powers is None else powers.tobytes()
    return _kept_quantiles(shares.tobytes(), times, shares.shape, level)


@lru_cache(maxsize=64)
def _kept_quantiles(
    shares: bytes, powers: bytes | None, shape: tuple[int, int], level: float
) -> Array:
    rows = np.frombuffer(shares).reshape(shape)
    times = None if powers is None else np.frombuffer(powers).reshape(shape)
    found = _laplace_quantiles(rows, times, level)
    found.flags.writeable = False
    return found


def _laplace_quantiles(shares: Array, powers: Array | None, level: float) -> Array:
    """Return quantiles of ``|sum w_i X_i|`` for X_i standard Laplace, from ``w_i^2``, of sum one.

    Where powers are given, so many X have each weight.

    Independent Gaussian noise of deviation 0.2 is added: a sum of symmetric unimodal variables only
    gets wider by another one, and here by 1 percent (the variance grows from 2 to 2.04).  Then
    ``P(|S| <= t) = (2 / pi) int_0^inf sin(u t) / u exp(-u^2 / 50) prod 1 / (1 + w_i^2 u^2) du``.

    *Cut.* The product is at most ``1 / (1 + u^2)``, so that beyond u = 25 less than 2e-10 is left.

    *Steps.* The trapezoidal sum of step h is the probability of the variable modulo ``2 pi / h``
    (Poisson's formula), which is too large by at most ``P(|S| > 2 pi / h - t)``.  For every theta
    below one ``P(|S| > x) <= 2 exp(-theta x + theta^2 / 50) prod 1 / (1 - theta^2 w_i^2)``, where
    the product is at most ``1 / (1 - theta^2)`` since ``-log(1 - theta^2 p)`` is convex in p: with
    theta = 9/10, ``11 exp(-0.9 x)``, that is below 8e-10 for x = 26, and the quantile is below the
    x that makes it ``1 - level``.
    """
    most = math.log(11 / (1 - level)) / 0.9
    step = 2 * math.pi / (most + _ROOM)
    u: Array = step * np.arange(1.0, math.ceil(_CUT / step) + 1, dtype=np.float64)
    # rows that are equal up to order are worked out once, and so many at a time
    alike = np.sort(shares, axis=-1) if powers is None else np.hstack((shares, powers))
    rows, back = np.unique(alike, axis=0, return_inverse=True)
    width = shares.shape[-1]
    parts = [
        _quantiles(some[:, :width], some[:, width:], u, most, level)
        for some in (rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS))
    ]
    return np.asarray(np.concatenate([np.zeros(0), *parts])[back.reshape(-1)])


def _quantiles(rows: Array, powers: Array, u: Array, most: float, level: float) -> Array:
    """Return the quantiles of some rows, from the points of the integral and an upper end."""
    step = float(u[0])
    decay = np.exp(-(_EXTRA**2) * u**2 / 2) / u
    factor = np.broadcast_to(decay, (len(rows), len(u))).copy()
    for i, column in enumerate(rows.T):
        spread = 1 + column[:, None] * u**2
        factor /= spread ** powers[:, i, None] if powers.size else spread
    low, high = np.zeros(len(rows)), np.full(len(rows), most)
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        inside = (step / math.pi) * (t + 2 * (np.sin(t[:, None] * u) * factor).sum(axis=1))
        enough = inside >= level + _SLACK
        low, high = np.where(enough, low, t), np.where(enough, t, high)
    return high


@dataclass(frozen=True)
class Band:
    """Numbers that are known to be within a radius of a centre.

    >>> product = Band.between(np.array([1.0]), np.array([3.0])) * Band.exactly(np.array([2.0]))
    >>> float(product.low[0]), float(product.high[0]), float(product.most[0])
    (2.0, 6.0, 6.0)
    """

    centre: Array
    radius: Array

    @classmethod
    def between(cls, low: Array, high: Array) -> Band:
        """Return the band between two ends, in either order."""
        return cls((low + high) / 2, np.abs(high - low) / 2)

    @classmethod
    def exactly(cls, value: Array) -> Band:
        """Return a number that is known."""
        return cls(value, np.zeros_like(value))

    @property
    def low(self) -> Array:
        """The least that it can be."""
        return self.centre - self.radius

    @property
    def high(self) -> Array:
        """The greatest that it can be."""
        return self.centre + self.radius

    @property
    def most(self) -> Array:
        """The most that it can be in absolute value."""
        return np.asarray(np.abs(self.centre) + self.radius)

    def __add__(self, other: Band) -> Band:
        return Band(self.centre + other.centre, self.radius + other.radius)

    def __sub__(self, other: Band) -> Band:
        return Band(self.centre - other.centre, self.radius + other.radius)

    def __neg__(self) -> Band:
        return Band(-self.centre, self.radius)

    def __mul__(self, other: Band) -> Band:
        radius = np.abs(self.centre) * other.radius + self.radius * other.most
        return Band(self.centre * other.centre, radius)

    def scaled(self, number: float) -> Band:
        """Return the band times a public number."""
        return Band(self.centre * number, self.radius * abs(number))

    def within(self, low: float, high: float) -> Band:
        """Return the part of the band between two public ends."""
        return Band.between(np.clip(self.low, low, high), np.clip(self.high, low, high))
