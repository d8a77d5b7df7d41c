"""The losses of one pair of data sets of equal records, for lower ends of releases from samples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tacit.core import Measurement, Number, Vector
from tacit.core.losses.additive_noise import ShiftedLoss
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.output_pair import shifted_losses

__all__ = ["loss_of_equal_records"]


def loss_of_equal_records(measurement: Measurement, common: int | None) -> ShiftedLoss | None:
    """Return the losses of noise on a number, of a record among equal ones; None where not known.

    Every sample without that record is the same data, whichever records it holds: so what comes of
    a sample is exactly a mixture of the two output distributions.

    Args:
        measurement: of records in a column, whose losses are those of one noise, shifted.
        common: how many equal records the record stands beside, in place of one more of them; None
            where it stands alone against no record.

    >>> import tacit as tc
    >>> from tacit.core import Space, SymmetricDistance
    >>> ages = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
    >>> loss_of_equal_records(ages >> tc.sum() >> tc.laplace(3), None)
    LaplaceShift(scale=Fraction(3, 1), shift=9)
    """
    domain: Any = measurement.input.domain
    if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
        return None
    losses = None if measurement.losses is None else measurement.losses(Fraction(1))
    while isinstance(losses, Dominating):
        losses = losses.losses
    if measurement.law is None or not isinstance(losses, ShiftedLoss):
        return None
    ends = _ends(domain.element)
    found: list[ShiftedLoss] = []
    for record in ends:
        rest = [] if common is None else [ends[0]] * common
        data = [*rest, record], rest if common is None else [ends[0]] * (common + 1)
        p, q = (measurement.law(domain.read(rows)) for rows in data)
        found += shifted_losses(p, q)[:1]
    best = max(found, key=lambda one: one.shift, default=None)
    return best if best is not None and best.shift else None


def _ends(element: Number) -> list[int | float]:
    """Return the largest and the smallest record, or zero where there is none."""
    if element.lower is None or element.upper is None:
        return [0] if element.contains(0) else []
    low, high = element.lower, element.upper
    ends = (
        [math.ceil(low), math.floor(high)] if element.kind == "int" else [float(low), float(high)]
    )
    return [end for end in ends if element.contains(end)]
