"""Strategies for cells in order: ranges, prefix sums and the cells, for up to 65,536 of them."""

# What a ledger and a certificate state must not depend on the last bits of a library: the
# multipliers of the convex optimum (:mod:`tacit.workload.strategies`) are rounded to twelve bits,
# and everything after that is computed by :mod:`tacit.workload.strategies`.  At multipliers v,
# with ``R = diag(v)^(1/2)``, the strategy is ``X = R^-1 (R G R)^(1/2) R^-1``, factored as
# ``A^T A``, times 1,024 and rounded; its sensitivity is then that of the integers.
#
# Such an optimum takes too long for many cells.  Beyond 64 a reflected kernel takes its place under
# Gaussian noise, within 0.3% of its total; beyond 256 blocks of cells with sums of them take that
# of a p-identity under Laplace noise (:mod:`tacit.workload.structured`).  Both are computed by
# sums, products, quotients and roots of doubles in a fixed order.

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.workload.strategies import (
    MAX_DENSE,
    Blocks,
    Strategy,
    block_tree,
    cholesky,
    convex_optimum,
    identity,
    p_identity,
    rounded,
    square_root,
    sums_of_blocks,
    wavelet,
)
from tacit.workload.structured import BlockStrategy, ReflectedStrategy

Array = NDArray[np.float64]
# How often each reading of the cells is asked: "cells", "prefix_sums", "ranges", or "total".
Readings = tuple[tuple[str, float], ...]

MAX_CELLS = 1 << 16
MAX_BINS = 1024
_MAX_NUMBERS = 1 << 18
_OPTIMISED = {"L2": 64, "L1": 256}  # beyond this many cells, strategies of few numbers
_FINE = 1 << 12
_SCALE = 1024
_KERNEL, _WEIGHT = 1 << 15, 1 << 14
# Added to the kernel at zero, in units of it: the more, the more the cells count themselves.
_SHIFTS = (0.0, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
_IMAGES = 2
_BLOCKS = 256
_SHORT = 16  # so few cells need no other description than the sums themselves
_BLOCKS_PER_SUM = 8
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


def gram_of(readings: Readings, cells: int) -> Array:
    """Return ``W^T W`` for questions that read cells in order.

    >>> gram_of((("cells", 1), ("prefix_sums", 1)), 2).tolist()
    [[3.0, 1.0], [1.0, 2.0]]
    """
    at = np.arange(cells, dtype=np.float64)
    first, last = np.minimum.outer(at, at), np.maximum.outer(at, at)
    each = {
        "cells": np.eye(cells),
        "prefix_sums": cells - last,
        "ranges": (first + 1) * (cells - last),
        "total": np.ones((cells, cells)),
    }
    return np.asarray(sum(weight * each[reading] for reading, weight in readings))


def total_of(strategy: Strategy, readings: Readings) -> float:
    """Return the total squared error, for noise whose variance is the squared sensitivity."""
    # Ranges are differences of two of n + 1 prefix sums, the first of which is 0: over all pairs
    # the squares of differences add up to (n + 1) times the sum of squares, less the square of the
    # sum.
    total, cells = 0.0, strategy.cells
    for reading, weight in readings:
        if reading == "cells":
            total += weight * float(strategy.cell_variances.sum())
        elif reading == "total":
            ones = np.ones(cells)
            total += weight * float(strategy.covariances_with(ones).sum())
        else:
            squares = float(strategy.prefix_variances.sum())
            if reading == "ranges":
                often = np.arange(cells, 0.0, -1.0)
                squares = (cells + 1) * squares
                squares -= float((strategy.covariances_with(often) * often).sum())
            total += weight * squares
    return total * float(strategy.squared_sensitivity)


def best_strategy(readings: Mapping[str, float], cells: int, norm: str) -> Strategy:
    """Return the strategy of the smallest total error of those that are tried.

    >>> best_strategy({"cells": 1}, 3, "L2").matrix.tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    key = tuple(sorted((reading, float(often)) for reading, often in readings.items()))
    return _best(key, cells, norm)


@lru_cache(maxsize=64)
def short_strategy(reading: str, cells: int, norm: str) -> Strategy:
    """Return a strategy that few numbers describe, nearly as good as the best.

    >>> len(short_strategy("prefix_sums", 101, "L2").form)
    3
    """
    readings: Readings = ((reading, 1.0),)
    if cells <= _SHORT:
        return _best(readings, cells, norm)
    if norm == "L1":
        return _blocks(readings, cells)
    return min(_kernels(readings, cells), key=lambda one: total_of(one, readings))


@lru_cache(maxsize=64)
def _best(readings: Readings, cells: int, norm: str) -> Strategy:
    strategies: list[Strategy] = []
    if cells <= _OPTIMISED[norm]:
        gram = gram_of(readings, cells)
        strategies.append(identity(cells, norm))
        if cells > 1:
            strategies.append(wavelet(cells, norm))
            strategies += [block_tree(cells, branching, norm) for branching in (2, 4, 16)]
            strategies += [_optimum(gram)] if norm == "L2" else _sums(gram)
        return _cheapest(gram, strategies)
    candidates = _kernels(readings, cells) if norm == "L2" else [_blocks(readings, cells)]
    best, minimum = _alone(cells, norm), _cells_alone(readings, cells)
    for one in candidates:
        total = total_of(one, readings)
        if total < minimum * _BETTER:
            best, minimum = one, total
    return best


def _cheapest(gram: Array, strategies: Sequence[Strategy]) -> Strategy:
    totals = [float((one.covariance * gram).sum()) for one in strategies]
    best = 0
    for index, total in enumerate(totals):
        if total < totals[best] * _BETTER:
            best = index
    return strategies[best]


def _cells_alone(readings: Readings, cells: int) -> float:
    """Return the total squared error of noise on each cell."""
    n = float(cells)
    each = {
        "cells": n,
        "prefix_sums": n * (n + 1) / 2,
        "ranges": n * (n + 1) * (n + 2) / 6,
        "total": n,
    }
    return sum(often * each[reading] for reading, often in readings)


def _alone(cells: int, norm: str) -> Strategy:
    if cells <= MAX_DENSE:
        return identity(cells, norm)
    none = np.zeros((0, cells), dtype=np.int64)
    return BlockStrategy([[1]], none, [1] * cells, cells, norm)


# Gaussian noise.


def _kernels(readings: Readings, cells: int) -> Iterator[Strategy]:
    """Yield reflected kernels, of each kind with the shift of the smallest total."""
    for even in (False, True):
        minimum = math.inf
        for shift in _SHIFTS:
            kernel = _kernel(cells, even, shift)
            total = total_of(kernel, readings)
            if total >= minimum:
                break
            minimum = total
            yield kernel


@lru_cache(maxsize=32)
def _kernel(cells: int, even: bool, shift: float) -> ReflectedStrategy:
    """Return the root of the root of prefix sums (even) or ranges, with equal columns."""
    half = 2 * cells + 1 if even else 2 * cells + 2
    steps = np.arange(1, half * (_IMAGES + 1) + 1, dtype=np.float64)
    line = np.concatenate([[1.0], np.cumprod((steps - 0.75) / (steps - 0.25))])
    at = np.arange(half + 1)
    kernel = line[at]
    for image in range(1, _IMAGES + 1):
        sign = (-1) ** image if even else 1
        kernel = kernel + sign * (line[image * half + at] + line[image * half - at])
    if even:  # what has been cut off is made to change its sign half way round
        kernel = (kernel - kernel[::-1]) / 2
    kernel[0] += shift
    whole = np.rint(kernel * _KERNEL)[: cells + 1 if even else cells + 2].astype(np.int64).tolist()
    norms = ReflectedStrategy(whole, [1] * cells, even=even).squared_norms
    smallest = min(norms)
    weights = [max(1, round(_WEIGHT * math.sqrt(smallest / norm))) for norm in norms]
    return ReflectedStrategy(whole, weights, even=even)


def _optimum(gram: Array) -> Strategy:
    multipliers = convex_optimum(gram).multipliers
    fine = np.maximum(np.rint(multipliers * (_FINE / float(multipliers.max()))), 1.0)
    root = np.sqrt(fine)
    square = square_root(root[:, None] * gram * root) / root[:, None] / root
    factor = cholesky(square / float(np.diag(square).max())).T
    return rounded("convex optimum", factor, "L2", _SCALE)


# Laplace noise.


def _sums(gram: Array) -> list[Strategy]:
    few, more = (max(1, len(gram) // cells) for cells in (32, 16))
    return [
        rounded(f"{sums}-identity", p_identity(gram, sums), "L1", _SCALE)
        for sums in dict.fromkeys((few, more))
    ]


def _blocks(readings: Readings, cells: int) -> Strategy:
    """Return blocks of cells that are measured alike, with sums of blocks next to them."""
    wide = -(-cells // _BLOCKS)
    count = -(-cells // wide)
    # Within a block its own questions count, and its total as often as it has cells (or the square
    # of that, of ranges): the sums of blocks tell the totals too.
    within = dict(readings)
    power = 2 if "ranges" in within else 1
    within["total"] = within.get("total", 0.0) + float(wide) ** power
    inner = best_strategy(within, wide, "L1")
    rows = sums_of_blocks(_questions(readings, cells, inner, count), count // _BLOCKS_PER_SUM)
    each = 1 + rows.sum(axis=0)
    weights = np.maximum(np.rint(_SCALE / each), 1.0).astype(np.int64)
    sums = np.rint(rows / each * (_SCALE * int(inner.sensitivity))).astype(np.int64)
    sums = sums[np.abs(sums).sum(axis=1) > 0]
    return BlockStrategy(inner.matrix, sums, weights.tolist(), cells)


def _questions(readings: Readings, cells: int, inner: Strategy, count: int) -> Blocks:
    """Return questions by blocks that a strategy measures, without W^T W of all cells."""
    # In block a from the cell o on, with m and M for the smaller and larger of two places, the
    # entries of W^T W are n - o - M (prefix sums) and (o + 1 + m)(n - o - M) (ranges), where m M is
    # the product of the places; between two blocks they are a product of one for each.
    wide = inner.cells
    covariance = inner.covariance  # of a block whose columns add up to 1
    at = np.arange(wide, dtype=np.float64)
    starts = wide * np.arange(count, dtype=np.float64)
    smaller, larger = np.minimum.outer(at, at), np.maximum.outer(at, at)
    u = covariance.sum(axis=1)
    size, moment = float(u.sum()), float((u * at).sum())
    end = cells - starts  # the cells from a block's first one on
    kinds = (np.ones((wide, wide)), smaller, larger, np.outer(at, at))
    of_sums = [float((u[:, None] * kind * u).sum()) for kind in kinds]
    of_cells = [float((covariance * kind).sum()) for kind in kinds]
    gram, diagonal = np.zeros((count, count)), np.zeros(count)
    later = size * end - moment
    for reading, often in readings:
        if reading == "cells":
            gram += often * float((u * u).sum()) * np.eye(count)
            diagonal += often * float(np.trace(covariance))
            continue
        if reading == "total":
            gram += often * size * size
            diagonal += often * size
            continue
        first = np.full(count, size) if reading == "prefix_sums" else size * (starts + 1) + moment
        between = np.triu(np.outer(first, later), 1)
        own = []
        for one, low, high, both in (of_sums, of_cells):
            if reading == "prefix_sums":
                own.append(end * one - high)
            else:
                own.append((starts + 1) * end * one - (starts + 1) * high + end * low - both)
        gram += often * (between + between.T + np.diag(own[0]))
        diagonal += often * own[1]
    return Blocks(gram, diagonal, np.full(count, size))
