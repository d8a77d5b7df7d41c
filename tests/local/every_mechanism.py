"""One small case of every mechanism: how it is made from epsilon, and answers that it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit.local import (
    AttributeSampling,
    AttributeSplitting,
    BinaryLocalHashing,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalRanges,
    HybridMean,
    Items,
    KeyValue,
    LaplaceMean,
    LocalHashing,
    OptimizedLocalHashing,
    PaddedSets,
    Piecewise,
    PrefixExtending,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    ThresholdHistogram,
    TwoStage,
    UnaryEncoding,
)

GOODS = Items(["milk", "bread", "tea"], other="nothing")


class Case(NamedTuple):
    """A mechanism as a function of epsilon, and some answers."""

    make: object
    answers: list


WORDS = ["red", "blue", "green", None]
NUMBERS = [0, 0.25, 1]

CASES = {
    "two coins": Case(lambda e: RandomizedResponse(epsilon=e), [True, False]),
    "direct": Case(lambda e: DirectEncoding(5, epsilon=e), [0, 4]),
    "direct, 300 items": Case(lambda e: DirectEncoding(300, epsilon=e), [0, 299]),
    "unary": Case(lambda e: UnaryEncoding(11, epsilon=e), [0, 10]),
    "unary, symmetric": Case(lambda e: UnaryEncoding(8, epsilon=e, symmetric=True), [0, 7]),
    "summation": Case(lambda e: SummationHistogram(3, epsilon=e, units=1), [0, 2]),
    "threshold": Case(lambda e: ThresholdHistogram(9, epsilon=e), [0, 8]),
    "local hashing": Case(lambda e: LocalHashing(9, epsilon=e, buckets=3), [0, 8]),
    "binary hashing": Case(lambda e: BinaryLocalHashing(9, epsilon=e), [0, 8]),
    "optimised hashing": Case(lambda e: OptimizedLocalHashing(9, epsilon=e), [0, 8]),
    "hadamard": Case(lambda e: HadamardResponse(10, epsilon=e, blocks=1), [0, 9]),
    "hadamard, blocks": Case(lambda e: HadamardResponse(10, epsilon=e, blocks=4), [0, 9]),
    "subset": Case(lambda e: SubsetSelection(7, epsilon=e), [0, 6]),
    "two stages": Case(
        lambda e: TwoStage(DirectEncoding(5, epsilon=e), UnaryEncoding(5, epsilon=e)), [0, 4]
    ),
    "rappor": Case(
        lambda e: Rappor(bloom_bits=16, hashes=2, cohorts=4, f="1/2", p="1/4", q="3/4"), WORDS
    ),
    "sketch": Case(lambda e: CountMeanSketch(epsilon=e, functions=4, buckets=16), WORDS),
    "hadamard sketch": Case(
        lambda e: HadamardCountMeanSketch(epsilon=e, functions=4, buckets=16), WORDS
    ),
    "duchi": Case(lambda e: Duchi(0, 1, epsilon=e), NUMBERS),
    "piecewise": Case(lambda e: Piecewise(0, 1, epsilon=e, total=100), NUMBERS),
    "hybrid": Case(lambda e: HybridMean(0, 1, epsilon=e, total=100), NUMBERS),
    "laplace": Case(lambda e: LaplaceMean(0, 1, epsilon=e, grid=16), NUMBERS),
    "square wave": Case(lambda e: SquareWave(0, 1, epsilon=e, bins=10), NUMBERS),
    "splitting": Case(
        lambda e: AttributeSplitting(
            {"a": RandomizedResponse(epsilon=e), "b": UnaryEncoding(5, epsilon=e)}
        ),
        [(True, 0), {"a": False, "b": 4}],
    ),
    "sampling": Case(
        lambda e: AttributeSampling(
            {"a": RandomizedResponse(epsilon=e), "b": UnaryEncoding(5, epsilon=e)}
        ),
        [(True, 0), {"a": False, "b": 4}],
    ),
    "key-value": Case(
        lambda e: KeyValue(["a", "b", "c"], 0, 1, epsilon=e), [{}, {"a": 1}, {"b": 0.5, "c": 0}]
    ),
    "sets": Case(
        lambda e: PaddedSets(UnaryEncoding(GOODS, epsilon=e), 2), [set(), ["milk"], {"tea", "milk"}]
    ),
    "ranges": Case(lambda e: HierarchicalRanges(64, epsilon=e), [0, 63]),
    "prefixes": Case(
        lambda e: PrefixExtending(12, epsilon=e, step=4, functions=4, buckets=16), [0, 4095]
    ),
}
"""Every mechanism, by a name of its own; RAPPOR alone has no epsilon to be made from."""

ORACLES = {name: case.make(1) for name, case in CASES.items()}

every_mechanism = pytest.mark.parametrize("name", CASES)
N = 40
"""As many reports are sent of each mechanism."""


def reports_of(name: str, n: int = N) -> np.ndarray[Any, Any]:
    answers = CASES[name].answers
    return ORACLES[name].perturb_many([answers[i % len(answers)] for i in range(n)])


ALIKE = [
    DirectEncoding(12, epsilon=1),
    UnaryEncoding(12, epsilon=1),
    OptimizedLocalHashing(12, epsilon=1),
    HadamardResponse(12, epsilon=1),
    HadamardResponse(12, epsilon=3, blocks=4),
    SubsetSelection(12, epsilon=1),
    SummationHistogram(12, epsilon=1),
]
"""Frequency oracles that are tested alike."""
NAMES = [type(oracle).__name__ for oracle in ALIKE]


def truth(k, n):
    """Answers in falling numbers, one item that nobody has."""
    return np.sort((np.arange(n) * np.arange(n)) % (k - 1))
