"""Deterministic steps and the stability maps that bound how far they move neighbours apart."""

from tacit.core import register_join
from tacit.transformations.aggregates.count import Count
from tacit.transformations.aggregates.count_by_category import CountByCategory
from tacit.transformations.aggregates.count_distinct import CountDistinct
from tacit.transformations.aggregates.histogram import Histogram
from tacit.transformations.aggregates.linear_queries import LinearQueries
from tacit.transformations.aggregates.prefix_counts import PrefixCounts
from tacit.transformations.aggregates.quantile_scores import QuantileScores
from tacit.transformations.aggregates.sum_and_mean import Mean, Sum
from tacit.transformations.aggregates.sum_of_squares import SumOfSquares
from tacit.transformations.aggregates.tree_counts import TreeCounts, consistent_tree
from tacit.transformations.aggregates.variance import Variance
from tacit.transformations.from_function import transformation
from tacit.transformations.metric_conversions import (
    ToAbsolute,
    ToChangeOne,
    ToDiscrete,
    ToInsertDelete,
    ToL1,
    ToL2,
    ToLInfinity,
    ToSymmetric,
)
from tacit.transformations.rows.bin import Bin
from tacit.transformations.rows.cast import Cast
from tacit.transformations.rows.clamp import Clamp
from tacit.transformations.rows.filter import Filter
from tacit.transformations.rows.impute import Impute
from tacit.transformations.rows.map_rows import MapRows
from tacit.transformations.rows.resize import Resize
from tacit.transformations.rows.select import Select
from tacit.transformations.rows.to_grid import ToGrid

__all__ = [
    "Bin",
    "Cast",
    "Clamp",
    "Count",
    "CountByCategory",
    "CountDistinct",
    "Filter",
    "Histogram",
    "Impute",
    "LinearQueries",
    "MapRows",
    "Mean",
    "PrefixCounts",
    "QuantileScores",
    "Resize",
    "Select",
    "Sum",
    "SumOfSquares",
    "ToAbsolute",
    "ToChangeOne",
    "ToDiscrete",
    "ToGrid",
    "ToInsertDelete",
    "ToL1",
    "ToL2",
    "ToLInfinity",
    "ToSymmetric",
    "TreeCounts",
    "Variance",
    "consistent_tree",
    "transformation",
]

for _text, _step in {
    "clamp(lower, upper)": Clamp(0, 1),
    "count()": Count(),
    "sum()": Sum(),
    "resize(size, value)": Resize(1, 0),
    "cast(float)": Cast(float),
    "bin(edges)": Bin((0, 1)),
    "count_by_category(categories)": CountByCategory((0, 1)),
}.items():
    register_join(_text, _step)
