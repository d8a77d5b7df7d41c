"""What is compared: the question, and one way to answer it at one setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.base.question import Relation
from tacit.statistics.base.statistic import Statistic

__all__ = ["GLOBAL", "OF_THE_VALUE", "Asked", "Candidate"]

OF_THE_VALUE = "global sensitivity of the value"
GLOBAL = frozenset({OF_THE_VALUE, "sum over count", "noisy moments", "exponential mechanism"})
"""The methods whose noise is set by the bounds alone; that of all others follows the data."""


@dataclass(frozen=True)
class Asked:
    """What is to be released, and the public data that it is tried on."""

    statistic: Statistic
    data: NDArray[np.float64]
    lower: Fraction
    upper: Fraction
    epsilon: Fraction
    delta: Fraction | None
    relation: Relation
    bins: Sequence[int]
    proposed: Sequence[Fraction] | None

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The public bounds of a record."""
        return self.lower, self.upper

    @property
    def truth(self) -> float:
        """The statistic of the public data."""
        return float(self.statistic(self.data))


@dataclass(frozen=True)
class Candidate:
    """One way to release, at one setting.

    Attributes:
        method: its name.
        setting: what was set: ``"k = 100"``, or nothing.
        simulate: so many answers on the public data, each None where it was refused.
        predicted: the mean absolute error where it answers, by formula.
        refused: the share of refusals, by formula.
        mechanism: the measurement, where it is a single one.
    """

    method: str
    setting: str
    value: float | None
    simulate: Callable[[int], Sequence[float | None]]
    predicted: float
    refused: float = 0.0
    mechanism: Any = None
