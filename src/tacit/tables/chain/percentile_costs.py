"""What the choices of several percentiles cost, in a part of the rows of a group.

Pieces of cells are numbered through: piece s of cell c is ``c PIECES + s``, and the rows of a cell
are spread evenly over its pieces.  A part reaches from one piece to before another, and has the
pieces of rows within: whole numbers of which a row is ``PIECES``.  Costs are those of
:mod:`tacit.mechanisms.selection.private_quantile`, in these pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PIECES",
    "ChoiceTask",
    "CountedGroup",
    "Runs",
    "costs_of_cells",
    "costs_of_pieces",
    "halves",
    "levels",
]

PIECES = 1024
"""Into so many pieces the rows of a cell can be divided."""
_FAR = 1 << 61


def levels(several: int) -> int:
    """Return in how many levels so many percentiles are chosen.

    >>> [levels(m) for m in (1, 2, 3, 4, 7, 8)]
    [1, 2, 2, 3, 3, 4]
    """
    return several.bit_length()


class CountedGroup(NamedTuple):
    """The counts of one group: where the rows are, and how many there are up to each."""

    at: NDArray[np.int64]
    upto: NDArray[Any]
    cells: int

    @classmethod
    def of(cls, at: Any, count: Any, cells: int) -> CountedGroup:
        """Return the group; in Python integers where products could leave 64 bits."""
        wide = np.asarray(count, dtype=object)
        upto = np.concatenate(([0], wide.cumsum())) if len(wide) else np.zeros(1, dtype=object)
        small = int(upto[-1]) * PIECES < _FAR
        return cls(np.asarray(at, dtype=np.int64), upto.astype(np.int64) if small else upto, cells)

    def part(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the cells that occur from one piece to before another, and their pieces of rows.

        Pieces are numbered through: piece s of cell c is ``c PIECES + s``.
        """
        start = int(np.searchsorted(self.at, first // PIECES))
        stop = int(np.searchsorted(self.at, -(-last // PIECES)))
        at = self.at[start:stop]
        rows = np.diff(self.upto[start : stop + 1])
        inside = np.minimum((at + 1) * PIECES, last) - np.maximum(at * PIECES, first)
        return at, rows * np.maximum(inside, 0)


class Runs(NamedTuple):
    """Candidates of equal cost: the first of each run, how many it has, and their cost."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    costs: NDArray[np.int64]


class ChoiceTask(NamedTuple):
    """A choice in a part of a group: the quantile of the part, and the target in pieces of rows."""

    group: CountedGroup
    first: int
    last: int
    q: Fraction
    target: int = 0


def costs_of_cells(task: ChoiceTask) -> Runs:
    """Return the cells of a part as runs of equal cost: see ``mechanisms.selection``.

    An empty part has one candidate, the cell that it lies in.
    """
    low_cell = min(task.first // PIECES, task.group.cells)
    high_cell = max(low_cell, (task.last - 1) // PIECES)
    at, rows = task.group.part(task.first, task.last)
    a, b = task.q.numerator, task.q.denominator
    upto = np.concatenate((np.zeros(1, dtype=rows.dtype), rows.cumsum()))
    if int(upto[-1]) * b + abs(task.target) >= _FAR:
        upto, rows = upto.astype(object), rows.astype(object)
    starts = np.full(2 * len(at) + 1, low_cell, dtype=np.int64)
    starts[1::2], starts[2::2] = at, at + 1
    lengths = np.append(starts[1:], high_cell + 1) - starts
    below = np.repeat(upto, 2)[:-1]
    equal = np.zeros_like(below)
    equal[1::2] = rows
    low = b * below - a * upto[-1]
    high = b * (below + equal) - a * upto[-1]
    held = lengths > 0
    starts, lengths, low, high = (each[held] for each in (starts, lengths, low, high))
    cost = np.maximum(np.maximum(low - task.target, task.target - high), 0)
    if task.target:  # the outer candidate reaches without end: see private_quantile
        starts, lengths, cost = _opened(starts, lengths, cost, upwards=task.target > 0)
        outer = -1 if task.target > 0 else 0
        far = low[-1] - task.target if outer else task.target - high[0]
        cost[outer] = max(far, 0)
    return Runs(starts, lengths, np.minimum(cost, _FAR).astype(np.int64))


def _opened(
    starts: NDArray[Any], lengths: NDArray[Any], cost: NDArray[Any], upwards: bool
) -> tuple[NDArray[Any], ...]:
    """Split the outer candidate off its run."""
    outer = len(starts) - 1 if upwards else 0
    if lengths[outer] == 1:
        return starts, lengths, cost
    more = np.ones(len(starts), np.intp)
    more[outer] = 2
    starts, lengths, cost = (each.repeat(more) for each in (starts, lengths, cost))
    if upwards:
        lengths[-2] -= 1
        starts[-1], lengths[-1] = starts[-2] + lengths[-2], 1
    else:
        lengths[0], lengths[1], starts[1] = 1, lengths[1] - 1, starts[1] + 1
    return starts, lengths, cost


def costs_of_pieces(task: ChoiceTask, cell: int) -> Runs:
    """Return the cost of each border between pieces of a cell, within the part of a task."""
    group, first, last, q, _ = task
    start, stop = max(first, cell * PIECES), min(last, (cell + 1) * PIECES)
    start, stop = (start, stop) if start <= stop else (first, first)
    borders = np.arange(start, stop + 1, dtype=np.int64)
    at, rows = group.part(first, last)
    place = int(np.searchsorted(at, cell))
    inside = place < len(at) and at[place] == cell
    before, whole = int(rows[:place].sum()), int(rows.sum())
    each = int(rows[place]) // max(stop - start, 1) if inside else 0
    moved, base = each * q.denominator, before * q.denominator - whole * q.numerator
    wide = abs(base) + moved * PIECES >= _FAR
    steps = (borders - start).astype(object) if wide else borders - start
    cost = np.minimum(np.abs(base + moved * steps), _FAR).astype(np.int64)
    return Runs(borders, np.ones_like(borders), cost)


def halves(first: int, last: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield level by level which percentile is chosen between which two others."""
    level = [(first, last)]
    while level:
        yield [(low, (low + high) // 2, high) for low, high in level]
        middle = [((low, (low + high) // 2), ((low + high) // 2, high)) for low, high in level]
        level = [part for parts in middle for part in parts if part[1] - part[0] > 1]
