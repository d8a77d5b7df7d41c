"""Deterministic steps and the stability maps that bound how far they move neighbours apart."""

from tacit.core import register_join
from tacit.transformations.bins import Bin
from tacit.transformations.cast import Cast
from tacit.transformations.categories import CountByCategory
from tacit.transformations.clamp import Clamp
from tacit.transformations.computed import transformation
from tacit.transformations.conversions import (
    ToAbsolute,
    ToChangeOne,
    ToDiscrete,
    ToInsertDelete,
    ToL1,
    ToL2,
    ToLInfinity,
    ToSymmetric,
)
from tacit.transformations.count import Count
from tacit.transformations.distinct import CountDistinct
from tacit.transformations.filter import Filter
from tacit.transformations.grid import ToGrid
from tacit.transformations.histogram import Histogram
from tacit.transformations.impute import Impute
from tacit.transformations.linear import LinearQueries
from tacit.transformations.map_rows import MapRows
from tacit.transformations.prefix import PrefixCounts
from tacit.transformations.quantile_scores import QuantileScores
from tacit.transformations.resize import Resize
from tacit.transformations.select import Select
from tacit.transformations.squares import SumOfSquares
from tacit.transformations.sums import Mean, Sum
from tacit.transformations.tree import TreeCounts, consistent_tree
from tacit.transformations.variance import Variance

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
