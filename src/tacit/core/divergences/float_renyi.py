"""Renyi moments of many orders at once, in doubles.

Each term is ``exp(a ln p + (1 - a) ln q)`` with an exponent that is off by at most a relative
2^-48, so a sum of positive terms is within a relative 1e-9 for orders up to 64 wherever the terms
that matter have logarithms below a thousand in size.  Who asks allows for that; for certified ends
of one order see :mod:`tacit.core.divergences.renyi`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError

__all__ = ["largest_of_chords", "log_moments"]

_CHUNK = 256

Floats = NDArray[np.float64]


def log_moments(log_p: Floats, log_q: Floats, orders: Floats, *, tails: bool = False) -> Floats:
    """Return ``ln of sum p^a q^(1-a)`` for each order a.

    Args:
        log_p: the logarithms of the masses under p, one an outcome, in the order of the outcomes.
        log_q: those under q.
        orders: each a.
        tails: whether the outcomes go on at both ends, with terms that fall ever faster: what is
            beyond is bounded from above and added.

    Raises:
        UsageError: the terms do not fall yet at an end.

    >>> half, two = np.log([0.5, 0.5]), np.array([2.0])
    >>> float(np.exp(log_moments(half, np.log([0.25, 0.75]), two))[0])
    1.333333333333333...
    """
    found = np.zeros(len(orders))
    for start in range(0, len(orders), _CHUNK):
        order = orders[start : start + _CHUNK, None]
        exponents = order * log_p + (1 - order) * log_q
        peak = exponents.max(axis=1)
        terms = np.exp(exponents - peak[:, None])
        area = terms.sum(axis=1)
        if tails:
            area = area + _beyond(terms) + _beyond(terms[:, ::-1])
        found[start : start + _CHUNK] = peak + np.log(area)
    return found


def _beyond(terms: Floats) -> Floats:
    """Bound, in each row, the terms beyond the last one, of a sequence whose ratios never grow.

    ``p^a q^(1-a)`` of two shifted Gaussians is the exponential of a concave parabola.
    """
    last, before = terms[:, -1], terms[:, -2]
    ratio = np.divide(last, before, out=np.zeros_like(last), where=before > 0)
    if bool((ratio >= 1).any()):
        raise UsageError("the window does not reach the peak of this order; verify a lower order")
    return np.asarray(last * ratio / (1 - ratio))


def largest_of_chords(x: Floats, f: Floats) -> Floats:
    """Return the largest ``(fa + m (x - a)) / (x (x + 1))`` on each [a, b], m the slope to fb.

    With L(x) = c + m x the derivative vanishes where ``m x^2 + 2 c x + c = 0``.
    """
    a, b, ends = x[:-1], x[1:], f / (x * (x + 1))
    best = np.maximum(ends[:-1], ends[1:])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.diff(f) / np.diff(x)
        c = f[:-1] - slope * a
        for sign in (-1, 1):
            found = (
                -c + sign * np.sqrt(c * c - slope * c)
            ) / slope  # no number where there is none
            inner = (c + slope * found) / (found * (found + 1))
            best = np.where((a < found) & (found < b), np.maximum(best, inner), best)
    return best
