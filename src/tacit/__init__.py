"""Differential privacy as a relation of distances.

Publish statistics of a sensitive table with a proof and a budget that cannot be overdrawn; compute
sensitivities exactly; build mechanisms from maps that the machine checks.

    >>> import tacit as tc
    >>> from tacit import framework as fw
    >>> m = fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 12) >> tc.sum()
    >>> m.map(1)
    Fraction(12, 1)

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, str]] = {
    "Certificate": ("tacit.report", "Certificate"),
    "Dataset": ("tacit.tables.dataset.declaration", "Dataset"),
    "Interval": ("tacit.statistics", "Interval"),
    "Records": ("tacit.statistics", "Records"),
    "Session": ("tacit.tables", "Session"),
    "Values": ("tacit.statistics", "Values"),
    "bounds": ("tacit.tables", "bounds"),
    "cdf": ("tacit.tables.together.kind", "cdf"),
    "check": ("tacit.tables.check_table", "check"),
    "choose_epsilon": ("tacit.accounting.choose_epsilon", "choose_epsilon"),
    "col": ("tacit.tables", "col"),
    "connect": ("tacit.client.connection", "connect"),
    "correlation": ("tacit.tables.answers.covariance_and_regression", "correlation"),
    "count": ("tacit.tables", "count"),
    "count_distinct": ("tacit.tables.answers.counts", "count_distinct"),
    "count_people": ("tacit.tables", "count_people"),
    "covariance": ("tacit.tables.answers.covariance_and_regression", "covariance"),
    "distance_to_instability": ("tacit.statistics", "distance_to_instability"),
    "epsilon": ("tacit.accounting", "epsilon"),
    "epsilon_delta": ("tacit.accounting", "epsilon_delta"),
    "histogram": ("tacit.tables", "histogram"),
    "in_memory": ("tacit.accounting.open_ledger", "in_memory"),
    "interquartile_range": ("tacit.tables.answers.quantiles", "interquartile_range"),
    "linear_regression": ("tacit.tables.answers.covariance_and_regression", "linear_regression"),
    "local_sensitivity_at": ("tacit.statistics", "local_sensitivity_at"),
    "max": ("tacit.tables", "max"),
    "mean": ("tacit.tables", "mean"),
    "median": ("tacit.tables", "median"),
    "min": ("tacit.tables", "min"),
    "one_row_each": ("tacit.tables", "one_row_each"),
    "open": ("tacit.tables.dataset.declaration", "open_dataset"),
    "percentile": ("tacit.tables", "percentile"),
    "percentiles": ("tacit.tables", "percentiles"),
    "prefix_sums": ("tacit.tables.together.kind", "prefix_sums"),
    "propose_test_release": ("tacit.mechanisms.propose_test_release", "propose_test_release"),
    "quantile": ("tacit.tables.answers.quantiles", "quantile"),
    "ranges": ("tacit.tables.together.kind", "ranges"),
    "rho": ("tacit.accounting", "rho"),
    "sample_and_aggregate": ("tacit.mechanisms.sample_and_aggregate", "sample_and_aggregate"),
    "sensitivity": ("tacit.statistics", "sensitivity"),
    "sensitivity_profile": ("tacit.statistics", "sensitivity_profile"),
    "sensitivity_table": ("tacit.statistics", "sensitivity_table"),
    "smooth_noise": ("tacit.mechanisms.smooth", "smooth_noise"),
    "smooth_sensitivity": ("tacit.statistics", "smooth_sensitivity"),
    "std": ("tacit.tables", "std"),
    "sum": ("tacit.tables", "sum"),
    "synthetic_table": ("tacit.tables.planned.synthetic", "synthetic_table"),
    "top_k": ("tacit.tables.answers.top_k", "top_k"),
    "unit": ("tacit.tables", "unit"),
    "var": ("tacit.tables", "var"),
    "when": ("tacit.tables", "when"),
}

# Steps of a chain are classes; in a chain they read as verbs.
_MOVED: dict[str, str] = {
    "AbsoluteDistance": "AbsoluteDistance",
    "ApproximateDP": "ApproximateDP",
    "ChangeOneDistance": "ChangeOneDistance",
    "DiscreteDistance": "DiscreteDistance",
    "HammingDistance": "HammingDistance",
    "InsertDeleteDistance": "InsertDeleteDistance",
    "L1Distance": "L1Distance",
    "L2Distance": "L2Distance",
    "LInfinityDistance": "LInfinityDistance",
    "PureDP": "PureDP",
    "RenyiDP": "RenyiDP",
    "Space": "Space",
    "SymmetricDistance": "SymmetricDistance",
    "Vector": "Vector",
    "ZeroConcentratedDP": "ZeroConcentratedDP",
    "calibrate": "calibrate",
    "cast": "cast",
    "clamp": "clamp",
    "compose": "compose",
    "divergence": "divergence",
    "exponential": "exponential",
    "filter": "filter",
    "gaussian": "gaussian",
    "geometric": "geometric",
    "impute": "impute",
    "laplace": "laplace",
    "noisy_max": "noisy_max",
    "parallel": "parallel",
    "randomized_response": "randomized_response",
    "resize": "resize",
    "select": "select",
    "transformation": "as_transformation",
    "variance": "var",
}
"""Names of tacit.framework that scripts written before it find here; they are in no list."""

_IS_NOW = {
    "ApproximateZeroConcentratedDP": "it is tc.framework.ApproximateZeroConcentratedDP now",
    "Budget": "it is tc.accounting.Budget now",
    "Category": "it is tc.framework.Category now",
    "Frame": "it is tc.framework.Frame now",
    "IdealisedGaussian": "it is tc.framework.IdealisedGaussian now",
    "IdealisedLaplace": "it is tc.framework.IdealisedLaplace now",
    "Ledger": "it is tc.accounting.Ledger now",
    "Measurement": "it is tc.framework.Measurement now",
    "Number": "it is tc.framework.Number now",
    "PrivacyLossDistribution": "it is tc.framework.PrivacyLossDistribution now",
    "RenyiCurve": "it is tc.framework.RenyiCurve now",
    "SparseDistance": "it is tc.framework.SparseDistance now",
    "SyntheticTable": "it is tc.tables.SyntheticTable now",
    "Tradeoff": "it is tc.framework.Tradeoff now",
    "TradeoffFunction": "it is tc.framework.TradeoffFunction now",
    "Transformation": "it is tc.framework.Transformation now",
    "above_threshold": "it is tc.framework.above_threshold now",
    "adaptive": "it is tc.framework.adaptive now",
    "batched": "it is tc.statistics.batched now",
    "bin": "it is tc.framework.bin now",
    "compare": "it is tc.audit.compare now",
    "consistent_tree": "it is tc.framework.consistent_tree now",
    "continual_count": "it is tc.framework.continual_count now",
    "continual_counter": "it is tc.framework.continual_counter now",
    "convert": "it is tc.framework.convert now",
    "count_by_category": "it is tc.framework.count_by_category now",
    "gaussian_keys": "it is tc.framework.select_partitions now",
    "gaussian_keys_in_rounds": "it is tc.framework.select_partitions now",
    "hockey_stick": "it is tc.framework.hockey_stick now",
    "linear_queries": "it is tc.framework.linear_queries now",
    "lower_bound": "it is tc.statistics.lower_bound now",
    "map_rows": "it is tc.framework.map_rows now",
    "max_divergence": "it is tc.framework.max_divergence now",
    "measurement": "it is tc.framework.user_measurement now",
    "open_ledger": "it is tc.accounting.open_ledger now",
    "permute_and_flip": "it is tc.framework.permute_and_flip now",
    "plot_accuracy": "it is tc.framework.plot_accuracy now",
    "poisson_sample": "it is tc.framework.poisson_sample now",
    "prefix_counts": "it is tc.framework.prefix_counts now",
    "privacy_loss": "it is tc.framework.privacy_loss now",
    "private_quantile": "it is tc.framework.private_quantile now",
    "propose_bound": "it is tc.framework.propose_bound now",
    "quantile_scores": "it is tc.framework.quantile_scores now",
    "release_keys": "it is tc.framework.select_partitions now",
    "renyi_divergence": "it is tc.framework.renyi_divergence now",
    "sample_without_replacement": "it is tc.framework.sample_without_replacement now",
    "sampled_sensitivity": "it is tc.statistics.sampled_sensitivity now",
    "search_cost": "it is tc.statistics.search_cost now",
    "select_best": "it is tc.framework.select_best now",
    "select_keys": "it is tc.framework.select_partitions now",
    "sparse_vector": "it is tc.framework.sparse_vector now",
    "stability_map": "it is tc.statistics.stability_map now",
    "staircase": "it is tc.framework.staircase now",
    "sum_of_squares": "it is tc.framework.sum_of_squares now",
    "to_absolute": "it is tc.framework.to_absolute now",
    "to_change_one": "it is tc.framework.to_change_one now",
    "to_discrete": "it is tc.framework.to_discrete now",
    "to_grid": "it is tc.framework.to_grid now",
    "to_insert_delete": "it is tc.framework.to_insert_delete now",
    "to_l1": "it is tc.framework.to_l1 now",
    "to_l2": "it is tc.framework.to_l2 now",
    "to_l_infinity": "it is tc.framework.to_l_infinity now",
    "to_symmetric": "it is tc.framework.to_symmetric now",
    "top_code": "it is tc.framework.top_code now",
    "total_variation": "it is tc.framework.total_variation now",
    "tree_counts": "it is tc.framework.tree_counts now",
    "truncated_geometric": "it is tc.framework.truncated_geometric now",
    "user_transformation": "it is tc.framework.user_transformation now",
    "verify": "it is tc.audit.verify now",
}
_ROOMS = (
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
_INSTEAD = {
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
    **dict.fromkeys(("percentile_cont", "quantile_cont"), "tc.percentile('age', 90, 0, 100)"),
    **dict.fromkeys(("hist", "cut", "value_counts"), _BINS),
    **dict.fromkeys(("corr", "cor"), "tc.correlation('age', 'cost')"),
    **dict.fromkeys(("cov", "covar_samp"), "tc.covariance('age', 'cost')"),
    "quantiles": "ask tc.percentiles('age', [25, 50, 75], 0, 100)",
}

_FOUND = _HOMES

__all__ = sorted([*_FOUND, *_ROOMS])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"tacit.{name}")
    if name in _MOVED:
        return getattr(importlib.import_module("tacit.framework"), _MOVED[name])
    if name not in _FOUND:
        from tacit.calls import UnknownNameError
        from tacit.errors import did_you_mean

        near = _IS_NOW.get(name) or _INSTEAD.get(name) or did_you_mean(name, __all__)
        raise UnknownNameError(f"tacit has no name {name!r}; {near}")
    home, inner = _FOUND[name]
    value = getattr(importlib.import_module(home), inner)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
