"""The shapes that the worst pair of neighbours for a variance can have, as ranges of ranks.

``A`` (only in the narrow release) is always a window: the ranks ``j <= rank < j + a`` of the
population.  All else is placed among the other records, the population without ``A``, whose ranks
run from 0 to ``N - a - 1``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.statistics.samples.prefix_moments import Range

__all__ = ["Blocks", "Tails", "bisect", "outside"]

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Blocks:
    """``C`` is one block of the others, ``B`` the lowest and highest of what remains.

    Attributes:
        population: ``N``.
        kept, gained, lost: the sizes ``c`` of ``C``, ``b`` of ``B`` and ``a`` of ``A``.
        j: the first rank of ``A``.
        i: the first rank of ``C`` among the others.
        p: how many of ``B`` are the lowest.
    """

    population: int
    kept: int
    gained: int
    lost: int
    j: int
    i: int
    p: int

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """``C`` with ``B``, and ``C`` with ``A``."""
        c, i, p, q = self.kept, self.i, self.p, self.gained - self.p
        others = self.population - self.lost
        core = outside(i, i + c, self.j, self.lost)
        low = [(0, min(p, i)), (i + c, i + c + max(p - i, 0))]
        beyond = max(q - (others - i - c), 0)
        high = [(max(others - q, i + c), others), (i - beyond, i)]
        extra = [r for start, stop in low + high for r in outside(start, stop, self.j, self.lost)]
        return core + extra, [*core, (self.j, self.j + self.lost)]


@dataclass(frozen=True)
class Tails:
    """``B`` and ``C`` are the lowest and highest of the others, ``C`` in one piece of them.

    Attributes:
        population: ``N``.
        kept, gained, lost: the sizes ``c`` of ``C``, ``b`` of ``B`` and ``a`` of ``A``.
        j: the first rank of ``A``.
        p: how many of ``B`` lie below ``C``.
        t: how many of ``B`` and ``C`` are the lowest of the others.
    """

    population: int
    kept: int
    gained: int
    lost: int
    j: int
    p: int
    t: int

    def ranges(self) -> tuple[list[Range], list[Range]]:
        """``C`` with ``B``, and ``C`` with ``A``."""
        wide = self.kept + self.gained
        both = self._part(0, wide)
        core = self._part(self.p, self.p + self.kept)
        return both, [*core, (self.j, self.j + self.lost)]

    def _part(self, start: int, stop: int) -> list[Range]:
        """The ranks ``start <= rank < stop`` of ``B`` and ``C`` together."""
        jump = self.population - self.lost - (self.kept + self.gained)
        pieces = [
            (min(start, self.t), min(stop, self.t)),
            (max(start, self.t) + jump, max(stop, self.t) + jump),
        ]
        return [r for x, y in pieces for r in outside(x, y, self.j, self.lost)]


def outside(start: int, stop: int, window: int, length: int) -> list[Range]:
    """Ranks among the records outside a window, as ranges of the population.

    >>> outside(1, 4, window=2, length=3)
    [(1, 2), (5, 7)]
    """
    pieces = [
        (min(start, window), min(stop, window)),
        (max(start, window) + length, max(stop, window) + length),
    ]
    return [(x, y) for x, y in pieces if y > x]


def bisect(lowest: Integers, highest: Integers, gains: Callable[[Integers], Booleans]) -> Integers:
    """For every row the least place in ``lowest..highest`` from which going on gains nothing.

    ``gains(place)`` says whether ``place + 1`` is better than ``place``: true and then false.
    """
    low, high = lowest.copy(), highest.copy()
    while bool((low < high).any()):
        middle = (low + high) // 2
        open_ = low < high
        better = gains(np.minimum(middle, np.maximum(high - 1, lowest))) & open_
        low = np.where(better, middle + 1, low)
        high = np.where(open_ & ~better, middle, high)
    return low
