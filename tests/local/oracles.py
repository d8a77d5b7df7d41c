"""Oracles of the local model that are tested alike, and answers to ask of."""

from __future__ import annotations

import numpy as np

from tacit.local import (
    DirectEncoding,
    HadamardResponse,
    OptimizedLocalHashing,
    SubsetSelection,
    SummationHistogram,
    UnaryEncoding,
)

ORACLES = [
    DirectEncoding(12, epsilon=1),
    UnaryEncoding(12, epsilon=1),
    OptimizedLocalHashing(12, epsilon=1),
    HadamardResponse(12, epsilon=1),
    HadamardResponse(12, epsilon=3, blocks=4),
    SubsetSelection(12, epsilon=1),
    SummationHistogram(12, epsilon=1),
]
NAMES = [type(o).__name__ for o in ORACLES]


def truth(k, n):
    """Answers in falling numbers, one item that nobody has."""
    return np.sort((np.arange(n) * np.arange(n)) % (k - 1))
