"""The mixing of SplitMix64: numbers that look random and are the same on every machine."""

# Not secret and no source of noise: for hashes, and for searches that repeat.
#
# Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA
# 2014.

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the odd constant whose multiples SplitMix64 mixes
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(words: Any) -> NDArray[np.uint64]:
    """Mix words of 64 bits, each one to one.

    >>> int(mixed(np.array([0x9E3779B97F4A7C15], np.uint64))[0]) == 0xE220A8397B1DCDAF
    True
    """
    with np.errstate(over="ignore"):
        z = (words ^ (words >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


class Repeatable(random.Random):
    """Choices of a search, the same on every run and machine.

    >>> Repeatable(7).choices("abc", k=4) == Repeatable(7).choices("abc", k=4)
    True
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._first, self._drawn = seed % (1 << 64), 0

    def getrandbits(self, k: int) -> int:
        words = -(-k // 64)
        drawn = self.words(words)
        return int.from_bytes(drawn.astype("<u8").tobytes(), "little") >> (64 * words - k)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 bits."""
        counters = np.arange(self._drawn + 1, self._drawn + 1 + count, dtype=np.uint64)
        self._drawn += count
        with np.errstate(over="ignore"):
            return mixed(np.uint64(self._first) + counters * GOLDEN)

    def random(self) -> float:
        return self.getrandbits(53) * 2.0**-53
