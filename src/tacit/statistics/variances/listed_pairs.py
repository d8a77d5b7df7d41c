"""Every choice of the shared records, where nothing is known about their shape.

For a standard deviation that rises while the release gets smaller, ``0 < b < a``, there is a range
of ``theta`` for which :mod:`~tacit.statistics.variances.move_bounds` shows the shapes of ``A`` and
``B`` only.  With ``A`` a window and ``B`` the ``p`` lowest and ``b - p`` highest of the others
(where ``C`` lies between the two parts of ``B``; elsewhere it is a block, which
:func:`~tacit.statistics.variances.candidate_families.tails` has seen), every choice of ``C`` among
the rest is listed: ``(N - a + 1)(b + 1)`` times ``N - a - b`` over ``c`` pairs.  (Where ``tails``
or ``blocks`` were too many to be looked at, so are these, unless ``C`` is empty and there is no
elsewhere.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tacit.statistics.samples.prefix_moments import Range
from tacit.statistics.variances.candidate_search import Contest, Walk

__all__ = ["Scattered", "choices", "scattered"]

MOST_CHOICES = 1 << 18
MOST_PAIRS = 1 << 23


@dataclass(frozen=True)
class Scattered:
    """A pair given by the ranks of ``C`` and of ``B``, and the window ``A``."""

    core: tuple[int, ...]
    gained: tuple[int, ...]
    window: Range

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """``C`` with ``B``, and ``C`` with ``A``."""
        core, gained = ([(i, i + 1) for i in part] for part in (self.core, self.gained))
        return core + gained, [*core, self.window]


def choices(population: int, kept: int, gained: int, lost: int) -> bool:
    """Whether there are few enough pairs to list them all."""
    of_core = math.comb(population - gained - lost, kept)
    pairs = of_core * (population - lost + 1) * (gained + 1)
    return of_core <= MOST_CHOICES and pairs <= MOST_PAIRS


def scattered(contest: Contest, kept: int, gained: int, lost: int) -> None:
    """Offer every pair with ``C`` between the two parts of ``B``."""
    moments, total = contest.moments, contest.moments.size
    middle = total - gained - lost
    listed = list(combinations(range(middle), kept))
    cores = np.array(listed, dtype=np.int64).reshape(len(listed), kept)
    squared = moments.values * moments.values
    for j in range(total - lost + 1):
        window = np.arange(j, j + lost)
        others = np.concatenate((np.arange(j), np.arange(j + lost, total)))
        for p in range(gained + 1):
            shared = others[p : p + middle][cores]
            ends = np.concatenate((others[:p], others[p + middle :]))

            def make(index: int, shared: object = shared, ends: object = ends, j: int = j) -> Walk:
                core = tuple(shared[index].tolist())  # type: ignore[index]
                gain = tuple(ends.tolist())  # type: ignore[attr-defined]
                return Walk(Scattered(core, gain, (j, j + lost)))

            s, q = (v[shared].sum(axis=1) for v in (moments.values, squared))
            wide = (s + moments.values[ends].sum(), q + squared[ends].sum(), kept + gained)
            narrow = (s + moments.values[window].sum(), q + squared[window].sum(), kept + lost)
            contest.offer(wide, narrow, make)
