"""Statistics that know their own sensitivities.

Each statistic's room holds its value, its exact global and local sensitivity over every domain, and
the proofs.  The names below load lazily.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Count": "count",
    "Function": "function",
    "Histogram": "histogram",
    "Interval": "domain",
    "Maximum": "extremes",
    "Mean": "mean",
    "Median": "quantile",
    "Minimum": "extremes",
    "Quantile": "quantile",
    "Question": "question",
    "Records": "domain",
    "Root": "root",
    "Sample": "sample",
    "Sensitivity": "answer",
    "StabilityMap": "stability",
    "Statistic": "base",
    "Sum": "sum",
    "Values": "domain",
    "batched": "function",
    "distance_to_instability": "smooth",
    "local_sensitivity_at": "smooth",
    "lookup": "registry",
    "lower_bound": "local_search",
    "map_of": "stability",
    "percentile": "quantile",
    "sampled_sensitivity": "sampling",
    "search_cost": "cost",
    "sensitivity": "ask",
    "sensitivity_profile": "profile",
    "sensitivity_table": "table",
    "smooth_sensitivity": "smooth",
    "stability_map": "stability",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"tacit.statistics.{_HOMES[name]}"), name)
    globals()[name] = found  # a function may share its module's name: keep the function
    return found
