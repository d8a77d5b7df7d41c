"""Nothing that can be seen from outside a draw depends on the answer: its bits, or its work."""

from __future__ import annotations

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit.noise.bits import injected


def requests(oracle, places, seed: int) -> list[int]:
    """Return how many random bytes a draw asks for, request by request, from one stream."""
    generator, asked = np.random.default_rng(seed), []

    def take(n: int) -> bytes:
        asked.append(n)
        return generator.bytes(n)

    with injected(take):
        oracle._draw(places)
    return asked


@pytest.mark.few(24)
@pytest.mark.parametrize("name", CASES)
def test_a_draw_asks_for_the_same_bits_whatever_the_answer(name):
    """Also where draws are rejected and made again: what is rejected does not depend on it."""
    oracle = ORACLES[name]
    answers = [oracle.read([answer]) for answer in CASES[name].answers]
    for seed in range(300):
        told = [requests(oracle, place, seed) for place in answers]
        assert all(one == told[0] for one in told), (name, seed)
