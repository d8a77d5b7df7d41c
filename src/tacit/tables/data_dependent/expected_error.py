"""What the errors of a method are on made-up rows, worked out without data."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.mixing import GOLDEN, mixed
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction
from tacit.mechanisms.shared.laplace_error import laplace_distance

__all__ = ["error_of_bins", "spread_over"]

_FEWEST, _MOST = 4, 32
_PRECISE = 0.01


def spread_over(rows: int, bins: int, turn: int) -> NDArray[np.int64]:
    """Return a bin for each made-up row: the same on every machine, and as uneven as by chance.

    Mixed by :mod:`tacit.arithmetic.mixing`; nothing here is secret.

    >>> counts = np.bincount(spread_over(1000, 4, 0), minlength=4)
    >>> int(counts.sum()), bool(200 < counts.min() < 250)
    (1000, True)
    """
    z = np.arange(1, rows + 1, dtype=np.uint64) * GOLDEN
    z += np.uint64((turn + 1) * 0xD1342543DE82EF95 % (1 << 64))
    found: NDArray[np.int64] = (mixed(z) % np.uint64(bins)).astype(np.int64)
    return found


def error_of_bins(
    ask: BinFunction,
    rows: NDArray[Any],
    bins: int,
    scale: float,
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> float:
    """Predict the mean distance between the noisy mean over bins and the statistic of all rows.

    That of Laplace noise around an offset, clipped to the ends; the offset is averaged over
    divisions of the rows into bins, from 4 to 32 of them, until the standard error is a percent.  A
    bin without rows counts as an end of the answer's range, and not as the default in its middle,
    where made-up rows would have their answer anyway.
    """
    where = ask.reads[0]
    unit = float(where.grid)
    truth = ask(rows)[0] * unit
    each = unit / bins
    low, high = ((end - truth) / each for end in ends)
    found: list[float] = []
    while len(found) < _FEWEST or (len(found) < _MOST and _spread(found) > _PRECISE):
        place = spread_over(len(rows), bins, len(found))
        order = np.argsort(place, kind="stable")
        edges = np.searchsorted(place[order], np.arange(bins + 1))
        parts = [rows[order[a:b]] for a, b in itertools.pairwise(edges)]
        units = [ask(part)[0] if len(part) else where.least for part in parts]
        offset = sum(units) - truth / each
        found.append(float(laplace_distance(offset, scale / each, low, high)) * each)
    return sum(found) / len(found)


def _spread(found: list[float]) -> float:
    """Return the standard error of a mean over the mean."""
    mean = sum(found) / len(found)
    square = sum((one - mean) ** 2 for one in found) / (len(found) * (len(found) - 1))
    return math.sqrt(square) / mean if mean else 0.0
