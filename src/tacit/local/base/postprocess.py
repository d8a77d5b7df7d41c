"""Post-processing of estimated counts: smaller errors, at the price of bias.  Always asked for.

Each function takes an unbiased :class:`~tacit.local.Estimate` and returns one whose ``method`` says
what was done; such an estimate gives no standard errors, for none are known.
Source: T. Wang, M. Lopuhaa-Zwakenberg, Z. Li, B. Skoric, N. Li, *Locally differentially private
frequency estimation with consistency*, NDSS 2020.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.estimate import Estimate

__all__ = ["expectation_maximization", "nonnegative", "norm_sub", "normalised", "simplex"]

Floats = NDArray[np.float64]


@public
def nonnegative(estimate: Estimate) -> Estimate:
    """Set negative counts to zero; their sum then exceeds n.

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> nonnegative(Estimate("ab", 10, np.array([-1.0, 8.0]), 1.0)).counts.tolist()
    [0.0, 8.0]
    """
    return replace(estimate, counts=np.maximum(estimate.counts, 0), method="non-negative")


@public
def normalised(estimate: Estimate) -> Estimate:
    """Add the same number to all counts so that they sum to n; their differences do not change.

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> normalised(Estimate("ab", 10, np.array([-1.0, 8.0]), 1.0)).counts.tolist()
    [0.5, 9.5]
    """
    missing = (estimate.n - estimate.counts.sum()) / len(estimate.counts)
    return replace(estimate, counts=estimate.counts + missing, method="normalised")


@public
def norm_sub(estimate: Estimate) -> Estimate:
    """Set negative counts to zero and shift the others alike until all sum to n.

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> norm_sub(Estimate("abc", 10, np.array([-1.0, 8.0, 4.0]), 1.0)).counts.tolist()
    [0.0, 7.0, 3.0]
    """
    counts = estimate.counts.astype(np.float64)
    inside = np.ones(len(counts), bool)
    while True:
        shift = (estimate.n - counts[inside].sum()) / max(1, np.count_nonzero(inside))
        kept = inside & (counts + shift > 0)
        if np.array_equal(kept, inside) or not kept.any():
            return replace(estimate, counts=np.where(kept, counts + shift, 0.0), method="norm-sub")
        inside = kept


@public
def simplex(estimate: Estimate) -> Estimate:
    """Return the nearest counts that are not negative and sum to n: least squares.

    The answer is ``max(c - t, 0)`` with the one t that gives the sum.  Source: J. Duchi, S.
    Shalev-Shwartz, Y. Singer, T. Chandra, *Efficient projections onto the l1-ball* (2008).

    Args:
        estimate: counts of a frequency oracle, one an item, in people.

    >>> simplex(Estimate("abc", 10, np.array([-1.0, 8.0, 4.0]), 1.0)).counts.tolist()
    [0.0, 7.0, 3.0]
    """
    ordered = np.sort(estimate.counts)[::-1]
    excess = (np.cumsum(ordered) - estimate.n) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered >= excess)[-1])
    counts = np.maximum(estimate.counts - excess[last], 0)
    return replace(estimate, counts=counts, method="simplex projection")


@public
def expectation_maximization(
    observed: object, channel: Floats, rounds: int = 10_000, *, smooth: bool = False
) -> Floats:
    """Return the most likely shares of the answers, given how often each report was seen.

    Iterates Bayes' rule: share(x) becomes the mean over reports of P(x | report).  The likelihood
    never falls and is concave, so this reaches its maximum; it stops when it gains less than 1e-9
    per report.  ``smooth`` averages neighbouring shares with weights 1, 2, 1 after each round
    (EMS), which favours smooth densities.

    Args:
        observed: how often each report was seen, or a density over them.
        channel: P(report | answer): a row for each answer, a column for each report.
        rounds: the most that are made.
        smooth: whether answers are neighbours in order.

    Raises:
        UsageError: shapes that do not fit, nothing observed.

    >>> channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> expectation_maximization([60, 40], channel).round(3).tolist()
    [0.7, 0.3]
    """
    seen = np.asarray(observed, np.float64)
    if channel.ndim != 2 or seen.shape != channel.shape[1:] or not seen.sum() > 0:
        raise UsageError(
            "observed needs one count a column of the channel, and at least one report"
        )
    seen = seen / seen.sum()
    shares = np.full(len(channel), 1 / len(channel))
    last = -np.inf
    for _ in range(as_integer(rounds, "rounds", minimum=1)):
        expected = shares @ channel
        gain = float(seen @ np.log(expected))
        if gain - last < (1e-6 if smooth else 1e-9):
            break
        last = gain
        shares = shares * (channel @ (seen / expected))
        if smooth:
            shares = _smoothed(shares)
    total: Floats = shares / shares.sum()
    return total


def _smoothed(shares: Floats) -> Floats:
    padded = np.concatenate((shares[:1], shares, shares[-1:]))
    smooth: Floats = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return smooth
