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
from tacit.core.losses.ranges import (
    CrossingRange,
    LossRange,
    two_losses,
    upper_deltas,
    upper_epsilon,
)
from tacit.mechanisms.noisy_max import Exponential, PermuteAndFlip

ONE = Fraction(1)
SCORES = Space(Vector(int, size=4), LInfinityDistance())


def crossing(c, lead):
    """Two candidates of permute-and-flip: the first leads by so much, and by c less after."""
    p, q = 1 - math.exp(-lead) / 2, math.exp(lead - c) / 2
    return [(p, q), (1 - p, 1 - q)]


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
    counted = tuple((LossRange(Fraction(one)), ranges.count(one)) for one in dict.fromkeys(ranges))
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
    counted = ((LossRange(ONE), 1), (LossRange(ONE / 2), 1))
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


# Permute-and-flip.


@pytest.mark.parametrize("monotone", [False, True])
def test_losses_of_permute_and_flip_lie_between_those_of_two_candidates_that_cross(monotone):
    """All neighbours of up to three scores, at scales at which d is a little, or much."""

    def share(loss):
        return 1 - math.sqrt(max(1 - math.exp(loss - c), 0.0))

    for scale, n in itertools.product((Fraction(1, 2), 3, 20), (2, 3)):
        m = Space(Vector(int, size=n), LInfinityDistance()) >> PermuteAndFlip(scale, monotone)
        c = (1 if monotone else 2) / float(scale)
        most = 0.0
        for u in itertools.combinations_with_replacement(range(3), n - 1):
            for moves in itertools.product((0, 1) if monotone else (-1, 0, 1), repeat=n):
                u_and_v = [0, *u], [a + b for a, b in zip([0, *u], moves, strict=True)]
                laws = [m.distribution(scores) for scores in u_and_v]
                p, q = ([float(law.probability(i)) for i in range(n)] for law in laws)
                losses = [math.log(a / b) for a, b in zip(p, q, strict=True)]
                most = max(most, share(max(losses)) * share(-min(losses)))
        assert most <= math.exp(-c) * (1 + 1e-6)
        assert n > 2 or most == pytest.approx(math.exp(-c), rel=1e-6)


@pytest.mark.parametrize("values", [(0.0, 0.3, 1.0), (0.05, 0.5, 0.9)])
def test_the_lemma_on_means_of_quadratics(values):
    """E q(S B) <= (2 m - m^2) E q(B), with m = E (S B) / E B, over laws on a grid."""
    weights = [w for w in itertools.product((0, 1, 5), repeat=4) if any(w)]
    for points in itertools.product(itertools.product(values, values[1:]), repeat=2):
        for w in weights[:: len(points)]:
            law = [(w[0], *points[0]), (w[1], *points[1]), (w[2], 1.0, 0.2), (w[3], 0.1, 1.0)]
            mean = sum(k * s * b for k, s, b in law) / sum(k * b for k, s, b in law)
            left = sum(k * (s * b - (s * b) ** 2 / 2) for k, s, b in law)
            right = sum(k * (b - b * b / 2) for k, s, b in law)
            assert left <= (2 * mean - mean**2) * right + 1e-12


@pytest.mark.parametrize("c", [Fraction(1, 10), ONE, Fraction(4)])
def test_cells_of_leads_hold_the_losses_of_all_their_pairs(c):
    up, down = CrossingRange(c).cells(8)
    assert len(up) < 20
    for lead in (float(c) * i / 64 for i in range(65)):
        (p, q), (p_rest, q_rest) = crossing(float(c), lead)
        t, a = math.log(p / q), math.log(q_rest / p_rest)
        assert any(t <= high and a <= low for high, low in zip(up, down, strict=True))
        assert t + a <= float(CrossingRange(c).longest()) + 1e-12


@pytest.mark.parametrize("sizes", [(1, 1), (1, 1, 1), (2, Fraction(1, 2)), (Fraction(1, 10),) * 2])
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 3), Fraction(3, 4)])
def test_no_choice_of_leads_has_a_larger_delta_and_one_has_nearly_it(sizes, part):
    level = part * sum(sizes)
    counted = tuple((CrossingRange(Fraction(c)), sizes.count(c)) for c in dict.fromkeys(sizes))
    bound = float(upper_deltas(counted, [level])[0])
    choices = [[crossing(float(c), float(c) * i / 16) for i in range(17)] for c in sizes]
    pairs = list(itertools.product(*choices))
    assert max(delta_of(one, float(level)) for one in pairs) <= bound
    nearby = float(level) - 0.02 * float(sum(sizes))
    assert bound <= max(delta_of(one, nearby) for one in pairs)


def test_three_candidates_together_lose_no_more_than_two():
    """Compositions on one pair of three scores, by all outcomes, against what is said of them."""
    m = Space(Vector(int, size=3), LInfinityDistance()) >> PermuteAndFlip(2)
    found = {k: m.losses(ONE).self_compose(k).deltas([ONE / 4, ONE]) for k in (2, 4)}
    moves = [one for one in itertools.product((-1, 0, 1), repeat=3) if len(set(one)) > 1]
    for scores, move in itertools.product([(0, 0, 0), (0, 1, 1), (2, 1, 0)], moves[::2]):
        laws = [m.distribution([a + b * t for a, b in zip(scores, move)]) for t in (0, 1)]  # noqa: B905
        pair = [tuple(float(law.probability(i)) for law in laws) for i in range(3)]
        for k, bounds in found.items():
            for level, bound in zip((0.25, 1.0), bounds, strict=True):
                assert delta_of([pair] * k, level) <= float(bound.upper)


@pytest.mark.full
def test_permute_and_flip_is_within_a_part_in_fifty_of_two_candidates_that_cross():
    for scale, times in itertools.product((20_000, 2_000, 500), (1, 10, 50, 200)):
        m = fw.compose([SCORES >> PermuteAndFlip(scale)] * times)
        found = m.epsilon("1e-6", d_in=1_000)
        assert found.lower <= found.upper <= found.lower * Fraction(102, 100), (scale, times)


def test_both_choices_of_several_scales_are_within_a_part_in_fifty():
    for step in (PermuteAndFlip, Exponential):
        steps = [SCORES >> step(scale) for scale in (20, 31, 47)]
        found = fw.compose(steps * 10).epsilon("1e-6")
        assert found.lower <= found.upper <= found.lower * Fraction(102, 100), step


def test_both_kinds_together_are_enclosed_by_their_pairs_of_scores():
    """The lower end is no more than the worst pair of two scores loses in both, by enumeration."""
    space = Space(Vector(int, size=2), LInfinityDistance())
    steps = [space >> PermuteAndFlip(4), space >> Exponential(6), space >> Exponential(6)]
    found, worst = fw.compose(steps).delta("1/10"), 0.0
    for lead, move in itertools.product(range(12), (-1, 1)):
        laws = [[m.distribution([lead + t, -t]) for t in (0, move)] for m in steps]
        pairs = [[tuple(float(law.probability(i)) for law in two) for i in (0, 1)] for two in laws]
        worst = max(worst, delta_of(pairs, 0.1))
    assert 0.95 * worst < found.lower <= worst + 1e-12
    assert worst <= found.upper <= 1.1 * worst


def test_releases_of_another_kind_next_to_them_are_as_before():
    """Only the pair that dominates each is known then: no smaller than a list fixed beforehand."""
    both = of_range(ONE).compose(BoundedRange(ONE))
    assert both.epsilon("1/100").upper >= of_range(ONE).self_compose(2).epsilon("1/100").upper


def test_too_many_of_different_ranges_have_no_curve():
    many = tuple((LossRange(Fraction(1, n)), 10_000) for n in (10, 11))
    assert upper_epsilon(many, Fraction(1, 100)) is None
    assert upper_deltas(many, [ONE]) == [1]
