"""Made-up rows, spread evenly over public bounds: what errors are worked out on, without data."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.bin_reading import BinFunction
from tacit.tables.grid import Grid

__all__ = ["error_of_bins", "error_of_choice", "even_rows", "spread_over"]

_BINNINGS = 4


@lru_cache(maxsize=8)
def even_rows(grid: Grid, rows: int) -> NDArray[np.float64]:
    """Return so many rows at even shares of the way from bound to bound.

    Between the points of the grid too: rows that tie, as whole numbers do, would make noise that
    follows the data look better than it may be.

    >>> even_rows(Grid.for_bounds(0, 8, whole=True), 4)
    array([1., 3., 5., 7.])
    """
    shares = (2 * np.arange(rows, dtype=np.float64) + 1) / (2 * rows)
    low, high = float(grid.value(0)), float(grid.value(grid.cells))
    made = np.clip(low + shares * (high - low), low, high)
    made.flags.writeable = False
    return made


def error_of_choice(cells: int, q: Fraction, rows: float, unit: int, scale: Fraction) -> float:
    """Return the mean distance, in cells, of a quantile chosen on even rows from the true one.

    The exponential mechanism takes a cell with probability proportional to ``exp(-cost / scale)``;
    on even rows the cost rises by ``b unit`` for each row of rank, for the quantile ``a / b``.
    """
    off = np.abs(np.arange(cells + 1) / cells - float(q)) * rows * q.denominator * unit
    weights = np.exp(-off / float(scale))
    return float((np.abs(np.arange(cells + 1) - float(q) * cells) * weights).sum() / weights.sum())


def spread_over(rows: int, bins: int, turn: int) -> NDArray[np.int64]:
    """Return a bin for each made-up row: the same on every machine, and as uneven as by chance.

    The mixing function of SplitMix64 (Steele, Lea and Flood 2014); nothing here is secret.

    >>> counts = np.bincount(spread_over(1000, 4, 0), minlength=4)
    >>> int(counts.sum()), bool(200 < counts.min() < 250)
    (1000, True)
    """
    z = np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64((turn + 1) * 0xD1342543DE82EF95 % (1 << 64))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.int64] = ((z ^ (z >> np.uint64(31))) % np.uint64(bins)).astype(np.int64)
    return found


def error_of_bins(ask: BinFunction, rows: NDArray[Any], bins: int, scale: float) -> float:
    """Predict the mean distance between the noisy mean over bins and the statistic of all rows.

    Around an offset ``a`` Laplace noise of scale ``s`` has mean size ``|a| + s exp(-|a| / s)``; the
    offset is averaged over a few divisions of the rows into bins.  A bin without rows counts as an
    end of the answer's range, and not as the default in its middle, where made-up rows would have
    their answer anyway.
    """
    where = ask.reads[0]
    unit = float(where.grid)
    truth = ask(rows)[0] * unit
    total = 0.0
    for turn in range(_BINNINGS):
        place = spread_over(len(rows), bins, turn)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(bins + 1))
        parts = [rows[order[a:b]] for a, b in itertools.pairwise(ends)]
        units = [ask(part)[0] if len(part) else where.least for part in parts]
        off = abs(sum(units) * unit / bins - truth)
        total += off + scale * math.exp(-off / scale)
    return total / _BINNINGS
