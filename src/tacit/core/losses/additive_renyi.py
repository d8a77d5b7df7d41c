"""Renyi divergences of discrete Laplace and Gaussian noise from itself, shifted: enclosed."""

from __future__ import annotations

from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import show
from tacit.errors import UsageError

__all__ = ["renyi_of_gaussian", "renyi_of_laplace"]

_BITS = 256
_BELOW_PI = Fraction(333, 106)
_WIDE = 3


def renyi_of_laplace(scale: Fraction, shift: int, alpha: Fraction) -> Enclosure:
    """Enclose the Renyi divergence of order alpha above one, for scale b and a whole shift s >= 0.

    With ``t = e^(-1/b)`` and ``r = t^(2 alpha - 1)``, the sums of
    ``p(x)^alpha p(x + s)^(1 - alpha)`` over ``x >= 0``, over ``x <= -s`` and over what lies between
    are geometric series, together

        (t^((1 - alpha) s) (1 + (1 - t) r (1 - r^(s - 1)) / (1 - r)) + t^(alpha s)) / (1 + t).

    >>> float(renyi_of_laplace(Fraction(2), 1, Fraction(2)))
    0.2273...
    """
    _above_one(alpha)
    if shift == 0:
        return Enclosure.of(0)
    rate = 1 / scale
    t, r = exp(-rate, _BITS), exp(-(2 * alpha - 1) * rate, _BITS)
    power = exp(-(2 * alpha - 1) * (shift - 1) * rate, _BITS)
    between = (1 - t) * r * (1 - power) / (1 - r)
    near, far = exp((alpha - 1) * shift * rate, _BITS), exp(-alpha * shift * rate, _BITS)
    total = (near * (1 + between) + far) / (1 + t)
    return log(total.rounded(2 * _BITS), _BITS) / (alpha - 1)


def renyi_of_gaussian(sigma: Fraction, shift: int, alpha: Fraction) -> Enclosure:
    """Enclose the Renyi divergence of order alpha above one, for a whole shift s >= 0.

    Completing the square, ``sum of p(x)^alpha q(x)^(1 - alpha)`` is
    ``e^(alpha (alpha - 1) s^2 / (2 sigma^2)) theta(alpha s) / theta(0)``, where
    ``theta(c) = sum over whole x of e^(-(x - c)^2 / (2 sigma^2))``.  By Poisson's summation
    ``theta(c)`` is largest at whole c, so the divergence is at most ``alpha s^2 / (2 sigma^2)``
    (Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020),
    and is just that where ``alpha s`` is whole.  Elsewhere the ratio is summed for a sigma below
    three; above, by the same summation, it is at least ``(1 - e) / (1 + e)`` with
    ``e = 2 w / (1 - w)`` and ``w = e^(-2 pi^2 sigma^2)``, which is below 2^-256.

    >>> renyi_of_gaussian(Fraction(10), 1, Fraction(2)) == Enclosure.of(Fraction(1, 100))
    True
    """
    _above_one(alpha)
    upper = alpha * shift * shift / (2 * sigma * sigma)
    centre = alpha * shift % 1
    if centre == 0:
        return Enclosure.of(upper)
    if sigma >= _WIDE:
        w = exp(-2 * (_BELOW_PI * sigma) ** 2, _BITS).upper
        e = 2 * w / (1 - w)
        ratio = Enclosure((1 - e) / (1 + e), Fraction(1))
    else:
        ratio = _theta(sigma, centre) / _theta(sigma, Fraction(0))
    fallen = log(Enclosure(ratio.lower, min(ratio.upper, Fraction(1))), _BITS) / (alpha - 1)
    return Enclosure(max(upper + fallen.lower, Fraction(0)), min(upper, upper + fallen.upper))


def _theta(sigma: Fraction, centre: Fraction) -> Enclosure:
    """Enclose theta by its terms; beyond x = n the terms fall by more than half each.

    With ``n`` above ``8 sigma^2 + 24 sigma + 2`` the ratio of neighbours is below one half, so what
    is left out on a side is at most the first term that is.
    """
    reach = int(8 * sigma * sigma + 24 * sigma) + 2
    terms = (_term(x - centre, sigma) for x in range(-reach, reach + 2))
    total = sum(terms, Enclosure.of(0))
    left_out = 2 * _term(Fraction(reach + 1), sigma).upper
    return Enclosure(total.lower, total.upper + 2 * left_out)


def _term(distance: Fraction, sigma: Fraction) -> Enclosure:
    return exp(-(distance**2) / (2 * sigma * sigma), _BITS)


def _above_one(alpha: Fraction) -> None:
    if alpha <= 1:
        raise UsageError(f"the order alpha must be above one, not {show(alpha)}")
