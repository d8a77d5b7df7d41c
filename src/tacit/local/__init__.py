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

from tacit.local.attributes import AttributeSampling, AttributeSplitting
from tacit.local.batch_file import append_reports, write_reports
from tacit.local.browser import client_config, write_page
from tacit.local.choose import Choice, choose
from tacit.local.collector import Collector
from tacit.local.direct import GRR, DirectEncoding
from tacit.local.duchi import Duchi
from tacit.local.estimate import Estimate
from tacit.local.hadamard import HadamardResponse
from tacit.local.hashing import BinaryLocalHashing, LocalHashing, OptimizedLocalHashing
from tacit.local.heavy_hitters import PrefixExtending
from tacit.local.histogram_noise import SummationHistogram, ThresholdHistogram
from tacit.local.hybrid_mean import HybridMean
from tacit.local.items import Items
from tacit.local.key_value import KeyValue, KeyValueEstimate
from tacit.local.laplace_mean import LaplaceMean
from tacit.local.layout import Layout
from tacit.local.longitudinal import Device
from tacit.local.mean_estimate import MeanEstimate
from tacit.local.numeric import MeanOracle
from tacit.local.oracle import FrequencyOracle, Oracle, PureOracle, State, oracle_from
from tacit.local.piecewise import Piecewise
from tacit.local.poisoning import influence
from tacit.local.postprocess import (
    expectation_maximization,
    nonnegative,
    norm_sub,
    normalised,
    simplex,
)
from tacit.local.randomized_response import RandomizedResponse
from tacit.local.ranges import HierarchicalRanges
from tacit.local.rappor import Rappor
from tacit.local.replay import shard_of
from tacit.local.report_format import Wire
from tacit.local.sets import PaddedSets
from tacit.local.shuffle import amplified, amplified_delta
from tacit.local.shuffler import shuffle_reports
from tacit.local.sketch import CountMeanSketch, HadamardCountMeanSketch
from tacit.local.square_wave import SquareWave
from tacit.local.subset import SubsetSelection
from tacit.local.two_stage import TwoStage
from tacit.local.unary import UnaryEncoding

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
