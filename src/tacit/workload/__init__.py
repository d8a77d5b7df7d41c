"""Workloads of linear questions, and strategies that answer them with the smallest error.

A workload is a set of questions that add up cells of a declared domain: all ranges, prefix sums,
marginals.  A strategy says which whole-number combinations of the cells get noise; everything asked
follows from the noisy numbers by least squares.  No data is touched here: errors follow from the
noise alone.

    >>> import tacit as tc
    >>> ranges = tc.workload.ranges(16)
    >>> ranges.expected_error(rho="1/2") < ranges.error_of(ranges.identity(), rho="1/2")
    True
"""

from tacit.workload.cells import Workload, prefix_sums, queries, ranges
from tacit.workload.marginals import MarginalWorkload, marginals
from tacit.workload.strategies import Strategy

__all__ = [
    "MarginalWorkload",
    "Strategy",
    "Workload",
    "marginals",
    "prefix_sums",
    "queries",
    "ranges",
]
