"""The adapter of diffprivlib, on a module made up in its place."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.audit.attack_suite.systems.peers.diffprivlib import Diffprivlib


@pytest.fixture
def counted(monkeypatch):
    """The arrays that the library counts."""
    found = []

    def count_nonzero(array, epsilon, accountant=None):
        found.append(array)
        return np.count_nonzero(array)

    def total(values, epsilon, bounds, accountant):
        return sum(values.clip(*bounds))

    tools = SimpleNamespace(count_nonzero=count_nonzero, sum=total)
    library = SimpleNamespace(BudgetAccountant=lambda *_: None, tools=tools)
    monkeypatch.setitem(sys.modules, "diffprivlib", library)
    monkeypatch.setitem(sys.modules, "diffprivlib.tools", tools)
    return found


def test_a_count_is_in_the_middle_of_its_array(counted):
    # A count is cut to 0..size: one of an array of ones would lose half of its noise.
    assert Diffprivlib().statistic("count", [1.0] * 7) == 7
    assert Diffprivlib().account(1.0).ask(0.5, "ones") == 100
    assert [(array.sum(), len(array)) for array in counted] == [(7, 14), (100, 200)]


def test_a_release_that_fails_does_fail(counted):
    account = Diffprivlib().account(1.0)
    with pytest.raises(TypeError):
        account.fail(0.25, "text")
