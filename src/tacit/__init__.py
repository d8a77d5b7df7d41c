"""Differential privacy as a relation of distances.

Publish statistics of a sensitive table with a proof and a budget that cannot be overdrawn; compute
sensitivities exactly; build mechanisms from maps that the machine checks.

    >>> import tacit as tc
    >>> m = tc.Space(tc.Vector(float), tc.SymmetricDistance()) >> tc.clamp(0, 12) >> tc.sum()
    >>> m.map(1)
    Fraction(12, 1)

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "tacit.accounting": (
        "Budget",
        "Ledger",
        "epsilon",
        "epsilon_delta",
        "open_ledger",
        "rho",
    ),
    "tacit.accounting.open_ledger": ("in_memory",),
    "tacit.accounting.choose_epsilon": ("choose_epsilon",),
    "tacit.client.connection": ("connect",),
    "tacit.core": (
        "AbsoluteDistance",
        "ApproximateDP",
        "ApproximateZeroConcentratedDP",
        "Category",
        "ChangeOneDistance",
        "DiscreteDistance",
        "Frame",
        "HammingDistance",
        "IdealisedGaussian",
        "IdealisedLaplace",
        "InsertDeleteDistance",
        "L1Distance",
        "L2Distance",
        "LInfinityDistance",
        "Measurement",
        "Number",
        "PrivacyLossDistribution",
        "PureDP",
        "RenyiCurve",
        "RenyiDP",
        "Space",
        "SparseDistance",
        "SymmetricDistance",
        "Tradeoff",
        "TradeoffFunction",
        "Transformation",
        "Vector",
        "ZeroConcentratedDP",
        "compose",
        "convert",
        "divergence",
        "hockey_stick",
        "max_divergence",
        "parallel",
        "privacy_loss",
        "renyi_divergence",
        "total_variation",
    ),
    "tacit.audit": ("verify",),
    "tacit.audit.compare": ("compare",),
    "tacit.mechanisms": (
        "adaptive",
        "calibrate",
        "measurement",
        "plot_accuracy",
        "poisson_sample",
        "sample_without_replacement",
        "select_best",
        "user_transformation",
    ),
    "tacit.mechanisms.propose_test_release": (
        "propose_bound",
        "propose_test_release",
    ),
    "tacit.mechanisms.sample_and_aggregate": ("sample_and_aggregate",),
    "tacit.mechanisms.smooth": ("smooth_noise",),
    "tacit.report": ("Certificate",),
    "tacit.statistics": (
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
    ),
    "tacit.tables.statistics.counts": ("count_distinct",),
    "tacit.tables.statistics.covariance_and_regression": (
        "correlation",
        "covariance",
        "linear_regression",
    ),
    "tacit.tables.statistics.quantiles": ("interquartile_range",),
    "tacit.tables.statistics.top_k": ("top_k",),
    "tacit.tables.joint.kind": (
        "cdf",
        "prefix_sums",
        "ranges",
    ),
    "tacit.tables.joint_plans.synthetic": (
        "SyntheticTable",
        "synthetic_table",
    ),
    "tacit.tables.check_table": ("check",),
    "tacit.tables.dataset.declaration": ("Dataset",),
    "tacit.tables": (
        "Session",
        "bounds",
        "col",
        "count",
        "count_people",
        "histogram",
        "max",
        "mean",
        "median",
        "min",
        "one_row_each",
        "percentile",
        "percentiles",
        "std",
        "sum",
        "unit",
        "var",
        "when",
    ),
}

# Steps of a chain are classes; in a chain they read as verbs.
_RENAMED: dict[str, tuple[str, str]] = {
    "open": ("tacit.tables.dataset.declaration", "open_dataset"),
    "top_code": ("tacit.transformations.top_code", "top_code"),
    "clamp": ("tacit.transformations", "Clamp"),
    "impute": ("tacit.transformations", "Impute"),
    "bin": ("tacit.transformations", "Bin"),
    "cast": ("tacit.transformations", "Cast"),
    "consistent_tree": ("tacit.transformations", "consistent_tree"),
    "count_by_category": ("tacit.transformations", "CountByCategory"),
    "filter": ("tacit.transformations", "Filter"),
    "linear_queries": ("tacit.transformations", "LinearQueries"),
    "map_rows": ("tacit.transformations", "MapRows"),
    "prefix_counts": ("tacit.transformations", "PrefixCounts"),
    "quantile": ("tacit.transformations", "QuantileScores"),
    "quantile_scores": ("tacit.transformations", "QuantileScores"),
    "resize": ("tacit.transformations", "Resize"),
    "select": ("tacit.transformations", "Select"),
    "sum_of_squares": ("tacit.transformations", "SumOfSquares"),
    "to_absolute": ("tacit.transformations", "ToAbsolute"),
    "to_change_one": ("tacit.transformations", "ToChangeOne"),
    "to_discrete": ("tacit.transformations", "ToDiscrete"),
    "to_grid": ("tacit.transformations", "ToGrid"),
    "to_insert_delete": ("tacit.transformations", "ToInsertDelete"),
    "to_l1": ("tacit.transformations", "ToL1"),
    "to_l2": ("tacit.transformations", "ToL2"),
    "to_l_infinity": ("tacit.transformations", "ToLInfinity"),
    "to_symmetric": ("tacit.transformations", "ToSymmetric"),
    "transformation": ("tacit.transformations", "transformation"),
    "tree_counts": ("tacit.transformations", "TreeCounts"),
    "variance": ("tacit.transformations", "Variance"),
    "above_threshold": ("tacit.mechanisms", "AboveThreshold"),
    "continual_count": ("tacit.mechanisms", "ContinualCount"),
    "continual_counter": ("tacit.mechanisms", "Counter"),
    "exponential": ("tacit.mechanisms", "Exponential"),
    "gaussian": ("tacit.mechanisms", "Gaussian"),
    "geometric": ("tacit.mechanisms", "Geometric"),
    "laplace": ("tacit.mechanisms", "Laplace"),
    "noisy_max": ("tacit.mechanisms", "NoisyMax"),
    "permute_and_flip": ("tacit.mechanisms", "PermuteAndFlip"),
    "private_quantile": ("tacit.mechanisms", "PrivateQuantile"),
    "randomized_response": ("tacit.mechanisms", "RandomizedResponse"),
    "release_keys": ("tacit.mechanisms", "ReleaseKeys"),
    "gaussian_keys": ("tacit.mechanisms", "GaussianKeys"),
    "gaussian_keys_in_rounds": ("tacit.mechanisms", "GaussianKeysInRounds"),
    "select_keys": ("tacit.mechanisms", "SelectKeys"),
    "sparse_vector": ("tacit.mechanisms", "SparseVector"),
    "staircase": ("tacit.mechanisms", "Staircase"),
    "truncated_geometric": ("tacit.mechanisms", "TruncatedGeometric"),
}

_ROOMS = ("audit", "data", "errors", "learn", "local", "noise", "sklearn", "workload")

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
    **dict.fromkeys(("variance", "var_pop", "var_samp"), "tc.var('age', 0, 100)"),
    **dict.fromkeys(("quantile", "percentile_cont"), "tc.percentile('age', 90, 0, 100)"),
    **dict.fromkeys(("hist", "cut", "value_counts"), _BINS),
    **dict.fromkeys(("corr", "cor"), "tc.correlation('age', 'cost')"),
    **dict.fromkeys(("cov", "covar_samp"), "tc.covariance('age', 'cost')"),
    "quantiles": "ask tc.percentiles('age', [25, 50, 75], 0, 100)",
}

_FOUND: dict[str, tuple[str, str]] = {
    **{name: (home, name) for home, names in _HOMES.items() for name in names},
    **_RENAMED,
}

__all__ = sorted([*_FOUND, *_ROOMS])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"tacit.{name}")
    if name not in _FOUND:
        from tacit.calls import UnknownNameError
        from tacit.errors import did_you_mean

        near = _INSTEAD.get(name) or did_you_mean(name, __all__)
        # name=None: else Python 3.13 adds a suggestion of its own
        raise UnknownNameError(f"tacit has no name {name!r}; {near}", name=None)
    home, inner = _FOUND[name]
    value = getattr(importlib.import_module(home), inner)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
