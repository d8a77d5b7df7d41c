"""Renyi divergences of any order, and the supremum that zCDP bounds, with certified enclosures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.core.divergences.divergence import distribution, max_divergence
from tacit.errors import UsageError

__all__ = ["concentrated", "renyi"]

_BITS = 96
_ZERO = Fraction(0)
_ONE = Fraction(1)


@public
def renyi(p: object, q: object, alpha: Number | float) -> Enclosure | float:
    """Return the Renyi divergence of an order above zero.

    ``D = ln(sum over x of p(x)^alpha q(x)^(1 - alpha)) / (alpha - 1)``; at order one its limit, the
    Kullback-Leibler divergence ``sum of p ln(p / q)``; at ``math.inf`` the max divergence.
    Infinite where q misses an outcome of p (below order one: where they share none).

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.
        alpha: the order, above 0; 1 and ``math.inf`` are allowed.

    Raises:
        UsageError: an order that is not above zero, enclosures too wide to divide by.

    >>> p, q = {0: "1/2", 1: "1/2"}, {0: "1/4", 1: "3/4"}
    >>> [round(float(renyi(p, q, order)), 6) for order in ("1/2", 1, 2, math.inf)]
    [0.069336, 0.143841, 0.287682, 0.693147]
    """
    if isinstance(alpha, float) and math.isinf(alpha) and alpha > 0:
        return max_divergence(p, q)
    order = as_fraction(alpha, "alpha")
    if order <= 0:
        raise UsageError(f"the order of a Renyi divergence is above zero, not {alpha}")
    pairs = list(_pairs(p, q))
    if order >= 1 and any(there.upper <= 0 for _, there in pairs):
        return math.inf
    shared = [(here, there) for here, there in pairs if there.upper > 0]
    if any(there.lower <= 0 or here.lower <= 0 for here, there in shared):
        raise UsageError("the enclosures are too wide to divide by; give them more precision")
    if order == 1:
        return _kullback_leibler(shared)
    if not shared:
        return math.inf
    total = sum((_power_term(here, there, order) for here, there in shared), Enclosure.of(0))
    return log(total, _BITS) / (order - 1)


def _pairs(p: Any, q: Any) -> Iterator[tuple[Enclosure, Enclosure]]:
    left, right = distribution(p), distribution(q)
    for outcome, here in left.items():
        if here.upper > 0:
            yield here, right.get(outcome, Enclosure.of(0))


def _kullback_leibler(pairs: list[tuple[Enclosure, Enclosure]]) -> Enclosure:
    total = Enclosure.of(0)
    for here, there in pairs:
        total += here * log(here / there, _BITS)
    return Enclosure(max(total.lower, _ZERO), max(total.upper, _ZERO))


def _power_term(p: Enclosure, q: Enclosure, alpha: Fraction) -> Enclosure:
    """Enclose ``p^alpha q^(1 - alpha) = p exp((alpha - 1) ln(p / q))``."""
    return p * exp((alpha - 1) * log(p / q, _BITS), _BITS)


def concentrated(p: Any, q: Any, tolerance: Fraction = Fraction(1, 1024)) -> Enclosure | float:
    """Enclose ``sup over alpha > 1 of D_alpha(p, q) / alpha`` to a relative tolerance.

    D_alpha grows with alpha, so on [a, b] the ratio is at most ``D_b / a`` and at b it is
    ``D_b / b``; above A it is at most ``D_inf / A``.  Intervals whose bound exceeds the best value
    found by more than the tolerance are halved until none is left.

    >>> half, third = {0: "1/2", 1: "1/2"}, {0: "1/3", 1: "2/3"}
    >>> found = concentrated(half, third)
    >>> found.lower <= found.upper <= found.lower * Fraction(1025, 1024)
    True
    """
    ceiling = max_divergence(p, q)
    if not isinstance(ceiling, Enclosure):
        return ceiling
    if ceiling.upper <= Fraction(1, 1 << 80):
        return Enclosure(_ZERO, max(_ZERO, ceiling.upper))

    def order(alpha: Fraction) -> Enclosure:
        value = renyi(p, q, alpha)
        assert isinstance(value, Enclosure)
        return value

    best, bound = _ZERO, _ZERO
    start, pending = _ONE, []
    while True:
        end = start * Fraction(5, 4)
        at_end = order(end)
        best = max(best, at_end.lower / end)
        pending.append((start, end, at_end.upper))
        start = end
        if ceiling.upper / end <= best:
            break
    while pending:
        a, b, top = pending.pop()
        if top / a <= best * (1 + tolerance):
            bound = max(bound, top / a)
            continue
        middle = (a + b) / 2
        at_middle = order(middle)
        best = max(best, at_middle.lower / middle)
        pending += [(a, middle, at_middle.upper), (middle, b, top)]
    return Enclosure(best, max(bound, best))
