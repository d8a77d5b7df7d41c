"""Where each name of ``tacit.framework`` is; tools/make_stubs.py writes this file."""

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
from tacit.mechanisms import Geometric as geometric
from tacit.mechanisms import Laplace as laplace
from tacit.mechanisms import NoisyMax as noisy_max
from tacit.mechanisms import PermuteAndFlip as permute_and_flip
from tacit.mechanisms import PrivateQuantile as private_quantile
from tacit.mechanisms import RandomizedResponse as randomized_response
from tacit.mechanisms import SparseVector as sparse_vector
from tacit.mechanisms import Staircase as staircase
from tacit.mechanisms import TruncatedGeometric as truncated_geometric
from tacit.mechanisms import TruncatedLaplace as truncated_laplace
from tacit.mechanisms import adaptive as adaptive
from tacit.mechanisms import calibrate as calibrate
from tacit.mechanisms import plot_accuracy as plot_accuracy
from tacit.mechanisms import poisson_sample as poisson_sample
from tacit.mechanisms import sample_without_replacement as sample_without_replacement
from tacit.mechanisms import select_best as select_best
from tacit.mechanisms import select_partitions as select_partitions
from tacit.mechanisms import user_measurement as user_measurement
from tacit.mechanisms import user_transformation as user_transformation
from tacit.mechanisms.propose_test_release import propose_bound as propose_bound
from tacit.tables import count as count
from tacit.tables import histogram as histogram
from tacit.tables import mean as mean
from tacit.tables import sum as sum
from tacit.tables import var as var
from tacit.tables.statistics.counts import count_distinct as count_distinct
from tacit.transformations import Bin as bin
from tacit.transformations import Cast as cast
from tacit.transformations import Clamp as clamp
from tacit.transformations import CountByCategory as count_by_category
from tacit.transformations import Filter as filter
from tacit.transformations import Impute as impute
from tacit.transformations import LinearQueries as linear_queries
from tacit.transformations import MapRows as map_rows
from tacit.transformations import PrefixCounts as prefix_counts
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
from tacit.transformations import as_transformation as as_transformation
from tacit.transformations import consistent_tree as consistent_tree
from tacit.transformations.rows import top_code as top_code

__all__ = [
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
    "above_threshold",
    "adaptive",
    "as_transformation",
    "bin",
    "calibrate",
    "cast",
    "clamp",
    "compose",
    "consistent_tree",
    "continual_count",
    "continual_counter",
    "convert",
    "count",
    "count_by_category",
    "count_distinct",
    "divergence",
    "exponential",
    "filter",
    "gaussian",
    "geometric",
    "histogram",
    "hockey_stick",
    "impute",
    "laplace",
    "linear_queries",
    "map_rows",
    "max_divergence",
    "mean",
    "noisy_max",
    "parallel",
    "permute_and_flip",
    "plot_accuracy",
    "poisson_sample",
    "prefix_counts",
    "privacy_loss",
    "private_quantile",
    "propose_bound",
    "quantile_scores",
    "randomized_response",
    "renyi_divergence",
    "resize",
    "sample_without_replacement",
    "select",
    "select_best",
    "select_partitions",
    "sparse_vector",
    "staircase",
    "sum",
    "sum_of_squares",
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
    "total_variation",
    "tree_counts",
    "truncated_geometric",
    "truncated_laplace",
    "user_measurement",
    "user_transformation",
    "var",
]
