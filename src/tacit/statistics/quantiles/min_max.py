"""Minimum and maximum and their sensitivities.

They are the quantiles 0 and 1, and over a known population
:mod:`tacit.statistics.base.monotone_statistic` comes down to closed forms.  For the maximum: ``k``
removed from ``n`` (``s = n - k``) or added to it (``s = n``) gives ``u_N - u_s``, ``k`` substituted
gives ``u_N - u_n``, in each case because the lower release can be the smallest records there are
and the upper one holds the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.statistics.quantiles.quantile import Quantile

__all__ = ["Maximum", "Minimum"]


@dataclass(frozen=True)
class Minimum(Quantile):
    """The smallest record.

    >>> Minimum()([3, 1, 2])
    1.0
    """

    q: Fraction = Fraction(0)

    @property
    def name(self) -> str:
        """``"min"``."""
        return "min"


@dataclass(frozen=True)
class Maximum(Quantile):
    """The largest record.

    >>> Maximum()([3, 1, 2])
    3.0
    """

    q: Fraction = Fraction(1)

    @property
    def name(self) -> str:
        """``"max"``."""
        return "max"
