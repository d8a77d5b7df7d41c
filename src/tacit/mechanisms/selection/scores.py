"""What the private choices share: scores in whole units, as costs below the best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import LInfinityDistance, Space, Step
from tacit.errors import MismatchError
from tacit.mechanisms.shared.grid_noise import Lattice

__all__ = ["FARTHEST", "costs_below_best", "score_lattice"]

FARTHEST = 1 << 62


def score_lattice(space: Space, step: Step) -> Lattice:
    """Return the lattice of a vector of scores of public number, under the L-infinity distance.

    Raises:
        MismatchError: another metric, or a number of scores that is not public or is zero.
    """
    if not isinstance(space.metric, LInfinityDistance):
        raise MismatchError(
            f"{step.name} needs scores under the L-infinity distance, not under {space.metric}",
            space,
            step,
        )
    lattice = Lattice.of(space, step, None)
    if not space.domain.size:  # type: ignore[attr-defined]
        raise MismatchError(
            f"{step.name} chooses among a public number of scores, at least one; use "
            "Vector(..., size=n)",
            space,
            step,
        )
    return lattice


def costs_below_best(units: Any) -> NDArray[np.int64]:
    """Return how far each score is below the best one, at most 2^62.

    Holding a cost there keeps the maps: it raises the score to ``best - 2^62``, and the greater of
    two numbers that move by at most d moves by at most d, the same way if both do.

    >>> costs_below_best([3, 5, 4]).tolist()
    [2, 0, 1]
    """
    if isinstance(units, np.ndarray) and units.dtype == np.int64:
        low, high = int(units.min()), int(units.max())
        if high - low <= FARTHEST:
            return np.asarray(high - units, dtype=np.int64)
    best = max(int(u) for u in units)
    return np.array([min(best - int(u), FARTHEST) for u in units], dtype=np.int64)
