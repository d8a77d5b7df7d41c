"""Statistics that know their own sensitivities.

Each statistic's room holds its value, its exact global and local sensitivity over every domain, and
the proofs.  The names below load lazily.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Count": "tacit.statistics.sums.count",
    "Function": "tacit.statistics.search.function",
    "Histogram": "tacit.statistics.sums.histogram",
    "Interval": "tacit.statistics.base.domain",
    "Maximum": "tacit.statistics.quantiles.min_max",
    "Mean": "tacit.statistics.means.mean",
    "Median": "tacit.statistics.quantiles.quantile",
    "Minimum": "tacit.statistics.quantiles.min_max",
    "Quantile": "tacit.statistics.quantiles.quantile",
    "Question": "tacit.statistics.base.question",
    "Records": "tacit.statistics.base.domain",
    "Root": "tacit.arithmetic.square_root",
    "Sample": "tacit.statistics.samples.sample",
    "Sensitivity": "tacit.statistics.base.result",
    "StabilityMap": "tacit.statistics.ask.stability_map",
    "Statistic": "tacit.statistics.base.statistic",
    "Sum": "tacit.statistics.sums.sum",
    "Values": "tacit.statistics.base.domain",
    "batched": "tacit.statistics.search.function",
    "distance_to_instability": "tacit.statistics.ask.smooth_sensitivity",
    "local_sensitivity_at": "tacit.statistics.ask.smooth_sensitivity",
    "lookup": "tacit.statistics.ask.registry",
    "lower_bound": "tacit.statistics.ask.lower_bound",
    "map_of": "tacit.statistics.ask.stability_map",
    "percentile": "tacit.statistics.quantiles.quantile",
    "sampled_sensitivity": "tacit.statistics.ask.sampled_sensitivity",
    "search_cost": "tacit.statistics.search.search_cost",
    "sensitivity": "tacit.statistics.ask.sensitivity",
    "sensitivity_profile": "tacit.statistics.ask.sensitivity_profile",
    "sensitivity_table": "tacit.statistics.ask.sensitivity_table",
    "smooth_sensitivity": "tacit.statistics.ask.smooth_sensitivity",
    "stability_map": "tacit.statistics.ask.stability_map",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found  # a function may share its module's name: keep the function
    return found
