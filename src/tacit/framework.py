"""Domains, metrics, measures, and the steps between them: what a mechanism is built of.

    >>> from tacit import framework as fw
    >>> m = fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 12) >> fw.sum()
    >>> m.map(1)
    Fraction(12, 1)

``count``, ``count_distinct``, ``histogram``, ``mean``, ``sum`` and ``var`` are those of ``tacit``:
in a chain they take no column.  Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

# The module of each name, and its name there.  Steps of a chain are classes; in a chain they read
# as verbs.
_PUBLIC: dict[str, tuple[str, str]] = {
    "AbsoluteDistance": ("tacit.core", "AbsoluteDistance"),
    "ApproximateDP": ("tacit.core", "ApproximateDP"),
    "ApproximateZeroConcentratedDP": ("tacit.core", "ApproximateZeroConcentratedDP"),
    "Category": ("tacit.core", "Category"),
    "ChangeOneDistance": ("tacit.core", "ChangeOneDistance"),
    "DiscreteDistance": ("tacit.core", "DiscreteDistance"),
    "Frame": ("tacit.core", "Frame"),
    "HammingDistance": ("tacit.core", "HammingDistance"),
    "IdealisedGaussian": ("tacit.core", "IdealisedGaussian"),
    "IdealisedLaplace": ("tacit.core", "IdealisedLaplace"),
    "InsertDeleteDistance": ("tacit.core", "InsertDeleteDistance"),
    "L1Distance": ("tacit.core", "L1Distance"),
    "L2Distance": ("tacit.core", "L2Distance"),
    "LInfinityDistance": ("tacit.core", "LInfinityDistance"),
    "Measurement": ("tacit.core", "Measurement"),
    "Number": ("tacit.core", "Number"),
    "PrivacyLossDistribution": ("tacit.core", "PrivacyLossDistribution"),
    "PureDP": ("tacit.core", "PureDP"),
    "RenyiCurve": ("tacit.core", "RenyiCurve"),
    "RenyiDP": ("tacit.core", "RenyiDP"),
    "Space": ("tacit.core", "Space"),
    "SparseDistance": ("tacit.core", "SparseDistance"),
    "SymmetricDistance": ("tacit.core", "SymmetricDistance"),
    "Tradeoff": ("tacit.core", "Tradeoff"),
    "TradeoffFunction": ("tacit.core", "TradeoffFunction"),
    "Transformation": ("tacit.core", "Transformation"),
    "Vector": ("tacit.core", "Vector"),
    "ZeroConcentratedDP": ("tacit.core", "ZeroConcentratedDP"),
    "above_threshold": ("tacit.mechanisms", "AboveThreshold"),
    "adaptive": ("tacit.mechanisms", "adaptive"),
    "as_transformation": ("tacit.transformations", "as_transformation"),
    "bin": ("tacit.transformations", "Bin"),
    "calibrate": ("tacit.mechanisms", "calibrate"),
    "cast": ("tacit.transformations", "Cast"),
    "clamp": ("tacit.transformations", "Clamp"),
    "compose": ("tacit.core", "compose"),
    "consistent_tree": ("tacit.transformations", "consistent_tree"),
    "continual_count": ("tacit.mechanisms", "ContinualCount"),
    "continual_counter": ("tacit.mechanisms", "Counter"),
    "convert": ("tacit.core", "convert"),
    "count": ("tacit.tables", "count"),
    "count_by_category": ("tacit.transformations", "CountByCategory"),
    "count_distinct": ("tacit.tables.statistics.counts", "count_distinct"),
    "divergence": ("tacit.core", "divergence"),
    "exponential": ("tacit.mechanisms", "Exponential"),
    "filter": ("tacit.transformations", "Filter"),
    "gaussian": ("tacit.mechanisms", "Gaussian"),
    "geometric": ("tacit.mechanisms", "Geometric"),
    "histogram": ("tacit.tables", "histogram"),
    "hockey_stick": ("tacit.core", "hockey_stick"),
    "impute": ("tacit.transformations", "Impute"),
    "laplace": ("tacit.mechanisms", "Laplace"),
    "linear_queries": ("tacit.transformations", "LinearQueries"),
    "map_rows": ("tacit.transformations", "MapRows"),
    "max_divergence": ("tacit.core", "max_divergence"),
    "mean": ("tacit.tables", "mean"),
    "noisy_max": ("tacit.mechanisms", "NoisyMax"),
    "parallel": ("tacit.core", "parallel"),
    "permute_and_flip": ("tacit.mechanisms", "PermuteAndFlip"),
    "plot_accuracy": ("tacit.mechanisms", "plot_accuracy"),
    "poisson_sample": ("tacit.mechanisms", "poisson_sample"),
    "prefix_counts": ("tacit.transformations", "PrefixCounts"),
    "privacy_loss": ("tacit.core", "privacy_loss"),
    "private_quantile": ("tacit.mechanisms", "PrivateQuantile"),
    "propose_bound": ("tacit.mechanisms.propose_test_release", "propose_bound"),
    "quantile_scores": ("tacit.transformations", "QuantileScores"),
    "randomized_response": ("tacit.mechanisms", "RandomizedResponse"),
    "renyi_divergence": ("tacit.core", "renyi_divergence"),
    "resize": ("tacit.transformations", "Resize"),
    "sample_without_replacement": ("tacit.mechanisms", "sample_without_replacement"),
    "select": ("tacit.transformations", "Select"),
    "select_best": ("tacit.mechanisms", "select_best"),
    "select_partitions": ("tacit.mechanisms", "select_partitions"),
    "sparse_vector": ("tacit.mechanisms", "SparseVector"),
    "staircase": ("tacit.mechanisms", "Staircase"),
    "sum": ("tacit.tables", "sum"),
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
    "top_code": ("tacit.transformations.rows", "top_code"),
    "total_variation": ("tacit.core", "total_variation"),
    "tree_counts": ("tacit.transformations", "TreeCounts"),
    "truncated_geometric": ("tacit.mechanisms", "TruncatedGeometric"),
    "truncated_laplace": ("tacit.mechanisms", "TruncatedLaplace"),
    "user_measurement": ("tacit.mechanisms", "user_measurement"),
    "user_transformation": ("tacit.mechanisms", "user_transformation"),
    "var": ("tacit.tables", "var"),
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        if name.startswith("__"):  # looked for by programs, in vain and often
            raise AttributeError(f"module 'tacit.framework' has no attribute {name!r}")
        from tacit.calls import UnknownNameError
        from tacit.errors import did_you_mean

        raise UnknownNameError(
            f"tacit.framework has no name {name!r}; {did_you_mean(name, __all__)}"
        )
    home, inner = _PUBLIC[name]
    value = getattr(importlib.import_module(home), inner)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
