"""Exact noise: secure bits, certified enclosures, and draws by integer inversion.

Every draw has exactly the distribution that it names: given ideal random bits the total variation
distance is zero.  Nothing can be seeded.
"""

from __future__ import annotations

from tacit.arithmetic.enclosure import Enclosure
from tacit.noise.bernoulli_and_uniform import bernoulli, bernoulli_exp, uniform
from tacit.noise.bits import random_bytes
from tacit.noise.exponential import ExponentialChoice, categorical, exponential_choice
from tacit.noise.gaussian import DiscreteGaussian, discrete_gaussian
from tacit.noise.laplace import DiscreteLaplace, OneSidedGeometric, discrete_laplace, geometric
from tacit.noise.samplers import NoiseDistribution

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Enclosure",
    "ExponentialChoice",
    "NoiseDistribution",
    "OneSidedGeometric",
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_choice",
    "geometric",
    "random_bytes",
    "uniform",
]
