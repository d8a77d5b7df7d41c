"""How long a draw takes tells nothing of the answer: one buffer, answers in random order."""

import gc
import time

import numpy as np
import pytest
from scipy.stats import rankdata

from tacit.local import (
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardResponse,
    HybridMean,
    LaplaceMean,
    OptimizedLocalHashing,
    Piecewise,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    TwoStage,
    UnaryEncoding,
)

pytestmark = pytest.mark.slow
DRAWS = 8000
CASES = {
    "direct": (DirectEncoding(100_000, epsilon=1), 0, 99_999),
    "unary": (UnaryEncoding(4096, epsilon=1), 0, 4095),
    "hashing": (OptimizedLocalHashing(100_000, epsilon=1), 0, 99_999),
    "hadamard": (HadamardResponse(100_000, epsilon=1), 0, 99_999),
    "subset": (SubsetSelection(1024, epsilon=1), 0, 1023),
    "summation": (SummationHistogram(256, epsilon=1), 0, 255),
    "duchi": (Duchi(0, 1, epsilon=1), 0.0, 1.0),
    "piecewise": (Piecewise(0, 1, epsilon=1), 0.0, 1.0),
    "hybrid": (HybridMean(0, 1, epsilon=1), 0.0, 1.0),
    "laplace": (LaplaceMean(0, 1, epsilon=1), 0.0, 1.0),
    "square wave": (SquareWave(0, 1, epsilon=1), 0.0, 1.0),
    "sketch": (CountMeanSketch(epsilon=2), "a", "b"),
    "rappor": (Rappor(), "a", "b"),
    "two stages": (
        TwoStage(DirectEncoding(64, epsilon=2), UnaryEncoding(64, epsilon=1)), 0, 63
    ),
}  # fmt: skip


def larger_by_chance(one: np.ndarray, two: np.ndarray) -> float:
    """The chance that a time of the first kind is above one of the second: 1/2 tells nothing."""
    ranks = rankdata(np.concatenate([one, two]))[: len(one)]
    return float((ranks.sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(two)))


@pytest.mark.parametrize("name", CASES)
def test_times_of_draws_do_not_tell_answers_apart(name):
    """Each time is compared by rank, so that interruptions count no more than other times."""
    oracle, first, last = CASES[name]
    places = [int(oracle.read([answer])[0]) for answer in (first, last)]
    buffer, order = np.zeros(1, np.int64), np.random.default_rng(1).integers(0, 2, DRAWS)
    times = np.zeros(DRAWS, np.int64)
    gc.disable()
    try:
        for i, which in enumerate(order.tolist()):
            buffer[0] = places[which]
            start = time.perf_counter_ns()
            oracle._draw(buffer)
            times[i] = time.perf_counter_ns() - start
    finally:
        gc.enable()
    # by chance alone within 0.5 +- 0.0065; a table that ends at the place gives 0.8 and more
    assert 0.45 < larger_by_chance(times[order == 0], times[order == 1]) < 0.55
