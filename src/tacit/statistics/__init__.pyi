"""Where each name of ``tacit.statistics`` is; tools/make_stubs.py writes this file."""

from tacit.arithmetic.roots_and_bisection import Root as Root
from tacit.statistics.counts_and_sums import Count as Count
from tacit.statistics.counts_and_sums import Histogram as Histogram
from tacit.statistics.counts_and_sums import Sum as Sum
from tacit.statistics.domains import Interval as Interval
from tacit.statistics.domains import Records as Records
from tacit.statistics.domains import Values as Values
from tacit.statistics.global_sensitivity import StabilityMap as StabilityMap
from tacit.statistics.global_sensitivity import lookup as lookup
from tacit.statistics.global_sensitivity import map_of as map_of
from tacit.statistics.global_sensitivity import sensitivity as sensitivity
from tacit.statistics.global_sensitivity import stability_map as stability_map
from tacit.statistics.lower_bounds import lower_bound as lower_bound
from tacit.statistics.lower_bounds import sampled_sensitivity as sampled_sensitivity
from tacit.statistics.means import Mean as Mean
from tacit.statistics.profile import sensitivity_profile as sensitivity_profile
from tacit.statistics.quantiles import Maximum as Maximum
from tacit.statistics.quantiles import Median as Median
from tacit.statistics.quantiles import Minimum as Minimum
from tacit.statistics.quantiles import Quantile as Quantile
from tacit.statistics.quantiles import percentile as percentile
from tacit.statistics.question import Question as Question
from tacit.statistics.result import Sensitivity as Sensitivity
from tacit.statistics.samples import Sample as Sample
from tacit.statistics.search import Function as Function
from tacit.statistics.search import batched as batched
from tacit.statistics.search import search_cost as search_cost
from tacit.statistics.smooth import distance_to_instability as distance_to_instability
from tacit.statistics.smooth import local_sensitivity_at as local_sensitivity_at
from tacit.statistics.smooth import smooth_sensitivity as smooth_sensitivity
from tacit.statistics.statistic import Statistic as Statistic
from tacit.statistics.table import sensitivity_table as sensitivity_table

__all__ = [
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
]
