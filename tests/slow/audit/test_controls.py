"""Mechanisms that keep their claim are flagged no more often than the confidence allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.audit.published_mechanisms import FINE, fine, first_above, laplace
from tacit.audit import sampled

AUDITS = 1_000
SAMPLES = 1_200
"""On each side: bets on a fitted ratio begin after 500."""
STEP_LOSS = Fraction(100, 849)
MOST = 28
"""Of 1,000 audits at 99% confidence: more of them fail by chance with probability below 1e-6."""


def noisy_number(values: Sequence[float], n: int) -> Any:
    """The Laplace mechanism in fine steps."""
    return ((fine(values) + laplace(10, n, 1))[:, 0] / FINE).tolist()


def index_of_largest(counts: Sequence[float], n: int) -> Any:
    """Which noisy count is the largest; each count moves by at most 1, in any direction."""
    return (fine(counts) + laplace(20, n, len(counts))).argmax(axis=1).tolist()


def svt1(queries: Sequence[float], n: int) -> Any:
    """Lyu, Su and Li, algorithm 1, with one answer above the threshold."""
    return first_above(fine(queries) + laplace(40, n, len(queries)) >= laplace(20, n, 1)).tolist()


def svt2(queries: Sequence[float], n: int) -> Any:
    """Dwork and Roth: the threshold has the noise of its c answers, one here."""
    return first_above(fine(queries) + laplace(40, n, len(queries)) >= laplace(20, n, 1)).tolist()


def numerical_svt(queries: Sequence[float], n: int) -> Any:
    """The place of the first answer above, by half of the budget, and its value by fresh noise."""
    place = first_above(fine(queries) + laplace(80, n, len(queries)) >= laplace(40, n, 1))
    padded = np.column_stack([fine(queries)[None, :].repeat(n, axis=0), np.zeros(n)])
    value = padded[np.arange(n), place] + laplace(20, n, 1)[:, 0] * (place < len(queries))
    return np.column_stack([place, value / FINE])


def truncated_geometric(values: Sequence[float], n: int) -> Any:
    """Steps of a ratio of about 8/9, cut at 0 and 5: the loss of one step is attained."""
    noise = np.asarray(tc.noise.discrete_laplace(1 / STEP_LOSS, size=n))
    return np.clip(int(values[0]) + noise, 0, 5).tolist()


def snapping(values: Sequence[float], n: int) -> Any:
    """Mironov's remedy: noise, rounded to multiples of a power of two above its scale, clamped."""
    noisy = (fine(values) + laplace(10, n, 1))[:, 0] / FINE
    return np.clip(np.round(noisy / 16) * 16, -64, 64).tolist()


Control = tuple[
    Callable[[Sequence[float], int], Any], Sequence[float], Sequence[float], Fraction | str
]

CONTROLS: dict[str, Control] = {
    "Laplace": (noisy_number, [0], [1], "1/10"),
    "noisy maximum, index": (index_of_largest, [0, 1, 1, 1, 1], [1, 0, 0, 0, 0], "1/10"),
    "SVT1": (svt1, [0] * 5 + [1] * 5, [1] * 5 + [0] * 5, "1/10"),
    "SVT2": (svt2, [0] * 9 + [1], [1] * 9 + [0], "1/10"),
    "numerical SVT": (numerical_svt, [0] * 9 + [1], [1] * 9 + [0], "1/10"),
    "truncated geometric": (truncated_geometric, [2], [3], STEP_LOSS),
    "snapping": (snapping, [0], [1], "1/10"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTROLS)
def test_a_right_claim_is_flagged_no_more_often_than_the_confidence_allows(name):
    mechanism, u, v, epsilon = CONTROLS[name]
    flagged = sum(
        sampled(mechanism, u, v, epsilon=epsilon, batch=True, samples=SAMPLES).refuted
        for _ in range(AUDITS)
    )
    assert flagged <= MOST
