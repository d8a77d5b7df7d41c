"""Evaluate a statistic on many releases: in blocks, on all cores if slow, with progress shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.statistic import Statistic
from tacit.statistics.search.count_lattice import Indices
from tacit.statistics.search.function import Function

__all__ = ["evaluate", "rows_of"]

_CELLS = 1 << 22  # numbers in a block of releases: 32 MiB
_SHOW_AFTER = 2.0  # seconds of expected work that are worth a progress bar
_SHOW_ABOVE = 500_000  # releases that are worth one, however quick the function
_SPREAD_AFTER = 10.0  # seconds of expected work that are worth starting other processes


class _Advance(Protocol):
    def __call__(self, done: int) -> None: ...


def rows_of(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Write count vectors out as ascending releases, all of one size, one a row.

    >>> rows_of(np.array([1.0, 5.0]), np.array([[2, 0], [1, 1]]))
    array([[1., 1.],
           [1., 5.]])
    """
    if not len(counts):
        return np.zeros((0, 0))
    size = int(counts[0].sum())
    return np.repeat(np.tile(values, len(counts)), counts.ravel()).reshape(len(counts), size)


def evaluate(
    statistic: Statistic,
    values: npt.NDArray[np.float64],
    blocks: Sequence[Indices],
    counts_of: Callable[[Indices], Indices],
    told: str = "",
) -> list[npt.NDArray[np.float64]]:
    """The values of a statistic on blocks of releases, each block of one size.

    Releases are named by indices, and ``counts_of`` turns a few of them at a time into count
    vectors over ``values``.  Slow functions of one release run on all cores where joblib is
    installed.  ``told`` is shown beside the progress.
    """
    pieces = [
        (i, block[start : start + step])
        for i, block in enumerate(blocks)
        for step in [_rows_at_a_time(block, counts_of)]
        for start in range(0, len(block), step)
    ]
    found: list[list[npt.NDArray[np.float64]]] = [[] for _ in blocks]
    total = sum(len(piece) for _, piece in pieces)
    expected = _expected_seconds(statistic, values, blocks, counts_of)
    with _progress(f"evaluating {statistic.name}{told}", total, expected) as advance:
        if expected > _SPREAD_AFTER and (parallel := _joblib()) is not None:
            pieces = [(i, small) for i, piece in pieces for small in _cut(piece, expected, total)]
            results = parallel.Parallel(n_jobs=-1, return_as="generator")(
                parallel.delayed(_one)(statistic, values, counts_of(piece)) for _, piece in pieces
            )
        else:
            results = (_one(statistic, values, counts_of(piece)) for _, piece in pieces)
        for (i, piece), result in zip(pieces, results, strict=True):
            found[i].append(result)
            advance(len(piece))
    return [np.concatenate(parts) if parts else np.zeros(0) for parts in found]


def _rows_at_a_time(block: Indices, counts_of: Callable[[Indices], Indices]) -> int:
    size = int(counts_of(block[:1]).sum()) if len(block) else 1
    return max(1, _CELLS // max(size, 1))


def _one(
    statistic: Statistic, values: npt.NDArray[np.float64], counts: Indices
) -> npt.NDArray[np.float64]:
    return statistic.batch(rows_of(values, counts))


def _expected_seconds(
    statistic: Statistic,
    values: npt.NDArray[np.float64],
    blocks: Sequence[Indices],
    counts_of: Callable[[Indices], Indices],
) -> float:
    """Time a few releases of a function that takes one at a time; the others are quick."""
    total = sum(map(len, blocks))
    if total < 100 or not isinstance(statistic, Function) or statistic.many:
        return 0.0
    few = max(blocks, key=len)[:3]
    start = time.perf_counter()
    _one(statistic, values, counts_of(few))
    return (time.perf_counter() - start) / len(few) * total


def _cut(piece: Indices, expected: float, total: int) -> list[Indices]:
    """Cut into pieces of about a second's work."""
    size = max(1, int(total / expected))
    return [piece[start : start + size] for start in range(0, len(piece), size)]


def _joblib() -> Any | None:
    try:
        import joblib
    except ImportError:
        return None
    return joblib


@contextmanager
def _progress(what: str, total: int, expected: float) -> Iterator[_Advance]:
    """A bar with the time left, on a terminal only; Ctrl-C stops the search."""
    if not sys.stderr.isatty() or (expected < _SHOW_AFTER and total < _SHOW_ABOVE):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
