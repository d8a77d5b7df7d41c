"""Noise on aggregates: measurements and the privacy maps that they are held to."""

from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Geometric, Laplace

__all__ = ["Exponential", "Gaussian", "Geometric", "Laplace"]
