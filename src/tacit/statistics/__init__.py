"""Statistics that know their own sensitivities.

Each statistic's room holds its value, its exact global and local sensitivity over every domain, and
the proofs.  The names below load lazily.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Histogram": "histogram",
    "Interval": "domain",
    "Mean": "mean",
    "Median": "quantile",
    "Question": "question",
    "Quantile": "quantile",
    "Records": "domain",
    "Sample": "sample",
    "Sensitivity": "answer",
    "Statistic": "base",
    "Values": "domain",
    "lookup": "registry",
    "lower_bound": "local_search",
    "percentile": "quantile",
    "sampled_sensitivity": "sampling",
    "sensitivity": "ask",
    "sensitivity_profile": "profile",
    "sensitivity_table": "table",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"tacit.statistics.{_HOMES[name]}"), name)
    globals()[name] = found  # a function may share its module's name: keep the function
    return found
