"""The local model: answers are randomised on the device, and nobody has to be trusted.

A mechanism is built from a public list of items and an epsilon.  ``perturb`` runs on the device
of one person; ``aggregate`` adds reports up to exact sums that merge; ``estimate`` turns sums into
unbiased counts with standard errors.

    >>> from tacit.local import DirectEncoding
    >>> question = DirectEncoding(["yes", "no", "rather not say"], epsilon=2)
    >>> reports = question.perturb_many(["yes", "no", "no", "rather not say"] * 250)
    >>> question.estimate(reports).n
    1000
"""

from tacit.local.base.estimate import Estimate
from tacit.local.base.items import Items
from tacit.local.base.mean_estimate import MeanEstimate
from tacit.local.base.oracle import FrequencyOracle, Oracle, PureOracle, State, oracle_from
from tacit.local.base.postprocess import (
    expectation_maximization,
    nonnegative,
    norm_sub,
    normalised,
    simplex,
)
from tacit.local.base.report_layout import Layout
from tacit.local.collecting.batch_file import append_reports, write_reports
from tacit.local.collecting.browser import client_config, write_page
from tacit.local.collecting.collector import Collector
from tacit.local.collecting.replay_guard import shard_of
from tacit.local.collecting.shuffler import shuffle_reports
from tacit.local.collecting.wire import Wire
from tacit.local.frequency.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from tacit.local.frequency.direct_encoding import GRR, DirectEncoding
from tacit.local.frequency.hadamard_response import HadamardResponse
from tacit.local.frequency.histogram_encoding import SummationHistogram, ThresholdHistogram
from tacit.local.frequency.local_hashing import (
    BinaryLocalHashing,
    LocalHashing,
    OptimizedLocalHashing,
)
from tacit.local.frequency.randomized_response import RandomizedResponse
from tacit.local.frequency.subset_selection import SubsetSelection
from tacit.local.frequency.unary_encoding import UnaryEncoding
from tacit.local.numeric.duchi import Duchi
from tacit.local.numeric.hybrid_mean import HybridMean
from tacit.local.numeric.laplace_mean import LaplaceMean
from tacit.local.numeric.mean_oracle import MeanOracle
from tacit.local.numeric.piecewise import Piecewise
from tacit.local.numeric.square_wave import SquareWave
from tacit.local.planning.choose import Choice, choose
from tacit.local.planning.poisoning import influence
from tacit.local.planning.shuffle_amplification import amplified, amplified_delta
from tacit.local.repeated.device import Device
from tacit.local.repeated.rappor import Rappor
from tacit.local.repeated.two_stage import TwoStage
from tacit.local.structured.attributes import AttributeSampling, AttributeSplitting
from tacit.local.structured.heavy_hitters import PrefixExtending
from tacit.local.structured.hierarchical_ranges import HierarchicalRanges
from tacit.local.structured.key_value import KeyValue, KeyValueEstimate
from tacit.local.structured.padded_sets import PaddedSets

__all__ = [
    "GRR",
    "AttributeSampling",
    "AttributeSplitting",
    "BinaryLocalHashing",
    "Choice",
    "Collector",
    "CountMeanSketch",
    "Device",
    "DirectEncoding",
    "Duchi",
    "Estimate",
    "FrequencyOracle",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "HierarchicalRanges",
    "HybridMean",
    "Items",
    "KeyValue",
    "KeyValueEstimate",
    "LaplaceMean",
    "Layout",
    "LocalHashing",
    "MeanEstimate",
    "MeanOracle",
    "OptimizedLocalHashing",
    "Oracle",
    "PaddedSets",
    "Piecewise",
    "PrefixExtending",
    "PureOracle",
    "RandomizedResponse",
    "Rappor",
    "SquareWave",
    "State",
    "SubsetSelection",
    "SummationHistogram",
    "ThresholdHistogram",
    "TwoStage",
    "UnaryEncoding",
    "Wire",
    "amplified",
    "amplified_delta",
    "append_reports",
    "choose",
    "client_config",
    "expectation_maximization",
    "influence",
    "nonnegative",
    "norm_sub",
    "normalised",
    "oracle_from",
    "shard_of",
    "shuffle_reports",
    "simplex",
    "write_page",
    "write_reports",
]
