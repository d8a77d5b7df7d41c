"""Where each name of ``tacit.statistics`` is; tools/make_stubs.py writes this file."""

from tacit.arithmetic.square_root import Root as Root
from tacit.statistics.ask.lower_bound import lower_bound as lower_bound
from tacit.statistics.ask.registry import lookup as lookup
from tacit.statistics.ask.sampled_sensitivity import sampled_sensitivity as sampled_sensitivity
from tacit.statistics.ask.sensitivity import sensitivity as sensitivity
from tacit.statistics.ask.sensitivity_profile import sensitivity_profile as sensitivity_profile
from tacit.statistics.ask.sensitivity_table import sensitivity_table as sensitivity_table
from tacit.statistics.ask.smooth_sensitivity import distance_to_instability as distance_to_instability
from tacit.statistics.ask.smooth_sensitivity import local_sensitivity_at as local_sensitivity_at
from tacit.statistics.ask.smooth_sensitivity import smooth_sensitivity as smooth_sensitivity
from tacit.statistics.ask.stability_map import StabilityMap as StabilityMap
from tacit.statistics.ask.stability_map import map_of as map_of
from tacit.statistics.ask.stability_map import stability_map as stability_map
from tacit.statistics.base.domain import Interval as Interval
from tacit.statistics.base.domain import Records as Records
from tacit.statistics.base.domain import Values as Values
from tacit.statistics.base.question import Question as Question
from tacit.statistics.base.result import Sensitivity as Sensitivity
from tacit.statistics.base.statistic import Statistic as Statistic
from tacit.statistics.means.mean import Mean as Mean
from tacit.statistics.quantiles.min_max import Maximum as Maximum
from tacit.statistics.quantiles.min_max import Minimum as Minimum
from tacit.statistics.quantiles.quantile import Median as Median
from tacit.statistics.quantiles.quantile import Quantile as Quantile
from tacit.statistics.quantiles.quantile import percentile as percentile
from tacit.statistics.samples.sample import Sample as Sample
from tacit.statistics.search.function import Function as Function
from tacit.statistics.search.function import batched as batched
from tacit.statistics.search.search_cost import search_cost as search_cost
from tacit.statistics.sums.count import Count as Count
from tacit.statistics.sums.histogram import Histogram as Histogram
from tacit.statistics.sums.sum import Sum as Sum

__all__ = [
    "Count",
    "Function",
    "Histogram",
    "Interval",
    "Maximum",
    "Mean",
    "Median",
    "Minimum",
    "Quantile",
    "Question",
    "Records",
    "Root",
    "Sample",
    "Sensitivity",
    "StabilityMap",
    "Statistic",
    "Sum",
    "Values",
    "batched",
    "distance_to_instability",
    "local_sensitivity_at",
    "lookup",
    "lower_bound",
    "map_of",
    "percentile",
    "sampled_sensitivity",
    "search_cost",
    "sensitivity",
    "sensitivity_profile",
    "sensitivity_table",
    "smooth_sensitivity",
    "stability_map",
]
