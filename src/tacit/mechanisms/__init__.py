"""Noise on aggregates: measurements and the privacy maps that they are held to."""

from tacit.core.divergences import Product
from tacit.mechanisms.adaptive_composition import Adaptive, adaptive
from tacit.mechanisms.additive import (
    Gaussian,
    Geometric,
    Laplace,
    TruncatedGeometric,
    TruncatedLaplace,
)
from tacit.mechanisms.calibration import calibrate, half_width, plot_accuracy
from tacit.mechanisms.continual_counting import ContinualCount, Counter
from tacit.mechanisms.noisy_max import Exponential, NoisyMax, PermuteAndFlip
from tacit.mechanisms.output_distribution import FiniteDistribution, Mixture
from tacit.mechanisms.partition_selection import (
    GaussianKeys,
    GaussianKeysInRounds,
    ReleaseKeys,
    SelectKeys,
    select_partitions,
)
from tacit.mechanisms.private_quantile import PrivateQuantile
from tacit.mechanisms.private_selection import select_best
from tacit.mechanisms.propose_test_release import BoundSearch, ProposeBound, ProposeTestRelease
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.smooth import SmoothNoise
from tacit.mechanisms.sparse_vector import AboveThreshold, SparseVector
from tacit.mechanisms.staircase import Staircase
from tacit.mechanisms.subsampling import poisson_sample, sample_without_replacement
from tacit.mechanisms.user_defined import user_measurement, user_transformation

__all__ = [
    "AboveThreshold",
    "Adaptive",
    "BoundSearch",
    "ContinualCount",
    "Counter",
    "Exponential",
    "FiniteDistribution",
    "Gaussian",
    "GaussianKeys",
    "GaussianKeysInRounds",
    "Geometric",
    "Laplace",
    "Mixture",
    "NoisyMax",
    "PermuteAndFlip",
    "PrivateQuantile",
    "Product",
    "ProposeBound",
    "ProposeTestRelease",
    "RandomizedResponse",
    "ReleaseKeys",
    "SelectKeys",
    "SmoothNoise",
    "SparseVector",
    "Staircase",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "adaptive",
    "calibrate",
    "half_width",
    "plot_accuracy",
    "poisson_sample",
    "sample_without_replacement",
    "select_best",
    "select_partitions",
    "user_measurement",
    "user_transformation",
]
