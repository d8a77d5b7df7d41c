"""Where each name of ``tacit`` is; tools/make_stubs.py writes this file."""

from tacit import audit as audit
from tacit import data as data
from tacit import errors as errors
from tacit import learn as learn
from tacit import local as local
from tacit import noise as noise
from tacit import sklearn as sklearn
from tacit import workload as workload
from tacit.accounting import Budget as Budget
from tacit.accounting import Ledger as Ledger
from tacit.accounting import epsilon as epsilon
from tacit.accounting import epsilon_delta as epsilon_delta
from tacit.accounting import open_ledger as open_ledger
from tacit.accounting import rho as rho
from tacit.accounting.choose_epsilon import choose_epsilon as choose_epsilon
from tacit.accounting.open_ledger import in_memory as in_memory
from tacit.audit import verify as verify
from tacit.audit.compare import compare as compare
from tacit.client.connection import connect as connect
from tacit.core import AbsoluteDistance as AbsoluteDistance
from tacit.core import ApproximateDP as ApproximateDP
from tacit.core import ApproximateZeroConcentratedDP as ApproximateZeroConcentratedDP
from tacit.core import Category as Category
from tacit.core import ChangeOneDistance as ChangeOneDistance
from tacit.core import DiscreteDistance as DiscreteDistance
from tacit.core import Frame as Frame
from tacit.core import HammingDistance as HammingDistance
from tacit.core import IdealisedGaussian as IdealisedGaussian
from tacit.core import IdealisedLaplace as IdealisedLaplace
from tacit.core import InsertDeleteDistance as InsertDeleteDistance
from tacit.core import L1Distance as L1Distance
from tacit.core import L2Distance as L2Distance
from tacit.core import LInfinityDistance as LInfinityDistance
from tacit.core import Measurement as Measurement
from tacit.core import Number as Number
from tacit.core import PrivacyLossDistribution as PrivacyLossDistribution
from tacit.core import PureDP as PureDP
from tacit.core import RenyiCurve as RenyiCurve
from tacit.core import RenyiDP as RenyiDP
from tacit.core import Space as Space
from tacit.core import SparseDistance as SparseDistance
from tacit.core import SymmetricDistance as SymmetricDistance
from tacit.core import Tradeoff as Tradeoff
from tacit.core import TradeoffFunction as TradeoffFunction
from tacit.core import Transformation as Transformation
from tacit.core import Vector as Vector
from tacit.core import ZeroConcentratedDP as ZeroConcentratedDP
from tacit.core import compose as compose
from tacit.core import convert as convert
from tacit.core import divergence as divergence
from tacit.core import hockey_stick as hockey_stick
from tacit.core import max_divergence as max_divergence
from tacit.core import parallel as parallel
from tacit.core import privacy_loss as privacy_loss
from tacit.core import renyi_divergence as renyi_divergence
from tacit.core import total_variation as total_variation
from tacit.mechanisms import AboveThreshold as above_threshold
from tacit.mechanisms import ContinualCount as continual_count
from tacit.mechanisms import Counter as continual_counter
from tacit.mechanisms import Exponential as exponential
from tacit.mechanisms import Gaussian as gaussian
from tacit.mechanisms import GaussianKeys as gaussian_keys
from tacit.mechanisms import GaussianKeysInRounds as gaussian_keys_in_rounds
from tacit.mechanisms import Geometric as geometric
from tacit.mechanisms import Laplace as laplace
from tacit.mechanisms import NoisyMax as noisy_max
from tacit.mechanisms import PermuteAndFlip as permute_and_flip
from tacit.mechanisms import PrivateQuantile as private_quantile
from tacit.mechanisms import RandomizedResponse as randomized_response
from tacit.mechanisms import ReleaseKeys as release_keys
from tacit.mechanisms import SelectKeys as select_keys
from tacit.mechanisms import SparseVector as sparse_vector
from tacit.mechanisms import Staircase as staircase
from tacit.mechanisms import TruncatedGeometric as truncated_geometric
from tacit.mechanisms import adaptive as adaptive
from tacit.mechanisms import calibrate as calibrate
from tacit.mechanisms import measurement as measurement
from tacit.mechanisms import plot_accuracy as plot_accuracy
from tacit.mechanisms import poisson_sample as poisson_sample
from tacit.mechanisms import sample_without_replacement as sample_without_replacement
from tacit.mechanisms import select_best as select_best
from tacit.mechanisms import user_transformation as user_transformation
from tacit.mechanisms.propose_test_release import propose_bound as propose_bound
from tacit.mechanisms.propose_test_release import propose_test_release as propose_test_release
from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate as sample_and_aggregate
from tacit.mechanisms.smooth import smooth_noise as smooth_noise
from tacit.report import Certificate as Certificate
from tacit.statistics import Interval as Interval
from tacit.statistics import Records as Records
from tacit.statistics import Values as Values
from tacit.statistics import batched as batched
from tacit.statistics import distance_to_instability as distance_to_instability
from tacit.statistics import local_sensitivity_at as local_sensitivity_at
from tacit.statistics import lower_bound as lower_bound
from tacit.statistics import sampled_sensitivity as sampled_sensitivity
from tacit.statistics import search_cost as search_cost
from tacit.statistics import sensitivity as sensitivity
from tacit.statistics import sensitivity_profile as sensitivity_profile
from tacit.statistics import sensitivity_table as sensitivity_table
from tacit.statistics import smooth_sensitivity as smooth_sensitivity
from tacit.statistics import stability_map as stability_map
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
from tacit.tables import std as std
from tacit.tables import sum as sum
from tacit.tables import unit as unit
from tacit.tables import var as var
from tacit.tables import when as when
from tacit.tables.check_table import check as check
from tacit.tables.dataset.declaration import Dataset as Dataset
from tacit.tables.dataset.declaration import open_dataset as open
from tacit.tables.joint.kind import cdf as cdf
from tacit.tables.joint.kind import prefix_sums as prefix_sums
from tacit.tables.joint.kind import ranges as ranges
from tacit.tables.joint_plans.synthetic import SyntheticTable as SyntheticTable
from tacit.tables.joint_plans.synthetic import synthetic_table as synthetic_table
from tacit.tables.statistics.counts import count_distinct as count_distinct
from tacit.tables.statistics.covariance_and_regression import correlation as correlation
from tacit.tables.statistics.covariance_and_regression import covariance as covariance
from tacit.tables.statistics.covariance_and_regression import linear_regression as linear_regression
from tacit.tables.statistics.quantiles import interquartile_range as interquartile_range
from tacit.tables.statistics.top_k import top_k as top_k
from tacit.transformations import Bin as bin
from tacit.transformations import Cast as cast
from tacit.transformations import Clamp as clamp
from tacit.transformations import CountByCategory as count_by_category
from tacit.transformations import Filter as filter
from tacit.transformations import Impute as impute
from tacit.transformations import LinearQueries as linear_queries
from tacit.transformations import MapRows as map_rows
from tacit.transformations import PrefixCounts as prefix_counts
from tacit.transformations import QuantileScores as quantile
from tacit.transformations import QuantileScores as quantile_scores
from tacit.transformations import Resize as resize
from tacit.transformations import Select as select
from tacit.transformations import SumOfSquares as sum_of_squares
from tacit.transformations import ToAbsolute as to_absolute
from tacit.transformations import ToChangeOne as to_change_one
from tacit.transformations import ToDiscrete as to_discrete
from tacit.transformations import ToGrid as to_grid
from tacit.transformations import ToInsertDelete as to_insert_delete
from tacit.transformations import ToL1 as to_l1
from tacit.transformations import ToL2 as to_l2
from tacit.transformations import ToLInfinity as to_l_infinity
from tacit.transformations import ToSymmetric as to_symmetric
from tacit.transformations import TreeCounts as tree_counts
from tacit.transformations import Variance as variance
from tacit.transformations import consistent_tree as consistent_tree
from tacit.transformations import transformation as transformation
from tacit.transformations.top_code import top_code as top_code

__all__ = [
    "AbsoluteDistance",
    "ApproximateDP",
    "ApproximateZeroConcentratedDP",
    "Budget",
    "Category",
    "Certificate",
    "ChangeOneDistance",
    "Dataset",
    "DiscreteDistance",
    "Frame",
    "HammingDistance",
    "IdealisedGaussian",
    "IdealisedLaplace",
    "InsertDeleteDistance",
    "Interval",
    "L1Distance",
    "L2Distance",
    "LInfinityDistance",
    "Ledger",
    "Measurement",
    "Number",
    "PrivacyLossDistribution",
    "PureDP",
    "Records",
    "RenyiCurve",
    "RenyiDP",
    "Session",
    "Space",
    "SparseDistance",
    "SymmetricDistance",
    "SyntheticTable",
    "Tradeoff",
    "TradeoffFunction",
    "Transformation",
    "Values",
    "Vector",
    "ZeroConcentratedDP",
    "above_threshold",
    "adaptive",
    "audit",
    "batched",
    "bin",
    "bounds",
    "calibrate",
    "cast",
    "cdf",
    "check",
    "choose_epsilon",
    "clamp",
    "col",
    "compare",
    "compose",
    "connect",
    "consistent_tree",
    "continual_count",
    "continual_counter",
    "convert",
    "correlation",
    "count",
    "count_by_category",
    "count_distinct",
    "count_people",
    "covariance",
    "data",
    "distance_to_instability",
    "divergence",
    "epsilon",
    "epsilon_delta",
    "errors",
    "exponential",
    "filter",
    "gaussian",
    "gaussian_keys",
    "gaussian_keys_in_rounds",
    "geometric",
    "histogram",
    "hockey_stick",
    "impute",
    "in_memory",
    "interquartile_range",
    "laplace",
    "learn",
    "linear_queries",
    "linear_regression",
    "local",
    "local_sensitivity_at",
    "lower_bound",
    "map_rows",
    "max",
    "max_divergence",
    "mean",
    "measurement",
    "median",
    "min",
    "noise",
    "noisy_max",
    "one_row_each",
    "open",
    "open_ledger",
    "parallel",
    "percentile",
    "percentiles",
    "permute_and_flip",
    "plot_accuracy",
    "poisson_sample",
    "prefix_counts",
    "prefix_sums",
    "privacy_loss",
    "private_quantile",
    "propose_bound",
    "propose_test_release",
    "quantile",
    "quantile_scores",
    "randomized_response",
    "ranges",
    "release_keys",
    "renyi_divergence",
    "resize",
    "rho",
    "sample_and_aggregate",
    "sample_without_replacement",
    "sampled_sensitivity",
    "search_cost",
    "select",
    "select_best",
    "select_keys",
    "sensitivity",
    "sensitivity_profile",
    "sensitivity_table",
    "sklearn",
    "smooth_noise",
    "smooth_sensitivity",
    "sparse_vector",
    "stability_map",
    "staircase",
    "std",
    "sum",
    "sum_of_squares",
    "synthetic_table",
    "to_absolute",
    "to_change_one",
    "to_discrete",
    "to_grid",
    "to_insert_delete",
    "to_l1",
    "to_l2",
    "to_l_infinity",
    "to_symmetric",
    "top_code",
    "top_k",
    "total_variation",
    "transformation",
    "tree_counts",
    "truncated_geometric",
    "unit",
    "user_transformation",
    "var",
    "variance",
    "verify",
    "when",
    "workload",
]

__version__: str
