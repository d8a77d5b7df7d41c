"""Pairs of two outcomes together, against all their outcomes and against other sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tacit.arithmetic.enclosure import Enclosure
from tacit.core.losses import two_outcomes
from tacit.core.losses.additive_noise import LaplaceShift
from tacit.core.losses.two_outcomes import TwoOutcomes


def pair(p, q, times=1):
    return TwoOutcomes(((Enclosure.of(Fraction(p)), Enclosure.of(Fraction(q)), times),))


TWO = pair("3/4", "1/2", 2).compose(pair("1/10", "1/5", 3))


def exact(level):
    """Over all outcomes, in both directions, in rationals but for e^level."""
    rows = [[("3/4", "1/2"), ("1/4", "1/2")]] * 2 + [[("1/10", "1/5"), ("9/10", "4/5")]] * 3
    power, deltas = Fraction(math.exp(level)), []
    for i in (0, 1):
        total = Fraction(0)
        for outcome in itertools.product(*rows):
            p, q = (math.prod(Fraction(one[j]) for one in outcome) for j in (i, 1 - i))
            total += max(p - power * q, Fraction(0))
        deltas.append(total)
    return max(deltas)


@pytest.mark.parametrize("level", [0.0, 0.125, 0.5, 1.0, 1.75])
def test_delta_is_that_of_all_outcomes(level):
    found = TWO.delta(Fraction(level))
    assert float(found.lower) <= float(exact(level)) * (1 + 1e-14)
    assert float(found.upper) >= float(exact(level)) * (1 - 1e-14)
    assert found.width < 1e-12


@pytest.mark.parametrize("delta", ["1/10", "1/1000", "1/1000000"])
def test_epsilon_is_its_inverse_and_that_of_lists_of_losses(delta):
    found, other = TWO.epsilon(delta), TWO._added_up.epsilon(delta)
    assert TWO.delta(found.upper).lower <= Fraction(delta) <= TWO.delta(found.lower).upper
    assert found.width < 1e-9
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)


def test_so_many_outcomes_are_added_up_otherwise(monkeypatch):
    here = TWO.self_compose(3).epsilon("1/1000")
    monkeypatch.setattr(two_outcomes, "_MAX_LISTED", 1)
    there = TWO.self_compose(3).epsilon("1/1000")
    assert max(here.lower, there.lower) <= min(here.upper, there.upper)
    assert TWO.self_compose(2).delta(1).lower > 0


def test_next_to_other_losses_they_are_a_list():
    one = LaplaceShift(2, 1)
    for both in (TWO.compose(one), one.compose(TWO)):
        assert both.delta(0).lower >= TWO.delta(0).lower


def test_the_rough_order_of_pairs_is_that_of_their_losses(monkeypatch):
    monkeypatch.setattr(two_outcomes, "_FEW", 0)
    weak, strong = pair("6/10", "1/2", 40), pair("7/10", "1/2", 40)
    assert weak.rough_epsilon(-9.0) < strong.rough_epsilon(-9.0)
    assert weak.rough_log_delta(1.0) < strong.rough_log_delta(1.0)
    assert strong.rough_epsilon(-9.0) >= strong.epsilon(math.exp(-9)).lower
