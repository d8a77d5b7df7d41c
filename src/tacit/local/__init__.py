"""The local model: answers are randomised on the device, and no one has to be trusted.

A mechanism is built from a public list of items and an epsilon.  ``perturb`` runs on the device
of one person; ``aggregate`` adds reports up to exact sums that merge; ``estimate`` turns sums into
unbiased counts with standard errors.

    >>> from tacit.local import DirectEncoding
    >>> question = DirectEncoding(["yes", "no", "rather not say"], epsilon=2)
    >>> reports = question.perturb_many(["yes", "no", "no", "rather not say"] * 250)
    >>> question.estimate(reports).n
    1000
"""

from tacit.local.attributes import AttributeSampling, AttributeSplitting, KeyValue, KeyValueEstimate
from tacit.local.batch_file import append_reports, shuffle_reports, write_reports
from tacit.local.collector import Collector, shard_of
from tacit.local.device import Device, TwoStage
from tacit.local.estimate import (
    Estimate,
    MeanEstimate,
    expectation_maximization,
    nonnegative,
    norm_sub,
    normalised,
    simplex,
)
from tacit.local.frequency.bit_vectors import SummationHistogram, ThresholdHistogram, UnaryEncoding
from tacit.local.frequency.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from tacit.local.frequency.direct_encoding import (
    GRR,
    DirectEncoding,
    RandomizedResponse,
    SubsetSelection,
)
from tacit.local.frequency.hadamard_response import HadamardResponse
from tacit.local.frequency.local_hashing import (
    BinaryLocalHashing,
    LocalHashing,
    OptimizedLocalHashing,
)
from tacit.local.items import Items
from tacit.local.numeric import (
    Duchi,
    HybridMean,
    LaplaceMean,
    MeanOracle,
    Piecewise,
    SquareWave,
)
from tacit.local.oracle import FrequencyOracle, Layout, Oracle, PureOracle, State, oracle_from
from tacit.local.planning import Choice, amplified, amplified_delta, choose
from tacit.local.poisoning import influence
from tacit.local.ranges_and_sets import HierarchicalRanges, PaddedSets, PrefixExtending
from tacit.local.rappor import Rappor
from tacit.local.wire import Wire, client_config, write_page

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
