"""What rounding does to sums is seen to the last digit, and not held against who states it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit.attack_suite.run import load_cases
from tacit.audit.attack_suite.system import FALLS, HOLDS, System

ROUNDING = {c.id.split("/")[1]: c for c in load_cases() if c.attack == "rounding that repeats"}


class Summing(System):
    """Sums without noise, in one of three ways."""

    way: staticmethod

    def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
        return float(self.way(rows))


class Exact(Summing):
    way = staticmethod(math.fsum)


class InOrder(Summing):
    way = staticmethod(lambda rows: np.cumsum(rows)[-1])


class InBlocks(Summing):
    way = staticmethod(lambda rows: np.sum(np.array(rows)))


class Single(Summing):
    way = staticmethod(lambda rows: np.cumsum(rows, dtype=np.float32)[-1])


class Honest(InOrder):
    def sum_sensitivity(self, rows, bounds):
        return max(bounds) * (1 + len(rows) * 2.0**-52)


@pytest.mark.parametrize(
    ("kind", "falling"),
    [
        (Exact, set()),
        (InOrder, {"up", "down"}),
        (InBlocks, {"up", "down"}),
        (Honest, set()),
        (Single, {"single precision"}),
    ],
)
def test_who_sums_exactly_or_states_what_it_rounds_holds(kind, falling):
    found = {name: case.run(kind()) for name, case in ROUNDING.items()}
    asked = {"single precision"} if kind is Single else found.keys()
    assert {n for n in asked if found[n].verdict == FALLS} == falling
    assert all(found[n].verdict == HOLDS for n in asked - falling)
    if kind is Honest:
        assert "more is stated" in found["up"].evidence
