"""What a statistic says of all bins of many draws: for errors on public data, in bulk.

Every draw is one of :func:`~tacit.mechanisms.sample_and_aggregate.binning.assignment`, and every
bin is answered with the same floats as alone: bins of one size are the rows of one array, and a
statistic treats each row by itself.  Only the calls are fewer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.sample_and_aggregate.binning import assignment
from tacit.mechanisms.sample_and_aggregate.bounded_output import BinFunction
from tacit.statistics.base.statistic import Statistic

__all__ = ["in_bulk", "simulated_units"]

Units = NDArray[np.int64]
_CELLS = 1 << 21


def in_bulk(ask: BinFunction, records: Any) -> bool:
    """Return whether bins can be answered as rows: a statistic, of a column of numbers."""
    column = isinstance(records, np.ndarray) and records.ndim == 1 and records.dtype.kind in "iuf"
    return column and isinstance(ask.function, Statistic) and len(ask.reads) == 1


def simulated_units(
    ask: BinFunction, records: NDArray[Any], bins: int, times: int
) -> Iterator[Units]:
    """Yield the units of all bins for each of ``times`` draws.

    >>> from tacit.mechanisms.sample_and_aggregate.bounded_output import coordinates
    >>> from tacit.statistics import lookup
    >>> ask = BinFunction(lookup("max"), coordinates((0, 8), 0, 1, 0))
    >>> [units.tolist() for units in simulated_units(ask, np.array([3, 7]), 1, 2)]
    [[7], [7]]
    """
    at_once = max(1, _CELLS // max(len(records), bins))
    for start in range(0, times, at_once):
        yield from _several(ask, records, bins, min(at_once, times - start))


def _several(ask: BinFunction, records: NDArray[Any], bins: int, times: int) -> Units:
    n = len(records)
    orders, starts, sizes = [], [], []
    for draw in range(times):
        order, edges = assignment(n, bins)
        orders.append(order)
        starts.append(edges[:-1] + draw * n)
        sizes.append(np.diff(edges))
    mixed = records[np.concatenate(orders)]
    start, size = np.concatenate(starts), np.concatenate(sizes)
    units = np.full(len(size), ask.defaults[0], dtype=np.int64)
    for width in np.unique(size[size > 0]).tolist():
        held = np.flatnonzero(size == width)
        units[held] = _answered(ask, mixed[start[held][:, None] + np.arange(width)])
    return units.reshape(times, bins)


def _answered(ask: BinFunction, rows: NDArray[Any]) -> Units:
    """Return the units of bins of one size, which are the rows."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = np.asarray(ask.function.batch(rows), dtype=np.float64)  # type: ignore[attr-defined]
    except Exception:  # some bin makes it fail: ask them one by one
        return np.array([ask(row)[0] for row in rows], dtype=np.int64)
    return ask.reads[0].units_of(values)
