"""Strategies for the bins of one column, the same on every machine."""

# What a ledger and a certificate state must not depend on the last bits of a library: the
# multipliers of the convex optimum (:mod:`tacit.workload.strategies`) are rounded to twelve bits,
# and everything after that is computed by :mod:`tacit.workload.strategies`.  At multipliers v,
# with ``R = diag(v)^(1/2)``, the strategy is ``X = R^-1 (R G R)^(1/2) R^-1``, factored as
# ``A^T A``, times 1,024 and rounded; its sensitivity is then that of the integers.
#
# Beyond 256 bins such an optimum takes too long.  There blocks of neighbouring bins represent
# bins.  For Gaussian noise it is the optimum for the same kind of questions about at most 256
# blocks, each of its columns repeated for the bins of the block, and next to it every bin on its
# own, with one of a few weights; for Laplace noise a p-identity whose sums take the bins of a block
# alike.  The square root of the matrix of prefix sums is tried too, ``a_(i - j)`` with
# ``a_k = binomial(2 k, k) / 4^k`` (Fichtenberger, Henzinger, Upadhyay, *Constant matters*, ICML
# 2023), and trees and wavelets.

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.workload.cells import Workload
from tacit.workload.strategies import (
    Strategy,
    block_tree,
    cholesky,
    convex_optimum,
    identity,
    p_identity,
    rounded,
    square_root,
    wavelet,
)

Array = NDArray[np.float64]

MAX_BINS = 1024
_MAX_NUMBERS = 1 << 18
_OPTIMISED = 256  # beyond this many bins, blocks of them are optimised
_FINE = 1 << 12
_SCALE = 1024
_MAX_SUMS = 32
# Of a bin on its own, next to sums of blocks whose columns have the norm 1.
_WEIGHTS = (0.5, 0.75, 1.0)
# A strategy counts as better only by more than what rounding can make of one that is as good.
_BETTER = 1 - 1e-6


def check_bins(bins: int) -> None:
    """Raise if there are more bins than a strategy can be optimised for."""
    if bins > MAX_BINS:
        need = 8 * bins * bins / 1e6
        raise UsageError(
            f"{bins:,} bins of a column take matrices of {need:,.0f} MB and more, several at once; "
            f"sums of at most {MAX_BINS:,} bins of a column are planned: use wider bins"
        )


def check_numbers(numbers: int, bins: int) -> None:
    """Raise if an answer has more numbers than can be published."""
    if numbers > _MAX_NUMBERS:
        raise UsageError(
            f"{bins:,} bins have {numbers:,} ranges, and an answer has at most "
            f"{_MAX_NUMBERS:,} numbers: use wider bins, or ask for prefix sums"
        )


def best_strategy(gram: Array, norm: str) -> Strategy:
    """Return the strategy of the smallest total error of those that are tried, for W^T W.

    >>> best_strategy(np.eye(3), "L2").matrix.tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    search = _best if len(gram) <= _OPTIMISED else _best_of_many
    return search(np.ascontiguousarray(gram, dtype=np.float64).tobytes(), norm)


@lru_cache(maxsize=64)
def _best(gram: bytes, norm: str) -> Strategy:
    square = _square(gram)
    size = len(square)
    strategies = [identity(size, norm)]
    if size > 1:
        strategies.append(wavelet(size, norm))
        strategies += [block_tree(size, branching, norm) for branching in (2, 4, 16)]
        strategies.append(_optimum(square) if norm == "L2" else _sums(square))
    return _cheapest(square, strategies)


@lru_cache(maxsize=4)
def _best_of_many(gram: bytes, norm: str) -> Strategy:
    square = _square(gram)
    size = len(square)
    strategies = [identity(size, norm), wavelet(size, norm)]
    strategies += [block_tree(size, branching, norm) for branching in (2, 4, 8, 16)]
    strategies += [_root_of_prefix_sums(size)] if norm == "L2" else []
    return _cheapest(square, [*strategies, *_of_blocks(square, norm)])


def _square(gram: bytes) -> Array:
    flat = np.frombuffer(gram, dtype=np.float64)
    return flat.reshape(math.isqrt(len(flat)), -1)


def _cheapest(square: Array, strategies: Sequence[Strategy]) -> Strategy:
    workload = Workload("sums of bins", square, len(square))
    best, minimum = strategies[0], workload.total(strategies[0])
    for one in strategies[1:]:
        total = workload.total(one)
        if total < minimum * _BETTER:
            best, minimum = one, total
    return best


def _root_of_prefix_sums(size: int) -> Strategy:
    """Return the lower triangular matrix whose square is that of prefix sums."""
    entries = np.ones(size)
    for k in range(1, size):
        entries[k] = entries[k - 1] * (2 * k - 1) / (2 * k)
    positions = np.arange(size)
    apart = positions[:, None] - positions
    factor = np.where(apart >= 0, entries[np.abs(apart)], 0.0)
    return rounded("root of prefix sums", factor, "L2", _SCALE)


def _of_blocks(square: Array, norm: str) -> Iterator[Strategy]:
    """Yield strategies of blocks of bins, with every bin beside them."""
    size = len(square)
    wide = -(-size // _OPTIMISED)
    starts = np.arange(0, size, wide)
    block = np.minimum(np.arange(size) // wide, len(starts) - 1)
    blocks = np.add.reduceat(np.add.reduceat(square, starts, axis=0), starts, axis=1) / wide**2
    if norm == "L1":
        sums = p_identity(square, min(size // 16, _MAX_SUMS), block)
        yield rounded(f"{len(sums) - size}-identity of blocks", sums, "L1", _SCALE)
        return
    coarse = _optimum(blocks)
    sums = coarse.matrix.astype(np.float64) / math.sqrt(coarse.squared_sensitivity)
    for weight in _WEIGHTS:
        factor = np.vstack([sums[:, block], weight * np.eye(size)])
        yield rounded(f"{coarse.name} of blocks", factor, norm, _SCALE)


def _optimum(gram: Array) -> Strategy:
    multipliers = convex_optimum(gram).multipliers
    fine = np.maximum(np.rint(multipliers * (_FINE / float(multipliers.max()))), 1.0)
    root = np.sqrt(fine)
    square = square_root(root[:, None] * gram * root) / root[:, None] / root
    factor = cholesky(square / float(np.diag(square).max())).T
    return rounded("convex optimum", factor, "L2", _SCALE)


def _sums(gram: Array) -> Strategy:
    sums = max(1, len(gram) // 16)
    return rounded(f"{sums}-identity", p_identity(gram, sums), "L1", _SCALE)
