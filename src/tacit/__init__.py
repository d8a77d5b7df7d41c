"""Differential privacy as a relation of distances.

Publish statistics of a sensitive table with a proof and a budget that cannot be overdrawn; compute
sensitivities exactly; build mechanisms from maps that the machine checks.

    >>> from tacit import framework as fw
    >>> m = fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 12) >> fw.sum()
    >>> m.map(1)
    Fraction(12, 1)

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# The module of each name, and its name there.
_PUBLIC: dict[str, tuple[str, str]] = {
    "Certificate": ("tacit.report", "Certificate"),
    "Dataset": ("tacit.tables.dataset.declaration", "Dataset"),
    "Interval": ("tacit.statistics", "Interval"),
    "Records": ("tacit.statistics", "Records"),
    "Session": ("tacit.tables", "Session"),
    "Values": ("tacit.statistics", "Values"),
    "bounds": ("tacit.tables", "bounds"),
    "cdf": ("tacit.tables.joint.statistics", "cdf"),
    "check": ("tacit.tables.check_table", "check"),
    "choose_epsilon": ("tacit.accounting.choose_epsilon", "choose_epsilon"),
    "col": ("tacit.tables", "col"),
    "connect": ("tacit.client.connection", "connect"),
    "correlation": ("tacit.tables.statistics.covariance_and_regression", "correlation"),
    "count": ("tacit.tables", "count"),
    "count_distinct": ("tacit.tables.statistics.counts", "count_distinct"),
    "count_people": ("tacit.tables", "count_people"),
    "covariance": ("tacit.tables.statistics.covariance_and_regression", "covariance"),
    "distance_to_instability": ("tacit.statistics", "distance_to_instability"),
    "epsilon": ("tacit.accounting", "epsilon"),
    "epsilon_delta": ("tacit.accounting", "epsilon_delta"),
    "geometric_mean": ("tacit.tables.statistics.geometric_mean", "geometric_mean"),
    "gini": ("tacit.tables.statistics.gini", "gini"),
    "histogram": ("tacit.tables", "histogram"),
    "in_memory": ("tacit.accounting.open_ledger", "in_memory"),
    "interquartile_range": ("tacit.tables.statistics.quantiles", "interquartile_range"),
    "linear_regression": ("tacit.tables.statistics.covariance_and_regression", "linear_regression"),
    "local_sensitivity_at": ("tacit.statistics", "local_sensitivity_at"),
    "mad": ("tacit.tables.statistics.absolute_deviation", "mad"),
    "max": ("tacit.tables", "max"),
    "mean": ("tacit.tables", "mean"),
    "median": ("tacit.tables", "median"),
    "min": ("tacit.tables", "min"),
    "one_row_each": ("tacit.tables", "one_row_each"),
    "open": ("tacit.tables.dataset.declaration", "open_dataset"),
    "percentile": ("tacit.tables", "percentile"),
    "percentiles": ("tacit.tables", "percentiles"),
    "prefix_sums": ("tacit.tables.joint.statistics", "prefix_sums"),
    "propose_test_release": ("tacit.mechanisms.propose_test_release", "propose_test_release"),
    "quantile": ("tacit.tables", "quantile"),
    "ranges": ("tacit.tables.joint.statistics", "ranges"),
    "ratio": ("tacit.tables.statistics.weights_and_ratios", "ratio"),
    "rho": ("tacit.accounting", "rho"),
    "sample_and_aggregate": ("tacit.mechanisms.sample_and_aggregate", "sample_and_aggregate"),
    "sensitivity": ("tacit.statistics", "sensitivity"),
    "sensitivity_profile": ("tacit.statistics", "sensitivity_profile"),
    "sensitivity_table": ("tacit.statistics", "sensitivity_table"),
    "smooth_noise": ("tacit.mechanisms.smooth", "smooth_noise"),
    "smooth_sensitivity": ("tacit.statistics", "smooth_sensitivity"),
    "std": ("tacit.tables", "std"),
    "sum": ("tacit.tables", "sum"),
    "synthetic_table": ("tacit.tables.joint_plans.synthetic", "synthetic_table"),
    "top_k": ("tacit.tables.statistics.top_k", "top_k"),
    "trimmed_mean": ("tacit.tables.statistics.trimmed_means", "trimmed_mean"),
    "unit": ("tacit.tables", "unit"),
    "value_range": ("tacit.tables.statistics.value_range", "value_range"),
    "var": ("tacit.tables", "var"),
    "weighted_count": ("tacit.tables.statistics.weights_and_ratios", "weighted_count"),
    "weighted_mean": ("tacit.tables.statistics.weights_and_ratios", "weighted_mean"),
    "weighted_sum": ("tacit.tables.statistics.weights_and_ratios", "weighted_sum"),
    "when": ("tacit.tables", "when"),
    "winsorized_mean": ("tacit.tables.statistics.trimmed_means", "winsorized_mean"),
}

# Names that scripts written before tc.framework find here, still; they are in no list.
_MOVED: dict[str, str] = {
    name: name
    for name in [
        "AbsoluteDistance",
        "ApproximateDP",
        "ChangeOneDistance",
        "DiscreteDistance",
        "HammingDistance",
        "InsertDeleteDistance",
        "L1Distance",
        "L2Distance",
        "LInfinityDistance",
        "PureDP",
        "RenyiDP",
        "Space",
        "SymmetricDistance",
        "Vector",
        "ZeroConcentratedDP",
        "calibrate",
        "cast",
        "clamp",
        "compose",
        "divergence",
        "exponential",
        "filter",
        "gaussian",
        "geometric",
        "impute",
        "laplace",
        "noisy_max",
        "parallel",
        "randomized_response",
        "resize",
        "select",
    ]
} | {"transformation": "as_transformation", "variance": "var"}

# Where the names are that were here and have another name, or are in another namespace, now.  Those
# of tc.framework that kept their names are found there.
_IS_NOW: dict[str, str] = {
    "Budget": "accounting.Budget",
    "Ledger": "accounting.Ledger",
    "SyntheticTable": "tables.SyntheticTable",
    "compare": "audit.compare",
    "measurement": "framework.user_measurement",
    "open_ledger": "accounting.open_ledger",
    "verify": "audit.verify",
    **{
        name: f"statistics.{name}"
        for name in (
            "batched",
            "lower_bound",
            "sampled_sensitivity",
            "search_cost",
            "stability_map",
        )
    },
    **dict.fromkeys(
        ("gaussian_keys", "gaussian_keys_in_rounds", "release_keys", "select_keys"),
        "framework.select_partitions",
    ),
}

_NAMESPACES = (
    "accounting",
    "audit",
    "data",
    "errors",
    "framework",
    "learn",
    "local",
    "noise",
    "sklearn",
    "statistics",
    "tables",
    "workload",
)

_OPEN = "a table is opened by tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(1))"
_CHOICE = "write tc.when(tc.col('age') < 18).then('minor').otherwise('adult')"
_BINS = "count in bins by tc.histogram('age', [0, 20, 40]), or cut: tc.col('age').cut([0, 20, 40])"
# What to write for names of other libraries that people look for.
_SUGGESTIONS = {
    **dict.fromkeys(
        ("load", "DataFrame", "read", "read_csv", "read_parquet", "from_pandas"), _OPEN
    ),
    **dict.fromkeys(("avg", "average"), "a mean is tc.mean('age', 0, 100)"),
    **dict.fromkeys(("nunique", "n_unique"), "different values are counted by tc.count_distinct"),
    **dict.fromkeys(("n", "size", "nrow"), "rows are counted by tc.count()"),
    **dict.fromkeys(("n_distinct", "approx_count_distinct"), "tc.count_distinct('site')"),
    **dict.fromkeys(("if_else", "ifelse", "where", "case_when", "case", "iff"), _CHOICE),
    **dict.fromkeys(("desc", "asc", "order_by"), "sort the answer: answer.to_pandas().sort_values"),
    **dict.fromkeys(("lit", "value"), "a constant is written as it is: tc.col('age') > 18"),
    **dict.fromkeys(("sd", "stddev", "stdev", "std_dev"), "tc.std('age', 0, 100)"),
    **dict.fromkeys(("var_pop", "var_samp"), "tc.var('age', 0, 100)"),
    **dict.fromkeys(("percentile_cont", "quantile_cont"), "tc.quantile('age', '0.9', 0, 100)"),
    **dict.fromkeys(("hist", "cut", "value_counts"), _BINS),
    **dict.fromkeys(("corr", "cor"), "tc.correlation('age', 'cost')"),
    **dict.fromkeys(("cov", "covar_samp"), "tc.covariance('age', 'cost')"),
    **dict.fromkeys(("weight", "weights", "svytotal"), "tc.weighted_count('weight', 0, 50)"),
    **dict.fromkeys(
        ("weighted_avg", "weighted_average", "weighted_proportion", "wavg", "svymean"),
        "tc.weighted_mean('age', 'weight'), of a column of true and false the proportion",
    ),
    "mode": "the most frequent of listed values is tc.top_k('site', 1, keys=[1, 2, 3])",
    **dict.fromkeys(("svyratio", "rate"), "tc.ratio('cost', 'days', per=1000)"),
    "quantiles": "ask tc.percentiles('age', [25, 50, 75], 0, 100)",
}

__all__ = sorted([*_PUBLIC, *_NAMESPACES])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"tacit.{name}")
    if name in _MOVED:
        return getattr(importlib.import_module("tacit.framework"), _MOVED[name])
    if name not in _PUBLIC:
        if name.startswith("__"):  # looked for by programs, in vain and often
            raise AttributeError(f"module 'tacit' has no attribute {name!r}")
        from tacit.calls import UnknownNameError
        from tacit.errors import did_you_mean

        framework = importlib.import_module("tacit.framework")
        if location := _IS_NOW.get(name, f"framework.{name}" if name in framework.__all__ else ""):
            raise UnknownNameError(f"tacit has no name {name!r}; it is tc.{location}")
        near = _SUGGESTIONS.get(name) or did_you_mean(name, __all__)
        raise UnknownNameError(f"tacit has no name {name!r}; {near}")
    home, inner = _PUBLIC[name]
    value = getattr(importlib.import_module(home), inner)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
