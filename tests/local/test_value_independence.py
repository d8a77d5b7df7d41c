"""Nothing that can be seen from outside a draw depends on the answer: its bits, or its work."""

from __future__ import annotations

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit.noise.bits import _injected


def requests(oracle, places, seed: int) -> list[int]:
    """Return how many random bytes a draw asks for, request by request, from one stream."""
    generator, asked = np.random.default_rng(seed), []

    def take(n: int) -> bytes:
        asked.append(n)
        return generator.bytes(n)

    with _injected(take):
        oracle._draw(places)
    return asked


@pytest.mark.parametrize("name", [n for n in CASES if n != "subset"])
def test_a_draw_asks_for_the_same_bits_whatever_the_answer(name):
    """Also where draws are rejected and made again: what is rejected does not depend on it."""
    oracle = ORACLES[name]
    answers = [oracle.read([answer]) for answer in CASES[name].answers]
    for seed in range(300):
        told = [requests(oracle, place, seed) for place in answers]
        assert all(one == told[0] for one in told), (name, seed)


def test_sets_are_drawn_anew_as_often_whatever_the_answer():
    """Which words tie depends on the answer, how often some do does not: counted over many."""
    oracle, n = ORACLES["subset"], 4000
    calls = []
    for place in (0, 3, 6):
        told = [requests(oracle, np.array([place]), seed) for seed in range(n)]
        least = min(map(len, told))
        calls.append(sum(len(one) > least for one in told))
    spread = (max(max(calls), 1)) ** 0.5
    assert max(calls) - min(calls) < 6 * spread + 1
