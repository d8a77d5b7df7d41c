"""Randomized response: the published loss of two coins, and a report from everyone."""

import math

import pytest

import tacit as tc
from tacit.audit import verify
from tacit.core import (
    Category,
    DiscreteDistance,
    Space,
)
from tacit.mechanisms import (
    RandomizedResponse,
)

YES_NO = Space(Category(("yes", "no")), DiscreteDistance())


def test_randomized_response_of_two_coins_is_ln_3():
    m = YES_NO >> tc.randomized_response(("yes", "no"), p="3/4")
    assert float(m.map(1)) == pytest.approx(math.log(3), rel=1e-15)
    assert float(m.map(1)) >= math.log(3)
    assert m.map(0) == 0
    assert verify(m).tight


def test_everyone_reports_whatever_they_hold():
    m = YES_NO >> RandomizedResponse(("yes", "no"), epsilon=1)
    for odd in (None, "maybe", ["list"], float("nan"), 3):
        assert m(odd) in ("yes", "no")
