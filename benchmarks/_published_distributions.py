"""The output distributions of the published mechanisms, as far as they can be integrated.

Every function returns the chances of the outputs of u and of v, in the same order.  Noise of real
scale stands here as continuous, on a grid; in the tests it is drawn in steps of 1/1000, which
changes the bounds below the digits shown.  Outputs between grid points count together, so that what
is computed is what a test that sees the grid alone can reach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Chances = tuple[NDArray[np.float64], NDArray[np.float64]]

STEP = 0.25
EDGES = np.arange(-600, 600 + STEP / 2, STEP)
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2


def below(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The distribution function of Laplace noise."""
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def mass(centre: float, scale: float) -> NDArray[np.float64]:
    """The chances of the cells of the grid."""
    return np.diff(below(EDGES - centre, scale))


def first_above(queries: Sequence[float], level: float, noise: float) -> NDArray[np.float64]:
    """The place of the first answer above a threshold with noise of a scale."""
    left, found = mass(0, level), []
    for query in queries:
        under = below(MIDDLES - query, noise)
        found.append((left * (1 - under)).sum())
        left = left * under
    return np.array([*found, left.sum()])


def svt3(queries: Sequence[float]) -> NDArray[np.float64]:
    """The place and the noisy answer: what is answered is at or above the threshold."""
    left, found = mass(0, 20), []
    for query in queries:
        found.append(mass(query, 20) * (np.cumsum(left) - left / 2))
        left = left * below(MIDDLES - query, 20)
    return np.concatenate([*found, [left.sum()]])


def svt4(u: Sequence[float], v: Sequence[float]) -> Chances:
    return first_above(u, 40, 40 / 3), first_above(v, 40, 40 / 3)


def svt5(u: Sequence[float], v: Sequence[float]) -> Chances:
    """A threshold up to 0, between 0 and 1, or above; the second shows which answers are 1."""
    ends = below(np.array([0.0, 1.0]), 20)
    every, some, none = ends[0], ends[1] - ends[0], 1 - ends[1]
    return np.array([every, some, 0, none]), np.array([every, 0, some, none])


def svt6(half: int) -> Chances:
    """How many of the answers 0, and how many of the answers 1, are above; v has them swapped."""
    at_0, at_1 = 1 - below(MIDDLES, 20), 1 - below(MIDDLES - 1, 20)
    counts = np.arange(half + 1)[:, None]
    zeros, ones = binom.pmf(counts, half, at_0), binom.pmf(counts, half, at_1)
    found = (zeros * mass(0, 20)) @ ones.T
    return found.ravel(), found.T.ravel()


def largest(u: Sequence[float], v: Sequence[float], *, one_sided: bool) -> Chances:
    """The largest of equal counts under noise of scale 20."""
    fine = np.arange(-600, 900, 0.02)

    def one(counts: Sequence[float]) -> NDArray[np.float64]:
        x = fine - counts[0]
        share = np.where(x < 0, 0, -np.expm1(-np.maximum(x, 0) / 20)) if one_sided else below(x, 20)
        return np.diff(share ** len(counts))

    return one(u), one(v)


def histogram() -> Chances:
    """The one count that differs by 1, under noise of scale 1/10 in steps of 1/1000."""
    steps = np.arange(-3_000, 4_001)
    ratio = np.exp(-1 / 100)
    share = (1 - ratio) / (1 + ratio)
    return share * ratio ** np.abs(steps), share * ratio ** np.abs(steps - 1_000)


def prefix_sums() -> Chances:
    """Ten independent steps: the losses of each add up, and are all that tells u from v.

    Of noise of scale 10 and a shift of 1, the loss is 1/10 with probability 1/2, -1/10 with
    probability exp(-1/10) / 2, and has the density exp(-1/20) exp(x/2) / 4 between: of v the same
    with the sign changed.  Losses are rounded to a thousandth of their range.
    """
    cells = 1000
    x = (np.arange(cells) + 0.5) / cells * 0.2 - 0.1
    inner = np.exp(x / 2)
    inner *= (0.5 - np.exp(-0.1) / 2) / inner.sum()
    p = np.concatenate([[np.exp(-0.1) / 2], inner, [0.5]])
    q = p[::-1]
    size = 10 * (len(p) - 1) + 1
    both = [np.fft.irfft(np.fft.rfft(one, 16384) ** 10, 16384)[:size] for one in (p, q)]
    return np.maximum(both[0], 1e-18), np.maximum(both[1], 1e-18)


def rappor(*, once: bool) -> Chances:
    """How many of the 4 bits of one item are set, and how many of the 4 of the other."""
    keep, noise, high, low = (1 / 20, 1 / 2, 1.0, 0.0) if once else (1 / 4, 1 / 2, 11 / 20, 9 / 20)
    chances = []
    for bit in (0, 1):
        permanent = keep * bit + (1 - keep) * noise
        chances.append(permanent * high + (1 - permanent) * low)
    off, on = (binom.pmf(np.arange(5), 4, chance) for chance in chances)
    found = np.outer(on, off)
    return found.ravel(), found.T.ravel()
