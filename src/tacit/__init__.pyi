"""Where each name of ``tacit`` is; tools/make_stubs.py writes this file."""

from tacit import accounting as accounting
from tacit import audit as audit
from tacit import data as data
from tacit import errors as errors
from tacit import framework as framework
from tacit import learn as learn
from tacit import local as local
from tacit import noise as noise
from tacit import sklearn as sklearn
from tacit import statistics as statistics
from tacit import tables as tables
from tacit import workload as workload
from tacit.accounting import epsilon as epsilon
from tacit.accounting import epsilon_delta as epsilon_delta
from tacit.accounting import rho as rho
from tacit.accounting.choose_epsilon import choose_epsilon as choose_epsilon
from tacit.accounting.open_ledger import in_memory as in_memory
from tacit.client.connection import connect as connect
from tacit.mechanisms.propose_test_release import propose_test_release as propose_test_release
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate as sample_and_aggregate
from tacit.mechanisms.smooth import smooth_noise as smooth_noise
from tacit.report import Certificate as Certificate
from tacit.statistics import Interval as Interval
from tacit.statistics import Records as Records
from tacit.statistics import Values as Values
from tacit.statistics import distance_to_instability as distance_to_instability
from tacit.statistics import local_sensitivity_at as local_sensitivity_at
from tacit.statistics import sensitivity as sensitivity
from tacit.statistics import sensitivity_profile as sensitivity_profile
from tacit.statistics import sensitivity_table as sensitivity_table
from tacit.statistics import smooth_sensitivity as smooth_sensitivity
from tacit.tables import Session as Session
from tacit.tables import bounds as bounds
from tacit.tables import col as col
from tacit.tables import count as count
from tacit.tables import count_people as count_people
from tacit.tables import histogram as histogram
from tacit.tables import max as max
from tacit.tables import mean as mean
from tacit.tables import median as median
from tacit.tables import min as min
from tacit.tables import one_row_each as one_row_each
from tacit.tables import percentile as percentile
from tacit.tables import percentiles as percentiles
from tacit.tables import quantile as quantile
from tacit.tables import std as std
from tacit.tables import sum as sum
from tacit.tables import unit as unit
from tacit.tables import var as var
from tacit.tables import when as when
from tacit.tables.check_table import check as check
from tacit.tables.dataset.declaration import Dataset as Dataset
from tacit.tables.dataset.declaration import open_dataset as open
from tacit.tables.joint.statistics import cdf as cdf
from tacit.tables.joint.statistics import prefix_sums as prefix_sums
from tacit.tables.joint.statistics import ranges as ranges
from tacit.tables.joint_plans.synthetic import synthetic_table as synthetic_table
from tacit.tables.statistics.absolute_deviation import mad as mad
from tacit.tables.statistics.counts import count_distinct as count_distinct
from tacit.tables.statistics.covariance_and_regression import correlation as correlation
from tacit.tables.statistics.covariance_and_regression import covariance as covariance
from tacit.tables.statistics.covariance_and_regression import linear_regression as linear_regression
from tacit.tables.statistics.geometric_mean import geometric_mean as geometric_mean
from tacit.tables.statistics.gini import gini as gini
from tacit.tables.statistics.quantiles import interquartile_range as interquartile_range
from tacit.tables.statistics.top_k import top_k as top_k
from tacit.tables.statistics.trimmed_means import trimmed_mean as trimmed_mean
from tacit.tables.statistics.trimmed_means import winsorized_mean as winsorized_mean
from tacit.tables.statistics.value_range import value_range as value_range
from tacit.tables.statistics.weights_and_ratios import ratio as ratio
from tacit.tables.statistics.weights_and_ratios import weighted_count as weighted_count
from tacit.tables.statistics.weights_and_ratios import weighted_mean as weighted_mean
from tacit.tables.statistics.weights_and_ratios import weighted_sum as weighted_sum

__all__ = [
    "Certificate",
    "Dataset",
    "Interval",
    "Records",
    "Session",
    "Values",
    "accounting",
    "audit",
    "bounds",
    "cdf",
    "check",
    "choose_epsilon",
    "col",
    "connect",
    "correlation",
    "count",
    "count_distinct",
    "count_people",
    "covariance",
    "data",
    "distance_to_instability",
    "epsilon",
    "epsilon_delta",
    "errors",
    "framework",
    "geometric_mean",
    "gini",
    "histogram",
    "in_memory",
    "interquartile_range",
    "learn",
    "linear_regression",
    "local",
    "local_sensitivity_at",
    "mad",
    "max",
    "mean",
    "median",
    "min",
    "noise",
    "one_row_each",
    "open",
    "percentile",
    "percentiles",
    "prefix_sums",
    "propose_test_release",
    "quantile",
    "ranges",
    "ratio",
    "rho",
    "sample_and_aggregate",
    "sensitivity",
    "sensitivity_profile",
    "sensitivity_table",
    "sklearn",
    "smooth_noise",
    "smooth_sensitivity",
    "statistics",
    "std",
    "sum",
    "synthetic_table",
    "tables",
    "top_k",
    "trimmed_mean",
    "unit",
    "value_range",
    "var",
    "weighted_count",
    "weighted_mean",
    "weighted_sum",
    "when",
    "winsorized_mean",
    "workload",
]

__version__: str
