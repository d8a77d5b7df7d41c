"""The neighbours of one release, listed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tacit.errors import InfeasibleError
from tacit.statistics.search.count_lattice import Indices, evaluations

__all__ = ["neighbours_of", "parts"]


def parts(limits: Indices, size: int) -> Indices:
    """Every count vector below ``limits`` with ``size`` records in all, one a row.

    >>> parts(np.array([1, 2]), 2).tolist()
    [[0, 2], [1, 1]]
    """
    rows = np.zeros((1, 0), dtype=np.int64)
    left = np.array([size])
    room = np.append(np.cumsum(limits[::-1])[::-1], 0)
    for axis, limit in enumerate(limits.tolist()):
        # What the axes to come cannot hold must be taken here.
        least = np.maximum(left - room[axis + 1], 0)
        most = np.minimum(left, limit)
        choices = np.maximum(most - least + 1, 0)
        parent = np.repeat(np.arange(len(rows)), choices)
        first = np.repeat(np.cumsum(choices) - choices, choices)
        taken = np.arange(len(parent)) - first + least[parent]
        rows = np.concatenate([rows[parent], taken[:, None]], axis=1)
        left = left[parent] - taken
    return np.asarray(rows[left == 0])


def neighbours_of(
    held: Indices, free: Indices, moves: Iterable[tuple[int, int]], limit: int | None = None
) -> Indices:
    """The distinct releases that the moves lead to, as count vectors.

    Args:
        held: the counts of the release.
        free: how many more records of each value exist.
        moves: pairs ``(removed, added)``; a record that is removed does not come back, but one
            of the same value may.
        limit: the most neighbours to list.

    Raises:
        InfeasibleError: more than ``limit``.
    """
    moves = list(moves)
    held, free = np.asarray(held), np.asarray(free)
    count = sum(
        evaluations(held.tolist(), r) * evaluations(np.minimum(free, a).tolist(), a)
        for r, a in moves
    )
    if limit is not None and count > limit:
        raise InfeasibleError(
            f"the release has {count:,} neighbours to evaluate, which is more than {limit:,}; "
            "ask at a smaller distance, or ask lower_bound(...) for a lower bound"
        )
    found = [np.zeros((0, len(held)), dtype=np.int64)]
    for removed, added in moves:
        kept = held - parts(held, removed)
        gained = parts(np.minimum(free, added), added)
        found.append((kept[:, None, :] + gained[None, :, :]).reshape(-1, len(held)))
    return np.unique(np.concatenate(found), axis=0)
