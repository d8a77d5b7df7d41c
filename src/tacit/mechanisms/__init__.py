"""Noise on aggregates: measurements and the privacy maps that they are held to."""

from tacit.mechanisms.additive.continual_counting import ContinualCount, Counter
from tacit.mechanisms.additive.gaussian import Gaussian
from tacit.mechanisms.additive.laplace import Geometric, Laplace
from tacit.mechanisms.additive.staircase import Staircase
from tacit.mechanisms.additive.truncated_geometric import TruncatedGeometric
from tacit.mechanisms.combine.accuracy import half_width, plot_accuracy
from tacit.mechanisms.combine.adaptive_composition import Adaptive, adaptive
from tacit.mechanisms.combine.calibrate import calibrate
from tacit.mechanisms.combine.poisson_subsampling import poisson_sample
from tacit.mechanisms.combine.sampling_without_replacement import sample_without_replacement
from tacit.mechanisms.combine.user_defined import measurement, user_transformation
from tacit.mechanisms.propose_test_release.bound_search import BoundSearch, ProposeBound
from tacit.mechanisms.propose_test_release.mechanism import ProposeTestRelease
from tacit.mechanisms.selection.exponential import Exponential
from tacit.mechanisms.selection.gaussian_keys import GaussianKeys
from tacit.mechanisms.selection.keys_in_rounds import GaussianKeysInRounds
from tacit.mechanisms.selection.noisy_max import NoisyMax, PermuteAndFlip
from tacit.mechanisms.selection.partition_selection import ReleaseKeys
from tacit.mechanisms.selection.private_quantile import PrivateQuantile
from tacit.mechanisms.selection.randomized_response import RandomizedResponse
from tacit.mechanisms.selection.select_best import select_best
from tacit.mechanisms.selection.select_keys import SelectKeys
from tacit.mechanisms.selection.sparse_vector import AboveThreshold, SparseVector
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, Mixture, Product
from tacit.mechanisms.smooth.smooth_noise import SmoothNoise

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
    "adaptive",
    "calibrate",
    "half_width",
    "measurement",
    "plot_accuracy",
    "poisson_sample",
    "sample_without_replacement",
    "select_best",
    "user_transformation",
]
