"""Statistics by name; each room is imported when its statistic is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tacit.errors import UsageError, did_you_mean
from tacit.statistics.base import Statistic

__all__ = ["NAMES", "lookup"]

_ROOMS: dict[str, tuple[str, str]] = {
    "count": ("count", "Count"),
    "sum": ("sum", "Sum"),
    "mean": ("mean", "Mean"),
    "median": ("quantile", "Median"),
    "var": ("variance", "Variance"),
    "std": ("std", "StandardDeviation"),
    "min": ("extremes", "Minimum"),
    "max": ("extremes", "Maximum"),
}
NAMES: tuple[str, ...] = tuple(_ROOMS)
"""The statistics that have a plain name; percentiles and histograms are made with a number."""


def lookup(statistic: str | Statistic | Callable[..., Any]) -> Statistic:
    """Return the statistic of that name, or wrap a function, or pass a statistic through.

    Raises:
        UsageError: an unknown name, or something that cannot be called.

    >>> lookup("median").name
    'median'
    """
    if isinstance(statistic, Statistic):
        return statistic
    stands_for = getattr(statistic, "statistic", None)  # such as tc.median()
    if isinstance(stands_for, Statistic):
        return stands_for
    if isinstance(statistic, str):
        if statistic.startswith("percentile"):
            return _percentile(statistic)
        if statistic not in _ROOMS:
            raise UsageError(
                f"statistic {statistic!r} is unknown; "
                f"{did_you_mean(statistic, [*NAMES, 'percentile(25)'])}"
            )
        module, cls = _ROOMS[statistic]
        made: Statistic = getattr(importlib.import_module(f"tacit.statistics.{module}"), cls)()
        return made
    if callable(statistic):
        from tacit.statistics.function import Function

        return Function(statistic)
    raise UsageError(f"a statistic is a name, a Statistic or a function, not {statistic!r}")


def _percentile(name: str) -> Statistic:
    """Read ``percentile(25)``, ``percentile_25`` and ``percentile:25``."""
    from tacit.statistics.quantile import percentile

    spelled = name.removeprefix("percentile").strip("()_: ")
    if not spelled:
        raise UsageError("percentile needs a number, such as 'percentile(25)'")
    return percentile(spelled)
