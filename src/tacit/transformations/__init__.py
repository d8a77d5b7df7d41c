"""Deterministic steps and the stability maps that bound how far they move neighbours apart."""

from tacit.core import register_join
from tacit.transformations.counts import (
    Count,
    CountByCategory,
    CountDistinct,
    Histogram,
    LinearQueries,
    PrefixCounts,
    QuantileScores,
    TreeCounts,
    consistent_tree,
)
from tacit.transformations.from_function import as_transformation
from tacit.transformations.grid import Resize, ToGrid
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
from tacit.transformations.rows import Bin, Cast, Clamp, Filter, Impute, MapRows, Select
from tacit.transformations.sums import Mean, Sum, SumOfSquares, Variance

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
    "as_transformation",
    "consistent_tree",
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
