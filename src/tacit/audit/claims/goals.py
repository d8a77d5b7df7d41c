"""What a pair of outputs is held against: the part of a claim that it may reach, and how nearly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tacit.audit.claims.attained_loss import HIGHEST_ORDER
from tacit.core import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measurement,
    RenyiDP,
    ZeroConcentratedDP,
)

__all__ = ["beside", "goal_of", "highest_order", "ratio", "reaches", "within"]

_TOLERANCE = Fraction(1, 1 << 30)
_CURVE_TOLERANCE = Fraction(1, 20_000)
"""Of the supremum over Renyi orders, which is enclosed by chords."""
_OF_ALL_ORDERS = (ZeroConcentratedDP, ApproximateZeroConcentratedDP)


def goal_of(m: Measurement, claim: Any) -> Fraction:
    """Return what a pair is held against: delta at epsilon, and rho at delta."""
    if isinstance(m.measure, ApproximateDP):
        return Fraction(claim[1])
    return Fraction(claim[0] if isinstance(m.measure, ApproximateZeroConcentratedDP) else claim)


def beside(m: Measurement, claim: Any, lower: Any) -> Any:
    """Return what was found in the shape of a claim."""
    if isinstance(m.measure, ApproximateDP):
        return claim[0], lower
    return (lower, claim[1]) if isinstance(m.measure, ApproximateZeroConcentratedDP) else lower


def highest_order(m: Measurement) -> Fraction:
    """Return the highest Renyi order that is looked at; one where none is."""
    if isinstance(m.measure, RenyiDP):
        return m.measure.alpha
    return Fraction(HIGHEST_ORDER if isinstance(m.measure, _OF_ALL_ORDERS) else 1)


def _slack(m: Measurement) -> Fraction:
    exactly = not isinstance(m.measure, (*_OF_ALL_ORDERS, RenyiDP))
    return _TOLERANCE if exactly else _CURVE_TOLERANCE


def within(found: Any, goal: Fraction, m: Measurement) -> bool:
    """Return whether an upper end keeps the claim, up to the width of the enclosures."""
    if not math.isfinite(found):
        return False
    tiny = _TOLERANCE if isinstance(m.measure, ApproximateDP) else 4 * _TOLERANCE
    slack = tiny * min(Fraction(1), goal + _TOLERANCE)
    return Fraction(found) <= goal * (1 + _slack(m)) + slack


def reaches(found: Any, goal: Fraction, m: Measurement) -> bool:
    """Return whether a lower end attains the claim, up to the width of the enclosures."""
    return bool(goal > 0 and found >= goal * (1 - _slack(m) * 2) - 4 * _TOLERANCE)


def ratio(found: Any, goal: Fraction) -> Fraction:
    """Return how near a claim is, zero where nothing is claimed.

    >>> ratio(0.25, Fraction(1, 2))
    Fraction(1, 2)
    """
    return Fraction(found) / goal if goal else Fraction(0)
