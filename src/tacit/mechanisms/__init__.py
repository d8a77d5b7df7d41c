"""Noise on aggregates: measurements and the privacy maps that they are held to."""

from tacit.mechanisms.accuracy import half_width, plot_accuracy
from tacit.mechanisms.adaptive import Adaptive, adaptive
from tacit.mechanisms.bound_search import BoundSearch, ProposeBound
from tacit.mechanisms.bounded import TruncatedGeometric
from tacit.mechanisms.calibrate import calibrate
from tacit.mechanisms.continual import ContinualCount, Counter
from tacit.mechanisms.custom import measurement, user_transformation
from tacit.mechanisms.distribution import FiniteDistribution, Mixture, Product
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.keys import ReleaseKeys
from tacit.mechanisms.laplace import Geometric, Laplace
from tacit.mechanisms.noisy_max import NoisyMax, PermuteAndFlip
from tacit.mechanisms.propose_test_release import ProposeTestRelease
from tacit.mechanisms.quantile import PrivateQuantile
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.sampling import poisson_sample
from tacit.mechanisms.selection import select_best
from tacit.mechanisms.smooth import SmoothNoise
from tacit.mechanisms.sparse_vector import AboveThreshold, SparseVector
from tacit.mechanisms.staircase import Staircase

__all__ = [
    "AboveThreshold",
    "Adaptive",
    "BoundSearch",
    "ContinualCount",
    "Counter",
    "Exponential",
    "FiniteDistribution",
    "Gaussian",
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
    "select_best",
    "user_transformation",
]
