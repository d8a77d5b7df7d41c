"""The mixing of SplitMix64: numbers that look random and are the same on every machine.

Not secret and no source of noise: for hashes, and for searches that repeat.

Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GOLDEN", "mixed"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The odd constant whose multiples SplitMix64 mixes."""
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
