"""Releases of bounded range together, against every choice of pairs of two outcomes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tacit import framework as fw
from tacit.core import LInfinityDistance, Space, Vector
from tacit.core.conversions import of_range
from tacit.core.losses.distribution import BoundedRange
from tacit.core.losses.ranges import two_losses, upper_deltas, upper_epsilon
from tacit.mechanisms.noisy_max import Exponential

ONE = Fraction(1)
SCORES = Space(Vector(int, size=4), LInfinityDistance())


def ends(loss_range, t):
    """Both outcomes of the pair with the losses t and t - range: masses under P and Q."""
    whole, up = math.exp(loss_range), math.exp(t)
    p = (whole - up) / (whole - 1)
    return [(p, p / up), (1 - p, (1 - p) * whole / up)]


def delta_of(pairs, epsilon):
    """By the definition, over all outcomes of all releases."""
    level = math.exp(epsilon)
    total = 0.0
    for outcomes in itertools.product(*pairs):
        p, q = (math.prod(one[i] for one in outcomes) for i in (0, 1))
        total += max(p - level * q, 0.0)
    return total


def worst(ranges, epsilon, parts=16):
    """The largest delta over a grid of all losses, one for each release."""
    choices = [[ends(one, one * i / parts) for i in range(parts + 1)] for one in ranges]
    return max(delta_of(pairs, epsilon) for pairs in itertools.product(*choices))


@pytest.mark.parametrize("one", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("part", [0.0, 0.4, 0.9])
def test_two_of_one_range_lose_most_where_both_have_the_same_losses(one, part):
    """The proof's claim at its heart: equal means of two losses, at every epsilon."""
    low, high = 0.1 * one, 0.7 * one
    apart = [ends(one, low), ends(one, high)]
    equal = [ends(one, (low + high) / 2)] * 2
    for level in (-2 * one * part, 0.0, 2 * one * part):
        assert delta_of(apart, level) <= delta_of(equal, level) + 1e-15
    assert delta_of(apart, 0.0) < delta_of(equal, 0.0)


@pytest.mark.parametrize("ranges", [(1, 1), (1, 1, 1), (2, Fraction(1, 2)), (Fraction(1, 10),) * 2])
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 3), Fraction(3, 4)])
def test_no_choice_of_losses_has_a_larger_delta_and_one_has_nearly_it(ranges, part):
    level = part * sum(ranges)
    counted = tuple((Fraction(one), ranges.count(one)) for one in dict.fromkeys(ranges))
    bound = float(upper_deltas(counted, [level])[0])
    found = worst([float(one) for one in ranges], float(level))
    assert found <= bound
    nearby = worst([float(one) for one in ranges], float(level) - 0.01 * float(sum(ranges)))
    assert bound <= nearby


def test_a_cell_of_losses_dominates_each_of_its_pairs():
    cell = two_losses(ONE, Fraction(1, 4), Fraction(3, 8))
    for t in (0.25, 0.3, 0.375):
        for level in (-0.6, 0.0, 0.2, 0.35):
            assert delta_of([ends(1.0, t)], level) <= float(cell.delta(Fraction(level)).upper)


@pytest.mark.parametrize("target", ["1e-2", "1e-6"])
def test_adaptive_choices_in_front_are_covered_for_different_ranges(target):
    """Two releases, the first of which is chosen after the answer of the second: by enumeration."""
    first, second = 1.0, 0.5
    counted = ((Fraction(1), 1), (Fraction(1, 2), 1))
    epsilon = upper_epsilon(counted, Fraction(target))
    grid = [i / 16 for i in range(17)]
    level, most = float(epsilon), 0.0
    for t in grid:
        total = 0.0
        for p, q in ends(first, first * t):  # the second one as bad as it can be after each
            if p and q:
                left = level - math.log(p / q)
                total += p * max(delta_of([ends(second, second * s)], left) for s in grid)
        most = max(most, total)
    assert most <= float(Fraction(target))


@pytest.mark.full
def test_what_is_known_is_within_a_part_in_fifty_of_two_candidates_that_cross():
    """Compositions of exponential mechanisms, at few and many releases and deltas."""
    m = SCORES >> Exponential(scale=20)
    for times, delta in itertools.product((1, 2, 3, 10, 40), ("1e-2", "1e-6", "1e-10")):
        found = fw.compose([m] * times).epsilon(delta)
        assert found.lower <= found.upper <= found.lower * Fraction(102, 100), (times, delta)


def test_mixed_scales_are_within_a_part_in_forty():
    steps = [SCORES >> Exponential(scale=scale) for scale in (20, 31, 47)]
    for times in (1, 3, 10):
        found = fw.compose(steps * times).epsilon("1e-6")
        assert found.lower <= found.upper <= found.lower * Fraction(1025, 1000), times


def test_releases_of_another_kind_next_to_them_are_as_before():
    """Only the pair that dominates each is known then: no smaller than a list fixed beforehand."""
    both = of_range(ONE).compose(BoundedRange(ONE))
    assert both.epsilon("1/100").upper >= of_range(ONE).self_compose(2).epsilon("1/100").upper


def test_too_many_of_different_ranges_have_no_curve():
    many = tuple((Fraction(1, n), 10_000) for n in (10, 11))
    assert upper_epsilon(many, Fraction(1, 100)) is None
    assert upper_deltas(many, [ONE]) == [1]
