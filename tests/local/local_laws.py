"""What every local mechanism is held to, by listing its whole output distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.noise import bits


def greatest_ratio(laws):
    """The greatest ratio of the probabilities of one report, over all ordered pairs of laws."""
    return max(p / v[y] for u, v in permutations(laws, 2) for y, p in u.items())


def holds_epsilon(oracle, values, *, tight=True):
    """Check the laws of some answers against epsilon; return the greatest ratio."""
    laws = [oracle.distribution(v) for v in values]
    assert all(sum(law.values()) == 1 and min(law.values()) > 0 for law in laws)
    assert all(set(law) == set(laws[0]) for law in laws)
    found = greatest_ratio(laws)
    assert found == oracle.ratio if tight else found <= oracle.ratio
    loss = Enclosure.of(oracle.epsilon)
    assert exp(loss.upper, 128).upper >= oracle.ratio
    assert loss.width < Fraction(1, 10**12)
    return found


def key(report):
    """A report as its distribution lists it."""
    return tuple(report.tolist()) if isinstance(report, np.ndarray) else int(report)


def moments(oracle, value, item):
    """Mean and variance of one report's estimate of an item, by summing over all reports."""
    mean = square = Fraction(0)
    for y, p in oracle.distribution(value).items():
        one = oracle.aggregate(np.array([y], oracle.layout.dtype))
        guess = Fraction(oracle.exact_counts(one)[item])
        mean += p * guess
        square += p * guess * guess
    return mean, square - mean * mean


class Counter:
    """Bytes from a counter: every value of the first words comes up equally often."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def __call__(self, n):
        return self.generator.bytes(n)


def reproducible(seed):
    """Draw from a reproducible stream inside a with block."""
    return bits.injected(Counter(seed))


def coverage(held, level):
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share
