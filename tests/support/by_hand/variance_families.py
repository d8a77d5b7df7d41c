"""Populations and what a family of candidates finds on them, for the tests of variances."""

from __future__ import annotations

from fractions import Fraction

from tacit.statistics import Sample
from tacit.statistics.dispersion_candidates import Contest, SpreadMeasure
from tacit.statistics.prefix_moments import PrefixMoments


def variance(values, ddof=0):
    total, n = Fraction(sum(values)), len(values)
    return (sum(v * v for v in values) - total * total / n) / (n - ddof)


def best_of(population, n, k, shapes):
    """The largest bounded change of variance at distance ``k`` that a family finds."""
    contest = Contest(PrefixMoments(Sample(population)), SpreadMeasure())
    shapes(contest, n - k, k, k)
    return contest.winner().value
