"""Deterministic steps and the stability maps that bound how far they move neighbours apart."""

from tacit.transformations.clamp import Clamp
from tacit.transformations.count import Count
from tacit.transformations.impute import Impute
from tacit.transformations.sums import Mean, Sum

__all__ = ["Clamp", "Count", "Impute", "Mean", "Sum"]
