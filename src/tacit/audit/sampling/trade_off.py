"""An upper bound on the trade-off curve that holds at every time at once.

The trade-off curve T of two distributions P and Q gives for each type I error the least type II
error of a test of Q against P.  A claim says that T lies on or above a curve; a bound from above
can refute it, at every epsilon and delta together.

**Errors on average.**  In round t an event E_t is chosen from the rounds before: P is said on E_t.
Its errors are a_t = Q(E_t) and b_t = 1 - P(E_t), so b_t >= T(a_t).  T is convex, so the means over
the rounds satisfy mean b >= T(mean a), although each round has another event.  T falls, so
T(A) <= B for all bounds A >= mean a and B >= mean b.

**The bounds.**  Let X_t in {0, 1} have the chance m_t given the past.  For any number l,
exp(l X_t) / (1 + m_t (exp(l) - 1)) has the mean 1, so the product over the rounds is a martingale
from 1.  log(1 + m (exp(l) - 1)) is concave in m, so with S = sum X_t and the mean m of the m_t
after n rounds

    exp(l S - n log(1 + m (exp(l) - 1))) <= that product.

The mean over several l of the left side reaches 1 / alpha at any time with probability at most
alpha (Ville 1939).  For l < 0 it rises with m: the m at which it is 1 / alpha bounds the mean from
above, at all times together.  Each of k events has two such bounds, at alpha / (2 k) each.

**The curve.**  (0, 1), (1, 0) and all points (A, B) lie on or above T, which is convex: so does the
lower hull of them.

Source: Dong, Roth and Su, "Gaussian differential privacy" (JRSS B 2022); Howard, Ramdas, McAuliffe
and Sekhon, "Time-uniform Chernoff bounds" (2020).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["TradeOff", "mean_below"]

_SLOPES = -np.geomspace(5e-4, 20, 24)
_HALVINGS = 60
_ROUNDED = 1e-12


def mean_below(
    count: NDArray[np.float64], runs: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Return bounds that the mean chances are below, at all times, with probability 1 - alpha each.

    Args:
        count: how many of the runs gave a 1.
        runs: the number of runs.
        alpha: the probability of an error of one of them.

    >>> mean_below(np.array([0.0, 500.0]), np.array([1000.0, 1000.0]), 0.01).round(3).tolist()
    [0.006, 0.56]
    """
    low, high = np.zeros(len(count)), np.ones(len(count))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        logs = _SLOPES[:, None] * count - runs * np.log1p(middle * np.expm1(_SLOPES)[:, None])
        top = logs.max(axis=0)
        wealth = top + np.log(np.exp(logs - top).mean(axis=0))
        reached = wealth >= -math.log(alpha)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(np.minimum(1.0, high + _ROUNDED), dtype=np.float64)


class TradeOff:
    """The errors of several events, counted round by round.

    Args:
        events: how many of them; each may be another one from round to round.

    >>> curve = TradeOff(1)
    >>> curve.add(slice(0, 1), np.array([[900], [100]]), 1000)
    >>> [(round(a, 2), round(b, 2)) for a, b in curve.corners(0.99)]
    [(0.0, 1.0), (0.14, 0.14), (1.0, 0.0)]
    """

    def __init__(self, events: int) -> None:
        self._inside = np.zeros((2, events))
        self._runs = np.zeros(events)

    def add(self, which: slice, counts: NDArray[np.int64], runs: int) -> None:
        """Count rounds.

        Args:
            which: the events that are counted.
            counts: how many outputs of u lay in each of them, which tells of u, and how many of v.
            runs: the rounds.
        """
        self._inside[:, which] += counts
        self._runs[which] += runs

    def corners(self, confidence: float) -> tuple[tuple[float, float], ...]:
        """Return the corners of a curve that the trade-off curve lies nowhere above.

        Args:
            confidence: of all of it, at all times together.
        """
        pairs = np.column_stack(self._errors(confidence)).tolist()
        below = sorted((a, b) for a, b in pairs if a + b < 1)
        hull: list[tuple[float, float]] = []
        for point in [(0.0, 1.0), *below, (1.0, 0.0)]:
            while len(hull) > 1 and _turns_right(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        return tuple(hull)

    def shares(self, confidence: float, delta: float) -> tuple[float, float]:
        """Return how often the event occurred that shows the most, of its side and of the other.

        That is the one of the largest log((1 - B - delta) / A), or, for its complement, which tells
        of v, of the largest log((1 - A - delta) / B).
        """
        first, second = self._errors(confidence)
        with np.errstate(divide="ignore"):
            shown = [
                np.log(np.maximum(1 - b - delta, 1e-12) / a)
                for a, b in ((first, second), (second, first))
            ]
        way, place = np.unravel_index(int(np.argmax(shown)), (2, len(first)))
        shares = self._inside[:, place] / max(self._runs[place], 1)
        of_u, of_v = float(shares[0]), float(shares[1])
        return (of_u, of_v) if way == 0 else (1 - of_v, 1 - of_u)

    def _errors(self, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        alpha = (1 - confidence) / (2 * len(self._runs))
        type_i = mean_below(self._inside[1], self._runs, alpha)
        return type_i, mean_below(self._runs - self._inside[0], self._runs, alpha)


def _turns_right(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Return whether the middle point is on or above the line between the others."""
    (x, y), (u, v), (a, b) = first, middle, last
    return (v - y) * (a - x) >= (b - y) * (u - x)
