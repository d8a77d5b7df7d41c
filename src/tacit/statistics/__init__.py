"""Statistics that know their own sensitivities.

Each statistic's room holds its value, its exact global and local sensitivity over every domain, and
the proofs.  The names below load lazily.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Count": "tacit.statistics.counts_and_sums",
    "Function": "tacit.statistics.search",
    "Histogram": "tacit.statistics.counts_and_sums",
    "Interval": "tacit.statistics.domains",
    "Maximum": "tacit.statistics.quantiles",
    "Mean": "tacit.statistics.means",
    "Median": "tacit.statistics.quantiles",
    "Minimum": "tacit.statistics.quantiles",
    "Quantile": "tacit.statistics.quantiles",
    "Question": "tacit.statistics.question",
    "Records": "tacit.statistics.domains",
    "Root": "tacit.arithmetic.roots_and_bisection",
    "Sample": "tacit.statistics.samples",
    "Sensitivity": "tacit.statistics.result",
    "StabilityMap": "tacit.statistics.global_sensitivity",
    "Statistic": "tacit.statistics.statistic",
    "Sum": "tacit.statistics.counts_and_sums",
    "Values": "tacit.statistics.domains",
    "batched": "tacit.statistics.search",
    "distance_to_instability": "tacit.statistics.smooth",
    "local_sensitivity_at": "tacit.statistics.smooth",
    "lookup": "tacit.statistics.global_sensitivity",
    "lower_bound": "tacit.statistics.lower_bounds",
    "map_of": "tacit.statistics.global_sensitivity",
    "percentile": "tacit.statistics.quantiles",
    "sampled_sensitivity": "tacit.statistics.lower_bounds",
    "search_cost": "tacit.statistics.search",
    "sensitivity": "tacit.statistics.global_sensitivity",
    "sensitivity_profile": "tacit.statistics.profile",
    "sensitivity_table": "tacit.statistics.table",
    "smooth_sensitivity": "tacit.statistics.smooth",
    "stability_map": "tacit.statistics.global_sensitivity",
}

__all__ = [
    "Interval",
    "Records",
    "Values",
    "batched",
    "distance_to_instability",
    "local_sensitivity_at",
    "lower_bound",
    "sampled_sensitivity",
    "search_cost",
    "sensitivity",
    "sensitivity_profile",
    "sensitivity_table",
    "smooth_sensitivity",
    "stability_map",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = attribute  # a function may share its module's name: keep the function
    return attribute
