"""A function made total: one number within bounds, whatever it does on a data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.statistics.search.function import Function

__all__ = ["total"]


def total(function: Function, lower: float, upper: float) -> Function:
    """Return a function that gives the middle of the bounds where the given one gives no number.

    What lies outside the bounds counts as the nearer one.

    >>> f = total(Function(lambda row: 1 / row[0]), 0.0, 3.0)
    >>> f(np.array([0.0])), f(np.array([0.25])), f(np.array([1.0]))
    (1.5, 3.0, 1.0)
    """
    one = _one_of(function.function) if function.many else function.function
    return Function(_Total(one, lower, upper, (lower + upper) / 2))


@dataclass(frozen=True)
class _Total:
    """A function that always gives one number within bounds: the middle where it gives none."""

    function: Callable[..., Any]
    lower: float
    upper: float
    default: float

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "function"))

    def __call__(self, row: Any) -> float:
        try:
            found = float(self.function(np.array(row)))
        except Exception:  # whatever the data makes a function raise must not be seen
            return self.default
        return min(max(found, self.lower), self.upper) if found == found else self.default


def _one_of(rows: Callable[..., Any]) -> Callable[..., Any]:
    return lambda row: rows(np.asarray(row)[None, :])[0]
