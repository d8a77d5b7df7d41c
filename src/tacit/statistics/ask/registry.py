"""Statistics by name; each room is imported when its statistic is first asked for."""

from __future__ import annotations

import importlib
import re
from typing import Any

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.errors import UsageError, did_you_mean
from tacit.statistics.base.statistic import Statistic

__all__ = ["NAMES", "lookup"]

_ROOMS: dict[str, tuple[str, str]] = {
    "count": ("sums.count", "Count"),
    "sum": ("sums.sum", "Sum"),
    "mean": ("means.mean", "Mean"),
    "median": ("quantiles.quantile", "Median"),
    "var": ("variances.variance", "Variance"),
    "std": ("variances.standard_deviation", "StandardDeviation"),
    "min": ("quantiles.min_max", "Minimum"),
    "max": ("quantiles.min_max", "Maximum"),
    "interquartile_range": ("quantiles.interquartile_range", "InterquartileRange"),
    "trimmed_mean": ("means.trimmed_mean", "TrimmedMean"),
}
NAMES: tuple[str, ...] = tuple(_ROOMS)
"""The statistics that have a plain name; percentiles and histograms are made with a number."""

_SHORT: dict[str, str] = {"iqr": "interquartile_range"}
"""Other names that people type."""
_TAKE_NUMBER: dict[str, str] = {"var": "ddof", "std": "ddof", "trimmed_mean": "share"}
_CALLED = re.compile(r"\s*([a-z_]+?)\s*[:(]\s*(?:([a-z]+)\s*=\s*)?([^()=:]+?)\s*\)?\s*")


def lookup(statistic: object) -> Statistic:
    """Return the statistic of that name, or wrap a function, or pass a statistic through.

    Raises:
        UsageError: an unknown name, or something that cannot be called.

    >>> lookup("median").name, lookup("var(ddof=1)").name, lookup("trimmed_mean:0.25").name
    ('median', 'var(ddof=1)', 'trimmed_mean(0.25)')
    """
    if isinstance(statistic, Statistic):
        return statistic
    stands_for = getattr(statistic, "statistic", None)  # such as tc.median()
    if isinstance(stands_for, Statistic):
        return stands_for
    if isinstance(statistic, str):
        if statistic.startswith("percentile"):
            return _percentile(statistic)
        return _named(statistic)
    if callable(statistic):
        from tacit.statistics.search.function import Function

        return Function(statistic)
    raise UsageError(f"a statistic is a name, a Statistic or a function, not {statistic!r}")


def _named(text: str) -> Statistic:
    """Read ``var``, ``var(ddof=1)``, ``std(1)``, ``std:1`` and ``trimmed_mean(0.1)``."""
    name = _SHORT.get(text, text)
    options: dict[str, Any] = {}
    called = _CALLED.fullmatch(text)
    if called is not None and called[1] in _TAKE_NUMBER:
        name, option = called[1], _TAKE_NUMBER[called[1]]
        if called[2] not in (None, option):
            raise UsageError(f"{name} takes {option}, not {called[2]}: '{name}({option}=...)'")
        number = as_fraction(called[3], option)
        options[option] = as_integer(number, option) if option == "ddof" else number
    if name not in _ROOMS:
        raise UsageError(
            f"statistic {text!r} is unknown; {did_you_mean(text, [*NAMES, 'percentile(25)'])}"
        )
    module, cls = _ROOMS[name]
    made: Statistic = getattr(importlib.import_module(f"tacit.statistics.{module}"), cls)(**options)
    return made


def _percentile(name: str) -> Statistic:
    """Read ``percentile(25)``, ``percentile_25`` and ``percentile:25``."""
    from tacit.statistics.quantiles.quantile import percentile

    spelled = name.removeprefix("percentile").strip("()_: ")
    if not spelled:
        raise UsageError("percentile needs a number, such as 'percentile(25)'")
    return percentile(spelled)
