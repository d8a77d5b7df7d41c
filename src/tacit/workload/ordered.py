"""Strategies for the bins of one column, the same on every machine.

What a ledger and a certificate state must not depend on the last bits of a library: the multipliers
of the convex optimum (:mod:`tacit.workload.convex_optimum`) are rounded to twelve bits, and
everything after that is worked out by :mod:`tacit.workload.steady`.  At multipliers v, with ``R =
diag(v)^(1/2)``, the strategy is ``X = R^-1 (R G R)^(1/2) R^-1``, factored as ``A^T A``, times 1,024
and rounded; its sensitivity is then that of the whole numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.workload.cells import Workload
from tacit.workload.convex_optimum import convex_optimum
from tacit.workload.steady import cholesky, square_root
from tacit.workload.strategy import Strategy, block_tree, identity, rounded, wavelet

__all__ = ["MOST_BINS", "best_strategy", "check_bins"]

Array = NDArray[np.float64]

MOST_BINS = 256
_FINE = 1 << 12
_SCALE = 1024
_BETTER = 1 - 1e-6
"""A strategy counts as better only by more than what rounding can make of one that is as good."""


def check_bins(bins: int) -> None:
    """Refuse more bins than a strategy is found for.

    Raises:
        UsageError: it would take too much memory and time.
    """
    if bins > MOST_BINS:
        raise UsageError(
            f"{bins:,} bins have {bins * (bins + 1) // 2:,} ranges; sums of at most {MOST_BINS} "
            "bins of a column are planned: use wider bins"
        )


def best_strategy(gram: Array, norm: str) -> Strategy:
    """Return the strategy of the least total error of those that are tried, for W^T W.

    Args:
        gram: of whole numbers, of shape (bins, bins).
        norm: ``"L1"`` for Laplace noise, ``"L2"`` for Gaussian noise.

    >>> best_strategy(np.eye(3), "L2").matrix.tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    return _best(tuple(map(tuple, gram.tolist())), norm)


@lru_cache(maxsize=64)
def _best(gram: tuple[tuple[float, ...], ...], norm: str) -> Strategy:
    whole, size = np.array(gram), len(gram)
    asked = Workload("sums of bins", whole, size)
    found = [identity(size, norm)]
    if size > 1:
        found.append(wavelet(size, norm))
        found += [block_tree(size, branching, norm) for branching in (2, 4, 16)]
        found.append(_optimum(whole) if norm == "L2" else _sums(whole))
    best, least = found[0], asked.total(found[0])
    for one in found[1:]:
        total = asked.total(one)
        if total < least * _BETTER:
            best, least = one, total
    return best


def _optimum(gram: Array) -> Strategy:
    multipliers = convex_optimum(gram).multipliers
    fine = np.maximum(np.rint(multipliers * (_FINE / float(multipliers.max()))), 1.0)
    root = np.sqrt(fine)
    square = square_root(root[:, None] * gram * root) / root[:, None] / root
    factor = cholesky(square / float(np.diag(square).max())).T
    return rounded("convex optimum", factor, "L2", _SCALE)


def _sums(gram: Array) -> Strategy:
    from tacit.workload.p_identity import p_identity

    sums = max(1, len(gram) // 16)
    return rounded(f"{sums}-identity", p_identity(gram, sums), "L1", _SCALE)
